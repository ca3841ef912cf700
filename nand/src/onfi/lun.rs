//! A LUN from the inside: registers, array operations, contents and limits.
//!
//! An operation is given at the instant at which the LUN goes busy. Its effect on cells and registers falls on
//! the instants at which it really happens, and [`Lun::settle`] lets everything happen that is due: every call
//! that names an instant does so first. An operation that is refused changes no register and no cell.

mod erase;
mod job;
mod program;
mod read;
mod suspend;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant, Seed};

use self::job::{HandOver, Job, Work};
use super::cells::Cells;
use super::contents::Contents;
use super::registers::PlaneRegisters;
use super::{CellMode, Condition, Limit, LunTimes, Row, RowAddressing};
use crate::pipeline::Pipeline;
use crate::span::Span;
use crate::{DieId, Part, Stage};

/// How a read goes on after its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// 30: sense into the cache register.
    Plain,
    /// 32: one more plane for the read that follows.
    Queue,
    /// 35: sense a page that a copyback program will write.
    Copyback,
    /// 31: hand over the page sensed before, then sense this one behind the bus.
    CacheRandom,
    /// Sense in this plane alone, while other planes do so too. A vendor's command.
    Independent,
}

/// How a program goes on after its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// 10: program.
    Start,
    /// 11: one more plane (of a one-shot part: one more page for its word line) for the program that follows.
    Queue,
    /// 15: program behind the bus.
    Cache,
    /// One-shot parts: the page goes to a write-back register, and the next page of the word line follows. A vendor's
    /// command, 1Ah in parts that have it.
    Page,
    /// Programs the word line again with this page in place of its old version; the other page keeps its bits
    /// (ReSSD, section 3.2). A research command that no data sheet has.
    Reprogram,
}

/// When an operation leaves the LUN ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// RDY rises.
    pub ready_at: Instant,
    /// ARDY rises.
    pub array_ready_at: Instant,
}

/// A program or erase that fails, so that the handling of FAIL can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFailure {
    /// The page; of an erase, any page of the block.
    pub row: Row,
    /// Whether an erase fails, or a program.
    pub erase: bool,
    /// Which of the programs of this page (erases of this block) fails, counted from 1 over the run.
    pub nth: u32,
}

/// How a LUN is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunOptions {
    /// Whether a broken limit of reliability refuses the operation. Else it is carried out and counted, with FAIL.
    pub fatal: bool,
    /// Where the noise of torn pages comes from.
    pub seed: Seed,
    /// Times and limits that the part's file does not give; `None`: [`LunTimes::of`] the part.
    pub times: Option<LunTimes>,
    /// Programs and erases that fail.
    pub failures: Vec<InjectedFailure>,
    /// Blocks that the factory marked bad.
    pub bad_blocks: Vec<u32>,
}

impl Default for LunOptions {
    /// Broken limits refuse operations; nothing fails and no block is bad.
    fn default() -> Self {
        Self { fatal: true, seed: Seed(0), times: None, failures: Vec::new(), bad_blocks: Vec::new() }
    }
}

/// A LUN: planes of cells with their registers, and one array machine.
#[derive(Clone, Debug)]
pub struct Lun {
    die: DieId,
    cells: Cells,
    addressing: RowAddressing,
    fatal: bool,
    failures: Vec<InjectedFailure>,
    contents: Contents,
    planes: Vec<PlaneRegisters>,
    /// The plane that data in and data out go to.
    loading: u32,
    sending: u32,
    mode: CellMode,
    protected: bool,
    pipeline: Pipeline,
    jobs: Vec<Job>,
    suspended: Vec<Job>,
    /// Rows named by the queueing commands of a multi-plane operation, and whether they broke a limit.
    queue: Vec<Queued>,
    /// Rows that a cache read goes on from; empty when there is none.
    sensed: Vec<Row>,
    failed: u16,
    failed_before: u16,
    broken: BTreeMap<&'static str, u64>,
    spans: Vec<Span>,
    command: u32,
    /// Whether the last operation was a cache program.
    in_cache_programs: bool,
}

/// A row that waits for the end of a multi-plane operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queued {
    row: Row,
    what: Stage,
    failing: bool,
}

