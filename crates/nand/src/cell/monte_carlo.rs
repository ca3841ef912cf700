//! Monte Carlo form of the model: single cells are programmed, aged by their condition, and sensed.
//!
//! This form has the same parameters, states and shifts as the analytic form. It counts the errors of cells
//! that are drawn one by one, where the analytic form integrates the tails of distributions.

use wordline_kernel::Stream;

use super::condition::{Condition, Effects};
use super::ispp::ProgramParameters;
use super::levels::{Level, Levels};
use super::math::{Shape, normal};
use super::set::{CellSet, ProgramEffect};
use super::terms::Term;
use super::variation::CellProperties;

/// Cells of one word line and condition, drawn one by one.
#[derive(Debug)]
pub struct Population<'a> {
    set: &'a CellSet,
    how: ProgramParameters<'a>,
    new: Levels,
    terms: Vec<Term>,
    verified_from: Vec<u32>,
}

impl<'a> Population<'a> {
    /// The cells of `set` with the properties `strength`, programmed with `how`, under `condition`.
    pub fn new(
        set: &'a CellSet,
        strength: &CellProperties,
        condition: &Condition,
        effects: Effects,
        how: ProgramParameters<'a>,
    ) -> Self {
        let how = ProgramParameters { faster: strength.faster, ..how };
        let margins = ProgramEffect {
            start_margin: how.start_margin,
            final_margin: how.final_margin,
            over: Vec::new(),
        };
        let new = set.new_levels(strength, condition, effects, &margins);
        let terms = set.terms(strength, condition, effects);
        let verified_from = (0..set.states() - 1)
            .map(|state| u32::from(how.skipped.get(state).copied().unwrap_or_default()) + 1)
            .collect();
        Self { set, how, new, terms, verified_from }
    }

    /// The state that a cell reaches when programmed to `state`. It is a higher state if the cell passed
    /// before it was verified.
    fn programmed(&self, state: usize, random: &mut Stream) -> usize {
        let Some(ispp) = self.set.ispp.as_ref().filter(|_| state > 0 && !self.how.skipped.is_empty()) else {
            return state;
        };
        let passed = ispp.drawn_loop(state - 1, &self.how, random);
        let beyond = self.verified_from[state - 1].saturating_sub(passed);
        (state + beyond as usize).min(self.set.states() - 1)
    }

    /// The threshold voltage of a cell that is programmed to `state`.
    pub fn draw(&self, state: usize, random: &mut Stream) -> f64 {
        let state = self.programmed(state, random);
        let level: &Level = &self.new.states[state];
        let dropped = level.left.share > 0.0 && random.unit() < level.left.share;
        let mut mean = level.mean - if dropped { level.left.drop } else { 0.0 };
        if let Shape::Student { .. } = self.new.shape {
            // A sum of Student's t variables would have another shape. So the variances are added, and one
            // sample of the sum is drawn with this shape.
            let variance: f64 = self.terms.iter().map(|term| term.variance[state]).sum();
            mean += self.terms.iter().map(|term| term.shift[state]).sum::<f64>();
            return mean
                + (level.deviation * level.deviation + variance).sqrt() * self.new.shape.sample(random);
        }
        let mut voltage = mean + level.deviation * normal(random);
        for term in &self.terms {
            voltage += term.shift[state];
            if term.variance[state] > 0.0 {
                voltage += term.variance[state].sqrt() * normal(random);
            }
        }
        voltage
    }

    /// Bit errors of `page` in `cells` cells, whose states alternate, with `references`.
    pub fn bit_errors(&self, page: u32, references: &[f64], cells: u64, random: &mut Stream) -> u64 {
        let coding = &self.set.coding;
        let sensed: Vec<f64> = coding.sensed(page).map(|at| references[at]).collect();
        let erased = coding.bit(0, page);
        let wrong = |cell: u64, random: &mut Stream| {
            let state = (cell % self.set.states() as u64) as usize;
            let voltage = self.draw(state, random);
            let flips = sensed.iter().filter(|reference| voltage >= **reference).count();
            (erased ^ (flips % 2 == 1)) != coding.bit(state, page)
        };
        (0..cells).filter(|cell| wrong(*cell, random)).count() as u64
    }
}
