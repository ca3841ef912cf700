//! Sessions: runs that the caller advances step by step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use wordline_device::{BlockDevice, ZoneDescriptor};
use wordline_kernel::{Instant, Metrics};
use wordline_run::prepare::Prepared;
use wordline_run::record::CompletedRequest;
use wordline_run::running::{self, OutputFiles};
use wordline_run::steps::{Standing, StepTarget, SteppedRun, StopReason};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::job::{Job, RunOptions};
use crate::load::{Load, Precondition};
use crate::observer::{Observer, PRECONDITIONING, Unobserved};
use crate::output::Output;
use crate::reproducer::Reproducer;
use crate::summary::{Host, Summary};
use crate::trace::Request;
use crate::transient::WarmUp;
use crate::workload::Workload;

/// A device that receives requests and that the caller advances in steps. A [run](crate::run()) is a session
/// that is advanced to its end in one step. The steps do not affect the result: the same requests give the
/// same digest.
///
/// Requests come from a workload. With [`Workload::submitted`] they come one by one through
/// [`submit`](Self::submit). This host chooses its next request by the latency of the last one:
///
/// ```
/// use wordline_lab::trace::{Op, Request};
/// use wordline_lab::{Device, RunOptions, Session, StepTarget, Workload};
/// use wordline_kernel::Bytes;
///
/// let device = Device::preset("tiny")?;
/// let mut session = Session::open(&device, &Workload::submitted(), &RunOptions::seed(1))?;
/// let mut offset = 0;
/// for _ in 0..10 {
///     let read = Request::new(Op::Read, Bytes(offset), Bytes(4096));
///     session.submit(&Request { arrival: session.now(), ..read })?;
///     session.advance(StepTarget::Idle)?;
///     let slow = session.completions().iter().any(|answer| answer.latency.us() > 100.0);
///     offset = if slow { 0 } else { offset + 4096 };
/// }
/// assert_eq!(session.finish()?.host.reads, 10);
/// # Ok::<(), wordline_lab::Error>(())
/// ```
///
/// A session ends with an error of the simulation ([`Error::Stuck`], [`Error::InvalidDecision`],
/// [`Error::Invariant`]); every later call returns an error. Invalid input leaves the session unchanged.
pub struct Session {
    steps: Box<dyn SteppedRun>,
    reproducer: Reproducer,
    is_broken: bool,
}

impl Session {
    /// Opens a session on a device prepared by `options`, with the requests of `workload`.
    ///
    /// # Errors
    /// The errors of [`run`](crate::run()), and [`Error::Argument`] for settings that do not fit together.
    pub fn open(device: &Device, workload: &Workload, options: &RunOptions) -> Result<Self> {
        Self::open_observed(device, workload, options, &mut Unobserved)
    }

    /// Opens a session like [`open`](Self::open), with an observer of the preparation.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`Error::Stopped`] if the observer stopped it.
    pub fn open_observed(
        device: &Device,
        workload: &Workload,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let warm_up = options.warm_up.or(Some(WarmUp::None));
        Self::of(workload.job(device, &RunOptions { warm_up, ..options.clone() }, observer)?, observer)
    }

    /// Opens the session of a job.
    ///
    /// # Errors
    /// Those of [`open_observed`](Self::open_observed).
    pub fn of(job: Job, observer: &mut dyn Observer) -> Result<Self> {
        let Job { device, start, load } = job;
        let reproducer = Reproducer::of(&load);
        let steps = reproducer.guard(|| device.begin(&start, load, observer))?;
        Ok(Self { steps, reproducer, is_broken: false })
    }

    /// Opens a session of a load on a new device of any type.
    ///
    /// # Errors
    /// Those of [`open_observed`](Self::open_observed).
    pub fn on<D>(
        device: D,
        precondition: Precondition,
        load: Load,
        observer: &mut dyn Observer,
    ) -> Result<Self>
    where
        D: BlockDevice<Event: Send, Mark: Send> + Send + 'static,
    {
        let reproducer = Reproducer::of(&load);
        let steps = reproducer.guard(|| {
            let opened = OutputFiles::of(&load)?;
            let began = std::time::Instant::now();
            observer.phase(PRECONDITIONING, None);
            let with = Some((&load, "this device"));
            let prepared = Prepared::preconditioned(device, precondition, load.seed, with, observer)?;
            Ok(running::begin(prepared, load, opened, began, observer))
        })?;
        Ok(Self { steps, reproducer, is_broken: false })
    }

    /// Submits a request to the session. In an open loop the device accepts it at its
    /// [arrival](Request::arrival), counted from the beginning of the session. With a queue depth the device
    /// accepts it as soon as a slot is free. The request is only handled when the session advances. Returns
    /// the number of the request, from 0, which is also in its [`CompletedRequest`].
    ///
    /// # Errors
    /// [`Error::Argument`] for a request beyond the device, for an arrival in the past or before the previous
    /// request, and for a session whose requests come from a workload. The session is then unchanged.
    pub fn submit(&mut self, request: &Request) -> Result<u64> {
        self.guarded(|steps| steps.submit(request))
    }

