//! A reference model for arrays: the contents that a host with random commands may read, while members fail,
//! devices are rebuilt, the power is cut and sectors become unreadable. Completed writes are read back.
//! Flushed data survive power cuts. Data that RAID-5 cannot keep are reported as lost. `trials.rs` compares
//! arrays with this model.

use std::collections::{BTreeMap, BTreeSet};

use wordline_device::ageing::Ages;
use wordline_device::content::{Content, ZEROES};
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::{Bytes, Instant, Schedule, Seed, Stream};

use super::Bench;

/// The host's model of a sector.
#[derive(Clone, Debug)]
struct Sector {
    /// Contents that a read may find. One, unless the device may choose between several.
    now: Vec<Content>,
    /// Further contents that are possible after a power cut.
    older: Vec<Content>,
    /// Number of older contents that are no longer possible.
    dropped: usize,
    /// Whether the sector was discarded. A power cut may then bring any older content back.
    discarded: bool,
    /// All contents that the sector ever had.
    history: Vec<Content>,
}

/// Kinds of faults in a trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    pub(super) fails: bool,
    pub(super) cuts: bool,
    /// Power cuts happen also while a member is missing.
    pub(super) cuts_degraded: bool,
    pub(super) scrubs: bool,
    /// Pages become unreadable.
    pub(super) spoils: bool,
    /// Members fail while others are missing.
    pub(super) more_fail: bool,
    /// Flushes run concurrently with other commands.
    pub(super) flushes: bool,
}

/// An outstanding flush, with the state at its submission.
struct Flush {
    tag: u32,
    /// By sector: the number of older contents that the flush makes impossible. These are all contents until
    /// its submission.
    older: Vec<usize>,
    /// Number of commands submitted before the flush.
    submitted: u64,
    /// Rows of the commands that were outstanding at its submission.
    outstanding: BTreeSet<u64>,
    /// Rows whose parity was to be rewritten at its submission. The flush does not cover them.
    dirty_rows: BTreeSet<u64>,
}

/// Makes sectors of a device unreadable.
type Spoil<D> = fn(&mut D, std::ops::Range<u64>);

pub(super) struct Host<D: BlockDevice> {
    pub(super) bench: Bench<D>,
    random: Stream,
    sectors: Vec<Sector>,
    /// Rows with unflushed writes, each with the number of its last write command. FUA writes that completed
    /// are flushed.
    unflushed: BTreeMap<u64, u64>,
    /// Rows that may have losses.
    excused: BTreeSet<u64>,
    flushes: Vec<Flush>,
    submitted: u64,
    /// By unflushed row: the data members whose blocks were written. Only for an array with a partial parity
    /// log.
    modified: BTreeMap<u64, u64>,
    /// Unflushed rows without a log entry. They are in doubt after a power cut, or were written while their
    /// parity member was missing.
    bare: BTreeSet<u64>,
    pub(super) has_log: bool,
    /// Rows with a block that became unreadable.
    spoilt: BTreeSet<u64>,
    pub(super) spoil: Option<Spoil<D>>,
    /// Whether parity is deferred.
    pub(super) stays_behind: bool,
    /// Outstanding commands.
    sent: Vec<Command>,
    trouble: Trouble,
    members: u16,
    block: u64,
    pub(super) lost: u64,
    pub(super) cuts_in_recovery: u32,
}

impl<D: Ages> Host<D> {
    pub(super) fn new(
        bench: Bench<D>,
        members: u16,
        block: Bytes,
        trouble: Trouble,
        seed: u64,
        content: Content,
    ) -> Self {
        let all = bench.array.shape().namespaces[0] as usize;
        let sector = Sector {
            now: vec![content],
            older: Vec::new(),
            dropped: 0,
            discarded: false,
            history: vec![content],
        };
        Self {
            bench,
            random: Seed(seed).stream("raid5.oracle", 0),
            sectors: vec![sector; all],
            unflushed: BTreeMap::new(),
            excused: BTreeSet::new(),
            flushes: Vec::new(),
            submitted: 0,
            modified: BTreeMap::new(),
            bare: BTreeSet::new(),
            has_log: false,
            spoilt: BTreeSet::new(),
            spoil: None,
            stays_behind: true,
            sent: Vec::new(),
            trouble,
            members,
            block: block.0 / 512,
            lost: 0,
            cuts_in_recovery: 0,
        }
    }

    fn rows(&self, command: &Command) -> impl Iterator<Item = u64> + use<D> {
        let striping = self.bench.array.striping();
        striping.rows_of(command.sector..command.sector + command.sectors)
    }

