//! Consistency checks of superblocks against the block table, between events and after a snapshot is loaded.

use wordline_kernel::Id;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, PlaneGroupId, Pool};

use super::{MAX_COLLECTING, MAX_FORMING, ROW, SuperBlock, SuperBlocks, is_kept};
use crate::blocks::block::State;
use crate::blocks::table::BlockTable;

/// Counts of a superblock, found in the block table.
#[derive(Clone, Copy, Default)]
struct Found {
    blocks: usize,
    kept: u32,
    closed: u32,
    valid: u32,
    due: u32,
    /// Whether the number of the superblock is unused.
    unused: bool,
    forming: bool,
}

impl SuperBlocks {
    /// Checks the superblocks of a `pool` whose plane groups have `streams` streams against the block table.
    pub fn check(&self, pool: &Pool, streams: usize, table: &BlockTable) -> Result<(), String> {
        self.check_shape(pool, streams)?;
        let found = self.find_blocks(table)?;
        self.all.entries().try_for_each(|(id, one)| self.check_one(id, one, found[id.index()]))?;
        self.check_candidates()
    }

    /// Counts the blocks of each superblock, from the block table and the lists.
    fn find_blocks(&self, table: &BlockTable) -> Result<Vec<Found>, String> {
        let mut found = vec![Found::default(); self.all.len()];
        for block in self.blocks() {
            let Some(id) = self.of(block) else { continue };
            let (one, is) = (found.get_mut(id.index()), &table.blocks[block]);
            let Some(one) = one else { return Err(format!("block {} is in no super block", block.0)) };
            let kept = is_kept(is.state);
            one.blocks += 1;
            one.kept += u32::from(kept);
            one.valid += if kept { is.valid } else { 0 };
            one.closed += u32::from(is.state == State::Closed);
        }
        let mut is_due = vec![false; self.of.len()];
        for (row, block) in self.all_due() {
            let place = block.0.checked_sub(self.first.0).map_or(usize::MAX, |place| place as usize);
            let is_first = ensure::is_first(&mut is_due, place);
            let is_own = is_first && table.group_of(block) == row && table.state(block) == State::Closed;
            let Some(id) = is_own.then(|| self.of(block)).flatten() else {
                return Err(format!(
                    "block {} of plane group {row} is collected with no super block",
                    block.0
                ));
            };
            found[id.index()].due += 1;
        }
        let forming = self.begun.streams.iter().flat_map(|forming| &forming.all);
        for (id, is_forming) in self.unused.iter().map(|id| (*id, false)).chain(forming.map(|id| (*id, true)))
        {
            let one = found.get_mut(id.index()).filter(|one| !one.unused && !one.forming);
            let Some(one) = one else { return Err(format!("super block {} begins twice", id.0)) };
            (one.unused, one.forming) = (!is_forming, is_forming);
        }
        Ok(found)
    }

    /// Next victims, each with its plane group.
    fn all_due(&self) -> impl Iterator<Item = (PlaneGroupId, BlockSetId)> + '_ {
        let rows = (self.begins.0..).map(PlaneGroupId).zip(&self.due);
        rows.flat_map(|(row, due)| due.iter().map(move |block| (row, *block)))
    }

    /// Checks that the lists have the lengths of the pool, and that each plane group continues at a valid
    /// superblock.
    fn check_shape(&self, pool: &Pool, streams: usize) -> Result<(), String> {
        let (rows, begun) = (pool.geometry.rows() as usize, &self.begun);
        let most = self.of.len() + streams * (MAX_FORMING + 1);
        let fits = [begun.in_use.len(), self.due.len()] == [rows; 2]
            && (begun.streams.len(), begun.next.len()) == (streams, rows * streams)
            && self.of.len() == pool.geometry.block_sets() as usize
            && [self.all.len(), self.shown.len()] == [most; 2];
        let goes_on = |(n, next): (usize, &u64)| {
            let forming = &begun.streams[n % streams];
            forming.first < u64::MAX / 2 && *next <= forming.first + forming.all.len() as u64
        };
        ensure(fits && begun.next.iter().enumerate().all(goes_on), || {
            "super blocks of another device, or that are still to begin".into()
        })
    }

    /// Checks a superblock against the counts found.
    fn check_one(&self, id: BlockSetId, one: &SuperBlock, found: Found) -> Result<(), String> {
        let mut listed = one.blocks.clone();
        listed.sort_unstable();
        listed.dedup();
        let is_own = |block: &BlockSetId| {
            let place = block.0.checked_sub(self.first.0);
            place.is_some_and(|place| self.of.get(BlockSetId(place)) == Some(&id.0))
        };
        let Found { blocks, kept, closed, valid, due, unused, forming } = found;
        let counted = (listed.len(), one.blocks.len(), one.kept, one.closed, one.valid, one.due);
        let is_listed = listed.iter().all(is_own);
        ensure(is_listed && counted == (blocks, blocks, kept, closed, valid, due), || {
            format!("super block {} has {counted:?}, not {:?}", id.0, (blocks, kept, closed, valid, due))
        })?;
        let is_in_use = one.complete && blocks > 0;
        let is_once = u8::from(unused) + u8::from(forming) + u8::from(is_in_use) == 1;
        let is_candidate = one.complete && !one.chosen && kept > 0 && closed == kept;
        ensure(is_once && one.joined <= self.rows() && one.indexed == is_candidate, || {
            format!("super block {} is not at the stage that its blocks are at", id.0)
        })?;
        let is_shown = !one.indexed || self.shown[id] == self.scaled(one);
        ensure(is_shown, || format!("super block {} is shown as another one", id.0))
    }

    /// Checks the candidates and the chosen superblocks.
    fn check_candidates(&self) -> Result<(), String> {
        let chosen = self.all.iter().filter(|one| one.chosen).count();
        ensure(chosen == self.collecting.now as usize && self.collecting.now <= MAX_COLLECTING, || {
            format!("{chosen} super blocks are being collected, and {} counted", self.collecting.now)
        })?;
        let shown = |id: BlockSetId| self.all[id].indexed.then_some((ROW, self.shown[id]));
        self.candidates.check(&self.no_candidates(), shown)
    }
}
