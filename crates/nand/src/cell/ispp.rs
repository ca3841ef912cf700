//! Incremental step pulse programming (ISPP): loops of a pulse and verifies, simulated one by one (cubeFTL,
//! sections 2.2 and 4.1).
//!
//! Equation 1: tPROG is the sum of tPGM + k tVFY over the loops, where k is the number of verifies in a loop.
//! MaxLoop is ceil((VFinal - VStart) / step). Equation 2 gives the same time as the sum of L (tPGM + V tVFY)
//! over the states. For each state, L is the number of its loops after the last loop of the states below it,
//! and V is the number of verifies in each of these loops.
//!
//! The cells of a state pass its verify in some loop from `first` to `last`. By default every state is
//! verified from loop 1 on, until all of its cells have passed. The verifies before loop `first` may be
//! skipped, because no cell passes them.

use wordline_kernel::{Duration, Stream};

use super::math::{normal, upper_tail};

/// The range of loops in which the cells of a state pass their verify, counted from the first loop of the
/// program: a and b of cubeFTL's figure 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loops {
    /// First loop.
    pub first: u32,
    /// Last loop.
    pub last: u32,
}

/// Parameters of programming.
#[derive(Clone, Debug, PartialEq)]
pub struct Ispp {
    /// VFinal - VStart, in millivolts.
    pub window: f64,
    /// The step of the programming voltage from loop to loop, in millivolts.
    pub step: f64,
    /// tPGM, the time of a pulse.
    pub pulse: Duration,
    /// tVFY, the time of a verify of one state.
    pub verify: Duration,
    /// The loops of each programmed state, the lowest first.
    pub loops: Vec<Loops>,
}

/// The parameters of a single program that a controller or the word line changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgramParameters<'a> {
    /// Increase of VStart, in millivolts.
    pub start_margin: f64,
    /// Decrease of VFinal, in millivolts.
    pub final_margin: f64,
    /// Verifies of each state that are skipped at the beginning, the lowest state first. States beyond the
    /// slice skip none.
    pub skipped: &'a [u8],
    /// Number of whole loops by which all cells pass earlier than usual, as after a sudden rise of
    /// temperature.
    pub early: u32,
    /// Speed of the cells of this word line relative to the slowest word line, as a fraction of a step, from
    /// 0 to below 1. Each program has a whole number of loops; because of this fraction, the mean over the
    /// word lines need not be whole.
    pub faster: f64,
}

/// The result of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Programmed {
    /// Verifies in each loop.
    pub verifies: Vec<u32>,
    /// The loops of each state.
    pub loops: Vec<Loops>,
    /// The loop in which each state is first verified.
    pub verified_from: Vec<u32>,
    /// Over-programming: for each state, the shares of its cells that passed 1, 2, 3 ... loops before their
    /// first verify. These cells lie 1, 2, 3 ... states too high.
    pub over: Vec<Vec<f64>>,
    /// tPROG.
    pub time: Duration,
}

impl Programmed {
    /// The sum of all verifies.
    pub fn all_verifies(&self) -> u32 {
        self.verifies.iter().sum()
    }

    /// The share of over-programmed cells of the programmed state `state` (0 for the lowest).
    pub fn over_programmed(&self, state: usize) -> f64 {
        self.over[state].iter().sum()
    }
}

impl Ispp {
    /// MaxLoop for a window in millivolts, at least one loop.
    fn most_loops(&self, window: f64) -> u32 {
        // Rounding can put a whole number of steps a millionth of a step too high: 1,620 mV are ten steps of
        // 162 mV.
        ((window / self.step - 1e-6).ceil() as u32).max(1)
    }

    /// Number of loops of a program of a word line.
    pub fn max_loop(&self, how: &ProgramParameters<'_>) -> u32 {
        self.most_loops(self.window - how.faster * self.step - how.start_margin - how.final_margin)
    }

    /// Number of loops by which all states pass earlier with a higher VStart.
    fn earlier(&self, how: &ProgramParameters<'_>) -> u32 {
        let window = self.window - how.faster * self.step;
        self.most_loops(window) - self.most_loops(window - how.start_margin)
    }

    /// Fraction of a loop by which cells pass before the end of the loop of the slowest word line. It is the
    /// speed of the word line, plus the fractional loop of a higher VStart.
    fn faster(&self, how: &ProgramParameters<'_>) -> f64 {
        (how.faster + how.start_margin / self.step - f64::from(self.earlier(how))).clamp(0.0, 1.0)
    }

    /// The loops of every state under `how`.
    pub fn loops_under(&self, how: &ProgramParameters<'_>) -> Vec<Loops> {
        let (earlier, most) = (self.earlier(how) + how.early, self.max_loop(how));
        let of = |state: &Loops| {
            let first = state.first.saturating_sub(earlier).clamp(1, most);
            Loops { first, last: state.last.saturating_sub(earlier).clamp(first, most) }
        };
        self.loops.iter().map(of).collect()
    }

    /// Verifies of each state that may be skipped without over-programming: the verifies before the first
    /// loop of the state.
    pub fn safe_skips(&self, how: &ProgramParameters<'_>) -> Vec<u8> {
        self.loops_under(how).iter().map(|state| (state.first - 1) as u8).collect()
    }

