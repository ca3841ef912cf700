//! Translation pages: the part of the map that is in flash. Which of them have to be written, how far that is, and who
//! waits for what is read of them. Where each of them is (the global translation directory) is in memory, in the map,
//! where they follow the logical pages.

mod loaded;
mod owed;

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Instant, state};
use wordline_nand::{Pool, RowId};

use super::mapping::LogicalPage;
use super::placed::Placed;
use crate::Config;
use crate::cache::buffer::EntryId;
use crate::command::RequestId;
use crate::policy::mapper::{CacheSize, Mapper, TranslationPage};
use crate::policy::placement::RowSet;
use owed::Owed;

const NONE: u32 = u32::MAX;

/// The list of translation pages that are to be written, and of those that are gathered.
const QUEUE: usize = 0;
const GATHERED: usize = 1;

/// Program units of translation pages that a row takes one after another while the host wants it. Chosen: a small cache
/// may cost a few translation pages for each page written; the host goes on all the same.
pub const UNITS_IN_A_ROW: u8 = 8;

/// How far the writing of a translation page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Nothing is to be written.
    AtRest,
    /// To be written.
    Queued,
    /// Its unchanged entries are being read.
    Reading,
    /// In memory, waiting for a program unit.
    Staged,
    /// Being programmed.
    Programming,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct State {
    stage: Stage,
    /// Changed while it was being programmed.
    again: bool,
    /// Reads of its flash pages under way.
    reads: u8,
    /// The version that is in flash.
    version: u32,
    next: u32,
    /// The first that waits for its entries.
    waiters: u32,
}

impl State {
    /// In flash in this version; none if that is 0.
    fn at_rest(version: u32) -> Self {
        Self { stage: Stage::AtRest, again: false, reads: 0, version, next: NONE, waiters: NONE }
    }
}

/// The work that goes on when a place is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// The read of a page for this request.
    Read(RequestId),
    /// The way of this buffer entry to flash.
    Prepare(EntryId),
    /// The read of a page that this sub-request carries along.
    Carry(u32),
}

/// A waiter for the place of a page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// The work that goes on.
    pub then: Then,
    /// The page.
    pub page: LogicalPage,
    /// Since when it waits.
    pub since: Instant,
    next: u32,
}

/// All waiters, and the places among them that are free.
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

    fn take(&mut self, at: u32) -> Waiter {
        self.free.push(at);
        self.all[at as usize]
    }
}

/// The translation pages of a device.
pub struct Translation {
    /// The policy that decides which part of the map is in memory.
    pub mapper: Box<dyn Mapper>,
    size: CacheSize,
    /// The number of the first translation page, counted as a logical page.
    first: u32,
    states: Column<TranslationPage, State>,
    /// First and last of those that are to be written, and of those that are gathered until a victim is clean, so that
    /// what the collector moves in one is written once.
    queues: [(u32, u32); 2],
    /// Translation pages that are being read or staged, and how many may be.
    ahead: u32,
    most_ahead: u32,
    /// Those that a checkpoint waits for.
    owed: Owed,
    staged: VecDeque<TranslationPage>,
    per_program: usize,
    waiters: Waiters,
    /// Units of translation pages that each row took since the last one of the host.
    turns: Column<RowId, u8>,
    /// Translation pages that are in flash.
    placed: Placed,
    /// The row that took the last unit.
    last_row: RowId,
}

state!(Translation {
    values { states, queues, ahead, owed, staged, waiters, turns, placed, last_row }
    parts { mapper }
    fixed { size, first, most_ahead, per_program }
});

impl Translation {
    /// The translation pages of a device, none of them written. Those of several pools are in the last one.
    pub fn of(config: &Config, mapper: Box<dyn Mapper>, size: CacheSize) -> Self {
        let rows = config.pools.rows() as usize;
        let Pool { geometry, locations, .. } = config.pools.last();
        Self {
            mapper,
            size,
            first: config.logical_pages,
            states: Column::filled(size.tables as usize, State::at_rest(0)),
            queues: [(NONE, NONE); 2],
            ahead: 0,
            owed: Owed::new(size.tables),
            // Two program units a row keep every die busy while the next pages are read.
            most_ahead: 2 * geometry.rows() * locations.per_program,
            staged: VecDeque::new(),
            per_program: locations.per_program as usize,
            waiters: Waiters::default(),
            turns: Column::filled(rows, 0),
            placed: Placed::new(rows),
            last_row: RowId(0),
        }
    }

