//! Discard table in flash: the last discarded version of each logical page.
//!
//! A flush writes the changed pages of the table, at allocated locations like other pages. After a power cut,
//! a copy of a logical page counts only if its version is later than the discarded one. Flushes that arrive
//! while a batch of table pages is being written share the next batch.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_kernel::{Column, id, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::mapping::LogicalPage;
use super::table_page_counts::TablePageCounts;
use crate::config::{Config, discard_entry, discard_table_pages};

id!(
    /// A page of the table, counted from 0.
    DiscardPage
);

/// Stage of writing a page of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Not changed since it was written to flash.
    Idle,
    /// Changed in memory.
    Changed,
    /// Queued for a flush.
    Queued,
    /// Being programmed.
    Programming,
}

/// A page of the table: the last discarded version of each of its logical pages; 0 for none. Its memory is
/// allocated at the first discard.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Table {
    now: Vec<u32>,
    /// Contents in flash, with version `version`.
    saved: Vec<u32>,
    version: u32,
    /// Contents being programmed, with version `next_version`.
    under_way: Vec<u32>,
    next_version: u32,
    stage: Stage,
    /// Whether the page changed while it was being programmed.
    again: bool,
}

impl Default for Table {
    fn default() -> Self {
        let (now, saved, under_way) = Default::default();
        Self { now, saved, version: 0, under_way, next_version: 0, stage: Stage::Idle, again: false }
    }
}

/// Discard table of a device.
#[derive(Clone, Debug)]
pub struct Discards {
    /// Logical page number of the first page of the table.
    first: u32,
    per_page: u32,
    /// First page of the directory of translation pages, which only checkpoints write. If the whole map is in
    /// memory, this is one past the last page of the table.
    directory: DiscardPage,
    /// Pages of the table; each is allocated at the first discard.
    tables: Column<DiscardPage, Option<Box<Table>>>,
    changed: Vec<DiscardPage>,
    queue: VecDeque<DiscardPage>,
    /// Pages being programmed.
    programming: u32,
    /// Pages of the current batch that are not in flash yet.
    left: u32,
    /// Requests that wait for the current batch, and requests that wait for the next one.
    waiting: [Vec<RequestId>; 2],
    /// Pages of the table that are in flash.
    placed: TablePageCounts,
    /// Blocks that must not be erased before the current batch is in flash.
    held: Vec<BlockSetId>,
    /// Whether memory survives a power cut, so that the table is never written.
    kept: bool,
}

state!(Discards {
    values { tables, changed, queue, programming, left, waiting, placed, held }
    fixed { first, per_page, directory, kept }
});

impl Discards {
    /// Empty table. If `kept`, memory survives a power cut.
    pub fn new(config: &Config, kept: bool) -> Self {
        let Config { file, unit, logical_pages, .. } = config;
        let own = discard_table_pages(*logical_pages, *unit, file);
        let count = own.max(config.discard_pages());
        Self {
            first: config.first_discard_page(),
            per_page: (unit.0 / discard_entry(file)) as u32,
            directory: DiscardPage(own),
            tables: Column::filled(count as usize, None),
            changed: Vec::new(),
            queue: VecDeque::new(),
            programming: 0,
            left: 0,
            waiting: Default::default(),
            placed: TablePageCounts::new(config.pools.rows() as usize),
            held: Vec::new(),
            kept,
        }
    }

    /// Page of the table with this logical page number; `None` if the number is of another page.
    #[inline]
    pub fn table(&self, logical: u32) -> Option<DiscardPage> {
        logical.checked_sub(self.first).map(DiscardPage)
    }

    /// Logical page number of a page of the table, which the map, the data tags and the placement use.
    pub fn logical(&self, table: DiscardPage) -> LogicalPage {
        LogicalPage(self.first + table.0)
    }

    /// Pages of the table.
    pub fn tables(&self) -> impl Iterator<Item = DiscardPage> + use<> {
        self.tables.ids()
    }

    /// Records a discard of a page with the last version `version`.
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
            Stage::Idle => self.change(table),
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

    /// Makes a request wait until all discards so far are in flash. Returns false if they already are.
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

    /// Protects `blocks` from erases after a power cut, because only they show that some pages are discarded.
    /// The changes are written without a flush, before any of these blocks is erased. Returns false if the
    /// table in flash already has these discards.
    pub fn hold(&mut self, blocks: &BTreeSet<BlockSetId>) -> bool {
        if !self.changed.is_empty() {
            self.held.extend(blocks);
        }
        !self.changed.is_empty()
    }

    /// Whether blocks are protected from erase.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Begins to write the changes, if blocks are protected until the changes are in flash.
    pub fn begin_held_batch(&mut self) {
        if !self.held.is_empty() {
            self.begin_batch();
        }
    }

    /// Takes the protected blocks, if the whole batch is in flash and they need no more protection.
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

    /// Whether pages of the table must be written. While no flush waits, one program unit is written at a
    /// time.
    #[inline]
    pub fn is_due(&self) -> bool {
        !self.queue.is_empty() && (self.programming == 0 || self.has_waiters())
    }

