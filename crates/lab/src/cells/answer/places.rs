//! Evaluation of a parameter set at each place of a question.

use wordline_kernel::{Seed, Stream};
use wordline_nand::cell::{
    CellLocation, CellProperties, CellSet, Condition, Levels, ProgramEffect, ProgramParameters, Programmed,
    Role,
};

use super::super::question::{CheckedQuestion, Question};

/// The results at one place.
pub(super) struct PlaceResult {
    pub place: CellLocation,
    pub levels: Levels,
    pub programmed: Option<Programmed>,
    /// Reduction of the program window at this place, in millivolts.
    pub margin: f64,
    pub error: f64,
}

impl CheckedQuestion {
    pub(super) fn references(&self, set: &CellSet) -> Vec<f64> {
        let offset = |at: usize| self.question.offsets.get(at).copied().unwrap_or_default();
        let (base, count) = match &self.two_bits {
            Some((base, coding)) => (*base, coding.states() - 1),
            None => (0, set.references.len()),
        };
        let moved = set.references.iter().enumerate().skip(base).take(count);
        moved.map(|(at, reference)| reference + offset(at) + self.question.offset).collect()
    }

    fn strength(&self, set: &CellSet, place: CellLocation, seed: Seed) -> CellProperties {
        let variation = set.variation.as_ref();
        variation.map_or(CellProperties::USUAL, |variation| variation.strength(place, self.effects, seed))
    }

    /// Evaluates every place. With super layers, evaluates every word line. The result of a word line depends
    /// on how many reprograms of the word lines above it came before its own reprograms.
    pub(super) fn all(&self, set: &CellSet, references: &[f64], seed: Seed) -> Vec<PlaceResult> {
        let layers = self.question.super_layer;
        if self.question.lines || self.order.is_some() {
            return self.evaluate_lines(set, references, seed);
        }
        if layers < 2 {
            return self
                .places
                .iter()
                .map(|place| self.evaluate_place(set, *place, references, seed))
                .collect();
        }
        let moves = self.moves as usize;
        let mut random = seed.stream("cells.order", 0);
        let mut all = Vec::new();
        let blocks = self.places.chunk_by(|a, b| is_same_block(*a, *b));
        for group in blocks.flat_map(|block| block.chunks(layers as usize)) {
            for _ in 0..self.word_lines {
                let ahead = count_ahead(group.len(), moves, &mut random);
                for (place, ahead) in group.iter().zip(ahead) {
                    let condition = Condition { ahead: f64::from(ahead), ..self.condition };
                    let asked = Self { condition, ..self.clone() };
                    all.push(asked.evaluate_place(set, *place, references, seed));
                }
            }
        }
        all
    }

    /// Evaluates every word line of every place, including the disturbance by neighbours that are programmed
    /// later.
    fn evaluate_lines(&self, set: &CellSet, references: &[f64], seed: Seed) -> Vec<PlaceResult> {
        let variation = set.variation.as_ref().expect("questions of word lines are of sets with layers");
        let later = self.order.map(|order| order.later_neighbours(variation.layers, self.word_lines));
        let mut all = Vec::new();
        for place in &self.places {
            for line in 0..self.word_lines {
                let at = (place.layer * self.word_lines + line) as usize;
                let later = later.as_ref().map_or(0, |later| later[at]);
                let again = self.condition.again + f64::from(later);
                let asked = Self { condition: Condition { again, ..self.condition }, ..self.clone() };
                let mut strength = self.strength(set, *place, seed);
                strength.width *= variation.line_width(*place, line, seed);
                all.push(asked.evaluate_strength(set, *place, strength, references));
            }
        }
        all
    }

    fn evaluate_place(
        &self,
        set: &CellSet,
        place: CellLocation,
        references: &[f64],
        seed: Seed,
    ) -> PlaceResult {
        self.evaluate_strength(set, place, self.strength(set, place, seed), references)
    }

