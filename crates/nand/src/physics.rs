//! The cell model behind a command: how long the array works, and how that went.
//!
//! [`Physics`] is the hook for it, the same for transactions ([`Chips::set_physics`](crate::Chips::set_physics)) and on the pins
//! ([`Bus::set_physics`](crate::onfi::Bus::set_physics)): it is called once for each work of an array, with the pages in their
//! planes, the cell mode and the [`Parameters`] of the command, and the time of the data sheet. Without one the data sheet alone
//! holds, and nothing is called.
//!
//! The parameters are kept in sets with numbers, and a command names one: number 0 is that of the data sheet, in which nothing
//! is changed.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Duration, Instant, state};

use crate::cell_mode::CellMode;
use crate::geometry::PlaneBlock;
use crate::part::{MOST_BITS, MOST_PLANES};
use crate::{Part, Stage};

/// States above the erased one that the cells of any part have, and levels between states.
pub const MOST_STATES: usize = (1 << MOST_BITS) - 1;

/// How the array is to do a command: what a controller sets before it (cubeFTL, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Steps by which each read level is moved, the lowest first.
    pub read_offsets: [i8; MOST_STATES],
    /// How far above the usual one the programming voltage begins, in millivolts.
    pub start_margin: u16,
    /// How far below the usual one it ends, in millivolts.
    pub final_margin: u16,
    /// Verifies of each program state that are left out at the beginning, the lowest state first.
    pub skipped_verifies: [u8; MOST_STATES],
    /// Time that setting them adds to the command.
    pub setting: Duration,
    /// Whether the outcome is asked for.
    pub outcome: bool,
}

impl Parameters {
    /// Those of the data sheet; nothing is asked.
    pub const DATA_SHEET: Self = Self {
        read_offsets: [0; MOST_STATES],
        start_margin: 0,
        final_margin: 0,
        skipped_verifies: [0; MOST_STATES],
        setting: Duration::ZERO,
        outcome: false,
    };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DATA_SHEET
    }
}

/// The work that an array is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Sensing, programming or erasing.
    pub stage: Stage,
    /// The part as it is in the mode.
    pub part: &'a Part,
    /// The cell mode: of a program, [`CellMode::Reprogrammed`] with the number of times that it makes.
    pub mode: CellMode,
    /// The number of the page in its block, in this mode: the first one of the word line where a program writes all of it.
    pub page: u32,
    /// The block in each plane that takes part.
    pub blocks: &'a [PlaneBlock],
    /// How it is to be done.
    pub parameters: &'a Parameters,
    /// When it begins.
    pub begin: Instant,
    /// How long it takes by the data sheet: that of the slowest plane.
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

/// How a command went. A value that no model of the cells gives is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Loops of a program or pulses of an erase.
    pub loops: u32,
    /// Verifies in them.
    pub verifies: u32,
    /// For each program state the first loop in which cells passed, the lowest state first.
    pub first_loops: [u8; MOST_STATES],
    /// The last one.
    pub last_loops: [u8; MOST_STATES],
    /// Cells of the erased and the lowest program state of the first plane that are read as each other right after a program.
    pub erased_to_p1: u32,
    /// How often the cells were sensed for a read.
    pub senses: u32,
    /// Raw bit errors of the page that was sensed in each plane that took part; of a program, of all pages of the word line in the first
    /// plane, right after it.
    pub bit_errors: [u32; MOST_PLANES as usize],
}

/// A page that was sensed, for the error correction.
#[derive(Clone, Copy, Debug)]
pub struct Sensed {
    /// Its block in its plane.
    pub at: PlaneBlock,
    /// Its word line.
    pub word_line: u32,
    /// Which bit of its cells it stores, 0 for the lowest.
    pub page_type: u32,
    /// The cell mode of the block.
    pub mode: CellMode,
    /// The set of read levels, 0 for that of the data sheet.
    pub level: u8,
    /// When.
    pub now: Instant,
}

