//! The work of each die for the manager of failures: what it does, what waits for it, and the journal.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::BlockSetId;

use super::OpenChannelConfig;
use super::chunks::ChunkId;
use super::failures::{Before, Manager, Place, Shape, Step};
use super::journal::{Journal, pages_of_record};
use super::spans::Retries;

/// The work of a die for the manager.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Action {
    /// It reads a page that is copied; so many reads are left, and these logical blocks of it could not be read.
    Read { chunk: ChunkId, step: Step, left: u32, unread: u64 },
    /// It programs a page of a copy or of padding.
    Program { chunk: ChunkId, step: Step, unread: u64 },
    /// It erases a block of the reserve.
    Erase,
    /// It erases the block of the journal that is written next.
    EraseJournal,
}

/// The change of the tables that is tried again when another one is recorded, or a reserve block is erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Again {
    Program(ChunkId, bool),
    Step(ChunkId, Step, bool),
    Reset(ChunkId),
}

/// How things were before a change of the tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recorded {
    pub(super) before: Before,
    /// Whether the block of the chunk was to be retired, and whether its data were gone already.
    pub(super) is_bad: bool,
    pub(super) is_void: bool,
}

/// The work of the dies when the power was cut.
#[derive(Debug, Default)]
pub(super) struct AtWork {
    /// The chunks of copies, of padding, and of failures that were not dealt with.
    pub(super) chunks: Vec<ChunkId>,
    /// The changes that were not recorded, and are taken back.
    pub(super) undone: Vec<Recorded>,
    /// Pages that copies were programming, and which of their logical blocks could not be read.
    pub(super) unread: Vec<(Place, u64)>,
}

/// The work of a die for the manager.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Hand {
    pub(super) action: Option<Action>,
    /// In the order in which they came up.
    pub(super) again: VecDeque<Again>,
    /// The change that is being recorded, and pages of the record that are not programmed yet.
    pub(super) recorded: Option<Recorded>,
    pub(super) records: u32,
    pub(super) journal: Option<Journal>,
}

/// The manager of failures, and the work of the dies for it.
#[derive(Clone, Debug)]
pub(super) struct Repairs {
    pub(super) manager: Manager,
    pub(super) hands: Vec<Hand>,
    pub(super) pages_of_record: u32,
    pub(super) retries: Retries,
}

state!(Repairs {
    values { manager, hands, retries }
    fixed { pages_of_record }
});

impl Hand {
    /// Whether a change of the tables is under way.
    pub(super) fn is_changing(&self) -> bool {
        !self.again.is_empty() || self.recorded.is_some()
    }
}

impl Repairs {
    /// Those of a device, if it has a manager, and the chunks that are out of use because of bad blocks.
    pub(super) fn of(config: &OpenChannelConfig, bad: &[BlockSetId]) -> (Option<Self>, Vec<ChunkId>) {
        let (Some(file), Some(shape)) = (&config.file.failures, config.shape()) else {
            return (None, bad.iter().map(|block| ChunkId(block.0)).collect());
        };
        let (mut manager, offline) = Manager::new(shape, file.shift, file.early_close, bad);
        let hand = |unit| {
            let blocks = (!file.volatile_tables).then(|| manager.take_for_journal(unit)).flatten();
            Hand { journal: blocks.map(Journal::new), ..Hand::default() }
        };
        let hands = (0..shape.units).map(hand).collect();
        let Shape { units, blocks_per_unit, pages, .. } = shape;
        let bytes = config.geometry.block_size.0 * u64::from(config.geometry.ws_min);
        let pages_of_record = pages_of_record(units * blocks_per_unit, pages, bytes).min(pages);
        (Some(Self { manager, hands, pages_of_record, retries: Retries::default() }), offline)
    }

    pub(super) fn manager(&self) -> &Manager {
        &self.manager
    }

    pub(super) fn wrote(&mut self, chunk: ChunkId) {
        self.manager.wrote(chunk);
    }

    pub(super) fn closed(&mut self, chunk: ChunkId) {
        self.manager.closed(chunk);
    }

    pub(super) fn stepped(&mut self, chunk: ChunkId, step: Step) {
        self.manager.stepped(chunk, step);
    }

    /// Whether the host's programs of a die wait for the manager.
    pub(super) fn holds(&self, unit: u32) -> bool {
        self.hands[unit as usize].is_changing() || self.manager.copies_first(unit)
    }

    /// Whether the die of a parallel unit works for the manager, or a change of the tables is under way.
    pub(super) fn is_busy(&self, unit: u32) -> bool {
        let hand = &self.hands[unit as usize];
        hand.action.is_some() || hand.is_changing()
    }

    /// Tasks of dies for the manager.
    pub(super) fn at_dies(&self) -> usize {
        let of_hand = |hand: &Hand| {
            let of_action = match hand.action {
                Some(Action::Read { left, .. }) => left as usize,
                Some(Action::Program { .. } | Action::Erase | Action::EraseJournal) => 1,
                None => 0,
            };
            of_action + usize::from(hand.records > 0)
        };
        self.hands.iter().map(of_hand).sum()
    }

    /// The power is cut: a change that was not recorded did not happen.
    pub(super) fn cut(&mut self) -> AtWork {
        let mut at_work = AtWork::default();
        for hand in &mut self.hands {
            if let Some(Action::Program { chunk, step, unread }) = hand.action.take() {
                at_work.chunks.push(chunk);
                if let Step::Copy { to, .. } = step {
                    at_work.unread.push((to, unread));
                }
            }
            // A failed program for which a block was being erased is found torn.
            at_work.chunks.extend(hand.again.drain(..).filter_map(|again| match again {
                Again::Program(chunk, _) | Again::Step(chunk, ..) => Some(chunk),
                Again::Reset(_) => None,
            }));
            if let Some(recorded) = hand.recorded.take() {
                self.manager.undo(recorded.before.clone());
                at_work.undone.push(recorded);
            }
            hand.records = 0;
        }
        at_work
    }

    /// Whether a change of the tables waits in which a block may be erased that is being read.
    pub(super) fn wait_for_reads(&self) -> bool {
        !self.manager.shifts() && self.hands.iter().any(|hand| !hand.again.is_empty())
    }

    /// After a power cut: the pages of the journals that are programmed count.
    pub(super) fn settle_journals(&mut self, programmed: impl Fn(BlockSetId) -> u32) {
        for hand in &mut self.hands {
            if let Some(journal) = &mut hand.journal {
                journal.settle(programmed(journal.block()));
            }
        }
    }

    /// The last records of the journals; none where there is no journal.
    pub(super) fn last_records(&self) -> Option<Vec<Place>> {
        let journals: Option<Vec<&Journal>> = self.hands.iter().map(|hand| hand.journal.as_ref()).collect();
        Some(journals?.iter().filter_map(|journal| journal.last()).collect())
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        self.manager.lengths().into_iter().chain([self.hands.len()])
    }
}
