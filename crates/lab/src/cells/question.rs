//! A question to a cell parameter set: condition of the cells, places, and parameters of reads and programs.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints};
use wordline_nand::cell::{
    Bit, CellLocation, CellSet, Coding, Condition, Effect, Effects, Role, TwoBitCoding,
};

use super::lines::Order;
use crate::error::{Error, Result};
use crate::words::found_and_wanted;

/// Greatest number of blocks and of chips in a population. Chosen: a question then takes seconds.
const MOST: u32 = 10_000;

/// The selection of cells, their history, and the parameters of their programs and reads. The defaults
/// describe new cells just after a program with data-sheet parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// Number of P/E cycles.
    pub cycles: f64,
    /// Retention time in hours.
    pub hours: f64,
    /// Temperature during retention, in degrees Celsius.
    pub celsius: f64,
    /// Reads of the block since the cells were programmed.
    pub reads: f64,
    /// Reprograms of each neighbour since the cells were programmed.
    pub again: f64,
    /// History of reprograms in MLC mode, which begins with states ER to P3. L rewrites the low bit, H the
    /// high bit, + moves all four states up by one, and a single - means no reprogram. Empty: all bits of a
    /// cell were programmed at once.
    pub history: String,
    /// Whether all states of the cells are evaluated. Otherwise only the four states that hold the two bits
    /// after the history.
    pub all_states: bool,
    /// Layers of a super layer, whose word lines are reprogrammed in any order.
    pub super_layer: u32,
    /// A layer, by its number from the top or by its role (alpha, beta, kappa, omega). Empty: all layers.
    pub layer: String,
    /// Number of chips in the population.
    pub chips: u32,
    /// Number of blocks of each chip.
    pub blocks: u32,
    /// Size of a page without its spare bytes.
    pub page_size: Bytes,
    /// Increase of VStart, the voltage of the first program pulse, in millivolts.
    pub start_margin: f64,
    /// Decrease of VFinal, the voltage of the last program pulse, in millivolts.
    pub final_margin: f64,
    /// Whether the program skips every verify that is safe to skip.
    pub skip: bool,
    /// Number of a programmed state, from 1. The program skips `skip_more` additional verifies of this state;
    /// 0 for no state.
    pub skip_state: u32,
    /// Number of verifies skipped beyond the safe ones, for the state `skip_state`.
    pub skip_more: u8,
    /// Whether word lines follow the leader of their layer (cubeFTL, section 4.1). A follower has a narrower
    /// program window. The reduction depends on the leader's BER_EP1 right after its program with default
    /// parameters. BER_EP1 is the share of cells of the erased state and of P1 that are read as the other of
    /// the two.
    pub follow: bool,
    /// Limit of BER_EP1 for a follower.
    pub follow_limit: f64,
    /// Distance of the leader's BER_EP1 below the limit at which a follower gets the whole margin. With a
    /// smaller distance it gets a proportional part.
    pub follow_spare: f64,
    /// Greatest margin of a follower, VStart and VFinal together, in millivolts.
    pub follow_margin: f64,
    /// Share of the margin that is applied to VStart; the rest is applied to VFinal.
    pub follow_start: f64,
    /// Whether word lines of a layer are evaluated one by one.
    pub lines: bool,
    /// Program order of the word lines of a block: horizontal, vertical, mixed or leaders-first. The order
    /// decides how many of a word line's eight neighbours are programmed after it. Empty: neighbours that are
    /// programmed later have no effect.
    pub order: String,
    /// Shift of each read reference, from the lowest, in the voltage unit of the set; empty for none.
    pub offsets: Vec<f64>,
    /// Shift of all read references, added to `offsets`.
    pub offset: f64,
    /// Names of the effects to switch off.
    pub without: Vec<String>,
}

