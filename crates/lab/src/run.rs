//! The run: a workload goes through a host queue into a device, and what happens is measured. It is a [`Session`] that goes to its end
//! at once.

use wordline_ssd::BlockDevice;

use crate::device::Device;
use crate::error::Result;
use crate::job::{Job, RunOptions};
use crate::load::{Load, Precondition};
use crate::observer::Observer;
use crate::output::Output;
use crate::prepare::Making;
use crate::session::Session;
use crate::summary::Summary;
use crate::workload::Workload;

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
/// Input that cannot be read, and settings that do not fit together, each with what was found and what was wanted.
/// [`Error::Argument`](crate::Error::Argument) for a request beyond the device, [`Error::File`](crate::Error::File) if the log cannot be
/// written, [`Error::Stopped`](crate::Error::Stopped) if the observer stopped it before the first request, and with a reproducer
/// [`Error::WrongAnswer`](crate::Error::WrongAnswer) if a design answers what is not allowed, [`Error::Invariant`](crate::Error::Invariant)
/// if a check of the simulation fails, and [`Error::Stuck`](crate::Error::Stuck) if it does not get on.
pub fn run(
    device: &Device,
    workload: &Workload,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    run_job(workload.job(device, options, observer)?, observer)
}

/// Runs a job to its end, or until the observer stops it.
///
/// # Errors
/// Those of [`run`].
pub fn run_job(job: Job, observer: &mut dyn Observer) -> Result<Summary> {
    Session::of(job, observer)?.finish_observed(observer)
}

/// Runs a load on any device that was just made, to its end or until the observer stops it.
///
/// # Errors
/// Those of [`run`].
pub fn run_on<D>(
    device: D,
    precondition: Precondition,
    load: Load,
    observer: &mut dyn Observer,
) -> Result<Summary>
where
    D: BlockDevice<Event: Send, Mark: Send> + Send + 'static,
{
    Session::on(device, precondition, load, observer)?.finish_observed(observer)
}

/// Preconditions a new device and saves it.
///
/// # Errors
/// [`Error::File`](crate::Error::File) if it cannot be written, [`Error::Stopped`](crate::Error::Stopped) if the observer does not want it
/// to go on.
pub fn make_snapshot(
    device: &Device,
    precondition: Precondition,
    seed: u64,
    to: Output,
    observer: &mut dyn Observer,
) -> Result<()> {
    let (name, text) = (&device.name, &device.text);
    device.configured.make_snapshot(Making { name, text, precondition, seed, to }, observer)
}

#[cfg(test)]
mod tests;
