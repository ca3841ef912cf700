//! Axes of varied keys. Numbers, sizes and times have proportional distances. Other values are placed side by
//! side.

use serde_json::{Value as Json, json};
use wordline_kernel::{Bytes, Duration};
use wordline_lab::report::LATENCY_LABELS;

use crate::judge::outcome::Value;

/// Unit of the amounts of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Number,
    Bytes,
    /// Time in microseconds, as on axes of latency.
    Time,
}

/// Spacing of the values on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    Linear,
    Logarithmic,
    /// Logarithmic above this value, and linear from zero up to it.
    FromZero(f64),
}

/// Axis of a key whose values are all numbers of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyAxis {
    measure: Measure,
    spacing: Spacing,
    /// The different values, ascending.
    amounts: Vec<f64>,
}

/// An axis with growing steps is logarithmic if the greatest value exceeds this many times the least. Chosen:
/// three doublings.
const LOGARITHMIC: f64 = 8.0;

/// Steps count as growing if the greatest step exceeds this many times the least. Chosen: rounding makes even
/// steps differ a little, doubling by at least a factor of two.
const UNEVEN: f64 = 1.9;

/// Maximum number of values that each have a tick. Chosen: as many as fit on a page.
const MAX_OWN_TICKS: usize = 24;

/// Pixels between the edge of the plot and the first and the last value. Chosen: half of an error bar with
/// its mark.
const EDGE: u32 = 14;

const SIZE_LABELS: &str = "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.4~g') + ' GiB' : \
     datum.value >= 1048576 ? format(datum.value / 1048576, '.4~g') + ' MiB' : \
     datum.value >= 1024 ? format(datum.value / 1024, '.4~g') + ' KiB' : format(datum.value, '~g') + ' B'";

impl KeyAxis {
    /// The axis of a key with these values. `None` if a value is not a number with an optional unit, or if
    /// units differ.
    pub fn of(values: &[Value]) -> Option<Self> {
        let all: Vec<(f64, Measure)> = values.iter().map(amount).collect::<Option<_>>()?;
        let (_, measure) = *all.first()?;
        if all.iter().any(|(_, other)| *other != measure) {
            return None;
        }
        let mut amounts: Vec<f64> = all.into_iter().map(|(amount, _)| amount).collect();
        amounts.sort_by(f64::total_cmp);
        amounts.dedup();
        Some(Self { measure, spacing: spacing(&amounts), amounts })
    }

