//! Integration tests of the host side, as one program.

#![allow(missing_docs)]

mod direct;
mod pblk;
mod raid5;
mod zone_host;
mod zones;
