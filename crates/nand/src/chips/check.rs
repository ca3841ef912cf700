//! The check of commands before they begin.

use wordline_kernel::{Instant, Schedule};

use super::Chips;
use super::command::{Command, Operation};
use super::event::Event;
use super::modes::per_program;
use super::refusal::Refusal;
use crate::geometry::{DieId, PageId};
use crate::{CellMode, Pool, Pools};

impl Chips {
    /// Starts a command if the die accepts it. A caller that has checked the command uses [`Self::begin`].
    ///
    /// # Errors
    /// The reason for a rejection; nothing has changed then.
    pub fn start(
        &mut self,
        die: DieId,
        command: Command,
        calendar: &mut impl Schedule<Event>,
    ) -> Result<(), Refusal> {
        self.check(die, &command, calendar.now())?;
        self.begin(die, command, calendar);
        Ok(())
    }

    /// Checks that `die` accepts `command` at `now`.
    ///
    /// # Errors
    /// The reason for a rejection.
    pub fn check(&self, die: DieId, command: &Command, now: Instant) -> Result<(), Refusal> {
        let mode_of = |page| command.mode.unwrap_or_else(|| self.mode(self.cells.pools.block_of_page(page)));
        fits(&self.cells.pools, die, command, &mode_of)?;
        let (cells, work) = (&self.cells, &self.sequencer.dies[die]);
        if let Some(mode) = command.mode.filter(|mode| !cells.is_mode_enabled(work.pool, *mode)) {
            return Err(Refusal::Unsupported { what: mode.name() });
        }
        cells.check_mode(command)?;
        cells.check_partial_program(die, work, command)?;
        if command.parameters != 0 && self.parameters(command.parameters).is_none() {
            return Err(Refusal::NoSuchParameters { set: command.parameters });
        }
        let Command { operation, page, planes, .. } = *command;
        let pool = cells.pool_of(work);
        let row = pool.geometry.planes_per_row;
        if writes_pages(operation) && cells.pages.has_data_tags() && planes != row {
            return Err(Refusal::NotAllPlanes { found: planes, wanted: row });
        }
        if let Operation::Copyback { to } = operation
            && cells.pages.has_data_tags()
        {
            check_page(pool, die, to, planes, &mode_of)?;
        }
        let last = &work.command;
        let sensed = match last.operation {
            Operation::ReadCache { next, .. } => next.map(|page| (page, last.planes)),
            _ => None,
        };
        let goes_on = matches!(operation, Operation::ReadCache { first: false, .. });
        if sensed != goes_on.then_some((page, planes)) {
            return Err(Refusal::Sequence { sensed: sensed.map(|(page, _)| page) });
        }
        if let Some(suspended) = &self.sequencer.suspended[die]
            && !(self.sequencer.accepts_while_suspended(die, operation)
                && suspended.leaves(&cells.pools, command))
        {
            return Err(Refusal::Suspended);
        }
        if !self.takes(die, operation, now) {
            return Err(Refusal::Busy { until: work.pipeline.array_ready_at.max(now) });
        }
        Ok(())
    }
}

/// Whether an operation writes the registers to pages.
fn writes_pages(operation: Operation) -> bool {
    matches!(operation, Operation::Program | Operation::ProgramCache)
}

/// Checks that the dies have what a command addresses, independent of their state. `mode_of` returns the mode
/// of a page's block.
pub(crate) fn fits(
    pools: &Pools,
    die: DieId,
    command: &Command,
    mode_of: &dyn Fn(PageId) -> CellMode,
) -> Result<(), Refusal> {
    if die.0 >= pools.dies() {
        return Err(Refusal::NoSuchDie { die, dies: pools.dies() });
    }
    let Command { operation, page, planes, bytes, .. } = *command;
    let pool = pools.of_die(die);
    if !command.mode.is_none_or(|mode| pool.part.has_mode(mode)) {
        return Err(Refusal::Unsupported { what: command.mode.unwrap_or_default().name() });
    }
    check_page(pool, die, page, planes, mode_of)?;
    let mode = mode_of(page);
    let bits = per_program(&pool.part, mode);
    let one_shot = bits > 1;
    match operation {
        Operation::ProgramCache | Operation::Copyback { .. } | Operation::Erase if mode.is_reprogram() => {
            return Err(Refusal::Unsupported { what: "a reprogram other than a plain program" });
        }
        Operation::ReadCache { .. } | Operation::ProgramCache if pool.part.geometry.registers < 2 => {
            return Err(Refusal::Unsupported { what: Operation::NAMES[operation.kind()] });
        }
        Operation::Copyback { .. } if one_shot => {
            return Err(Refusal::Unsupported { what: "a copyback of a word line" });
        }
        // A copyback to another plane or die exceeds a limit of the part. Such excesses may be counted
        // instead of rejected.
        Operation::Copyback { to } => {
            let of = pools.find_die(to).ok_or(Refusal::NoSuchPage { page: to })?;
            check_page(pools.of_die(of), of, to, planes, mode_of)?;
        }
        Operation::ReadCache { next: Some(next), .. } => check_page(pool, die, next, planes, mode_of)?,
        Operation::Program | Operation::ProgramCache if one_shot => {
            let (_, offset) = pool.geometry.split(page);
            if !pool.geometry.page_in_block(offset).is_multiple_of(bits) {
                return Err(Refusal::WithinWordLine { page });
            }
        }
        _ => {}
    }
    let most = pool.geometry.page_size * u64::from(planes);
    let reads = matches!(operation, Operation::Read | Operation::ReadCache { .. });
    if reads && bytes > most { Err(Refusal::Bytes { found: bytes, most }) } else { Ok(()) }
}

/// Checks that `die` has `page` in `planes` planes, from the plane of the page on.
fn check_page(
    pool: &Pool,
    die: DieId,
    page: PageId,
    planes: u32,
    mode_of: &dyn Fn(PageId) -> CellMode,
) -> Result<(), Refusal> {
    let geometry = &pool.geometry;
    let all = geometry.first.page..geometry.end(0).page;
    if !all.contains(&page.0) {
        return Err(Refusal::NoSuchPage { page });
    }
    let (block, offset) = geometry.split(page);
    let of = geometry.die_of(block);
    if of != die {
        return Err(Refusal::OtherDie { page, die, of });
    }
    let bits = geometry.bits_per_cell();
    if geometry.page_in_block(offset) >= geometry.pages_per_block / bits * mode_of(page).bits(bits) {
        return Err(Refusal::NoSuchPage { page });
    }
    let most = geometry.planes_per_row - offset % geometry.planes_per_row;
    if (1..=most).contains(&planes) { Ok(()) } else { Err(Refusal::Planes { found: planes, most }) }
}
