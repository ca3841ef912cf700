//! Which program this is, and how it was called.

use wordline_lab::provenance::Provenance;

/// The version, and the commit where it is known.
pub const VERSION: &str = env!("WORDLINE_VERSION");

/// The provenance that results state.
pub fn provenance() -> Provenance {
    let command = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    Provenance::of(option_env!("WORDLINE_COMMIT"), command.collect())
}
