//! Ctrl-C: the first asks the run to stop and print what it reached, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::say;

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Watches for Ctrl-C from now on. Where signals cannot be caught, Ctrl-C ends the program as usual.
    pub fn watch() -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        let handler = move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        };
        if ctrlc::set_handler(handler).is_err() {
            say("note: Ctrl-C will not print a partial result here");
        }
        Self(asked)
    }

    /// Whether it was pressed.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The same, for those who look for themselves.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
