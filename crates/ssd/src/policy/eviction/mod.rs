//! Eviction policies: which page leaves a write buffer or a cache next.

mod clock;
mod fifo;
mod lru;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::cache::buffer::{EntryId, EntryList};
pub use clock::Clock;
pub use fifo::Fifo;
pub use lru::Lru;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::snapshot::State;

/// Selects the next page to evict from a write buffer or a cache. The policy is notified of every change and
/// keeps its own tables. The cache decides when a page must leave.
pub trait Eviction: State + Send {
    /// Prepares for entries 0 to `entries` - 1, all empty. Called before all other methods, and again after a
    /// power loss.
    fn prepare(&mut self, _entries: u32) {}

    /// Records that `entry` now has `page` and can be evicted.
    fn added(&mut self, _entry: EntryId, _page: LogicalPage) {}

    /// Records that the host read or wrote the page of an entry again.
    fn used(&mut self, _entry: EntryId) {}

    /// Records that an entry is empty: its page was evicted, or removed for another reason.
    fn removed(&mut self, _entry: EntryId) {}

    /// Selects the next entry to evict. `waiting` has all entries that can be evicted, at least one, in order
    /// of arrival. The entry does not always leave: repeated queries without a change in between must return
    /// the same entry.
    fn next(&mut self, waiting: &EntryList) -> EntryId;

    /// Checks the loaded state against the entries that can be evicted.
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
    /// The page that arrived first.
    Fifo {},
    /// The page that was not read or written for the longest time.
    Lru {},
    /// The page that arrived first, unless it was read or written since the clock hand last passed it.
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
