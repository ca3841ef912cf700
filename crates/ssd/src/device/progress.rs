//! Whether a device gets on with the commands of the host, and if it does not, what waits for what.

use std::fmt::{self, Write};

use wordline_kernel::{Duration, Instant};
use wordline_nand::{DieId, Pool};

use super::Device;
use crate::block_device::{BlockDevice, Oldest};
use crate::config::Config;
use crate::policy::placement::Row;

/// Lines of each kind in a report. Chosen: what hangs is seen in a few of them, and a device may have a thousand dies.
const LINES: usize = 16;

/// Notices a command that gets nowhere while simulated time goes on.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    limit: Duration,
    looked: Instant,
    oldest: Option<Oldest>,
}

impl Watchdog {
    /// One that lets a command of such a device stand still for [as long as it may](BlockDevice::longest_wait).
    pub fn of(device: &impl BlockDevice, now: Instant) -> Self {
        Self::with_limit(device.longest_wait(), now)
    }

    /// One that lets a command stand still for so long.
    pub fn with_limit(limit: Duration, now: Instant) -> Self {
        Self { limit, looked: now, oldest: None }
    }

    /// Looks at a device, which may be done at any time and as often as is wanted. `Err` if the oldest command is where it was
    /// when so much time had passed: what waits for what.
    ///
    /// # Errors
    /// What [`BlockDevice::what_waits`] says.
    pub fn look(&mut self, device: &impl BlockDevice, now: Instant) -> Result<(), String> {
        if now - self.looked < self.limit {
            return Ok(());
        }
        let oldest = device.oldest();
        if oldest.is_some() && oldest == self.oldest {
            let since = now - self.looked;
            return Err(format!("no progress in {since} of simulated time\n{}", device.what_waits(now)));
        }
        (self.looked, self.oldest) = (now, oldest);
        Ok(())
    }
}

impl Device {
    /// How long a command may stand still with good reason: while a die moves everything in it and erases all its blocks, or
    /// while a single die writes all of the buffer, each time with as many reads in between as the scheduling lets pass;
    /// ten minutes at least. Chosen: nothing that a command waits for is more work for one die, and hosts give a command up
    /// after half a minute.
    pub(super) fn longest_wait_of(config: &Config) -> Duration {
        let passing = u64::from(config.file.ftl.scheduling.reads_in_a_row) + 1;
        let of_pool = |pool: &Pool| {
            let Pool { part, geometry, locations, .. } = pool;
            let read = part.read_times().iter().copied().max().unwrap_or(Duration::ZERO);
            let reads = u128::from(read.ps()) * u128::from(passing);
            let step = u128::from(part.worst_program_time().ps()) + reads;
            let rows = u64::from(geometry.rows() / geometry.dies().max(1));
            let blocks = u128::from(geometry.blocks_per_plane) * u128::from(rows);
            let units = u128::from(locations.per_block() / locations.per_program) * blocks;
            let buffer = u128::from(config.buffer_pages / locations.per_program);
            let erase = u128::from(part.timing.erase.ps()) + reads;
            (step * units + erase * blocks).max(step * buffer)
        };
        let longest = config.pools.iter().map(of_pool).max().unwrap_or(0);
        Duration::from_ps(u64::try_from(longest).unwrap_or(u64::MAX)).max(Duration::from_ms(600_000))
    }

    /// What waits for what, in words: for the report of a run that does not get on.
    pub fn what_waits(&self, now: Instant) -> String {
        let mut text = String::new();
        self.tell(now, &mut text).expect("a text takes everything");
        text
    }

    fn tell(&self, now: Instant, out: &mut String) -> fmt::Result {
        self.front.tell(now, LINES, |id| self.core.cache.is_stalled(id), out)?;
        let [filling, programming] = self.writer.on_the_way();
        let state = if self.core.base.life.read_only { "read-only" } else { "takes writes" };
        writeln!(
            out,
            "buffer: {} of {} pages in use, {} in the list, {} being completed, {} being programmed; {} writes stalled; \
             {}; the device {state}",
            self.core.cache.in_use(),
            self.core.base.config.buffer_pages,
            self.core.cache.dirty(),
            filling,
            programming,
            self.core.cache.stalled(),
            self.core.cache.tell_flushes(),
        )?;
        self.writer.tell(LINES, out)?;
        if let Some(discards) = self.core.map.discards() {
            let (due, waited) = (discards.is_due(), discards.is_waited_for());
            writeln!(out, "discards: due {due}, waited for {waited}, at rest {}", discards.is_at_rest())?;
        }
        self.tell_dies(now, out)?;
        (0..self.core.base.config.pools.rows()).take(LINES).try_for_each(|row| self.tell_row(row, out))
    }

    fn tell_dies(&self, now: Instant, out: &mut String) -> fmt::Result {
        let busy = |die: &DieId| !self.core.base.flash.is_at_rest(*die);
        for die in self.core.base.config.pools.all_dies().filter(busy).take(LINES) {
            let state = if self.core.base.flash.chips().is_idle(die) { "idle" } else { "at work" };
            writeln!(out, "die {}: {state}", die.0)?;
            for (class, number, read) in self.core.base.flash.waiting(die) {
                let block = self.core.base.config.pools.block_of_page(read.page);
                let age = now - read.queued();
                writeln!(
                    out,
                    "  {class}: {number}, the first is a {:?} ({:?}) of block {} ({:?}, {} valid, {} readers), {age} old",
                    read.operation,
                    read.ticket,
                    block.0,
                    self.core.base.space.state(block),
                    self.core.base.space.valid(block),
                    self.core.base.space.readers(block),
                )?;
            }
        }
        Ok(())
    }

    fn tell_row(&self, row: Row, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "row {row}: {} blocks free of {} good, {} pages valid of at most {}, takes streams {:b}, program under way {}; {}",
            self.core.base.space.free(row),
            self.core.base.space.good(row),
            self.core.base.space.valid_in(row),
            self.core.base.space.limit(row),
            self.writer.accepted_of(row),
            self.writer.is_busy(row),
            self.core.reclaim.collector().tell(row),
        )
    }
}
