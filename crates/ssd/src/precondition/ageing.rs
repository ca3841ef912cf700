//! How an SSD is aged. In a closed loop the collector keeps the pace of a host that always has something to write: a step for each
//! command that is over. By the times of the workload it goes as far as it wants before the next command.

use wordline_kernel::{Duration, Schedule};

use crate::ageing::{Ages, Untimed, advance, rest};
use crate::device::Device;
use crate::event::Event;

/// How a device is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As a host leaves it that wrote as fast as it could until now: with victims half cleaned.
    AtWork,
    /// With as many free blocks as cleaning goes for.
    Rested,
    /// As a host leaves it whose writes came at times of their own: as after a rest, with the buffer as full as the device keeps it.
    Paced,
}

impl Ages for Device {
    fn is_timer(event: &Event) -> bool {
        matches!(event, Event::FlushTimer | Event::Idle)
    }

    fn stop_clock(&mut self) -> bool {
        self.core.base.flash.stop_clock();
        true
    }

    fn next_over(&mut self, clock: &mut impl Schedule<Event>) -> bool {
        let done = self.core.base.flash.next_over();
        if let Some(done) = &done {
            self.command_done(done, clock);
            self.writer.write_tables(&mut self.core, clock);
        }
        done.is_some()
    }

    /// A block map has no collector to be held.
    fn hold_still(&mut self) {
        if self.core.map.by_block().is_none() {
            self.core.reclaim.pause();
        }
    }

    fn start_clock(&mut self) {
        self.core.reclaim.go_on();
        self.core.base.flash.start_clock();
    }

    fn time_of_a_page(&self) -> Duration {
        let pools = &self.core.base.config.pools;
        let times = &pools.first().part.timing.program;
        let program = times.iter().map(|time| time.middle().ps()).sum::<u64>() / times.len() as u64;
        let at_once: u64 = pools.all_rows().map(|row| u64::from(pools.per_program(row))).sum();
        Duration::from_ps(program / at_once)
    }
}

impl Device {
    /// Writes out what the buffer holds, unless a load goes on with that. A host that writes as fast as it can leaves no time for more
    /// cleaning than that takes.
    pub(super) fn write_out(&mut self, end: End, clock: &mut Untimed<Event>) {
        match end {
            End::AtWork => self.core.reclaim.hold_back(),
            End::Rested => {}
            End::Paced => return,
        }
        self.front.write_out(&mut self.core, &mut self.writer, clock);
        while self.core.cache.in_use() > 0 && advance(self, clock) {}
    }

    /// Finishes what is begun, and cleans as far as the `end` wants it. From then on flash takes time.
    pub(super) fn come_to(&mut self, end: End, clock: &mut Untimed<Event>) {
        if end == End::AtWork {
            self.core.reclaim.pause();
        }
        rest(self, clock);
    }

    /// No timer is set, as in a new device.
    pub(super) fn forget_timers(&mut self) {
        self.front.forget_timer();
        self.core.reclaim.forget_timer();
    }
}

#[cfg(test)]
mod tests;
