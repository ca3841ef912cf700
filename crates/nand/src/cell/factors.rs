//! Fixed factors in the place of what cells do: the emulation of cubeFTL's evaluation (section 6.1), whose platform made programs of
//! followers shorter and retries fewer by so much, and drew which reads are tried again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration, Seed};

use super::ispp::{How, Ispp};
use super::read::Reading;
use crate::physics::Parameters;

/// The factors. Loops of leaders and the window are those of the set's `ispp`, entries of the retry table those of its `read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// The share of a program that is saved where all verifies are skipped that may be; fewer save in proportion. A narrower window saves
    /// its share of the whole one on top.
    pub skipping: f64,
    /// BER_EP1 of a leader: drawn evenly between the two for each layer of each block.
    pub erased_to_p1: [f64; 2],
    /// The share of retries that are left of reads whose levels are kept by layer.
    pub kept: f64,
    /// Reads that are tried again, by the hours that data are held for, rising; the last entry counts that is not beyond. None before the
    /// first.
    #[serde(default)]
    pub ages: Vec<Tried>,
}

/// Reads at an age.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The age.
    pub hours: f64,
    /// The share of pages that are tried again.
    pub share: f64,
    /// Retries of those: drawn evenly from the first to the second number for each page.
    pub retries: [u8; 2],
}

impl Factors {
    /// Complains about factors that are none, and about a set that does not say the rest.
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

    /// The time of a program that takes so long by the data sheet.
    pub fn time(&self, ispp: &Ispp, parameters: &Parameters, data_sheet: Duration) -> Duration {
        let safe = ispp.safe_skips(&How::default());
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

    /// BER_EP1 of a layer of a block, by the number of the layer among those of all blocks.
    pub fn erased_to_p1(&self, layer: u64, seed: Seed) -> f64 {
        let [least, most] = self.erased_to_p1;
        least + (most - least) * seed.stream("cells.factors.layer", layer).unit()
    }

    /// How often a page is tried again that is held for this many hours, by a number of its own.
    fn retries(&self, hours: f64, page: u64, seed: Seed) -> u8 {
        let Some(tried) = self.ages.iter().rfind(|tried| tried.hours <= hours) else { return 0 };
        let mut random = seed.stream("cells.factors.page", page);
        if random.unit() >= tried.share {
            return 0;
        }
        let [least, most] = tried.retries;
        least + random.below(u64::from(most - least) + 1) as u8
    }

    /// Whether a page cannot be read with an entry: up to `last`, that of the table, it has to be as high as the retries that the page
    /// needs; those behind count the retries of reads whose levels are kept.
    pub fn is_unread(&self, hours: f64, (page, seed): (u64, Seed), entry: u8, last: u8) -> bool {
        let needed = self.retries(hours, page, seed);
        match entry.checked_sub(last).filter(|beyond| *beyond > 0) {
            Some(beyond) => f64::from(beyond) < (f64::from(needed) * self.kept).round(),
            None => entry < needed,
        }
    }

    /// Entries behind a table with this last one.
    pub fn kept_entries(&self, last: u8) -> u8 {
        (f64::from(last) * self.kept).ceil() as u8
    }
}
