//! Cells in the modes of a part: the states that a word line uses, how it is programmed to them, and the
//! references between them.
//!
//! Cell modes have no parameters of their own. Cells in SLC mode use the erased state and the middle state.
//! Cells in MLC mode use four neighbouring states, which a rewrite moves up ([`TwoBitCoding`]). A program in
//! such a mode leaves out the loops before and after the states in use. The first cells of its lowest
//! programmed state pass in the loop in which the first cells of P1 pass in a native program. The program
//! ends with the last loop of its highest state.

use serde::{Deserialize, Serialize};

use super::coding::Coding;
use super::condition::{Condition, Effects};
use super::ispp::Ispp;
use super::levels::Levels;
use super::reprogram::{Bit, TwoBitCoding};
use super::set::{CellSet, ProgramEffect};
use super::variation::CellProperties;
use crate::cell_mode::CellMode;

/// The bits stored in the cells of a word line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredBits {
    /// All bits of the cells.
    #[default]
    Native,
    /// One bit.
    Slc,
    /// Two bits, with the metadata that a controller stores for such a word line (ReSSD, section 3.2).
    Mlc {
        /// Number of rewrites: RPCnt.
        rewrites: u8,
        /// The Distribution ID.
        id: u8,
        /// Number of cells above in the string that had more passes, summed over all reprograms.
        ahead: u8,
    },
}

impl StoredBits {
    /// The state of a word line in `mode` with unknown history. Chosen for rewrites: the low bit was
    /// rewritten each time, which moves cells furthest.
    #[inline]
    pub fn of(mode: CellMode) -> Self {
        match mode {
            CellMode::Native => Self::Native,
            CellMode::Slc => Self::Slc,
            CellMode::Mlc => Self::rewritten(0),
            CellMode::Reprogrammed(times) => Self::rewritten(times.min(TwoBitCoding::MAX_REWRITES)),
        }
    }

    fn rewritten(times: u8) -> Self {
        let coding =
            TwoBitCoding::of_history(&vec![Bit::Low; usize::from(times)]).expect("so many rewrites fit");
        Self::of_coding(coding, 0)
    }

    fn of_coding(coding: TwoBitCoding, ahead: u8) -> Self {
        Self::Mlc { rewrites: coding.rewrites(), id: coding.distribution_id(), ahead }
    }

    /// Whether a word line in `mode` can store these bits.
    pub fn is_in(self, mode: CellMode) -> bool {
        match (self, mode) {
            (Self::Native, CellMode::Native) | (Self::Slc, CellMode::Slc) => true,
            (Self::Mlc { rewrites, .. }, CellMode::Mlc) => rewrites == 0,
            (Self::Mlc { rewrites, .. }, CellMode::Reprogrammed(times)) => {
                rewrites == times.min(TwoBitCoding::MAX_REWRITES)
            }
            _ => false,
        }
    }

    /// Number of rewrites.
    pub fn rewrites(self) -> u8 {
        if let Self::Mlc { rewrites, .. } = self { rewrites } else { 0 }
    }

    fn coding(self) -> Option<TwoBitCoding> {
        let Self::Mlc { rewrites, id, .. } = self else { return None };
        TwoBitCoding::of_status(rewrites, id)
    }

    /// The state after a rewrite of one of two bits, with `more` cells above in the string that have more
    /// passes.
    #[must_use]
    pub fn after(self, bit: Bit, more: u8) -> Self {
        let Self::Mlc { ahead, .. } = self else { return self };
        let coding = self.coding().and_then(|coding| coding.after(bit));
        coding.map_or(self, |coding| Self::of_coding(coding, ahead.saturating_add(more)))
    }
}

/// The states that the cells of a word line use.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedStates {
    held: StoredBits,
    /// The index of each state among all states of the cells, the lowest first.
    pub states: Vec<usize>,
    /// The bits that they encode.
    pub coding: Coding,
    /// The boundary, among all states, of each reference.
    boundaries: Vec<usize>,
    /// The references between them.
    pub references: Vec<f64>,
}

impl CellSet {
    /// The states of cells that store `held`. References are the references of the set at the same
    /// boundaries. SLC mode leaves out states: its reference is the boundary half way between the two states
    /// (chosen, as cells that lose charge for a year still lie above it).
    pub fn used(&self, held: StoredBits) -> UsedStates {
        let (states, coding) = match (held, held.coding()) {
            (StoredBits::Slc, _) => (vec![0, self.states() / 2], Coding::usual(1)),
            (_, Some(two)) => ((two.base()..two.base() + 4).collect(), two.coding()),
            _ => ((0..self.states()).collect(), self.coding.clone()),
        };
        let boundaries: Vec<usize> = match held {
            StoredBits::Slc => vec![states[1] / 2],
            _ => states[1..].iter().map(|state| state - 1).collect(),
        };
        let references = boundaries.iter().map(|at| self.references[*at]).collect();
        UsedStates { held, states, coding, boundaries, references }
    }
}

impl UsedStates {
    /// The programming to these states, if the set has program parameters.
    pub fn ispp(&self, set: &CellSet) -> Option<Ispp> {
        let ispp = set.ispp.as_ref()?;
        let programmed: Vec<usize> = self.states.iter().filter_map(|state| state.checked_sub(1)).collect();
        Some(if self.held == StoredBits::Native { ispp.clone() } else { ispp.to_states(&programmed) })
    }

    /// The threshold voltages of these states. A narrower window widens the lowest and the highest programmed
    /// state.
    pub fn levels(
        &self,
        set: &CellSet,
        strength: &CellProperties,
        condition: &Condition,
        written: &ProgramEffect,
    ) -> Levels {
        if self.held == StoredBits::Native {
            return set.levels(strength, condition, Effects::ALL, written);
        }
        let ahead = if let StoredBits::Mlc { ahead, .. } = self.held { ahead } else { 0 };
        let again = condition.again + f64::from(self.held.rewrites());
        let condition = Condition { again, ahead: condition.ahead + f64::from(ahead), ..*condition };
        let all = set.levels(strength, &condition, Effects::ALL, &ProgramEffect::default());
        let mut levels = all.of_states(&self.states, self.coding.clone());
        let lowest = usize::from(self.states[0] == 0);
        let last = levels.states.len() - 1;
        let more = [
            (lowest, set.margins.start * written.start_margin),
            (last, set.margins.last * written.final_margin),
        ];
        for (state, more) in more {
            let level = &mut levels.states[state];
            level.deviation = libm::hypot(level.deviation, more);
        }
        // A cell that lies one state too high is read as the next state in use, or as the highest one. A
        // rewrite skips no verifies.
        levels.over.clone_from(&written.over);
        levels
    }

    /// The references, each shifted by the offset of its boundary.
    pub fn moved(&self, offsets: &[f64]) -> Vec<f64> {
        self.references.iter().zip(&self.boundaries).map(|(at, boundary)| at + offsets[*boundary]).collect()
    }
}
