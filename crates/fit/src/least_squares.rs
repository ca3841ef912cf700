//! Least squares by the method of Levenberg and Marquardt, for few parameters and costly residuals.
//!
//! Residuals come in batches of points, so that the caller can simulate them in parallel. A crate of the
//! ecosystem would bring a library of linear algebra for matrices of seven rows.

use wordline_lab::Error;

/// Step of the derivatives, as a factor of e^step. Chosen: percentiles of a simulation are steps, and a
/// twentieth is beyond them.
const STEP: f64 = 0.05;

/// Most iterations. Chosen: fits end after five to eight.
const ITERATIONS: usize = 12;

/// Relative fall of the sum of squares below which the search ends.
const LEAST_GAIN: f64 = 0.005;

/// Greatest change of a logarithm in a step.
const LONGEST: f64 = 0.4;

/// Damping: its first value, its factor, and the value at which nothing is left to gain. Chosen, as usual.
const DAMPING: f64 = 0.01;
const DAMPING_FACTOR: f64 = 8.0;
const MOST_DAMPING: f64 = 1e4;

/// The minimum of a sum of squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// Logarithms of the parameters.
    pub at: Vec<f64>,
    /// The residuals there.
    pub residuals: Vec<f64>,
    /// Standard deviation of each logarithm; infinite if the residuals do not depend on it.
    pub deviations: Vec<f64>,
}

/// The residuals of each of several points. A point is the logarithms of the parameters.
pub type Residuals<'a> = dyn FnMut(&[Vec<f64>]) -> Result<Vec<Vec<f64>>, Error> + 'a;

/// The sum of squares.
pub fn squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|residual| residual * residual).sum()
}

/// Searches the least sum of squares from `start`.
///
/// # Errors
/// The first error of `residuals`.
pub fn minimum(start: Vec<f64>, residuals: &mut Residuals<'_>) -> Result<Minimum, Error> {
    let mut at = start;
    let mut here = one(&at, residuals)?;
    let mut damping = DAMPING;
    for _ in 0..ITERATIONS {
        if at.is_empty() {
            break;
        }
        let slopes = slopes(&at, &here, residuals)?;
        let before = squares(&here);
        while damping < MOST_DAMPING {
            let next: Vec<f64> =
                at.iter().zip(step(&slopes, &here, damping)).map(|(at, step)| at + step).collect();
            let there = one(&next, residuals)?;
            if squares(&there) < before {
                (at, here) = (next, there);
                damping /= DAMPING_FACTOR;
                break;
            }
            damping *= DAMPING_FACTOR;
        }
        if squares(&here) > before * (1.0 - LEAST_GAIN) {
            break;
        }
    }
    let deviations = deviations(&slopes(&at, &here, residuals)?, &here);
    Ok(Minimum { at, residuals: here, deviations })
}

fn one(at: &[f64], residuals: &mut Residuals<'_>) -> Result<Vec<f64>, Error> {
    Ok(residuals(&[at.to_vec()])?.remove(0))
}

/// The derivatives of the residuals, by parameter.
fn slopes(at: &[f64], here: &[f64], residuals: &mut Residuals<'_>) -> Result<Vec<Vec<f64>>, Error> {
    let beside = |n: usize| {
        let mut beside = at.to_vec();
        beside[n] += STEP;
        beside
    };
    let points: Vec<Vec<f64>> = (0..at.len()).map(beside).collect();
    let slope = |there: Vec<f64>| there.iter().zip(here).map(|(there, here)| (there - here) / STEP).collect();
    Ok(residuals(&points)?.into_iter().map(slope).collect())
}

/// The products of the slopes of each two parameters.
fn products(slopes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    slopes.iter().map(|a| slopes.iter().map(|b| dot(a, b)).collect()).collect()
}

