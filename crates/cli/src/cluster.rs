//! Runs of a study on a cluster. A Python process beside this program communicates with the cluster and
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
use wordline_studies::{Files, RunExecutor, RunOutcome, Task};

/// Time between two checks of the stop flag. Chosen: too short to notice.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Module of the Python package that this program starts.
const MODULE: &str = "wordline.cluster";

/// A cluster, and the Python process that is connected to it.
pub struct Cluster<'a> {
    inside: Mutex<ClusterProcess>,
    python: PathBuf,
    stop: &'a AtomicBool,
}

struct ClusterProcess {
    child: Child,
    /// Input of the process. It is closed when there are no more runs.
    asks: Option<ChildStdin>,
    answers: Receiver<String>,
}

/// A run in the form that the process reads.
#[derive(Serialize)]
struct RunRequest<'a> {
    name: &'a str,
    text: &'a str,
    /// Folder, file and hash of the trace.
    trace: Option<(&'a Path, &'a Path, &'a str)>,
}

/// A line of output of the process.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProcessMessage {
    /// The process is connected, and its package has this version and commit.
    Program(String),
    /// A run ended with these files.
    Done { name: String, run: String, windows: Option<String> },
    /// A run ended without files.
    Failed { name: String, error: String },
    /// All requested runs have ended.
    Over {},
    /// The cluster cannot be used, for this reason.
    Refused(String),
}

impl<'a> Cluster<'a> {
    /// Connects to the scheduler at `address`, through the interpreter `python`. Its package must have the
    /// version and commit in `program`.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such interpreter, if its package is missing or has another version,
    /// or if the connection fails.
    pub fn connect(address: &str, python: &Path, program: &str, stop: &'a AtomicBool) -> Result<Self> {
        let mut command = Command::new(python);
        command.args(["-m", MODULE, "run", address]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|reason| missing_python(python, &reason.to_string()))?;
        let asks = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (to, answers) = channel();
        std::thread::spawn(move || {
            lines.lines().map_while(std::io::Result::ok).try_for_each(|line| to.send(line))
        });
        let (inside, python) = (Mutex::new(ClusterProcess { child, asks, answers }), python.to_owned());
        let cluster = Self { inside, python, stop };
        let found = cluster.with(|inside| cluster.next(inside))?;
        match found {
            ProcessMessage::Program(found) if found == program => Ok(cluster),
            ProcessMessage::Program(found) => Err(Error::Argument {
                what: format!("--cluster: the Python package of {}", cluster.python.display()),
                found,
                wanted: format!("{program}, as this program"),
            }),
            _ => Err(unexpected_output("output before a request".into())),
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut ClusterProcess) -> Result<T>) -> Result<T> {
        act(&mut self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the next line of output.
    fn next(&self, inside: &mut ClusterProcess) -> Result<ProcessMessage> {
        loop {
            match inside.answers.recv_timeout(POLL_INTERVAL) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(ProcessMessage::Refused(sentence)) => {
                        return Err(Error::Argument {
                            what: "--cluster".into(),
                            found: sentence,
                            wanted: format!("a cluster as docs/studies.md describes it ({MODULE})"),
                        });
                    }
                    Ok(answer) => return Ok(answer),
                    Err(_) => return Err(unexpected_output(format!("the line `{line}`"))),
                },
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The process has printed the reason on standard error.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(missing_python(&self.python, "one that ended at once, for the reason above"));
                }
            }
        }
    }
}

impl RunExecutor for Cluster<'_> {
    fn carry_out(&self, runs: Vec<Task>, over: &mut dyn FnMut(&str, RunOutcome) -> Result<()>) -> Result<()> {
        let asked: Vec<RunRequest<'_>> = runs.iter().map(RunRequest::of).collect();
        let line = serde_json::to_string(&asked).expect("keys are text") + "\n";
        self.with(|inside| {
            let asks = inside.asks.as_mut().expect("it is closed at the end");
            asks.write_all(line.as_bytes()).and_then(|()| asks.flush()).map_err(|reason| {
                missing_python(&self.python, &format!("one that does not listen: {reason}"))
            })?;
            loop {
                match self.next(inside) {
                    Ok(ProcessMessage::Done { name, run, windows }) => {
                        over(&name, RunOutcome::Files(Files { run, windows }))?;
                    }
                    Ok(ProcessMessage::Failed { name, error }) => over(&name, RunOutcome::Failed(error))?,
                    Ok(ProcessMessage::Over {}) | Err(Error::Stopped) => return Ok(()),
                    Ok(_) => return Err(unexpected_output("output without a request".into())),
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

impl Drop for Cluster<'_> {
    /// Ends the Python process. If the user stopped the study, it ends at once, and its runs on the cluster
    /// end with it.
    fn drop(&mut self) {
        let inside = self.inside.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(inside.asks.take());
        if self.stop.load(Ordering::Relaxed) {
            // A process that has already ended cannot be killed.
            let _ = inside.child.kill();
        }
        let _ = inside.child.wait();
    }
}

impl<'a> RunRequest<'a> {
    fn of(task: &'a Task) -> Self {
        let Task { name, text, trace } = task;
        let trace = trace.as_ref().map(|trace| (&*trace.folder, &*trace.file, &*trace.sha256));
        Self { name, text, trace }
    }
}

fn missing_python(python: &Path, found: &str) -> Error {
    Error::Argument {
        what: format!("--cluster: the Python {}", python.display()),
        found: found.to_owned(),
        wanted: format!("one with `pip install 'wordline[cluster]'`, of which {MODULE} is run (--python)"),
    }
}

fn unexpected_output(found: String) -> Error {
    let wanted = format!("what {MODULE} of this version prints");
    Error::Argument { what: "--cluster".into(), found, wanted }
}
