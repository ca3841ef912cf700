//! Version of the program, and its command line.

use wordline_lab::provenance::Provenance;

/// The version, and the commit if known.
pub const VERSION: &str = env!("WORDLINE_VERSION");

/// Returns the provenance stated in results.
pub fn provenance() -> Provenance {
    let command = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    Provenance::of(option_env!("WORDLINE_COMMIT"), command.collect())
}