impl Lun {
    /// The LUN `die` of `part` with erased cells.
    pub fn new(part: &Part, die: DieId, options: LunOptions) -> Self {
        let g = &part.geometry;
        let page_bytes = (g.page_size.0 + g.spare_size.0) as usize;
        let write_back = if g.one_shot { g.bits_per_cell as usize } else { 0 };
        let times = options.times.unwrap_or_else(|| LunTimes::of(part));
        Self {
            die,
            cells: Cells { part: part.clone(), times },
            addressing: RowAddressing::of(part, 1),
            fatal: options.fatal,
            failures: options.failures,
            contents: Contents::new(page_bytes, g.pages_per_block, die.0, options.seed, &options.bad_blocks),
            planes: vec![PlaneRegisters::new(page_bytes, write_back); g.planes as usize],
            loading: 0,
            sending: 0,
            mode: CellMode::Normal,
            protected: false,
            pipeline: Pipeline::default(),
            jobs: Vec::new(),
            suspended: Vec::new(),
            queue: Vec::new(),
            sensed: Vec::new(),
            failed: 0,
            failed_before: 0,
            broken: BTreeMap::new(),
            spans: Vec::new(),
            command: 0,
            in_cache_programs: false,
        }
    }

    /// The die that it is.
    pub fn die(&self) -> DieId {
        self.die
    }

