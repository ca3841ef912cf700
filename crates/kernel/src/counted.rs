//! Numbers with units, formatted for people.

/// A number with commas between the thousands, and the noun in the plural unless the number is 1: `1
/// request`, `12,345 requests`.
pub fn counted(number: u64, thing: &str) -> String {
    grouped(&number.to_string()) + " " + thing + if number == 1 { "" } else { "s" }
}

/// A decimal number with commas between the thousands of the part before the point: `-1,234.5678`.
pub fn grouped(number: &str) -> String {
    let (whole, rest) = number.find('.').map_or((number, ""), |point| number.split_at(point));
    let mut out = String::with_capacity(number.len() + whole.len() / 3);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
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
