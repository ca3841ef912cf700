//! Tails of distributions and samples of them. `erfc`, `exp` and `ln` come from the pinned `libm`.

use wordline_kernel::Stream;

/// The shape of the distribution of a state's threshold voltages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Shape {
    /// Normal.
    #[default]
    Gaussian,
    /// Student's t with this many degrees of freedom (at least 3), scaled to the deviation of the state. Its
    /// tails are heavier (Luo et al., JSAC 2016).
    Student {
        /// Degrees of freedom.
        freedom: u32,
    },
}

impl Shape {
    /// The share of cells that lie more than `x` deviations above the mean.
    pub fn above(self, x: f64) -> f64 {
        match self {
            Self::Gaussian => upper_tail(x),
            Self::Student { freedom } => student_upper_tail(x / student_scale(freedom), freedom),
        }
    }

    /// A sample, in deviations from the mean.
    pub fn sample(self, random: &mut Stream) -> f64 {
        match self {
            Self::Gaussian => normal(random),
            Self::Student { freedom } => {
                let squares: f64 = (0..freedom).map(|_| normal(random)).map(|z| z * z).sum();
                student_scale(freedom) * normal(random) / (squares / f64::from(freedom)).sqrt()
            }
        }
    }
}

/// The factor that gives a t variable of `freedom` degrees of freedom the deviation 1.
fn student_scale(freedom: u32) -> f64 {
    let freedom = f64::from(freedom);
    ((freedom - 2.0) / freedom).sqrt()
}

/// The share of a normal distribution above `x` deviations.
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The medians of `classes` equally probable parts of a normal distribution, the lowest first.
pub fn middles(classes: usize) -> Vec<f64> {
    let middle = |class: usize| {
        let share = (class as f64 + 0.5) / classes as f64;
        bisected(-9.0, 9.0, 60, |z| 1.0 - upper_tail(z) < share)
    };
    (0..classes).map(middle).collect()
}

/// The index of the part, of `classes` equally probable parts of a normal distribution, that contains `z`.
pub fn class_of(z: f64, classes: usize) -> usize {
    (((1.0 - upper_tail(z)) * classes as f64) as usize).min(classes - 1)
}

/// The share of Student's t distribution above `t`: half the regularised incomplete beta function of (freedom
/// / 2, 1 / 2) at freedom / (freedom + t^2).
fn student_upper_tail(t: f64, freedom: u32) -> f64 {
    let half = f64::from(freedom) / 2.0;
    let tail = 0.5 * incomplete_beta(half, 0.5, f64::from(freedom) / (f64::from(freedom) + t * t));
    if t >= 0.0 { tail } else { 1.0 - tail }
}

/// The regularised incomplete beta function by its continued fraction (DLMF 8.17.22), from the side where it
/// converges.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log(1.0 - x);
    libm::exp(front) / (a * fraction(a, b, x))
}