    /// The parameters for programming cells to these states alone. `states` has their numbers in increasing
    /// order; P1 has number 0. VStart is higher by as many steps as there are loops between the first loop of
    /// P1 and the first loop of the lowest state. The program ends with the last loop of the highest state.
    #[must_use]
    pub fn to_states(&self, states: &[usize]) -> Self {
        let (lowest, highest) = (states[0], states[states.len() - 1]);
        let later = self.loops[lowest].first.saturating_sub(self.loops[0].first);
        let sooner = self.loops[self.loops.len() - 1].last.saturating_sub(self.loops[highest].last);
        let of = |state: &usize| {
            let Loops { first, last } = self.loops[*state];
            Loops { first: first.saturating_sub(later).max(1), last: last.saturating_sub(later).max(1) }
        };
        let window = (self.window - f64::from(later + sooner) * self.step).max(self.step);
        Self { window, loops: states.iter().map(of).collect(), ..self.clone() }
    }

    /// Simulates a program, loop by loop.
    pub fn program(&self, how: &ProgramParameters<'_>) -> Programmed {
        let (loops, most) = (self.loops_under(how), self.max_loop(how));
        let skipped = |state: usize| u32::from(how.skipped.get(state).copied().unwrap_or_default());
        let verified_from: Vec<u32> = (0..loops.len()).map(|state| skipped(state) + 1).collect();
        let mut time = Duration::ZERO;
        let mut verifies = Vec::with_capacity(most as usize);
        for n in 1..=most {
            let states = loops.iter().zip(&verified_from);
            let here = states.filter(|(state, from)| n >= **from && n <= state.last).count() as u32;
            time += self.pulse + self.verify * u64::from(here);
            verifies.push(here);
        }
        let over = (0..loops.len()).map(|state| self.over(loops[state], verified_from[state], how)).collect();
        Programmed { verifies, loops, verified_from, over, time }
    }

    /// Shares of the cells of a state that passed 1, 2, 3 ... loops before loop `from`, its first verify.
    fn over(&self, state: Loops, from: u32, how: &ProgramParameters<'_>) -> Vec<f64> {
        if from <= state.first {
            return Vec::new();
        }
        let (before, speed) = (from - state.first, Speed::of(state, self.faster(how)));
        (1..=before).map(|beyond| speed.share(state, from - beyond)).collect()
    }

    /// tPROG with the default parameters.
    pub fn time(&self) -> Duration {
        self.program(&ProgramParameters::default()).time
    }

    /// The loop in which a randomly drawn cell of state `state` (0 for the lowest) passes, verified or not.
    pub fn drawn_loop(&self, state: usize, how: &ProgramParameters<'_>, random: &mut Stream) -> u32 {
        let loops = self.loops_under(how)[state];
        Speed::of(loops, self.faster(how)).drawn(loops, random)
    }
}

/// The programming speed of the cells of a state: the fractional loop in which a cell would just pass,
/// normally distributed.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    mean: f64,
    deviation: f64,
}

/// Standard deviations from the mean speed to the first and to the last loop. Chosen: a page of 16 KiB has
/// 16,384 cells in each of eight states. On average half a cell lies beyond four deviations on each side, so
/// that a word line uses the first and the last loop.
const REACH_DEVIATIONS: f64 = 4.0;

impl Speed {
    /// The speed of a state whose cells pass in `loops`. The cells spread over b - a steps, for loops a to b.
    /// Then they fill these loops whatever the speed of the word line within a step.
    pub fn of(loops: Loops, faster: f64) -> Self {
        let spread = f64::from(loops.last - loops.first).max(0.5);
        let middle = f64::from(loops.first + loops.last) / 2.0;
        Self { mean: middle - faster, deviation: spread / 2.0 / REACH_DEVIATIONS }
    }

    /// The share of cells that pass in loop `n`. Cells that would pass before the first loop or after the
    /// last loop count in that loop.
    pub fn share(self, loops: Loops, n: u32) -> f64 {
        let after = |n: u32| {
            if n < loops.first {
                1.0
            } else if n >= loops.last {
                0.0
            } else {
                upper_tail((f64::from(n) - self.mean) / self.deviation)
            }
        };
        after(n - 1) - after(n)
    }

