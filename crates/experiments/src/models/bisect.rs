//! Root finding by bisection.

/// Returns where a condition begins to hold that holds at the high end and not at the low one.
pub(crate) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // Each step adds a binary digit.
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = (low + high) / 2.0;
        if holds(middle) { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}
