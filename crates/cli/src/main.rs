//! The program `wordline` with the built-in device types.

use std::process::ExitCode;

use wordline_lab::devices::Registry;

fn main() -> ExitCode {
    wordline_cli::main_with(Registry::default())
}
