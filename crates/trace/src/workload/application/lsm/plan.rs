//! Sizes of a store, which follow from its configuration and from the device.

use wordline_kernel::{Bytes, Complaints};

use super::super::block_requests::BLOCK;
use super::Lsm;
use super::space::Demand;
use super::zone_space::ZoneLayout;

/// Bytes of an update in the log, without its record: header, sequence number, lengths and a key of some 24
/// B.
pub const LOG_HEADER: u64 = 48;

/// Blocks before the data. The first of them holds the manifest.
pub const BLOCKS_BEFORE_DATA: u32 = 16;

/// The part of a device that a store uses.
#[derive(Clone, Copy, Debug)]
pub enum Region {
    /// This many blocks, from the first one on.
    Blocks(u32),
    /// Zones.
    Zones(ZoneLayout),
}

impl Region {
    /// Bytes for data.
    fn bytes(&self) -> u64 {
        match self {
            Self::Blocks(blocks) => u64::from(*blocks) * BLOCK,
            Self::Zones(layout) => u64::from(layout.data_blocks()) * BLOCK,
        }
    }
}

/// Sizes of a store.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of keys.
    pub count: u64,
    /// Updates per memtable.
    pub memtable: u64,
    /// Blocks per table.
    pub table: u32,
    /// Target number of records of each level, from the flushed tables (none) to the last level.
    pub targets: Vec<f64>,
}

impl Plan {
    /// Determines the sizes of a store in this region.
    ///
    /// # Errors
    /// A region without space for the store.
    pub fn new(config: &Lsm, region: Region) -> Result<Self, Complaints> {
        if let Region::Zones(layout) = &region {
            layout.check()?;
        }
        let bytes = region.bytes();
        let record = config.clients.record.0;
        let data = match config.data {
            Some(data) => {
                let most = Bytes((bytes as f64 * 0.7) as u64);
                let mut wrong = Complaints::default();
                wrong.require(data <= most, "model.data", data, format!("at most {most}, 0.7 of the region"));
                wrong.into_result(data.0 as f64)?
            }
            None => config.fill * bytes as f64,
        };
        // The sizes of the levels above the last form a geometric series.
        let whole = config.ratio / (config.ratio - 1.0);
        let most = f64::from(u32::MAX - 1);
        let count = (data / record as f64 / whole).min(most) as u64;
        let memtable = config.memtable.0.min(bytes / 256) / record;
        let table = (config.table.0.min(bytes / 256) / BLOCK) as u32;
        let mut wrong = Complaints::default();
        let wanted = "a size of which more than one record fits a memtable";
        wrong.require(memtable > 1 && table > 0, "model.clients.record", config.clients.record, wanted);
        wrong.into_result(())?;
        let level = config.level.0.min(bytes / 64) as f64 / record as f64;
        let mut targets = vec![count as f64];
        while *targets.last().expect("the last level") > level {
            targets.push(targets.last().expect("a level") / config.ratio);
        }
        targets.push(0.0);
        targets.reverse();
        let plan = Self { count, memtable, table, targets };
        if let Region::Zones(layout) = &region {
            plan.check_room(config, layout)?;
        }
        Ok(plan)
    }

    /// Requires that zones have room for the store.
    fn check_room(&self, config: &Lsm, layout: &ZoneLayout) -> Result<(), Complaints> {
        let record = config.clients.record.0;
        let blocks = |records: f64| records * record as f64 / BLOCK as f64;
        let of_update = match config.sync {
            true => (record + LOG_HEADER).div_ceil(BLOCK) as f64,
            false => (record + LOG_HEADER) as f64 / BLOCK as f64,
        };
        let memtable = self.memtable as f64;
        let flushed = f64::from(config.stall_at) * blocks(memtable);
        // The flushed tables with the first level, or a table with as many of the next level as it overlaps.
        let first = flushed + blocks(self.targets.get(1).copied().unwrap_or_default());
        let compaction = first.max((config.ratio + 3.0) * f64::from(self.table));
        let demand = Demand {
            data: blocks(self.targets.iter().sum()),
            logs: 2.0 * memtable * of_update,
            flushed,
            compaction,
            levels: self.targets.len() - 1,
        };
        let (key, found) = match config.data {
            Some(data) => ("model.data", data.to_string()),
            None => ("model.fill", config.fill.to_string()),
        };
        demand.check(layout, key, found)
    }
}
