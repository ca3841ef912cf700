//! A small and slow reference model for [`durability`](wordline_host::raid5::durability). It keeps the
//! history since the last power cut, and searches the history to find the effect of the next cut. It uses
//! times where the array uses flush numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wordline_host::raid5::durability::{CutOutcome, Durability};
use wordline_host::raid5::layout::{Layout, Striping};
use wordline_host::raid5::sync::Task;
use wordline_host::raid5::write_method::{MemberSet, each};
use wordline_kernel::{Seed, Stream};

const STRIPING: Striping =
    Striping { layout: Layout::LeftSymmetric, members: 4, chunk: 16, block: 8, chunks: 6 };
const ROWS: u64 = 12;
/// Sectors of each member's log.
const LOG: u64 = 32;

/// A flush of all members: its start, the rows that were being written, those of them that were being logged,
/// and the rows that waited for log space.
#[derive(Clone, Debug, Default)]
struct Flush {
    began: u64,
    open: BTreeSet<u64>,
    logging: BTreeSet<u64>,
    wait: BTreeSet<u64>,
}

/// A write of a row that has not failed: its start, and its end unless it is in progress.
#[derive(Clone, Copy, Debug)]
struct Write {
    row: u64,
    over: Option<u64>,
    /// Members whose blocks a log entry covers; `None` for a write without an entry.
    logged: Option<MemberSet>,
    /// Whether the write has been sent to the members, not only to the log.
    sent: bool,
    /// Whether the write is non-volatile when it ends.
    forced: bool,
}

/// Lost sectors of a block that were rewritten at a time; `None` for discarded sectors.
type Regained = (u64, u16, u64, Option<u64>);

#[derive(Clone, Debug, Default)]
struct Reference {
    now: u64,
    /// Flushes that completed without a failure.
    flushes: Vec<Flush>,
    under_way: Option<Flush>,
    writes: Vec<Write>,
    /// By row: the writes that its log entry covers.
    entries: BTreeMap<u64, Vec<Write>>,
    /// Allocated log space: the row, the sectors, and the time of the allocation.
    rooms: Vec<(u64, Range<u64>, u64)>,
    waiting: BTreeSet<u64>,
    discarded: BTreeSet<u64>,
    in_doubt: BTreeSet<u64>,
    replay: BTreeSet<u64>,
    lost: BTreeMap<(u64, u16), u64>,
    regained: Vec<Regained>,
    failed: MemberSet,
    /// The member being rebuilt, and its rebuilt rows with their times.
    rebuild: Option<(u16, BTreeMap<u64, u64>)>,
}

impl Reference {
    /// Whether a completed flush covers the writes of a row until a time, and the row was not being logged.
    fn is_durable(&self, row: u64, over: Option<u64>) -> bool {
        let covers =
            |flush: &Flush| over.is_some_and(|over| over < flush.began) && !flush.logging.contains(&row);
        self.flushes.iter().any(covers)
    }

    /// Whether a completed flush covers the writes of a row until a time, and no other write was in progress.
    fn is_closed(&self, row: u64, over: Option<u64>) -> bool {
        let covers =
            |flush: &Flush| over.is_some_and(|over| over < flush.began) && !flush.open.contains(&row);
        self.flushes.iter().any(covers)
    }

    fn missing(&self, row: u64) -> MemberSet {
        match &self.rebuild {
            Some((member, rows)) if !rows.contains_key(&row) => self.failed | 1 << member,
            _ => self.failed,
        }
    }

    fn open(&self) -> BTreeSet<u64> {
        self.writes.iter().filter(|write| write.over.is_none()).map(|write| write.row).collect()
    }

    fn modified(&self, row: u64) -> Option<MemberSet> {
        let of_entry = self.entries.get(&row)?.iter().map(|write| write.logged.unwrap_or(0));
        Some(of_entry.fold(0, |all, members| all | members))
    }

    fn forget(&mut self, row: u64) {
        self.entries.remove(&row);
        self.rooms.retain(|(of, ..)| *of != row);
    }

    fn begin(&mut self, row: u64, logged: Option<MemberSet>, forced: bool) {
        let write = Write { row, over: None, logged, sent: logged.is_none(), forced };
        match logged {
            Some(_) => self.entries.entry(row).or_default().push(write),
            None => self.forget(row),
        }
        self.writes.push(write);
    }

