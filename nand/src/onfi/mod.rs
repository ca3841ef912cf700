//! ONFI at the level of cycles: what a host sees of a part through its pins.

pub mod command;
pub mod failure;
pub mod history;
pub mod rules;
pub mod sequence;
pub mod status;
pub mod crc;
pub mod parameter_page;
