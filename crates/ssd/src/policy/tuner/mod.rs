//! Tuners: the array parameters of a command, and what is learnt from its outcome; so far the read reference
//! voltages of a read.
//!
//! A page is sensed with a set of read reference voltages, which separate the states of its cells: the
//! nominal set, number 0, or a set for cells that have drifted. With the wrong set the page cannot be read,
//! and a read retry uses another one.

mod last_good;
mod nominal;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_nand::{BlockSetId, LayerId, Layers, Outcome, PageId, Parameters};

pub use last_good::LastGood;
pub use nominal::Nominal;

/// A page that is about to be sensed, or was, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensedPage {
    /// Page number.
    pub page: PageId,
    /// Its multi-plane block.
    pub block: BlockSetId,
    /// Number of its pool.
    pub pool: u8,
    /// Horizontal layer of the page, within its block in one plane.
    pub layer: LayerId,
    /// Erases of the block so far.
    pub erases: u32,
    /// Highest set of read reference voltages.
    pub highest: u8,
}

/// A page that is about to be programmed, or was, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgrammedPage {
    /// First page of the program.
    pub page: PageId,
    /// Its multi-plane block.
    pub block: BlockSetId,
    /// Number of its pool.
    pub pool: u8,
    /// Its number among the pages of its block in a plane.
    pub number: u32,
    /// Erases of the block so far.
    pub erases: u32,
}

/// Array parameters of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadParameters {
    /// Set of read reference voltages, 0 for the nominal one.
    pub level: u8,
}

impl ReadParameters {
    /// Default read retry: the next higher set, and after the highest the nominal one.
    pub fn next(page: &SensedPage, so_far: &ReadOutcome) -> Self {
        let failed = so_far.parameters.level;
        Self { level: if failed >= page.highest { 0 } else { failed + 1 } }
    }
}

/// Outcome of the read of a page so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Parameters of the last sense.
    pub parameters: ReadParameters,
    /// Number of senses, at least one.
    pub senses: u32,
    /// Whether the page was read.
    pub is_read: bool,
}

/// Selects the array parameters of commands and learns from their outcome. The policy looks and decides; the
/// mechanism checks the decision and acts. It is queried only where a rule of `faults` makes pages need a set
/// of read reference voltages: otherwise all sets read equally well. A command has one set for all its
/// planes, which may need several; the query is about the first plane.
pub trait Tuner: State + Send {
    /// Parameters of the first sense of a page.
    fn read(&self, page: &SensedPage) -> ReadParameters;

    /// Parameters of a read retry. With as many tries as there are sets, the first sense and the retries must
    /// cover all of them. By default the next higher set, and after the highest the nominal one.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// Parameters of a program, when its die begins it. Queried only if a design decides for some pool.
    fn program(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// Whether a requested outcome of a program is accepted. Queried only if a design decides for some pool.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// Records that the part cannot follow the parameters of a program: it uses those of the data sheet.
    fn refused(&self, _page: &ProgrammedPage, _found: String, _allowed: String) {}

    /// Records that a page was read, or could not be read.
    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome);

    /// Records the erase of a block, whose cells have no drift any more.
    fn erased(&mut self, block: BlockSetId);

    /// Resets the state that a power loss destroys.
    fn forget(&mut self);
}

/// Built-in tuners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TunerKind {
    /// Each read begins with the nominal read reference voltages and goes up from there.
    Nominal {},
    /// A read begins with the set that last read a page of the same layer of the block.
    LastGood {},
}

impl Default for TunerKind {
    fn default() -> Self {
        Self::Nominal {}
    }
}

impl TunerKind {
    /// Builds the policy for a device of these layers.
    pub fn build(&self, layers: impl FnOnce() -> Layers) -> Box<dyn Tuner> {
        match self {
            Self::Nominal {} => Box::new(Nominal),
            Self::LastGood {} => Box::new(LastGood::new(layers())),
        }
    }
}
