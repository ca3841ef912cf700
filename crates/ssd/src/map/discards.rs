//! The table of discards in flash: pages that say for each logical page which of its versions are void.
//!
//! They are written by a flush, as far as they changed, and have their place in flash among all other pages. After a power
//! cut, a copy of a logical page counts if its version is beyond the void ones. Flushes that come while others wait are
//! served together, one batch after another.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Column, id, state};
use wordline_nand::{BlockSetId, RowId};

use super::mapping::LogicalPage;
use super::placed::Placed;
use crate::Config;
use crate::command::RequestId;
use crate::config::DeviceFile;

/// Bytes of an entry: a version, as it is in the stamp of a page, and where checkpoints have the whole map the place of the page, too.
const ENTRY: [u64; 2] = [4, 8];

id!(
    /// A page of the table, counted from 0.
    DiscardPage
);

/// How far the writing of a page of the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// It is in flash as it is in memory.
    AtRest,
    /// It changed.
    Changed,
    /// A flush waits for it.
    Queued,
    /// Being programmed.
    Programming,
}

/// A page of the table: for each of its logical pages the last version that is void, 0 for none. Nothing of its contents
/// is there while nothing is discarded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Table {
    now: Vec<u32>,
    /// The contents in flash, and their version.
    saved: Vec<u32>,
    version: u32,
    /// The contents on their way there.
    under_way: Vec<u32>,
    next_version: u32,
    stage: Stage,
    /// Changed while it was being programmed.
    again: bool,
}

impl Default for Table {
    fn default() -> Self {
        let (now, saved, under_way) = Default::default();
        Self { now, saved, version: 0, under_way, next_version: 0, stage: Stage::AtRest, again: false }
    }
}

/// The discards of a device.
#[derive(Clone, Debug)]
pub struct Discards {
    /// The number of the first page of the table, counted as a logical page.
    first: u32,
    per_page: u32,
    /// The first page of the directory, which tells where translation pages are: it is written with checkpoints alone. One beyond the
    /// last page where the whole map is in memory.
    directory: DiscardPage,
    /// Made when something of theirs is discarded.
    tables: Column<DiscardPage, Option<Box<Table>>>,
    changed: Vec<DiscardPage>,
    queue: VecDeque<DiscardPage>,
    /// Pages that are being programmed.
    programming: u32,
    /// Pages of the present batch that are not in flash yet.
    left: u32,
    /// Requests that wait for the present batch, and for the next one.
    waiting: [Vec<RequestId>; 2],
    /// Pages of the table that are in flash.
    placed: Placed,
    /// Blocks that are not erased before the present batch is in flash.
    held: Vec<BlockSetId>,
    /// The memory outlives the power: nothing need be written.
    kept: bool,
}

state!(Discards {
    values { tables, changed, queue, programming, left, waiting, placed, held }
    fixed { first, per_page, directory, kept }
});

/// Pages of the table for this many logical pages, in locations of this size.
pub fn pages(logical_pages: u32, location: Bytes, file: &DeviceFile) -> u32 {
    u64::from(logical_pages).div_ceil(location.0 / entry(file)) as u32
}

fn entry(file: &DeviceFile) -> u64 {
    let has_places = file.ftl.recovery.checkpoint.is_some() && file.ftl.mapping.cache.is_none();
    ENTRY[usize::from(has_places)]
}

impl Discards {
    /// Nothing is discarded. With `kept` the memory outlives the power.
    pub fn new(config: &Config, kept: bool) -> Self {
        let Config { file, pools, unit, logical_pages, .. } = config;
        let own = pages(*logical_pages, *unit, file);
        let count = own.max(file.discard_pages(pools, *unit, *logical_pages));
        Self {
            first: config.first_discard_page(),
            per_page: (unit.0 / entry(file)) as u32,
            directory: DiscardPage(own),
            tables: Column::filled(count as usize, None),
            changed: Vec::new(),
            queue: VecDeque::new(),
            programming: 0,
            left: 0,
            waiting: Default::default(),
            placed: Placed::new(config.pools.rows() as usize),
            held: Vec::new(),
            kept,
        }
    }

    /// The page of the table that the map numbers so; none if it is another page.
    #[inline]
    pub fn table(&self, logical: u32) -> Option<DiscardPage> {
        logical.checked_sub(self.first).map(DiscardPage)
    }

    /// A page of the table as the map, the stamps and the placement number it.
    pub fn logical(&self, table: DiscardPage) -> LogicalPage {
        LogicalPage(self.first + table.0)
    }

    /// Pages of the table.
    pub fn tables(&self) -> impl Iterator<Item = DiscardPage> + use<> {
        self.tables.ids()
    }