    /// Forgets what was under way, as when the power is cut. `found` says which version of a translation page is in flash,
    /// and in which row. The entries of the cache, and which of them changed, stay: recovery builds it again. A page that was to be
    /// written, or of which an older version is there, is written once these are [released](Self::release).
    pub fn forget(&mut self, found: impl Fn(LogicalPage) -> Option<(u32, RowId)>) {
        self.queues = [(NONE, NONE); 2];
        self.ahead = 0;
        self.owed.forget();
        self.staged.clear();
        self.waiters = Waiters::default();
        self.turns.fill(0);
        self.placed.forget();
        for table in self.tables() {
            let home = found(self.logical(table));
            if let Some((_, row)) = home {
                self.placed.note(None, row);
            }
            let version = home.map_or(0, |(version, _)| version);
            let before = std::mem::replace(&mut self.states[table], State::at_rest(version));
            if before.stage != Stage::AtRest || before.version != version {
                self.push(table, GATHERED);
            }
        }
    }

    /// The translation page that holds the place of a logical page.
    #[inline]
    pub fn table_of(&self, page: LogicalPage) -> TranslationPage {
        TranslationPage(page.0 / self.size.per_table)
    }

    /// The logical pages of which a translation page holds the places.
    pub fn pages_of(&self, table: TranslationPage) -> impl Iterator<Item = LogicalPage> + use<> {
        let first = table.0 * self.size.per_table;
        (first..self.first.min(first + self.size.per_table)).map(LogicalPage)
    }

    /// The translation pages, as the map numbers them, that a page of the directory of this number lists.
    pub fn listed_in(&self, number: u32) -> Range<u32> {
        let of = |number: u32| self.first + self.size.tables.min(number * self.size.per_table);
        of(number)..of(number + 1)
    }

    /// The number of the page of the directory that lists a translation page.
    pub fn listed_with(&self, table: TranslationPage) -> u32 {
        table.0 / self.size.per_table
    }

    /// A translation page as the map, the stamps and the placement number it.
    #[inline]
    pub fn logical(&self, table: TranslationPage) -> LogicalPage {
        LogicalPage(self.first + table.0)
    }

    /// The translation page that the map numbers so; none if it is a page of the host.
    #[inline]
    pub fn table(&self, logical: u32) -> Option<TranslationPage> {
        logical.checked_sub(self.first).map(TranslationPage)
    }

    /// All translation pages.
    pub fn tables(&self) -> impl Iterator<Item = TranslationPage> + use<> {
        (0..self.size.tables).map(TranslationPage)
    }

    /// Whether a translation page is as a whole in memory, on its way to flash.
    #[inline]
    pub fn is_in_memory(&self, table: TranslationPage) -> bool {
        matches!(self.states[table].stage, Stage::Staged | Stage::Programming)
    }

    /// The version of a translation page that is in flash.
    pub fn version(&self, table: TranslationPage) -> u32 {
        self.states[table].version
    }

    /// Notes that a place in a translation page changed that is not in the cache any more.
    pub fn write_back(&mut self, table: TranslationPage) {
        self.change(table, QUEUE);
    }