    /// Begins a checkpoint. It writes all pages of the table. With a map in flash it writes the changed pages
    /// and the directory instead. Returns false if a batch is in progress.
    pub fn begin_checkpoint(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        let has_directory = self.directory.0 < self.tables.len() as u32;
        for table in self.tables.ids().filter(|table| !has_directory || *table >= self.directory) {
            let at = self.tables[table].get_or_insert_with(Box::default);
            if at.stage == Stage::Idle {
                at.stage = Stage::Changed;
                self.changed.push(table);
            }
        }
        self.changed.sort_unstable();
        self.begin_batch();
        true
    }

    /// Number of a page of the table within the directory; `None` if it is not in the directory.
    pub fn number_in_directory(&self, table: DiscardPage) -> Option<u32> {
        table.0.checked_sub(self.directory.0)
    }

    /// Logical page number of the directory page with this number.
    pub fn page_of_directory(&self, number: u32) -> LogicalPage {
        self.logical(DiscardPage(self.directory.0 + number))
    }

    /// Logical pages that a page of the table covers; `all` is the number of logical pages.
    pub fn pages_of(&self, table: DiscardPage, all: u32) -> Range<u32> {
        let first = table.0 * self.per_page;
        first.min(all)..(first + self.per_page).min(all)
    }

    /// Page of the table that covers a logical page.
    pub fn teller(&self, page: LogicalPage) -> LogicalPage {
        self.logical(DiscardPage(page.0 / self.per_page))
    }

    /// Whether no batch is in progress.
    pub fn is_at_rest(&self) -> bool {
        self.left == 0
    }

    /// Next page to be written, without taking it.
    pub fn next_queued(&self) -> Option<DiscardPage> {
        self.queue.front().copied().filter(|_| self.is_due())
    }

    /// Takes the next page to be written.
    pub fn take_queued(&mut self) -> Option<DiscardPage> {
        self.queue.pop_front()
    }

    /// Begins the program of a page of the table, with its current contents, as version `version`.
    pub fn begin_program(&mut self, table: DiscardPage, version: u32) {
        self.programming += 1;
        let at = self.get(table);
        (at.stage, at.again, at.next_version) = (Stage::Programming, false, version);
        at.under_way.copy_from_slice(&at.now);
    }

    /// Records that the program of a page is done.
    pub fn programmed(&mut self, table: DiscardPage) {
        self.programming -= 1;
        let at = self.get(table);
        std::mem::swap(&mut at.saved, &mut at.under_way);
        (at.version, at.stage) = (at.next_version, Stage::Idle);
        if std::mem::take(&mut at.again) {
            self.change(table);
        }
        self.left -= 1;
    }

    /// Queues a page before all others, after its program failed.
    pub fn program_failed(&mut self, table: DiscardPage) {
        self.programming -= 1;
        self.get(table).stage = Stage::Queued;
        self.queue.push_front(table);
    }

    /// Records that a page of the table in `row` became unreadable. Its contents are in memory. The next
    /// flush writes it; a page of the directory is written by the next checkpoint.
    pub fn lost(&mut self, table: DiscardPage, row: PlaneGroupId) {
        self.placed.lose(row);
        if table < self.directory && self.get(table).stage == Stage::Idle {
            self.change(table);
        }
    }

    /// Takes the requests that waited for a finished batch. Begins the next batch if requests wait for it.
    pub fn finish_batch(&mut self) -> Vec<RequestId> {
        let over = std::mem::take(&mut self.waiting[0]);
        self.waiting.swap(0, 1);
        if !self.waiting[0].is_empty() {
            self.begin_batch();
        }
        over
    }

    /// Whether a flush waits.
    pub fn has_waiters(&self) -> bool {
        self.waiting.iter().any(|list| !list.is_empty())
    }

    /// Drops all waiting flushes.
    pub fn forget_waiters(&mut self) {
        self.waiting = Default::default();
    }

    /// Whether the table is written to flash.
    pub fn is_written(&self) -> bool {
        !self.kept
    }

    /// Pages of the table that are in flash.
    pub fn placed(&self) -> &TablePageCounts {
        &self.placed
    }

    /// Records that a page of the table moved to plane group `to`, from plane group `from` if it was in
    /// flash.
    pub fn note_place(&mut self, from: Option<PlaneGroupId>, to: PlaneGroupId) {
        self.placed.note(from, to);
    }

    /// Restores the table after a power cut. `found` returns the version of a page of the table in flash, and
    /// its plane group.
    pub fn recover(&mut self, found: impl Fn(LogicalPage) -> Option<(u32, PlaneGroupId)>) {
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
                // An interrupted program or a fault destroyed the last version.
                at.saved.fill(0);
            }
            at.now.copy_from_slice(&at.saved);
            (at.version, at.next_version, at.again, at.stage) = (version, 0, false, Stage::Idle);
        }
    }

    /// Last discarded version of a page; 0 for none.
    pub fn last_discarded(&self, page: LogicalPage) -> u32 {
        let table = &self.tables[DiscardPage(page.0 / self.per_page)];
        let entry = (page.0 % self.per_page) as usize;
        table.as_ref().and_then(|table| table.now.get(entry)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DiscardsAtCut;

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
        discards.note_place(None, PlaneGroupId(0));
        discards.programmed(table);
        program(&mut discards, 8, 2);
        discards.recover(|_| Some((1, PlaneGroupId(0))));
        assert_eq!(discards.last_discarded(page), 5, "the program was torn");
        discards.recover(|_| None);
        assert_eq!(discards.last_discarded(page), 0, "a fault took the table, and nothing is in its place");
    }
}
