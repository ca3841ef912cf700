//! The array parameters of a command, and what is learnt from its outcome: so far the read levels of a read.
//!
//! A page is sensed with a set of read levels, the voltages that tell the states of its cells apart: the nominal set, number 0,
//! or one of those that stand beside it for cells that have drifted. With the wrong set the page cannot be read, and is sensed
//! again with another one.

mod last_good;
mod nominal;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_nand::{BlockSetId, LayerId, Layers, Outcome, PageId, Parameters};

pub use last_good::LastGood;
pub use nominal::Nominal;

/// A page that is to be sensed, or was, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensedPage {
    /// Which one.
    pub page: PageId,
    /// Its block set.
    pub block: BlockSetId,
    /// The number of its pool.
    pub pool: u8,
    /// The horizontal layer that it lies on, of its block in one plane.
    pub layer: LayerId,
    /// Erases of the block so far.
    pub erases: u32,
    /// The highest set of read levels that there is.
    pub highest: u8,
}

/// A page that is about to be programmed, or was, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgrammedPage {
    /// The first page of the program.
    pub page: PageId,
    /// Its block set.
    pub block: BlockSetId,
    /// The number of its pool.
    pub pool: u8,
    /// Its number among the pages of its block in a plane.
    pub number: u32,
    /// Erases of the block so far.
    pub erases: u32,
}

/// The array parameters of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadParameters {
    /// The set of read levels, 0 for the nominal one.
    pub level: u8,
}

impl ReadParameters {
    /// The default retry of a page that could not be read: the next higher set, and after the highest the nominal one.
    pub fn next(page: &SensedPage, so_far: &ReadOutcome) -> Self {
        let failed = so_far.parameters.level;
        Self { level: if failed >= page.highest { 0 } else { failed + 1 } }
    }
}

/// How the read of a page has gone so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome {
    /// The parameters that it was sensed with last.
    pub parameters: ReadParameters,
    /// How often it was sensed, at least once.
    pub senses: u32,
    /// Whether the page was read at last.
    pub is_read: bool,
}

/// Chooses the array parameters of commands and learns from their outcome. It looks and answers; the mechanism checks the
/// answer and acts. It is asked only where a rule of `faults` makes pages need a set of read levels: else each set reads as
/// well as another. A command has one set of levels. Its planes may need several, and it is asked about the first.
pub trait Tuner: State + Send {
    /// The parameters that a page is sensed with at first.
    fn read(&self, page: &SensedPage) -> ReadParameters;

    /// The parameters that a page is sensed with again, when it could not be read so far. With as many tries as there are
    /// sets, the first one and these have to be all of them. By default the next higher set, and after the highest the
    /// nominal one.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// The parameters of a program, as its die begins it. Asked only where a design answers for some pool.
    fn program(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// Whether the outcome of a program is accepted that was asked for. Asked only where a design answers for some pool.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// The parameters of a program were none that the part can follow: it is programmed by the data sheet.
    fn refused(&self, _page: &ProgrammedPage, _found: String, _allowed: String) {}

    /// A page was read, or given up.
    fn read_over(&mut self, page: &SensedPage, outcome: &ReadOutcome);

    /// A block was erased: its cells have not drifted any more.
    fn erased(&mut self, block: BlockSetId);

    /// The power failed: what was in memory is gone.
    fn forget(&mut self);
}

/// The tuners that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TunerKind {
    /// Every read begins with the nominal read levels and goes up from there.
    Nominal {},
    /// A read begins with the levels that read a page of the same layer of the block last.
    LastGood {},
}

impl Default for TunerKind {
    fn default() -> Self {
        Self::Nominal {}
    }
}

impl TunerKind {
    /// The policy for a device of these layers.
    pub fn build(&self, layers: impl FnOnce() -> Layers) -> Box<dyn Tuner> {
        match self {
            Self::Nominal {} => Box::new(Nominal),
            Self::LastGood {} => Box::new(LastGood::new(layers())),
        }
    }
}
