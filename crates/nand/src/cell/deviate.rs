//! Normal deviates for the draws of every command, by the ziggurat method of Marsaglia and Tsang (J. Stat.
//! Software 5(8), 2000). The method is exact, and takes one number and one comparison in 99 of 100 cases.

use wordline_kernel::{Seed, Stream, Streams};

use super::math::{count_by, upper_tail};
use super::variation::Variation;

/// Layers of the ziggurat.
const LAYERS: usize = 256;
/// Begin of the tail, for this many layers of equal area.
const TAIL: f64 = 3.654_152_885_361_009;

/// The random deviations of the cells, by seed.
#[derive(Clone, Debug)]
pub struct CellRandom {
    /// Normal deviates.
    pub deviates: Ziggurat,
    /// The programming speed of each layer of each block within a loop.
    pub speeds: Streams,
    /// The recurring part of the errors of a page, by its number and the erases of its block.
    pub pages: Streams,
}

impl CellRandom {
    /// The random sources of a seed.
    pub fn new(seed: Seed) -> Self {
        let (speeds, pages) = (Variation::speeds(seed), seed.streams("cells.page"));
        Self { deviates: Ziggurat::new(), speeds, pages }
    }

    /// A random number of independent events with the given mean.
    #[inline]
    pub fn count(&self, mean: f64, random: &mut Stream) -> u32 {
        count_by(|random| self.deviates.deviate(random), mean, random)
    }
}

/// The ziggurat.
#[derive(Clone, Debug)]
pub struct Ziggurat {
    /// The right end of each layer, the lowest layer first. The lowest layer includes the tail: its end is
    /// the end of a rectangle with the area of layer and tail together.
    ends: [f64; LAYERS + 1],
    /// The density at each end.
    density: [f64; LAYERS + 1],
}

impl Ziggurat {
    /// Builds layers of equal area.
    pub fn new() -> Self {
        let density = |x: f64| libm::exp(-0.5 * x * x);
        let area = TAIL * density(TAIL) + (2.0 * std::f64::consts::PI).sqrt() * upper_tail(TAIL);
        let mut ends = [0.0; LAYERS + 1];
        (ends[0], ends[1]) = (area / density(TAIL), TAIL);
        for layer in 2..LAYERS {
            let before = ends[layer - 1];
            ends[layer] = (-2.0 * libm::log(area / before + density(before))).sqrt();
        }
        Self { ends, density: ends.map(density) }
    }

    /// A sample of the standard normal distribution.
    #[inline]
    pub fn deviate(&self, random: &mut Stream) -> f64 {
        loop {
            let bits = random.bits();
            let layer = (bits & (LAYERS as u64 - 1)) as usize;
            let signed = (bits >> 10) as i64 - (1 << 53);
            let x = signed as f64 / (1u64 << 53) as f64 * self.ends[layer];
            if x.abs() < self.ends[layer + 1] {
                return x;
            }
            if let Some(x) = self.at_edge(layer, x, random) {
                return x;
            }
        }
    }

    /// A deviate at the edge of a layer: in the tail, or below the density; `None` if it is rejected.
    #[cold]
    #[inline(never)]
    fn at_edge(&self, layer: usize, x: f64, random: &mut Stream) -> Option<f64> {
        if layer > 0 {
            let (low, high) = (self.density[layer], self.density[layer + 1]);
            return (low + random.unit() * (high - low) < libm::exp(-0.5 * x * x)).then_some(x);
        }
        loop {
            let beyond = random.exponential() / TAIL;
            if 2.0 * random.exponential() > beyond * beyond {
                return Some((TAIL + beyond).copysign(x));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;

    #[test]
    fn layers_have_one_area_up_to_the_top() {
        let Ziggurat { ends, density } = Ziggurat::new();
        let area = ends[0] * density[1];
        for layer in 1..LAYERS {
            let found = ends[layer] * (density[layer + 1] - density[layer]);
            assert!((found / area - 1.0).abs() < 1e-9, "layer {layer}: {found} and {area}");
        }
    }

    #[test]
    fn shares_are_those_of_the_normal_distribution_far_into_the_tails() {
        const DRAWN: usize = 4_000_000;
        let mut random = Seed(8).stream("deviates", 0);
        let ziggurat = Ziggurat::new();
        let samples: Vec<f64> = (0..DRAWN).map(|_| ziggurat.deviate(&mut random)).collect();
        for x in [-4.5, -TAIL, -2.0, -0.3, 0.0, 0.1, 0.5, 1.0, 1.7, 2.5, 3.3, TAIL, 4.0] {
            let wanted = upper_tail(x);
            let share = samples.iter().filter(|z| **z > x).count() as f64 / DRAWN as f64;
            let error = (wanted * (1.0 - wanted) / DRAWN as f64).sqrt();
            assert!((share - wanted).abs() < 4.0 * error, "above {x}: {share} and {wanted}");
        }
    }
}