    /// When RDY and ARDY rise.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The cells.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Sets how often `block` was erased before the run.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.contents.set_erases(block, erases);
    }

    /// How often each limit was broken, by [`Limit::name`].
    pub fn broken(&self) -> &BTreeMap<&'static str, u64> {
        &self.broken
    }

    /// The mode that the next operations use: chosen by a vendor's prefix command (A2h, DAh) or feature.
    pub fn mode(&self) -> CellMode {
        self.mode
    }

    /// Sets the mode that the next operations use.
    pub fn set_mode(&mut self, mode: CellMode) -> Result<(), Limit> {
        if !self.cells.has(mode) {
            return Err(Limit::Unsupported { what: mode.name() });
        }
        self.mode = mode;
        Ok(())
    }

    /// Drives the write-protect pin: while it is low (`on`), programs and erases are refused.
    pub fn set_write_protect(&mut self, on: bool) {
        self.protected = on;
    }

    /// Sets the serial number that the spans of the next operations carry.
    pub fn set_command(&mut self, command: u32) {
        self.command = command;
    }

    /// What a status command (70h) finds at `now`.
    pub fn status(&mut self, now: Instant) -> Condition {
        self.settle(now);
        self.condition(u16::MAX, now)
    }

    /// What an enhanced status command (78h) finds at `now` in the plane of `row`.
    pub fn status_of(&mut self, row: Row, now: Instant) -> Condition {
        self.settle(now);
        let plane = self.bit(row);
        let mut condition = self.condition(plane, now);
        condition.ready &= !self.jobs.iter().any(|job| job.planes & plane != 0 && self.senses_alone(job));
        condition
    }

    fn condition(&self, planes: u16, now: Instant) -> Condition {
        Condition {
            ready: now >= self.pipeline.ready_at,
            array_ready: now >= self.pipeline.array_ready_at,
            failed: self.failed & planes != 0,
            failed_before: self.failed_before & planes != 0,
            protected: self.protected,
        }
    }

    /// An address for data in was latched: the plane of `row` takes them. `clear` (80h) fills its cache register with
    /// FFh first; else (85h with five address cycles) it keeps what it holds.
    pub fn begin_load(&mut self, row: Row, clear: bool) {
        self.loading = self.addressing.plane(row);
        if clear {
            let registers = &mut self.planes[self.loading as usize];
            registers.cache.fill(super::registers::ERASED);
            registers.copied = None;
        }
    }

    /// Data in at `column` of the cache register of the plane selected. What goes beyond its end is lost.
    pub fn load(&mut self, column: u32, data: &[u8]) {
        self.planes[self.loading as usize].load(column, data);
    }

    /// Selects the plane whose cache register data out come from (06h, 78h). A plane that the part does not have
    /// counts modulo its planes, as the address has no more bits.
    pub fn select_output(&mut self, plane: u32) {
        self.sending = plane % self.planes.len() as u32;
    }

    /// `len` bytes from `column` of the cache register of the plane selected; FFh beyond its end. Reads change nothing.
    pub fn output(&self, column: u32, len: u32) -> Vec<u8> {
        self.planes[self.sending as usize].output(column, len)
    }

    /// Bytes of a cache register: data and spare bytes of a page.
    pub fn register_size(&self) -> u32 {
        self.planes[0].cache.len() as u32
    }

    /// The spans of array work that are over, in the order of their ends, each given once. Work is over when
    /// [`Self::settle`] or another call went past its end, or when a suspend or reset cut it off.
    pub fn spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// Lets everything happen that is due by `now`.
    pub fn settle(&mut self, now: Instant) {
        loop {
            let changes = self.jobs.iter().enumerate().map(|(n, job)| (job.next_change(), n));
            match changes.min() {
                Some((at, n)) if at <= now => self.step(n),
                _ => return,
            }
        }
    }

    /// Lets job `n` begin or end.
    fn step(&mut self, n: usize) {
        if self.jobs[n].begun {
            let job = self.jobs.remove(n);
            self.record(&job, job.end);
            self.finish(job);
            return;
        }
        let job = &mut self.jobs[n];
        job.begun = true;
        self.failed_before = if job.follows_cache { self.failed } else { 0 };
        self.failed = 0;
        match &job.work {
            Work::Sense { rows, hand_over: HandOver::Before, .. } | Work::HandOver { rows } => {
                for row in rows {
                    self.planes[self.addressing.plane(*row) as usize].hand_over();
                }
            }
            Work::Sense { .. } => {}
            Work::Program { pages } => {
                pages.iter().for_each(|(row, _)| self.contents.note_program(*row, job.mode));
            }
            Work::Reprogram { page, .. } => {
                let line = self.cells.program_unit(page.page, job.mode);
                self.contents.note_reprogram(*page, line);
            }
            Work::Erase { blocks } => blocks.iter().for_each(|block| self.contents.note_erase(*block)),
        }
    }

    /// Notes the span from the beginning of `job` to `end`.
    fn record(&mut self, job: &Job, end: Instant) {
        if let Some(stage) = job.stage() {
            let (die, command) = (self.die, job.command);
            let length = end - job.begin;
            self.spans.push(Span { begin: job.begin, die, stage, planes: job.planes, length, command });
        }
    }

    /// What a job leaves in cells and registers.
    fn finish(&mut self, job: Job) {
        self.failed |= job.failing;
        let plane = |addressing: &RowAddressing, row: Row| addressing.plane(row) as usize;
        match job.work {
            Work::Sense { rows, hand_over, copyback } => {
                for row in rows {
                    let page = self.contents.read(row);
                    let registers = &mut self.planes[plane(&self.addressing, row)];
                    if hand_over == HandOver::After {
                        registers.cache.copy_from_slice(&page);
                    }
                    registers.sensed = Some(page);
                    registers.copied = copyback.then_some(row);
                }
            }
            Work::HandOver { .. } => {}
            Work::Program { pages } => {
                for (row, bytes) in pages {
                    self.contents.program(row, &bytes);
                    if job.broken & (1 << plane(&self.addressing, row)) != 0 {
                        self.contents.tear_page(row);
                    }
                }
            }
            Work::Reprogram { page, kept, bytes } => {
                self.contents.replace(page, &bytes);
                if job.broken != 0 {
                    self.contents.tear_page(page);
                    self.contents.tear_page(kept);
                }
            }
            Work::Erase { blocks } => {
                for block in blocks {
                    self.contents.erase(block);
                    if job.broken & (1 << (block as usize % self.planes.len())) != 0 {
                        self.contents.tear_block(block);
                    }
                }
            }
        }
    }

    /// Hands the array a job, which begins and ends at these instants.
    fn give(&mut self, work: Work, planes: u16, failing: u16, (begin, end): (Instant, Instant)) -> &mut Job {
        self.jobs.push(Job {
            cached: matches!(work, Work::Sense { hand_over: HandOver::Before, .. }),
            work,
            command: self.command,
            planes,
            failing,
            broken: 0,
            begin,
            end,
            begun: false,
            follows_cache: false,
            mode: self.mode,
            turn: Duration::ZERO,
        });
        self.jobs.last_mut().expect("a job was given just now")
    }

    fn busy(&self) -> Busy {
        Busy { ready_at: self.pipeline.ready_at, array_ready_at: self.pipeline.array_ready_at }
    }

    /// Keeps the LUN busy for `time` without the array.
    fn hold(&mut self, from: Instant, time: Duration) -> Busy {
        self.pipeline.ready_at = from + time;
        self.pipeline.array_ready_at = self.pipeline.array_ready_at.max(self.pipeline.ready_at);
        self.busy()
    }

    /// The bit of the plane of `row`.
    fn bit(&self, row: Row) -> u16 {
        1 << self.addressing.plane(row)
    }

    fn mask(&self, rows: &[Row]) -> u16 {
        rows.iter().fold(0, |mask, row| mask | self.bit(*row))
    }

    fn senses_alone(&self, job: &Job) -> bool {
        self.cells.part.geometry.independent_reads && matches!(job.work, Work::Sense { .. })
    }

    /// That the LUN takes a command at `now`, and that the array rests unless `behind` says that this operation may
    /// follow the one at work.
    fn require_ready(&self, now: Instant, behind: bool) -> Result<(), Limit> {
        let until = if behind {
            self.pipeline.ready_at
        } else {
            self.pipeline.ready_at.max(self.pipeline.array_ready_at)
        };
        if now < until { Err(Limit::Busy { until }) } else { Ok(()) }
    }

    /// Whether all that the array is doing are operations of `stage` that leave the cache register to the bus.
    fn works_behind(&self, stage: Stage) -> bool {
        self.jobs.iter().all(|job| job.cached && job.stage() == Some(stage))
    }

    /// That `row` exists in the mode of this operation.
    fn require_row(&self, row: Row) -> Result<(), Limit> {
        self.addressing.check(row)?;
        let pages = self.cells.pages(self.mode);
        if row.page >= pages { Err(Limit::Hole { row, pages }) } else { Ok(()) }
    }

    /// What `row` breaks beside the rows queued before it for the same multi-plane operation.
    fn against_queue(&self, row: Row, stage: Stage) -> Vec<Limit> {
        let mut broken = Vec::new();
        for Queued { row: first, what, .. } in self.queue.iter().copied() {
            let same_plane = self.bit(first) == self.bit(row);
            let unit = |row: Row| match stage {
                Stage::Tin => self.cells.program_unit(row.page, self.mode),
                Stage::Ber => 0,
                _ => row.page,
            };
            let one_shot = stage == Stage::Tin && self.cells.pages_per_program(self.mode) > 1;
            let differs = unit(first) != unit(row);
            if what != stage {
                broken.push(Limit::OtherQueued { first, second: row });
            } else if same_plane && one_shot && (differs || first.block != row.block) {
                broken.push(Limit::OtherWordLine { row, loaded: first });
            } else if differs || (same_plane && !one_shot && (stage != Stage::Tin || first != row)) {
                broken.push(Limit::PlaneRule { first, second: row });
            }
        }
        broken
    }

    /// Counts broken limits. `Ok` says whether there were any that the operation is carried out in spite of.
    fn admit(&mut self, row: Row, broken: &[Limit]) -> Result<bool, Limit> {
        for limit in broken {
            *self.broken.entry(limit.name()).or_default() += 1;
        }
        match broken.iter().find(|limit| self.fatal || !limit.can_be_ignored()) {
            Some(limit) => {
                if !matches!(limit, Limit::Busy { .. }) {
                    self.failed |= self.bit(row);
                }
                Err(*limit)
            }
            None => Ok(!broken.is_empty()),
        }
    }

    /// Counts a limit that cannot be ignored, when there is one.
    fn refuse<T>(&mut self, row: Row, checked: Result<T, Limit>) -> Result<T, Limit> {
        checked.inspect_err(|limit| {
            self.admit(row, &[*limit]).ok();
        })
    }

    /// Takes the rows queued before `row` and `row` itself, with the planes of those that broke a limit.
    fn take_queue(&mut self, row: Row, what: Stage, failing: bool) -> (Vec<Row>, u16) {
        self.queue.push(Queued { row, what, failing });
        let queue = std::mem::take(&mut self.queue);
        let failing = queue.iter().filter(|q| q.failing).fold(0, |mask, q| mask | self.bit(q.row));
        let mut rows: Vec<Row> = queue.iter().map(|queued| queued.row).collect();
        rows.sort_unstable();
        rows.dedup();
        (rows, failing)
    }

    /// Whether this is the one of its kind that shall fail.
    fn fails(&mut self, row: Row, erase: bool) -> bool {
        let mut fails = false;
        for failure in &mut self.failures {
            let hit = failure.row.block == row.block && (erase || failure.row.page == row.page);
            if failure.erase == erase && hit && failure.nth > 0 {
                failure.nth -= 1;
                fails |= failure.nth == 0;
            }
        }
        fails
    }
}
