//! A parameter set: the cells of a part, and their threshold voltages by location and condition.

use super::MeasuredAges;
use super::coding::Coding;
use super::condition::{Condition, Effect, Effects};
use super::factors::Factors;
use super::ispp::{Ispp, ProgramParameters, Programmed};
use super::levels::{LeftTail, Level, Levels};
use super::math::Shape;
use super::read::Reading;
use super::terms::{Background, Cycles, Disturb, Interference, Retention, Term};
use super::variation::{CellProperties, Variation};

/// The threshold voltages of new cells of the best layer, directly after their program.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    /// Threshold voltages directly after the program.
    Programmed(Vec<Level>),
    /// Threshold voltages measured at several ages: the table includes retention.
    Measured(MeasuredAges),
}

/// The cost of narrower windows of the programming voltage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margins {
    /// The deviation that the lowest programmed state gains for each millivolt of a higher VStart.
    pub start: f64,
    /// The deviation that the highest state gains for each millivolt of a lower VFinal.
    pub last: f64,
}

/// The cells of a part, checked: see [`CellsFile::check`](super::CellsFile::check).
#[derive(Clone, Debug, PartialEq)]
pub struct CellSet {
    /// Name of the set.
    pub name: String,
    /// The source of its numbers.
    pub source: String,
    /// New cells.
    pub base: Base,
    /// The shape of distributions.
    pub shape: Shape,
    /// The coding of the states.
    pub coding: Coding,
    /// The read reference voltages of the part, one for each boundary.
    pub references: Vec<f64>,
    /// P/E cycles.
    pub cycles: Option<Cycles>,
    /// Retention.
    pub retention: Option<Retention>,
    /// Read disturb.
    pub disturb: Option<Disturb>,
    /// Interference by programs of neighbours.
    pub interference: Option<Interference>,
    /// Background pattern of the string.
    pub background: Option<Background>,
    /// The variation by layer, block and chip.
    pub variation: Option<Variation>,
    /// Parameters of programming.
    pub ispp: Option<Ispp>,
    /// The cost of narrower windows.
    pub margins: Margins,
    /// Parameters of reading.
    pub reading: Option<Reading>,
    /// Fixed factors instead of the cell model.
    pub factors: Option<Factors>,
}

/// The change of threshold voltages by the parameters of a program; no change by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramEffect {
    /// Increase of VStart, in millivolts.
    pub start_margin: f64,
    /// Decrease of VFinal, in millivolts.
    pub final_margin: f64,
    /// For each programmed state: the shares of its cells that lie 1, 2 ... states too high.
    pub over: Vec<Vec<f64>>,
}

impl ProgramEffect {
    /// The change by a program with these parameters.
    pub fn of(how: &ProgramParameters<'_>, programmed: &Programmed) -> Self {
        Self { start_margin: how.start_margin, final_margin: how.final_margin, over: programmed.over.clone() }
    }
}

impl CellSet {
    /// Number of states of its cells.
    pub fn states(&self) -> usize {
        self.coding.states()
    }

    /// The highest retry table entry of a read, if the set has read parameters.
    pub fn highest_entry(&self) -> Option<u8> {
        let last = (self.reading.as_ref()?.entries() - 1) as u8;
        Some(last + self.factors.as_ref().map_or(0, |factors| factors.kept_entries(last)))
    }

    /// The threshold voltages of new cells. Measured sets include the age; the other sets have the voltages
    /// directly after the program.
    fn base_at(&self, condition: &Condition, effects: Effects) -> Vec<Level> {
        match &self.base {
            Base::Programmed(states) => states.clone(),
            Base::Measured(ages) if effects.has(Effect::Retention) => ages.at(condition.hours),
            Base::Measured(ages) => ages.states[0].clone(),
        }
    }

    /// The terms of all enabled effects.
    pub fn terms(&self, strength: &CellProperties, condition: &Condition, effects: Effects) -> Vec<Term> {
        let states = self.states();
        let cycles = self.cycles.map(|cycles| cycles.term(states, condition, strength));
        let retention = self.retention.as_ref().map(|term| term.term(states, condition, strength));
        let disturb = self.disturb.map(|disturb| disturb.term(states, condition, strength));
        let interference = self.interference.map(|term| term.term(states, condition));
        let all = [cycles, retention, disturb, interference].into_iter().flatten();
        all.filter(|term| effects.has(term.effect)).collect()
    }

    /// The threshold voltages of new cells of a location, before the effects of its condition.
    pub fn new_levels(
        &self,
        strength: &CellProperties,
        condition: &Condition,
        effects: Effects,
        written: &ProgramEffect,
    ) -> Levels {
        let mut states = self.base_at(condition, effects);
        states.iter_mut().for_each(|level| level.deviation *= strength.width);
        let mut widen = |state: usize, more: f64| {
            let level: &mut Level = &mut states[state];
            level.deviation = libm::hypot(level.deviation, more);
        };
        widen(1, self.margins.start * written.start_margin);
        widen(self.states() - 1, self.margins.last * written.final_margin);
        if let Some(background) = self.background.filter(|_| effects.has(Effect::Background)) {
            let share = background.share_of(condition.ahead);
            let left = LeftTail { share, drop: if share > 0.0 { background.drop } else { 0.0 } };
            states.iter_mut().skip(1).for_each(|level| level.left = left);
        }
        Levels { states, shape: self.shape, coding: self.coding.clone(), over: written.over.clone() }
    }

    /// The threshold voltages of the cells of a location under `condition`.
    pub fn levels(
        &self,
        strength: &CellProperties,
        condition: &Condition,
        effects: Effects,
        written: &ProgramEffect,
    ) -> Levels {
        let mut levels = self.new_levels(strength, condition, effects, written);
        for term in self.terms(strength, condition, effects) {
            for (level, (shift, variance)) in
                levels.states.iter_mut().zip(term.shift.iter().zip(&term.variance))
            {
                level.mean += shift;
                level.deviation = (level.deviation * level.deviation + variance).sqrt();
            }
        }
        levels
    }

    /// The share of cells misread between the erased state and P1 at the default reference, directly after a
    /// program: BER_EP1 (cubeFTL, section 4.1.2). The paper does not define the denominator. Chosen: the
    /// cells of these two states.
    pub fn erased_to_p1(&self, levels: &Levels) -> f64 {
        levels.boundary_error(0, self.references[0]) * self.states() as f64 / 2.0
    }
}