    /// Evaluates a place whose cells have the given properties.
    fn evaluate_strength(
        &self,
        set: &CellSet,
        place: CellLocation,
        strength: CellProperties,
        references: &[f64],
    ) -> PlaceResult {
        let question = &self.question;
        let mut how = ProgramParameters {
            start_margin: question.start_margin,
            final_margin: question.final_margin,
            faster: strength.faster,
            early: 0,
            skipped: &[],
        };
        if question.follow {
            let margin = self.follower_margin(set, &strength);
            how.start_margin += margin * question.follow_start;
            how.final_margin += margin * (1.0 - question.follow_start);
        }
        let mut skipped = Vec::new();
        if let Some(ispp) = &set.ispp {
            let safe = ispp.safe_skips(&how);
            skipped = if question.skip { safe.clone() } else { vec![0; safe.len()] };
            if let Some(state) = (question.skip_state as usize).checked_sub(1) {
                skipped[state] = safe[state].saturating_add(question.skip_more);
            }
        }
        how.skipped = &skipped;
        let programmed = set.ispp.as_ref().map(|ispp| ispp.program(&how));
        let written =
            programmed.as_ref().map_or_else(ProgramEffect::default, |done| ProgramEffect::of(&how, done));
        let levels = set.levels(&strength, &self.condition, self.effects, &written);
        let levels = match &self.two_bits {
            Some((base, coding)) => levels.part(*base, coding.clone()),
            None => levels,
        };
        let error = levels.mean_error(references);
        let margin = how.start_margin + how.final_margin;
        PlaceResult { place, levels, programmed, margin, error }
    }

    /// Reduction of a follower's program window, in millivolts. The leader of its layer was programmed with
    /// default parameters. The reduction is proportional to the distance of the leader's BER_EP1 below its
    /// limit.
    fn follower_margin(&self, set: &CellSet, strength: &CellProperties) -> f64 {
        let Question { follow_limit, follow_spare, follow_margin, .. } = self.question;
        let after = Condition { hours: 0.0, ..self.condition };
        let leader = set.levels(strength, &after, self.effects, &ProgramEffect::default());
        let spare = follow_limit - set.erased_to_p1(&leader);
        follow_margin * (spare / follow_spare).clamp(0.0, 1.0)
    }

    /// The greatest margin, in multiples of 10 mV, at which the question's layer still has no more errors
    /// than the worst layer (kappa). The worst layer has no margin. cubeFTL balances errors this way (figure
    /// 9).
    pub(super) fn safe_margin(
        &self,
        set: &CellSet,
        references: &[f64],
        seed: Seed,
        put: impl Fn(f64, &mut Question),
    ) -> f64 {
        let kappa = set.variation.as_ref().and_then(|variation| variation.layer_of(Role::Kappa));
        let (Some(worst), Some(place)) = (kappa, self.places.first()) else { return 0.0 };
        let error = |layer: u32, margin: f64| {
            let mut question = Question { start_margin: 0.0, final_margin: 0.0, ..self.question.clone() };
            put(margin, &mut question);
            let asked = Self { question, ..self.clone() };
            asked.evaluate_place(set, CellLocation { layer, ..*place }, references, seed).error
        };
        let most = error(worst, 0.0);
        let fits = |tens: &u32| error(place.layer, 10.0 * f64::from(*tens)) <= most;
        // The search ends below 1 V, which is more than half of the program window.
        10.0 * f64::from((1..100).take_while(fits).last().unwrap_or_default())
    }
}

/// Draws a random order of reprograms for a string of `layers` word lines, from the top. Each word line is
/// reprogrammed `moves` times. Returns for each word line how many word lines above it had more reprograms
/// than it, summed over its reprograms.
fn count_ahead(layers: usize, moves: usize, random: &mut Stream) -> Vec<u32> {
    let mut order: Vec<usize> = (0..layers).flat_map(|layer| vec![layer; moves]).collect();
    random.shuffle(&mut order);
    let (mut done, mut ahead) = (vec![0; layers], vec![0; layers]);
    for layer in order {
        ahead[layer] += done[..layer].iter().filter(|above| **above > done[layer]).count() as u32;
        done[layer] += 1;
    }
    ahead
}

pub(super) fn is_same_block(a: CellLocation, b: CellLocation) -> bool {
    (a.chip, a.block) == (b.chip, b.block)
}
