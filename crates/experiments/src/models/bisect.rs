//! Root finding by bisection.

/// Returns the point between `low` and `high` at which a condition begins to be true. It is false at `low`
/// and true at `high`.
pub(crate) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // Each step adds a binary digit.
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = (low + high) / 2.0;
        if holds(middle) { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}
