//! Translation pages: the part of the L2P map that is in flash. This module tracks which translation pages
//! must be written, the stage of each write, and the requests that wait for reads of them. The locations of
//! translation pages (the global translation directory) are in memory, in the map, after the locations of the
//! logical pages.

mod checkpoint_debt;
mod guesses;
mod loaded;

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_kernel::{Column, Instant, state};
use wordline_nand::{Location, PlaneGroupId, Pool};

use super::mapping::LogicalPage;
use super::table_page_counts::TablePageCounts;
use crate::Config;
use crate::policy::mapper::{CacheSize, Mapper, TranslationPage};
use crate::policy::placement::PlaneGroupSet;
use checkpoint_debt::CheckpointDebt;
pub use guesses::{GuessCounts, MapperState, WrongGuess};

const NONE: u32 = u32::MAX;

/// Index of the queue of translation pages to be written. The next index is the list of pages that are held
/// back.
const QUEUE: usize = 0;
const GATHERED: usize = 1;

/// Most consecutive program units of translation pages in a plane group while the host waits for the plane
/// group. Chosen: a small cache may need several translation pages for each page written, and the host must
/// progress nonetheless.
pub const MAX_CONSECUTIVE_UNITS: u8 = 8;

/// Stage of writing a translation page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Nothing to write.
    Idle,
    /// Queued for writing.
    Queued,
    /// Its unchanged entries are being read from flash.
    Reading,
    /// In memory, waiting for a program unit.
    Staged,
    /// Being programmed.
    Programming,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct State {
    stage: Stage,
    /// Whether it changed while it was being programmed.
    again: bool,
    /// Number of its flash pages that are being read.
    reads: u8,
    /// Version in flash; 0 for none.
    version: u32,
    next: u32,
    /// First waiter for its entries.
    waiters: u32,
}

impl State {
    /// A translation page that is not queued, with this version in flash; 0 for none.
    fn at_rest(version: u32) -> Self {
        Self { stage: Stage::Idle, again: false, reads: 0, version, next: NONE, waiters: NONE }
    }
}

/// Work that continues when a location is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Continuation {
    /// A host read of a page.
    Read(RequestId),
    /// The destage of the buffer entry with this number.
    Prepare(u32),
    /// The read of a page that completes a sub-request.
    Carry(u32),
}

/// A waiter for the location of a page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// Work that continues.
    pub then: Continuation,
    /// Page whose location is needed.
    pub page: LogicalPage,
    /// Start of the wait.
    pub since: Instant,
    next: u32,
}

/// All waiters, and the free entries among them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Waiters {
    all: Vec<Waiter>,
    free: Vec<u32>,
}

impl Waiters {
    fn add(&mut self, waiter: Waiter) -> u32 {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = waiter;
            return at;
        }
        self.all.push(waiter);
        self.all.len() as u32 - 1
    }

    /// Reverses a list, and returns its first waiter.
    fn reversed(&mut self, mut at: u32) -> u32 {
        let mut first = NONE;
        while at != NONE {
            let next = std::mem::replace(&mut self.all[at as usize].next, first);
            (first, at) = (at, next);
        }
        first
    }

    fn take(&mut self, at: u32) -> Waiter {
        self.free.push(at);
        self.all[at as usize]
    }
}

/// Translation pages of a device.
pub struct Translation {
    /// Policy that decides which part of the map is in memory.
    pub mapper: MapperState,
    size: CacheSize,
    /// Logical page number of the first translation page.
    first: u32,
    states: Column<TranslationPage, State>,
    /// First and last page of the write queue, and of the list of pages that are held back. Pages are held
    /// back until a victim has no valid pages, so that they are written once for all relocations of the
    /// victim.
    queues: [(u32, u32); 2],
    /// Number of translation pages that are being read or staged. `most_ahead` is its limit.
    ahead: u32,
    most_ahead: u32,
    /// Programs for which a checkpoint waits.
    owed: CheckpointDebt,
    staged: VecDeque<TranslationPage>,
    per_program: usize,
    waiters: Waiters,
    /// Program units of translation pages in each plane group since the last host unit there.
    turns: Column<PlaneGroupId, u8>,
    /// Translation pages that are in flash.
    placed: TablePageCounts,
    /// Plane group of the last program unit.
    last_row: PlaneGroupId,
}

