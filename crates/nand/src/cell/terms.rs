//! The effects on threshold voltages, one term each.
//!
//! A term moves the mean of each state and adds a variance; terms add up, as independent causes do. All but one make boundaries worse
//! in one way: they widen states, or bring neighbours closer together. So more cycles, time, heat or reads never give fewer errors.

use super::condition::{Condition, Effect, acceleration};
use super::variation::Strength;

/// The effect of program and erase cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycles {
    /// The deviation that 1,000 cycles add to each state.
    pub widening: f64,
    /// By how much 1,000 cycles raise the erased state.
    pub erased_rise: f64,
    /// The power of the cycles with which both grow.
    pub exponent: f64,
}

/// The effect of retention: it goes with the logarithm of time, faster in heat and in worn cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Retention {
    /// By how much the mean of each state moves in ten times the time, at `cycles`.
    pub drift: Vec<f64>,
    /// The variance that each state gains in ten times the time, at `cycles`.
    pub widening: f64,
    /// The cycles at which the two above hold.
    pub cycles: f64,
    /// The power of the cycles with which both grow.
    pub exponent: f64,
    /// The share of both that new cells have.
    pub unworn: f64,
    /// When the logarithm begins, in hours.
    pub onset: f64,
    /// The activation energy, in electron volts.
    pub energy: f64,
    /// The temperature at which time counts as it is, in degrees Celsius.
    pub celsius: f64,
}

/// Read disturb: reads raise low states more than high ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturb {
    /// By how much a million reads raise the erased state, at 1,000 cycles.
    pub rise: f64,
    /// The power of the reads with which it grows.
    pub exponent: f64,
}

/// Interference: the effect of programming neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interference {
    /// By how much each further program of the neighbours raises all states.
    pub rise: f64,
    /// The variance that each adds.
    pub widening: f64,
}

/// The background pattern of a string: some cells do not get as far as the others (ReSSD, section 3.3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// The share of cells left behind where cells above were ahead once.
    pub share: f64,
    /// The power with which it grows.
    pub power: f64,
    /// How far they are left behind.
    pub drop: f64,
}

/// The shift of each state by an effect, the erased one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Which effect.
    pub effect: Effect,
    /// By how much it moves the mean of each state.
    pub shift: Vec<f64>,
    /// The variance that it adds to each state.
    pub variance: Vec<f64>,
}

impl Cycles {
    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &Strength) -> Term {
        let worn = libm::pow(condition.cycles / 1_000.0, self.exponent) * strength.stress;
        let mut shift = vec![0.0; states];
        shift[0] = self.erased_rise * worn;
        Term { effect: Effect::Cycles, shift, variance: vec![(self.widening * worn).powi(2); states] }
    }
}

impl Retention {
    /// Powers of ten of time since the onset.
    pub fn decades(&self, hours: f64, celsius: f64) -> f64 {
        let hours = hours * acceleration(self.energy, celsius, self.celsius);
        libm::log1p(hours / self.onset) / std::f64::consts::LN_10
    }

    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &Strength) -> Term {
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
    pub(super) fn term(&self, states: usize, condition: &Condition, strength: &Strength) -> Term {
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
    /// The share of cells left behind where cells above were ahead so often.
    pub fn share_of(&self, ahead: f64) -> f64 {
        if ahead > 0.0 { (self.share * libm::pow(ahead, self.power)).min(1.0) } else { 0.0 }
    }
}
