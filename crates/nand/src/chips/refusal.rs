//! What a die does not take: commands are checked before they begin, and a refused one changes nothing.

use std::fmt;

use wordline_kernel::{Bytes, Instant, Schedule};

use super::{Chips, Command, Event, Operation};
use crate::geometry::{DieId, PageId};
use crate::{Pool, Pools};

/// Why a die does not take a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such die.
    NoSuchDie {
        /// The die.
        die: DieId,
        /// Dies of the device.
        dies: u32,
    },
    /// There is no such page, or it is a page number that a block in SLC mode does not have.
    NoSuchPage {
        /// The page.
        page: PageId,
    },
    /// The page lies in another die.
    OtherDie {
        /// The page.
        page: PageId,
        /// The die that was to take the command.
        die: DieId,
        /// The die of the page.
        of: DieId,
    },
    /// No plane takes part, or more than there are from that of the page on.
    Planes {
        /// Planes that were to take part.
        found: u32,
        /// Planes that can, from that of the page on.
        most: u32,
    },
    /// More data out than the pages hold.
    Bytes {
        /// Data that were to move out.
        found: Bytes,
        /// Data of the pages.
        most: Bytes,
    },
    /// A program of a one-shot part from another page than the first of a word line.
    WithinWordLine {
        /// The page.
        page: PageId,
    },
    /// The program leaves out planes of the row, which pages that carry stamps share.
    NotAllPlanes {
        /// Planes that were to take part.
        found: u32,
        /// Planes of the row.
        wanted: u32,
    },
    /// The part cannot do it: a cache operation without a second register, a copyback where word lines are programmed as a
    /// whole.
    Unsupported {
        /// The operation.
        what: &'static str,
    },
    /// A cache read that goes on with a sequence that there is not, or another command amid one.
    Sequence {
        /// The page that was sensed for the next command, if there is one.
        sensed: Option<PageId>,
    },
    /// The die carries out another command, or its array works.
    Busy {
        /// When the array rests; later, if the command has more to do.
        until: Instant,
    },
    /// Something is suspended: the die takes reads alone.
    Suspended,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchDie { die, dies } => write!(out, "die: found {}, wanted below {dies}", die.0),
            Self::NoSuchPage { page } => write!(out, "page: found {}, wanted one that there is", page.0),
            Self::OtherDie { page, die, of } => {
                write!(out, "page: found {} of die {}, wanted one of die {}", page.0, of.0, die.0)
            }
            Self::Planes { found, most } => {
                write!(out, "planes: found {found}, wanted from 1 to {most} from that of the page on")
            }
            Self::Bytes { found, most } => {
                write!(out, "data out: found {found}, wanted at most {most}, the pages")
            }
            Self::WithinWordLine { page } => {
                write!(out, "page: found {} amid a word line, wanted its first page", page.0)
            }
            Self::NotAllPlanes { found, wanted } => {
                write!(out, "planes: found {found}, wanted all {wanted} of the row")
            }
            Self::Unsupported { what } => {
                write!(out, "operation: found {what}, which the part does not have")
            }
            Self::Sequence { sensed: None } => {
                write!(out, "operation: found a cache read that goes on, wanted one that begins a sequence")
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
                write!(out, "operation: found another than a read while something is suspended")
            }
        }
    }
}

impl std::error::Error for Refusal {}

impl Chips {
    /// Starts a command, if the die takes it; see [`Self::begin`] for a caller that knows.
    ///
    /// # Errors
    /// Why it does not; nothing has changed then.
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

    /// Whether `die` takes `command` at `now`.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self, die: DieId, command: &Command, now: Instant) -> Result<(), Refusal> {
        let is_slc = |page| self.is_slc(self.pools.block_of_page(page));
        fits(&self.pools, die, command, &is_slc)?;
        let Command { operation, page, planes, .. } = *command;
        let row = self.pool_of(die).geometry.planes_per_row;
        if changes_stamps(operation) && self.pages.has_stamps() && planes != row {
            return Err(Refusal::NotAllPlanes { found: planes, wanted: row });
        }
        if let Operation::Copyback { to } = operation
            && self.pages.has_stamps()
        {
            check_page(self.pool_of(die), die, to, planes, &is_slc)?;
        }
        let last = &self.dies[die].command;
        let sensed = match last.operation {
            Operation::ReadCache { next, .. } => next.map(|page| (page, last.planes)),
            _ => None,
        };
        let goes_on = matches!(operation, Operation::ReadCache { first: false, .. });
        if sensed != goes_on.then_some((page, planes)) {
            return Err(Refusal::Sequence { sensed: sensed.map(|(page, _)| page) });
        }
        if self.suspended[die].is_some() && operation != Operation::Read {
            return Err(Refusal::Suspended);
        }
        if !self.takes(die, operation, now) {
            return Err(Refusal::Busy { until: self.dies[die].pipeline.array_ready_at.max(now) });
        }
        Ok(())
    }
}

/// Whether an operation takes what the registers hold to pages that carry stamps.
fn changes_stamps(operation: Operation) -> bool {
    matches!(operation, Operation::Program | Operation::ProgramCache)
}

/// That a command names what the dies have, whatever they are doing. `is_slc` says of a page whether its block is in SLC
/// mode.
pub(crate) fn fits(
    pools: &Pools,
    die: DieId,
    command: &Command,
    is_slc: &dyn Fn(PageId) -> bool,
) -> Result<(), Refusal> {
    if die.0 >= pools.dies() {
        return Err(Refusal::NoSuchDie { die, dies: pools.dies() });
    }
    let Command { operation, page, planes, bytes } = *command;
    let pool = pools.of_die(die);
    check_page(pool, die, page, planes, is_slc)?;
    let slc = is_slc(page);
    let one_shot = pool.part.pages_per_program() > 1 && !slc;
    match operation {
        Operation::ReadCache { .. } | Operation::ProgramCache if pool.part.geometry.registers < 2 => {
            return Err(Refusal::Unsupported { what: Operation::NAMES[operation.kind()] });
        }
        Operation::Copyback { .. } if one_shot => {
            return Err(Refusal::Unsupported { what: "a copyback of a word line" });
        }
        // Another plane or die is a limit of the part, which may be counted.
        Operation::Copyback { to } => {
            let of = pools.find_die(to).ok_or(Refusal::NoSuchPage { page: to })?;
            check_page(pools.of_die(of), of, to, planes, is_slc)?;
        }
        Operation::ReadCache { next: Some(next), .. } => check_page(pool, die, next, planes, is_slc)?,
        Operation::Program | Operation::ProgramCache if one_shot => {
            let (_, offset) = pool.geometry.split(page);
            let bits = pool.part.pages_per_program();
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

/// That `die` has `page` in `planes` planes from that of the page on.
fn check_page(
    pool: &Pool,
    die: DieId,
    page: PageId,
    planes: u32,
    is_slc: &dyn Fn(PageId) -> bool,
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
    let pages = geometry.pages_per_block / if is_slc(page) { geometry.bits_per_cell() } else { 1 };
    if geometry.page_in_block(offset) >= pages {
        return Err(Refusal::NoSuchPage { page });
    }
    let most = geometry.planes_per_row - offset % geometry.planes_per_row;
    if (1..=most).contains(&planes) { Ok(()) } else { Err(Refusal::Planes { found: planes, most }) }
}

#[cfg(test)]
mod tests;
