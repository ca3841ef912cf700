//! Routers: which host stream takes a page when it is destaged.

mod by_size;
mod host;
mod hot_cold;
mod single;
mod slc_cache;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_kernel::Bytes;
use wordline_kernel::snapshot::State;
use wordline_nand::Location;

use crate::HostWrite;
use crate::policy::pool_state::PoolState;

pub use by_size::BySize;
pub use host::Host;
pub use hot_cold::HotCold;
pub use single::Single;
pub use slc_cache::SlcCache;

/// A page to be destaged, as a router sees it. In a device with several pools it is a whole unit: all its
/// dirty pages are destaged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPage<'a> {
    /// Logical page number. Of a unit: the number of its first page.
    pub logical: u32,
    /// Stream that the host gave with its last write of the page; 0 for none.
    pub tag: u8,
    /// Sectors of the page or unit that the host wrote.
    pub sectors: u32,
    /// Last host write of the page. Of a unit: the largest of the last writes of its pages.
    pub request: HostWrite,
    /// Pools; empty if the device has only one.
    pub pools: &'a [PoolState],
    /// Location in flash of the page, or of the first page of the unit. `None` if it is not in flash, or if
    /// no design selects streams.
    pub from: Option<Location>,
    /// Pool of the first page of the unit. `None` if it is not in flash, or if the device has only one pool.
    pub home: Option<u8>,
}

impl HostPage<'_> {
    /// Page `logical`, or the unit that begins with it, and defaults for all else.
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

/// Selects the host stream of a page. Streams do not share blocks.
pub trait Router: State + Send {
    /// Number of streams that the router uses, from 1 to 16.
    fn streams(&self) -> u8;
    /// Stream of a page, from 0 to [`streams`](Self::streams) - 1.
    fn route(&mut self, page: &HostPage) -> u8;
    /// Number of the pool that a stream belongs to.
    fn pool(&self, _stream: u8) -> u8 {
        0
    }
    /// Smallest size of a written unit that goes to the first of several pools; `None` if the size does not
    /// decide. For reports: a router that adapts it returns the current value.
    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        None
    }
    /// Stream of the SLC cache, if there is one.
    fn cached(&self) -> Option<u8> {
        None
    }
}

/// Built-in routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RouterKind {
    /// One stream for all pages.
    Single {},
    /// The stream that the host gives in its command.
    Host {
        /// Number of streams that the device offers.
        #[schemars(range(min = 1, max = 16))]
        streams: u8,
    },
    /// One stream for pages that are overwritten soon, and one for the others.
    HotCold {
        /// Maximum number of pages written between two writes of a hot page, as a fraction of the logical
        /// pages.
        #[serde(default = "half")]
        window: f64,
    },
    /// Writes to a unit of consecutive pages go to the first pool if they are large, otherwise to the second.
    /// Needs `pools`.
    BySize {
        /// Smallest size of a large write, in bytes.
        least: Bytes,
    },
    /// Host writes go to the SLC cache. Needs `ftl.slc_cache`.
    SlcCache {
        /// Maximum number of pages written between two writes of a hot page, as a fraction of the logical
        /// pages. Only hot pages go to the cache. If absent, all pages go to the cache.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<f64>,
    },
}

/// Chosen: a page written twice while half the drive is written is hotter than the average page.
fn half() -> f64 {
    0.5
}

impl Default for RouterKind {
    fn default() -> Self {
        Self::Single {}
    }
}

impl RouterKind {
    /// Number of streams that the router uses.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Single {} | Self::SlcCache { window: None } => 1,
            Self::Host { streams } => *streams,
            Self::HotCold { .. } | Self::SlcCache { window: Some(_) } | Self::BySize { .. } => 2,
        }
    }

    /// Invalid window, and the allowed values, if any.
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

    /// Builds the policy for a device with `pages` logical pages.
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
