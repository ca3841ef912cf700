//! Runs of a study on a cluster: a Python process that talks to the cluster runs beside this program and
//! returns the results.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wordline_lab::error::{Error, Result};
use wordline_studies::{Elsewhere, Ended, Files, Task};

/// Polling interval of the stop flag. Chosen: too short to notice.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Module of the Python package that handles clusters.
const MODULE: &str = "wordline.cluster";

/// A cluster, behind a Python process that is connected to it.
pub struct Cluster<'a> {
    inside: Mutex<Inside>,
    python: PathBuf,
    stop: &'a AtomicBool,
}

struct Inside {
    child: Child,
    /// Closed when no more runs are requested.
    asks: Option<ChildStdin>,
    answers: Receiver<String>,
}

/// A run in the form that the Python process takes.
#[derive(Serialize)]
struct Asked<'a> {
    name: &'a str,
    text: &'a str,
    /// Its folder, its file and its hash.
    trace: Option<(&'a Path, &'a Path, &'a str)>,
}

/// A line from the Python process.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// It is connected, and has this version and commit.
    Program(String),
    /// A run ended with these files.
    Done { name: String, run: String, windows: Option<String> },
    /// A run ended without files.
    Failed { name: String, error: String },
    /// All requested runs have ended.
    Over {},
    /// The cluster is unusable, for this reason.
    Refused(String),
}

impl<'a> Cluster<'a> {
    /// Connects to the scheduler at `address` through the interpreter `python`, whose package must match this
    /// `program`.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such Python, the package is missing or has another version, or the
    /// connection fails.
    pub fn connect(address: &str, python: &Path, program: &str, stop: &'a AtomicBool) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-m", MODULE, "run", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|reason| absent(python, &reason.to_string()))?;
        let asks = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (to, answers) = channel();
        std::thread::spawn(move || {
            lines.lines().map_while(std::io::Result::ok).try_for_each(|line| to.send(line))
        });
        let (inside, python) = (Mutex::new(Inside { child, asks, answers }), python.to_owned());
        let cluster = Self { inside, python, stop };
        let found = cluster.with(|inside| cluster.next(inside))?;
        match found {
            Answer::Program(found) if found == program => Ok(cluster),
            Answer::Program(found) => Err(Error::Argument {
                what: format!("--cluster: the Python package of {}", cluster.python.display()),
                found,
                wanted: format!("{program}, as this program"),
            }),
            _ => Err(astray("an answer before a question".into())),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inside) -> Result<T>) -> Result<T> {
        act(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the next line.
    fn next(&self, inside: &mut Inside) -> Result<Answer> {
        loop {
            match inside.answers.recv_timeout(BETWEEN_LOOKS) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(Answer::Refused(sentence)) => {
                        return Err(Error::Argument {
                            what: "--cluster".into(),
                            found: sentence,
                            wanted: format!("a cluster as docs/studies.md describes it ({MODULE})"),
                        });
                    }
                    Ok(answer) => return Ok(answer),
                    Err(_) => return Err(astray(format!("the line `{line}`"))),
                },
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // It has printed the reason on standard error.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(absent(&self.python, "one that ended at once, for the reason above"));
                }
            }
        }
    }
}

impl Elsewhere for Cluster<'_> {
    fn carry_out(&self, runs: Vec<Task>, over: &mut dyn FnMut(&str, Ended) -> Result<()>) -> Result<()> {
        let asked: Vec<Asked<'_>> = runs.iter().map(Asked::of).collect();
        let line = serde_json::to_string(&asked).expect("keys are text") + "\n";
        self.with(|inside| {
            let asks = inside.asks.as_mut().expect("it is closed at the end");
            asks.write_all(line.as_bytes())
                .and_then(|()| asks.flush())
                .map_err(|reason| absent(&self.python, &format!("one that does not listen: {reason}")))?;
            loop {
                match self.next(inside) {
                    Ok(Answer::Done { name, run, windows }) => {
                        over(&name, Ended::Files(Files { run, windows }))?;
                    }
                    Ok(Answer::Failed { name, error }) => over(&name, Ended::Failed(error))?,
                    Ok(Answer::Over {}) | Err(Error::Stopped) => return Ok(()),
                    Ok(_) => return Err(astray("an answer to nothing".into())),
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

impl Drop for Cluster<'_> {
    /// Ends the Python process, at once if the user stopped the study; its runs on the cluster end with it.
    fn drop(&mut self) {
        let inside = self.inside.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(inside.asks.take());
        if self.stop.load(Ordering::Relaxed) {
            // If it has ended by itself there is nothing to kill.
            let _ = inside.child.kill();
        }
        let _ = inside.child.wait();
    }
}

impl<'a> Asked<'a> {
    fn of(task: &'a Task) -> Self {
        let Task { name, text, trace } = task;
        let trace = trace.as_ref().map(|trace| (&*trace.folder, &*trace.file, &*trace.sha256));
        Self { name, text, trace }
    }
}

fn absent(python: &Path, found: &str) -> Error {
    Error::Argument {
        what: format!("--cluster: the Python {}", python.display()),
        found: found.to_owned(),
        wanted: format!("one with `pip install 'wordline[cluster]'`, of which {MODULE} is run (--python)"),
    }
}

fn astray(found: String) -> Error {
    let wanted = format!("what {MODULE} of this version says");
    Error::Argument { what: "--cluster".into(), found, wanted }
}