    /// Notes that the host discards a page of which `version` was the last version.
    pub fn discard(&mut self, page: LogicalPage, version: u32) {
        let (table, entry) = (DiscardPage(page.0 / self.per_page), (page.0 % self.per_page) as usize);
        if version == 0 {
            return;
        }
        let entries = self.per_page as usize;
        let at = self.tables[table].get_or_insert_with(Box::default);
        if at.now.is_empty() {
            for contents in [&mut at.now, &mut at.saved, &mut at.under_way] {
                contents.resize(entries, 0);
            }
        }
        if at.now[entry] == version {
            return;
        }
        at.now[entry] = version;
        match at.stage {
            Stage::AtRest => self.change(table),
            Stage::Programming => at.again = true,
            Stage::Changed | Stage::Queued => {}
        }
    }

    fn change(&mut self, table: DiscardPage) {
        if let Some(at) = self.tables[table].as_mut().filter(|_| !self.kept) {
            at.stage = Stage::Changed;
            self.changed.push(table);
        }
    }

    /// A request waits until what was discarded so far is in flash; false if it is.
    pub fn flush(&mut self, request: RequestId) -> bool {
        let busy = self.left > 0;
        if busy || !self.changed.is_empty() {
            self.waiting[usize::from(busy)].push(request);
        }
        if !busy {
            self.begin_batch();
        }
        self.left > 0
    }

    /// After a power cut these blocks alone tell of pages, which were noted as discarded, that they are: what changed is written without
    /// waiting for a flush, before one of the blocks is erased. False if the table tells of these pages already.
    pub fn hold(&mut self, blocks: &BTreeSet<BlockSetId>) -> bool {
        if !self.changed.is_empty() {
            self.held.extend(blocks);
        }
        !self.changed.is_empty()
    }

    /// Whether blocks are held.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Begins to write what changed if blocks are held until that is in flash.
    pub fn write_for_held(&mut self) {
        if !self.held.is_empty() {
            self.begin_batch();
        }
    }

    /// The blocks that are held no longer, as all of the batch is in flash.
    pub fn take_held(&mut self) -> Vec<BlockSetId> {
        if self.is_at_rest() { std::mem::take(&mut self.held) } else { Vec::new() }
    }

    fn begin_batch(&mut self) {
        for table in std::mem::take(&mut self.changed) {
            self.get(table).stage = Stage::Queued;
            self.queue.push_back(table);
        }
        self.left = self.queue.len() as u32;
    }

    fn get(&mut self, table: DiscardPage) -> &mut Table {
        self.tables[table].as_mut().expect("what changed was made")
    }

    /// Whether pages of the table are to be written. While no flush waits, they are written one program unit after
    /// another.
    #[inline]
    pub fn is_due(&self) -> bool {
        !self.queue.is_empty() && (self.programming == 0 || self.is_waited_for())
    }

    /// All pages of the table are to be written, as a checkpoint, or with a map in flash those that changed and the directory; false
    /// if others are on their way.
    pub fn begin_checkpoint(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        let has_directory = self.directory.0 < self.tables.len() as u32;
        for table in self.tables.ids().filter(|table| !has_directory || *table >= self.directory) {
            let at = self.tables[table].get_or_insert_with(Box::default);
            if at.stage == Stage::AtRest {
                at.stage = Stage::Changed;
                self.changed.push(table);
            }
        }
        self.changed.sort_unstable();
        self.begin_batch();
        true
    }

    /// The number of a page of the table in the directory of a checkpoint, if it is of that.
    pub fn number_in_directory(&self, table: DiscardPage) -> Option<u32> {
        table.0.checked_sub(self.directory.0)
    }

    /// The page of the directory of this number.
    pub fn page_of_directory(&self, number: u32) -> LogicalPage {
        self.logical(DiscardPage(self.directory.0 + number))
    }

    /// The logical pages, of `all`, that a page of the table tells of.
    pub fn pages_of(&self, table: DiscardPage, all: u32) -> Range<u32> {
        let first = table.0 * self.per_page;
        first.min(all)..(first + self.per_page).min(all)
    }

    /// The page of the table that tells of a logical page.
    pub fn teller(&self, page: LogicalPage) -> LogicalPage {
        self.logical(DiscardPage(page.0 / self.per_page))
    }

    /// Whether nothing is on its way to flash.
    pub fn is_at_rest(&self) -> bool {
        self.left == 0
    }

    /// The next page of the table that is to be written, which stays so.
    pub fn next_queued(&self) -> Option<DiscardPage> {
        self.queue.front().copied().filter(|_| self.is_due())
    }

    /// The next page of the table that is to be written.
    pub fn take_queued(&mut self) -> Option<DiscardPage> {
        self.queue.pop_front()
    }

