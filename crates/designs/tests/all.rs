//! Integration tests of the designs, linked as one program: each file is a module.

mod centaur;
mod cubeftl;
mod liveness;
mod ressd;
mod rig;
