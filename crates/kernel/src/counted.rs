//! Numbers of things in words.

/// A number with a comma before every third digit, and the thing in its plural where it is not one: `1 request`, `12,345 requests`.
pub fn counted(number: u64, thing: &str) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + thing.len() + 2);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + " " + thing + if number == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_stands_alone_and_thousands_are_apart() {
        let texts = [0, 1, 2, 999, 1_000, 931_325, 1_234_567].map(|number| counted(number, "page"));
        let wanted =
            ["0 pages", "1 page", "2 pages", "999 pages", "1,000 pages", "931,325 pages", "1,234,567 pages"];
        assert_eq!(texts, wanted);
    }
}
