//! Ageing of an SSD. In a closed loop the host always has a next write, and GC runs one step for each
//! completed command. In an open loop GC reaches its goals before the next command.

use wordline_device::ageing::{Ages, UntimedCalendar, advance, rest};
use wordline_kernel::{Duration, Schedule};

use crate::device::Device;
use crate::event::Event;

/// Final state of a preconditioned device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// State after full load: the host wrote as fast as it could, and victims are partly collected.
    UnderLoad,
    /// State after an idle time: GC has reached its goal for free blocks.
    Idle,
    /// State for an open-loop workload: like after an idle time, but with the usual occupancy of the write
    /// buffer.
    OpenLoop,
}

impl Ages for Device {
    fn is_timer(event: &Event) -> bool {
        matches!(event, Event::FlushTimer | Event::Idle)
    }

    fn stop_clock(&mut self) -> bool {
        self.core.ftl.flash.stop_clock();
        true
    }

    fn next_untimed_completion(&mut self, clock: &mut impl Schedule<Event>) -> bool {
        let done = self.core.ftl.flash.next_untimed_completion();
        if let Some(done) = &done {
            self.command_done(done, clock);
            self.writer.write_tables(true, &mut self.core, clock);
        }
        done.is_some()
    }

    /// Does nothing with block-level mapping, which has no GC to pause.
    fn pause_gc(&mut self) {
        if self.core.ftl.block_map.is_none() {
            self.core.ftl.gc.pause();
        }
    }

    fn start_clock(&mut self) {
        self.core.ftl.gc.go_on();
        self.core.ftl.flash.start_clock();
    }

    fn page_program_time(&self) -> Duration {
        let pools = &self.core.ftl.config.pools;
        let times = &pools.first().part.timing.program;
        let program = times.iter().map(|time| time.middle().ps()).sum::<u64>() / times.len() as u64;
        let at_once: u64 = pools.all_groups().map(|row| u64::from(pools.per_program(row))).sum();
        Duration::from_ps(program / at_once)
    }
}

impl End {
    /// Brings a device to this state: empties its write buffer, unless an open-loop workload follows, finishes
    /// the work in progress, and GC as far as necessary. Afterwards flash operations take time again, and no
    /// timer is set.
    pub(super) fn reach(self, device: &mut Device, clock: &mut UntimedCalendar<Event>) {
        if self == Self::UnderLoad {
            device.core.ftl.gc.limit_to_required();
        }
        if self != Self::OpenLoop {
            device.front.flush_all(&mut device.core, &mut device.writer, clock);
            device.core.start_dies(clock);
            while device.core.cache.buffer().in_use() > 0 && advance(device, clock) {}
        }
        if self == Self::UnderLoad {
            device.core.ftl.gc.pause();
        }
        rest(device, clock);
        device.front.clear_timer();
        device.core.ftl.gc.clear_timer();
    }
}

#[cfg(test)]
mod tests;
