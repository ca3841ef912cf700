//! Reasons why a command failed, and their exit codes.

use std::io::{ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use wordline_lab::Error;

use crate::screen;

/// Exit code if a result is outside of its band, or a self-check of the simulation failed.
pub const FAILED: u8 = 1;
/// Exit code for invalid input. Arguments that cannot be parsed have the same exit code.
const BAD_INPUT: u8 = 2;
/// Exit code after Ctrl-C: 128 plus the number of the signal, as in shells.
pub const INTERRUPTED: u8 = 130;

/// Reasons why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// An input is invalid, or an output cannot be written.
    Error(Error),
    /// The command succeeded, but a check that it made failed. All output has been printed.
    Verdict,
    /// The user stopped the command. The results so far have been printed.
    Interrupted,
    /// The reader closed the output, as in `wordline ... | head`.
    ReaderClosed,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::File { reason, action: "write", .. } if reason.kind() == ErrorKind::BrokenPipe => {
                Self::ReaderClosed
            }
            Error::Stopped => Self::Interrupted,
            error => Self::Error(error),
        }
    }
}

impl From<wordline_lab::trace::Error> for Failure {
    fn from(error: wordline_lab::trace::Error) -> Self {
        Error::from(error).into()
    }
}

impl Failure {
    /// Replaces the description of an argument by the command-line option, if the option is one of those
    /// `given`: `--time-scale` for `time scale`.
    pub fn with_options(self, given: &[String]) -> Self {
        match self {
            Self::Error(Error::Argument { what, found, wanted }) => {
                let option = what.replace(' ', "-");
                let what = if given.contains(&option) { format!("--{option}") } else { what };
                Self::Error(Error::Argument { what, found, wanted })
            }
            other => other,
        }
    }

    /// Prints the message, with one line for each complaint. Returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Error(
                Error::Invariant(reproducer) | Error::Stuck(reproducer) | Error::InvalidDecision(reproducer),
            ) => {
                print_message(&format!("error: {reproducer}"));
                // The reproducer with the configuration fills several screens, so the error is repeated below
                // it.
                print_message(&format!("error: {}", reproducer.lines().next().unwrap_or_default()));
                ExitCode::from(FAILED)
            }
            Self::Error(error) => {
                for line in error.to_string().lines() {
                    print_message(&format!("error: {line}"));
                }
                ExitCode::from(BAD_INPUT)
            }
            Self::Verdict => ExitCode::from(FAILED),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            Self::ReaderClosed => ExitCode::SUCCESS,
        }
    }
}

/// Reports a bug of the program and its location in one line. A panic is never the user's fault.
pub fn explain_panic(panic: &PanicHookInfo<'_>) {
    if wordline_lab::panics::is_panic_caught() {
        return;
    }
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    print_message(&format!("error: a bug in Wordline, please report it with your command: {what} ({place})"));
}

/// Prints a line on standard error. Notes are dropped in quiet mode. If printing fails, nothing can report
/// it, so the failure is ignored.
pub fn print_message(line: &str) {
    if !line.starts_with("note:") || screen::is_at_least(screen::Verbosity::Normal) {
        // One write, so that the end of the program in another thread does not divide the line.
        let _ = std::io::stderr().write_all(format!("{}\n", screen::message(line)).as_bytes());
    }
}
