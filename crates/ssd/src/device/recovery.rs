//! The power is cut, and comes back: everything but the flash is lost, and the tables are put together again from the
//! stamps that the pages carry.
//!
//! Every slot says which logical page it holds and in which version; the newest version wins, and of two copies of the
//! same version, which the collector leaves, either one. Open blocks go on where they were, behind what is torn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, Schedule};
use wordline_nand::{AtCut, BlockSetId, Operation, Pool, SlotId, Stamp, TornBy};

use super::flush::Marks;
use super::scan::Scan;
use super::{Device, Event, Mutant, Unit};
use crate::buffer::read_ahead::ReadAhead;
use crate::command::Command;
use crate::flash::{Task, Ticket};
use crate::ftl::blocks::State;
use crate::ftl::mapping::LogicalPage;
use crate::sectors::Sectors;

/// What a power cut found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Commands that were not answered and never will be.
    pub unanswered: Vec<Command>,
    /// Programs and erases that it stopped.
    pub torn: TornBy,
}

/// What a recovery took and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// From power on to the first command.
    pub time: Duration,
    /// Pages of which the stamp was read.
    pub pages_read: u64,
    /// Logical pages of which the last write is gone: what was there before is there again, or nothing.
    pub lost: u64,
    /// Logical pages that the host had discarded and that hold something again.
    pub returned: u64,
}

/// A page of the buffer that outlived a power cut.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    logical: LogicalPage,
    version: u32,
    sectors: Sectors,
}

/// Whether a task programs pages.
fn programs(task: &Task) -> bool {
    matches!(task.operation, Operation::Program | Operation::Copyback { .. })
}

/// Versions of some pages.
type Versions = BTreeMap<LogicalPage, u32>;

impl Device {
    /// Cuts the power at `now`. The caller forgets all events of this device; it takes no command until it has
    /// [recovered](Self::recover).
    pub fn power_cut(&mut self, now: Instant) -> PowerCut {
        let at_cut = match self.is_protected() {
            true => AtCut::Finished,
            false => self.config.file.ftl.recovery.programs_at_cut.into(),
        };
        let unanswered = self.front.forget(&self.config);
        let cut = PowerCut { unanswered, torn: self.cut_flash(now, at_cut) };
        self.digest.add(now.ps());
        self.save_buffer();
        self.forget_contents();
        self.buffer.forget();
        self.cache.forget_all();
        self.ahead = ReadAhead::new(self.config.file.buffer.read_ahead);
        self.marks = Marks::new(&self.config);
        if let Some(destage) = &mut self.destage {
            destage.forget();
        }
        self.collector.forget();
        if let Some(map) = &mut self.block_map {
            map.forget();
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.forget();
        }
        if self.flash.asks_tuner() {
            self.policies.tuner.forget();
        }
        self.ready.forget();
        self.units.fill(Unit::default());
        if let Some(subs) = &mut self.subs {
            subs.forget();
        }
        if let Some(writes) = &mut self.unit_writes {
            writes.forget();
        }
        (self.filling, self.programming) = (0, 0);
        self.stalled.clear();
        self.flushes.clear();
        self.wake.clear();
        self.drain = None;
        (self.timer_set, self.round) = (false, None);
        self.rest = Default::default();
        self.some_row_full = false;
        self.scan = Some(Scan::of(self));
        cut
    }

    /// With protection from power loss, what the host wrote into the buffer is kept.
    fn save_buffer(&mut self) {
        if self.is_protected() {
            let written = self.buffer.used().filter(|entry| !entry.discarded);
            self.saved.extend(written.map(|entry| Saved {
                logical: entry.logical,
                version: entry.version,
                sectors: entry.sectors,
            }));
        }
    }

    /// What was kept of the buffer is there again, unless it had come to flash; how many pages.
    fn restore_buffer(&mut self) -> u64 {
        let mut restored = 0;
        for Saved { logical, version, sectors } in std::mem::take(&mut self.saved) {
            let in_flash = self.mapping.get(logical).map_or(0, |slot| self.flash.stamp(slot).version);
            if in_flash < version {
                self.buffer.add(logical, version, in_flash, sectors);
                self.mapping.take_as_written(logical, version, true);
                restored += 1;
            }
        }
        restored
    }

