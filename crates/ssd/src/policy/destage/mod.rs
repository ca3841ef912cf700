//! Which pages leave the write buffer as soon as they are written.

mod unless_hot;
mod when_full;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Instant, Stream};

use crate::map::LogicalPage;

pub use unless_hot::UnlessHot;
pub use when_full::WhenFull;

/// Says of a page that the host writes whether it leaves the buffer at once, however empty that is. It looks and answers;
/// the mechanism moves the page, or lets the write wait where too much is on its way already.
pub trait Destage: State + Send {
    /// How much may be on its way to flash before writes of pages that leave at once wait; `None` if none ever leave so.
    fn in_flight(&self) -> Option<Bytes>;

    /// The random stream of its answers, for a policy that draws some. Called once, when the device is made.
    fn draws_from(&mut self, _random: Stream) {}

    /// Pages are numbered from 0 to one below `pages`, and none was written. Called before anything else, and again when
    /// all was lost.
    fn prepare(&mut self, _pages: u32) {}

    /// Whether `page` leaves at once if it is written now. Asked again with nothing in between, a policy answers the same.
    fn leaves(&self, page: LogicalPage, now: Instant) -> bool;

    /// `page` was written.
    fn written(&mut self, _page: LogicalPage, _now: Instant) {}
}

/// The destage policies that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DestageKind {
    /// No page, before the buffer is too full.
    WhenFull {},
    /// Each page but those that were written before in the present window of time.
    UnlessHot {
        /// How long a window is. The first write after its end begins another one.
        window: Duration,
        /// How much may be on its way to flash before writes wait: pages, or with `buffer.space = "written"` what was
        /// written of them.
        in_flight: Bytes,
    },
}

impl Default for DestageKind {
    fn default() -> Self {
        Self::WhenFull {}
    }
}

impl DestageKind {
    /// The key that is wrong, what it says, and what was wanted.
    pub fn complaint(&self) -> Option<(&'static str, String, String)> {
        let Self::UnlessHot { window, in_flight } = self else { return None };
        if !(Duration::from_us(1)..=Duration::from_ms(86_400_000)).contains(window) {
            return Some(("window", window.to_string(), "from 1us to 1d".into()));
        }
        let fits = (Bytes(1)..=Bytes::gib(64)).contains(in_flight);
        (!fits).then(|| ("in_flight", in_flight.to_string(), "from 1B to 64GiB".into()))
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Destage> {
        match *self {
            Self::WhenFull {} => Box::new(WhenFull),
            Self::UnlessHot { window, in_flight } => Box::new(UnlessHot::new(window, in_flight)),
        }
    }
}