/// The cells behind the arrays of all dies.
pub trait Physics: fmt::Debug + Send + Sync + State {
    /// How long the array works, and, where it is asked for, how that went. It is asked when the work begins; a work that is broken
    /// off later was begun all the same.
    fn work(&mut self, work: &Work<'_>, outcome: Option<&mut Outcome>) -> Duration;

    /// Whether sensing with the parameters of the data sheet takes the time of the data sheet, and notes nothing: then the cells are
    /// not asked about it.
    fn senses_by_data_sheet(&self) -> bool {
        false
    }

    /// The highest set of read levels, if the cells say which pages the error correction cannot read.
    fn read_levels(&self) -> Option<u8> {
        None
    }

    /// Whether the error correction cannot read a page as it was sensed. Asked at the end of a read, where there are
    /// [`read_levels`](Self::read_levels).
    fn is_unread(&mut self, _sensed: &Sensed) -> bool {
        false
    }

    /// Whether soft decisions are made on a page as it was sensed, beside hard ones. Where they are follows from the page: by how much
    /// this read of it errs by chance is left out.
    fn is_decided_softly(&mut self, _sensed: &Sensed) -> bool {
        false
    }

    /// The same cells again.
    fn copied(&self) -> Box<dyn Physics>;
}

impl Clone for Box<dyn Physics> {
    fn clone(&self) -> Self {
        self.copied()
    }
}

/// The data sheet: its times, one sense a read, and nothing said of loops and errors.
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

    fn senses_by_data_sheet(&self) -> bool {
        true
    }

    fn copied(&self) -> Box<dyn Physics> {
        Box::new(*self)
    }
}

/// The cells of some arrays, and the sets of parameters by number: what is asked each time that an array works.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    physics: Box<dyn Physics>,
    sets: Vec<Parameters>,
}

state!(Asked { values { sets } parts { physics } });

impl Default for Asked {
    fn default() -> Self {
        Self { physics: Box::new(DataSheet {}), sets: vec![Parameters::default()] }
    }
}

impl Asked {
    /// The same sets over other cells.
    pub(crate) fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.physics = physics;
    }

    /// Puts `parameters` into set `number`; lower sets that were never set are those of the data sheet.
    pub(crate) fn set(&mut self, number: u16, parameters: Parameters) {
        let at = usize::from(number);
        if self.sets.len() <= at {
            self.sets.resize(at + 1, Parameters::default());
        }
        self.sets[at] = parameters;
    }

    /// Whether the cells say which pages the error correction cannot read.
    pub(crate) fn judge_reads(&self) -> bool {
        self.physics.read_levels().is_some()
    }

    /// Whether sensing with set 0 takes what the data sheet says.
    pub(crate) fn senses_by_data_sheet(&self) -> bool {
        self.physics.senses_by_data_sheet()
    }

    /// Whether the error correction cannot read a page.
    pub(crate) fn is_unread(&mut self, sensed: &Sensed) -> bool {
        self.physics.is_unread(sensed)
    }

    /// Whether soft decisions are made on a page.
    pub(crate) fn is_decided_softly(&mut self, sensed: &Sensed) -> bool {
        self.physics.is_decided_softly(sensed)
    }

    /// The parameters of a set, if there is one of that number.
    pub(crate) fn parameters(&self, number: u16) -> Option<&Parameters> {
        self.sets.get(usize::from(number))
    }

    /// How long the array works with set `number`, and how it went if that is asked for. The parameters that `work` has do not
    /// matter.
    pub(crate) fn ask(&mut self, number: u16, work: Work<'_>) -> (Duration, Option<Outcome>) {
        let Self { physics, sets } = self;
        let parameters = &sets[usize::from(number)];
        let mut outcome = parameters.outcome.then(Outcome::default);
        let time = physics.work(&Work { parameters, ..work }, outcome.as_mut());
        (time + parameters.setting, outcome)
    }
}
