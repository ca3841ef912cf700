//! A file as the workload of a point: whatever `wordline run` takes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration};
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::Options;
use wordline_lab::trace::workload::fio::JobFile;
use wordline_lab::workload::{Generated, Origin};
use wordline_lab::{Precondition, Workload, input};

/// A workload file, a fio job file or a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileLoad {
    /// Path. A workload file ends in `.toml` and a job file in `.fio`; any other file is a trace.
    pub path: PathBuf,
    /// Number of requests: at most this many of a trace. Default: as many as the file has.
    pub requests: Option<u64>,
    /// Number of outstanding requests in each queue. A trace is then replayed without its times. Not for job
    /// files.
    pub queue_depth: Option<u32>,
    /// Factor on the times between requests of a trace; 0.5 is twice as fast.
    pub time_scale: Option<f64>,
    /// Time between a completion and the next request of a closed loop. Not for job files.
    pub think_time: Option<Duration>,
    /// Options for reading a trace, such as `discards = "skip"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trace_options: Options,
}

fn is_default(options: &Options) -> bool {
    *options == Options::default()
}

impl FileLoad {
    /// Whether `name` is the name of a workload file or a job file.
    pub fn is_file(name: &str) -> bool {
        name.ends_with(".toml") || name.ends_with(".fio")
    }

    /// The workload as a run takes it.
    pub(crate) fn workload(&self) -> Workload {
        let name = self.path.to_string_lossy().into_owned();
        let origin = match Self::is_file(&name) {
            true => Origin::Named(name),
            false => Origin::Trace(self.path.clone(), self.trace_options.clone()),
        };
        Workload {
            requests: self.requests,
            queue_depth: self.queue_depth,
            time_scale: self.time_scale,
            think_time: self.think_time,
            ..Workload::from(origin)
        }
    }

    /// Initial state that the workload asks for.
    pub(crate) fn precondition(&self) -> Precondition {
        let of_file = |path: &Path| match generated(path).ok()? {
            Generated::Pattern(pattern) => Some(pattern.precondition.into()),
            Generated::Application(application) => Some(application.precondition.into()),
        };
        let is_generated = self.path.extension().is_some_and(|end| end == "toml");
        is_generated.then(|| of_file(&self.path)).flatten().unwrap_or(Precondition::Filled(1.0))
    }

    /// The files that the requests come from: this file, and the traces that its jobs replay.
    ///
    /// # Errors
    /// A job file that cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = vec![self.path.clone()];
        if self.path.extension().is_some_and(|end| end == "fio") {
            files.extend(jobs(&self.path)?.traces().map(PathBuf::from));
        }
        Ok(files)
    }

    pub(crate) fn check(&self, wrong: &mut Complaints) {
        wrong.require(self.requests != Some(0), "file.requests", 0, "at least 1");
        wrong.require(self.queue_depth != Some(0), "file.queue_depth", 0, "at least 1");
        let end = self.path.extension().and_then(|end| end.to_str()).unwrap_or("");
        let read = match end {
            "toml" => generated(&self.path).map(drop),
            "fio" => jobs(&self.path).map(drop),
            _ if self.path.is_file() => Ok(()),
            _ => Err(Error::Argument {
                what: "file".into(),
                found: format!("no file {}", self.path.display()),
                wanted: "a trace, a workload file (.toml) or a job file (.fio)".into(),
            }),
        };
        match read {
            Err(Error::Config(inner)) => wrong.0.extend(inner.0),
            Err(Error::Argument { found, wanted, .. }) => wrong.add("file.path", found, wanted),
            Err(error) => wrong.add("file.path", error, "a file that can be read"),
            Ok(()) => {}
        }
        let is_jobs = end == "fio";
        let wanted = "none for a job file, whose jobs have it themselves";
        if let Some(depth) = self.queue_depth.filter(|_| is_jobs) {
            wrong.add("file.queue_depth", depth, wanted);
        }
        if let Some(time) = self.think_time.filter(|_| is_jobs) {
            wrong.add("file.think_time", time, wanted);
        }
        if matches!(end, "toml" | "fio") && !is_default(&self.trace_options) {
            wrong.add("file.trace_options", "options", "none for a file that is no trace");
        }
        if let Some(scale) = self.time_scale {
            let holds = !is_jobs && self.queue_depth.is_none() && scale.is_finite() && scale >= 0.0;
            wrong.require(holds, "file.time_scale", scale, "a factor of at least 0, for requests with times");
        }
    }
}

fn generated(path: &Path) -> Result<Generated> {
    let text = input::text(path, "a workload in TOML")?;
    Generated::from_toml(&path.display().to_string(), &text).map_err(Error::Config)
}

/// Reads a job file. One that includes other files or refers to variables is refused, because the name of a run
/// in a store covers the bytes of the files that [`FileLoad::files`] lists, and nothing else.
fn jobs(path: &Path) -> Result<JobFile> {
    let text = input::text(path, "a job file of fio")?;
    JobFile::parse(&path.display().to_string(), &text).map_err(Error::Config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_run_and_keys_that_do_nothing_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it is written");
            path.display().to_string()
        };
        let jobs = write("a.fio", "[a]\nfilename=x\nrw=randread\nread_iolog=small.csv\n");
        let wrong_jobs = write("b.fio", "[a]\nfilename=x\nrw=sideways\n");
        let trace = write("a.csv", "t_ps,op,offset,size\n0,R,0,4096\n");
        for (keys, wanted) in [
            (format!("path = {wrong_jobs:?}"), "b.fio:3: rw: found `sideways`"),
            (
                format!("path = {jobs:?}\nqueue_depth = 3"),
                "file.queue_depth: found 3, wanted none for a job file",
            ),
            ("path = 'nowhere.csv'".into(), "file.path: found no file nowhere.csv, wanted a trace"),
            (format!("path = {trace:?}\nqueue_depth = 0"), "file.queue_depth: found 0"),
            (format!("path = {trace:?}\nqueue_depth = 2\ntime_scale = 0.5"), "file.time_scale: found 0.5"),
            (
                format!("path = {jobs:?}\ntrace_options.discards = 'skip'"),
                "file.trace_options: found options, wanted none",
            ),
        ] {
            let mut wrong = Complaints::default();
            toml::from_str::<FileLoad>(&keys).expect("its keys").check(&mut wrong);
            assert!(wrong.to_string().contains(wanted), "{keys}: {wrong}");
        }
        let of = |path: &str| toml::from_str::<FileLoad>(&format!("path = {path:?}")).expect("its keys");
        assert_eq!(of(&jobs).files().expect("jobs"), [PathBuf::from(&jobs), "small.csv".into()]);
        assert_eq!(of(&trace).files().expect("a trace"), [PathBuf::from(&trace)]);
        assert_eq!(of(&jobs).precondition(), Precondition::Filled(1.0));
    }
}