    /// Checks that the log space for the entry of a row is free, or that there is none.
    fn note_allocation(&mut self, row: u64, sectors: u64, at: Option<u64>) {
        let of_area = |(of, ..): &&(u64, Range<u64>, u64)| STRIPING.parity(*of) == STRIPING.parity(row);
        let mut taken = self.rooms.iter().filter(of_area).map(|(_, taken, _)| taken);
        let Some(at) = at else {
            assert!(taken.next().is_some(), "an empty area takes every entry");
            self.waiting.insert(row);
            return;
        };
        let room = at..at + sectors;
        assert!(room.end <= LOG && taken.all(|taken| taken.end <= room.start || room.end <= taken.start));
        self.rooms.push((row, room, self.now));
        self.waiting.remove(&row);
    }

    /// Ends the write of a row. If it is non-volatile and nothing volatile is behind it, it needs no entry.
    fn end(&mut self, row: u64) {
        let now = self.now;
        let (of_row, others): (Vec<Write>, _) = self.writes.iter().partition(|write| write.row == row);
        let is_durable = |write: &Write| write.forced || self.is_durable(row, write.over);
        let forced = of_row.iter().any(|write| write.over.is_none() && write.forced);
        let in_doubt = self.in_doubt.contains(&row) || self.discarded.contains(&row);
        if forced && !in_doubt && of_row.iter().all(is_durable) {
            self.writes = others;
            return self.forget(row);
        }
        let of_entry = self.entries.get_mut(&row).into_iter().flatten();
        let all = self.writes.iter_mut().filter(|write| write.row == row).chain(of_entry);
        all.filter(|write| write.over.is_none()).for_each(|write| write.over = Some(now));
    }

    fn written(&mut self, row: u64, member: u16, which: u64, forced: bool) {
        let mut taken = which & self.lost.get(&(row, member)).copied().unwrap_or(0);
        self.lost.entry((row, member)).and_modify(|lost| *lost &= !which);
        let of_block = |of: &&mut Regained| (of.0, of.1, of.3) == (row, member, None);
        for (_, _, discarded, _) in self.regained.iter_mut().filter(of_block) {
            taken |= *discarded & which;
            *discarded &= !which;
        }
        if forced {
            let of_block = self.regained.iter_mut().filter(|of| (of.0, of.1) == (row, member));
            return of_block.for_each(|(_, _, volatile, _)| *volatile &= !which);
        }
        self.regained.push((row, member, taken, Some(self.now)));
    }

    fn discard(&mut self, row: u64) {
        self.discarded.insert(row);
        self.forget(row);
        for member in 0..4 {
            let lost = self.lost.remove(&(row, member)).unwrap_or(0);
            self.regained.push((row, member, lost, None));
        }
    }

    fn end_flush(&mut self, failed: bool) {
        let flush = self.under_way.take().expect("one is under way");
        if failed {
            return;
        }
        self.flushes.push(flush.clone());
        let Flush { began, open, wait, .. } = flush;
        let is_covered = |write: &Write| write.over.is_some_and(|over| over < began);
        self.entries.retain(|row, writes| open.contains(row) || !writes.iter().all(is_covered));
        let is_free = |row: &u64, taken: u64| taken < began && (!open.contains(row) || wait.contains(row));
        self.rooms.retain(|(row, _, taken)| !is_free(row, *taken));
    }

    /// The number of rebuilt rows covered by a flush, from the first one on without a gap.
    fn durable_rows(&self, rows: &BTreeMap<u64, u64>) -> u64 {
        let of_flush = |flush: &Flush| {
            (0..ROWS).find(|row| rows.get(row).is_none_or(|at| *at >= flush.began)).unwrap_or(ROWS)
        };
        let before = (0..ROWS).find(|row| rows.get(row) != Some(&0)).unwrap_or(ROWS);
        self.flushes.iter().map(of_flush).fold(before, u64::max)
    }

