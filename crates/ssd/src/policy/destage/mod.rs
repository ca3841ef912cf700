//! Destage policies: which pages are destaged as soon as they are written.

mod unless_hot;
mod when_full;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::map::LogicalPage;
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Instant, Stream};

pub use unless_hot::UnlessHot;
pub use when_full::WhenFull;

/// Decides whether a page that the host writes is destaged at once, whatever the buffer occupancy. If too
/// much data is on its way to flash, the write waits.
pub trait Destage: State + Send {
    /// Maximum amount of data on its way to flash. Beyond it, writes of pages that are destaged at once wait.
    /// `None` if the policy destages no page at once.
    fn in_flight(&self) -> Option<Bytes>;

    /// Gives the policy its random stream. Called once, when the device is created. The default ignores it.
    fn set_random(&mut self, _random: Stream) {}

    /// Prepares for pages 0 to `pages` - 1, none of them written. Called before all other methods but
    /// `set_random`, and again after a power loss.
    fn prepare(&mut self, _pages: u32) {}

    /// Whether `page` is destaged at once if it is written now. Repeated queries without a write in between
    /// must return the same result.
    fn leaves(&self, page: LogicalPage, now: Instant) -> bool;

    /// Records that `page` was written.
    fn written(&mut self, _page: LogicalPage, _now: Instant) {}
}

/// Built-in destage policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DestageKind {
    /// No page is destaged before the occupancy reaches the watermark of the buffer.
    WhenFull {},
    /// Each page is destaged at once, unless it was written before in the current time window.
    UnlessHot {
        /// Length of a time window. A new window begins with the first write after the end of the last one.
        window: Duration,
        /// Maximum amount of data on its way to flash before writes wait. Counts whole pages, or with
        /// `buffer.space = "written"` only their written sectors.
        in_flight: Bytes,
    },
}

impl Default for DestageKind {
    fn default() -> Self {
        Self::WhenFull {}
    }
}

impl DestageKind {
    /// Key with an invalid value, the value, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(&'static str, String, String)> {
        let Self::UnlessHot { window, in_flight } = self else { return None };
        if !(Duration::from_us(1)..=Duration::from_ms(86_400_000)).contains(window) {
            return Some(("window", window.to_string(), "from 1us to 1d".into()));
        }
        let fits = (Bytes(1)..=Bytes::gib(64)).contains(in_flight);
        (!fits).then(|| ("in_flight", in_flight.to_string(), "from 1B to 64GiB".into()))
    }

    /// Builds the policy.
    pub fn build(&self) -> Box<dyn Destage> {
        match *self {
            Self::WhenFull {} => Box::new(WhenFull),
            Self::UnlessHot { window, in_flight } => Box::new(UnlessHot::new(window, in_flight)),
        }
    }
}
