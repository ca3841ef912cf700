//! Applications: requests of programs above a file system. The requests follow from file operations, while
//! the requests of a pattern are drawn one by one.

mod block_requests;
mod btree;
mod cache;
mod files;
mod flowops;
mod free_space;
mod journal;
mod keys;
mod lsm;
mod program;
mod requests;
mod thread_queues;
mod threads;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed};

use super::Precondition;
use super::arrival::Bursts;
use block_requests::BLOCK;
pub use btree::Btree;
use files::{FileSystem, Plan};
pub use flowops::{Files, Group, Sizes, Step};
use journal::{Layout, journal_blocks};
pub use keys::Clients;
pub use lsm::Lsm;
use lsm::Region;
pub use lsm::zone_space::ZoneLayout;
use program::Program;
pub use requests::Requests;
use thread_queues::{ApplicationModel, ThreadQueues};
pub use threads::Threads;

const FILE: &str = include_str!("../../../../../data/workloads/applications.toml");

/// Smallest region for an application. Chosen: with less, a hundred threads would not have one file each.
const MIN_REGION: Bytes = Bytes::mib(4);

/// The log takes at most one in this many parts of the region. Chosen: this leaves space for files.
const OF_LOG: u32 = 16;

/// Upper bound on blocks: 16 TiB, so that block numbers have 32 bits.
const MAX_BLOCKS: u64 = u32::MAX as u64;

/// Upper bound on files. Chosen: this many records of 14 bytes take 470 MB.
const MAX_FILES: f64 = (1u64 << 25) as f64;

/// Upper bound on items in the page cache: 128 GiB of blocks. Chosen: their records take 128 MiB.
const MAX_CACHED_ITEMS: u32 = 1 << 25;

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// One sentence for lists; may be left out.
    #[serde(default)]
    pub description: String,
    /// Number of requests.
    pub requests: u64,
    /// Share of the device's logical capacity that is used, from its first byte on; above 0 and at most 1.
    #[serde(default = "whole")]
    pub region: f64,
    /// Pauses of the closed loop, if any.
    pub bursts: Option<Bursts>,
    /// The completion after which a thread continues, in a closed loop.
    #[serde(default)]
    pub waits_for: WaitsFor,
    /// Submission queues that the host uses; one if not given.
    pub queues: Option<u16>,
    /// Stream tag of writes, for devices with streams; 0 for none.
    #[serde(default)]
    pub stream: u8,
    /// State of the device before the first request.
    pub precondition: Precondition,
    /// Model of the application, which generates the requests.
    pub model: Model,
}

/// The completion after which a thread of an application continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// Its own request. The device then influences which requests the threads issue, and in which order.
    #[default]
    OwnAnswer,
    /// Any request. Threads take turns, in the same order on every device.
    AnyAnswer,
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::OwnAnswer => "own-answer",
            Self::AnyAnswer => "any-answer",
        })
    }
}

/// Model of an application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Model {
    /// Threads run loops of steps over many files.
    Files(Files),
    /// Clients read and update records of a log-structured merge tree, such as RocksDB.
    Lsm(Lsm),
    /// Clients read and update records of a B-tree, such as WiredTiger under MongoDB.
    Btree(Btree),
}

const fn whole() -> f64 {
    1.0
}

fn all() -> BTreeMap<String, Application> {
    toml::from_str(FILE).expect("a test reads the embedded file")
}

/// Names of the built-in applications, in alphabetical order.
pub fn names() -> Vec<String> {
    all().into_keys().collect()
}

