//! Evaluation of a parameter set for a question: means over the places that it names.

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

/// The results of a parameter set for a question. The field names are the columns of experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evaluation {
    /// The parameter set.
    pub set: String,
    /// Number of places that the means are over.
    pub places: u64,
    /// The states of the first place.
    pub states: Vec<StateResult>,
    /// The read references of the question.
    pub references: Vec<f64>,
    /// The best references for the first place.
    pub best_references: Vec<f64>,
    /// The pages of a word line.
    pub pages: Vec<PageResult>,
    /// Raw bit error rate, mean of the pages.
    pub error_rate: f64,
    /// The same at the best references.
    pub best_error_rate: f64,
    /// Mean bit errors of a page.
    pub page_errors: f64,
    /// The same at the best references.
    pub best_page_errors: f64,
    /// Bit errors of the worst page of all places, drawn at random.
    pub most_page_errors: u32,
    /// The same at the best references.
    pub best_most_page_errors: u32,
    /// Differences between the word lines of a layer, where they are evaluated one by one.
    pub lines: LineResult,
    /// Greatest share of the cells of a state, over all places, that lie below the best reference beneath the
    /// state.
    pub crossed_left: f64,
    /// Greatest share that lie above the best reference over the state.
    pub crossed_right: f64,
    /// `crossed_left` divided by `crossed_right`.
    pub crossed_left_by_right: f64,
    /// Bits rewritten in place; empty where none were.
    pub rewrite: RewriteResult,
    /// Error-rate ratio of the worst to the best layer of a block (dV), mean over blocks; 1 for a single
    /// layer.
    pub layer_ratio: f64,
    /// Greatest difference in dV between two consecutive blocks, in percent.
    pub layer_ratio_differs_percent: f64,
    /// Role of the worst layer of the first block, or its number.
    pub worst_layer: String,
    /// The same of the best layer.
    pub best_layer: String,
    /// BER_EP1: the share of cells of the erased state and P1 that are read as each other.
    pub erased_to_p1: Spread,
    /// Programs; zeros where the set has no parameters of programs.
    pub program: ProgramResult,
    /// Reads that begin with the default references; zeros where the set has no parameters of reads.
    pub retries: RetryResult,
    /// Reads that begin where the last read of the layer ended, in quarters of the retry table (two bits of
    /// state).
    pub aware_retries: RetryResult,
    /// Reduction of the mean retries by the latter, in percent.
    pub aware_reduction_percent: f64,
    /// Increase of VStart of the layer in millivolts, in tens, up to which its errors stay within the worst
    /// layer's; 0 where several layers are asked for.
    pub safe_start_mv: f64,
    /// Decrease of VFinal of the layer in millivolts, in tens, up to which its errors stay within the worst layer's; 0
    /// where several layers are asked for.
    pub safe_final_mv: f64,
}

impl Evaluation {
    /// An answer of zeros in the shape of answers for TLC cells, for the names of its columns.
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
