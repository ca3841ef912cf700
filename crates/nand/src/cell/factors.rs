//! Fixed factors instead of a cell model: the emulation in cubeFTL's evaluation (section 6.1). Its platform
//! shortened the programs of followers and reduced retries by fixed factors, and drew at random which reads
//! need a retry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration, Seed};

use super::ispp::{Ispp, ProgramParameters};
use super::read::Reading;
use crate::parameters::Parameters;

/// The factors. The loops of leaders and the window are in the set's `ispp`; the retry table is in its
/// `read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// The share of the program time that is saved if all verifies that may be skipped are skipped. Fewer
    /// skips save in proportion. In addition, a narrower window saves its share of the whole window.
    pub skipping: f64,
    /// BER_EP1 of a leader, drawn uniformly between the two numbers for each layer of each block.
    pub erased_to_p1: [f64; 2],
    /// The share of retries that remain for reads whose read offsets are stored by layer.
    pub kept: f64,
    /// Reads that need a retry, by retention time in increasing order. The last entry at or below the
    /// retention time applies; before the first entry there are no retries.
    #[serde(default)]
    pub ages: Vec<Tried>,
}

/// Retries at an age.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Retention time in hours.
    pub hours: f64,
    /// The share of pages that need a retry.
    pub share: f64,
    /// Retries of these pages: drawn uniformly from the first to the second number for each page.
    pub retries: [u8; 2],
}

impl Factors {
    /// Checks the ranges of the factors, and that the set has the tables `ispp` and `read`.
    pub fn check(&self, ispp: Option<&Ispp>, reading: Option<&Reading>, wrong: &mut Complaints) {
        let share = |value: f64| (0.0..1.0).contains(&value);
        wrong.require(share(self.skipping), "factors.skipping", self.skipping, "a share below 1");
        wrong.require(share(self.kept), "factors.kept", self.kept, "a share below 1");
        let [least, most] = self.erased_to_p1;
        let both = format!("{least} to {most}");
        wrong.require(
            share(least) && share(most) && least <= most,
            "factors.erased_to_p1",
            both,
            "shares, rising",
        );
        let said = ispp.is_some() && reading.is_some();
        wrong.require(
            said,
            "factors",
            "a table in a set without ispp or read",
            "both, for loops and entries",
        );
        let entries = reading.map_or(1, Reading::entries);
        for (n, tried) in self.ages.iter().enumerate() {
            let [least, most] = tried.retries;
            let rising = n == 0 || self.ages[n - 1].hours < tried.hours;
            let fits = (0.0..=1.0).contains(&tried.share) && 0 < least && least <= most;
            wrong.require(
                rising && fits && u32::from(most) < entries,
                &format!("factors.ages.{n}"),
                format!("{tried:?}"),
                format!("later than the one before, a share, and from 1 to {} retries", entries - 1),
            );
        }
    }

    /// The time of a program that takes `data_sheet` by the data sheet.
    pub fn time(&self, ispp: &Ispp, parameters: &Parameters, data_sheet: Duration) -> Duration {
        let safe = ispp.safe_skips(&ProgramParameters::default());
        let skipped: u32 = safe
            .iter()
            .zip(&parameters.skipped_verifies)
            .map(|(safe, skips)| u32::from(*safe.min(skips)))
            .sum();
        let all: u32 = safe.iter().map(|safe| u32::from(*safe)).sum();
        let margin = f64::from(parameters.start_margin) + f64::from(parameters.final_margin);
        let saved = self.skipping * f64::from(skipped) / f64::from(all.max(1)) + margin / ispp.window;
        Duration::from_ps((data_sheet.ps() as f64 * (1.0 - saved).max(0.0)) as u64)
    }

    /// BER_EP1 of a layer of a block, by the number of the layer over all blocks.
    pub fn erased_to_p1(&self, layer: u64, seed: Seed) -> f64 {
        let [least, most] = self.erased_to_p1;
        least + (most - least) * seed.stream("cells.factors.layer", layer).unit()
    }

    /// Retries of the page with number `page` after `hours` of retention.
    fn retries(&self, hours: f64, page: u64, seed: Seed) -> u8 {
        let Some(tried) = self.ages.iter().rfind(|tried| tried.hours <= hours) else { return 0 };
        let mut random = seed.stream("cells.factors.page", page);
        if random.unit() >= tried.share {
            return 0;
        }
        let [least, most] = tried.retries;
        least + random.below(u64::from(most - least) + 1) as u8
    }

    /// Whether a page cannot be read with an entry of the retry table. `last` is the last entry. A page that
    /// needs `n` retries can be read with the entries from `n` to `last`. Entry `last + k` is retry `k` of a
    /// read with stored read offsets, which needs only the share `kept` of the retries.
    pub fn is_uncorrectable(&self, hours: f64, (page, seed): (u64, Seed), entry: u8, last: u8) -> bool {
        let needed = self.retries(hours, page, seed);
        match entry.checked_sub(last).filter(|beyond| *beyond > 0) {
            Some(beyond) => f64::from(beyond) < (f64::from(needed) * self.kept).round(),
            None => entry < needed,
        }
    }

    /// Number of entries beyond a table whose last entry is `last`.
    pub fn kept_entries(&self, last: u8) -> u8 {
        (f64::from(last) * self.kept).ceil() as u8
    }
}
