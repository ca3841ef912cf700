//! Fault injection: the operations of chips that fail by configuration, and when.
//!
//! A device's list `faults` holds a [`FaultFile`] for each rule; [`FaultFile::check`] turns it into a
//! [`Fault`]. The chips query [`Faults`] at the end of every command. A rule draws from its own random
//! stream, once for each operation that it applies to. Neither another rule nor another user of randomness
//! changes its decisions.
//!
//! ```
//! use wordline_nand::faults::FaultFile;
//! let rule: FaultFile = toml::from_str("fails = 'program'\nprobability = 0.001\ndie = 0").expect("a rule");
//! assert!(rule.die.expect("it names a die").contains(0));
//! ```

mod levels;
mod numbers;
mod state;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration, Instant};

use crate::Pools;
use crate::geometry::Geometry;

pub(crate) use levels::Sense;
pub use numbers::NumberRange;
pub(crate) use state::Site;
pub use state::{Faults, max_factory_bad};

/// The kind of operation that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fails {
    /// A block is bad from the factory.
    FactoryBad,
    /// A program ends with the status FAIL in the planes of the rule, or in all. Its data in these planes are
    /// unreadable.
    Program,
    /// An erase ends with the status FAIL in the planes of the rule, or in all. The blocks of all planes stay
    /// unchanged, because a multi-plane block that is erased only in part is of no use.
    Erase,
    /// A sensed page is uncorrectable.
    Read,
    /// A whole die fails: from then on every command to it fails.
    Die,
}

impl Fails {
    fn name(self) -> &'static str {
        ["factory-bad", "program", "erase", "read", "die"][self as usize]
    }
}

/// A probability that grows with the erases of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FaultWearFile")] // Devices have a `WearFile` too, and a schema has both.
pub struct WearFile {
    /// Erases up to which the probability is zero.
    pub from: u32,
    /// Erases from which on the rule's full probability applies. Between `from` and `to` it grows linearly.
    pub to: u32,
}

/// A fault rule: the operation that fails, where, and when. Without `die`, `plane`, `block` and `page` it
/// applies everywhere. At most one of `probability`, `nth`, `every` and `at` may be given. If none is given,
/// every matching operation fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultFile {
    /// The kind of operation that fails.
    pub fails: Fails,
    /// Each program command, erase command, page read, block (`factory-bad`) or command (`die`) fails with
    /// this probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// Only the matching operation of this number fails, counted from 1 since the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub nth: Option<u64>,
    /// Each matching operation whose number is a multiple of this fails. Operations are counted as for `nth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// The probability grows with the erases of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearFile>,
    /// The die fails at this time of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Duration>,
    /// Dies to which the rule applies, counted over the device channel by channel, pool by pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die: Option<NumberRange>,
    /// Planes of the die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<NumberRange>,
    /// Blocks of the plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<NumberRange>,
    /// Pages of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<NumberRange>,
    /// Read retries after which the page is read; each number of a range is equally likely. Default: no
    /// retry succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<NumberRange>,
    /// Set of read reference voltages that a layer of a block needs until the block is erased; set 0 is the
    /// data sheet. Each number of a range is equally likely. Reads of the layer with another set are
    /// uncorrectable. With this key `probability`, `nth`, `every` and `wear` select layers, in the order in
    /// which they are first read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<NumberRange>,
}

/// A checked rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    pub(crate) fails: Fails,
    pub(crate) when: Trigger,
    pub(crate) place: FaultLocation,
    pub(crate) retries: Option<NumberRange>,
    pub(crate) level: Option<NumberRange>,
}

impl Fault {
    /// Whether the rule applies to reads.
    pub fn applies_to_reads(&self) -> bool {
        self.fails == Fails::Read
    }

    /// Whether the rule sets the read reference voltages that pages need.
    pub fn sets_read_levels(&self) -> bool {
        self.level.is_some()
    }
}

/// The condition under which a rule fires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trigger {
    /// With a probability, which may depend on wear.
    Chance { probability: f64, wear: Option<WearFile> },
    /// At the operation of this number.
    Nth(u64),
    /// At each operation whose number is a multiple of this.
    Every(u64),
    /// From an instant on.
    From(Instant),
}

/// The location of a rule; `None` matches everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultLocation {
    pub(crate) die: Option<NumberRange>,
    pub(crate) plane: Option<NumberRange>,
    pub(crate) block: Option<NumberRange>,
    pub(crate) page: Option<NumberRange>,
}

/// The numbers of dies, planes, blocks and pages that a rule may specify.
#[derive(Clone, Copy)]
struct Bounds {
    dies: u32,
    planes: u32,
    blocks: u32,
    pages: u32,
}

impl Bounds {
    fn of(geometry: &Geometry) -> Self {
        Self {
            dies: geometry.dies(),
            planes: geometry.groups_per_die * geometry.planes_per_row,
            blocks: geometry.blocks_per_plane,
            pages: geometry.pages_per_block,
        }
    }
}

impl FaultFile {
    /// A rule for all operations of a kind, without conditions.
    pub fn new(fails: Fails) -> Self {
        Self {
            fails,
            probability: None,
            nth: None,
            every: None,
            wear: None,
            at: None,
            die: None,
            plane: None,
            block: None,
            page: None,
            retries: None,
            level: None,
        }
    }

