//! The tests of the designs from outside, as one program: each file is a module, and linked once.

mod centaur;
mod cubeftl;
mod liveness;
mod ressd;
mod rig;
