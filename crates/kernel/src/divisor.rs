//! Divisors of whole numbers.

/// The greatest common divisor of two numbers (Euclid); `gcd(a, 0)` is `a`.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_common_divisor_divides_both_and_no_greater_number_does() {
        for (a, b) in [(12, 18), (18, 12), (7, 13), (64, 48), (1, 9), (30, 30)] {
            let greatest = (1..=a.max(b)).rfind(|by| a % by == 0 && b % by == 0);
            assert_eq!(Some(gcd(a, b)), greatest, "{a} and {b}");
        }
        assert_eq!([gcd(0, 5), gcd(5, 0)], [5, 5]);
    }
}
