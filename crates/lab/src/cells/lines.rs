//! Word lines of a layer: program order within a block, and differences between word lines.

use wordline_kernel::Seed;
use wordline_nand::cell::{CellLocation, drawn_count};

/// Program order of the word lines of a block (cubeFTL, figure 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All word lines of a layer, then those of the next layer.
    Horizontal,
    /// The first word line of every layer, then the second word line of every layer, and so on.
    Vertical,
    /// Layer by layer, with the first word line one layer ahead of the others.
    Mixed,
    /// The first word line of every layer, then the other word lines layer by layer.
    LeadersFirst,
}

impl Order {
    pub(super) const NAMES: [&'static str; 4] = ["horizontal", "vertical", "mixed", "leaders-first"];

    pub(super) fn named(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Some([Self::Horizontal, Self::Vertical, Self::Mixed, Self::LeadersFirst][at])
    }

    /// Layer and word line of each program of a block, in program order.
    fn programs(self, layers: u32, lines: u32) -> Vec<(u32, u32)> {
        let of_layer = |layer: u32, from: u32| (from..lines).map(move |line| (layer, line));
        match self {
            Self::Horizontal => (0..layers).flat_map(|layer| of_layer(layer, 0)).collect(),
            Self::Vertical => {
                (0..lines).flat_map(|line| (0..layers).map(move |layer| (layer, line))).collect()
            }
            Self::Mixed => (0..=layers)
                .flat_map(|layer| {
                    let leader = (layer < layers).then_some((layer, 0));
                    let before = layer.checked_sub(1).into_iter().flat_map(move |below| of_layer(below, 1));
                    leader.into_iter().chain(before)
                })
                .collect(),
            Self::LeadersFirst => {
                let leaders = (0..layers).map(|layer| (layer, 0));
                leaders.chain((0..layers).flat_map(|layer| of_layer(layer, 1))).collect()
            }
        }
    }

    /// The number of neighbours that are programmed later than a word line, for each word line of a block,
    /// layer by layer. A word line has up to eight neighbours.
    pub(super) fn later_neighbours(self, layers: u32, lines: u32) -> Vec<u32> {
        let mut turn = vec![0; (layers * lines) as usize];
        for (n, (layer, line)) in self.programs(layers, lines).into_iter().enumerate() {
            turn[(layer * lines + line) as usize] = n;
        }
        let at = |layer: i64, line: i64| {
            let is_there = (0..i64::from(layers)).contains(&layer) && (0..i64::from(lines)).contains(&line);
            is_there.then(|| turn[(layer * i64::from(lines) + line) as usize])
        };
        let later = |(layer, line): (i64, i64)| {
            let own = at(layer, line);
            let around = (-1..=1).flat_map(|up| (-1..=1).map(move |aside| (layer + up, line + aside)));
            around.filter(|(layer, line)| at(*layer, *line) > own).count() as u32
        };
        let all =
            (0..i64::from(layers)).flat_map(|layer| (0..i64::from(lines)).map(move |line| (layer, line)));
        all.map(later).collect()
    }
}

/// Differences between the word lines of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LineResult {
    /// Ratio of the error rates of a layer's worst and best word line (dH), mean over layers.
    pub ratio: f64,
    /// The ratio dH with error counts drawn at random.
    pub drawn_ratio: f64,
    /// Range of the drawn error counts in a layer, divided by the range expected from counting statistics
    /// alone.
    pub in_counting_errors: f64,
}

/// Mean range of n normal variables, in standard deviations, at index n (David, Order Statistics: 1.128,
/// 1.693, 2.059 ...).
const RANGES: [f64; 9] = [0.0, 0.0, 1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847];

impl LineResult {
    /// Compares the error rates of word lines within each layer. `rates` are in the order of layers, `bits`
    /// is the size of a word line.
    pub(super) fn of(rates: &[(CellLocation, f64)], bits: f64, seed: Seed) -> Self {
        let mut random = seed.stream("cells.lines", 0);
        let (mut sums, mut layers) = ([0.0; 3], 0.0);
        for layer in rates.chunk_by(|a, b| a.0 == b.0) {
            let drawn: Vec<f64> =
                layer.iter().map(|(_, rate)| f64::from(drawn_count(rate * bits, &mut random))).collect();
            let expected: Vec<f64> = layer.iter().map(|(_, rate)| *rate).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let range = RANGES.get(layer.len()).copied().unwrap_or(f64::NAN);
            let most = drawn.iter().copied().fold(0.0, f64::max);
            let least = drawn.iter().copied().fold(f64::INFINITY, f64::min);
            let of_chance = range * mean.sqrt();
            let all = [ratio(&expected), ratio(&drawn), (most - least) / of_chance];
            sums.iter_mut().zip(all).for_each(|(sum, of)| *sum += of);
            layers += 1.0;
        }
        let [ratio, drawn_ratio, in_counting_errors] = sums.map(|sum| sum / layers);
        Self { ratio, drawn_ratio, in_counting_errors }
    }
}

/// The greatest value divided by the least.
fn ratio(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(0.0, f64::max);
    most / values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_programs_each_word_line_once_and_each_pair_of_neighbours_has_a_later_one() {
        for order in [Order::Horizontal, Order::Vertical, Order::Mixed, Order::LeadersFirst] {
            let mut programs = order.programs(6, 4);
            programs.sort_unstable();
            programs.dedup();
            assert_eq!(programs.len(), 24, "{order:?}");
            // Neighbouring pairs of word lines: 6 x 3 in a layer, 5 x 4 between layers, 2 x 5 x 3 diagonal.
            assert_eq!(order.later_neighbours(6, 4).iter().sum::<u32>(), 18 + 20 + 30, "{order:?}");
        }
        assert_ne!(Order::Horizontal.later_neighbours(6, 4), Order::Vertical.later_neighbours(6, 4));
    }

    /// Figure 12(c): no word line is programmed before the leader of its layer.
    #[test]
    fn leaders_go_ahead_in_the_mixed_order() {
        let order = Order::Mixed.programs(3, 3);
        assert_eq!(order[..4], [(0, 0), (1, 0), (0, 1), (0, 2)]);
        assert_eq!(order[7..], [(2, 1), (2, 2)]);
    }

    /// Section 4.1.3: all word lines except the first of each layer may be followers.
    #[test]
    fn leaders_may_all_go_first() {
        let order = Order::LeadersFirst.programs(3, 3);
        assert_eq!(order[..5], [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]);
        assert_eq!(order[7..], [(2, 1), (2, 2)]);
    }
}
