//! The program `wordline` with one more design.

use wordline_lab::devices::{Designed, Registry};

fn main() -> std::process::ExitCode {
    wordline_cli::main_with(Registry::default().with::<Designed<shortest_queue::Configured>>())
}
