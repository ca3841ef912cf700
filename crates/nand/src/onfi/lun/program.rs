//! Programs: plain, multi-plane, cache, copyback and one-shot.

use wordline_kernel::Instant;

use super::job::Work;
use super::{Busy, Lun, ProgramKind, Queued};
use crate::Stage;
use crate::onfi::{CellMode, Limit, Row};

impl Lun {
    /// Programs the cache register of the plane of `row` into `row`, with the queued rows. `copyback` is true
    /// if at least a part of the data is from a copyback read of the same plane.
    ///
    /// In a one-shot mode every page moves to its write-back register first. [`ProgramKind::Page`] and
    /// [`ProgramKind::Queue`] do only this. [`ProgramKind::Start`] does it with the last page and programs
    /// the word lines of all queued planes. While the array executes a cache program the write-back registers
    /// are in use, and a page waits in the cache register.
    ///
    /// # Errors
    /// The limit that the program exceeds; registers and queue are unchanged.
    pub fn program(
        &mut self,
        row: Row,
        kind: ProgramKind,
        copyback: bool,
        now: Instant,
    ) -> Result<Busy, Limit> {
        self.settle(now);
        let checked = self.check_program(row, kind, now);
        self.refuse(row, checked)?;
        if kind.is_reprogram() {
            return self.reprogram(row, kind, now);
        }
        let finishes = matches!(kind, ProgramKind::Start | ProgramKind::Cache);
        let mut broken = self.queue_conflicts(row, Stage::Tin, false);
        broken.extend(self.order_limits(row));
        broken.extend(self.mixed_modes(row));
        broken.extend(copyback.then(|| self.copyback_limit(row)).flatten());
        broken.extend(finishes.then(|| self.missing_pages(row)).flatten());
        let failing = self.admit(row, &broken)?;
        self.fill_write_back(row);
        if finishes {
            return Ok(self.start_program(row, kind, failing, now));
        }
        self.queue.push(Queued { row, what: Stage::Tin, again: false, failing });
        let waits = self.is_one_shot();
        let from = if waits { now.max(self.pipeline.array_ready_at) } else { now };
        let page = kind == ProgramKind::Page;
        let times = if page { self.cells.times.page_busy } else { self.cells.part.timing.plane_busy };
        Ok(self.hold(from, times))
    }

    fn check_program(&self, row: Row, kind: ProgramKind, now: Instant) -> Result<(), Limit> {
        let unsupported = match kind {
            ProgramKind::Cache if !self.cells.has_cache_register() => Some("a cache program"),
            ProgramKind::Page if !self.is_one_shot() => Some("a page for a write-back register"),
            kind if kind.is_reprogram() && self.mode != CellMode::Mlc => {
                Some("a reprogram in this cell mode")
            }
            _ => None,
        };
        if let Some(what) = unsupported {
            return Err(Limit::Unsupported { what });
        }
        let behind = !kind.is_reprogram() && self.works_in_cache(Stage::Tin);
        self.require_ready(now, behind)?;
        self.require_row(row)?;
        if self.protected {
            return Err(Limit::WriteProtected);
        }
        let in_the_way = |job: &super::Job| job.stage() == Some(Stage::Tin) || job.uses(row);
        if self.suspended.iter().any(in_the_way) {
            return Err(Limit::Suspended { row });
        }
        Ok(())
    }

    fn is_one_shot(&self) -> bool {
        self.cells.pages_per_program(self.mode) > 1
    }

    /// The exceeded limits of program order, number of programs, and bad blocks.
    fn order_limits(&self, row: Row) -> Vec<Limit> {
        let mut broken = Vec::new();
        let unit = |page| self.cells.program_unit(page, self.mode);
        if let Some(last) = self.contents.last(row.block).filter(|last| unit(row.page) < unit(*last)) {
            broken.push(Limit::ProgramOutOfOrder { row, last });
        }
        let limit = self.cells.part.programs_per_page();
        if self.contents.programs(row) >= limit {
            broken.push(Limit::TooManyPrograms { row, limit });
        }
        if self.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        broken
    }

    /// The limit that a copyback to `row` exceeds.
    fn copyback_limit(&self, row: Row) -> Option<Limit> {
        if self.planes[self.addressing.plane(row) as usize].copied.is_some() {
            return None;
        }
        match self.planes.iter().find_map(|registers| registers.copied) {
            Some(from) => Some(Limit::CopybackAcrossPlanes { row, from: self.addressing.plane(from) }),
            None => Some(Limit::CopybackWithoutRead { row }),
        }
    }

    /// The limit if a word line of a queued plane lacks pages, with `row` as the last page.
    fn missing_pages(&self, row: Row) -> Option<Limit> {
        let wanted = self.cells.pages_per_program(self.mode);
        let mut given: Vec<Row> = self.queue.iter().map(|queued| queued.row).chain([row]).collect();
        given.sort_unstable();
        given.dedup();
        let loaded = |of: &Row| given.iter().filter(|row| self.bit(**row) == self.bit(*of)).count() as u32;
        let short = given.iter().find(|row| loaded(row) < wanted).filter(|_| wanted > 1)?;
        Some(Limit::IncompleteWordLine { row: *short, loaded: loaded(short), wanted })
    }

    /// Moves the page of `row` from the cache register to its write-back register, in a one-shot mode.
    fn fill_write_back(&mut self, row: Row) {
        if self.is_one_shot() {
            let register = self.cells.page_type(row.page, self.mode) as usize;
            let registers = &mut self.planes[self.addressing.plane(row) as usize];
            registers.write_back[register] = Some((row, registers.cache.clone()));
        }
    }

    /// Takes the bytes that a program writes into `row`.
    fn take_page(&mut self, row: Row) -> Vec<u8> {
        let register = self.cells.page_type(row.page, self.mode) as usize;
        let one_shot = self.is_one_shot();
        let registers = &mut self.planes[self.addressing.plane(row) as usize];
        registers.copied = None;
        if !one_shot {
            return registers.cache.clone();
        }
        match registers.write_back[register].take() {
            Some((_, bytes)) => bytes,
            // Two blocks of one plane in one operation violate the plane rule, and the register is empty for
            // the second block.
            None => registers.cache.clone(),
        }
    }

    fn start_program(&mut self, row: Row, kind: ProgramKind, failing: bool, now: Instant) -> Busy {
        let (rows, mut failing) = self.take_queue(Queued { row, what: Stage::Tin, again: false, failing });
        let mut broken = 0;
        let mut pages = Vec::with_capacity(rows.len());
        for row in &rows {
            pages.push((*row, self.take_page(*row)));
            broken |= if self.fails(*row, false) { self.bit(*row) } else { 0 };
        }
        failing |= broken;
        let time = rows.iter().map(|row| self.cells.program_time(*row, self.mode)).max().unwrap_or_default();
        let cached = kind == ProgramKind::Cache;
        let turn = if cached { self.cells.part.timing.cache_busy } else { Default::default() };
        let begin = now.max(self.pipeline.array_ready_at) + turn;
        let time = self.query(Stage::Tin, &rows, time, begin);
        let working = match cached {
            true => self.pipeline.turn_and_run(now, turn, time),
            false => self.pipeline.run(now, time),
        };
        let follows_cache = std::mem::replace(&mut self.in_cache_programs, cached);
        self.sensed.clear();
        let planes = self.mask(&rows);
        let job = self.start_job(Work::Program { pages }, planes, failing, (working.begin, working.end));
        (job.cached, job.follows_cache, job.broken, job.turn) = (cached, follows_cache, broken, turn);
        self.busy()
    }
}
