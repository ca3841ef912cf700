//! The end of a measurement.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::precision::Precision;

/// The word for a run that ends when an array is rebuilt.
const REBUILT: &str = "rebuilt";

/// Condition that ends a measurement, in place of the last request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Until {
    /// A metric has this precision. The measurement ends with the last request in any case.
    Precise(Precision),
    /// The members of an array that failed are rebuilt. The measurement begins with the failure, and goes on
    /// after the last request.
    Rebuilt,
}

impl FromStr for Until {
    type Err = String;

    /// Reads `rebuilt`, or a metric and a fraction, such as `p99:2%`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == REBUILT {
            return Ok(Self::Rebuilt);
        }
        text.parse().map(Self::Precise).map_err(|_| {
            format!("found \"{text}\", wanted a metric and a share above 0, such as p99:2%, or {REBUILT}")
        })
    }
}

impl TryFrom<String> for Until {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Until> for String {
    fn from(until: Until) -> Self {
        until.to_string()
    }
}

impl fmt::Display for Until {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Rounded, so that a text that is read and written again stays the same.
            Self::Precise(Precision { column, fraction }) => {
                write!(out, "{column}:{}%", (fraction * 1e14).round() / 1e12)
            }
            Self::Rebuilt => out.write_str(REBUILT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_reads_as_it_is_written() {
        for text in ["rebuilt", "p99:2%", "host.iops:0.5%", "iops:7%", "iops:0.001%", "p99:33.3%"] {
            assert_eq!(text.parse::<Until>().map(|until| until.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "rebuild", "p99:0%", "p99"] {
            let error = text.parse::<Until>().expect_err(text);
            assert!(error.ends_with("such as p99:2%, or rebuilt"), "{error}");
        }
    }
}
