//! ONFI at the level of cycles: what a host sees of a part through its pins.

pub mod crc;
pub mod features;
pub mod identity;
pub mod modes;
pub mod parameter_page;

pub use features::{FeatureError, Features};
pub use identity::Identity;
pub use modes::{Modes, TimingMode};
pub use parameter_page::ParameterPage;
