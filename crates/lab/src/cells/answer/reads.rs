//! Results of reads with retries.

use serde::Serialize;
use wordline_kernel::Seed;
use wordline_nand::cell::{CellLocation, Reading, RetryLimits, drawn_deviate};

use super::super::question::CheckedQuestion;
use super::Evaluation;
use super::places::PlaceResult;

/// Reads and their retries. Each page of each word line is read once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RetryResult {
    /// Share of reads that need a retry.
    pub share: f64,
    /// Mean number of retries of the reads that need a retry.
    pub mean: f64,
    /// Mean number of retries over all reads.
    pub mean_of_all: f64,
    /// Share of reads that stay uncorrectable at all references of the retry table.
    pub uncorrectable: f64,
    /// Decoding time of a read in microseconds: one hard decode for each sensing, and one soft decode after
    /// the last failure.
    pub decoding_us: f64,
}

impl Evaluation {
    pub(super) fn set_reads(
        &mut self,
        reading: &Reading,
        asked: &CheckedQuestion,
        references: &[f64],
        found: &[PlaceResult],
        seed: Seed,
    ) {
        let bits = asked.question.page_size.0 * 8;
        let word_lines = asked.word_lines;
        let (mut default, mut aware) = (Sum::default(), Sum::default());
        for found in found {
            let pages = 0..found.levels.coding.bits();
            let tries: Vec<RetryLimits> = pages
                .map(|page| reading.tries(reading.rates(&found.levels, page, references), bits))
                .collect();
            for tries in &tries {
                let retries = reading.retries(tries, 0);
                let again = retries.share * retries.mean;
                let decoding =
                    reading.ecc.hard.us() * (1.0 + again) + reading.ecc.soft.us() * retries.uncorrectable;
                default.add(retries.share, again, retries.uncorrectable, decoding);
            }
            let CellLocation { chip, block, layer } = found.place;
            let index = (u64::from(chip) << 40) | (u64::from(block) << 8) | u64::from(layer);
            let mut random = seed.stream("cells.reads", index);
            // The first read of a layer begins at the first entry of the table. Each read stores the entry
            // where it ended, rounded down to a quarter of the table, for the next read of the layer.
            let (mut first, quarter) = (0, reading.entries().div_ceil(4));
            for tries in (0..word_lines).flat_map(|_| &tries) {
                let page = drawn_deviate(&mut random);
                let read = reading.read((tries, page), first, references.len(), &mut random);
                let lost = f64::from(u8::from(read.uncorrectable));
                let again = f64::from(read.steps);
                aware.add(again.min(1.0), again, lost, read.decoding.us());
                first = (first + read.steps) / quarter * quarter;
            }
        }
        (self.retries, self.aware_retries) = (default.answer(), aware.answer());
        if self.retries.mean > 0.0 {
            self.aware_reduction_percent = 100.0 * (1.0 - self.aware_retries.mean / self.retries.mean);
        }
    }
}

/// Sums over reads.
#[derive(Default)]
struct Sum {
    share: f64,
    retries: f64,
    uncorrectable: f64,
    decoding_us: f64,
    reads: f64,
}

impl Sum {
    fn add(&mut self, share: f64, retries: f64, uncorrectable: f64, decoding_us: f64) {
        self.share += share;
        self.retries += retries;
        self.uncorrectable += uncorrectable;
        self.decoding_us += decoding_us;
        self.reads += 1.0;
    }

    fn answer(&self) -> RetryResult {
        let mean = if self.share > 0.0 { self.retries / self.share } else { 0.0 };
        RetryResult {
            share: self.share / self.reads,
            mean,
            mean_of_all: self.retries / self.reads,
            uncorrectable: self.uncorrectable / self.reads,
            decoding_us: self.decoding_us / self.reads,
        }
    }
}
