//! Ctrl-C and SIGTERM at any moment: a command with partial results is asked to stop and prints them, any
//! other ends at once, and nothing takes longer than [`PATIENCE`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wordline_lab::output::remove_unfinished;

use crate::failure::{INTERRUPTED, say};

/// Longest time that a command may take to stop. Chosen: with the rest of the shutdown a user waits for less
/// than a second.
const PATIENCE: Duration = Duration::from_millis(700);

/// Whether the user asked to stop.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether the running command polls the stop flag, and then has a result.
static WORKING: AtomicBool = AtomicBool::new(false);
static RESULT: Mutex<Held> = Mutex::new(Held::Nothing);

/// Prints the results so far.
type Give = Box<dyn FnOnce() + Send>;

/// Results to print if the program is stopped.
enum Held {
    Nothing,
    /// Results of the finished parts.
    Results(Give),
    /// Results that are being printed.
    Taken,
}

fn held() -> MutexGuard<'static, Held> {
    RESULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program, without leaving incomplete files.
fn end() -> ! {
    remove_unfinished();
    std::process::exit(INTERRUPTED.into())
}

/// Prints the held results and ends the program, unless this is already happening.
fn show_and_end() {
    let what = std::mem::replace(&mut *held(), Held::Taken);
    match what {
        Held::Nothing => say("stopped: there is no result yet"),
        Held::Results(give) => give(),
        Held::Taken => return,
    }
    end()
}

/// Installs the signal handlers. Signals that cannot be caught end the program as usual.
pub fn watch() {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            end();
        }
        if !WORKING.load(Ordering::Relaxed) {
            show_and_end();
        }
        // On another thread, as the handler must see a second signal.
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            show_and_end();
        });
    };
    if ctrlc::set_handler(handler).is_err() {
        say("note: Ctrl-C will not print a partial result here");
    }
}

/// Sets whether the running command polls the stop flag from now on.
pub fn looks(working: bool) {
    WORKING.store(working, Ordering::Relaxed);
    // Handles a signal that came in between.
    if !working && asked() {
        show_and_end();
    }
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Returns the stop flag, for callers that poll it.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Registers `give` to print the results so far if the program is stopped.
pub fn hold(give: impl FnOnce() + Send + 'static) {
    let mut held = held();
    if !matches!(*held, Held::Taken) {
        *held = Held::Results(Box::new(give));
    }
}

/// Takes the results back for the caller to print. Does not return if the program is ending and they are
/// already being printed.
pub fn take() {
    if matches!(std::mem::replace(&mut *held(), Held::Taken), Held::Taken) {
        loop {
            std::thread::park();
        }
    }
}
