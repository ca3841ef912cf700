//! The mean of a sample, with its confidence interval by Student's t distribution.

/// The 97.5 % quantiles of Student's t distribution with 1 to 10 degrees of freedom, from the NIST/SEMATECH
/// e-Handbook of Statistical Methods, table 1.3.6.7.2. 95 % of the distribution lie between the negative and
/// the positive quantile.
const QUANTILES: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// The 97.5 % quantile of the normal distribution, from the same table.
const NORMAL: f64 = 1.960;

/// The quantile for this many degrees of freedom, at least one. Beyond the table it is computed from the
/// first three terms of the Cornish-Fisher expansion. Their error is at most a thousandth from 11 degrees on.
fn quantile(freedom: usize) -> f64 {
    if let Some(known) = freedom.checked_sub(1).and_then(|at| QUANTILES.get(at)) {
        return *known;
    }
    let (z, n) = (NORMAL, freedom as f64);
    let (third, fifth, seventh) = (z * z * z, libm::pow(z, 5.0), libm::pow(z, 7.0));
    let second = (5.0 * fifth + 16.0 * third + 3.0 * z) / (96.0 * n * n);
    let last = (3.0 * seventh + 19.0 * fifth + 17.0 * third - 15.0 * z) / (384.0 * n * n * n);
    z + (third + z) / (4.0 * n) + second + last
}

/// The mean of a sample, and the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of the values.
    pub mean: f64,
    /// Half-width of the interval. `None` for a single value, whose error is unknown; 0 for equal values.
    pub half: Option<f64>,
}

impl Mean {
    /// The mean of a list with at least one value.
    pub fn of(values: &[f64]) -> Self {
        let (first, count) = (values[0], values.len() as f64);
        if values.len() == 1 {
            return Self { mean: first, half: None };
        }
        if values.iter().all(|value| *value == first) {
            return Self { mean: first, half: Some(0.0) };
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        Self { mean, half: Some(quantile(values.len() - 1) * deviation / count.sqrt()) }
    }

    /// The sum of the first values of at least one pair, divided by the sum of the second ones. Its interval is
    /// that of the ratio estimator (Law and Kelton, "Simulation Modeling and Analysis", section 9.5.3). If the
    /// second values are equal, this is the [mean](Self::of) of the quotients.
    pub fn of_ratio(pairs: &[(f64, f64)]) -> Self {
        if pairs.iter().all(|(_, divisor)| *divisor == pairs[0].1) {
            let quotients: Vec<f64> = pairs.iter().map(|(sum, divisor)| sum / divisor).collect();
            return Self::of(&quotients);
        }
        let [sum, divisor] = pairs.iter().fold([0.0, 0.0], |[sum, all], pair| [sum + pair.0, all + pair.1]);
        let (mean, count) = (sum / divisor, pairs.len() as f64);
        let squares: f64 = pairs.iter().map(|(sum, divisor)| (sum - mean * divisor).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt() / (divisor / count);
        Self { mean, half: Some(quantile(pairs.len() - 1) * deviation / count.sqrt()) }
    }

    /// The ends of the interval. Both equal the mean if there is no interval.
    pub fn interval(self) -> [f64; 2] {
        let half = self.half.unwrap_or(0.0);
        [self.mean - half, self.mean + half]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_above_the_table_go_on_from_it() {
        // From the same table of the handbook.
        for (freedom, known) in [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (19, 2.093), (100, 1.984)]
        {
            assert!((quantile(freedom) - known).abs() < 2e-3, "{freedom}: {}", quantile(freedom));
        }
    }

    #[test]
    fn the_interval_of_five_values_is_that_of_the_textbook() {
        // The mean is 3, the deviation 1.5811, so the half-width is 2.776 * 1.5811 / 2.2361.
        let found = Mean::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(found.mean, 3.0);
        assert!((found.half.expect("five values") - 1.9629).abs() < 1e-3, "{found:?}");
        assert_eq!(Mean::of(&[7.0]), Mean { mean: 7.0, half: None });
        assert_eq!(Mean::of(&[0.1, 0.1, 0.1]), Mean { mean: 0.1, half: Some(0.0) }, "no rounding of a sum");
        assert_eq!(Mean::of(&[7.0]).interval(), [7.0, 7.0]);
    }
}
