//! Work of each die for the failure manager: its current action, waiting changes, and its journal.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::BlockSetId;

use super::chunks::ChunkId;
use super::config::OpenChannelConfig;
use super::failures::{Manager, PageLocation, SavedEntries, Shape, Step};
use super::journal::{Journal, pages_of_record};
use super::latency::RetryStats;

/// Action of a die for the failure manager.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Action {
    /// Reads a page to be copied. `left` is the number of outstanding reads, `unread` a bitmap of unreadable
    /// logical blocks.
    Read { chunk: ChunkId, step: Step, left: u32, unread: u64 },
    /// Programs a copied page or a page of padding.
    Program { chunk: ChunkId, step: Step, unread: u64 },
    /// Erases a reserve block.
    Erase,
    /// Erases the journal block that is used next.
    EraseJournal,
}

/// Change of the tables that is retried after another change is recorded or a reserve block is erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum PendingChange {
    Program(ChunkId, bool),
    Step(ChunkId, Step, bool),
    Reset(ChunkId),
}

/// State before a change of the tables, to undo it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UndoEntry {
    pub(super) before: SavedEntries,
    /// Flags of the chunk's table entry.
    pub(super) is_bad: bool,
    pub(super) is_void: bool,
}

/// Work for the failure manager that a power loss interrupted.
#[derive(Debug, Default)]
pub(super) struct InterruptedWork {
    /// Chunks with an interrupted copy or padding, or with a failure that was not handled yet.
    pub(super) chunks: Vec<ChunkId>,
    /// Undone changes, which were not recorded.
    pub(super) undone: Vec<UndoEntry>,
    /// Pages that copies were programming, each with a bitmap of its unreadable logical blocks.
    pub(super) unread: Vec<(PageLocation, u64)>,
}

/// Work of a die for the failure manager.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DieWork {
    pub(super) action: Option<Action>,
    /// Waiting changes, in order of arrival.
    pub(super) again: VecDeque<PendingChange>,
    /// Change that is being recorded. `records` is the number of pages of its record left to program.
    pub(super) recorded: Option<UndoEntry>,
    pub(super) records: u32,
    pub(super) journal: Option<Journal>,
}

/// Failure manager, and the work of the dies for it.
#[derive(Clone, Debug)]
pub(super) struct Repairs {
    pub(super) manager: Manager,
    pub(super) hands: Vec<DieWork>,
    pub(super) pages_of_record: u32,
    pub(super) retries: RetryStats,
}

state!(Repairs {
    values { manager, hands, retries }
    fixed { pages_of_record }
});

impl DieWork {
    /// Whether a change of the tables is in progress.
    pub(super) fn is_changing(&self) -> bool {
        !self.again.is_empty() || self.recorded.is_some()
    }
}

impl Repairs {
    /// Failure manager of a configuration, if there is one, and the chunks that are offline because of bad
    /// blocks.
    pub(super) fn of(config: &OpenChannelConfig, bad: &[BlockSetId]) -> (Option<Self>, Vec<ChunkId>) {
        let (Some(file), Some(shape)) = (&config.file.failures, config.shape()) else {
            return (None, bad.iter().map(|block| ChunkId(block.0)).collect());
        };
        let (mut manager, offline) = Manager::new(shape, file.shift, file.early_close, bad);
        let hand = |unit| {
            let blocks = (!file.volatile_tables).then(|| manager.take_for_journal(unit)).flatten();
            DieWork { journal: blocks.map(Journal::new), ..DieWork::default() }
        };
        let hands = (0..shape.units).map(hand).collect();
        let Shape { blocks_per_unit, pages, .. } = shape;
        let bytes = config.geometry.block_size.0 * u64::from(config.geometry.ws_min);
        let pages_of_record = pages_of_record(blocks_per_unit, pages, bytes).min(pages);
        (Some(Self { manager, hands, pages_of_record, retries: RetryStats::default() }), offline)
    }

    pub(super) fn manager(&self) -> &Manager {
        &self.manager
    }

    pub(super) fn note_programmed(&mut self, chunk: ChunkId) {
        self.manager.note_programmed(chunk);
    }

    pub(super) fn closed(&mut self, chunk: ChunkId) {
        self.manager.closed(chunk);
    }

    /// Whether host programs of a die have to wait for the failure manager.
    pub(super) fn must_hold_programs(&self, unit: u32) -> bool {
        self.hands[unit as usize].is_changing() || self.manager.must_copy_first(unit)
    }

    /// Whether the die of a parallel unit works for the failure manager, or a change of the tables is in
    /// progress.
    pub(super) fn is_busy(&self, unit: u32) -> bool {
        let hand = &self.hands[unit as usize];
        hand.action.is_some() || hand.is_changing()
    }

    /// Number of flash commands for the failure manager.
    pub(super) fn tasks_in_flight(&self) -> usize {
        let of_hand = |hand: &DieWork| {
            let of_action = match hand.action {
                Some(Action::Read { left, .. }) => left as usize,
                Some(Action::Program { .. } | Action::Erase | Action::EraseJournal) => 1,
                None => 0,
            };
            of_action + usize::from(hand.records > 0)
        };
        self.hands.iter().map(of_hand).sum()
    }

    /// Undoes changes that were not recorded, at a power loss.
    pub(super) fn cut(&mut self) -> InterruptedWork {
        let mut at_work = InterruptedWork::default();
        for hand in &mut self.hands {
            if let Some(Action::Program { chunk, step, unread }) = hand.action.take() {
                at_work.chunks.push(chunk);
                if let Step::Copy { to, .. } = step {
                    at_work.unread.push((to, unread));
                }
            }
            // Recovery treats such a failed program as an interrupted one.
            at_work.chunks.extend(hand.again.drain(..).filter_map(|again| match again {
                PendingChange::Program(chunk, _) | PendingChange::Step(chunk, ..) => Some(chunk),
                PendingChange::Reset(_) => None,
            }));
            if let Some(recorded) = hand.recorded.take() {
                self.manager.undo(recorded.before.clone());
                at_work.undone.push(recorded);
            }
            hand.records = 0;
        }
        at_work
    }

    /// Whether a waiting change of the tables could erase a block that is being read.
    pub(super) fn is_waiting_for_reads(&self) -> bool {
        !self.manager.shifts() && self.hands.iter().any(|hand| !hand.again.is_empty())
    }

    /// Drops the journal pages that were not programmed before a power loss.
    pub(super) fn settle_journals(&mut self, programmed: impl Fn(BlockSetId) -> u32) {
        for hand in &mut self.hands {
            if let Some(journal) = &mut hand.journal {
                journal.settle(programmed(journal.block()));
            }
        }
    }

    /// Locations of the last record of each journal; `None` without journals.
    pub(super) fn last_records(&self) -> Option<Vec<PageLocation>> {
        let journals: Option<Vec<&Journal>> = self.hands.iter().map(|hand| hand.journal.as_ref()).collect();
        Some(journals?.iter().filter_map(|journal| journal.last()).collect())
    }

    /// Checks that the tables agree, and that they and the journals use each of `blocks` blocks at most once.
    pub(super) fn check(&self, blocks: u32) -> Result<(), String> {
        let journals = self.hands.iter().filter_map(|hand| hand.journal.as_ref());
        self.manager.check(blocks, journals.flat_map(Journal::blocks))
    }

    /// Lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        self.manager.lengths().into_iter().chain([self.hands.len()])
    }
}