state!(Translation {
    values { states, queues, ahead, owed, staged, waiters, turns, placed, last_row }
    parts { mapper }
    fixed { size, first, most_ahead, per_program }
});

impl Translation {
    /// Translation pages of a device, not written yet. With several pools they are in the last pool.
    pub fn of(config: &Config, mapper: Box<dyn Mapper>, size: CacheSize) -> Self {
        let rows = config.pools.rows() as usize;
        let Pool { geometry, locations, .. } = config.pools.last();
        Self {
            mapper: MapperState::new(mapper),
            size,
            first: config.logical_pages,
            states: Column::filled(size.tables as usize, State::at_rest(0)),
            queues: [(NONE, NONE); 2],
            ahead: 0,
            owed: CheckpointDebt::new(size.tables),
            // Two program units for each plane group keep every die busy while the next pages are read.
            most_ahead: 2 * geometry.rows() * locations.per_program,
            staged: VecDeque::new(),
            per_program: locations.per_program as usize,
            waiters: Waiters::default(),
            turns: Column::filled(rows, 0),
            placed: TablePageCounts::new(rows),
            last_row: PlaneGroupId(0),
        }
    }

    /// Resets operations in progress after a power cut. `found` returns the version of a translation page in
    /// flash, and its plane group. Cache entries and their dirty state stay, because recovery rebuilds them.
    /// A page that was queued for writing, or whose version in flash changed, is written after
    /// [`release`](Self::release).
    pub fn forget(&mut self, found: impl Fn(LogicalPage) -> Option<(u32, PlaneGroupId)>) {
        self.queues = [(NONE, NONE); 2];
        self.ahead = 0;
        self.owed.forget();
        self.staged.clear();
        self.waiters = Waiters::default();
        if let Some(guesses) = &mut self.mapper.guesses {
            guesses.forget();
        }
        self.turns.fill(0);
        self.placed.forget();
        for table in self.tables() {
            let home = found(self.logical(table));
            if let Some((_, row)) = home {
                self.placed.note(None, row);
            }
            let version = home.map_or(0, |(version, _)| version);
            let before = std::mem::replace(&mut self.states[table], State::at_rest(version));
            if before.stage != Stage::Idle || before.version != version {
                self.push(table, GATHERED);
            }
        }
    }

    /// Translation page of a logical page.
    #[inline]
    pub fn table_of(&self, page: LogicalPage) -> TranslationPage {
        TranslationPage(page.0 / self.size.per_table)
    }

    /// Logical pages that a translation page covers.
    pub fn pages_of(&self, table: TranslationPage) -> impl Iterator<Item = LogicalPage> + use<> {
        let first = table.0 * self.size.per_table;
        (first..self.first.min(first + self.size.per_table)).map(LogicalPage)
    }

    /// Translation pages that a page of the directory lists, by their logical page numbers.
    pub fn listed_in(&self, number: u32) -> Range<u32> {
        let of = |number: u32| self.first + self.size.tables.min(number * self.size.per_table);
        of(number)..of(number + 1)
    }

    /// Number of the directory page that lists a translation page.
    pub fn directory_page_of(&self, table: TranslationPage) -> u32 {
        table.0 / self.size.per_table
    }

    /// Logical page number of a translation page, which the map, the data tags and the placement use.
    #[inline]
    pub fn logical(&self, table: TranslationPage) -> LogicalPage {
        LogicalPage(self.first + table.0)
    }

    /// Translation page with this logical page number; `None` for a host page.
    #[inline]
    pub fn table(&self, logical: u32) -> Option<TranslationPage> {
        logical.checked_sub(self.first).map(TranslationPage)
    }

    /// All logical pages that translation pages cover.
    pub fn mapped_pages(&self) -> impl Iterator<Item = LogicalPage> + use<> {
        (0..self.first).map(LogicalPage)
    }

    /// All translation pages.
    pub fn tables(&self) -> impl Iterator<Item = TranslationPage> + use<> {
        (0..self.size.tables).map(TranslationPage)
    }

