//! Flush timer of the write buffer. At a fixed interval it starts a round, which destages the whole buffer.

use wordline_kernel::{Duration, Schedule, state};

use crate::cache::Round;
use crate::engines::Core;
use crate::event::Event;

/// The timer of the write buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Timer {
    is_set: bool,
    /// The round in progress.
    round: Option<Round>,
}

state!(Timer { values { is_set, round } });

impl Timer {
    /// Sets the timer, if the write buffer is written out periodically.
    #[inline]
    pub fn set(&mut self, core: &Core, calendar: &mut impl Schedule<Event>) {
        let interval = core.config.file.buffer.flush_interval;
        if !self.is_set && interval > Duration::ZERO && core.cache.buffer().in_use() > 0 {
            self.is_set = true;
            calendar.after(interval, Event::FlushTimer);
        }
    }

    /// Handles the timer. Returns the round that continues or begins; `None` if there is nothing to write
    /// out.
    pub fn round(&mut self, core: &mut Core, calendar: &impl Schedule<Event>) -> Option<Round> {
        self.is_set = false;
        self.round.take().or_else(|| core.cache.begin_round(calendar.now(), &core.config))
    }

    /// Schedules the next step of a round.
    pub fn proceed(&mut self, round: Round, calendar: &mut impl Schedule<Event>) {
        (self.round, self.is_set) = (Some(round), true);
        calendar.after(round.every, Event::FlushTimer);
    }

    /// Ends a round, and sets the timer for the next one, one interval after the last round began. If no die
    /// is working the timer stays off, and the next write sets it again.
    pub fn rest(&mut self, last: Option<Round>, core: &Core, calendar: &mut impl Schedule<Event>) {
        if core.ftl.flash.outstanding() == 0 || self.is_set {
            return;
        }
        let Some(Round { begun, .. }) = last else { return self.set(core, calendar) };
        if core.cache.buffer().in_use() > 0 {
            self.is_set = true;
            let next = begun + core.config.file.buffer.flush_interval;
            calendar.at(next.max(calendar.now()), Event::FlushTimer);
        }
    }
}
