//! A report of everything that waits, and the maximum time for which it may.

use std::fmt::{self, Write};

use wordline_device::physical_device::MOST_BLOCKS;
use wordline_kernel::{Duration, Instant};
use wordline_nand::DieId;

use super::buffer::Buffers;
use super::config::OpenChannelConfig;
use super::in_flight::Commands;
use super::media::Media;
use super::recovery::Recovery;

/// Maximum number of lines of each kind in a report. Chosen: a few lines show what hangs, and a device may
/// have a thousand dies.
const LINES: usize = 16;

impl OpenChannelConfig {
    /// Maximum time for which a command may make no progress. Chosen: the time in which one die does the
    /// longest operations that the largest command can cause, each followed by as many reads as the
    /// scheduling allows. It is at least 1 s.
    pub(super) fn stall_limit(&self) -> Duration {
        let times = &self.geometry.times;
        let scheduling = &self.file.scheduling;
        let reads = times.read[1] * u64::from(scheduling.reads_in_a_row + 1);
        let retries = times.read[1] * u64::from(self.setup().read_levels());
        let step = times.write[1].max(times.reset[1]) + reads + retries;
        (step * MOST_BLOCKS as u64).max(Duration::from_ms(1_000))
    }
}

impl Commands {
    /// Reports the outstanding commands.
    pub(super) fn describe(&self, now: Instant, out: &mut String) -> fmt::Result {
        writeln!(out, "commands: {} outstanding", self.all.len())?;
        for command in self.all.values().take(LINES) {
            let name = command.operation.name();
            let (blocks, parts, age) = (command.blocks.len(), command.parts, now - command.submitted);
            writeln!(
                out,
                "  {name} {} of {blocks} logical blocks, {age} old: waits for {parts} parts",
                command.tag
            )?;
        }
        Ok(())
    }
}

impl Recovery {
    /// Reports the recovery that is under way.
    pub(super) fn describe(&self, out: &mut String) -> fmt::Result {
        let Some(recovering) = &self.recovering else { return Ok(()) };
        let state = if recovering.since.is_some() { "on" } else { "off" };
        writeln!(out, "power {state}: {} chunks are being examined", recovering.left)
    }
}

impl Media {
    /// Reports the dies that have work, or units in these buffers.
    pub(super) fn describe(&self, buffers: &Buffers, now: Instant, out: &mut String) -> fmt::Result {
        let busy = |die: &DieId| !self.flash.is_idle(*die) || !buffers.is_empty(die.0);
        for die in self.config.pools.all_dies().filter(busy).take(LINES) {
            let state = if self.chips().is_idle(die) { "idle" } else { "busy" };
            let [units, in_buffer] = buffers.waiting(die.0);
            writeln!(out, "die {}: {state}; {units} units to write, {in_buffer} of them with space", die.0)?;
            for (class, number, first) in self.flash.waiting(die) {
                let block = self.config.pools.block_of_page(first.page).0;
                let age = now - first.queued();
                writeln!(
                    out,
                    "  {class}: {number}, the first is a {:?} of block {block}, {age} old",
                    first.operation
                )?;
            }
        }
        Ok(())
    }
}
