//! A run that ends when the failed members of an array are rebuilt.

use wordline_device::BlockDevice;
use wordline_device::block_device::Rebuild;
use wordline_kernel::{Instant, Schedule};

use super::{Running, StopCondition};
use crate::calendar::Event;
use crate::error::{Error, Result};
use crate::measured::{RebuildTime, WarmUpEnd};
use crate::observer::{Observer, REBUILDING, RUNNING};
use crate::steps::StopReason;
use crate::transient::WarmUp;
use crate::until::Until;

/// The step of a rebuild at which a run stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RebuildStep {
    /// A member has failed.
    Failed,
    /// All members that failed are rebuilt.
    Done,
}

impl RebuildStep {
    /// Whether a device is at this step, or never comes to it.
    pub fn is_reached(self, rebuild: Option<Rebuild>) -> bool {
        match rebuild {
            Some(Rebuild::Intact { fails_at: Some(_) }) => false,
            Some(Rebuild::Running { .. }) => self == Self::Failed,
            Some(Rebuild::Done | Rebuild::Impossible { .. } | Rebuild::Intact { fails_at: None }) | None => {
                true
            }
        }
    }
}

/// Rows that are rebuilt, and all rows.
pub(super) fn rows(rebuild: Option<Rebuild>) -> (u64, Option<u64>) {
    match rebuild {
        Some(Rebuild::Running { done, rows }) => (done, Some(rows)),
        _ => (0, None),
    }
}

impl<D: BlockDevice> Running<D> {
    /// Advances to the last instant before a member fails, so that the measurement has the failure and all that
    /// happens at its instant.
    pub(super) fn until_before_failure(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        let Some(fails_at) = self.next_failure()? else { return Ok(StopReason::Target) };
        let before = Instant::from_ps(fails_at.ps() - 1);
        self.host_events.pause_at(before, &mut self.calendar);
        self.resume(StopCondition { time: Some(before), ..StopCondition::NEVER }, observer)
    }

    /// Advances until a member fails.
    fn until_failure(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        self.next_failure()?;
        let stop = StopCondition { rebuild: Some(RebuildStep::Failed), ..StopCondition::NEVER };
        self.resume(stop, observer)
    }

    /// Time of the next failure, which is later than now; `None` if a member fails now or has failed.
    ///
    /// # Errors
    /// No member fails.
    fn next_failure(&mut self) -> Result<Option<Instant>> {
        self.prepared.device.start_timers(&mut self.calendar.within(Event::Device));
        let (found, wanted) = match self.prepared.device.rebuild() {
            None => (self.load.device_name.clone(), "an array, with `device = \"raid5\"`"),
            Some(Rebuild::Intact { fails_at: None }) => (
                "an array of which no member fails".into(),
                "a failure, such as array.failures = [{ member = 1, after = \"0s\" }]",
            ),
            Some(Rebuild::Intact { fails_at }) => {
                return Ok(fails_at.filter(|at| *at > self.calendar.now()));
            }
            Some(_) => return Ok(None),
        };
        Err(Error::Argument {
            what: "--until rebuilt, --warm-up failure".into(),
            found,
            wanted: wanted.into(),
        })
    }

    /// Notes a failure before the measurement, whose counts the result leaves out.
    pub(super) fn note_failed_before(&mut self, end: WarmUpEnd) {
        let waits = self.load.until == Some(Until::Rebuilt) || end == WarmUpEnd::Failure;
        let rebuilt = match self.prepared.device.rebuild() {
            Some(Rebuild::Done) => ", and was rebuilt",
            Some(Rebuild::Running { .. } | Rebuild::Impossible { .. }) => "",
            Some(Rebuild::Intact { .. }) | None => return,
        };
        if !waits {
            self.load.notes.push(format!(
                "a member failed before measuring began{rebuilt}: the result leaves it out; `--warm-up none` or `--warm-up failure` \
                 measures it"
            ));
        }
    }

    /// Checks that no member was rebuilt before the measurement. If a member has failed before, a note says
    /// that the time of the rebuild begins with the measurement.
    fn check_failed_before(&mut self) -> Result<()> {
        match self.prepared.device.rebuild() {
            Some(Rebuild::Done) => Err(Error::Argument {
                what: "--until rebuilt".into(),
                found: "an array that was rebuilt before measuring began".into(),
                wanted: "a failure later, by `after` of array.failures, or another --warm-up or snapshot"
                    .into(),
            }),
            Some(Rebuild::Running { .. }) if self.load.warm_up != WarmUp::Failure => {
                self.load.notes.push(
                    "a member failed before measuring began: the time of its rebuild counts from the beginning of the measurement"
                        .into(),
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Advances until all members that failed are rebuilt. The requests may end before.
    pub(super) fn measure_until_rebuilt(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        self.check_failed_before()?;
        let reached = self.until_failure(observer)?;
        if reached != StopReason::Target {
            return Ok(reached);
        }
        let failed = self.calendar.now();
        observer.phase(REBUILDING, rows(self.prepared.device.rebuild()).1);
        self.checks.shows_rebuild = true;
        let stop = StopCondition { rebuild: Some(RebuildStep::Done), ..StopCondition::NEVER };
        let reached = self.resume(stop, observer);
        self.checks.shows_rebuild = false;
        let (reached, rebuild) = (reached?, self.prepared.device.rebuild());
        if let Some(Rebuild::Impossible { missing }) = rebuild {
            let (found, wanted) = match missing {
                0 | 1 => ("a failed member without a spare", "a spare for each failure (spares)"),
                _ => (
                    "a member that failed while another one was missing or being rebuilt, so that data are lost",
                    "each failure after the rebuild of the member before (`after`)",
                ),
            };
            let what = "--until rebuilt".into();
            return Err(Error::Argument { what, found: found.into(), wanted: wanted.into() });
        }
        let share = match rows(rebuild) {
            (done, Some(rows)) => done as f64 / rows.max(1) as f64,
            _ => 1.0,
        };
        self.rebuilt = Some(RebuildTime { seconds: (self.calendar.now() - failed).seconds(), share });
        if reached != StopReason::Target {
            return Ok(reached);
        }
        if self.queue.upcoming()[0].is_none()
            && self.queue.outstanding() == 0
            && self.queue.total_submitted() > 0
        {
            self.load.notes.push("the requests ended before the rebuild, whose rest had no host load".into());
        }
        observer.phase(RUNNING, None);
        self.end_load(observer)
    }
}
