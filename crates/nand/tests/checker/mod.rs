//! An independent checker of the pins: the expected effect of each cycle, by simple rules written from the
//! data sheets, against the model. Set-ups and cycles are encoded as bytes, so that a fuzzer can use it too.

pub mod cycle;
pub mod facts;
mod lun;
mod pins;
pub mod run;
mod target;
