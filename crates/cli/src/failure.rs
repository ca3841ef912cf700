//! Reasons why a command failed, and their exit codes.

use std::io::{ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use wordline_lab::Error;

use crate::screen;

/// Exit code for a result outside its band, or a failed self-check of the simulation.
pub const FAILED: u8 = 1;
/// Exit code for invalid input, the same as for arguments that do not parse.
const BAD_INPUT: u8 = 2;
/// Exit code after Ctrl-C: 128 plus the number of the signal, as in shells.
pub const INTERRUPTED: u8 = 130;

/// Reasons why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// An input is invalid, or an output cannot be written.
    Error(Error),
    /// The command succeeded, and a check that it made failed. Everything has been printed.
    Verdict,
    /// The user stopped it. The results so far have been printed.
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
    /// Names the command-line option instead of the argument's description, if it is one of those `given`:
    /// `--time-scale` for `time scale`.
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

    /// Prints the message, one line per complaint, and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Error(
                Error::Invariant(reproducer) | Error::Stuck(reproducer) | Error::InvalidDecision(reproducer),
            ) => {
                print_message(&format!("error: {reproducer}"));
                // The configuration fills some screens, so the error is repeated below it.
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

/// Reports in one line a bug of the program and its location: a panic is never the user's fault.
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

/// Prints a line on standard error; drops notes if the user wants none. A failure to print is ignored, as it
/// cannot be reported.
pub fn print_message(line: &str) {
    if !line.starts_with("note:") || screen::is_at_least(screen::Verbosity::Normal) {
        let _ = writeln!(std::io::stderr(), "{}", screen::message(line));
    }
}
