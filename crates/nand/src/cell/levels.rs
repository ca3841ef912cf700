//! Threshold voltages of the states, and the misread cells at given read reference voltages.
//!
//! Voltages are in the units of the parameter set, mostly steps of a read offset on the scale of Cai et al.
//! (Proc. IEEE 105(9), 2017). On this scale 0 is ground and neighbouring states lie about 64 apart.

use super::coding::Coding;
use super::math::{Shape, least};

/// The distribution of the threshold voltages of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, above 0.
    pub deviation: f64,
    /// The left tail: cells that programming left below the other cells.
    pub left: LeftTail,
}

/// The left tail of a state: cells that did not reach the other cells of the state within the loops of their
/// program. ReSSD (section 3.3.3) describes this effect of the background pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftTail {
    /// Share of these cells, 0 for none.
    pub share: f64,
    /// Distance of their mean below the mean of the other cells.
    pub drop: f64,
}

/// The states of a cell and their coding.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The states, the erased one first.
    pub states: Vec<Level>,
    /// The shape of their distributions.
    pub shape: Shape,
    /// The bits that they encode.
    pub coding: Coding,
    /// Over-programming: for each programmed state, the lowest first, the shares of its cells that lie 1, 2
    /// ... states too high. Usually empty.
    pub over: Vec<Vec<f64>>,
}

impl Level {
    /// The share of cells above `voltage`.
    pub fn above(&self, voltage: f64, shape: Shape) -> f64 {
        let x = (voltage - self.mean) / self.deviation;
        let all = shape.above(x);
        if self.left.share == 0.0 {
            return all;
        }
        let left = shape.above(x + self.left.drop / self.deviation);
        all + self.left.share * (left - all)
    }

    /// The share of cells below `voltage`.
    pub fn below(&self, voltage: f64, shape: Shape) -> f64 {
        let turned =
            Self { mean: -self.mean, left: LeftTail { drop: -self.left.drop, ..self.left }, ..*self };
        turned.above(-voltage, shape)
    }

    /// The share of cells between `low` and `high`, without loss of precision in the tails.
    fn between(&self, low: f64, high: f64, shape: Shape) -> f64 {
        let share = if low >= self.mean {
            self.above(low, shape) - self.above(high, shape)
        } else if high <= self.mean {
            self.below(high, shape) - self.below(low, shape)
        } else {
            1.0 - self.below(low, shape) - self.above(high, shape)
        };
        share.max(0.0)
    }
}

impl Levels {
    /// The states from `base` on, as many as `coding` has: the states of a cell that stores fewer bits.
    #[must_use]
    pub fn part(&self, base: usize, coding: Coding) -> Self {
        let states: Vec<usize> = (base..base + coding.states()).collect();
        self.of_states(&states, coding)
    }

    /// Only the states with these numbers, encoded by `coding`, which has as many states.
    #[must_use]
    pub fn of_states(&self, states: &[usize], coding: Coding) -> Self {
        let states = states.iter().map(|state| self.states[*state]).collect();
        Self { states, shape: self.shape, coding, over: Vec::new() }
    }

    /// Number of boundaries between states.
    pub fn boundaries(&self) -> usize {
        self.states.len() - 1
    }

    /// The share of all cells that are misread at the boundary between states `at` and `at + 1`, with its
    /// reference at `reference`. All states are equally frequent.
    pub fn boundary_error(&self, at: usize, reference: f64) -> f64 {
        let (low, high) = (&self.states[at], &self.states[at + 1]);
        let wrong = low.above(reference, self.shape) + high.below(reference, self.shape);
        wrong / self.states.len() as f64
    }

    /// The reference between states `at` and `at + 1` at which the fewest cells are misread.
    pub fn optimal_reference(&self, at: usize) -> f64 {
        let (low, high) = (self.states[at].mean, self.states[at + 1].mean);
        least(low.min(high), high.max(low), |reference| self.boundary_error(at, reference))
    }

    /// The references at which the fewest cells are misread.
    pub fn optimal_references(&self) -> Vec<f64> {
        (0..self.boundaries()).map(|at| self.optimal_reference(at)).collect()
    }

    /// The raw bit error rate of a page (0 for the lowest) with `references`, one for each boundary.
    pub fn page_error(&self, page: u32, references: &[f64]) -> f64 {
        let states = 0..self.states.len();
        states.map(|state| self.state_error(state, page, references)).sum::<f64>() / self.states.len() as f64
    }

    /// The mean of [`page_error`](Self::page_error) over the pages of a word line.
    pub fn mean_error(&self, references: &[f64]) -> f64 {
        let bits = self.coding.bits();
        (0..bits).map(|page| self.page_error(page, references)).sum::<f64>() / f64::from(bits)
    }

    /// The share of cells of a state that give the wrong bit of a page.
    pub fn state_error(&self, state: usize, page: u32, references: &[f64]) -> f64 {
        let over: &[f64] =
            state.checked_sub(1).and_then(|state| self.over.get(state)).map_or(&[], Vec::as_slice);
        let right = self.coding.bit(state, page);
        let mut wrong = self.read_wrong(state, right, page, references);
        if over.is_empty() {
            return wrong;
        }
        wrong *= 1.0 - over.iter().sum::<f64>();
        for (beyond, share) in over.iter().enumerate() {
            let lies_in = (state + beyond + 1).min(self.states.len() - 1);
            wrong += share * self.read_wrong(lies_in, right, page, references);
        }
        wrong
    }

    /// The share of cells lying in `state` that do not give the bit `right` of a page.
    fn read_wrong(&self, state: usize, right: bool, page: u32, references: &[f64]) -> f64 {
        let (mut low, mut bit) = (f64::NEG_INFINITY, self.coding.bit(0, page));
        let mut wrong = 0.0;
        let ends = self.coding.sensed(page).map(|at| references[at]).chain([f64::INFINITY]);
        for high in ends {
            if bit != right && high > low {
                wrong += self.states[state].between(low, high, self.shape);
            }
            (low, bit) = (low.max(high), !bit);
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(shape: Shape) -> Levels {
        let level = |mean| Level { mean, deviation: 12.0, left: LeftTail { share: 0.01, drop: 20.0 } };
        let states = (0..8).map(|state| level(64.0 * f64::from(state))).collect();
        Levels { states, shape, coding: Coding::usual(3), over: Vec::new() }
    }

    #[test]
    fn errors_of_a_page_are_those_of_the_boundaries_that_it_senses() {
        let levels = levels(Shape::Gaussian);
        let references = levels.optimal_references();
        for page in 0..3 {
            let sensed = levels.coding.sensed(page);
            let boundaries: f64 = sensed.map(|at| levels.boundary_error(at, references[at])).sum();
            let found = levels.page_error(page, &references);
            assert!((found / boundaries - 1.0).abs() < 1e-3, "page {page}: {found} {boundaries}");
        }
    }

    #[test]
    fn no_reference_is_better_than_the_optimal_one() {
        let levels = levels(Shape::Student { freedom: 6 });
        for at in 0..7 {
            let best = levels.optimal_reference(at);
            let error = levels.boundary_error(at, best);
            assert!(
                (-30..=30).all(|step| levels.boundary_error(at, best + f64::from(step)) >= error * 0.999_999)
            );
        }
    }
}