    /// Whether a translation page is in memory as a whole, because it is about to be programmed.
    #[inline]
    pub fn is_in_memory(&self, table: TranslationPage) -> bool {
        matches!(self.states[table].stage, Stage::Staged | Stage::Programming)
    }

    /// Version of a translation page in flash.
    pub fn version(&self, table: TranslationPage) -> u32 {
        self.states[table].version
    }

    /// Queues a translation page for writing, because a dirty entry of it was evicted.
    pub fn write_back(&mut self, table: TranslationPage) {
        self.change(table, QUEUE);
    }

    fn change(&mut self, table: TranslationPage, list: usize) {
        let state = &mut self.states[table];
        match state.stage {
            Stage::Idle => self.push(table, list),
            Stage::Programming => state.again = true,
            Stage::Queued | Stage::Reading | Stage::Staged => {}
        }
    }

    fn push(&mut self, table: TranslationPage, list: usize) {
        let state = &mut self.states[table];
        (state.stage, state.next) = (Stage::Queued, NONE);
        let (first, last) = &mut self.queues[list];
        match std::mem::replace(last, table.0) {
            NONE => *first = table.0,
            last => self.states[TranslationPage(last)].next = table.0,
        }
    }

    /// Queues the pages that are held back, because a victim has no valid pages any more.
    pub fn release(&mut self) {
        let (first, last) = std::mem::replace(&mut self.queues[GATHERED], (NONE, NONE));
        if first == NONE {
            return;
        }
        match std::mem::replace(&mut self.queues[QUEUE].1, last) {
            NONE => self.queues[QUEUE].0 = first,
            before => self.states[TranslationPage(before)].next = first,
        }
    }

    /// Records that a logical page has a new location or none. Its entry was not looked up.
    pub fn amend(&mut self, page: LogicalPage) {
        if let Some(table) = self.mapper.policy.amend(page) {
            self.change(table, GATHERED);
        }
    }

    /// Records that GC relocated the page with this number to `to`. Does nothing for translation pages, whose
    /// locations are in memory.
    pub fn moved(&mut self, logical: u32, to: Location) {
        if logical < self.first {
            self.mapper.train(LogicalPage(logical), to);
            self.amend(LogicalPage(logical));
        }
    }

    /// Takes the next page of the write queue, unless the limit is reached. The page then counts as being
    /// read.
    pub fn take_queued(&mut self) -> Option<TranslationPage> {
        let (first, last) = &mut self.queues[QUEUE];
        if *first == NONE || self.ahead >= self.most_ahead {
            return None;
        }
        let table = TranslationPage(*first);
        *first = self.states[table].next;
        if *first == NONE {
            *last = NONE;
        }
        self.states[table].stage = Stage::Reading;
        self.ahead += 1;
        Some(table)
    }

    /// Records that preconditioning placed version `version` of a translation page in `row`.
    pub fn lay(&mut self, table: TranslationPage, version: u32, row: PlaneGroupId) {
        self.last_row = row;
        self.mapper.policy.written(table);
        self.states[table].version = version;
    }

    /// Whether a translation page is being read before it is written.
    pub fn is_reading(&self, table: TranslationPage) -> bool {
        self.states[table].stage == Stage::Reading
    }

    /// Adds a translation page that is complete in memory to the next program unit.
    pub fn stage(&mut self, table: TranslationPage) {
        self.states[table].stage = Stage::Staged;
        self.staged.push_back(table);
    }

    /// Whether enough translation pages wait to fill a program unit, or a checkpoint waits for the remaining
    /// translation pages.
    #[inline]
    pub fn has_unit(&self) -> bool {
        self.staged.len() >= self.per_program || self.owed.any() && self.can_pad()
    }

    /// Next plane group in turn for which `fits` returns true, among the `accepting` plane groups.
    pub fn next_row(
        &self,
        accepting: &PlaneGroupSet,
        fits: impl Fn(PlaneGroupId) -> bool,
    ) -> Option<PlaneGroupId> {
        let later = accepting.iter().filter(|row| *row > self.last_row);
        later.chain(accepting.iter().take_while(|row| *row <= self.last_row)).find(|row| fits(*row))
    }

