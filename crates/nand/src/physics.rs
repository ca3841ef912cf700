//! The interface of cell models: the array time and the outcome of each command.
//!
//! [`Physics`] is the extension point. It is the same for transactions
//! ([`Chips::set_physics`](crate::Chips::set_physics)) and on the pins
//! ([`Bus::set_physics`](crate::onfi::Bus::set_physics)). A cell model is called once for each array
//! operation. [`Work`] describes the operation: its blocks and page, its cell mode and [`Parameters`], and
//! its time by the data sheet. Without a cell model the times of the data sheet apply.
//!
//! Parameters are kept in numbered sets, and a command refers to a set by its number. Set 0 is the data
//! sheet, without changes.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Instant, state};

use crate::cell_mode::CellMode;
use crate::geometry::PlaneBlock;
use crate::part::MAX_PLANES;
use crate::{Part, Stage};

pub use crate::parameters::{MAX_PROGRAM_STATES, Parameters};

/// An array operation that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Sense, program or erase.
    pub stage: Stage,
    /// The part in the cell mode.
    pub part: &'a Part,
    /// The cell mode; for a reprogram, [`CellMode::Reprogrammed`] with the number of this pass.
    pub mode: CellMode,
    /// The number of the page in its block, in this mode. If a program writes all pages of a word line: the
    /// first one.
    pub page: u32,
    /// The block in each plane of the command.
    pub blocks: &'a [PlaneBlock],
    /// The parameters of the operation.
    pub parameters: &'a Parameters,
    /// Begin of the operation.
    pub begin: Instant,
    /// Time of the operation by the data sheet: the time of the slowest plane. For an erase with a time of its
    /// own ([`Parameters::erase`]): this time.
    pub data_sheet: Duration,
}

impl Work<'_> {
    /// Which bit of its cells the page stores, 0 for the lowest.
    pub fn page_type(&self) -> u32 {
        self.part.page_type(self.page)
    }

    /// The word line of the page.
    pub fn word_line(&self) -> u32 {
        self.part.pages().word_line(self.page)
    }
}

/// The outcome of a command. Values that the cell model does not provide are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Program loops or erase pulses.
    pub loops: u32,
    /// Verifies in these loops.
    pub verifies: u32,
    /// The first loop in which cells of each program state passed, the lowest state first.
    pub first_loops: [u8; MAX_PROGRAM_STATES],
    /// The last loop in which cells of each program state passed.
    pub last_loops: [u8; MAX_PROGRAM_STATES],
    /// Cells of the first plane that are misread between the erased and the lowest program state directly
    /// after a program.
    pub erased_to_p1: u32,
    /// Number of senses of a read.
    pub senses: u32,
    /// Raw bit errors. For a read: of the sensed page, in each plane of the command. For a program: of all
    /// pages of the word line in the first plane, directly after the program.
    pub bit_errors: [u32; MAX_PLANES as usize],
}

/// A sensed page, as input of the error correction.
#[derive(Clone, Copy, Debug)]
pub struct Sensed {
    /// Block of the page in its plane.
    pub at: PlaneBlock,
    /// Word line of the page.
    pub word_line: u32,
    /// The bit of its cells that the page stores, 0 for the lowest.
    pub page_type: u32,
    /// The cell mode of the block.
    pub mode: CellMode,
    /// The set of read reference voltages, 0 for the data sheet.
    pub level: u8,
    /// Bytes of the page that are transferred, and so decoded.
    pub bytes: Bytes,
    /// Time of the sense.
    pub now: Instant,
}

/// A cell model of the arrays of all dies.
pub trait Physics: fmt::Debug + Send + Sync + State {
    /// Returns the time of an array operation and writes its outcome, if requested. Called when the operation
    /// begins, also for operations that are aborted later.
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration;

    /// Whether sensing with the parameters of the data sheet takes the time of the data sheet and changes no
    /// state. If so, the model is not called for such senses.
    fn has_data_sheet_sensing(&self) -> bool {
        false
    }