    /// The program of a page of the table, as it is now, is under way as version `version`.
    pub fn begin_program(&mut self, table: DiscardPage, version: u32) {
        self.programming += 1;
        let at = self.get(table);
        (at.stage, at.again, at.next_version) = (Stage::Programming, false, version);
        at.under_way.copy_from_slice(&at.now);
    }

    /// The program is done.
    pub fn programmed(&mut self, table: DiscardPage) {
        self.programming -= 1;
        let at = self.get(table);
        std::mem::swap(&mut at.saved, &mut at.under_way);
        (at.version, at.stage) = (at.next_version, Stage::AtRest);
        if std::mem::take(&mut at.again) {
            self.change(table);
        }
        self.left -= 1;
    }

    /// The program failed: it waits for another one, before all others.
    pub fn program_failed(&mut self, table: DiscardPage) {
        self.programming -= 1;
        self.get(table).stage = Stage::Queued;
        self.queue.push_front(table);
    }

    /// A page of the table in `row` cannot be read any more. It is in memory, and the next flush writes it, or the next checkpoint if
    /// it is of the directory.
    pub fn lost(&mut self, table: DiscardPage, row: RowId) {
        self.placed.lose(row);
        if table < self.directory && self.get(table).stage == Stage::AtRest {
            self.change(table);
        }
    }

    /// The requests that waited for a batch that is over. The next batch begins if others wait for it.
    pub fn batch_over(&mut self) -> Vec<RequestId> {
        let over = std::mem::take(&mut self.waiting[0]);
        self.waiting.swap(0, 1);
        if !self.waiting[0].is_empty() {
            self.begin_batch();
        }
        over
    }

    /// Whether a flush waits.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.iter().any(|list| !list.is_empty())
    }

    /// No flush waits any more.
    pub fn forget_waiters(&mut self) {
        self.waiting = Default::default();
    }

    /// Whether flash remembers them.
    pub fn is_written(&self) -> bool {
        !self.kept
    }

    /// Pages of the table that are in flash.
    pub fn placed(&self) -> &Placed {
        &self.placed
    }

    /// Notes that a page of the table has its place in row `to` now, and before in row `from`.
    pub fn note_place(&mut self, from: Option<RowId>, to: RowId) {
        self.placed.note(from, to);
    }

    /// The power is back. `found` says which version of a page of the table is in flash, and in which row.
    pub fn recover(&mut self, found: impl Fn(LogicalPage) -> Option<(u32, RowId)>) {
        self.placed.forget();
        self.changed.clear();
        self.queue.clear();
        self.held.clear();
        (self.left, self.programming) = (0, 0);
        self.forget_waiters();
        if self.kept {
            return;
        }
        for table in self.tables() {
            let home = found(self.logical(table));
            if let Some((_, row)) = home {
                self.placed.note(None, row);
            }
            let Some(at) = &mut self.tables[table] else { continue };
            let version = home.map_or(0, |(version, _)| version);
            if version != at.version && version != 0 && version == at.next_version {
                std::mem::swap(&mut at.saved, &mut at.under_way);
            } else if version != at.version {
                // A torn program, or a fault, took the last version with it.
                at.saved.fill(0);
            }
            at.now.copy_from_slice(&at.saved);
            (at.version, at.next_version, at.again, at.stage) = (version, 0, false, Stage::AtRest);
        }
    }

    /// The last version of a page that is void; 0 if none is.
    pub fn void(&self, page: LogicalPage) -> u32 {
        let table = &self.tables[DiscardPage(page.0 / self.per_page)];
        let entry = (page.0 % self.per_page) as usize;
        table.as_ref().and_then(|table| table.now.get(entry)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::checkpoint::DiscardsAtCut;

    #[test]
    fn what_never_came_to_flash_does_not_come_back_with_a_later_cut() {
        let mut file = crate::config::tests::small();
        file.ftl.recovery.discards = DiscardsAtCut::Kept;
        let mut discards = Discards::new(&file.check().expect("the device is sound"), false);
        let page = LogicalPage(3);
        let program = |discards: &mut Discards, void, version| {
            discards.discard(page, void);
            assert!(discards.flush(RequestId(0)));
            let table = discards.take_queued().expect("a flush wants it");
            discards.begin_program(table, version);
            table
        };
        let table = program(&mut discards, 5, 1);
        discards.note_place(None, RowId(0));
        discards.programmed(table);
        program(&mut discards, 8, 2);
        discards.recover(|_| Some((1, RowId(0))));
        assert_eq!(discards.void(page), 5, "the program was torn");
        discards.recover(|_| None);
        assert_eq!(discards.void(page), 0, "a fault took the table, and nothing is in its place");
    }
}
