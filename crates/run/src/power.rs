//! Power cuts during a run, and their results.

use wordline_device::BlockDevice;
use wordline_host::{HostQueue, Source};
use wordline_kernel::{Calendar, Instant, Schedule, counted};

use crate::calendar::{Event, RunCalendar};
use crate::load::PowerCutPoint;
use crate::observer::Observer;
use crate::quantity::Quantity;
use crate::summary::PowerCut;

/// Number of recovery events between two calls of the observer. Chosen: less than 10 ms of wall time.
const CHECK_INTERVAL: u64 = 1 << 14;

/// The power supply of a run.
#[derive(Debug, Default)]
pub(crate) struct Power {
    /// Time of the beginning of the run.
    begin: Instant,
    /// The power cut that is still to come, if any.
    cut: Option<PowerCutPoint>,
    /// Whether the device is in recovery, so that the host waits.
    recovering: bool,
    /// Number of recovery events so far.
    events: u64,
    done: Vec<PowerCut>,
}

impl Power {
    /// A power supply that cuts at `cut`, if given.
    pub(crate) fn new<E: Copy + PartialEq>(
        cut: Option<PowerCutPoint>,
        calendar: &mut Calendar<Event<E>>,
    ) -> Self {
        if let Some(PowerCutPoint::Time(time)) = cut {
            calendar.after(time, Event::PowerCut);
        }
        Self { begin: calendar.now(), cut, ..Self::default() }
    }

    /// Whether to cut the power after `completed` completions.
    #[inline]
    pub(crate) fn is_due(&self, completed: u64) -> bool {
        matches!(self.cut, Some(PowerCutPoint::Requests(requests)) if completed >= requests)
    }

    /// Marks the power cut as done.
    pub(crate) fn trigger(&mut self) {
        self.cut = None;
    }

    /// Cuts the power and restores it.
    pub(crate) fn cut<D: BlockDevice, S: Source>(
        &mut self,
        device: &mut D,
        queue: &mut HostQueue<S>,
        calendar: &mut RunCalendar<D>,
        observer: &mut dyn Observer,
    ) {
        let now = calendar.now();
        let cut = device.power_cut(now);
        calendar.clear();
        // Of the events outside the device, only a power cut that is still to come remains.
        if let Some(PowerCutPoint::Time(time)) = self.cut {
            calendar.at((self.begin + time).max(now), Event::PowerCut);
        }
        cut.incomplete.iter().for_each(|command| queue.lost(now, command));
        self.recovering = true;
        self.done.push(PowerCut {
            at_seconds: (now - self.begin).seconds(),
            lost_requests: cut.incomplete.len() as u64,
            torn_pages: cut.torn.pages + cut.torn.partners,
            torn_erases: cut.torn.erases,
            ..PowerCut::default()
        });
        device.recover(&mut calendar.within(Event::Device));
        observer.recovery_began(device.pages_recovered() + device.pages_to_recover());
    }

    /// Whether the device has just ended its recovery.
    #[inline]
    pub(crate) fn has_recovered(&mut self, device: &impl BlockDevice) -> bool {
        if !self.recovering || !device.is_ready() {
            return false;
        }
        self.recovering = false;
        if let (Some(done), Some(recovery)) = (self.done.last_mut(), device.recovery()) {
            done.recovery_seconds = recovery.time.seconds();
            done.pages_read = recovery.pages_read;
            done.lost_pages = recovery.lost;
            done.returned_pages = recovery.returned;
        }
        true
    }

    /// Counts a recovery event. Returns whether to call the observer now.
    pub(crate) fn is_observer_due(&mut self) -> bool {
        self.events += 1;
        self.events.is_multiple_of(CHECK_INTERVAL)
    }

    /// Whether the host must wait for the device.
    pub(crate) fn is_off(&self) -> bool {
        self.recovering
    }

    /// The result of each power cut.
    pub(crate) fn results(&self) -> &[PowerCut] {
        &self.done
    }

    /// The notes about the power cuts of a run, and about a cut that did not take place.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let missed = self.cut.map(|_| "the run was over before the power was to be cut".to_owned());
        self.done.iter().map(PowerCut::note).chain(missed)
    }
}

impl PowerCut {
    /// A sentence about this power cut.
    pub(crate) fn note(&self) -> String {
        format!(
            "the power was cut after {}: {} incomplete, {} and {} interrupted, the last writes of {} lost, {} returned; recovery read {} \
             in {}",
            Quantity::Seconds(self.at_seconds),
            counted(self.lost_requests, "request"),
            counted(self.torn_pages, "page"),
            counted(self.torn_erases, "erase"),
            counted(self.lost_pages, "logical page"),
            counted(self.returned_pages, "discarded page"),
            counted(self.pages_read, "page"),
            Quantity::Seconds(self.recovery_seconds)
        )
    }
}
