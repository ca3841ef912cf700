//! A part of the runs of a study, for one of several programs.

use std::str::FromStr;

/// A part of the runs of a study: those whose position, modulo the number of parts, is that of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    number: usize,
    /// Number of parts.
    of: usize,
}

impl Shard {
    /// Part `number` of `of` parts, counted from 1.
    ///
    /// # Errors
    /// A text with what was found and wanted, if there is no such part.
    pub fn new(number: usize, of: usize) -> Result<Self, String> {
        if (1..=of).contains(&number) {
            return Ok(Self { number, of });
        }
        Err(format!("found part {number} of {of}, wanted a part from 1 to the number of parts, such as 2/8"))
    }

    /// Whether the run at this position, counted from 0, is in the part.
    pub fn has(self, position: usize) -> bool {
        position % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let (number, of) = parsed
            .ok_or_else(|| format!("found {text}, wanted a part and the number of parts, such as 2/8"))?;
        Self::new(number, of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_in_one_part() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].map(|text| text.parse().expect("a part")).to_vec();
        for position in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(position)).count(), 1);
        }
        assert!(shards[0].has(0) && shards[2].has(5) && !shards[2].has(6));
    }

    #[test]
    fn what_is_no_part_is_told() {
        for text in ["0/3", "4/3", "1/0"] {
            assert!(text.parse::<Shard>().expect_err(text).contains("wanted a part from 1 to"), "{text}");
        }
        for text in ["", "1", "1/", "a/b", "-1/3", "1/3/4"] {
            let told = text.parse::<Shard>().expect_err(text);
            assert_eq!(told, format!("found {text}, wanted a part and the number of parts, such as 2/8"));
        }
    }
}