    fn submit(&mut self, operation: Operation, sector: u64, sectors: u64) {
        let fua = operation == Operation::Write && self.random.below(8) == 0;
        let command = Command { operation, sector, sectors, fua, ..Command::default() };
        let tag = self.bench.submit_command(command);
        let command = Command { tag, ..command };
        if matches!(operation, Operation::Write | Operation::WriteZeroes | Operation::Discard) {
            let rows: Vec<u64> = self.rows(&command).collect();
            let striping = self.bench.array.striping();
            for row in &rows {
                let parts = striping.parts(*row, sector..sector + sectors);
                let members = parts.fold(0, |all, (member, ..)| all | 1 << member);
                let modified = self.modified.entry(*row).or_default();
                // A discard drops the log entry.
                *modified = if operation == Operation::Discard { 0 } else { *modified | members };
                if self.bench.array.missing() >> striping.parity(*row) & 1 == 1 {
                    self.bare.insert(*row);
                }
            }
            self.submitted += 1;
            if !fua {
                self.unflushed.extend(rows.into_iter().map(|row| (row, self.submitted)));
            }
        }
        if operation == Operation::Flush {
            let outstanding = self.sent.iter().filter(|command| Self::writes(command).is_some());
            let outstanding = outstanding.flat_map(|command| self.rows(command)).collect();
            self.flushes.push(Flush {
                tag,
                older: self.sectors.iter().map(|sector| sector.dropped + sector.older.len()).collect(),
                submitted: self.submitted,
                outstanding,
                dirty_rows: self.bench.array.dirty_rows().collect(),
            });
        }
        self.sent.push(command);
        self.take_completions();
    }

    /// Completes a flush. Everything that completed before its submission is final.
    fn flushed(&mut self, tag: u32) {
        let at = self.flushes.iter().position(|flush| flush.tag == tag);
        let flush = self.flushes.remove(at.expect("each flush completes once"));
        for (sector, older) in self.sectors.iter_mut().zip(flush.older) {
            let gone = older.saturating_sub(sector.dropped);
            sector.older.drain(..gone);
            sector.dropped += gone;
        }
        let Self { modified, bare, unflushed, submitted, .. } = self;
        unflushed.retain(|row, last| *last > flush.submitted || flush.outstanding.contains(row));
        unflushed.extend(flush.dirty_rows.iter().map(|row| (*row, *submitted)));
        modified.retain(|row, _| unflushed.contains_key(row));
        bare.retain(|row| unflushed.contains_key(row));
    }

    fn writes(command: &Command) -> Option<Content> {
        match command.operation {
            Operation::Write => Some(Content::of(command.tag)),
            Operation::WriteZeroes | Operation::Discard => Some(ZEROES),
            _ => None,
        }
    }

    fn take_completions(&mut self) {
        for completion in self.bench.completions() {
            let at = self.sent.iter().position(|command| command.tag == completion.command.tag);
            let command = self.sent.remove(at.expect("each command is answered once"));
            let range = command.sector..command.sector + command.sectors;
            match command.operation {
                Operation::Read => self.check_read(&command, completion.failed),
                Operation::Flush => {
                    assert!(!completion.failed, "a flush failed");
                    self.flushed(command.tag);
                }
                _ => {
                    assert!(!completion.failed || self.trouble.fails, "{command:?} failed");
                    let new = Self::writes(&command).expect("it writes");
                    if completion.failed {
                        let rows: Vec<u64> = self.rows(&command).collect();
                        self.unflushed.extend(rows.into_iter().map(|row| (row, self.submitted)));
                    }
                    for sector in range {
                        let sector = &mut self.sectors[sector as usize];
                        sector.history.push(new);
                        if command.operation == Operation::Discard {
                            // Only whole stripes without a row in use are discarded. So the old content is
                            // possible too.
                            sector.now.push(new);
                            sector.discarded = true;
                        } else if completion.failed {
                            // The write may or may not have been applied, and a power cut may change that.
                            sector.now.push(new);
                            sector.older.extend_from_slice(&sector.now);
                        } else {
                            sector.older.append(&mut sector.now);
                            sector.now = vec![new];
                            if command.fua {
                                sector.dropped += sector.older.len();
                                sector.older.clear();
                            }
                        }
                    }
                }
            }
        }
    }