impl Default for Question {
    fn default() -> Self {
        let Condition { cycles, hours, celsius, reads, again, ahead: _ } = Condition::FRESH;
        Self {
            cycles,
            hours,
            celsius,
            reads,
            again,
            history: String::new(),
            all_states: false,
            super_layer: 1,
            layer: String::new(),
            chips: 1,
            blocks: 1,
            page_size: Bytes(16 << 10),
            start_margin: 0.0,
            final_margin: 0.0,
            skip: false,
            skip_state: 0,
            skip_more: 0,
            lines: false,
            order: String::new(),
            follow: false,
            follow_limit: 4.2e-3,
            follow_spare: 1.7e-3,
            follow_margin: 320.0,
            follow_start: 90.0 / 220.0,
            offsets: Vec::new(),
            offset: 0.0,
            without: Vec::new(),
        }
    }
}

/// A question that fits its parameter set.
#[derive(Clone, Debug)]
pub struct CheckedQuestion {
    /// The question as asked.
    pub question: Question,
    /// Stress of the cells: cycles, retention, reads.
    pub condition: Condition,
    /// The effects that are evaluated.
    pub effects: Effects,
    /// The places to evaluate: layer by layer in each block.
    pub places: Vec<CellLocation>,
    /// Number of word lines of a layer.
    pub word_lines: u32,
    /// Lowest state and coding of cells in MLC mode.
    pub two_bits: Option<(usize, Coding)>,
    /// The bits that were rewritten, in order, if the history has only rewrites.
    pub rewritten: Option<Vec<Bit>>,
    /// Number of reprograms of each cell.
    pub moves: u32,
    /// Program order of the word lines of a block, if the question gives one.
    pub order: Option<Order>,
}

/// The `history` of cells in MLC mode without a reprogram.
const NOT_REWRITTEN: &str = "-";

pub(super) const KEY_AND_VALUE: &str = "KEY=VALUE, such as cycles=2000";

pub(super) fn invalid_key(found: impl Into<String>, wanted: impl Into<String>) -> Error {
    Error::Argument { what: "key".into(), found: found.into(), wanted: wanted.into() }
}

/// Whether a question of this key alone is refused.
fn is_refused(key: &str, value: &toml::Value) -> bool {
    Question::deserialize(toml::Table::from_iter([(key.to_owned(), value.clone())])).is_err()
}

/// Parses the value of `key` in an argument. Values are written as in TOML, but text needs no quotation
/// marks.
fn parse_value(key: &str, text: &str) -> toml::Value {
    let read = toml::from_str::<toml::Table>(&format!("value = {text}"));
    let value = read.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| text.into());
    match (key, value) {
        // Text keys stay text even if the value is a number. Most other numbers are fractions.
        ("layer" | "history" | "order", value) => value.as_str().unwrap_or(text).into(),
        ("chips" | "blocks" | "skip_state" | "skip_more" | "super_layer", value) => value,
        (_, toml::Value::Integer(whole)) => toml::Value::Float(whole as f64),
        (_, value) => value,
    }
}

fn bit(letter: char) -> Option<Bit> {
    match letter {
        'L' => Some(Bit::Low),
        'H' => Some(Bit::High),
        _ => None,
    }
}

impl Question {
    /// Parses a question from arguments `KEY=VALUE`.
    ///
    /// # Errors
    /// If an argument is not a key with a value that fits it.
    pub fn of_keys(keys: &[String]) -> Result<Self> {
        let mut table = toml::Table::new();
        for argument in keys {
            let (key, text) = argument.split_once('=').ok_or_else(|| invalid_key(argument, KEY_AND_VALUE))?;
            table.insert(key.to_owned(), parse_value(key, text));
        }
        Self::deserialize(table.clone()).map_err(|error| {
            let (found, wanted) = found_and_wanted(error.message(), "a key with a value that fits it");
            let refused = table.iter().find(|(key, value)| is_refused(key, value));
            Error::Argument { what: refused.map_or("key", |(key, _)| key).into(), found, wanted }
        })
    }

