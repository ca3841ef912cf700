//! Handles Ctrl-C and SIGTERM. A command that has partial results is asked to stop, and prints them. Any
//! other command ends at once. The program always ends within [`STOP_TIMEOUT`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wordline_lab::output::remove_unfinished;

use crate::failure::{INTERRUPTED, print_message};

/// Longest time that a command may take to stop. Chosen: together with the end of the program it takes less
/// than a second.
const STOP_TIMEOUT: Duration = Duration::from_millis(700);

/// Whether the user asked the program to stop.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Whether the running command polls the stop flag and will print a result.
static WORKING: AtomicBool = AtomicBool::new(false);
static RESULT: Mutex<HeldResults> = Mutex::new(HeldResults::Nothing);

/// A function that prints the results so far.
type PrintResults = Box<dyn FnOnce() + Send>;

/// The results to print if the program is stopped.
enum HeldResults {
    Nothing,
    /// Results of the parts that are finished.
    Results(PrintResults),
    /// The results are being printed.
    Taken,
}

fn held() -> MutexGuard<'static, HeldResults> {
    RESULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program without leaving incomplete files.
fn exit_program() -> ! {
    remove_unfinished();
    std::process::exit(INTERRUPTED.into())
}

/// Prints the held results and ends the program, unless that is already happening.
fn print_and_exit() {
    let what = std::mem::replace(&mut *held(), HeldResults::Taken);
    match what {
        HeldResults::Nothing => print_message("stopped: there is no result yet"),
        HeldResults::Results(give) => give(),
        HeldResults::Taken => return,
    }
    exit_program()
}

/// Installs the signal handlers. Signals that cannot be caught end the program in the usual way.
pub fn watch() {
    let handler = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            exit_program();
        }
        if !WORKING.load(Ordering::Relaxed) {
            print_and_exit();
        }
        // A thread of its own, so that the handler can notice a second signal.
        std::thread::spawn(|| {
            std::thread::sleep(STOP_TIMEOUT);
            print_and_exit();
        });
    };
    if ctrlc::set_handler(handler).is_err() {
        print_message("note: Ctrl-C will not print a partial result here");
    }
}

/// Sets whether the running command polls the stop flag from now on.
pub fn set_polling(working: bool) {
    WORKING.store(working, Ordering::Relaxed);
    // Handles a signal that arrived while the command was polling.
    if !working && asked() {
        print_and_exit();
    }
}

/// Whether the user asked the program to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The stop flag, for callers that poll it.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Registers a function that prints the results so far if the program is stopped.
pub fn hold_results(give: impl FnOnce() + Send + 'static) {
    let mut held = held();
    if !matches!(*held, HeldResults::Taken) {
        *held = HeldResults::Results(Box::new(give));
    }
}

/// Takes the results back, so that the caller can print them. Does not return if they are already being
/// printed because the program is ending.
pub fn take() {
    if matches!(std::mem::replace(&mut *held(), HeldResults::Taken), HeldResults::Taken) {
        loop {
            std::thread::park();
        }
    }
}