    fn change(&mut self, table: TranslationPage, list: usize) {
        let state = &mut self.states[table];
        match state.stage {
            Stage::AtRest => self.push(table, list),
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

    /// The gathered pages are to be written now: a victim is clean.
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

    /// Notes that a logical page has another place, or none, without a lookup.
    pub fn amend(&mut self, page: LogicalPage) {
        if let Some(table) = self.mapper.amend(page) {
            self.change(table, GATHERED);
        }
    }

    /// Notes that the collector moved a page of this number. Where translation pages are is in memory.
    pub fn moved(&mut self, logical: u32) {
        if logical < self.first {
            self.amend(LogicalPage(logical));
        }
    }

    /// The next translation page that is to be written, if another one may be taken; it counts as being read.
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

    /// Notes that version `version` of a translation page was laid in `row`.
    pub fn lay(&mut self, table: TranslationPage, version: u32, row: RowId) {
        self.last_row = row;
        self.mapper.written(table);
        self.states[table].version = version;
    }

    /// Whether the translation page is read in order to be written.
    pub fn is_reading(&self, table: TranslationPage) -> bool {
        self.states[table].stage == Stage::Reading
    }

    /// The translation page is complete in memory and waits for a program unit.
    pub fn stage(&mut self, table: TranslationPage) {
        self.states[table].stage = Stage::Staged;
        self.staged.push_back(table);
    }

    /// Whether enough translation pages wait for a program unit.
    #[inline]
    pub fn has_unit(&self) -> bool {
        self.staged.len() >= self.per_program || self.owed.any() && self.pads()
    }

    /// The next row in turn of those that accept, such that `fits`.
    pub fn next_row(&self, accepting: &RowSet, fits: impl Fn(RowId) -> bool) -> Option<RowId> {
        let later = accepting.iter().filter(|row| *row > self.last_row);
        later.chain(accepting.iter().take_while(|row| *row <= self.last_row)).find(|row| fits(*row))
    }

    /// Translation pages that are in flash.
    pub fn placed(&self) -> &Placed {
        &self.placed
    }

    /// Notes that a translation page has its place in row `to` now, and before in row `from`.
    pub fn note_place(&mut self, from: Option<RowId>, to: RowId) {
        self.placed.note(from, to);
    }

    /// Notes that a translation page in `row` cannot be read any more. It is made anew from the stamps of the pages that it
    /// tells the places of, and written.
    pub fn lost(&mut self, table: TranslationPage, row: RowId) {
        self.placed.lose(row);
        self.states[table].version = 0;
        if self.states[table].stage == Stage::AtRest {
            self.push(table, QUEUE);
        }
    }

    /// Whether `row` may take another unit of translation pages while the host wants it.
    pub fn has_turn(&self, row: RowId) -> bool {
        self.turns[row] < UNITS_IN_A_ROW
    }

    /// The host takes `row`.
    pub fn turn_over(&mut self, row: RowId) {
        self.turns[row] = 0;
    }

    /// `row` takes a program unit.
    pub fn begin_unit(&mut self, row: RowId) {
        self.last_row = row;
        let turns = &mut self.turns[row];
        *turns = turns.saturating_add(1);
    }

    /// The next translation page of a unit, if one waits: it is programmed as it is now.
    pub fn begin_program(&mut self) -> Option<TranslationPage> {
        let table = self.staged.pop_front()?;
        self.ahead -= 1;
        let state = &mut self.states[table];
        (state.stage, state.again) = (Stage::Programming, false);
        self.mapper.written(table);
        Some(table)
    }

    /// Version `version` of a translation page is in flash.
    pub fn programmed(&mut self, table: TranslationPage, version: u32) {
        let state = &mut self.states[table];
        (state.stage, state.version) = (Stage::AtRest, version);
        let again = std::mem::take(&mut state.again);
        let owes = self.owed.pay(table);
        if again {
            self.push(table, if owes { QUEUE } else { GATHERED });
        }
    }

    /// The program of a translation page failed: it waits for another unit, before all others.
    pub fn program_failed(&mut self, table: TranslationPage) {
        self.ahead += 1;
        self.states[table].stage = Stage::Staged;
        // The next program has all of it.
        self.owed.once_at_most(table);
        self.staged.push_front(table);
    }

    /// Notes that `reads` flash pages of a translation page are being read.
    pub fn reading(&mut self, table: TranslationPage, reads: u32) {
        self.states[table].reads = reads as u8;
    }

    /// Whether a translation page is being read.
    pub fn is_being_read(&self, table: TranslationPage) -> bool {
        self.states[table].reads > 0
    }

    /// A flash page of a translation page was read; true if it was the last.
    pub fn read_done(&mut self, table: TranslationPage) -> bool {
        self.states[table].reads -= 1;
        self.states[table].reads == 0
    }

    /// A command waits for the place of `page`, which is being read.
    pub fn wait(&mut self, then: Then, page: LogicalPage, since: Instant) {
        let table = self.table_of(page);
        let waiter = Waiter { then, page, since, next: self.states[table].waiters };
        self.states[table].waiters = self.waiters.add(waiter);
    }

    /// All waiters for a translation page, the last one first: what [`next_waiter`](Self::next_waiter) goes through.
    pub fn take_waiters(&mut self, table: TranslationPage) -> u32 {
        std::mem::replace(&mut self.states[table].waiters, NONE)
    }

    /// The next waiter.
    pub fn next_waiter(&mut self, at: &mut u32) -> Option<Waiter> {
        if *at == NONE {
            return None;
        }
        let waiter = self.waiters.take(*at);
        *at = waiter.next;
        Some(waiter)
    }
}