    /// Checks the question against `set`.
    ///
    /// # Errors
    /// Every fault of the question, by key.
    pub fn check(&self, set: &CellSet) -> Result<CheckedQuestion> {
        let mut wrong = Complaints::default();
        let numbers = [
            ("cycles", self.cycles),
            ("hours", self.hours),
            ("reads", self.reads),
            ("again", self.again),
            ("start_margin", self.start_margin),
            ("final_margin", self.final_margin),
            ("follow_limit", self.follow_limit),
            ("follow_margin", self.follow_margin),
        ];
        for (key, value) in numbers {
            wrong.require(value >= 0.0 && value.is_finite(), key, value, "a number from 0 on");
        }
        let warm = self.celsius > -273.15 && self.celsius.is_finite();
        wrong.require(warm, "celsius", self.celsius, "a temperature above 0 K");
        wrong.require(self.super_layer >= 1, "super_layer", self.super_layer, "at least 1");
        let rewritten = self.rewritten();
        let two_bits = self.two_bits(set, rewritten.as_deref(), &mut wrong);
        let moves = if self.history == NOT_REWRITTEN { 0 } else { self.history.len() as u32 };
        for (key, value) in [("chips", self.chips), ("blocks", self.blocks)] {
            wrong.require((1..=MOST).contains(&value), key, value, format!("a number from 1 to {MOST}"));
        }
        if !self.order.is_empty() && Order::named(&self.order).is_none() {
            wrong.add(
                "order",
                format!("`{}`", self.order),
                wordline_kernel::one_of(&self.order, &Order::NAMES),
            );
        }
        self.check_idle(set, &mut wrong);
        let layers = self.layers(set, &mut wrong);
        let effects = self.effects(&mut wrong);
        wrong.into_result(()).map_err(Error::Config)?;
        let blocks = (0..self.chips).flat_map(|chip| (0..self.blocks).map(move |block| (chip, block)));
        let places = blocks
            .flat_map(|(chip, block)| {
                layers.iter().map(move |layer| CellLocation { chip, block, layer: *layer })
            })
            .collect();
        let condition = Condition {
            cycles: self.cycles,
            hours: self.hours,
            celsius: self.celsius,
            reads: self.reads,
            again: self.again + f64::from(moves),
            ahead: 0.0,
        };
        let word_lines = set.variation.as_ref().map_or(1, |variation| variation.word_lines);
        let two_bits = two_bits.filter(|_| !self.all_states);
        let order = Order::named(&self.order);
        Ok(CheckedQuestion {
            question: self.clone(),
            condition,
            effects,
            places,
            word_lines,
            two_bits,
            rewritten,
            moves,
            order,
        })
    }

    /// Complains about keys that have no effect on `set`, and about values outside of its range.
    fn check_idle(&self, set: &CellSet, wrong: &mut Complaints) {
        let new = Self::default();
        let measured = set.retention.is_none() && !matches!(set.base, wordline_nand::cell::Base::Measured(_));
        let idle = |is_set: bool, lacks: bool| is_set && lacks;
        let all = [
            ("reads", idle(self.reads > 0.0, set.disturb.is_none())),
            ("again", idle(self.again > 0.0, set.interference.is_none())),
            ("super_layer", idle(self.super_layer > 1, set.background.is_none() || self.history.is_empty())),
            ("all_states", idle(self.all_states, self.history.is_empty())),
            ("hours", idle(self.hours > 0.0, measured)),
            ("celsius", idle(self.celsius.to_bits() != new.celsius.to_bits(), set.retention.is_none())),
            ("lines", idle(self.lines, set.variation.is_none())),
            ("order", idle(!self.order.is_empty(), set.variation.is_none() || !self.layer.is_empty())),
            ("layer", idle(!self.layer.is_empty(), set.variation.is_none())),
            ("chips", idle(self.chips > 1, set.variation.is_none())),
            ("blocks", idle(self.blocks > 1, set.variation.is_none())),
            ("start_margin", idle(self.start_margin > 0.0, set.ispp.is_none())),
            ("final_margin", idle(self.final_margin > 0.0, set.ispp.is_none())),
            ("skip", idle(self.skip, set.ispp.is_none())),
            ("follow", idle(self.follow, set.ispp.is_none())),
            ("skip_state", idle(self.skip_state > 0, set.ispp.is_none())),
        ];
        for (key, _) in all.iter().filter(|(_, idle)| *idle) {
            wrong.add(*key, "a key without effect", format!("none: `{}` does not model it", set.name));
        }
        let boundaries = set.states() - 1;
        let states = self.skip_state as usize <= boundaries;
        wrong.require(states, "skip_state", self.skip_state, format!("at most {boundaries}"));
        let fit = self.offsets.is_empty() || self.offsets.len() == boundaries;
        wrong.require(fit, "offsets", format!("{} numbers", self.offsets.len()), format!("{boundaries}"));
        wrong.require(self.follow_spare > 0.0, "follow_spare", self.follow_spare, "a number above 0");
        let share = (0.0..=1.0).contains(&self.follow_start);
        wrong.require(share, "follow_start", self.follow_start, "a share from 0 to 1");
        if let Some(ispp) = &set.ispp {
            let least = self.follow_margin < ispp.window;
            let wanted = format!("less than the window of {} mV", ispp.window);
            wrong.require(least, "follow_margin", self.follow_margin, wanted);
            let room = self.start_margin + self.final_margin < ispp.window;
            let found = format!("{} and {} mV", self.start_margin, self.final_margin);
            wrong.require(room, "final_margin", found, format!("less than the window of {} mV", ispp.window));
        }
    }

