//! The effects on threshold voltages, each as one term.
//!
//! A term shifts the mean of each state and adds a variance. Terms are independent and add up. All terms
//! except interference only widen states or bring neighbours closer together. More cycles, time, heat or
//! reads therefore never cause fewer errors.

use super::condition::{Condition, Effect, acceleration};
use super::variation::CellProperties;

/// The effect of P/E cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// The deviation that 1,000 cycles add to each state.
    pub widening: f64,
    /// The rise of the erased state by 1,000 cycles.
    pub erased_rise: f64,
    /// The exponent of the cycles in the growth of `widening` and `erased_rise`.
    pub exponent: f64,
}

/// The effect of retention: logarithmic in time, faster in heat and in worn cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Retention {
    /// The shift of the mean of each state per decade of time, at `cycles`.
    pub drift: Vec<f64>,
    /// The variance that each state gains per decade of time, at `cycles`.
    pub widening: f64,
    /// The cycles at which the two values above apply.
    pub cycles: f64,
    /// The exponent of the cycles in the growth of `drift` and `widening`.
    pub exponent: f64,
    /// The share of `drift` and `widening` that new cells have.
    pub unworn: f64,
    /// The time at which retention begins, in hours: decades of time are counted from it.
    pub onset: f64,
    /// The activation energy, in electron volts.
    pub energy: f64,
    /// The reference temperature of the retention time, in degrees Celsius.
    pub celsius: f64,
}

/// Read disturb: reads raise low states more than high states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturb {
    /// The rise of the erased state by a million reads, at 1,000 cycles.
    pub rise: f64,
    /// The exponent of the reads in the growth of `rise`.
    pub exponent: f64,
}

/// Interference: the effect of programming neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interference {
    /// The rise of all states by each further program of the neighbours.
    pub rise: f64,
    /// The variance that each program adds.
    pub widening: f64,
}

/// The effect of the background pattern of a string: some cells do not reach the other cells of their state
/// (ReSSD, section 3.3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// The share of cells left behind after one reprogram during which one cell above had more passes.
    pub share: f64,
    /// The exponent of [`Condition::ahead`] in the growth of `share`.
    pub power: f64,
    /// The distance by which these cells are left behind.
    pub drop: f64,
}

/// The shift of each state by an effect, the erased state first.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The effect.
    pub effect: Effect,
    /// The shift of the mean of each state.
    pub shift: Vec<f64>,
    /// The variance that it adds to each state.
    pub variance: Vec<f64>,
}

impl Cycles {
    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &CellProperties) -> Term {
        let worn = libm::pow(condition.cycles / 1_000.0, self.exponent) * strength.stress;
        let mut shift = vec![0.0; states];
        shift[0] = self.erased_rise * worn;
        Term { effect: Effect::Cycles, shift, variance: vec![(self.widening * worn).powi(2); states] }
    }
}

impl Retention {
    /// Decades of time since the onset.
    pub fn decades(&self, hours: f64, celsius: f64) -> f64 {
        let hours = hours * acceleration(self.energy, celsius, self.celsius);
        libm::log1p(hours / self.onset) / std::f64::consts::LN_10
    }

    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &CellProperties) -> Term {
        let worn = libm::pow(condition.cycles / self.cycles, self.exponent);
        let worn = (self.unworn + (1.0 - self.unworn) * worn) * strength.stress;
        let decades = self.decades(condition.hours, condition.celsius);
        let shift = self.drift.iter().map(|drift| drift * worn * decades).collect();
        Term {
            effect: Effect::Retention,
            shift,
            variance: vec![self.widening * worn * worn * decades; states],
        }
    }
}

impl Disturb {
    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &CellProperties) -> Term {
        let grown =
            libm::pow(condition.reads / 1e6, self.exponent) * (1.0 + condition.cycles / 1_000.0) / 2.0;
        let above = |state: usize| 1.0 - state as f64 / (states - 1) as f64;
        let shift = (0..states).map(|state| self.rise * grown * strength.stress * above(state).powi(2));
        Term { effect: Effect::Disturb, shift: shift.collect(), variance: vec![0.0; states] }
    }
}

impl Interference {
    pub(super) fn term(&self, states: usize, condition: &Condition) -> Term {
        let (shift, variance) = (self.rise * condition.again, self.widening * condition.again);
        Term { effect: Effect::Interference, shift: vec![shift; states], variance: vec![variance; states] }
    }
}

impl Background {
    /// The share of cells left behind, for this [`Condition::ahead`].
    pub fn share_of(&self, ahead: f64) -> f64 {
        if ahead > 0.0 { (self.share * libm::pow(ahead, self.power)).min(1.0) } else { 0.0 }
    }
}
