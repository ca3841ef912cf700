//! Results of word-line programs: loops, verifies and time.

use serde::Serialize;
use wordline_nand::cell::{CellSet, Programmed};

use super::places::PlaceResult;

/// Results of word-line programs, means unless a field says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramResult {
    /// Number of program loops.
    pub loops: f64,
    /// Number of verifies.
    pub verifies: f64,
    /// Number of skipped verifies.
    pub skipped: f64,
    /// tPROG, in microseconds.
    pub time_us: f64,
    /// The shortest tPROG of a word line, in microseconds.
    pub least_us: f64,
    /// The longest tPROG of a word line, in microseconds.
    pub most_us: f64,
    /// Reduction of the program window, in millivolts.
    pub margin_mv: f64,
    /// Share of the cells of all programmed states that ended at least one state too high.
    pub over_programmed: f64,
    /// Number of verifies that may be skipped, for each programmed state at the first place.
    pub safe_skips: Vec<u8>,
    /// First program loop in which cells pass, for each programmed state at the first place.
    pub first_loops: Vec<u32>,
    /// Last program loop in which cells pass, for each programmed state at the first place.
    pub last_loops: Vec<u32>,
}

/// Program results over all places.
pub(super) fn program(set: &CellSet, found: &[PlaceResult]) -> ProgramResult {
    let done: Vec<&Programmed> = found.iter().filter_map(|found| found.programmed.as_ref()).collect();
    let (Some(first), Some(ispp)) = (done.first(), &set.ispp) else { return ProgramResult::default() };
    let mean = |value: &dyn Fn(&Programmed) -> f64| {
        done.iter().map(|one| value(one)).sum::<f64>() / done.len() as f64
    };
    let states = ispp.loops.len();
    let us = || done.iter().map(|one| one.time.us());
    let all = |one: &Programmed| one.loops.iter().map(|loops| loops.last).sum::<u32>();
    ProgramResult {
        loops: mean(&|one| one.verifies.len() as f64),
        verifies: mean(&|one| f64::from(one.all_verifies())),
        skipped: mean(&|one| f64::from(all(one) - one.all_verifies())),
        time_us: mean(&|one| one.time.us()),
        least_us: us().fold(f64::INFINITY, f64::min),
        most_us: us().fold(0.0, f64::max),
        margin_mv: found.iter().map(|found| found.margin).sum::<f64>() / found.len() as f64,
        over_programmed: mean(&|one| {
            (0..states).map(|state| one.over_programmed(state)).sum::<f64>() / states as f64
        }),
        safe_skips: first.loops.iter().map(|loops| (loops.first - 1) as u8).collect(),
        first_loops: first.loops.iter().map(|loops| loops.first).collect(),
        last_loops: first.loops.iter().map(|loops| loops.last).collect(),
    }
}
