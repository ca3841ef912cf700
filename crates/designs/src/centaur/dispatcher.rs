//! The dispatcher between the two kinds of chips (Centaur, section 5.1 and algorithm 1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, state};
use wordline_ssd::policy::router::{Outgoing, Router};
use wordline_ssd::{Config, SECTOR};

use super::{LARGE, SMALL, STREAMS, spent};

/// Settings of the dispatcher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DispatcherFile {
    /// The dispatch condition at the start: what the host wrote of a unit goes to the first pool if it is at least as large.
    pub condition: Bytes,
    /// The least that the condition becomes.
    pub least: Bytes,
    /// The most that it becomes.
    pub most: Bytes,
    /// By how much it changes at a time; 0 keeps it as it is.
    pub step: Bytes,
    /// After how many pieces it changes: up if the second pool has spent less of its lifetime than the first, else down.
    pub adjust_every: u32,
}

impl Default for DispatcherFile {
    /// Centaur, table 2 and algorithm 1.
    fn default() -> Self {
        Self {
            condition: Bytes::kib(72),
            least: Bytes::kib(32),
            most: Bytes::kib(88),
            step: Bytes(512),
            adjust_every: 1_000,
        }
    }
}

impl DispatcherFile {
    /// What is wrong with it in a device of `config`.
    ///
    /// # Errors
    /// Every key, within `design`.
    pub fn check(&self, config: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        let unit = config.unit * u64::from(config.pages_of_a_sub_request());
        let sectors = |size: Bytes| size.0.is_multiple_of(SECTOR.0);
        for (key, size) in
            [("condition", self.condition), ("least", self.least), ("most", self.most), ("step", self.step)]
        {
            wrong.require(sectors(size), key, size, format!("a multiple of {SECTOR}"));
        }
        wrong.require(
            self.least <= self.condition && self.condition <= self.most,
            "condition",
            self.condition,
            format!("from design.least ({}) to design.most ({})", self.least, self.most),
        );
        wrong.require(
            config.pools.count() < 2 || self.least <= unit,
            "least",
            self.least,
            format!("at most a unit ({unit}): no piece is larger"),
        );
        wrong.require(self.adjust_every > 0, "adjust_every", self.adjust_every, "1 or more");
        wrong.or_ok(())
    }
}

/// Sends what the host wrote of a unit to one of two pools by its length; the condition moves by spent lifetimes.
pub struct Dispatcher {
    /// The dispatch condition now, in bytes (the paper's DC).
    condition: u64,
    /// Pieces dispatched since it was looked at last.
    dispatched: u32,
    least: u64,
    most: u64,
    step: u64,
    adjust_every: u32,
}

state!(Dispatcher { values { condition, dispatched } fixed { least, most, step, adjust_every } });

impl Dispatcher {
    /// At its start. `file` is checked.
    pub fn new(file: &DispatcherFile) -> Self {
        let DispatcherFile { condition, least, most, step, adjust_every } = *file;
        Self {
            condition: condition.0,
            dispatched: 0,
            least: least.0,
            most: most.0,
            step: step.0,
            adjust_every,
        }
    }

    /// The dispatch condition: pieces of at least so many bytes go to the first pool.
    pub fn condition(&self) -> Bytes {
        Bytes(self.condition)
    }

    /// Moves the condition towards equal wear.
    fn adjust(&mut self, [of_2d, of_3d]: [f64; 2]) {
        // Steps that do not divide the range end at its ends, not beyond them.
        self.condition = if of_2d < of_3d {
            (self.condition + self.step).min(self.most)
        } else {
            self.condition.saturating_sub(self.step).max(self.least)
        };
    }
}

impl Router for Dispatcher {
    fn streams(&self) -> u8 {
        STREAMS
    }

    fn route(&mut self, piece: &Outgoing) -> u8 {
        self.dispatched += 1;
        if self.adjust_every <= self.dispatched {
            self.adjust(spent(piece.pools));
            self.dispatched = 0;
        }
        if self.condition <= SECTOR.0 * u64::from(piece.sectors) { LARGE } else { SMALL }
    }

    fn pool(&self, stream: u8) -> u8 {
        stream
    }

    fn least_of_first(&self) -> Option<Bytes> {
        Some(self.condition())
    }
}