    fn check_read(&mut self, command: &Command, failed: bool) {
        let range = command.sector..command.sector + command.sectors;
        let lost: Vec<u64> = range.clone().filter(|sector| self.bench.array.is_lost(*sector)).collect();
        if failed {
            let striping = self.bench.array.striping();
            let may_be = |sector: &u64| self.excused.contains(&(striping.locate(*sector).1 / self.block));
            assert!(
                lost.iter().any(may_be),
                "{command:?} failed, and lost nothing that was under way: {lost:?}"
            );
            return;
        }
        let found = self.bench.array.take_contents(command.tag).expect("contents are followed");
        for (sector, content) in range.zip(found) {
            let known = &mut self.sectors[sector as usize];
            let array = &self.bench.array;
            assert!(
                known.now.contains(&content),
                "sector {sector} holds {content:?}, wanted one of {:?}; {:?}, missing {:#b}, {:?}, {:?}",
                known.now,
                array.striping().locate(sector),
                array.missing(),
                self.trouble,
                array.counts()
            );
            known.now = vec![content];
        }
    }

    /// Checks that lost sectors are in rows that may have losses.
    fn check_lost(&mut self) {
        let all = self.sectors.len() as u64;
        let lost: Vec<u64> = (0..all).filter(|sector| self.bench.array.is_lost(*sector)).collect();
        let striping = self.bench.array.striping();
        for sector in &lost {
            let row = striping.locate(*sector).1 / self.block;
            assert!(
                self.excused.contains(&row),
                "sector {sector} is lost, and row {row} had nothing under way"
            );
        }
        let counts = self.bench.array.counts();
        let by_reason = counts.lost_deferred_parity + counts.lost_in_doubt + counts.lost_unreadable;
        assert_eq!(counts.lost, by_reason, "each loss has a reason");
        self.lost = self.lost.max(lost.len() as u64);
    }

    /// Submits commands that do not overlap.
    fn submit_round(&mut self) {
        let all = self.sectors.len() as u64;
        let parts = 1 + self.random.below(5);
        let each = all / parts;
        for part in 0..parts {
            let sectors = match self.random.below(4) {
                0 => 1 + self.random.below(16),
                1 => 8 * (1 + self.random.below(16)),
                2 => 1 + self.random.below(200),
                _ => 1 + self.random.below(each),
            };
            let sectors = sectors.min(each);
            let sector = part * each + self.random.below(each - sectors + 1);
            let operation = match self.random.below(20) {
                0..11 => Operation::Write,
                11..17 => Operation::Read,
                17 => Operation::WriteZeroes,
                _ => Operation::Discard,
            };
            self.submit(operation, sector, sectors);
            if self.trouble.flushes && self.random.below(4) == 0 {
                self.submit(Operation::Flush, 0, 0);
            }
        }
    }

    fn go_on(&mut self, left: usize) {
        while self.sent.len() > left {
            if !self.bench.step() {
                let Bench { array, calendar, .. } = &mut self.bench;
                assert!(
                    array.give_up(calendar),
                    "nothing moves: {}",
                    array.describe_outstanding(calendar.now())
                );
            }
            self.take_completions();
        }
    }

    fn flush(&mut self) {
        self.go_on(0);
        self.submit(Operation::Flush, 0, 0);
        self.go_on(0);
    }

    /// Rows with writes that are neither flushed nor FUA, or that have not completed.
    fn volatile_rows(&self) -> BTreeSet<u64> {
        let writes = self.sent.iter().filter(|command| Self::writes(command).is_some());
        writes.flat_map(|command| self.rows(command)).chain(self.unflushed.keys().copied()).collect()
    }

    fn fail(&mut self) {
        let member = self.random.below(u64::from(self.members)) as u16;
        if self.bench.array.degraded() > 0 {
            if !self.trouble.more_fail {
                return;
            }
            self.excused.extend(0..self.bench.array.striping().rows());
        }
        // With deferred parity, rows with unflushed writes may lack parity. Otherwise only rows that a power
        // cut left in doubt are at risk.
        if self.bench.array.has_parity_behind() {
            self.excused.extend(self.volatile_rows());
        }
        self.excused.extend(self.bench.array.dirty_rows());
        self.excused.extend(&self.spoilt);
        let striping = self.bench.array.striping();
        self.bare.extend(self.volatile_rows().into_iter().filter(|row| striping.parity(*row) == member));
        self.bench.fail(member);
        self.take_completions();
    }

    /// Makes a page of a device unreadable. With consistent parity this loses nothing.
    fn spoil(&mut self) {
        let Some(spoil) = self.spoil else { return };
        let devices = u64::from(self.members) + self.bench.array.counts().failures;
        let device = self.random.below(devices) as usize;
        let striping = self.bench.array.striping();
        let row = self.random.below(striping.rows());
        let sector = row * self.block + self.random.below(self.block);
        let has_parity = self.bench.array.degraded() == 0 && !self.stays_behind && !self.trouble.cuts;
        if !has_parity || !self.spoilt.insert(row) {
            self.excused.insert(row);
        }
        spoil(&mut self.bench.array.devices_mut()[device], sector..sector + 1);
    }

