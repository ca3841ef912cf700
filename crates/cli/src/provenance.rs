//! Version and command line of the program, for results.

use wordline_lab::provenance::Provenance;

/// The version, and the commit if known.
pub const VERSION: &str = env!("WORDLINE_VERSION");

/// The program and its command line, as results record them.
pub fn provenance() -> Provenance {
    let command = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    Provenance::of(option_env!("WORDLINE_COMMIT"), command.collect())
}
