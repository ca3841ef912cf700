//! Programs: plain, multi-plane, cache, copyback and one-shot, and reprograms of word lines (ReSSD, section
//! 3.2).

use wordline_kernel::Instant;

use super::job::{Rewritten, Work};
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
        let mut broken = self.admission.conflicts(row, Stage::Tin, false, &self.array);
        broken.extend(self.order_limits(row));
        broken.extend(self.mixed_modes(row));
        broken.extend(copyback.then(|| self.copyback_limit(row)).flatten());
        broken.extend(finishes.then(|| self.missing_pages(row)).flatten());
        let failing = self.admit(row, &broken)?;
        self.fill_write_back(row);
        if finishes {
            return Ok(self.start_program(row, kind, failing, now));
        }
        self.admission.queue.push(Queued { row, what: Stage::Tin, again: false, failing });
        let waits = self.is_one_shot();
        let from = if waits { now.max(self.array.pipeline.array_ready_at) } else { now };
        let page = kind == ProgramKind::Page;
        let times =
            if page { self.array.cells.times.page_busy } else { self.array.cells.part.timing.plane_busy };
        Ok(self.array.hold(from, times))
    }

    fn check_program(&self, row: Row, kind: ProgramKind, now: Instant) -> Result<(), Limit> {
        let unsupported = match kind {
            ProgramKind::Cache if !self.array.cells.has_cache_register() => Some("a cache program"),
            ProgramKind::Page if !self.is_one_shot() => Some("a page for a write-back register"),
            kind if kind.is_reprogram() && self.array.mode != CellMode::Mlc => {
                Some("a reprogram in this cell mode")
            }
            _ => None,
        };
        if let Some(what) = unsupported {
            return Err(Limit::Unsupported { what });
        }
        let behind = !kind.is_reprogram() && self.array.works_in_cache(Stage::Tin);
        self.array.require_ready(now, behind)?;
        self.require_row(row)?;
        if self.protected {
            return Err(Limit::WriteProtected);
        }
        let in_the_way = |job: &super::Job| job.stage() == Some(Stage::Tin) || job.uses(row);
        if self.array.suspended.iter().any(in_the_way) {
            return Err(Limit::Suspended { row });
        }
        Ok(())
    }

    fn is_one_shot(&self) -> bool {
        self.array.cells.pages_per_program(self.array.mode) > 1
    }

    /// The exceeded limits of program order, number of programs, and bad blocks.
    fn order_limits(&self, row: Row) -> Vec<Limit> {
        let mut broken = Vec::new();
        let unit = |page| self.array.cells.program_unit(page, self.array.mode);
        if let Some(last) = self.array.contents.last(row.block).filter(|last| unit(row.page) < unit(*last)) {
            broken.push(Limit::ProgramOutOfOrder { row, last });
        }
        let limit = self.array.cells.part.programs_per_page();
        if self.array.contents.programs(row) >= limit {
            broken.push(Limit::TooManyPrograms { row, limit });
        }
        if self.array.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        broken
    }

    /// The limit that a copyback to `row` exceeds.
    fn copyback_limit(&self, row: Row) -> Option<Limit> {
        if self.array.planes[self.array.addressing.plane(row) as usize].copied.is_some() {
            return None;
        }
        match self.array.planes.iter().find_map(|registers| registers.copied) {
            Some(from) => Some(Limit::CopybackAcrossPlanes { row, from: self.array.addressing.plane(from) }),
            None => Some(Limit::CopybackWithoutRead { row }),
        }
    }

    /// The limit if a word line of a queued plane lacks pages, with `row` as the last page.
    fn missing_pages(&self, row: Row) -> Option<Limit> {
        let wanted = self.array.cells.pages_per_program(self.array.mode);
        let mut given: Vec<Row> = self.admission.queue.iter().map(|queued| queued.row).chain([row]).collect();
        given.sort_unstable();
        given.dedup();
        let loaded =
            |of: &Row| given.iter().filter(|row| self.array.bit(**row) == self.array.bit(*of)).count() as u32;
        let short = given.iter().find(|row| loaded(row) < wanted).filter(|_| wanted > 1)?;
        Some(Limit::IncompleteWordLine { row: *short, loaded: loaded(short), wanted })
    }

    /// Moves the page of `row` from the cache register to its write-back register, in a one-shot mode.
    fn fill_write_back(&mut self, row: Row) {
        if self.is_one_shot() {
            let register = self.array.cells.page_type(row.page, self.array.mode) as usize;
            let registers = &mut self.array.planes[self.array.addressing.plane(row) as usize];
            registers.write_back[register] = Some((row, registers.cache.clone()));
        }
    }

    /// Takes the bytes that a program writes into `row`.
    fn take_page(&mut self, row: Row) -> Vec<u8> {
        let register = self.array.cells.page_type(row.page, self.array.mode) as usize;
        let one_shot = self.is_one_shot();
        let registers = &mut self.array.planes[self.array.addressing.plane(row) as usize];
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
        let (rows, mut failing) = self
            .admission
            .take_queue(Queued { row, what: Stage::Tin, again: false, failing }, &self.array.addressing);
        let mut broken = 0;
        let mut pages = Vec::with_capacity(rows.len());
        for row in &rows {
            pages.push((*row, self.take_page(*row)));
            broken |= if self.admission.fails(*row, false) { self.array.bit(*row) } else { 0 };
        }
        failing |= broken;
        let time = rows
            .iter()
            .map(|row| self.array.cells.program_time(*row, self.array.mode))
            .max()
            .unwrap_or_default();
        let cached = kind == ProgramKind::Cache;
        let turn = if cached { self.array.cells.part.timing.cache_busy } else { Default::default() };
        let begin = now.max(self.array.pipeline.array_ready_at) + turn;
        let time = self.array.query(Stage::Tin, &rows, time, begin);
        let working = match cached {
            true => self.array.pipeline.turn_and_run(now, turn, time),
            false => self.array.pipeline.run(now, time),
        };
        let follows_cache = std::mem::replace(&mut self.array.in_cache_programs, cached);
        self.sensed.clear();
        let planes = self.array.mask(&rows);
        let job =
            self.array.start_job(Work::Program { pages }, planes, failing, (working.begin, working.end));
        (job.cached, job.follows_cache, job.broken, job.turn) = (cached, follows_cache, broken, turn);
        self.array.busy()
    }

    /// Reprograms the word line of `row` and the queued word lines. The cache register replaces the page; the
    /// other page keeps its bits.
    fn reprogram(&mut self, row: Row, kind: ProgramKind, now: Instant) -> Result<Busy, Limit> {
        let mut broken = self.admission.conflicts(row, Stage::Tin, true, &self.array);
        broken.extend(self.reprogram_limits(row));
        let failing = self.admit(row, &broken)?;
        let queued = Queued { row, what: Stage::Tin, again: true, failing };
        if kind == ProgramKind::QueueReprogram {
            self.admission.queue.push(queued);
            return Ok(self.array.hold(now, self.array.cells.part.timing.plane_busy));
        }
        let (rows, failing) = self.admission.take_queue(queued, &self.array.addressing);
        let broken = rows.iter().fold(0, |mask, row| {
            mask | if self.admission.fails(*row, false) { self.array.bit(*row) } else { 0 }
        });
        let time = self.array.query_reprogram(&rows, self.array.cells.reprogram_time(), now);
        let working = self.array.pipeline.run(now, time);
        self.array.in_cache_programs = false;
        self.sensed.clear();
        let rewritten = |page: &Row| Rewritten {
            page: *page,
            kept: Row { page: page.page ^ 1, ..*page },
            bytes: self.array.planes[self.array.addressing.plane(*page) as usize].cache.clone(),
        };
        let work = Work::Reprogram { pages: rows.iter().map(rewritten).collect() };
        let planes = self.array.mask(&rows);
        self.array.start_job(work, planes, failing | broken, (working.begin, working.end)).broken = broken;
        Ok(self.array.busy())
    }

    /// The limits that a reprogram of the word line of `row` exceeds.
    fn reprogram_limits(&self, row: Row) -> Vec<Limit> {
        let kept = Row { page: row.page ^ 1, ..row };
        let line = self.array.cells.program_unit(row.page, self.array.mode);
        let programmed = self.array.contents.is_programmed(row) && self.array.contents.is_programmed(kept);
        let mut broken = Vec::new();
        if !programmed || self.array.contents.mode(row.block) != Some(CellMode::Mlc) {
            broken.push(Limit::NothingToReprogram { row });
        }
        let limit = self.array.cells.times.reprograms;
        if self.array.contents.reprograms(row.block, line) >= limit {
            broken.push(Limit::TooManyReprograms { row, limit });
        }
        let last = self.array.contents.last(row.block).unwrap_or_default();
        if self.array.cells.super_layer(row.page) < self.array.cells.super_layer(last) {
            broken.push(Limit::SuperLayerClosed { row, last });
        }
        if self.array.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        broken
    }
}