    /// Cuts the power of the flash. Programs that were counted when their unit was formed and have not happened count no more.
    fn cut_flash(&mut self, now: Instant, at_cut: AtCut) -> TornBy {
        let Self { flash, units, collector, block_map, totals, config, .. } = self;
        flash.cut_power(now, at_cut, |task, chips| {
            let slots = &config.pools.of_slot(task.slot).slots;
            let mut carried = 0;
            let (count, filled) = match task.ticket {
                Ticket::HostUnit(row) => {
                    let unit = &units[row as usize];
                    let data = unit.stamps.iter().filter(|stamp| stamp.is_data()).count();
                    carried = (data - unit.entries.len()) as u64;
                    (&mut totals.host_programs, unit.entries.len())
                }
                Ticket::Reclaim(row) if programs(task) => {
                    let unit = match block_map {
                        Some(map) => map.held(row),
                        None => collector.unit(row),
                    };
                    (&mut totals.gc_programs, unit.len())
                }
                Ticket::TableUnit(row) => {
                    let stamps = &units[row as usize].stamps;
                    let filled = stamps.iter().filter(|stamp| stamp.is_data()).count();
                    (&mut totals.translation_programs, filled)
                }
                _ => return,
            };
            if !chips.is_programmed(task.slot) {
                if matches!(task.operation, Operation::Copyback { .. }) {
                    totals.gc_copied -= filled as u64;
                }
                let is_slc = chips.is_slc(slots.block_of(task.slot));
                let planes = config.pools.of_slot(task.slot).geometry.planes_per_row;
                let slc_unit = slots.of_pages_side_by_side(planes);
                let unit = u64::from(if is_slc { slc_unit } else { slots.per_program });
                *count -= filled as u64;
                totals.slc_programs -= if is_slc { filled as u64 } else { 0 };
                totals.unit_programs -= carried;
                totals.padding -= unit - filled as u64 - carried;
            }
        })
    }

    /// Whether the device takes commands.
    pub fn is_ready(&self) -> bool {
        self.scan.is_none()
    }

    /// What the last recovery took and found.
    pub fn recovery(&self) -> Option<&Recovered> {
        self.recovery.as_ref()
    }

    /// The power is back: reads the stamps of all pages, the dies side by side, and puts the tables together. The
    /// device is [ready](Self::is_ready) when that is over.
    pub fn recover(&mut self, calendar: &mut impl Schedule<Event>) {
        self.skip_torn_word_lines();
        let Self { blocks, flash, .. } = self;
        let chips = flash.chips();
        blocks.forget(|block| chips.programmed(block), |block| chips.erases()[block]);
        blocks.look_at_word_lines(|slot| chips.is_programmed(slot));
        self.set_modes();
        let stale = self.find_newest();
        if let Some(map) = &self.block_map {
            map.settle(&mut self.mapping, &mut self.blocks, self.flash.chips());
            self.blocks.forget_open();
        }
        self.recover_tables();
        let mut scan = Scan::of(self);
        scan.begin(calendar.now());
        (scan.found.lost, scan.found.returned) = self.believe(&stale);
        self.blocks.close_full();
        self.read_only = false;
        self.condemn_again();
        if let Some(map) = &mut self.block_map {
            map.rebuild(&mut self.blocks, self.flash.chips());
        }
        self.check_life();
        self.scan_tables(&mut scan);
        self.scan = Some(scan);
        for die in self.config.pools.all_dies() {
            self.scan_on(die, calendar);
        }
    }

    /// What of a torn word line is not programmed yet stays so, where it is next in its block.
    fn skip_torn_word_lines(&mut self) {
        for block in self.blocks_in_use() {
            let Pool { part, slots, .. } = self.config.pools.of_block(block);
            if part.geometry.one_shot || part.geometry.bits_per_cell == 1 || self.flash.chips().is_slc(block)
            {
                continue;
            }
            let unit = slots.per_program;
            let written = self.flash.chips().programmed(block);
            let first = written / unit;
            let is_torn = |page: u32| {
                let stamp = self.flash.stamp(slots.at(block, page * unit));
                stamp == Stamp::TORN
            };
            let in_torn_line =
                |page: &u32| part.pages().partners(*page).any(|other| other < first && is_torn(other));
            let skipped = (first..part.geometry.pages_per_block).take_while(in_torn_line).count() as u32;
            if written > 0 && skipped > 0 {
                self.flash.skip(block, skipped * unit);
            }
        }
    }

    fn blocks_in_use(&self) -> Vec<BlockSetId> {
        let all = self.config.pools.all_blocks();
        all.filter(|block| self.blocks.state(*block) != State::Bad).collect()
    }

    /// Maps every logical page to the newest of its copies; in a pool of whole units those in the newest program unit of
    /// their unit count alone. Returns the latest versions that are in others, where nothing later was found.
    fn find_newest(&mut self) -> Versions {
        self.mapping.forget_places();
        let newest = self.unit_writes.as_ref().map(|writes| writes.newest(&self.blocks, self.flash.chips()));
        let mut stale = BTreeMap::new();
        for block in self.blocks_in_use() {
            let first = self.config.pools.at(block, 0);
            let end = match self.blocks.is_in_order() {
                true => self.flash.chips().programmed(block),
                false => self.config.pools.per_block(block),
            };
            for slot in (first.0..first.0 + end).map(SlotId) {
                let stamp = self.flash.stamp(slot);
                // What preconditioning calls overwritten long ago has no version.
                if !stamp.is_data() || stamp.version == 0 {
                    continue;
                }
                let logical = LogicalPage(stamp.logical);
                if let (Some(writes), Some(newest)) = (&self.unit_writes, &newest)
                    && self.blocks.has_whole_units(self.blocks.row_of(block))
                    && !writes.is_newest(newest, slot, logical)
                {
                    let version = stale.entry(logical).or_insert(0);
                    *version = stamp.version.max(*version);
                    continue;
                }
                let known = self.mapping.get(logical).map(|known| self.flash.stamp(known).version);
                let is_newer = |known: u32| (known < stamp.version) != self.has(Mutant::OldestAtRecovery);
                if known.is_none_or(is_newer) {
                    self.install(logical, slot);
                }
            }
        }
        self.forget_stale(&mut stale);
        stale
    }