    /// The rewritten bits in order, if the history has only rewrites.
    fn rewritten(&self) -> Option<Vec<Bit>> {
        match self.history.as_str() {
            "" => None,
            NOT_REWRITTEN => Some(Vec::new()),
            history => history.chars().map(bit).collect(),
        }
    }

    /// The lowest state and the coding after the history.
    fn two_bits(
        &self,
        set: &CellSet,
        rewritten: Option<&[Bit]>,
        wrong: &mut Complaints,
    ) -> Option<(usize, Coding)> {
        if self.history.is_empty() {
            return None;
        }
        let found = format!("\"{}\"", self.history);
        if set.states() != 8 {
            let wanted = format!("none: cells of {} states are not reprogrammed", set.states());
            wrong.add("history", found, wanted);
            return None;
        }
        let is_moved = self.history.bytes().all(|byte| byte == b'+') && self.history.len() <= 4;
        let moved = is_moved.then(|| (self.history.len(), TwoBitCoding::START.coding()));
        let coding = rewritten.and_then(TwoBitCoding::of_history);
        let coding = moved.or_else(|| coding.map(|coding| (coding.base(), coding.coding())));
        if coding.is_none() {
            wrong.add("history", found, "-, one or two of L and H, or one to four +");
        }
        coding
    }

    fn layers(&self, set: &CellSet, wrong: &mut Complaints) -> Vec<u32> {
        let Some(variation) = &set.variation else { return vec![0] };
        if self.layer.is_empty() {
            return (0..variation.layers).collect();
        }
        let role = Role::ALL.into_iter().find(|role| role.name() == self.layer);
        let named = role.and_then(|role| variation.layer_of(role));
        match named.or_else(|| self.layer.parse().ok()).filter(|layer| *layer < variation.layers) {
            Some(layer) => vec![layer],
            None => {
                let wanted =
                    format!("alpha, beta, kappa, omega, or a number from 0 to {}", variation.layers - 1);
                wrong.add("layer", format!("`{}`", self.layer), wanted);
                Vec::new()
            }
        }
    }

    fn effects(&self, wrong: &mut Complaints) -> Effects {
        let names = Effect::ALL.map(Effect::name);
        self.without.iter().fold(Effects::ALL, |effects, name| {
            match Effect::ALL.into_iter().find(|effect| effect.name() == name) {
                Some(effect) => effects.without(effect),
                None => {
                    wrong.add("without", format!("`{name}`"), wordline_kernel::one_of(name, &names));
                    effects
                }
            }
        })
    }
}
