//! Which page leaves the buffer next.

mod clock;
mod fifo;
mod lru;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::cache::buffer::{EntryId, EntryList};
use crate::map::LogicalPage;
pub use clock::Clock;
pub use fifo::Fifo;
pub use lru::Lru;
use wordline_kernel::snapshot::State;

/// Says which of the pages that wait in a buffer or a cache leaves next. It is told what happens to them and keeps
/// what it needs in tables of its own; the mechanism decides when a page must leave and checks the answer.
pub trait Eviction: State + Send {
    /// There will be entries from 0 to one below `entries`, and none waits. Called before anything else, and again
    /// when all was lost.
    fn prepare(&mut self, _entries: u32) {}

    /// An entry waits from now on, with a page in it.
    fn added(&mut self, _entry: EntryId, _page: LogicalPage) {}

    /// The host read or wrote the page of a waiting entry again.
    fn used(&mut self, _entry: EntryId) {}

    /// An entry waits no longer: it was chosen, or went for another reason.
    fn removed(&mut self, _entry: EntryId) {}

    /// The entry to leave next, one of those that wait, of which there is at least one. `waiting` has them in the order
    /// of their arrival. Whether the entry leaves is the mechanism's affair: asked again with nothing in between, a
    /// policy answers the same.
    fn next(&mut self, waiting: &EntryList) -> EntryId;

    /// Checks what was loaded: what it keeps is of the entries that wait.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self, _waiting: &EntryList) -> Result<(), String> {
        Ok(())
    }
}

/// The eviction policies that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EvictionKind {
    /// The page that came first.
    Fifo {},
    /// The page that was not read or written for the longest time.
    Lru {},
    /// The page that came first, unless it was read or written since the hand passed it last.
    Clock {},
}

impl Default for EvictionKind {
    fn default() -> Self {
        Self::Fifo {}
    }
}

impl EvictionKind {
    /// The policy.
    pub fn build(&self) -> Box<dyn Eviction> {
        match self {
            Self::Fifo {} => Box::new(Fifo),
            Self::Lru {} => Box::new(Lru::default()),
            Self::Clock {} => Box::new(Clock::default()),
        }
    }
}
