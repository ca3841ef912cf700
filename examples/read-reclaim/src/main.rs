//! The program `wordline` with an additional design.

fn main() -> std::process::ExitCode {
    wordline_cli::main_with(read_reclaim::registry())
}
