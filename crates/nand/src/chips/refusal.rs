//! Rejection of commands by a die. Commands are checked before they begin, and a rejected command changes
//! nothing.

use std::fmt;

use wordline_kernel::{Bytes, Instant, Schedule};

use super::modes::per_program;
use super::{Chips, Command, Event, Operation};
use crate::geometry::{DieId, PageId};
use crate::{CellMode, Pool, Pools};

/// The reason why a die rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such die.
    NoSuchDie {
        /// The die.
        die: DieId,
        /// Dies of the device.
        dies: u32,
    },
    /// There is no such page, or the block has no page of this number in this mode.
    NoSuchPage {
        /// The page.
        page: PageId,
    },
    /// The page lies in another die.
    OtherDie {
        /// The page.
        page: PageId,
        /// The die of the command.
        die: DieId,
        /// The die of the page.
        of: DieId,
    },
    /// No planes, or more planes than the die has from the plane of the page on.
    Planes {
        /// Planes of the command.
        found: u32,
        /// Planes available, from the plane of the page on.
        most: u32,
    },
    /// More data out than the pages hold.
    Bytes {
        /// Bytes that the command would transfer.
        found: Bytes,
        /// Data bytes of the pages.
        most: Bytes,
    },
    /// A program of a one-shot part that does not begin with the first page of a word line.
    WithinWordLine {
        /// The page.
        page: PageId,
    },
    /// The program leaves out planes of the plane group; pages with data tags need all of them.
    NotAllPlanes {
        /// Planes of the command.
        found: u32,
        /// Planes of the plane group.
        wanted: u32,
    },
    /// The part does not support the operation: a cache operation without a second register, or a copyback in
    /// a one-shot part.
    Unsupported {
        /// The operation.
        what: &'static str,
    },
    /// A cache read that continues no sequence, or a command within a sequence that is not its next cache
    /// read.
    Sequence {
        /// The page that is sensed for the next command, if any.
        sensed: Option<PageId>,
    },
    /// The die executes another command, or its array works.
    Busy {
        /// The time at which the array is idle. The command itself may end later.
        until: Instant,
    },
    /// An operation is suspended: the die accepts only reads and, during a suspended erase, programs of other
    /// blocks.
    Suspended,
    /// The block was programmed in another cell mode.
    Mode {
        /// The page.
        page: PageId,
        /// The mode of the command.
        found: CellMode,
        /// The mode of the block.
        wanted: CellMode,
    },
    /// A reprogram of a word line that is not fully programmed.
    NothingToReprogram {
        /// The page.
        page: PageId,
    },
    /// A reprogram whose pass number is not the next one, or beyond the limit.
    Reprograms {
        /// The page.
        page: PageId,
        /// Pass number of the command.
        found: u8,
        /// The next pass number.
        wanted: u32,
        /// Maximum number of passes.
        most: u32,
    },
    /// A program of a page beyond the number allowed between two erases.
    Programs {
        /// The page.
        page: PageId,
        /// Programs allowed between two erases.
        most: u32,
    },
    /// A program of a part of a page that is already programmed.
    Overwrites {
        /// The page.
        page: PageId,
    },
    /// There is no such parameter set.
    NoSuchParameters {
        /// The number of the set.
        set: u16,
    },
    /// A reprogram of a word line while a word line of a later super layer is programmed.
    SuperLayerClosed {
        /// The page.
        page: PageId,
        /// A programmed page of the later super layer.
        later: PageId,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDie { die, dies } => write!(out, "die: found {}, wanted below {dies}", die.0),
            Self::NoSuchPage { page } => write!(out, "page: found {}, wanted an existing page", page.0),
            Self::OtherDie { page, die, of } => {
                write!(out, "page: found {} of die {}, wanted one of die {}", page.0, of.0, die.0)
            }
            Self::Planes { found, most } => {
                write!(out, "planes: found {found}, wanted from 1 to {most}, from the plane of the page on")
            }
            Self::Bytes { found, most } => {
                write!(out, "data out: found {found}, wanted at most {most}, the pages")
            }
            Self::WithinWordLine { page } => {
                write!(out, "page: found {} within a word line, wanted its first page", page.0)
            }
            Self::NotAllPlanes { found, wanted } => {
                write!(out, "planes: found {found}, wanted all {wanted} of the plane group")
            }
            Self::Unsupported { what } => {
                write!(out, "operation: found {what}, which the part does not have")
            }
            Self::Sequence { sensed: None } => {
                write!(
                    out,
                    "operation: found a cache read that continues a sequence, wanted one that begins it"
                )
            }
            Self::Sequence { sensed: Some(page) } => {
                write!(
                    out,
                    "operation: found another, wanted the cache read of page {}, which is sensed",
                    page.0
                )
            }
            Self::Busy { until } => {
                write!(out, "die: found busy until {}, wanted ready", *until - Instant::ZERO)
            }
            Self::Suspended => {
                write!(
                    out,
                    "operation: found an operation other than a read (or, during an erase, a program of another block) while an operation \
                     is suspended"
                )
            }
            _ => self.write_of_mode(out),
        }
    }
}

impl Refusal {
    /// Writes the rejections by modes and program limits.
    fn write_of_mode(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode { page, found, wanted } => {
                write!(out, "mode of page {}: found {found}, wanted the mode of its block, {wanted}", page.0)
            }
            Self::NothingToReprogram { page } => {
                write!(out, "page: found {}, wanted one of a word line whose pages are programmed", page.0)
            }
            Self::Reprograms { page, found, wanted, most } => write!(
                out,
                "reprogram of page {}: found time {found}, wanted time {wanted}, of at most {most}",
                page.0
            ),
            Self::Programs { page, most } => {
                write!(
                    out,
                    "program of page {}: found one more, wanted at most {most} between erases",
                    page.0
                )
            }
            Self::Overwrites { page } => {
                write!(out, "program of page {}: found a part that is programmed, wanted others", page.0)
            }
            Self::NoSuchParameters { set } => {
                write!(out, "parameters: found set {set}, wanted one that was set")
            }
            Self::SuperLayerClosed { page, later } => write!(
                out,
                "reprogram of page {}: found page {} of a later super layer programmed, wanted none",
                page.0, later.0
            ),
            _ => unreachable!("the others are written above"),
        }
    }
}

impl std::error::Error for Refusal {}

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

#[cfg(test)]
mod tests;
