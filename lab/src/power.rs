//! The power cut of a run: when it comes, and what it did.

use wordline_host::{Arrival, HostQueue};
use wordline_kernel::{Calendar, Duration, Instant, Schedule};
use wordline_ssd::Device;

use crate::run::{DeviceCalendar, Event};
use crate::summary::PowerCut;

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutAfter {
    /// So many requests are answered.
    Requests(u64),
    /// So much time passed since the run began.
    Time(Duration),
}

/// The power of a run.
#[derive(Debug, Default)]
pub(crate) struct Power {
    /// When the run began.
    begin: Instant,
    /// The cut to come.
    cut: Option<CutAfter>,
    /// Whether the device puts its tables together, so that the host waits.
    recovering: bool,
    done: Option<PowerCut>,
}

impl Power {
    /// The power that is cut then, if at all.
    pub(crate) fn new(cut: Option<CutAfter>, calendar: &mut Calendar<Event>) -> Self {
        if let Some(CutAfter::Time(time)) = cut {
            calendar.after(time, Event::PowerCut);
        }
        Self { begin: calendar.now(), cut, ..Self::default() }
    }

    /// Whether the power is to be cut now that so many requests are answered.
    #[inline]
    pub(crate) fn is_due(&self, answered: u64) -> bool {
        matches!(self.cut, Some(CutAfter::Requests(requests)) if answered >= requests)
    }

    /// Cuts the power and switches it on again.
    pub(crate) fn cut<S: Iterator<Item = Arrival>>(
        &mut self,
        device: &mut Device,
        queue: &mut HostQueue<S>,
        calendar: &mut Calendar<Event>,
    ) {
        let now = calendar.now();
        let cut = device.power_cut(now);
        calendar.clear();
        cut.unanswered.iter().for_each(|command| queue.lost(now, command.queue));
        self.cut = None;
        self.recovering = true;
        self.done = Some(PowerCut {
            at_seconds: (now - self.begin).seconds(),
            lost_requests: cut.unanswered.len() as u64,
            torn_pages: cut.torn.pages + cut.torn.partners,
            torn_erases: cut.torn.erases,
            ..PowerCut::default()
        });
        device.recover(&mut DeviceCalendar(calendar));
    }

    /// Whether the device has just become ready again.
    #[inline]
    pub(crate) fn is_back(&mut self, device: &Device) -> bool {
        if !self.recovering || !device.is_ready() {
            return false;
        }
        self.recovering = false;
        if let (Some(done), Some(recovery)) = (&mut self.done, device.recovery()) {
            done.recovery_seconds = recovery.time.seconds();
            done.pages_read = recovery.pages_read;
            done.lost_pages = recovery.lost;
            done.returned_pages = recovery.returned;
        }
        true
    }

    /// Whether the host has to wait for the device.
    pub(crate) fn is_off(&self) -> bool {
        self.recovering
    }

    /// What the cut did, if it came.
    pub(crate) fn result(self) -> Option<PowerCut> {
        self.done
    }
}

impl PowerCut {
    /// It in a sentence.
    pub(crate) fn note(&self) -> String {
        format!(
            "the power was cut after {:.6} s: {} requests were not answered, {} pages and {} erases were torn, the last \
             writes of {} logical pages are lost and {} discarded ones are back; recovery read {} pages in {:.6} s",
            self.at_seconds,
            self.lost_requests,
            self.torn_pages,
            self.torn_erases,
            self.lost_pages,
            self.returned_pages,
            self.pages_read,
            self.recovery_seconds
        )
    }
}
