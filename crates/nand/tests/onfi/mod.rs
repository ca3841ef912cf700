//! The sequences of the ONFI commands on the pins, legal and illegal: data, status and times.

mod chains;
mod energy;
pub mod host;
mod legal;
mod luns;
mod one_shot;
mod parameters;
mod parts;
mod random;
mod refused;
mod stages;
mod standard;
mod timing;
mod transactions;
mod within;