impl Application {
    /// Returns the application called `name`, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        all().remove(name)
    }

    /// Sets the page cache to this share of the data, from 0 to 0.9.
    pub fn set_page_cache(&mut self, share: f64) {
        match &mut self.model {
            Model::Files(files) => files.page_cache = share,
            Model::Lsm(lsm) => lsm.page_cache = share,
            Model::Btree(btree) => btree.page_cache = share,
        }
    }

    /// Checks everything at once.
    ///
    /// # Errors
    /// One complaint per key.
    pub fn check(&self) -> Result<(), Complaints> {
        let mut complaints = Complaints::default();
        let c = &mut complaints;
        c.require(self.requests > 0, "requests", self.requests, "at least 1");
        c.require(self.queues != Some(0), "queues", 0, "at least 1");
        let region = self.region;
        c.require(region > 0.0 && region <= 1.0, "region", region, "a fraction above 0 and at most 1");
        self.bursts.iter().for_each(|bursts| bursts.check(c));
        let mut inner = Complaints::default();
        match &self.model {
            Model::Files(files) => files.check(&mut inner),
            Model::Lsm(lsm) => lsm.check(&mut inner),
            Model::Btree(btree) => btree.check(&mut inner),
        }
        c.nest("model", inner);
        complaints.into_result(())
    }

    /// Returns the requests of this application on a device of `capacity` logical bytes, with threads taking
    /// turns.
    ///
    /// # Errors
    /// As for [`threads`](Self::threads).
    pub fn generator(&self, seed: Seed, capacity: Bytes) -> Result<Requests, Complaints> {
        self.threads(seed, capacity).map(Threads::in_turn)
    }

    /// Returns the threads of this application on a device of `capacity` logical bytes, each of which waits
    /// for its own completions.
    ///
    /// # Errors
    /// The complaints of [`check`](Self::check), or a region that is too small.
    pub fn threads(&self, seed: Seed, capacity: Bytes) -> Result<Threads, Complaints> {
        self.threads_on(seed, capacity, None)
    }

    /// As [`threads`](Self::threads), on a device that has zones if they are given. A store of records
    /// (`kind = "lsm"`) then writes zones in order and resets them. Other applications know no zones.
    ///
    /// # Errors
    /// As for [`threads`](Self::threads), and zones in which the store does not fit.
    pub fn threads_on(
        &self,
        seed: Seed,
        capacity: Bytes,
        zones: Option<ZoneLayout>,
    ) -> Result<Threads, Complaints> {
        self.check()?;
        let region = Bytes((capacity.0 as f64 * self.region) as u64);
        let mut complaints = Complaints::default();
        complaints.require(
            region >= MIN_REGION,
            "region",
            region,
            format!("at least {MIN_REGION} for an application"),
        );
        complaints.into_result(())?;
        let blocks = (region.0 / BLOCK).min(MAX_BLOCKS) as u32;
        let threads = match &self.model {
            Model::Files(files) => ApplicationModel::Files(program_of(files, seed, blocks)?),
            Model::Lsm(lsm) => {
                let of_zones = zones.map(|zones| Region::Zones(zones.part(self.region, MAX_BLOCKS)));
                let region = of_zones.unwrap_or(Region::Blocks(blocks));
                ApplicationModel::Lsm(Box::new(lsm::Store::new(lsm, seed, region, MAX_CACHED_ITEMS)?))
            }
            Model::Btree(btree) => ApplicationModel::Btree(btree::Store::new(
                btree,
                seed,
                blocks,
                MAX_CACHED_ITEMS,
                MAX_FILES as u32,
            )?),
        };
        Ok(Threads::new(ThreadQueues::new(threads), self.requests))
    }
}

/// Returns the number of files that fit, given their size and the space for their metadata.
fn file_count(files: &Files, blocks: u32) -> Result<u32, Complaints> {
    let mean = files.mean_size.0;
    // Sizes that vary end anywhere in their last block.
    let whole = mean.div_ceil(BLOCK) as f64;
    let mean_blocks =
        if files.sizes == Sizes::Equal { whole } else { (mean as f64 / BLOCK as f64 + 0.5).max(1.0) };
    let room = |blocks: u32| files.fill * f64::from(blocks) / (files.present * mean_blocks);
    let data =
        Layout::new(blocks, room(blocks).min(MAX_FILES) as u32, journal_blocks(files.journal, blocks)).data();
    let mut complaints = Complaints::default();
    let holds = data < blocks / 2;
    complaints.require(
        holds,
        "model.present",
        files.present,
        "a larger fraction: metadata would fill half the region",
    );
    complaints.clone().into_result(())?;
    let count = room(blocks - data).min(MAX_FILES) as u32;
    // Each thread has one open file.
    let least = if files.has_parts() { 0 } else { files.thread_count() + 1 };
    let wanted = format!("a size of which at least {least} files fit");
    complaints.require(count >= least, "model.mean_size", files.mean_size, wanted);
    complaints.into_result(count)
}

/// Creates the threads of a load on files, over a filled file system.
fn program_of(files: &Files, seed: Seed, blocks: u32) -> Result<Program, Complaints> {
    let count = file_count(files, blocks)?;
    // If files are used in parts and not even one fits, there is a single file, as large as fits.
    let mean =
        if count > 0 { files.mean_size.0 } else { (files.fill * f64::from(blocks)) as u64 / 2 * BLOCK };
    let count = count.max(1);
    let plan = Plan {
        blocks,
        files: count,
        present: files.present,
        mean,
        all_equal: files.sizes == Sizes::Equal,
        journal: journal_blocks(files.journal, blocks),
        page_cache: files.page_cache,
        by_blocks: files.has_parts(),
        most_cached: MAX_CACHED_ITEMS,
        discard: files.discard,
    };
    let mut fs = FileSystem::new(
        &plan,
        &mut seed.stream("workload.sizes", 0),
        &mut seed.stream("workload.present", 0),
    );
    let log_limit = files.log_limit.0.min(u64::from(blocks / OF_LOG) * BLOCK);
    if files.writes_log() {
        let log = fs.log();
        fs.append(log, log_limit);
    }
    Ok(Program::new(fs, files, log_limit, seed))
}

#[cfg(test)]
mod tests;
