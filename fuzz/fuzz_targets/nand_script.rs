//! Scripts of ONFI cycles: parsed, and run if valid.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wordline_nand::onfi::script::Script;

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../crates/nand/tests/checker/mod.rs"]
mod checker;

fuzz_target!(|text: &str| {
    if let Ok(script) = Script::parse("script", text)
        && let Ok(mut bus) = script.bus("script", &checker::facts::part(0))
    {
        script.run(&mut bus);
    }
});
