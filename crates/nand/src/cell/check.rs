//! Validation of a parameter set file, which builds the set.

use wordline_kernel::Complaints;

use super::MeasuredAges;
use super::coding::Coding;
use super::condition::ZERO_CELSIUS;
use super::file::{
    BackgroundFile, CellsFile, CyclesFile, DisturbFile, InterferenceFile, IsppFile, LevelsFile, ReadFile,
    RetentionFile, RoleFile, VariationFile,
};
use super::ispp::{Ispp, Loops};
use super::levels::{LeftTail, Level};
use super::math::Shape;
use super::read::{Ecc, Reading, Retry};
use super::set::{Base, CellSet, Margins};
use super::terms::{Background, Cycles, Disturb, Interference, Retention};
use super::variation::{Anchor, Role, Variation};

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

fn is_share(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

/// Requires a finite number of at least 0.
fn at_least_zero(wrong: &mut Complaints, key: &str, value: f64) {
    wrong.require(value >= 0.0 && value.is_finite(), key, value, "a number from 0 on");
}

fn above_zero(wrong: &mut Complaints, key: &str, value: f64) {
    wrong.require(is_positive(value), key, value, "a number above 0");
}

impl CellsFile {
    /// The set, or all complaints.
    ///
    /// # Errors
    /// All complaints, with their full keys.
    pub fn check(&self) -> Result<CellSet, Complaints> {
        let mut wrong = Complaints::default();
        let (base, coding, references) = self.levels.check(&mut wrong);
        let (states, boundaries) = (coding.states(), coding.states() - 1);
        let set = CellSet {
            name: self.name.clone(),
            source: self.source.clone(),
            base,
            shape: self.levels.shape(&mut wrong),
            coding,
            references,
            cycles: self.cycles.map(|cycles| cycles.check(&mut wrong)),
            retention: self.retention.as_ref().map(|retention| retention.check(states, &mut wrong)),
            disturb: self.disturb.map(|disturb| disturb.check(&mut wrong)),
            interference: self.interference.map(|interference| interference.check(&mut wrong)),
            background: self.background.map(|background| background.check(&mut wrong)),
            variation: self.variation.as_ref().map(|variation| variation.check(&mut wrong)),
            ispp: self.ispp.as_ref().map(|ispp| ispp.check(boundaries, &mut wrong)),
            margins: self.ispp.as_ref().map_or_else(Margins::default, |ispp| Margins {
                start: ispp.start_margin,
                last: ispp.final_margin,
            }),
            reading: self.read.as_ref().map(|read| read.check(boundaries, &mut wrong)),
            factors: self.factors.clone(),
        };
        if let Some(factors) = &set.factors {
            factors.check(set.ispp.as_ref(), set.reading.as_ref(), &mut wrong);
        }
        let ages = !self.levels.ages.is_empty();
        wrong.require(
            !(ages && self.retention.is_some()),
            "retention",
            "a table beside levels.ages",
            "one of them: the ages include the effect of retention time",
        );
        wrong.into_result(set)
    }
}

impl LevelsFile {
    fn shape(&self, wrong: &mut Complaints) -> Shape {
        let Some(freedom) = self.student else { return Shape::Gaussian };
        wrong.require(freedom >= 3, "levels.student", freedom, "at least 3: fewer have no deviation");
        Shape::Student { freedom: freedom.max(3) }
    }

    fn check(&self, wrong: &mut Complaints) -> (Base, Coding, Vec<f64>) {
        let measured = !self.ages.is_empty();
        let (mean, deviation) = match self.ages.first() {
            Some(first) => (&first.mean, &first.deviation),
            None => (&self.mean, &self.deviation),
        };
        let both = measured && !(self.mean.is_empty() && self.deviation.is_empty());
        wrong.require(!both, "levels.mean", "states beside levels.ages", "one of them");
        let coding = self.check_coding(mean.len(), wrong);
        check_states("levels", mean, deviation, coding.states(), wrong);
        let mut before = 0.0;
        for (n, age) in self.ages.iter().enumerate() {
            let key = format!("levels.ages.{n}");
            check_states(&key, &age.mean, &age.deviation, coding.states(), wrong);
            wrong.require(age.hours > before, &format!("{key}.hours"), age.hours, "more than those before");
            before = age.hours;
        }
        if !wrong.0.is_empty() {
            // The caller returns the complaints and drops these values.
            return (Base::Programmed(Vec::new()), coding, Vec::new());
        }
        let base = if measured {
            let states = self.ages.iter().map(|age| states_of(&age.mean, &age.deviation)).collect();
            Base::Measured(MeasuredAges { hours: self.ages.iter().map(|age| age.hours).collect(), states })
        } else {
            Base::Programmed(states_of(mean, deviation))
        };
        let references = self.check_references(mean, deviation, &coding, wrong);
        (base, coding, references)
    }

    fn check_coding(&self, states: usize, wrong: &mut Complaints) -> Coding {
        let usual = Coding::usual(states.clamp(2, 16).ilog2());
        match self.coding.as_deref().map(Coding::new) {
            Some(Ok(coding)) => coding,
            Some(Err(error)) => {
                let wanted = "2, 4, 8 or 16 different codes, neighbours of which differ in one bit";
                wrong.add("levels.coding", error, wanted);
                usual
            }
            None => usual,
        }
    }

    fn check_references(
        &self,
        mean: &[f64],
        deviation: &[f64],
        coding: &Coding,
        wrong: &mut Complaints,
    ) -> Vec<f64> {
        let states = states_of(mean, deviation);
        let shape = self.shape(&mut Complaints::default());
        let levels = super::Levels { states, shape, coding: coding.clone(), over: Vec::new() };
        let Some(references) = &self.references else { return levels.optimal_references() };
        let between = references.len() == levels.boundaries()
            && references.iter().zip(mean.windows(2)).all(|(at, pair)| pair[0] < *at && *at < pair[1]);
        let wanted = format!("{} numbers, each between the means of two states", levels.boundaries());
        wrong.require(between, "levels.references", format!("{references:?}"), wanted);
        references.clone()
    }
}

fn states_of(mean: &[f64], deviation: &[f64]) -> Vec<Level> {
    let pairs = mean.iter().zip(deviation);
    pairs
        .map(|(mean, deviation)| Level { mean: *mean, deviation: *deviation, left: LeftTail::default() })
        .collect()
}

fn check_states(key: &str, mean: &[f64], deviation: &[f64], states: usize, wrong: &mut Complaints) {
    let wanted = format!("{states} numbers, as many as there are codes");
    for (name, values) in [("mean", mean), ("deviation", deviation)] {
        let count = format!("{} numbers", values.len());
        wrong.require(values.len() == states, &format!("{key}.{name}"), count, wanted.clone());
    }
    if let Some(at) = mean.windows(2).position(|pair| pair[0].is_nan() || pair[0] >= pair[1]) {
        let found = format!("{}, then {}", mean[at], mean[at + 1]);
        wrong.add(format!("{key}.mean"), found, "means that rise from state to state");
    }
    if let Some(least) = deviation.iter().find(|deviation| !is_positive(**deviation)) {
        wrong.add(format!("{key}.deviation"), least, "numbers above 0");
    }
}

impl CyclesFile {
    fn check(self, wrong: &mut Complaints) -> Cycles {
        at_least_zero(wrong, "cycles.widening", self.widening);
        at_least_zero(wrong, "cycles.erased_rise", self.erased_rise);
        above_zero(wrong, "cycles.exponent", self.exponent);
        Cycles { widening: self.widening, erased_rise: self.erased_rise, exponent: self.exponent }
    }
}

impl RetentionFile {
    fn check(&self, states: usize, wrong: &mut Complaints) -> Retention {
        let falls = self.drift.windows(2).all(|pair| pair[0] >= pair[1]);
        wrong.require(
            self.drift.len() == states && falls && self.drift.iter().all(|drift| drift.is_finite()),
            "retention.drift",
            format!("{:?}", self.drift),
            format!("{states} numbers, none above the one before: states come closer together"),
        );
        at_least_zero(wrong, "retention.widening", self.widening);
        above_zero(wrong, "retention.cycles", self.cycles);
        above_zero(wrong, "retention.exponent", self.exponent);
        wrong.require(is_share(self.unworn), "retention.unworn", self.unworn, "a share from 0 to 1");
        above_zero(wrong, "retention.onset_hours", self.onset_hours);
        at_least_zero(wrong, "retention.activation_energy", self.activation_energy);
        let warm = self.celsius > -ZERO_CELSIUS && self.celsius.is_finite();
        wrong.require(warm, "retention.celsius", self.celsius, "a temperature above 0 K");
        Retention {
            drift: self.drift.clone(),
            widening: self.widening,
            cycles: self.cycles,
            exponent: self.exponent,
            unworn: self.unworn,
            onset: self.onset_hours,
            energy: self.activation_energy,
            celsius: self.celsius,
        }
    }
}

impl DisturbFile {
    fn check(self, wrong: &mut Complaints) -> Disturb {
        at_least_zero(wrong, "disturb.rise", self.rise);
        above_zero(wrong, "disturb.exponent", self.exponent);
        Disturb { rise: self.rise, exponent: self.exponent }
    }
}

impl InterferenceFile {
    fn check(self, wrong: &mut Complaints) -> Interference {
        at_least_zero(wrong, "interference.rise", self.rise);
        at_least_zero(wrong, "interference.widening", self.widening);
        Interference { rise: self.rise, widening: self.widening }
    }
}

impl BackgroundFile {
    fn check(self, wrong: &mut Complaints) -> Background {
        wrong.require(is_share(self.share), "background.share", self.share, "a share from 0 to 1");
        above_zero(wrong, "background.power", self.power);
        at_least_zero(wrong, "background.drop", self.drop);
        Background { share: self.share, power: self.power, drop: self.drop }
    }
}

impl VariationFile {
    fn check(&self, wrong: &mut Complaints) -> Variation {
        wrong.require(self.layers > 0, "variation.layers", self.layers, "at least 1");
        wrong.require(self.word_lines > 0, "variation.word_lines", self.word_lines, "at least 1");
        at_least_zero(wrong, "variation.block", self.block);
        at_least_zero(wrong, "variation.chip", self.chip);
        at_least_zero(wrong, "variation.line", self.line);
        let mut anchors: Vec<Anchor> =
            self.roles.iter().filter_map(|(name, role)| role.check(name, self.layers, wrong)).collect();
        anchors.sort_by_key(|anchor| anchor.layer);
        wrong.require(!self.roles.is_empty(), "variation.roles", "no layer", "at least one of them");
        Variation {
            layers: self.layers,
            word_lines: self.word_lines,
            anchors,
            block: self.block,
            chip: self.chip,
            line: self.line,
        }
    }
}

impl RoleFile {
    fn check(self, name: &str, layers: u32, wrong: &mut Complaints) -> Option<Anchor> {
        let key = format!("variation.roles.{name}");
        let Some(role) = Role::ALL.into_iter().find(|role| role.name() == name) else {
            let names = Role::ALL.map(Role::name);
            wrong.add(key, format!("`{name}`"), wordline_kernel::one_of(name, &names));
            return None;
        };
        wrong.require(self.layer < layers, &format!("{key}.layer"), self.layer, "a layer of the block");
        above_zero(wrong, &format!("{key}.width"), self.width);
        above_zero(wrong, &format!("{key}.stress"), self.stress);
        Some(Anchor { role, layer: self.layer, width: self.width, stress: self.stress })
    }
}

impl IsppFile {
    fn check(&self, programmed: usize, wrong: &mut Complaints) -> Ispp {
        wrong.require(
            is_positive(self.window),
            "ispp.window",
            self.window,
            "a number above 0: VFinal lies above VStart",
        );
        above_zero(wrong, "ispp.step", self.step);
        at_least_zero(wrong, "ispp.start_margin", self.start_margin);
        at_least_zero(wrong, "ispp.final_margin", self.final_margin);
        let as_many = self.first.len() == programmed && self.last.len() == programmed;
        let counts = format!("{} and {} numbers", self.first.len(), self.last.len());
        wrong.require(as_many, "ispp.first", counts, format!("{programmed} in `first` and in `last`"));
        let loops: Vec<Loops> = self
            .first
            .iter()
            .zip(&self.last)
            .map(|(first, last)| Loops { first: *first, last: *last })
            .collect();
        let ispp =
            Ispp { window: self.window, step: self.step, pulse: self.pulse, verify: self.verify, loops };
        if is_positive(self.window) && is_positive(self.step) {
            check_loops(&ispp, wrong);
        }
        ispp
    }
}

fn check_loops(ispp: &Ispp, wrong: &mut Complaints) {
    let most = ispp.max_loop(&super::ProgramParameters::default());
    for (state, Loops { first, last }) in ispp.loops.iter().enumerate() {
        let found = format!("{first} to {last} for P{}", state + 1);
        wrong.require((1..=*last).contains(first), "ispp.first", &found, "at least 1, and at most `last`");
        wrong.require(*last <= most, "ispp.last", &found, format!("at most the {most} loops of the window"));
    }
}

impl ReadFile {
    fn check(&self, boundaries: usize, wrong: &mut Complaints) -> Reading {
        above_zero(wrong, "read.level_step", self.level_step);
        let bits = self.ecc_frame.0 * 8;
        wrong.require(
            (1..=u64::from(u32::MAX)).contains(&bits),
            "read.ecc_frame",
            self.ecc_frame,
            "a frame of 1 B to 512 MiB",
        );
        wrong.require(self.soft_gain >= 1.0, "read.soft_gain", self.soft_gain, "at least 1");
        let ecc = Ecc {
            bits: self.ecc_bits,
            frame: bits as u32,
            hard: self.decode,
            soft: self.decode_soft,
            soft_gain: self.soft_gain,
        };
        let retry = self.retry.as_ref().map(|retry| {
            let key = "read.retry.pattern";
            let fits = retry.pattern.len() == boundaries && retry.pattern.iter().all(|step| step.is_finite());
            wrong.require(fits, key, format!("{:?}", retry.pattern), format!("{boundaries} numbers"));
            let entries = u64::from(retry.steps) + u64::from(retry.before);
            wrong.require(entries <= 255, "read.retry.steps", entries, "at most 255 with `before`");
            Retry { pattern: retry.pattern.clone(), steps: retry.steps, before: retry.before }
        });
        Reading { level_step: self.level_step, ecc, retry }
    }
}
