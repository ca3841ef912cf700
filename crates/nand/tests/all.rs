//! The external tests of chips, as one program: each file is a module, and linked once.

mod cell_arrays;
mod cell_model;
mod cells;
#[allow(dead_code, reason = "the fuzzer uses the rest")]
mod checker;
mod generate;
mod logical_unit;
mod modes_oracle;
mod onfi;
mod onfi_random;
mod parts_of_pages;
mod scripts;
