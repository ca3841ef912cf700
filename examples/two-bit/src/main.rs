//! The program `wordline` with one more design.

fn main() -> std::process::ExitCode {
    wordline_cli::main_with(two_bit::registry())
}
