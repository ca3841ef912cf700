//! An independent checker of the pins. It compares the model with the expected effect of each cycle, which
//! follows from simple rules written from the data sheets. Setups and cycles are encoded as bytes, so that a
//! fuzzer can use it, too.

pub mod cycle;
pub mod facts;
mod lun;
mod pins;
pub mod run;
mod target;
