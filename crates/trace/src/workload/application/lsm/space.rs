//! Space of a store: addresses of a conventional device, or zones.

use wordline_kernel::Complaints;

use super::super::block_requests::{DeferredWork, MAX_WRITE_BLOCKS, RequestQueue};
use super::super::free_space::FreeSpaceMap;
use super::zone_space::{self, FLUSHED, KEPT, LOG, ZoneLayout, ZoneSpace};

/// Space that zones keep for data that are deleted but not reset yet, as a fraction of the data. Chosen: with
/// less, nearly every zone would have to be relocated.
const DEAD_SHARE: f64 = 0.05;

/// Blocks of a store.
#[derive(Clone, Debug)]
pub enum Space {
    /// Any free blocks.
    Addresses(FreeSpaceMap),
    /// Zones that are written in order.
    Zones(ZoneSpace),
}

/// Blocks that a store needs in zones besides its levels.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Blocks of all levels at the start.
    pub data: f64,
    /// Blocks of both logs.
    pub logs: f64,
    /// Blocks of flushed tables before updates stall.
    pub flushed: f64,
    /// Blocks of the largest compaction.
    pub compaction: f64,
    /// Number of levels below the flushed tables.
    pub levels: usize,
}

impl Demand {
    /// Requires that zones have room for the store.
    ///
    /// # Errors
    /// The share of the zones that the store may fill.
    pub fn check(&self, layout: &ZoneLayout, key: &str, found: String) -> Result<(), Complaints> {
        let capacity = f64::from(layout.capacity_blocks());
        let open = (zone_space::FIRST_LEVEL + self.levels + KEPT) as f64;
        let beside = (self.logs + self.flushed + self.compaction) / capacity + open;
        let room = (f64::from(layout.data_blocks()) / capacity - beside).max(0.0);
        let most = room / (1.0 + DEAD_SHARE) * capacity;
        let mut wrong = Complaints::default();
        let wanted = format!(
            "levels of at most {:.2} of the zones, or more zones",
            (most / f64::from(layout.data_blocks()) * 100.0).floor() / 100.0
        );
        wrong.require(self.data <= most, key, found, wanted);
        wrong.into_result(())
    }
}

impl Space {
    /// Class of a level.
    pub fn class_of(&self, level: usize) -> usize {
        match self {
            Self::Addresses(_) => level,
            Self::Zones(zones) => zones.class_of(level),
        }
    }

    /// Whether all of these blocks can be allocated together. Addresses are tried one by one.
    pub fn may_have_room(&self, class: usize, blocks: u64) -> bool {
        match self {
            Self::Addresses(_) => true,
            Self::Zones(zones) => zones.has_room(class, blocks.min(u64::from(u32::MAX)) as u32, kept(class)),
        }
    }

    /// Allocates blocks of a class; `None` if there are too few.
    pub fn take(&mut self, class: usize, blocks: u32) -> Option<Vec<(u32, u32)>> {
        match self {
            Self::Addresses(map) if map.free() < blocks => None,
            Self::Addresses(map) => {
                let (mut left, mut runs) = (blocks, Vec::new());
                while left > 0 {
                    let run = map.take(left).expect("there are enough");
                    left -= run.1;
                    runs.push(run);
                }
                Some(runs)
            }
            Self::Zones(zones) => {
                zones.has_room(class, blocks, kept(class)).then(|| zones.allocate(class, blocks))
            }
        }
    }

    /// Returns blocks that were allocated and not written.
    pub fn undo(&mut self, block: u32, blocks: u32) {
        match self {
            Self::Addresses(map) => map.release(block, blocks),
            Self::Zones(_) => unreachable!("the room in zones was checked for all blocks together"),
        }
    }

    /// Frees blocks, or a zone that was reset.
    pub fn release(&mut self, block: u32, blocks: u32) {
        match self {
            Self::Addresses(map) => map.release(block, blocks),
            Self::Zones(zones) => zones.release(block),
        }
    }

    /// Most blocks of a piece of the log.
    pub fn log_piece(&self) -> u32 {
        match self {
            Self::Addresses(_) => MAX_WRITE_BLOCKS,
            Self::Zones(zones) => zones.log_piece(),
        }
    }

    /// Whether the next piece of the log has room.
    pub fn has_log_room(&self) -> bool {
        match self {
            Self::Addresses(_) => true,
            Self::Zones(zones) => zones.has_room(LOG, 2 * zones.log_piece(), kept(LOG)),
        }
    }

    /// Frees blocks after the requests of a thread: with a discard if it is set, or with the reset of a zone
    /// whose data are all deleted.
    pub fn free_later(&mut self, (block, blocks): (u32, u32), discard: bool, asks: &mut RequestQueue) {
        match self {
            Self::Addresses(_) => asks.free_later(block, blocks, discard),
            Self::Zones(zones) => {
                if let Some(zone) = zones.delete(block, blocks) {
                    asks.reset_later(zone);
                    asks.later.push(DeferredWork::Free(zone, 0));
                }
            }
        }
    }

    /// Appends a piece of a log in zones. Returns its extent; `None` if the log has addresses of its own.
    pub fn append_log(&mut self, blocks: u32, asks: &mut RequestQueue) -> Option<(u32, u32)> {
        let Self::Zones(zones) = self else { return None };
        let extent = zones.allocate_log(blocks);
        asks.write(extent.0, extent.1);
        Some(extent)
    }

    /// Installs new tables: makes them durable first, and then the manifest that lists them.
    pub fn install(&mut self, asks: &mut RequestQueue) {
        asks.flush();
        match self {
            Self::Addresses(_) => asks.write_through(0),
            Self::Zones(zones) => {
                let (zone, reset) = zones.extend_manifest();
                asks.append_through(zone);
                reset.into_iter().for_each(|zone| asks.reset_later(zone));
            }
        }
    }

    /// Whether zones have so few empty ones that data must be relocated.
    pub fn is_short(&self) -> bool {
        match self {
            Self::Addresses(_) => false,
            Self::Zones(zones) => zones.empty_soon() <= KEPT,
        }
    }
}

/// Empty zones that a class leaves to others. A log goes first, because updates wait for it; then flushes.
fn kept(class: usize) -> usize {
    match class {
        LOG => 1,
        FLUSHED => 2,
        _ => KEPT,
    }
}

#[cfg(test)]
impl Space {
    /// Number of the block after the last one.
    pub fn extent(&self) -> u32 {
        match self {
            Self::Addresses(map) => map.first() + map.blocks(),
            Self::Zones(zones) => zones.audit().0,
        }
    }

    /// Checks that exactly these extents, and this many blocks, are in use.
    pub fn audit(&self, count: u32, taken: &[(u32, u32)]) {
        match self {
            Self::Addresses(map) => assert_eq!(map.blocks() - map.free(), count, "blocks are lost"),
            Self::Zones(zones) => {
                let mut live = vec![0; zones.audit().1.len()];
                taken.iter().for_each(|(block, blocks)| live[zones.zone_number(*block)] += blocks);
                assert_eq!(zones.audit().1, live, "blocks are lost");
            }
        }
    }
}
