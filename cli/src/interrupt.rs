//! Ctrl-C: the first asks the run to stop and print what it reached, the second ends the program. Before there is
//! anything to print the first does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{INTERRUPTED, say};

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Whether there is something to stop that would leave a result or a half of a file.
    working: Arc<AtomicBool>,
}

impl Interrupt {
    /// Watches for Ctrl-C from now on. Where signals cannot be caught, Ctrl-C ends the program as usual.
    pub fn watch() -> Self {
        let watched = Self::watch_idle();
        watched.work();
        watched
    }

    /// The same, for a command that first reads and prepares: until [`work`](Self::work) Ctrl-C ends the program at
    /// once.
    pub fn watch_idle() -> Self {
        let (asked, working) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (seen, busy) = (Arc::clone(&asked), Arc::clone(&working));
        let handler = move || {
            if !busy.load(Ordering::Relaxed) {
                say("stopped: nothing was simulated yet");
                std::process::exit(INTERRUPTED.into());
            }
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        };
        if ctrlc::set_handler(handler).is_err() {
            say("note: Ctrl-C will not print a partial result here");
        }
        Self { asked, working }
    }

    /// From now on there is something to stop.
    pub fn work(&self) {
        self.working.store(true, Ordering::Relaxed);
    }

    /// Whether it was pressed.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The same, for those who look for themselves.
    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }
}
