//! Which of the host's write streams a page goes to when it leaves the buffer.

mod by_size;
mod host;
mod hot_cold;
mod single;
mod slc_cache;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Bytes;
use wordline_kernel::snapshot::State;
use wordline_nand::Location;

use crate::command::{HostWrite, SECTOR};
use crate::pools::PoolState;

pub use by_size::BySize;
pub use host::Host;
pub use hot_cold::HotCold;
pub use single::Single;
pub use slc_cache::SlcCache;

/// A page that leaves the buffer, as a router sees it; in a device with several pools all dirty pages of a unit, which go
/// together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// Its number, or that of the first page of the unit.
    pub logical: u32,
    /// The stream that the host named when it wrote the page last; 0 for none.
    pub tag: u8,
    /// Sectors that the host wrote, of those of the page or the unit.
    pub sectors: u32,
    /// The host's write that wrote of the page last; of a unit, the largest of those of its pages.
    pub request: HostWrite,
    /// The pools; none in a device with a single one.
    pub pools: &'a [PoolState],
    /// Where flash holds the page, or the first page of the unit; none where it holds nothing of it, or where no design says the stream.
    pub from: Option<Location>,
    /// The pool that holds the first page of the unit; none where flash holds nothing of it, or there is a single pool.
    pub home: Option<u8>,
}

impl Outgoing<'_> {
    /// A page, or the unit that it is the first of, of which nothing else is known.
    pub fn of(logical: u32) -> Self {
        Self {
            logical,
            tag: 0,
            sectors: 0,
            request: HostWrite::default(),
            pools: &[],
            from: None,
            home: None,
        }
    }
}

/// Says which of the host's write streams a page goes to. It looks and answers; the mechanism checks the answer and
/// acts. Each stream fills blocks of its own.
pub trait Router: State + Send {
    /// How many streams it tells apart, from 1 to 16.
    fn streams(&self) -> u8;
    /// The stream of a page, from 0 to one below [`streams`](Self::streams).
    fn route(&mut self, page: &Outgoing) -> u8;
    /// The pool that a stream goes to, from 0 to one below their number.
    fn pool(&self, _stream: u8) -> u8 {
        0
    }
    /// The size from which on what was written of a unit goes to the first of several pools, if sizes decide: as it is now,
    /// where it moves. For reports.
    fn least_of_first(&self) -> Option<Bytes> {
        None
    }
    /// The stream that goes to the SLC cache, if one does.
    fn cached(&self) -> Option<u8> {
        None
    }
}

/// The routers that are built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RouterKind {
    /// One stream for everything.
    Single {},
    /// The stream that the host names in its command.
    Host {
        /// Streams that the device offers.
        #[schemars(range(min = 1, max = 16))]
        streams: u8,
    },
    /// A stream for pages that are written again soon, and one for the others.
    HotCold {
        /// Pages that may be written in between, as a fraction of the logical pages.
        #[serde(default = "half")]
        window: f64,
    },
    /// A write to a unit of consecutive pages goes to the first pool if it is large, else to the second. Wants
    /// `pools`.
    BySize {
        /// Bytes that are large.
        least: Bytes,
    },
    /// To the SLC cache. Wants `ftl.slc_cache`.
    SlcCache {
        /// Only pages that are written again soon go there: pages that may be written in between, as a fraction of the
        /// logical pages. Left out: all go there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<f64>,
    },
}

/// Chosen: what is written twice while half the drive is written is hotter than the mean.
fn half() -> f64 {
    0.5
}

impl Default for RouterKind {
    fn default() -> Self {
        Self::Single {}
    }
}

impl RouterKind {
    /// How many streams it tells apart.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Single {} | Self::SlcCache { window: None } => 1,
            Self::Host { streams } => *streams,
            Self::HotCold { .. } | Self::SlcCache { window: Some(_) } | Self::BySize { .. } => 2,
        }
    }

    /// The error in the window: what was found and what was wanted.
    pub fn complaint(&self) -> Option<(f64, &'static str)> {
        match *self {
            Self::HotCold { window } | Self::SlcCache { window: Some(window) }
                if !(window > 0.0 && window <= 1.0) =>
            {
                Some((window, "a fraction above 0, up to 1"))
            }
            _ => None,
        }
    }

    /// The policy for a device with `pages` logical pages.
    pub fn build(&self, pages: u32) -> Box<dyn Router> {
        match self {
            Self::Single {} => Box::new(Single),
            Self::Host { streams } => Box::new(Host { streams: *streams }),
            Self::HotCold { window } => Box::new(HotCold::new(pages, *window)),
            Self::BySize { least } => Box::new(BySize { sectors: least.0.div_ceil(SECTOR.0) as u32 }),
            Self::SlcCache { window: None } => Box::new(SlcCache::All),
            Self::SlcCache { window: Some(window) } => Box::new(SlcCache::Hot(HotCold::new(pages, *window))),
        }
    }
}
