//! The program `wordline` with the types of devices that are built in.

use std::process::ExitCode;

use wordline_lab::devices::Registry;

fn main() -> ExitCode {
    wordline_cli::main_with(Registry::default())
}
