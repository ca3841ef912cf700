//! Bits rewritten in place: the states after the rewrites, and how far cells move.

use serde::Serialize;
use wordline_nand::cell::{Base, Bit, CellSet, TwoBitCoding};

/// The states of two-bit cells after some rewrites, and the moves of the last rewrite. Texts have the form of
/// ReSSD's figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RewriteResult {
    /// First and last state in use, such as P2 to P5.
    pub states: String,
    /// The two-bit codes of the states in use, high bit first, from the lowest state.
    pub codes: String,
    /// The two numbers that the hardware stores: RPCnt and Distribution ID.
    pub stored: String,
    /// The codes that each code can become in the last rewrite: first with the bit unchanged, then with the
    /// bit changed.
    pub changes: String,
    /// Fewest states that a cell moves up in the last rewrite.
    pub least_states: f64,
    /// Most states that a cell moves up in the last rewrite.
    pub most_states: f64,
    /// Mean number of states that a cell moves up in the last rewrite, for random data.
    pub mean_states: f64,
    /// Share of cells that keep their state in the last rewrite, for random data.
    pub still: f64,
    /// Mean rise of the threshold voltage in the last rewrite, in the voltage unit of the set.
    pub mean_rise: f64,
    /// Greatest rise of the threshold voltage in the last rewrite.
    pub most_rise: f64,
}

impl RewriteResult {
    /// The result of the rewrites in `history`, with the cells of `set`.
    pub fn of(set: &CellSet, history: &[Bit]) -> Self {
        let coding = TwoBitCoding::of_history(history).expect("the history was checked");
        let name = |state: usize| if state == 0 { "ER".to_owned() } else { format!("P{state}") };
        let codes = coding.codes().map(|code| format!("{code:02b}"));
        let mut answer = Self {
            states: format!("{} to {}", name(coding.base()), name(coding.base() + 3)),
            codes: codes.join(" "),
            stored: format!("{}, {:02b}", coding.rewrites(), coding.distribution_id()),
            ..Self::default()
        };
        if let Some((last, before)) = history.split_last() {
            let old = TwoBitCoding::of_history(before).expect("a part of a history is one");
            answer.set_last_rewrite(set, old, coding, *last);
        }
        answer
    }

    /// Sets the results of the last rewrite, which wrote `bit`.
    fn set_last_rewrite(&mut self, set: &CellSet, old: TwoBitCoding, new: TwoBitCoding, bit: Bit) {
        let mean = |state: usize| match &set.base {
            Base::Programmed(states) => states[state].mean,
            Base::Measured(ages) => ages.states[0][state].mean,
        };
        let (mut changes, mut moved) = (Vec::new(), Vec::new());
        for code in old.codes() {
            let both = [code, code ^ bit.mask()];
            changes.push(format!("{code:02b} to {:02b} or {:02b}", both[0], both[1]));
            moved.extend(both.map(|after| (old.state_of(code), new.state_of(after))));
        }
        self.changes = changes.join(", ");
        let states: Vec<f64> = moved.iter().map(|(from, to)| *to as f64 - *from as f64).collect();
        let rises: Vec<f64> = moved.iter().map(|(from, to)| mean(*to) - mean(*from)).collect();
        let of_all = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.least_states = states.iter().copied().fold(f64::INFINITY, f64::min);
        (self.most_states, self.mean_states) = (most(&states), of_all(&states));
        self.still = states.iter().filter(|states| **states == 0.0).count() as f64 / states.len() as f64;
        (self.mean_rise, self.most_rise) = (of_all(&rises), most(&rises));
    }
}