/// The damped step towards the minimum.
fn step(slopes: &[Vec<f64>], here: &[f64], damping: f64) -> Vec<f64> {
    let mut matrix = products(slopes);
    for (n, row) in matrix.iter_mut().enumerate() {
        row[n] = (row[n] * (1.0 + damping)).max(1e-9);
    }
    let inverse = inverse(matrix);
    let downhill: Vec<f64> =
        slopes.iter().map(|slope| -slope.iter().zip(here).map(|(a, b)| a * b).sum::<f64>()).collect();
    let along =
        |row: &Vec<f64>| row.iter().zip(&downhill).map(|(a, b)| a * b).sum::<f64>().clamp(-LONGEST, LONGEST);
    inverse.iter().map(along).collect()
}

/// Standard deviations of the parameters, from the slopes at the minimum. Residuals are in standard deviations
/// of the measurements. If they are larger than one in the mean, so are the deviations.
fn deviations(slopes: &[Vec<f64>], residuals: &[f64]) -> Vec<f64> {
    let free = residuals.len().saturating_sub(slopes.len()).max(1);
    let excess = (squares(residuals) / free as f64).max(1.0);
    let matrix = products(slopes);
    let is_blind = |n: usize| matrix[n][n] < 1e-6;
    let seen: Vec<usize> = (0..slopes.len()).filter(|n| !is_blind(*n)).collect();
    let part = seen.iter().map(|a| seen.iter().map(|b| matrix[*a][*b]).collect()).collect();
    let inverse = inverse(part);
    let mut deviations = vec![f64::INFINITY; slopes.len()];
    for (place, n) in seen.into_iter().enumerate() {
        deviations[n] = (inverse[place][place].max(0.0) * excess).sqrt();
    }
    deviations
}

/// The inverse of a symmetric positive matrix, by elimination. A row without a pivot stays zero.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..size).map(|n| (0..size).map(|m| f64::from(u8::from(n == m))).collect()).collect();
    for n in 0..size {
        let pivot = matrix[n][n];
        if pivot.abs() < 1e-12 {
            continue;
        }
        for m in 0..size {
            matrix[n][m] /= pivot;
            inverse[n][m] /= pivot;
        }
        for row in (0..size).filter(|row| *row != n) {
            let factor = matrix[row][n];
            for m in 0..size {
                matrix[row][m] -= factor * matrix[n][m];
                inverse[row][m] -= factor * inverse[n][m];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use libm::exp;

    #[test]
    fn the_minimum_of_a_known_function_is_found_with_its_deviations() {
        let wanted = [2.0_f64, 30.0, 500.0];
        let mut calls = 0;
        let mut residuals = |points: &[Vec<f64>]| {
            calls += points.len();
            let of = |at: &Vec<f64>| {
                let [a, b, c] = [exp(at[0]), exp(at[1]), exp(at[2])];
                vec![
                    (a + b - 32.0) * 2.0,
                    (b * c - 15_000.0) / 300.0,
                    (c - 500.0) / 5.0,
                    (a * c - 1000.0) / 10.0,
                ]
            };
            Ok(points.iter().map(of).collect())
        };
        let found = minimum(vec![1.2, 3.0, 6.0], &mut residuals).expect("no error");
        for (at, wanted) in found.at.iter().zip(wanted) {
            assert!((exp(*at) / wanted - 1.0).abs() < 0.01, "{found:?}");
        }
        assert!(found.deviations.iter().all(|deviation| *deviation < 0.05), "{found:?}");
        assert!(calls < 100, "{calls} residuals");
    }

    #[test]
    fn a_parameter_without_effect_is_not_known() {
        let mut residuals = |points: &[Vec<f64>]| {
            Ok(points.iter().map(|at| vec![(at[0] - 1.0) * 10.0, (at[0] - 1.1) * 10.0]).collect())
        };
        let found = minimum(vec![0.0, 5.0], &mut residuals).expect("no error");
        assert!((found.at[0] - 1.05).abs() < 0.01, "{found:?}");
        assert!(found.deviations[0] < 0.2 && found.deviations[1].is_infinite(), "{found:?}");
    }
}
