//! The tests of what stands above devices, as one program.

#![allow(missing_docs)]

mod direct;
mod pblk;
mod raid5;
mod zones;
