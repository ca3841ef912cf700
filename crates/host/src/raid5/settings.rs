//! Configuration of a RAID-5 array, and its checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_kernel::{Bytes, Complaints, Duration, gcd};

use super::durability::log::HEADER;
use super::layout::{Layout, Striping};
use super::stripe_cache::MOST_SECTORS;
use super::sync::Limits;
use super::write_method::{MOST_MEMBERS, ReadModifyWrite};

/// The time at which parity is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parity {
    /// Parity is written when its row is evicted from the stripe cache, on a flush, or after `parity_delay`.
    /// Updates coalesce until then. If a member fails before, its data in the row may be lost.
    Cache,
    /// Parity is written with every data write, as in md without a journal.
    #[default]
    Md,
}

/// The writes of the host, as md distinguishes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// Writes that somebody waits for (`REQ_SYNC`): direct I/O, and the writes of an fsync. A row that needs
    /// reads for its parity reads at once.
    #[default]
    Direct,
    /// Writes from the page cache that nobody waits for. A row that needs reads waits until no other row
    /// reads, because more of its blocks may be written until then.
    Background,
}

/// A member failure during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureFile {
    /// The member, counted from 0.
    pub member: u16,
    /// The time from the first command of the run to the failure.
    pub after: Duration,
}

/// Settings of the array itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrayFile {
    /// The order of data and parity over the members.
    pub layout: Layout,
    /// Chunk size: contiguous bytes on a member before the next member follows.
    pub chunk: Bytes,
    /// Block size: bytes of a member in a row of the stripe cache.
    pub block: Bytes,
    /// Rows in the stripe cache.
    pub stripe_cache: u32,
    /// The time at which parity is written.
    pub parity: Parity,
    /// The longest time for which parity may be deferred with `parity = "cache"`. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity_delay: Option<Duration>,
    /// The writes of the host: direct ones, or those from the page cache, whose rows wait before they read.
    pub writes: Writes,
    /// The condition for reading the old data and parity (rmw) instead of the other data (rcw).
    pub read_modify_write: ReadModifyWrite,
    /// Rate below which a rebuild, a resync or a scrub ignores host requests, in bytes per second on each
    /// member.
    pub sync_slowest: Bytes,
    /// Highest rate of a rebuild, a resync or a scrub, in bytes per second on each member.
    pub sync_fastest: Bytes,
    /// Size of the partial parity log on each member (md: PPL). With this log a power cut while a member is
    /// missing loses only blocks that were being written. Default: no log. An entry has a header of 4 KiB
    /// and its partial parity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity_log: Option<Bytes>,
    /// Whether to measure the time between writes of a block, for data and for parity.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub intervals: bool,
    /// Member failures during a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureFile>,
    /// The time from the first command of the run to a scrub. Default: no scrub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub_after: Option<Duration>,
}

impl Default for ArrayFile {
    /// The defaults of md (Linux 6.1, `raid5.c` and `md.c`), except for two as in ReSSD: the chunk (mdadm's
    /// is 512 KiB), and the block, a page of 16 KiB.
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            chunk: Bytes::kib(64),
            block: Bytes::kib(16),
            stripe_cache: 256,
            parity: Parity::default(),
            parity_delay: None,
            writes: Writes::default(),
            read_modify_write: ReadModifyWrite::default(),
            sync_slowest: Bytes::kib(1_000),
            sync_fastest: Bytes::kib(200_000),
            parity_log: None,
            intervals: false,
            failures: Vec::new(),
            scrub_after: None,
        }
    }
}

/// Bounds of the stripe cache, in rows, as in md.
const STRIPE_CACHE: std::ops::RangeInclusive<u32> = 17..=32_768;
/// The smallest chunk: a memory page, as in md.
const LEAST_CHUNK: Bytes = Bytes::kib(4);
/// Maximum number of rows that are synchronised concurrently. Chosen: enough to keep the dies of a small SSD
/// busy.
const SYNC_ROWS: u32 = 32;

/// The largest partial parity log. Chosen: eight times the size in md.
const MOST_LOG: Bytes = Bytes::mib(1);

/// The page of md, for which it knows whether it can be read (`struct r5dev` in `raid5.h`, on machines with
/// pages of 4 KiB).
const PART: Bytes = Bytes::kib(4);

/// A checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The configuration as given.
    pub file: ArrayFile,
    /// The geometry.
    pub striping: Striping,
    /// Sectors of the parts in which an unreadable block is read again: a page of 4 KiB as in md, or the
    /// mapping unit of the members if it is larger.
    pub part: u64,
}

