//! Bursts of requests, as in recorded volumes. The tables of statistics in papers do not describe them.

use std::collections::BTreeMap;

use serde::Deserialize;
use wordline_kernel::{Duration, Stream, one_of};

use crate::Error;

const FILE: &str = include_str!("../../../../../data/profiles/bursts.toml");

/// Structure of request bursts. Their rate comes from the profile.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Mean length of short bursts, in requests; lengths are geometric.
    pub short: f64,
    /// Mean length of long bursts, in requests.
    pub long: f64,
    /// Share of long bursts.
    pub long_share: f64,
    /// Mean gap between the requests of a burst, exponential.
    pub gap: Duration,
    /// Standard deviation of the gaps between bursts divided by their mean, at least 1.
    pub pauses: f64,
    /// Correlation between the operations of consecutive requests.
    pub kept: f64,
}

impl Bursts {
    /// Returns the bursts fitted to the recording called `name`.
    ///
    /// # Errors
    /// Lists the names if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        let all: BTreeMap<String, Self> = toml::from_str(FILE).expect("a test reads the embedded file");
        all.get(name).copied().ok_or_else(|| Error::Argument {
            what: "bursts".into(),
            found: format!("`{name}`"),
            wanted: one_of(name, &all.keys().map(String::as_str).collect::<Vec<_>>()),
        })
    }

    /// Mean length of all bursts.
    pub fn length(&self) -> f64 {
        self.long_share * self.long + (1.0 - self.long_share) * self.short
    }
}

/// Gaps between requests that come in bursts.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    pub bursts: Bursts,
    /// Mean gap between bursts, in picoseconds.
    pause: f64,
    /// Share of short pauses among all pauses. Short and long pauses take half of the time each, which gives
    /// the deviation in `Bursts::pauses`.
    short_pauses: f64,
    /// Requests left in the current burst.
    left: u64,
    random: Stream,
}

impl Gaps {
    /// Creates gaps with mean `interval`. If bursts alone take longer than `interval` allows, there is no
    /// pause between them.
    pub fn new(bursts: Bursts, interval: Duration, random: Stream) -> Self {
        let within = (bursts.length() - 1.0) * bursts.gap.ps() as f64;
        let pause = (bursts.length() * interval.ps() as f64 - within).max(0.0);
        let squared = bursts.pauses * bursts.pauses;
        let short_pauses = (1.0 + libm::sqrt((squared - 1.0) / (squared + 1.0))) / 2.0;
        let mut gaps = Self { bursts, pause, short_pauses, left: 0, random };
        gaps.left = gaps.length() - 1;
        gaps
    }

    /// Draws the length of a burst.
    fn length(&mut self) -> u64 {
        let is_long = self.random.unit() < self.bursts.long_share;
        let mean = if is_long { self.bursts.long } else { self.bursts.short };
        1 + (self.random.exponential() / -libm::log1p(-1.0 / mean)) as u64
    }

    /// Returns the gap before the next request.
    pub fn next(&mut self) -> Duration {
        let mean = match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.bursts.gap.ps() as f64
            }
            None => {
                self.left = self.length() - 1;
                let is_short = self.random.unit() < self.short_pauses;
                self.pause / (2.0 * if is_short { self.short_pauses } else { 1.0 - self.short_pauses })
            }
        };
        Duration::from_ps((mean * self.random.exponential()) as u64)
    }

    /// Whether the next request repeats the operation of the previous one. Otherwise its operation is drawn.
    pub fn repeats_operation(&mut self) -> bool {
        self.random.unit() < self.bursts.kept
    }
}
