//! Why a command did not succeed, and the exit code that says so.

use std::io::{ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use wordline_lab::Error;

use crate::screen;

/// A result outside its band, or a failed check of the simulation itself.
pub const FAILED: u8 = 1;
/// Input that cannot be used. The same as for arguments that do not parse.
const BAD_INPUT: u8 = 2;
/// Stopped by Ctrl-C: 128 and the number of the signal, as shells count.
pub const INTERRUPTED: u8 = 130;

/// Why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// Something that the user gave, or a place to write to, cannot be used.
    Error(Error),
    /// The command worked, and a check that it made failed. Everything has been printed.
    Verdict,
    /// The user stopped it. The results so far have been printed.
    Interrupted,
    /// The reader of the output has closed it, as in `wordline ... | head`.
    NoReader,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::File { reason, action: "write", .. } if reason.kind() == ErrorKind::BrokenPipe => {
                Self::NoReader
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
    /// The same with the option of the command line in place of what an argument is, where it was one of those `given`: `--time-scale` for
    /// `time scale`.
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

    /// Prints the message, each complaint on a line of its own, and gives the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Error(
                Error::Invariant(reproducer) | Error::Stuck(reproducer) | Error::WrongAnswer(reproducer),
            ) => {
                say(&format!("error: {reproducer}"));
                // The configuration fills some screens: the error stands below it once more.
                say(&format!("error: {}", reproducer.lines().next().unwrap_or_default()));
                ExitCode::from(FAILED)
            }
            Self::Error(error) => {
                for line in error.to_string().lines() {
                    say(&format!("error: {line}"));
                }
                ExitCode::from(BAD_INPUT)
            }
            Self::Verdict => ExitCode::from(FAILED),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            Self::NoReader => ExitCode::SUCCESS,
        }
    }
}

/// Says in one line that the program is wrong, and where: a panic is never the user's fault.
pub fn explain_panic(panic: &PanicHookInfo<'_>) {
    if wordline_lab::caught::is_caught() {
        return;
    }
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    say(&format!("error: a bug in Wordline, please report it with your command: {what} ({place})"));
}

/// Prints a line on standard error, but a note only where the user wants any. Where even that cannot be written there is
/// nobody left to tell.
pub fn say(line: &str) {
    if !line.starts_with("note:") || screen::is_at_least(screen::Loudness::Usual) {
        let _ = writeln!(std::io::stderr(), "{}", screen::message(line));
    }
}
