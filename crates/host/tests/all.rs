//! The tests of what stands above devices, as one program.

mod raid5;
