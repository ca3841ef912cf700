//! ONFI at the level of cycles: what a host sees of a part through its pins.

pub mod crc;
pub mod identity;
pub mod parameter_page;

pub use identity::Identity;
pub use parameter_page::ParameterPage;