    /// What an older program unit of a unit holds a later version of than what was found was discarded before the newest one
    /// was written, which has no page there: it is nowhere.
    fn forget_stale(&mut self, stale: &mut Versions) {
        stale.retain(|page, version| self.version_in_flash(*page).is_none_or(|found| found < *version));
        stale.keys().for_each(|page| self.unmap(*page));
    }

    /// From now on the host wrote last what was found; no version is given again that is still in flash, as the `stale` ones
    /// are. Pages lost, and pages that came back.
    fn believe(&mut self, stale: &Versions) -> (u64, u64) {
        let (mut lost, mut returned) = (0, 0);
        for page in (0..self.mapping.len()).map(LogicalPage) {
            let written = self.mapping.last_written(page);
            let found = self.version_in_flash(page);
            let is_host = !self.is_table(page.0);
            let void = if is_host { self.void(page, found) } else { 0 };
            let stale = stale.get(&page).copied().unwrap_or(0);
            let known = self.lost_before(page, found, void);
            lost += u64::from(is_host && written.is_some() && written != known.or(found));
            returned += u64::from(written.is_none() && self.mapping.get(page).is_some());
            // No later version may be taken for one that is somewhere in flash still.
            let present = self.mapping.get(page).is_some() || self.is_lost(page);
            self.mapping.take_as_written(page, known.max(found).unwrap_or(0).max(void).max(stale), present);
        }
        (lost - self.restore_buffer(), returned)
    }

    /// The version of a page that was lost to a fault before the cut, if nothing newer is in flash: what is found of the
    /// page is no substitute for it.
    fn lost_before(&mut self, page: LogicalPage, found: Option<u32>, void: u32) -> Option<u32> {
        if self.lost.is_empty() {
            return None;
        }
        let known = match self.is_protected() {
            true => self.lost.whole(page, found),
            false => self.lost.recover(page, found, void),
        };
        if known.is_some() {
            self.unmap(page);
        }
        known
    }

    /// The last version of a page that is void because the host discarded it; if that is what was found, it is nowhere.
    fn void(&mut self, page: LogicalPage, found: Option<u32>) -> u32 {
        let void = self.discards.as_ref().map_or(0, |discards| discards.void(page));
        if found.is_some_and(|found| found <= void) {
            self.unmap(page);
        }
        void
    }

    fn unmap(&mut self, page: LogicalPage) {
        if let Some(slot) = self.mapping.clear(page) {
            self.blocks.invalidate(slot);
        }
    }

    /// The table of bad blocks outlives the power, and which blocks are to join it. Dies are known as lost again.
    fn condemn_again(&mut self) {
        for block in self.blocks_in_use().into_iter().filter(|block| self.blocks.is_condemned(*block)) {
            self.collector.condemn(self.blocks.row_of(block), block);
        }
        for die in self.config.pools.all_dies() {
            if !self.flash.chips().is_dead(die) {
                continue;
            }
            let mut rows = self.config.pools.of_die(die).geometry.rows_of(die);
            rows.clone().for_each(|row| self.collector.lose(row));
            if rows.any(|row| self.blocks.is_in_use(row)) {
                self.lose_die(die);
                self.check_life();
            }
        }
    }

    /// The table of discards and translation pages go on from what is found of them.
    fn recover_tables(&mut self) {
        let Self { discards, translation, mapping, flash, blocks, config, .. } = self;
        let found = |logical| {
            let slot = mapping.get(logical)?;
            Some((flash.stamp(slot).version, blocks.row_of(config.pools.block_of(slot))))
        };
        if let Some(discards) = discards {
            discards.recover(found);
        }
        if let Some(translation) = translation {
            translation.forget(found);
        }
    }

    /// The scan is over: the device goes on.
    pub(super) fn recovered(&mut self, scan: &Scan, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.recovery = Some(scan.found_by(now));
        self.digest.add(now.ps());
        self.note_all_rows();
        for row in 0..self.config.pools.rows() {
            self.collect_unless(false, row, calendar);
        }
        self.note_rest(calendar);
        // What was kept of the buffer goes to flash at once.
        while let Some(id) = self.buffer.oldest() {
            self.urge(id, calendar);
        }
        self.set_timer(calendar);
        self.pump(calendar);
    }
}
