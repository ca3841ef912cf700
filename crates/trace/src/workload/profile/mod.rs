//! Profiles: generators fitted to published statistics of traces that cannot be shipped.
//!
//! The data are in `data/profiles`, one file per paper. The published numbers are stored nowhere else.

mod bursts;
mod fit;
mod requests;
mod resolve;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Seed, one_of};

pub use bursts::Bursts;
pub use requests::Requests;
pub use resolve::{RealOrProfile, resolve};

use crate::Error;
use crate::{Statistic, Statistics, Unit};

const FILES: [(&str, &str); 4] = [
    ("centaur", include_str!("../../../../../data/profiles/centaur.toml")),
    ("ft-passd", include_str!("../../../../../data/profiles/ft-passd.toml")),
    ("nandflashsim", include_str!("../../../../../data/profiles/nandflashsim.toml")),
    ("ressd", include_str!("../../../../../data/profiles/ressd.toml")),
];

/// Largest deviation of a generated trace from each published number, as a fraction of it.
pub const BAND: f64 = 0.02;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    claim: String,
    units: BTreeMap<Statistic, Unit>,
    chosen: ChosenValues,
    volume: BTreeMap<String, Volume>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Volume {
    published: BTreeMap<Statistic, f64>,
    #[serde(default)]
    chosen: ChosenValues,
    #[serde(default)]
    contradictions: Vec<Contradiction>,
}

/// Values that the profile chooses because a paper does not give them; the file gives the reasons.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChosenValues {
    /// Requests, if neither counts nor volumes are published.
    pub requests: Option<u64>,
    /// Share of writes, if it is not published.
    pub write_share: Option<f64>,
    /// Time from the first request to the last. Default: a closed loop.
    pub duration: Option<Duration>,
    /// Requests of the whole recording, if the table describes an extract of it.
    pub recorded_requests: Option<u64>,
    /// Share of updates that go to the hot fifth of the written data.
    pub hot_updates: Option<f64>,
    /// Share of the data read that is read for the first time, if it is not published.
    pub fresh_reads: Option<f64>,
    /// Share of the data written that is written for the first time, if it is not published.
    pub fresh_writes: Option<f64>,
    /// The only sizes of requests.
    pub sizes: Option<Vec<Bytes>>,
}

impl ChosenValues {
    /// Takes values from `self` where given, else from `other`.
    fn or(self, other: &Self) -> Self {
        Self {
            requests: self.requests.or(other.requests),
            write_share: self.write_share.or(other.write_share),
            duration: self.duration.or(other.duration),
            recorded_requests: self.recorded_requests.or(other.recorded_requests),
            hot_updates: self.hot_updates.or(other.hot_updates),
            fresh_reads: self.fresh_reads.or(other.fresh_reads),
            fresh_writes: self.fresh_writes.or(other.fresh_writes),
            sizes: self.sizes.or(other.sizes.clone()),
        }
    }
}

/// A published number that no trace can have together with the other numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// Statistic that the generator does not meet.
    pub statistic: Statistic,
    /// The arithmetic that shows the contradiction.
    pub why: String,
}

/// Published statistics of one trace, and the values that the profile chooses.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `paper/volume`, such as `centaur/usr_1`.
    pub name: String,
    /// The table of the paper.
    pub source: String,
    /// Name of the entry in the validation ledger.
    pub claim: String,
    /// Values that the paper does not give.
    pub chosen: ChosenValues,
    /// Numbers that contradict other numbers.
    pub contradictions: Vec<Contradiction>,
    /// Bursts of its requests. Default: arrivals are independent.
    pub bursts: Option<Bursts>,
    published: BTreeMap<Statistic, f64>,
    units: BTreeMap<Statistic, Unit>,
}

/// One published number, to be compared with a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Statistic.
    pub statistic: Statistic,
    /// Number as printed.
    pub paper: f64,
    /// Unit, as interpreted by this project.
    pub unit: Unit,
    /// The table of the paper.
    pub source: String,
    /// Reason why no trace can meet the number, if so.
    pub contradiction: Option<String>,
}

impl Claim {
    /// Returns the trace's value in the claim's unit.
    pub fn ours(&self, stats: &Statistics) -> f64 {
        self.statistic.of(stats) / self.unit.size()
    }

    /// Whether `ours` is within [`BAND`] of the published number.
    pub fn met(&self, ours: f64) -> bool {
        (ours - self.paper).abs() <= BAND * self.paper.abs()
    }
}

impl Profile {
    /// Names of all profiles, in alphabetical order.
    pub fn names() -> Vec<String> {
        let of = |(paper, text): &(&str, &str)| {
            let volumes = file(text).volume.into_keys();
            volumes.map(|volume| format!("{paper}/{volume}")).collect::<Vec<_>>()
        };
        FILES.iter().flat_map(of).collect()
    }

    /// Returns the profile called `name`.
    ///
    /// # Errors
    /// Lists the names if there is no such profile.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = name.split_once('/').and_then(|(paper, volume)| {
            let (_, text) = FILES.iter().find(|(file, _)| *file == paper)?;
            let mut file = file(text);
            let volume = file.volume.remove(volume)?;
            Some(Self {
                name: name.to_owned(),
                source: file.source,
                claim: file.claim,
                chosen: volume.chosen.or(&file.chosen),
                contradictions: volume.contradictions,
                bursts: None,
                published: volume.published,
                units: file.units,
            })
        });
        found.ok_or_else(|| Error::Argument {
            what: "profile".into(),
            found: format!("`{name}`"),
            wanted: one_of(name, &Self::names().iter().map(String::as_str).collect::<Vec<_>>()),
        })
    }

    /// Name of the volume without the name of the paper.
    pub fn volume(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// Shortens the duration to the fraction that the requests are of the whole recording. Without the number
    /// of recorded requests the duration is unchanged.
    #[must_use]
    pub fn as_extract(mut self) -> Self {
        let (reads, writes) = self.counts();
        if let (Some(all), Some(recorded)) = (self.chosen.duration, self.chosen.recorded_requests) {
            let part = (reads + writes) / recorded as f64;
            self.chosen.duration = Some(Duration::from_ps((all.ps() as f64 * part.min(1.0)) as u64));
        }
        self
    }

    /// Returns the published numbers.
    pub fn claims(&self) -> Vec<Claim> {
        let claim = |(statistic, paper): (&Statistic, &f64)| Claim {
            statistic: *statistic,
            paper: *paper,
            unit: self.units[statistic],
            source: self.source.clone(),
            contradiction: self
                .contradictions
                .iter()
                .find(|contradiction| contradiction.statistic == *statistic)
                .map(|contradiction| contradiction.why.clone()),
        };
        self.published.iter().map(claim).collect()
    }

    /// Returns the requests of the profile. A `scale` above 0 and up to 1 reduces the number of requests, and
    /// therefore volumes and footprints. Shares, mean sizes and the rate stay the same.
    pub fn generator(&self, seed: Seed, scale: f64) -> Requests {
        Requests::new(&self.fit(scale), self.bursts, seed)
    }

    /// Returns the published number in the base unit.
    fn value(&self, statistic: Statistic) -> Option<f64> {
        Some(self.published.get(&statistic)? * self.units[&statistic].size())
    }
}

fn file(text: &str) -> File {
    toml::from_str(text).expect("a test reads the embedded files")
}

#[cfg(test)]
mod tests;
