//! Eviction policies: the page that leaves a buffer or cache next.

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

/// Selects the next page to evict among those waiting in a buffer or a cache. The policy is notified of
/// changes and keeps tables of its own; the mechanism decides when a page must leave, and checks the
/// decision.
pub trait Eviction: State + Send {
    /// Prepares for entries from 0 to `entries` - 1, none waiting. Called before anything else, and again
    /// after a power loss.
    fn prepare(&mut self, _entries: u32) {}

    /// Records that an entry with this page waits from now on.
    fn added(&mut self, _entry: EntryId, _page: LogicalPage) {}

    /// Records that the host read or wrote the page of a waiting entry again.
    fn used(&mut self, _entry: EntryId) {}

    /// Records that an entry waits no longer: it was evicted, or removed for another reason.
    fn removed(&mut self, _entry: EntryId) {}

    /// Selects the next entry to evict, one of those that wait, of which there is at least one. `waiting` has
    /// them in order of arrival. The mechanism decides whether the entry leaves: repeated queries without a
    /// change in between must agree.
    fn next(&mut self, waiting: &EntryList) -> EntryId;

    /// Checks the loaded state against the entries that wait.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self, _waiting: &EntryList) -> Result<(), String> {
        Ok(())
    }
}

/// Built-in eviction policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum EvictionKind {
    /// The page that came first.
    Fifo {},
    /// The page that was not read or written for the longest time.
    Lru {},
    /// The page that came first, unless it was read or written since the hand last passed it.
    Clock {},
}

impl Default for EvictionKind {
    fn default() -> Self {
        Self::Fifo {}
    }
}

impl EvictionKind {
    /// Builds the policy.
    pub fn build(&self) -> Box<dyn Eviction> {
        match self {
            Self::Fifo {} => Box::new(Fifo),
            Self::Lru {} => Box::new(Lru::default()),
            Self::Clock {} => Box::new(Clock::default()),
        }
    }
}
