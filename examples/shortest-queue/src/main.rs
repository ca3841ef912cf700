//! The program `wordline` with an additional design.

use shortest_queue::ShortestQueue;
use wordline_lab::devices::Registry;

fn main() -> std::process::ExitCode {
    wordline_cli::main_with(Registry::default().with_design::<ShortestQueue>())
}
