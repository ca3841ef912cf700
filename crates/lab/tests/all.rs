//! The tests of runs from outside, as one program: each file is a module, and linked once.

mod bare_chips;
mod drives;
mod golden;
mod real_traces;
mod session;
mod steady;
mod zone_commands;
mod zone_reports;
mod zone_store;
