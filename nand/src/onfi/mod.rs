//! ONFI at the level of cycles: what a host sees of a part through its pins.

pub mod crc;
pub mod parameter_page;
