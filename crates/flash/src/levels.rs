//! Read reference voltages of page reads: queries the tuner for them, and notifies the tuner of outcomes.
//! Used only if fault rules or the cell model make reads depend on the voltages.

use wordline_kernel::{Duration, state};
use wordline_nand::{Chips, CommandCompletion, DieId, Fault, Layers, Operation, PageId};

use super::Setup;
use super::queue::Queues;
use super::task::Task;
use crate::policy::tuner::{ReadOutcome, ReadParameters, SensedPage, Tuner};

/// Inputs of the tuner's decisions.
pub(super) struct ReadLevels {
    layers: Layers,
    /// Number of the highest set of read levels.
    highest: u8,
    /// Time before each sense at levels other than the nominal ones.
    time: Duration,
}

state!(ReadLevels { fixed { layers, highest, time } });

impl ReadLevels {
    /// `None` if every page reads alike at all levels.
    pub fn of(setup: &Setup<'_>) -> Option<Box<Self>> {
        let retry = setup.read_retry;
        let layers = || Layers::of(setup.pools);
        let some = setup.faults.iter().any(Fault::sets_read_levels)
            || setup.pools.iter().any(|pool| pool.part.read_levels().is_some());
        some.then(|| Box::new(Self { layers: layers(), highest: setup.read_levels(), time: retry.time }))
    }

    fn page(&self, page: PageId, chips: &Chips) -> SensedPage {
        let block = chips.pools().block_of_page(page);
        SensedPage {
            page,
            block,
            pool: chips.pools().number_of_group(chips.pools().group_of_block(block)) as u8,
            layer: self.layers.layer_of(page, chips.mode(block)),
            erases: chips.erases()[block],
            highest: self.highest,
        }
    }

    /// Queries the set of levels for a read.
    fn level_of(&self, read: &Task, chips: &Chips, tuner: &dyn Tuner) -> u8 {
        match read.tries {
            0 => tuner.read(&self.page(read.page, chips)).level,
            _ => read.level,
        }
    }

    /// Whether both reads have the same levels, so that one command can sense for both.
    pub fn have_same_level(&self, before: &Task, next: &Task, chips: &Chips, tuner: &dyn Tuner) -> bool {
        self.level_of(before, chips, tuner) == self.level_of(next, chips, tuner)
    }

    /// Queries the set of levels for the next retry of a read of `page`. The read has failed `senses` times,
    /// the last time at `level`.
    pub fn retry_level(&self, page: PageId, senses: u32, level: u8, chips: &Chips, tuner: &dyn Tuner) -> u8 {
        let so_far = ReadOutcome { parameters: ReadParameters { level }, senses, is_read: false };
        tuner.read_again(&self.page(page, chips), &so_far).level
    }

    /// Sets the read levels of an idle die for its next command, if that is a read. A copyback senses at the
    /// nominal levels.
    #[cold]
    pub fn choose(
        &self,
        die: DieId,
        operation: Operation,
        queues: &Queues,
        chips: &mut Chips,
        tuner: &dyn Tuner,
    ) {
        let level = match operation {
            Operation::Read => self.level_of(queues.current(die), chips, tuner),
            _ => 0,
        };
        let time = if level == 0 { Duration::ZERO } else { self.time };
        chips.set_read_level(die, level, time);
    }

    /// Notifies the tuner of the pages that this command of a read could read, and earlier commands of the
    /// read could not.
    #[cold]
    pub fn notify_read(&self, read: &Task, done: &CommandCompletion, chips: &Chips, tuner: &mut dyn Tuner) {
        let now = read.unreadable_in(done);
        let before = if read.tries == 0 { (1 << read.planes) - 1 } else { u32::from(read.unread) };
        self.notify(read, done.level, (before & !now, true), chips, tuner);
    }

    /// Notifies the tuner that a read of some `pages` (one bit each) has ended, with the last levels and
    /// whether the pages were read.
    pub fn notify(
        &self,
        read: &Task,
        level: u8,
        (pages, is_read): (u32, bool),
        chips: &Chips,
        tuner: &mut dyn Tuner,
    ) {
        let outcome =
            ReadOutcome { parameters: ReadParameters { level }, senses: u32::from(read.tries) + 1, is_read };
        for n in (0..read.planes).filter(|n| pages >> n & 1 != 0) {
            tuner.read_finished(&self.page(PageId(read.page.0 + n), chips), &outcome);
        }
    }
}
