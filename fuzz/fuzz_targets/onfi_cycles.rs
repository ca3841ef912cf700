//! Cycles on the pins, checked by the checker of the tests.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../crates/nand/tests/checker/mod.rs"]
mod checker;

fuzz_target!(|bytes: &[u8]| {
    if let Err(why) = checker::run::check_bytes(bytes) {
        panic!("{why}");
    }
});