    /// Translation pages that are in flash.
    pub fn placed(&self) -> &TablePageCounts {
        &self.placed
    }

    /// Records that a translation page moved to plane group `to`, from plane group `from` if it was in flash.
    pub fn note_place(&mut self, from: Option<PlaneGroupId>, to: PlaneGroupId) {
        self.placed.note(from, to);
    }

    /// Records that a translation page in `row` became unreadable. It is rebuilt from the data tags of its
    /// pages and written again.
    pub fn lost(&mut self, table: TranslationPage, row: PlaneGroupId) {
        self.placed.lose(row);
        self.states[table].version = 0;
        if self.states[table].stage == Stage::Idle {
            self.push(table, QUEUE);
        }
    }

    /// Whether `row` may take another unit of translation pages while the host waits for it.
    pub fn has_turn(&self, row: PlaneGroupId) -> bool {
        self.turns[row] < MAX_CONSECUTIVE_UNITS
    }

    /// Gives translation pages a new turn in `row`, because the host programs it.
    pub fn turn_over(&mut self, row: PlaneGroupId) {
        self.turns[row] = 0;
    }

    /// Counts a program unit of translation pages in `row`.
    pub fn begin_unit(&mut self, row: PlaneGroupId) {
        self.last_row = row;
        let turns = &mut self.turns[row];
        *turns = turns.saturating_add(1);
    }

    /// Takes the next translation page for a program unit; `None` if none waits. Its current contents are
    /// programmed.
    pub fn begin_program(&mut self) -> Option<TranslationPage> {
        let table = self.staged.pop_front()?;
        self.ahead -= 1;
        let state = &mut self.states[table];
        (state.stage, state.again) = (Stage::Programming, false);
        self.mapper.policy.written(table);
        Some(table)
    }

    /// Records that version `version` of a translation page is in flash.
    pub fn programmed(&mut self, table: TranslationPage, version: u32) {
        let state = &mut self.states[table];
        (state.stage, state.version) = (Stage::Idle, version);
        let again = std::mem::take(&mut state.again);
        let owes = self.owed.note_program(table);
        if again {
            self.push(table, if owes { QUEUE } else { GATHERED });
        }
    }

    /// Stages a translation page before all others, after its program failed.
    pub fn program_failed(&mut self, table: TranslationPage) {
        self.ahead += 1;
        self.states[table].stage = Stage::Staged;
        // The next program includes all changes.
        self.owed.limit_to_one(table);
        self.staged.push_front(table);
    }

    /// Records that `reads` flash pages of a translation page are being read.
    pub fn reading(&mut self, table: TranslationPage, reads: u32) {
        self.states[table].reads = reads as u8;
    }

    /// Whether a translation page is being read.
    pub fn is_being_read(&self, table: TranslationPage) -> bool {
        self.states[table].reads > 0
    }

    /// Records that a flash page of a translation page was read. Returns true if it was the last one.
    pub fn read_done(&mut self, table: TranslationPage) -> bool {
        self.states[table].reads -= 1;
        self.states[table].reads == 0
    }

    /// Makes a command wait for the location of `page`, whose translation page is being read.
    pub fn wait(&mut self, then: Continuation, page: LogicalPage, since: Instant) {
        let table = self.table_of(page);
        let waiter = Waiter { then, page, since, next: self.states[table].waiters };
        self.states[table].waiters = self.waiters.add(waiter);
    }

    /// Takes the waiters for a translation page, in the order of their arrival. [`next_waiter`](Self::next_waiter)
    /// takes them one by one.
    pub fn take_waiters(&mut self, table: TranslationPage) -> u32 {
        let latest = std::mem::replace(&mut self.states[table].waiters, NONE);
        self.waiters.reversed(latest)
    }

    /// Takes the next waiter.
    pub fn next_waiter(&mut self, at: &mut u32) -> Option<Waiter> {
        if *at == NONE {
            return None;
        }
        let waiter = self.waiters.take(*at);
        *at = waiter.next;
        Some(waiter)
    }
}