/// The continued fraction of the incomplete beta function (Lentz's method).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut value, mut c, mut d) = (1.0, 1.0, 0.0);
    for step in 1..500u32 {
        let m = f64::from(step / 2);
        let coefficient = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / nonzero(1.0 + coefficient * d);
        c = nonzero(1.0 + coefficient / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// A sample of the normal distribution with deviation 1, by Marsaglia and Bray's polar method. The second
/// sample of each pair is not kept, so that a sample depends only on the state of the stream.
pub fn normal(random: &mut Stream) -> f64 {
    loop {
        let (x, y) = (2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

/// A random number of rare independent events with `mean`. The distribution is Poisson below a mean of 30,
/// and from 30 on the normal distribution with the same mean and deviation. Chosen: from there on the two
/// differ by less than a hundredth in any quantile.
pub fn count(mean: f64, random: &mut Stream) -> u32 {
    count_by(normal, mean, random)
}

/// A random number as by [`count`], with another source of normal deviates.
#[inline]
pub fn count_by(normal: impl Fn(&mut Stream) -> f64, mean: f64, random: &mut Stream) -> u32 {
    if mean <= 0.0 {
        return 0;
    }
    if mean >= 30.0 {
        // The truncation rounds a positive sum and makes a negative one 0.
        return (mean + mean.sqrt() * normal(random) + 0.5) as u32;
    }
    let mut left = random.unit();
    let mut share = libm::exp(-mean);
    let mut events = 0;
    while left >= share && events < 1_000 {
        left -= share;
        events += 1;
        share *= mean / f64::from(events);
    }
    events
}

/// The probability of more than `most` rare independent events with `mean`. The distribution is Poisson, and
/// from a mean of 1,000 on normal.
pub fn poisson_tail(most: u32, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    if mean >= 1_000.0 {
        return upper_tail((f64::from(most) + 0.5 - mean) / mean.sqrt());
    }
    let share = |n: f64| libm::exp(n * libm::log(mean) - mean - libm::lgamma(n + 1.0));
    let (mut all, mut n) = (0.0, f64::from(most));
    // Probabilities decrease to either side of the mean. Each probability follows from its neighbour.
    if n < mean {
        let mut here = share(n);
        while here > all * 1e-17 {
            all += here;
            (here, n) = (here * n / mean, n - 1.0);
        }
        return (1.0 - all).max(0.0);
    }
    let mut here = share(n + 1.0);
    while here > all * 1e-17 {
        (all, n) = (all + here, n + 1.0);
        here *= mean / (n + 1.0);
    }
    all
}

/// The deviate with this upper tail of the normal distribution.
pub fn inverse_upper_tail(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return if share <= 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    bisected(-9.0, 39.0, 64, |z| upper_tail(z) > share)
}

/// The value between `low` and `high` up to which `is_below` is true, after this number of bisections.
fn bisected(mut low: f64, mut high: f64, steps: u32, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..steps {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The position of the minimum of `cost` between `low` and `high`, where `cost` falls and then rises. Golden
/// section search, to 1e-9 of the interval.
pub fn least(mut low: f64, mut high: f64, cost: impl Fn(f64) -> f64) -> f64 {
    const SECTION: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - SECTION * (high - low), low + SECTION * (high - low));
    let (mut at_left, mut at_right) = (cost(left), cost(right));
    for _ in 0..44 {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - SECTION * (high - low);
            at_left = cost(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + SECTION * (high - low);
            at_right = cost(right);
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.1 (normal) and 26.10 (t, one tail).
        for (x, tail) in [(0.0, 0.5), (1.0, 0.158_655_25), (3.0, 1.349_898e-3), (-1.0, 0.841_344_75)] {
            assert!((upper_tail(x) - tail).abs() < 1e-8, "{x}");
        }
        for (t, freedom, tail) in [(2.353, 3, 0.05), (4.541, 3, 0.01), (1.812, 10, 0.05), (2.764, 10, 0.01)] {
            assert!((student_upper_tail(t, freedom) / tail - 1.0).abs() < 1e-3, "{t} {freedom}");
            assert!((student_upper_tail(-t, freedom) - 1.0 + tail).abs() < 1e-4);
        }
    }

    #[test]
    fn samples_have_the_tails_that_are_said_of_them() {
        let mut random = Seed(3).stream("math", 0);
        for shape in [Shape::Gaussian, Shape::Student { freedom: 5 }] {
            let samples: Vec<f64> = (0..200_000).map(|_| shape.sample(&mut random)).collect();
            for x in [0.0, 1.0, 2.5] {
                let share = samples.iter().filter(|z| **z > x).count() as f64 / 2e5;
                let error = (shape.above(x) / 2e5).sqrt();
                assert!((share - shape.above(x)).abs() < 4.0 * error, "{shape:?} {x} {share}");
            }
        }
    }

    #[test]
    fn counts_have_their_mean_and_their_tail() {
        let mut random = Seed(4).stream("math", 0);
        for mean in [0.01, 2.0, 25.0, 400.0] {
            let most = mean as u32 + 2;
            let counts: Vec<u32> = (0..100_000).map(|_| count(mean, &mut random)).collect();
            let found = counts.iter().map(|n| f64::from(*n)).sum::<f64>() / 1e5;
            assert!((found - mean).abs() < 4.0 * (mean / 1e5).sqrt(), "{mean}: {found}");
            let share = counts.iter().filter(|n| **n > most).count() as f64 / 1e5;
            assert!((share - poisson_tail(most, mean)).abs() < 0.01, "{mean}: {share}");
        }
        assert!(poisson_tail(72, 10.0) > 0.0 && poisson_tail(72, 10.0) < 1e-30);
    }

    #[test]
    fn poisson_tails_are_sums_of_their_terms() {
        let term = |n: u32, mean: f64| {
            libm::exp(f64::from(n) * libm::log(mean) - mean - libm::lgamma(f64::from(n) + 1.0))
        };
        for (most, mean) in [(0, 0.3), (3, 9.0), (72, 60.0), (72, 72.0), (72, 90.0), (72, 400.0)] {
            let wanted: f64 = (most + 1..1_200).map(|n| term(n, mean)).sum();
            assert!((poisson_tail(most, mean) / wanted - 1.0).abs() < 1e-9, "{most} of {mean}");
        }
    }

    #[test]
    fn a_deviate_has_the_tail_that_it_was_found_by() {
        for share in [1e-300, 1e-12, 0.01, 0.5, 0.99, 1.0 - 1e-12] {
            let found = upper_tail(inverse_upper_tail(share));
            assert!((found / share - 1.0).abs() < 1e-9, "{share}: {found}");
        }
        assert_eq!((inverse_upper_tail(0.0), inverse_upper_tail(1.0)), (f64::INFINITY, f64::NEG_INFINITY));
    }
}
