//! Array operations of a LUN.

use wordline_kernel::{Duration, Instant};

use crate::Stage;
use crate::onfi::{CellMode, ReadKind, Row};

/// The effect of an operation on the cells and registers.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A sense. A cache read first moves the pages of `before` from the data registers to the cache
    /// registers; other reads move their pages at their end.
    Sense {
        rows: Vec<Row>,
        kind: ReadKind,
        before: Vec<Row>,
    },
    /// The end of a cache read: the pages in the data registers move to the cache registers.
    TransferPages {
        before: Vec<Row>,
    },
    Program {
        pages: Vec<(Row, Vec<u8>)>,
    },
    Reprogram {
        pages: Vec<Rewritten>,
    },
    Erase {
        blocks: Vec<u32>,
    },
    /// The suspend latency of an operation.
    SuspendLatency {
        stage: Stage,
    },
}

/// A page that a reprogram replaces, and the other page of its word line, which keeps its bits.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    pub page: Row,
    pub kept: Row,
    pub bytes: Vec<u8>,
}

/// An array operation.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub work: Work,
    /// Command number for spans.
    pub command: u32,
    /// Active planes, and the planes whose FAIL is set at the end, bit n for plane n.
    pub planes: u16,
    pub failing: u16,
    /// Planes whose cells are undefined at the end because of an injected failure.
    pub broken: u16,
    pub begin: Instant,
    pub end: Instant,
    pub begun: bool,
    /// Whether the LUN accepts the next command while the array works.
    pub cached: bool,
    /// Whether a cache program was in progress at the start of the job: FAIL of that program becomes FAILC.
    pub follows_cache: bool,
    /// The cell mode of its blocks.
    pub mode: CellMode,
    /// The transfer time between registers before the job begins.
    pub turn: Duration,
}

impl Job {
    /// Records that the operation has begun.
    pub fn begin(&mut self) {
        self.begun = true;
    }

    /// The time of its next effect.
    pub fn next_change(&self) -> Instant {
        if self.begun { self.end } else { self.begin }
    }

    /// The stage of the array.
    pub fn stage(&self) -> Option<Stage> {
        match self.work {
            Work::Sense { .. } => Some(Stage::Ton),
            Work::TransferPages { .. } => None,
            Work::Program { .. } | Work::Reprogram { .. } => Some(Stage::Tin),
            Work::Erase { .. } => Some(Stage::Ber),
            Work::SuspendLatency { stage } => Some(stage),
        }
    }

    /// Whether this is an independent plane read.
    pub fn is_independent_read(&self) -> bool {
        matches!(self.work, Work::Sense { kind: ReadKind::Independent, .. })
    }

    /// Whether this is a program or an erase, which change cells and can be suspended.
    pub fn changes_cells(&self) -> bool {
        matches!(self.work, Work::Program { .. } | Work::Reprogram { .. } | Work::Erase { .. })
    }

    /// Whether the job uses the cells of `row`.
    pub fn uses(&self, row: Row) -> bool {
        match &self.work {
            Work::Sense { .. } | Work::TransferPages { .. } | Work::SuspendLatency { .. } => false,
            Work::Program { pages } => pages.iter().any(|(r, _)| (r.block, r.page) == (row.block, row.page)),
            Work::Reprogram { pages } => pages.iter().any(|Rewritten { page, kept, .. }| {
                page.block == row.block && (page.page == row.page || kept.page == row.page)
            }),
            Work::Erase { blocks } => blocks.contains(&row.block),
        }
    }
}
