//! Jobs of the array of a LUN.

use wordline_kernel::{Duration, Instant};

use crate::Stage;
use crate::onfi::{CellMode, ReadKind, Row};

/// The effect of an operation on the cells and registers.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A cache read hands the pages in the data registers of `before` over first; other reads hand over what they
    /// sensed when they end.
    Sense {
        rows: Vec<Row>,
        kind: ReadKind,
        before: Vec<Row>,
    },
    /// The end of a cache read: the pages in the data registers go to the cache registers.
    HandOver {
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
    /// A suspended operation comes to rest.
    Rest {
        stage: Stage,
    },
}

/// A page that is replaced, and the other page of its word line, which keeps its bits.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    pub page: Row,
    pub kept: Row,
    pub bytes: Vec<u8>,
}

/// An operation of the array.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub work: Work,
    /// Serial number of the operation, for spans.
    pub command: u32,
    /// Planes that work, and those of them whose FAIL is set at its end, bit n for plane n.
    pub planes: u16,
    pub failing: u16,
    /// Planes whose cells are undefined at its end because of an injected failure.
    pub broken: u16,
    pub begin: Instant,
    pub end: Instant,
    pub begun: bool,
    /// Whether the LUN takes the next command while the array works.
    pub cached: bool,
    /// Whether a cache program was working when it was given: FAIL of that one becomes FAILC.
    pub follows_cache: bool,
    /// The cell mode of its blocks.
    pub mode: CellMode,
    /// The hand-over before it begins.
    pub turn: Duration,
}

impl Job {
    /// When it next changes anything.
    pub fn next_change(&self) -> Instant {
        if self.begun { self.end } else { self.begin }
    }

    /// The stage that the array is in.
    pub fn stage(&self) -> Option<Stage> {
        match self.work {
            Work::Sense { .. } => Some(Stage::Ton),
            Work::HandOver { .. } => None,
            Work::Program { .. } | Work::Reprogram { .. } => Some(Stage::Tin),
            Work::Erase { .. } => Some(Stage::Ber),
            Work::Rest { stage } => Some(stage),
        }
    }

    /// Whether it senses in a plane of its own, independently of others.
    pub fn senses_alone(&self) -> bool {
        matches!(self.work, Work::Sense { kind: ReadKind::Independent, .. })
    }

    /// Whether it is a program or an erase, which change cells and can be suspended.
    pub fn changes_cells(&self) -> bool {
        matches!(self.work, Work::Program { .. } | Work::Reprogram { .. } | Work::Erase { .. })
    }

    /// Whether it uses the cells that `row` addresses.
    pub fn uses(&self, row: Row) -> bool {
        match &self.work {
            Work::Sense { .. } | Work::HandOver { .. } | Work::Rest { .. } => false,
            Work::Program { pages } => pages.iter().any(|(r, _)| (r.block, r.page) == (row.block, row.page)),
            Work::Reprogram { pages } => pages.iter().any(|Rewritten { page, kept, .. }| {
                page.block == row.block && (page.page == row.page || kept.page == row.page)
            }),
            Work::Erase { blocks } => blocks.contains(&row.block),
        }
    }
}