    fn cut(&mut self, behind: Option<u64>) -> CutOutcome {
        let rebuild = self.rebuild.take();
        self.rebuild = rebuild
            .map(|(member, rows)| (member, (0..self.durable_rows(&rows)).map(|row| (row, 0)).collect()));
        for (row, member, which, at) in std::mem::take(&mut self.regained) {
            let is_durable = at.is_some_and(|at| self.flushes.iter().any(|flush| at < flush.began));
            if !is_durable {
                *self.lost.entry((row, member)).or_default() |= which;
            }
        }
        let is_bare = |write: &&Write| write.logged.is_none() && !self.is_closed(write.row, write.over);
        let bare: BTreeSet<u64> = self.writes.iter().filter(is_bare).map(|write| write.row).collect();
        let unsure = |write: &&Write| match (write.forced, write.over) {
            (true, Some(_)) => false,
            (_, over) => write.sent && !self.is_durable(write.row, over),
        };
        let unsure: Vec<u64> = self.writes.iter().filter(unsure).map(|write| write.row).collect();
        let before = self.in_doubt.len();
        self.in_doubt.extend(unsure.into_iter().chain(behind));
        let Self { in_doubt, discarded, .. } = self;
        let keeps = |row: &u64| in_doubt.contains(row) && !discarded.contains(row) && !bare.contains(row);
        self.entries.retain(|row, _| keeps(row));
        self.rooms.retain(|(row, ..)| keeps(row));
        self.in_doubt.append(&mut self.discarded);
        (self.writes, self.under_way, self.waiting) = Default::default();
        self.entries.values_mut().flatten().for_each(|write| write.over = write.over.or(Some(self.now)));
        let in_doubt = (self.in_doubt.len() - before) as u64;
        CutOutcome { in_doubt, lost: self.lose() }
    }

    /// Resolves rows in doubt. The log gives the parity, or only parity was written. Otherwise the missing
    /// block is lost.
    fn lose(&mut self) -> u64 {
        self.replay.clear();
        let mut lost = 0;
        for row in self.in_doubt.clone() {
            let (missing, parity) = (self.missing(row), 1 << STRIPING.parity(row));
            let modified = self.modified(row);
            let of_one = missing.count_ones() == 1;
            if of_one && modified == Some(missing) {
                self.in_doubt.remove(&row);
            } else if modified.is_some_and(|modified| missing & (modified | parity) == 0)
                && missing.count_ones() < 2
            {
                self.replay.insert(row);
            } else if of_one {
                self.in_doubt.remove(&row);
                for member in each(missing & !parity) {
                    let held = self.lost.entry((row, member)).or_default();
                    lost += u64::from((!*held & 0xff).count_ones());
                    *held |= 0xff;
                }
            }
        }
        lost
    }
}

/// The model and the array that are compared, and a random stream.
struct Pair {
    reference: Reference,
    array: Durability,
    random: Stream,
}

impl Pair {
    fn below(&mut self, most: u64) -> u64 {
        self.random.below(most)
    }

    /// Starts a write of a row, or continues the write in progress.
    fn write(&mut self, row: u64) {
        let Self { reference, array, .. } = self;
        let under_way = reference.writes.iter_mut().find(|write| write.row == row && write.over.is_none());
        let Some(write) = under_way else { return self.begin(row) };
        if reference.waiting.contains(&row) {
            let sectors = 8 + self.below(9);
            return self.allocate_log(row, sectors);
        }
        if !std::mem::replace(&mut write.sent, true) {
            return array.note_write_start(row, write.forced);
        }
        let forced = write.forced;
        reference.end(row);
        array.note_write_end(row);
        for member in 0..4 {
            let which = self.below(256);
            self.reference.written(row, member, which, forced);
            self.array.written(row, member, which, forced);
        }
        if self.below(2) == 0 {
            self.reference.in_doubt.remove(&row);
            self.array.rows.is_right(row);
        }
    }

    fn begin(&mut self, row: u64) {
        let parity = 1 << STRIPING.parity(row);
        let forced = self.below(3) == 0;
        if self.reference.missing(row) & parity != 0 {
            self.reference.begin(row, None, forced);
            self.array.note_unlogged_write(row);
            return self.array.note_write_start(row, forced);
        }
        let written = (1 + self.below(15)) & !parity;
        let written = if written == 0 { 0b1111 & !parity } else { written };
        assert_eq!(self.array.write_in_log(row, written), self.reference.modified(row));
        self.reference.begin(row, Some(written), forced);
        let sectors = 8 + self.below(9);
        self.allocate_log(row, sectors);
    }

    fn allocate_log(&mut self, row: u64, sectors: u64) {
        let at = self.array.allocate_log(row, sectors);
        self.reference.note_allocation(row, sectors, at);
    }

