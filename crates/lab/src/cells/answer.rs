//! Evaluation of a cell parameter set for a question: means over the places that the question selects.

mod levels;
mod places;
mod programs;
mod reads;

use serde::Serialize;
use wordline_kernel::Seed;
use wordline_nand::cell::{CellLocation, CellSet};

pub use levels::{PageResult, Spread, StateResult};
pub use programs::ProgramResult;
pub use reads::RetryResult;

use super::lines::LineResult;
use super::question::Question;
use super::rewrite::RewriteResult;
use crate::error::Result;
use levels::state_name;
use programs::program;

/// The results of a question to a parameter set. The field names are the column names of experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// Name of the parameter set.
    pub set: String,
    /// Number of places that the means are taken over.
    pub places: u64,
    /// The states of the cells at the first place.
    pub states: Vec<StateResult>,
    /// The read reference voltages of the question.
    pub references: Vec<f64>,
    /// The read references with the fewest bit errors at the first place.
    pub best_references: Vec<f64>,
    /// The pages of a word line.
    pub pages: Vec<PageResult>,
    /// Raw bit error rate, mean of all pages.
    pub error_rate: f64,
    /// Raw bit error rate at the best references, mean of all pages.
    pub best_error_rate: f64,
    /// Mean bit errors of a page.
    pub page_errors: f64,
    /// Mean bit errors of a page at the best references.
    pub best_page_errors: f64,
    /// Bit errors of the worst page of all places, with error counts drawn at random.
    pub most_page_errors: u32,
    /// Bit errors of the worst page at the best references, with error counts drawn at random.
    pub best_most_page_errors: u32,
    /// Differences between the word lines of a layer, if the question evaluates word lines one by one.
    pub lines: LineResult,
    /// Greatest share of the cells of a state, over all places, that lie below the best reference beneath
    /// that state.
    pub crossed_left: f64,
    /// Greatest share of the cells of a state, over all places, that lie above the best reference over that
    /// state.
    pub crossed_right: f64,
    /// `crossed_left` divided by `crossed_right`.
    pub crossed_left_by_right: f64,
    /// Bits rewritten in place; empty if none were.
    pub rewrite: RewriteResult,
    /// Ratio of the error rates of a block's worst and best layer (dV), mean over blocks; 1 for a single
    /// layer.
    pub layer_ratio: f64,
    /// Greatest difference in dV between two consecutive blocks, in percent.
    pub layer_ratio_differs_percent: f64,
    /// Role of the worst layer of the first block, or its number if it has no role.
    pub worst_layer: String,
    /// Role of the best layer of the first block, or its number if it has no role.
    pub best_layer: String,
    /// BER_EP1: the share of cells of the erased state and of P1 that are read as the other of the two.
    pub erased_to_p1: Spread,
    /// Word-line programs; zeros if the set has no program parameters.
    pub program: ProgramResult,
    /// Reads that begin with the default references; zeros if the set has no read parameters.
    pub retries: RetryResult,
    /// Reads that begin where the last read of the same layer ended. The start is stored in two bits, as a
    /// quarter of the retry table.
    pub aware_retries: RetryResult,
    /// Reduction of the mean number of retries by these stored starts, in percent.
    pub aware_reduction_percent: f64,
    /// Greatest increase of VStart, in multiples of 10 mV, with which the layer has no more errors than the
    /// worst layer; 0 if the question selects several layers.
    pub safe_start_mv: f64,
    /// Greatest decrease of VFinal, in multiples of 10 mV, with which the layer has no more errors than the
    /// worst layer; 0 if the question selects several layers.
    pub safe_final_mv: f64,
}

impl Evaluation {
    /// An evaluation filled with zeros, with the lists of a TLC cell. Experiments take their column names
    /// from it.
    pub fn shape() -> Self {
        let state = |n: usize| StateResult { name: state_name(n), ..StateResult::default() };
        let page = |n: usize| PageResult { name: format!("p{n}"), ..PageResult::default() };
        let program = ProgramResult {
            safe_skips: vec![0; 7],
            first_loops: vec![0; 7],
            last_loops: vec![0; 7],
            ..ProgramResult::default()
        };
        Self {
            states: (0..8).map(state).collect(),
            pages: (0..3).map(page).collect(),
            references: vec![0.0; 7],
            best_references: vec![0.0; 7],
            program,
            ..Self::default()
        }
    }

    /// Evaluates `question` for `set`, with the random streams of `seed`.
    ///
    /// # Errors
    /// If the question does not fit the set.
    pub fn of(set: &CellSet, question: &Question, seed: u64) -> Result<Self> {
        let asked = question.check(set)?;
        let references = asked.references(set);
        let found = asked.all(set, &references, Seed(seed));
        let mut answer = Self { set: set.name.clone(), places: found.len() as u64, ..Self::default() };
        let best: Vec<Vec<f64>> = found.iter().map(|found| found.levels.optimal_references()).collect();
        answer.set_levels(set, &asked, &references, (&found, &best));
        answer.set_layers(set, &found);
        answer.set_worst_pages(&asked, &references, (&found, &best), Seed(seed));
        answer.set_crossed(&found, &best);
        if asked.question.lines {
            let rates: Vec<(CellLocation, f64)> =
                found.iter().map(|found| (found.place, found.error)).collect();
            let bits = asked.question.page_size.0 * 8 * u64::from(set.coding.bits());
            answer.lines = LineResult::of(&rates, bits as f64, Seed(seed));
        }
        if let Some(rewritten) = &asked.rewritten {
            answer.rewrite = RewriteResult::of(set, rewritten);
        }
        if asked.moves > 0 || asked.two_bits.is_some() {
            return Ok(answer);
        }
        answer.program = program(set, &found);
        if let Some(reading) = &set.reading {
            answer.set_reads(reading, &asked, &references, &found, Seed(seed));
        }
        if question.layer.is_empty() || set.ispp.is_none() {
            return Ok(answer);
        }
        answer.safe_start_mv =
            asked.safe_margin(set, &references, Seed(seed), |margin, how| how.start_margin = margin);
        answer.safe_final_mv =
            asked.safe_margin(set, &references, Seed(seed), |margin, how| how.final_margin = margin);
        Ok(answer)
    }
}
