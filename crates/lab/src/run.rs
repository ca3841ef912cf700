//! Runs. A run sends the requests of a workload through a host queue to a device, and measures them. It is a
//! [`Session`] that is advanced to its end in one step.

use wordline_kernel::Duration;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::job::{Job, RunOptions};
use crate::load::Precondition;
use crate::observer::Observer;
use crate::output::{Output, is_standard};
use crate::prepare::SnapshotRequest;
use crate::session::Session;
use crate::summary::Summary;
use crate::timeline::{Timeline, Window};
use crate::workload::{Origin, Workload};

/// Runs a workload on a device to its end, or until the observer stops it.
///
/// ```
/// use wordline_lab::{Device, RunOptions, Unobserved, Workload, run};
///
/// let device = Device::preset("tiny")?;
/// let load = Workload { requests: Some(1_000), ..Workload::named("mixed-70-30") };
/// let [one, again] = [1, 1].map(|seed| run(&device, &load, &RunOptions::seed(seed), &mut Unobserved));
/// assert_eq!(one?.digest, again?.digest);
/// # Ok::<(), wordline_lab::Error>(())
/// ```
///
/// # Errors
/// - [`Error::Argument`] for a request beyond the device, and for settings that do not fit together.
/// - [`Error::File`] if the log cannot be written, and the other errors of input that cannot be read.
/// - [`Error::Stopped`] if the observer stopped the run before the first request.
/// - [`Error::InvalidDecision`] if a design took an invalid decision.
/// - [`Error::Invariant`] if a check of the simulation fails.
/// - [`Error::Stuck`] if the simulation makes no progress.
///
/// The last three include a reproducer.
pub fn run(
    device: &Device,
    workload: &Workload,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let Some(timeline) = options.timeline.as_ref().filter(|timeline| timeline.window == Window::Slowest)
    else {
        return run_job(workload.job(device, options, observer)?, observer);
    };
    let window = around_slowest(device, workload, options, observer)?;
    let timeline = Timeline { window, ..timeline.clone() };
    let options = RunOptions { timeline: Some(timeline), ..options.clone() };
    run_job(workload.job(device, &options, observer)?, observer)
}

/// The time window around the slowest request of a run. A separate run finds the request.
fn around_slowest(
    device: &Device,
    workload: &Workload,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Window> {
    let wrong = |found: &str, wanted: &str| Error::Argument {
        what: "the time line of the slowest request".into(),
        found: found.into(),
        wanted: wanted.into(),
    };
    if matches!(&workload.origin, Origin::Trace(path, _) if is_standard(path)) {
        return Err(wrong("requests from standard input, which are read once", "a file, or two times"));
    }
    let (log, save_snapshot, timeline, slowest) = (None, None, None, Some(1));
    let first = RunOptions { log, save_snapshot, timeline, slowest, ..options.clone() };
    let run = run_job(workload.job(device, &first, observer)?, observer)?;
    let slowest = run.tail.as_ref().and_then(|tail| tail.requests.first());
    let slowest = slowest
        .ok_or_else(|| wrong("a run without an explained request", "a run of an SSD, with requests"))?;
    let picoseconds = |time: f64, unit: f64| Duration::from_ps((time * unit) as u64);
    Ok(Window::around(picoseconds(slowest.submitted_seconds, 1e12), picoseconds(slowest.latency_us, 1e6)))
}

/// Runs a job to its end, or until the observer stops it.
///
/// # Errors
/// The errors of [`run`].
pub fn run_job(job: Job, observer: &mut dyn Observer) -> Result<Summary> {
    Session::of(job, observer)?.finish_observed(observer)
}

/// Makes a device, preconditions it, and saves it as a snapshot.
///
/// # Errors
/// [`Error::File`] if the snapshot cannot be written, [`Error::Stopped`] if the observer stopped it.
pub fn make_snapshot(
    device: &Device,
    precondition: Precondition,
    seed: u64,
    to: Output,
    observer: &mut dyn Observer,
) -> Result<()> {
    let (name, text) = (&device.name, &device.text);
    device.configured.make_snapshot(SnapshotRequest { name, text, precondition, seed, to }, observer)
}

#[cfg(test)]
mod power_tests;
#[cfg(test)]
mod precondition_tests;
#[cfg(test)]
mod rebuild_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timeline_tests;
#[cfg(test)]
mod warm_up_tests;