    fn flush(&mut self) {
        if self.reference.under_way.is_some() {
            let failed = self.below(4) == 0;
            self.reference.end_flush(failed);
            return self.array.end_flush(failed);
        }
        let Reference { now, waiting, writes, .. } = &self.reference;
        let logging = writes.iter().filter(|write| !write.sent).map(|write| write.row).collect();
        let flush = Flush { began: *now, open: self.reference.open(), logging, wait: waiting.clone() };
        self.array.start_flush(&flush.open, &flush.wait);
        self.reference.under_way = Some(flush);
    }

    fn fail(&mut self, member: u16) {
        let Self { reference, array, .. } = self;
        assert_eq!(array.held.fail(member), reference.failed >> member & 1 == 0);
        reference.failed |= 1 << member;
        reference.rebuild.take_if(|(of, _)| *of == member);
        if array.held.incomplete().count_ones() == 1 {
            array.held.replace(member);
            reference.failed = 0;
            reference.rebuild = Some((member, BTreeMap::new()));
        }
    }

    /// Continues the synchronisation that is next.
    fn sync(&mut self, ahead: u64) {
        let Self { reference, array, .. } = self;
        let Some((task, from)) = array.next_sync() else { return };
        let Some(row) = array.next_to_sync(task, from + ahead).or_else(|| array.next_to_sync(task, from))
        else {
            let member = reference.rebuild.take().map(|(member, _)| member);
            return member.into_iter().for_each(|member| array.held.rebuilt(member, false));
        };
        if reference.open().contains(&row) {
            return;
        }
        let lacks = reference.missing(row).count_ones();
        match task {
            Task::Rebuild { .. } => {
                let now = reference.now;
                reference.rebuild.as_mut().map(|(_, rows)| rows.entry(row).or_insert(now));
            }
            Task::Replay => {
                reference.replay.remove(&row);
                if lacks < 2 {
                    reference.in_doubt.remove(&row);
                }
            }
            Task::Resync | Task::Scrub if lacks == 0 => {
                assert!(reference.in_doubt.remove(&row));
            }
            Task::Resync | Task::Scrub => {}
        }
        array.note_row_synced(task, row);
    }

    fn cut(&mut self) {
        let behind = (self.below(2) == 0).then(|| self.below(ROWS));
        assert_eq!(self.array.cut(behind.into_iter()), self.reference.cut(behind));
    }

    fn check(&self) {
        let Self { reference, array, .. } = self;
        assert_eq!(array.check_loaded(), Ok(()));
        for row in 0..ROWS {
            assert_eq!(array.held.missing(row), reference.missing(row), "row {row}");
            assert_eq!(array.rows.is_dirty(row), reference.in_doubt.contains(&row), "row {row}");
            assert_eq!(array.log.modified(row), reference.modified(row), "row {row}");
            assert_eq!(array.log.replays(row) != 0, reference.replay.contains(&row), "row {row}");
            for member in 0..4 {
                let lost = reference.lost.get(&(row, member)).copied().unwrap_or(0);
                assert_eq!(array.lost.of(row, member), lost, "row {row}, member {member}");
            }
        }
    }

    fn step(&mut self) {
        self.reference.now += 1;
        let row = self.below(ROWS);
        let is_open = self.reference.open().contains(&row);
        // An array accepts no commands before its log has been replayed.
        let replays = self.array.log.has_pending_replay();
        match self.below(64) {
            0..30 if !replays => self.write(row),
            30..40 if !replays => self.flush(),
            40..43 if !replays && !is_open => {
                self.reference.discard(row);
                self.array.discard(row);
            }
            43 if !is_open => {
                let (member, which) = (self.below(4) as u16, self.below(256));
                self.reference.forget(row);
                self.reference.replay.remove(&row);
                self.array.log.forget(row);
                *self.reference.lost.entry((row, member)).or_default() |= which;
                self.array.lost.add(row, member, which);
            }
            44 => {
                let member = self.below(4) as u16;
                self.fail(member);
            }
            45..60 => {
                let ahead = self.below(3);
                self.sync(ahead);
            }
            60..62 => self.cut(),
            _ => {}
        }
    }
}

#[test]
fn a_power_cut_leaves_what_the_reference_says() {
    let trials = if std::env::var_os("WORDLINE_LONG").is_some() { 5_000 } else { 200 };
    for seed in 0..trials {
        let random = Seed(seed).stream("raid5.durability", 0);
        let array = Durability::new(STRIPING, LOG, true);
        let mut pair = Pair { reference: Reference::default(), array, random };
        for _ in 0..600 {
            pair.step();
            pair.check();
        }
    }
}
