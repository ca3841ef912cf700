//! An independent checker of the pins: what each cycle should do, by simple rules written from the data sheets, beside
//! what the model does. Bytes spell set-ups and cycles, so that a fuzzer can use it too.

pub mod cycle;
pub mod facts;
mod lun;
mod pins;
pub mod run;
mod target;
