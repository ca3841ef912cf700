//! Configuration of the pools after the first one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::Pools;
use wordline_nand::geometry::Layout;
use wordline_nand::part::PartFile;

use crate::blocks::mlc::TwoBitFile;
use crate::blocks::slc_cache::SlcCacheFile;
use crate::policy::frontier::FrontierKind;

/// Configuration of a pool of dies beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// The NAND part.
    pub part: PartFile,
    /// Number of dies and channels.
    pub layout: Layout,
    /// The channels to which these dies are connected.
    #[serde(default)]
    pub channels: ChannelsFile,
    /// GC of a plane group of the pool starts below this number of free blocks. Default: the value of the
    /// first pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_below_free_blocks: Option<u32>,
    /// GC of a plane group of the pool stops at this number of free blocks. Default: the value of the first
    /// pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_at_free_blocks: Option<u32>,
    /// Selects the word line of an open block of the pool that is programmed next. For the first pool see
    /// `ftl.frontier`.
    #[serde(default, skip_serializing_if = "FrontierKind::is_in_order")]
    pub frontier: FrontierKind,
    /// Blocks of the pool in SLC mode, for a stream that a design opens in this mode. For the first pool see
    /// `ftl.slc_cache`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheFile>,
    /// Blocks of the pool in MLC mode (two bits a cell), for streams that a design opens in this mode. For
    /// the first pool see `ftl.two_bit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_bit: Option<TwoBitFile>,
}

impl PoolFile {
    /// A pool on the channels of the first pool, with defaults for all other keys.
    pub fn new(part: PartFile, layout: Layout) -> Self {
        Self {
            part,
            layout,
            channels: ChannelsFile::Shared,
            start_below_free_blocks: None,
            stop_at_free_blocks: None,
            frontier: FrontierKind::default(),
            slc_cache: None,
            two_bit: None,
        }
    }
}

/// The channels of a pool other than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelsFile {
    /// The channels of the first pool, beginning with its first channel.
    #[default]
    Shared,
    /// Channels that only this pool uses.
    Dedicated,
}

/// Numbers of pages for which each pool must have space over the whole life of the device. One pool must have
/// space for all logical pages, and one pool for the table pages. A single pool must have space for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    logical: u64,
    tables: u64,
    tables_in: usize,
}

/// The pool that takes pages for which the other pools have no space.
pub const FALLBACK_POOL: usize = 0;

impl Shares {
    /// The shares of this many logical pages and table pages.
    pub fn of(pools: &Pools, logical: u32, tables: u32) -> Self {
        Self { logical: logical.into(), tables: tables.into(), tables_in: pools.count() - 1 }
    }

    /// The pool that has the table pages.
    pub fn pool_of_tables(&self) -> usize {
        self.tables_in
    }

    /// Table pages for which a pool must have space.
    pub fn tables_in(&self, pool: usize) -> u64 {
        if pool == self.tables_in { self.tables } else { 0 }
    }

    /// Pages for which a pool must have space.
    pub fn in_pool(&self, pool: usize) -> u64 {
        self.tables_in(pool) + if pool == FALLBACK_POOL { self.logical } else { 0 }
    }

    /// Whether pools with this much space are sufficient.
    pub fn fit(&self, rooms: impl Iterator<Item = u64>) -> bool {
        rooms.enumerate().all(|(pool, room)| self.in_pool(pool) <= room)
    }

    /// Rejects a pool `n` of the file with too little space.
    pub fn check(&self, n: usize, room: u64, wrong: &mut Complaints) {
        let wanted = self.in_pool(n + 1);
        wrong.require(
            wanted <= room,
            &format!("pools[{n}]"),
            format!("room for {room} pages"),
            format!("room for {wanted} translation pages (ftl.mapping.cache)"),
        );
    }
}