    /// Number of different values.
    pub fn len(&self) -> usize {
        self.amounts.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    /// Position of a value on the axis; `None` if it is not a number.
    pub fn place(&self, value: &Value) -> Option<f64> {
        amount(value).map(|(amount, _)| amount)
    }

    /// Encoding of the chart field that contains these positions.
    pub fn channel(&self, field: &str, title: &str) -> Json {
        let mut scale = json!({ "type": "linear", "zero": false, "nice": false, "padding": EDGE });
        match self.spacing {
            Spacing::Linear => {}
            Spacing::Logarithmic => scale["type"] = "log".into(),
            Spacing::FromZero(least) => {
                (scale["type"], scale["constant"]) = ("symlog".into(), least.into());
            }
        }
        let labels = match self.measure {
            Measure::Number => "format(datum.value, ',.4~r')",
            Measure::Bytes => SIZE_LABELS,
            Measure::Time => LATENCY_LABELS,
        };
        let mut axis = json!({ "labelExpr": labels, "labelOverlap": "greedy", "labelSeparation": 6, "labelAngle": 0, "grid": false });
        if self.len() <= MAX_OWN_TICKS {
            axis["values"] = json!(self.amounts);
        }
        json!({ "field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis })
    }

    /// Edges of the cells of a map. Each edge lies half-way between two neighbouring values. There is one
    /// edge more than there are values.
    pub fn edges(&self) -> Vec<f64> {
        let on: Vec<f64> = self.amounts.iter().map(|amount| self.to_distance(*amount)).collect();
        let between = on.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
        let mut edges: Vec<f64> = between.collect();
        let (Some(first), Some(last)) = (edges.first().copied(), edges.last().copied()) else {
            let only = self.amounts.first().copied().unwrap_or(0.0);
            return vec![only - 0.5, only + 0.5];
        };
        edges.insert(0, 2.0 * on[0] - first);
        edges.push(2.0 * on[on.len() - 1] - last);
        edges.into_iter().map(|edge| self.amount_at(edge)).collect()
    }

    /// Width of the narrowest cell, as a fraction of the axis.
    pub fn narrowest(&self) -> f64 {
        let on: Vec<f64> = self.edges().iter().map(|edge| self.to_distance(*edge)).collect();
        let all = on[on.len() - 1] - on[0];
        on.windows(2).map(|pair| (pair[1] - pair[0]) / all).fold(1.0, f64::min)
    }

    /// Distance of a value from the beginning of the axis.
    fn to_distance(&self, amount: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => amount,
            Spacing::Logarithmic => libm::log(amount),
            Spacing::FromZero(least) => libm::log1p(amount.abs() / least).copysign(amount),
        }
    }

    fn amount_at(&self, distance: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => distance,
            Spacing::Logarithmic => libm::exp(distance),
            Spacing::FromZero(least) => (libm::expm1(distance.abs()) * least).copysign(distance),
        }
    }
}

/// A value as a number, with its unit.
fn amount(value: &Value) -> Option<(f64, Measure)> {
    match value {
        Value::Number(number) => number.is_finite().then_some((*number, Measure::Number)),
        Value::Text(text) => {
            let size = || text.parse::<Bytes>().ok().map(|size| (size.0 as f64, Measure::Bytes));
            size().or_else(|| text.parse::<Duration>().ok().map(|time| (time.us(), Measure::Time)))
        }
    }
}

/// The spacing of these values. Growing steps such as 1, 2, 4, 8, 16 are evenly spaced on a logarithmic axis.
fn spacing(amounts: &[f64]) -> Spacing {
    let above: Vec<f64> = amounts.iter().copied().filter(|amount| *amount > 0.0).collect();
    let (Some(least), Some(most)) = (above.first(), above.last()) else { return Spacing::Linear };
    let steps = above.windows(2).map(|pair| pair[1] - pair[0]);
    let (narrow, wide) =
        steps.fold((f64::INFINITY, 0.0_f64), |(least, most), step| (least.min(step), most.max(step)));
    if amounts[0] < 0.0 || *most < LOGARITHMIC * least || wide < UNEVEN * narrow {
        return Spacing::Linear;
    }
    if above.len() == amounts.len() { Spacing::Logarithmic } else { Spacing::FromZero(*least) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<const N: usize>(all: [f64; N]) -> KeyAxis {
        KeyAxis::of(&all.map(Value::Number)).expect("numbers are amounts")
    }

    fn texts<const N: usize>(all: [&str; N]) -> Option<KeyAxis> {
        KeyAxis::of(&all.map(|text| Value::Text(text.into())))
    }

    #[test]
    fn amounts_stand_at_their_own_distances() {
        let even = numbers([0.28, 0.07, 0.14, 0.21]).channel("x", "over-provisioning");
        assert_eq!((&even["type"], &even["scale"]["type"]), (&json!("quantitative"), &json!("linear")));
        assert_eq!(even["axis"]["values"], json!([0.07, 0.14, 0.21, 0.28]));
        assert_eq!(numbers([1.0, 2.0, 4.0, 8.0]).spacing, Spacing::Logarithmic);
        assert_eq!(numbers([0.0, 2.0, 8.0, 32.0]).spacing, Spacing::FromZero(2.0));
        assert_eq!(numbers([1.0, 9.0]).spacing, Spacing::Linear, "one step does not grow");
        assert_eq!(numbers([-4.0, 1.0, 100.0]).spacing, Spacing::Linear);
    }

    #[test]
    fn sizes_and_times_are_amounts_and_words_are_not() {
        let sizes = texts(["4KiB", "1MiB"]).expect("sizes");
        assert_eq!((sizes.amounts.as_slice(), sizes.measure), (&[4_096.0, 1_048_576.0][..], Measure::Bytes));
        let times = texts(["2ms", "100us"]).expect("times");
        assert_eq!((times.amounts.as_slice(), times.measure), (&[100.0, 2_000.0][..], Measure::Time));
        assert_eq!(texts(["greedy", "fifo"]), None);
        assert_eq!(texts(["4KiB", "2ms"]), None, "two units have no common axis");
    }

    #[test]
    fn cells_of_a_map_end_half_way_to_the_next_amount() {
        assert_eq!(numbers([1.0, 2.0, 5.0]).edges(), [0.5, 1.5, 3.5, 6.5]);
        let doubled = numbers([1.0, 4.0, 16.0, 64.0]).edges();
        let wanted = [0.5, 2.0, 8.0, 32.0, 128.0];
        assert!(doubled.iter().zip(wanted).all(|(edge, wanted)| (edge - wanted).abs() < 1e-9), "{doubled:?}");
        assert!((numbers([1.0, 4.0, 16.0, 64.0]).narrowest() - 0.25).abs() < 1e-9);
        assert_eq!(numbers([7.0]).edges(), [6.5, 7.5]);
    }
}
