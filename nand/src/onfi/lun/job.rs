//! What the array of a LUN is doing.

use wordline_kernel::{Duration, Instant};

use crate::Stage;
use crate::onfi::{CellMode, Row};

/// When the page in the data register goes to the cache register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandOver {
    /// When the array has sensed it: a plain read.
    After,
    /// Before the array senses the next: a cache read.
    Before,
}

/// What an operation does to the cells and registers.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Sense {
        rows: Vec<Row>,
        hand_over: HandOver,
        copyback: bool,
    },
    /// The end of a cache read: the page goes to the cache register of these planes' rows.
    HandOver {
        rows: Vec<Row>,
    },
    Program {
        pages: Vec<(Row, Vec<u8>)>,
    },
    /// The page that is replaced, and the other page of its word line, which keeps its bits.
    Reprogram {
        page: Row,
        kept: Row,
        bytes: Vec<u8>,
    },
    Erase {
        blocks: Vec<u32>,
    },
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
    /// Planes whose cells are undefined at its end, though nobody asked for it: an injected failure.
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
        }
    }

    /// Whether it is a program or an erase, which change cells and can be suspended.
    pub fn changes_cells(&self) -> bool {
        matches!(self.stage(), Some(Stage::Tin | Stage::Ber))
    }

    /// Whether it uses the cells that `row` addresses.
    pub fn uses(&self, row: Row) -> bool {
        match &self.work {
            Work::Sense { .. } | Work::HandOver { .. } => false,
            Work::Program { pages } => pages.iter().any(|(r, _)| (r.block, r.page) == (row.block, row.page)),
            Work::Reprogram { page, kept, .. } => {
                page.block == row.block && (page.page == row.page || kept.page == row.page)
            }
            Work::Erase { blocks } => blocks.contains(&row.block),
        }
    }
}