    /// The highest set of read reference voltages, if the model determines which pages are uncorrectable.
    fn read_levels(&self) -> Option<u8> {
        None
    }

    /// Whether the sensed page is uncorrectable. Called at the end of a read if there are
    /// [`read_levels`](Self::read_levels).
    fn is_uncorrectable(&mut self, _sensed: &Sensed) -> bool {
        false
    }

    /// Whether the sensed page needs soft-decision decoding in addition to hard decisions. This depends only
    /// on the page; the random errors of this read are ignored.
    fn needs_soft_decision(&mut self, _sensed: &Sensed) -> bool {
        false
    }

    /// A copy of the cell model.
    fn copied(&self) -> Box<dyn Physics>;
}

impl Clone for Box<dyn Physics> {
    fn clone(&self) -> Self {
        self.copied()
    }
}

/// The data sheet as a cell model: its times, one sense for each read, no loops and no errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataSheet {}

state!(DataSheet {});

impl Physics for DataSheet {
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration {
        if let Some(outcome) = outcome {
            outcome.senses = u32::from(work.stage == Stage::Ton);
        }
        work.data_sheet
    }

    fn has_data_sheet_sensing(&self) -> bool {
        true
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(*self)
    }
}

/// The cell model of a group of arrays with the numbered parameter sets, called for each array operation.
#[derive(Clone, Debug)]
pub(crate) struct CellModel {
    physics: Box<dyn Physics>,
    sets: Vec<Parameters>,
}

state!(CellModel { values { sets } parts { physics } });

impl Default for CellModel {
    fn default() -> Self {
        Self { physics: Box::new(DataSheet {}), sets: vec![Parameters::default()] }
    }
}

impl CellModel {
    /// Replaces the cell model and keeps the parameter sets.
    pub(crate) fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.physics = physics;
    }

    /// Stores `parameters` as set `number`; lower sets that were never stored have the parameters of the data
    /// sheet.
    pub(crate) fn set(&mut self, number: u16, parameters: Parameters) {
        let at = usize::from(number);
        if self.sets.len() <= at {
            self.sets.resize(at + 1, Parameters::default());
        }
        self.sets[at] = parameters;
    }

    /// Whether the cell model determines which pages are uncorrectable.
    pub(crate) fn determines_uncorrectable(&self) -> bool {
        self.physics.read_levels().is_some()
    }

    /// Whether sensing with set 0 takes the time of the data sheet.
    pub(crate) fn has_data_sheet_sensing(&self) -> bool {
        self.physics.has_data_sheet_sensing()
    }

    /// Whether a page is uncorrectable.
    pub(crate) fn is_uncorrectable(&mut self, sensed: &Sensed) -> bool {
        self.physics.is_uncorrectable(sensed)
    }

    /// Whether a page needs soft-decision decoding.
    pub(crate) fn needs_soft_decision(&mut self, sensed: &Sensed) -> bool {
        self.physics.needs_soft_decision(sensed)
    }

    /// The parameters of set `number`, if it exists.
    pub(crate) fn parameters(&self, number: u16) -> Option<&Parameters> {
        self.sets.get(usize::from(number))
    }

    /// The array time with parameter set `number`, and the outcome if requested. The parameters in `work` are
    /// ignored.
    pub(crate) fn query(&mut self, number: u16, work: Work<'_>) -> (Duration, Option<Outcome>) {
        let Self { physics, sets } = self;
        let parameters = &sets[usize::from(number)];
        let mut outcome = parameters.outcome.then(Outcome::default);
        let of_erase = parameters.erase.filter(|_| work.stage == Stage::Ber);
        let work = Work { data_sheet: of_erase.unwrap_or(work.data_sheet), ..work };
        let time = physics.work(&Work { parameters, ..work }, outcome.as_mut());
        (time + parameters.setting, outcome)
    }
}
