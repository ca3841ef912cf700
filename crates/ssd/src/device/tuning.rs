//! The read levels that pages are sensed with, where rules make them need some: what the tuner names, and what it is told.

use wordline_kernel::{Duration, state};
use wordline_nand::{BlockSetId, Chips, DieId, Done, Fault, Layers, Operation, PageId};

use super::Device;
use super::failures::unread_by;
use crate::Config;
use crate::policy::tuner::{ReadOutcome, ReadParameters, SensedPage, Tuner};
use crate::queue::Transaction;

/// The tuner and what it is asked with.
pub(super) struct Tuning {
    tuner: Box<dyn Tuner>,
    layers: Layers,
    /// The highest set of read levels.
    highest: u8,
    /// Time to set levels that are not nominal, before each sense.
    time: Duration,
}

state!(Tuning { parts { tuner } fixed { layers, highest, time } });

impl Tuning {
    /// None where all levels read every page alike.
    pub(super) fn of(config: &Config, tuner: Box<dyn Tuner>) -> Option<Box<Self>> {
        let retry = &config.file.ftl.read_retry;
        config.faults.iter().any(Fault::is_of_levels).then(|| {
            let layers = Layers::of(&config.pools);
            Box::new(Self { tuner, layers, highest: retry.levels, time: retry.time })
        })
    }

    fn page(&self, page: PageId, chips: &Chips) -> SensedPage {
        let block = chips.pools().block_of_page(page);
        SensedPage {
            page,
            block,
            layer: self.layers.layer_of(page, chips.is_slc(block)),
            erases: chips.erases()[block],
            highest: self.highest,
        }
    }

    fn checked(&self, ReadParameters { level }: ReadParameters) -> u8 {
        assert!(level <= self.highest, "the tuner chose set {level} of read levels, of {}", self.highest);
        level
    }

    /// The set of levels that a read is to be sensed with.
    fn level_of(&self, read: &Transaction, chips: &Chips) -> u8 {
        match read.tries {
            0 => self.checked(self.tuner.read(&self.page(read.page, chips))),
            _ => read.level,
        }
    }

    /// Whether one command may sense for both reads.
    pub(super) fn are_alike(&self, before: &Transaction, next: &Transaction, chips: &Chips) -> bool {
        self.level_of(before, chips) == self.level_of(next, chips)
    }

    /// The set of levels for the next try of a read of `page` that failed `senses` times, the last one with `level`.
    pub(super) fn again(&self, page: PageId, senses: u32, level: u8, chips: &Chips) -> u8 {
        let so_far = ReadOutcome { parameters: ReadParameters { level }, senses, is_read: false };
        self.checked(self.tuner.read_again(&self.page(page, chips), &so_far))
    }

    pub(super) fn erased(&mut self, block: BlockSetId) {
        self.tuner.erased(block);
    }

    pub(super) fn forget(&mut self) {
        self.tuner.forget();
    }

    fn read_over(&mut self, page: PageId, outcome: &ReadOutcome, chips: &Chips) {
        self.tuner.read_over(&self.page(page, chips), outcome);
    }
}

impl Device {
    /// Has an idle die sense with the levels that its next command wants, if it is a read. A copyback senses with the nominal
    /// ones.
    #[cold]
    pub(super) fn set_read_level(&mut self, die: DieId, operation: Operation) {
        let Self { tuning: Some(tuning), queues, chips, .. } = self else { return };
        let level = match operation {
            Operation::Read => tuning.level_of(queues.current(die), chips),
            _ => 0,
        };
        let time = if level == 0 { Duration::ZERO } else { tuning.time };
        chips.set_read_level(die, level, time);
    }

    /// Tells the tuner of the pages of a read that this command has read, and the ones before it have not.
    #[cold]
    pub(super) fn learn(&mut self, read: &Transaction, done: &Done) {
        let now = unread_by(read, done);
        let before = if read.tries == 0 { (1 << read.planes) - 1 } else { u32::from(read.unread) };
        self.tell_tuner(read, done.die, before & !now, true);
    }

    /// Tells the tuner that the read of some pages, one bit each, is over.
    pub(super) fn tell_tuner(&mut self, read: &Transaction, die: DieId, pages: u32, is_read: bool) {
        let Self { tuning: Some(tuning), chips, .. } = self else { return };
        let parameters = ReadParameters { level: chips.read_level(die) };
        let outcome = ReadOutcome { parameters, senses: u32::from(read.tries) + 1, is_read };
        for n in (0..read.planes).filter(|n| pages >> n & 1 != 0) {
            tuning.read_over(PageId(read.page.0 + n), &outcome, chips);
        }
    }
}