    /// The rule for a device of `geometry`, or all complaints.
    pub fn check(&self, geometry: &Geometry) -> Result<Fault, Complaints> {
        self.check_within(Bounds::of(geometry))
    }

    /// The rule for a device of `pools`, whose dies are counted pool by pool.
    pub fn check_pools(&self, pools: &Pools) -> Result<Fault, Complaints> {
        let all = pools.iter().map(|pool| Bounds::of(&pool.geometry));
        let most = all.reduce(|one, other| Bounds {
            dies: one.dies + other.dies,
            planes: one.planes.max(other.planes),
            blocks: one.blocks.max(other.blocks),
            pages: one.pages.max(other.pages),
        });
        self.check_within(most.expect("a device has a pool"))
    }

    fn check_within(&self, reach: Bounds) -> Result<Fault, Complaints> {
        let mut wrong = Complaints::default();
        self.check_numbers(reach, &mut wrong);
        self.check_keys(&mut wrong);
        let when = match (self.nth, self.every, self.at) {
            (Some(nth), ..) => Trigger::Nth(nth),
            (_, Some(every), _) => Trigger::Every(every),
            (.., Some(at)) => Trigger::From(Instant::ZERO + at),
            _ => Trigger::Chance { probability: self.probability.unwrap_or(1.0), wear: self.wear },
        };
        let place = FaultLocation { die: self.die, plane: self.plane, block: self.block, page: self.page };
        wrong.into_result(Fault { fails: self.fails, when, place, retries: self.retries, level: self.level })
    }

    fn check_numbers(&self, reach: Bounds, wrong: &mut Complaints) {
        if let Some(probability) = self.probability {
            let most = if self.fails == Fails::FactoryBad { 0.5 } else { 1.0 };
            let wanted = format!("a probability from 0 to {most}");
            wrong.require((0.0..=most).contains(&probability), "probability", probability, wanted);
        }
        for (key, number) in [("nth", self.nth), ("every", self.every)] {
            if let Some(number) = number {
                wrong.require(number > 0, key, number, "at least 1");
            }
        }
        if let Some(wear) = self.wear {
            let wanted = format!("at least wear.from ({})", wear.from);
            wrong.require(wear.to >= wear.from, "wear.to", wear.to, wanted);
        }
        if let Some(retries) = self.retries {
            wrong.require(retries.least > 0, "retries", retries, "at least 1");
        }
        if let Some(level) = self.level {
            wrong.require(
                level.most <= levels::HIGHEST,
                "level",
                level,
                format!("from 0 to {}", levels::HIGHEST),
            );
        }
        for (key, numbers, count) in [
            ("die", self.die, reach.dies),
            ("plane", self.plane, reach.planes),
            ("block", self.block, reach.blocks),
            ("page", self.page, reach.pages),
        ] {
            if let Some(numbers) = numbers {
                wrong.require(numbers.most < count, key, numbers, format!("from 0 to {}", count - 1));
            }
        }
    }

    /// Rejects keys that do not apply to the kind of fault, or contradict each other.
    fn check_keys(&self, wrong: &mut Complaints) {
        let Self { fails, probability, nth, every, wear, at, die, plane, block, page, retries, level } = self;
        let whole_blocks = matches!(fails, Fails::FactoryBad | Fails::Erase);
        let (is_die, is_factory) = (*fails == Fails::Die, *fails == Fails::FactoryBad);
        for (key, given, means_nothing) in [
            ("nth", nth.is_some(), is_factory),
            ("every", every.is_some(), is_factory || is_die),
            ("wear", wear.is_some(), is_factory || is_die),
            ("at", at.is_some(), !is_die),
            ("plane", plane.is_some(), is_die),
            ("block", block.is_some(), is_die),
            ("page", page.is_some(), is_die || whole_blocks),
            ("retries", retries.is_some(), *fails != Fails::Read),
            ("level", level.is_some(), *fails != Fails::Read),
        ] {
            let found = format!("it beside fails = \"{}\"", fails.name());
            wrong.require(!(given && means_nothing), key, found, "the key left out: it has no meaning there");
        }
        if level.is_some() {
            for (key, given) in [("page", page.is_some()), ("retries", retries.is_some())] {
                wrong.require(
                    !given,
                    key,
                    "it beside level",
                    "the key left out: a level applies to a whole layer, permanently",
                );
            }
        }
        let given: Vec<&str> = [
            ("probability", probability.is_some()),
            ("nth", nth.is_some()),
            ("every", every.is_some()),
            ("at", at.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
        .collect();
        if given.len() > 1 {
            wrong.add(given[1], format!("it beside {}", given[0]), "one of probability, nth, every and at");
        }
        if wear.is_some() && (nth.is_some() || every.is_some()) {
            wrong.add("wear", format!("it beside {}", given[0]), "`wear` with a probability, or alone");
        }
        let narrowed = [die, plane, block, page].iter().any(|numbers| numbers.is_some()) || wear.is_some();
        wrong.require(
            narrowed || !given.is_empty(),
            "fails",
            format!("\"{}\" alone", fails.name()),
            "when or where: one of probability, nth, every, at, wear, die, plane, block, page",
        );
    }
}