impl ArrayFile {
    /// Checks the configuration of an array of `members` devices of this shape.
    ///
    /// # Errors
    /// Every key that is invalid.
    pub fn check(self, members: u16, member: &Shape) -> Result<Settings, Complaints> {
        let mut wrong = Complaints::default();
        let Self { chunk, block, .. } = self;
        let fits = chunk.0.is_power_of_two() && chunk >= LEAST_CHUNK.max(member.sector_size);
        wrong.require(
            fits,
            "chunk",
            chunk,
            format!("a power of two from {} on", LEAST_CHUNK.max(member.sector_size)),
        );
        let most = SECTOR * MOST_SECTORS;
        let fits =
            block.0.is_power_of_two() && block >= member.sector_size && block <= most && block <= chunk;
        let least = member.sector_size;
        wrong.require(
            fits,
            "block",
            block,
            format!("a power of two from {least} to {}, the chunk or {most}", chunk.min(most)),
        );
        let rows = *STRIPE_CACHE.start()..=*STRIPE_CACHE.end();
        wrong.require(
            rows.contains(&self.stripe_cache),
            "stripe_cache",
            self.stripe_cache,
            "from 17 to 32768",
        );
        wrong.require(self.sync_slowest.0 > 0, "sync_slowest", self.sync_slowest, "above 0");
        let holds = self.sync_fastest >= self.sync_slowest;
        wrong.require(holds, "sync_fastest", self.sync_fastest, "no less than array.sync_slowest");
        if let Some(delay) = self.parity_delay {
            let is_cache = self.parity == Parity::Cache;
            wrong.require(is_cache, "parity_delay", delay, "no delay where array.parity is not `cache`");
            let holds = delay > Duration::ZERO && delay <= Duration::LIMIT;
            wrong.require(holds, "parity_delay", delay, "above 0 and at most 106 days");
        }
        for (at, failure) in self.failures.iter().enumerate() {
            let key = |name: &str| format!("failures[{at}].{name}");
            let wanted = format!("a member below {members}");
            wrong.require(failure.member < members, &key("member"), failure.member, wanted);
            wrong.require(failure.after <= Duration::LIMIT, &key("after"), failure.after, "at most 106 days");
        }
        if let Some(after) = self.scrub_after {
            wrong.require(after <= Duration::LIMIT, "scrub_after", after, "at most 106 days");
        }
        self.check_log(&mut wrong);
        let log = self.parity_log.map_or(0, |log| log.0 / SECTOR.0);
        let sectors = member.namespaces[0].saturating_sub(log);
        wrong.require(
            chunk.0 == 0 || sectors >= chunk.0 / SECTOR.0,
            "chunk",
            chunk,
            format!("at most {}, a member", SECTOR * sectors),
        );
        let chunk = (chunk.0 / SECTOR.0).max(1);
        let striping = Striping {
            layout: self.layout,
            members: u64::from(members),
            chunk,
            block: block.0 / SECTOR.0,
            chunks: sectors / chunk,
        };
        let part = member.logical_page.0.max(PART.0) / SECTOR.0;
        let part = if striping.block.is_multiple_of(part) { part } else { striping.block };
        wrong.into_result(Settings { file: self, striping, part })
    }

    fn check_log(&self, wrong: &mut Complaints) {
        let Some(log) = self.parity_log else { return };
        let (header, block) = (SECTOR * HEADER, self.block);
        let is_md = self.parity == Parity::Md;
        wrong.require(is_md, "parity_log", log, "no log where array.parity is not `md`");
        let fits = log.0.is_multiple_of(header.0) && log.0 >= header.0 + block.0 && log <= MOST_LOG;
        let wanted = format!("a multiple of {header}, from that and a block to {MOST_LOG}");
        wrong.require(fits, "parity_log", log, wanted);
    }
}

/// Checks the number of members.
pub fn check_members(members: u16, wrong: &mut Complaints) {
    let fits = (3..=MOST_MEMBERS).contains(&members);
    wrong.require(fits, "members", members, format!("from 3 to {MOST_MEMBERS}"));
}

impl Settings {
    /// Rate limits of a synchronisation.
    pub fn limits(&self) -> Limits {
        let rows = (self.file.stripe_cache / 4).min(SYNC_ROWS);
        Limits { slowest: self.file.sync_slowest, fastest: self.file.sync_fastest, rows }
    }

    /// Sectors of the partial parity log on each member.
    pub fn log_sectors(&self) -> u64 {
        self.file.parity_log.map_or(0, |log| log.0 / SECTOR.0)
    }

    /// First sector of the partial parity log on each member: after the last chunk.
    pub fn log_begin(&self) -> u64 {
        self.striping.chunks * self.striping.chunk
    }

    /// The shape of the array.
    pub fn shape(&self, member: Shape) -> Shape {
        let sectors = self.striping.sectors();
        let block_set = Bytes(member.block_set.0 * self.striping.members);
        let chunk = self.file.chunk.0;
        Shape {
            namespaces: vec![sectors],
            capacity: SECTOR * sectors,
            block_set,
            // Each member discards its own units as a whole.
            discard_unit: member.discard_unit
                * (chunk / gcd(chunk, member.discard_unit.0))
                * self.striping.data(),
            deallocates_zeroes: false,
            ..member
        }
    }

    /// Block size.
    pub fn block(&self) -> Bytes {
        self.file.block
    }
}
