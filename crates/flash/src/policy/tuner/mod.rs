//! Tuners: the array parameters of a command, chosen from the outcomes of earlier ones. The built-in tuners
//! set read reference voltages.
//!
//! A read senses a page with a set of read reference voltages, which separate the states of its cells. Set 0
//! is the nominal one; the others are for cells that have drifted. With a wrong set the page is unreadable,
//! and a read retry uses another set.

mod last_good;
mod nominal;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_kernel::snapshot::State;
use wordline_nand::{BlockSetId, CellMode, LayerId, Layers, Outcome, PageId, Parameters};

pub use last_good::LastGood;
pub use nominal::Nominal;

/// A page that is about to be sensed or was sensed, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensedPage {
    /// Page number.
    pub page: PageId,
    /// Its multi-plane block.
    pub block: BlockSetId,
    /// Number of the pool.
    pub pool: u8,
    /// Horizontal layer of the page, in the block of one plane.
    pub layer: LayerId,
    /// Erases of the block so far.
    pub erases: u32,
    /// Number of the highest set of read reference voltages.
    pub highest: u8,
}

/// A page that is about to be programmed or was programmed, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgrammedPage {
    /// First page of the program.
    pub page: PageId,
    /// Its multi-plane block.
    pub block: BlockSetId,
    /// Number of the pool.
    pub pool: u8,
    /// Number of the page in its block, counted in one plane.
    pub number: u32,
    /// Erases of the block so far.
    pub erases: u32,
}

/// A block that is about to be erased, as a tuner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedBlock {
    /// Multi-plane block.
    pub block: BlockSetId,
    /// Number of the pool.
    pub pool: u8,
    /// Erases of the block so far, without this one.
    pub erases: u32,
    /// Cell mode of the block.
    pub mode: CellMode,
    /// Erase time by the data sheet.
    pub time: Duration,
}

/// Array parameters of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadParameters {
    /// Set of read reference voltages; 0 is the nominal one.
    pub level: u8,
}

impl ReadParameters {
    /// Default for a read retry: the next higher set, or the nominal one after the highest.
    pub fn next(page: &SensedPage, so_far: &ReadOutcome) -> Self {
        let failed = so_far.parameters.level;
        Self { level: if failed >= page.highest { 0 } else { failed + 1 } }
    }
}

/// Outcome of a read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Parameters of the last sense.
    pub parameters: ReadParameters,
    /// Number of senses, at least one.
    pub senses: u32,
    /// Whether the page was read.
    pub is_read: bool,
}

/// Selects the array parameters of commands and learns from their outcomes.
///
/// Reads are queried only if a rule of `faults` makes pages need a set of read reference voltages; otherwise
/// all sets read equally well. A command uses one set for all its planes, and the query is about its first
/// plane.
pub trait Tuner: State + Send {
    /// Parameters of the first sense of a page.
    fn read(&self, page: &SensedPage) -> ReadParameters;

    /// Parameters of a read retry. If there are as many tries as sets, the first sense and the retries must
    /// cover all sets. The default is the next higher set, or the nominal one after the highest.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// Parameters of a program, queried when the die begins it. Queried only if a design decides for some
    /// pool.
    fn program(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// Whether the outcome of a program, which its parameters requested, is accepted. Queried only if a
    /// design decides for some pool.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// Parameters of an erase, queried when the die begins it. Queried only if a design decides for some pool.
    fn erase(&self, _block: &ErasedBlock) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// Records that the part of a pool does not support the parameters of a program or erase. The part then
    /// uses the parameters of the data sheet.
    fn refused(&self, _pool: u8, _found: String, _allowed: String) {}

    /// Records the end of a read, with all its retries.
    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome);

    /// Records the erase of a block. Its cells have no drift from now on.
    fn erased(&mut self, block: BlockSetId);

    /// Drops the state that a power loss destroys.
    fn forget(&mut self);

    /// Checks that the loaded state has no set of read reference voltages above `highest`.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self, _highest: u8) -> Result<(), String> {
        Ok(())
    }
}

/// Built-in tuners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TunerKind {
    /// Each read begins with the nominal read reference voltages. Each retry uses the next higher set.
    Nominal {},
    /// Each read begins with the set that last read a page of the same layer of the block.
    LastGood {},
}

impl Default for TunerKind {
    fn default() -> Self {
        Self::Nominal {}
    }
}

impl TunerKind {
    /// Builds the policy for a device with these layers.
    pub fn build(&self, layers: impl FnOnce() -> Layers) -> Box<dyn Tuner> {
        match self {
            Self::Nominal {} => Box::new(Nominal),
            Self::LastGood {} => Box::new(LastGood::new(layers())),
        }
    }
}