    /// Advances the session to `until`. Returns the reason why it stopped.
    ///
    /// # Errors
    /// The errors of [`run`](crate::run()), and [`Error::Argument`] for a time in the past.
    pub fn advance(&mut self, until: StepTarget) -> Result<StopReason> {
        self.advance_observed(until, &mut Unobserved)
    }

    /// Advances the session like [`advance`](Self::advance), with an observer that can stop it. The session
    /// can be advanced further afterwards.
    ///
    /// # Errors
    /// Those of [`advance`](Self::advance).
    pub fn advance_observed(&mut self, until: StepTarget, observer: &mut dyn Observer) -> Result<StopReason> {
        self.guarded(|steps| steps.advance(until, observer))
    }

    /// The requests that completed since the last call, in order of completion.
    pub fn completions(&mut self) -> Vec<CompletedRequest> {
        self.steps.completions()
    }

    /// The present, from the beginning of the session.
    pub fn now(&self) -> Instant {
        self.standing().now
    }

    /// The state of the session: its time, and the numbers of waiting, outstanding and completed requests.
    pub fn standing(&self) -> Standing {
        self.steps.standing()
    }

    /// The metrics of the device since the beginning of the session. They include values that a
    /// [summary](Self::summary) reports as unknown.
    pub fn metrics(&self) -> Metrics {
        self.steps.metrics()
    }

    /// Requests, throughput and latency at the host since the beginning of the session.
    pub fn host(&self) -> Host {
        self.steps.host()
    }

    /// The result so far, in the form of [`finish`](Self::finish). Its outcome is `interrupted` if requests
    /// are left.
    pub fn summary(&mut self) -> Summary {
        self.steps.summary()
    }

    /// The descriptors of all zones of the device, in order (Report Zones of NVMe). A state includes the
    /// requests that the device has accepted. The report takes no simulated time. A report during a session:
    ///
    /// ```
    /// use wordline_device::ZoneState;
    /// use wordline_lab::trace::{Op, Request};
    /// use wordline_lab::{Device, RunOptions, Session, StepTarget, Workload};
    /// use wordline_kernel::Bytes;
    ///
    /// let device = Device::preset("zns-tlc-raw")?;
    /// let mut session = Session::open(&device, &Workload::submitted(), &RunOptions::seed(1))?;
    /// session.submit(&Request::new(Op::ZoneAppend, Bytes(0), Bytes(65_536)))?;
    /// session.advance(StepTarget::Idle)?;
    /// let first = session.report_zones()?[0];
    /// assert_eq!((first.state, first.write_pointer), (ZoneState::ImplicitlyOpen, Some(128)));
    /// # Ok::<(), wordline_lab::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] on a device without zones, and while the device recovers from a power cut.
    pub fn report_zones(&mut self) -> Result<Vec<ZoneDescriptor>> {
        self.guarded(|steps| steps.report_zones())
    }

    /// Cuts the power at the present instant, and restores it. Outstanding requests are lost. The device
    /// recovers while the session advances, and accepts requests after its recovery.
    ///
    /// # Errors
    /// [`Error::Argument`] if the device is still recovering from an earlier power cut.
    pub fn cut_power(&mut self) -> Result<()> {
        self.guarded(|steps| steps.cut_power(&mut Unobserved))
    }

    /// Saves the device as a snapshot, from which [`RunOptions::from_snapshot`] restores it. The session is
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::Argument`] unless every request has completed, [`Error::File`] if the snapshot cannot be
    /// written.
    pub fn save(&mut self, path: &Path) -> Result<()> {
        let to = Output::open(path)?;
        self.guarded(|steps| steps.save(to, &mut Unobserved))
    }

    /// Advances to the end of the workload, or until all submitted requests have completed. Returns the
    /// result, which equals the result of a run with the same requests.
    ///
    /// # Errors
    /// The errors of [`run`](crate::run()).
    pub fn finish(self) -> Result<Summary> {
        self.finish_observed(&mut Unobserved)
    }

    /// Finishes the session like [`finish`](Self::finish), with an observer that can stop it. The result then
    /// covers the requests completed so far.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn finish_observed(mut self, observer: &mut dyn Observer) -> Result<Summary> {
        self.guarded(|steps| steps.finish(observer))
    }

    /// Calls `step`. An error of the simulation or a panic ends the session.
    fn guarded<T>(&mut self, step: impl FnOnce(&mut dyn SteppedRun) -> Result<T>) -> Result<T> {
        if self.is_broken {
            return Err(Error::Argument {
                what: "the session".into(),
                found: "a call after an error that ended it".into(),
                wanted: "a new session".into(),
            });
        }
        let caught = catch_unwind(AssertUnwindSafe(|| step(&mut *self.steps)));
        let result = self.reproducer.with_reproducer(self.steps.standing().submitted, caught);
        self.is_broken = result.as_ref().is_err_and(Error::is_simulation_error);
        result
    }
}