    fn drawn(self, loops: Loops, random: &mut Stream) -> u32 {
        let needed = (self.mean + self.deviation * normal(random)).ceil();
        needed.clamp(f64::from(loops.first), f64::from(loops.last)) as u32
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;

    const fn loops(first: u32, last: u32) -> Loops {
        Loops { first, last }
    }

    /// Figure 3 of cubeFTL: three, two and two loops for P1, P2, P3.
    fn mlc() -> Ispp {
        let (pulse, verify) = (Duration::from_us(50), Duration::from_us(4));
        Ispp { window: 700.0, step: 100.0, pulse, verify, loops: vec![loops(1, 3), loops(4, 5), loops(6, 7)] }
    }

    /// The part of figure 8: P1 may skip one verify, P7 seven.
    fn tlc() -> Ispp {
        Ispp {
            window: 1_620.0,
            step: 162.0,
            pulse: Duration::from_ns(50_155),
            verify: Duration::from_ns(4_050),
            loops: (1..=7).map(|state| loops(state + 1, state + 3)).collect(),
        }
    }

    /// tPROG by equation 2: each state counts the loops after the last loop of the states below it.
    fn time_by_states(ispp: &Ispp) -> Duration {
        let mut before = 0;
        let states = ispp.loops.iter().enumerate().map(|(state, loops)| {
            let own = loops.last.saturating_sub(before);
            before = before.max(loops.last);
            let verifies = (ispp.loops.len() - state) as u64;
            (ispp.pulse + ispp.verify * verifies) * u64::from(own)
        });
        states.fold(Duration::ZERO, |sum, time| sum + time)
    }

    #[test]
    fn the_program_of_figure_3_has_7_pulses_and_15_verifies() {
        let ispp = mlc();
        let done = ispp.program(&ProgramParameters::default());
        assert_eq!(done.verifies, [3, 3, 3, 2, 2, 1, 1]);
        assert_eq!(done.time, Duration::from_us(7 * 50 + 15 * 4));
        assert_eq!(time_by_states(&ispp), done.time, "equation 2 is equation 1");
        // Section 4.1.1: three verifies of P2 may be skipped, five of P3.
        assert_eq!(ispp.safe_skips(&ProgramParameters::default()), [0, 3, 5]);
    }

    #[test]
    fn the_set_of_figure_8_has_10_loops_49_verifies_and_may_skip_28() {
        let ispp = tlc();
        let done = ispp.program(&ProgramParameters::default());
        assert_eq!((done.verifies.len(), done.all_verifies()), (10, 49));
        assert_eq!((done.time, time_by_states(&ispp)), (Duration::from_us(700), Duration::from_us(700)));
        let safe = ispp.safe_skips(&ProgramParameters::default());
        assert_eq!((safe[0], safe[6], safe.iter().map(|n| u32::from(*n)).sum::<u32>()), (1, 7, 28));
        let skipped = ispp.program(&ProgramParameters { skipped: &safe, ..ProgramParameters::default() });
        assert_eq!((skipped.verifies.len(), skipped.all_verifies()), (10, 21));
        assert_eq!(skipped.time, Duration::from_us(700) - Duration::from_ns(28 * 4_050));
        assert!(
            (0..7).all(|state| skipped.over_programmed(state) == 0.0),
            "nothing passes before it is verified"
        );
    }

    #[test]
    fn nothing_skipped_and_no_margin_is_the_default_to_the_picosecond() {
        let how = ProgramParameters { skipped: &[0; 7], ..ProgramParameters::default() };
        assert_eq!(tlc().program(&how), tlc().program(&ProgramParameters::default()));
    }

    #[test]
    fn every_verify_skipped_beyond_the_safe_ones_over_programs_more_cells() {
        let (ispp, how) = (tlc(), ProgramParameters { faster: 0.5, ..ProgramParameters::default() });
        for state in 0..7 {
            let mut before = 0.0;
            for more in 1..=3 {
                let mut skipped = ispp.safe_skips(&how);
                skipped[state] += more;
                let done = ispp.program(&ProgramParameters { skipped: &skipped, ..how });
                let over = done.over_programmed(state);
                assert!(over > before && over <= 1.0 + 1e-12, "P{}: {over} after {before}", state + 1);
                before = over;
            }
            assert!((before - 1.0).abs() < 1e-12, "then no cell is verified in time");
        }
    }

    #[test]
    fn the_mean_of_whole_loops_over_word_lines_is_that_of_equation_1() {
        let ispp = tlc();
        let mean = |margin: f64| {
            let of = |n: u32| ProgramParameters {
                start_margin: margin,
                faster: f64::from(n) / 1e4,
                ..ProgramParameters::default()
            };
            (0..10_000).map(|n| f64::from(ispp.max_loop(&of(n)))).sum::<f64>() / 1e4
        };
        for margin in [0.0, 130.0, 320.0] {
            assert!(
                (mean(margin) - (1_620.0 - margin) / 162.0).abs() < 1e-3,
                "{margin} mV: {}",
                mean(margin)
            );
        }
    }

    #[test]
    fn drawn_cells_pass_in_the_loops_that_the_shares_say() {
        let (ispp, how) =
            (tlc(), ProgramParameters { faster: 0.3, start_margin: 100.0, ..ProgramParameters::default() });
        let mut random = Seed(5).stream("ispp", 0);
        for state in [0, 3, 6] {
            let loops = ispp.loops_under(&how)[state];
            let drawn: Vec<u32> = (0..50_000).map(|_| ispp.drawn_loop(state, &how, &mut random)).collect();
            for n in loops.first..=loops.last {
                let share = Speed::of(loops, ispp.faster(&how)).share(loops, n);
                let found = drawn.iter().filter(|drawn| **drawn == n).count() as f64 / 5e4;
                assert!(
                    (found - share).abs() <= 4.0 * (share.max(1e-5) / 5e4).sqrt(),
                    "{n}: {found} {share}"
                );
            }
        }
    }
}