    /// Whether the power may be cut now. Rows that a cut puts at risk are excused.
    fn may_cut(&mut self) -> bool {
        if self.bench.array.degraded() > 0 {
            if !self.trouble.cuts_degraded {
                return false;
            }
            // With a log, only rows whose missing block was written together with another block are at risk.
            let missing = self.bench.array.missing();
            let is_safe = |row: &u64| {
                let modified = self.modified.get(row).copied().unwrap_or(0);
                // A row that was discarded before another power cut is in no log, and has no data.
                self.has_log
                    && modified != 0
                    && !self.bare.contains(row)
                    && (modified & missing == 0 || modified & !missing == 0)
            };
            let endangered: Vec<u64> = self.volatile_rows().into_iter().filter(|row| !is_safe(row)).collect();
            self.excused.extend(endangered);
            self.excused.extend(self.bench.array.dirty_rows());
            let discarded: Vec<u64> =
                (0..self.sectors.len() as u64).filter(|at| self.sectors[*at as usize].discarded).collect();
            let striping = self.bench.array.striping();
            self.excused.extend(discarded.iter().map(|at| striping.locate(*at).1 / self.block));
        }
        true
    }

    /// Recovers. Some recoveries are interrupted, and members fail during others.
    fn recover(&mut self) {
        let mut cuts = self.random.below(4);
        self.bench.array.recover(&mut self.bench.calendar);
        while !self.bench.array.is_ready() {
            assert!(self.bench.step(), "a recovery is under way");
            match self.random.below(16) {
                0 if cuts > 0 && self.may_cut() => {
                    cuts -= 1;
                    self.cuts_in_recovery += 1;
                    self.bench.cut_and_recover();
                }
                1 if self.trouble.fails => self.fail(),
                _ => {}
            }
        }
    }

    fn cut(&mut self) {
        if !self.may_cut() {
            return;
        }
        let steps = self.random.below(60);
        for _ in 0..steps {
            self.bench.step();
            self.take_completions();
        }
        self.bench.cut();
        self.flushes.clear();
        for command in std::mem::take(&mut self.sent) {
            let Some(new) = Self::writes(&command) else { continue };
            for sector in command.sector..command.sector + command.sectors {
                let sector = &mut self.sectors[sector as usize];
                sector.older.push(new);
                sector.history.push(new);
                sector.discarded |= command.operation != Operation::Write;
            }
        }
        for sector in &mut self.sectors {
            sector.now.append(&mut sector.older);
            if sector.discarded || sector.now.contains(&ZEROES) {
                sector.now.extend_from_slice(&sector.history);
                sector.now.push(ZEROES);
            }
            sector.discarded = false;
        }
        self.recover();
        // Discarded rows are still in doubt, and have no log entry.
        let dirty_rows: Vec<u64> = self.bench.array.dirty_rows().collect();
        self.modified.extend(dirty_rows.iter().map(|row| (*row, 0)));
        self.bare.extend(&dirty_rows);
        self.unflushed.extend(dirty_rows.into_iter().map(|row| (row, self.submitted)));
        self.read_all();
    }

    fn read_all(&mut self) {
        self.go_on(0);
        let all = self.sectors.len() as u64;
        for sector in (0..all).step_by(40) {
            self.submit(Operation::Read, sector, 40.min(all - sector));
            self.go_on(3);
        }
        self.go_on(0);
        self.check_lost();
    }

    pub(super) fn work(&mut self, rounds: u32) {
        for round in 0..rounds {
            self.submit_round();
            let steps = self.random.below(40);
            for _ in 0..steps {
                self.bench.step();
                self.take_completions();
            }
            if self.trouble.fails && self.random.below(12) == 0 {
                self.fail();
            }
            if self.trouble.cuts && self.random.below(12) == 0 {
                self.cut();
            }
            self.go_on(0);
            if self.random.below(5) == 0 {
                self.flush();
            }
            if self.trouble.spoils && self.random.below(4) == 0 {
                self.spoil();
            }
            if self.trouble.scrubs && self.random.below(10) == 0 {
                self.bench.array.scrub(&mut self.bench.calendar);
            }
            if round % 40 == 39 {
                self.read_all();
                self.bench.array.audit(self.bench.calendar.now() - Instant::ZERO);
            }
        }
        self.read_all();
    }
}
