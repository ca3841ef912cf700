//! The power is cut, and comes back: everything but the flash is lost, and the tables are put together again from the
//! stamps that the pages carry.
//!
//! Every slot says which logical page it holds and in which version; the newest version wins, and of two copies of the
//! same version, which the collector leaves, either one. Open blocks go on where they were, behind what is torn.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Duration, Instant, Schedule};
use wordline_nand::{AtCut, DieId, PageId, RowBlockId, SlotId, Stamp, TornBy};

use super::flush::Marks;
use super::{Device, Event, Ready, Unit};
use crate::buffer::read_ahead::ReadAhead;
use crate::command::Command;
use crate::ftl::blocks::State;
use crate::ftl::mapping::LogicalPage;
use crate::queue::{Purpose, Queues};
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
pub struct Recovery {
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

/// Where the scan of a die is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cursor {
    block: RowBlockId,
    end: RowBlockId,
    /// The next page number of the block.
    page: u32,
}

/// The scan of the pages after a power cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Scan {
    began: Instant,
    dies: Column<DieId, Cursor>,
    /// Dies that are not at their end; none before the power is back.
    working: u32,
    found: Recovery,
}

impl Device {
    /// Cuts the power at `now`. The caller forgets all events of this device; it takes no command until it has
    /// [recovered](Self::recover).
    pub fn power_cut(&mut self, now: Instant) -> PowerCut {
        self.totals.served_ps += self.chips.unfinished_ps(now - Instant::ZERO);
        let at_cut = match self.is_protected() {
            true => AtCut::Finished,
            false => self.config.file.ftl.recovery.programs_at_cut.into(),
        };
        let cut =
            PowerCut { unanswered: self.front.forget(&self.config), torn: self.chips.cut_power(now, at_cut) };
        self.uncount_programs();
        self.digest.add(now.ps());
        self.queues = Queues::new(self.config.geometry.dies(), &self.config.file.ftl.scheduling);
        self.save_buffer();
        self.buffer.forget();
        self.cache.forget_all();
        self.ahead = ReadAhead::new(self.config.file.buffer.read_ahead);
        self.marks = Marks::new(&self.config);
        self.collector.forget();
        self.ready.fill(Ready::default());
        self.units.fill(Unit::default());
        (self.filling, self.programming) = (0, 0);
        self.stalled.clear();
        self.flushes.clear();
        self.wake.clear();
        self.drain = None;
        self.timer_set = false;
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
            let in_flash = self.mapping.get(logical).map_or(0, |slot| self.chips.stamp(slot).version);
            if in_flash < version {
                self.buffer.add(logical, version, in_flash, sectors);
                self.mapping.take_as_written(logical, version, true);
                restored += 1;
            }
        }
        restored
    }

    /// Programs that were counted when their unit was formed and have not happened count no more.
    fn uncount_programs(&mut self) {
        let Self { chips, queues, units, collector, totals, config, .. } = self;
        let slots = config.slots;
        let unit = u64::from(slots.per_program);
        for die in (0..config.geometry.dies()).map(DieId) {
            queues.each(die, |transaction| {
                let (block, place) = slots.split(transaction.slot);
                let (count, filled) = match transaction.purpose {
                    Purpose::HostProgram => {
                        (&mut totals.host_programs, units[transaction.owner as usize].entries.len())
                    }
                    Purpose::GcProgram | Purpose::GcCopyback => {
                        (&mut totals.gc_programs, collector.unit(transaction.owner).len())
                    }
                    Purpose::TranslationProgram => {
                        (&mut totals.translation_programs, slots.per_program as usize)
                    }
                    _ => return,
                };
                if chips.programmed(block) <= place {
                    if transaction.purpose == Purpose::GcCopyback {
                        totals.gc_copied -= filled as u64;
                    }
                    *count -= filled as u64;
                    totals.padding -= unit - filled as u64;
                }
            });
        }
    }

    /// Whether the device takes commands.
    pub fn is_ready(&self) -> bool {
        self.scan.is_none()
    }

    /// What the last recovery took and found.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// The power is back: reads the stamps of all pages, the dies side by side, and puts the tables together. The
    /// device is [ready](Self::is_ready) when that is over.
    pub fn recover(&mut self, calendar: &mut impl Schedule<Event>) {
        self.skip_torn_word_lines();
        let Self { blocks, chips, .. } = self;
        blocks.forget(|block| chips.programmed(block), |block| chips.erases()[block]);
        self.find_newest();
        self.blocks.close_full();
        self.read_only = false;
        self.check_life();
        let mut scan = Scan::of(self);
        scan.began = calendar.now();
        scan.working = self.config.geometry.dies();
        (scan.found.lost, scan.found.returned) = self.believe();
        self.recover_tables();
        self.scan = Some(scan);
        for die in (0..self.config.geometry.dies()).map(DieId) {
            self.scan_on(die, calendar);
        }
    }

    /// What of a torn word line is not programmed yet stays so, where it is next in its block.
    fn skip_torn_word_lines(&mut self) {
        let part = &self.config.part;
        if part.geometry.one_shot || part.geometry.bits_per_cell == 1 {
            return;
        }
        let unit = self.config.slots.per_program;
        for block in self.blocks_in_use() {
            let written = self.chips.programmed(block);
            let first = written / unit;
            let is_torn = |page: u32| {
                let stamp = self.chips.stamp(self.config.slots.at(block, page * unit));
                stamp == Stamp::TORN
            };
            let in_torn_line =
                |page: &u32| part.pages().partners(*page).any(|other| other < first && is_torn(other));
            let skipped = (first..part.geometry.pages_per_block).take_while(in_torn_line).count() as u32;
            if written > 0 && skipped > 0 {
                self.chips.skip(block, skipped * unit);
            }
        }
    }

    fn blocks_in_use(&self) -> Vec<RowBlockId> {
        let all = (0..self.config.geometry.row_blocks()).map(RowBlockId);
        all.filter(|block| self.blocks.state(*block) != State::Bad).collect()
    }

    /// Maps every logical page to the newest of its copies.
    fn find_newest(&mut self) {
        self.mapping.forget_places();
        for block in self.blocks_in_use() {
            let first = self.config.slots.at(block, 0);
            for slot in (first.0..first.0 + self.chips.programmed(block)).map(SlotId) {
                let stamp = self.chips.stamp(slot);
                // What preconditioning calls overwritten long ago has no version.
                if !stamp.is_data() || stamp.version == 0 {
                    continue;
                }
                let logical = LogicalPage(stamp.logical);
                let known = self.mapping.get(logical).map(|known| self.chips.stamp(known).version);
                if known.is_none_or(|known| known < stamp.version) {
                    self.install(logical, slot);
                }
            }
        }
    }

    /// From now on the host wrote last what was found. Pages lost, and pages that came back.
    fn believe(&mut self) -> (u64, u64) {
        let (mut lost, mut returned) = (0, 0);
        for page in (0..self.mapping.len()).map(LogicalPage) {
            let written = self.mapping.last_written(page);
            let found = self.mapping.get(page).map(|slot| self.chips.stamp(slot).version);
            let is_host = !self.is_table(page.0);
            lost += u64::from(is_host && written.is_some() && found != written);
            returned += u64::from(written.is_none() && found.is_some());
            self.mapping.take_as_written(page, found.unwrap_or(0), found.is_some());
        }
        (lost - self.restore_buffer(), returned)
    }

    /// Translation pages go on from what is found of them.
    fn recover_tables(&mut self) {
        let Self { translation, mapping, chips, blocks, config, .. } = self;
        if let Some(translation) = translation {
            translation.forget(|logical| {
                let slot = mapping.get(logical)?;
                Some((chips.stamp(slot).version, blocks.row_of(config.slots.block_of(slot))))
            });
        }
    }

    /// Page numbers of a block that are read to know it: those that are programmed, and the first that is not.
    fn pages_to_scan(&self, block: RowBlockId) -> u32 {
        if self.blocks.state(block) == State::Bad {
            return 0;
        }
        let (slots, geometry) = (&self.config.slots, &self.config.geometry);
        let pages = (self.chips.programmed(block) * slots.pages()).div_ceil(slots.per_page());
        (pages.div_ceil(geometry.planes_per_row) + 1).min(geometry.pages_per_block)
    }

    /// Queues the next read of a die's scan, if there is one: the spare areas of the same page in all planes of a row.
    pub(super) fn scan_on(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let Some(mut scan) = self.scan.take() else { unreachable!("a scan is under way") };
        let cursor = &mut scan.dies[die];
        while cursor.block < cursor.end && cursor.page >= self.pages_to_scan(cursor.block) {
            *cursor = Cursor { block: RowBlockId(cursor.block.0 + 1), page: 0, ..*cursor };
        }
        if cursor.block == cursor.end {
            scan.working -= 1;
            if scan.working == 0 {
                self.recovered(&scan, calendar);
            } else {
                self.scan = Some(scan);
            }
            return;
        }
        let planes = self.config.geometry.planes_per_row;
        let page: PageId = self.config.geometry.page(cursor.block, cursor.page * planes);
        cursor.page += 1;
        scan.found.pages_read += u64::from(planes);
        self.scan = Some(scan);
        let read = self.queues.push(die, calendar.now(), Purpose::Scan, die.0, page);
        read.planes = planes;
        read.bytes = planes * self.config.part.geometry.spare_size.0 as u32;
        self.kick(die, calendar);
    }

    /// The scan is over: the device goes on.
    fn recovered(&mut self, scan: &Scan, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.recovery = Some(Recovery { time: now - scan.began, ..scan.found });
        self.digest.add(now.ps());
        self.note_all_rows();
        for row in 0..self.config.geometry.rows() {
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

impl Scan {
    /// Nothing is read yet.
    fn of(device: &Device) -> Self {
        let geometry = &device.config.geometry;
        let per_die = geometry.row_blocks() / geometry.dies();
        let mut dies = Column::filled(
            geometry.dies() as usize,
            Cursor { block: RowBlockId(0), end: RowBlockId(0), page: 0 },
        );
        for die in (0..geometry.dies()).map(DieId) {
            dies[die].block = RowBlockId(die.0 * per_die);
            dies[die].end = RowBlockId((die.0 + 1) * per_die);
        }
        Self { began: Instant::ZERO, dies, working: 0, found: Recovery::default() }
    }
}
