//! Shards of a study: parts of its runs, each for one of several programs.

use std::str::FromStr;

/// One of `of` shards of a study. Shard 1 has the first run and each `of`-th run after it, shard 2 begins with the
/// second run, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, from 1.
    number: usize,
    /// Number of shards.
    of: usize,
}

impl Shard {
    /// Shard `number` of `of` shards, counted from 1.
    ///
    /// # Errors
    /// The value found and the one wanted, if there is no such shard.
    pub fn new(number: usize, of: usize) -> Result<Self, (String, &'static str)> {
        if (1..=of).contains(&number) {
            return Ok(Self { number, of });
        }
        Err((format!("part {number} of {of}"), "a part from 1 to the number of parts, such as 2/8"))
    }

    /// Whether the shard has the run at this position, counted from 0.
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
        Self::new(number, of).map_err(|(found, wanted)| format!("found {found}, wanted {wanted}"))
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
