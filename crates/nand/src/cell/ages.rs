//! Threshold voltages that are published as a table: eight states at five ages.
//!
//! Cai et al., Proc. IEEE 105(9), 2017 (arXiv:1706.08642), tables 4 and 5: planar TLC at 2,000 cycles. The
//! set `cai-tlc-2017` (`data/cells`) has the numbers; this module interpolates between the ages.

use super::levels::Level;

/// Means and deviations of all states at several ages, the youngest first.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredAges {
    /// Hours since the program, increasing.
    pub hours: Vec<f64>,
    /// The states at each age.
    pub states: Vec<Vec<Level>>,
}

impl MeasuredAges {
    /// The states after `hours`: interpolated linearly over the logarithm of time, constant before the first
    /// and after the last age.
    pub fn at(&self, hours: f64) -> Vec<Level> {
        let next = self.hours.iter().position(|age| *age >= hours).unwrap_or(self.hours.len() - 1);
        let before = next.saturating_sub(1);
        let (from, to) = (self.hours[before], self.hours[next]);
        let share = if to > from { libm::log(hours.max(from) / from) / libm::log(to / from) } else { 1.0 };
        let share = share.clamp(0.0, 1.0);
        let blend = |a: f64, b: f64| a + share * (b - a);
        let pairs = self.states[before].iter().zip(&self.states[next]);
        pairs
            .map(|(a, b)| Level {
                mean: blend(a.mean, b.mean),
                deviation: blend(a.deviation, b.deviation),
                left: a.left,
            })
            .collect()
    }
}
