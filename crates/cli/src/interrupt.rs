//! Ctrl-C and SIGTERM, at any moment: a command with results to show is asked to stop and shows them, any other ends at
//! once, and nothing takes longer than [`PATIENCE`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wordline_lab::output::remove_unfinished;

use crate::failure::{INTERRUPTED, say};

/// How long a command that was asked to stop may take. Chosen: with all that follows a user waits for less
/// than a second.
const PATIENCE: Duration = Duration::from_millis(700);

/// Whether the user asked to stop.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether the running command checks whether it is to stop, and then has a result.
static WORKING: AtomicBool = AtomicBool::new(false);
static RESULT: Mutex<Held> = Mutex::new(Held::Nothing);

/// Gives out the results that there are.
type Give = Box<dyn FnOnce() + Send>;

/// The results to show if the program is stopped.
enum Held {
    Nothing,
    /// Results of the parts that are done.
    Results(Give),
    /// Results that are just being given out.
    Taken,
}

fn held() -> MutexGuard<'static, Held> {
    RESULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program, with no half of a file left.
fn end() -> ! {
    remove_unfinished();
    std::process::exit(INTERRUPTED.into())
}

/// Shows what is held and ends the program, unless that is about to happen.
fn show_and_end() {
    let what = std::mem::replace(&mut *held(), Held::Taken);
    match what {
        Held::Nothing => say("stopped: there is no result yet"),
        Held::Results(give) => give(),
        Held::Taken => return,
    }
    end()
}

/// Watches for signals from now on. Where they cannot be caught, they end the program as usual.
pub fn watch() {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            end();
        }
        if !WORKING.load(Ordering::Relaxed) {
            show_and_end();
        }
        // Beside the handler, which is to see a second signal.
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            show_and_end();
        });
    };
    if ctrlc::set_handler(handler).is_err() {
        say("note: Ctrl-C will not print a partial result here");
    }
}

/// Sets whether the running command checks from now on whether it is to stop.
pub fn looks(working: bool) {
    WORKING.store(working, Ordering::Relaxed);
    // A signal that came in between is not lost.
    if !working && asked() {
        show_and_end();
    }
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The same, for callers that check by themselves.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// From now on `give` shows the results so far, if the program is stopped.
pub fn hold(give: impl FnOnce() + Send + 'static) {
    let mut held = held();
    if !matches!(*held, Held::Taken) {
        *held = Held::Results(Box::new(give));
    }
}

/// The caller gives out the results. Where the program is ending, and they are being given out already, it does not come
/// back.
pub fn take() {
    if matches!(std::mem::replace(&mut *held(), Held::Taken), Held::Taken) {
        loop {
            std::thread::park();
        }
    }
}
