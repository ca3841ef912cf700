//! Methods of the block manager for pools: GC watermarks, reserved blocks, mapping units, cell modes,
//! superblocks and reprogrammed word lines. A device has at least one pool; the code treats all pools alike.

use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId};

use super::modes::{ModeBlocks, ModeShare};
use super::pool_blocks::PoolBlocks;
use super::program_order::NextWordLine;
use super::reprogram::{ReclaimTarget, Reprogram, WordLinePage};
use super::super_blocks::SuperBlocks;
use super::{Block, BlockManager, State, StreamId};
use crate::policy::frontier::{self, OpenBlock};

impl BlockManager {
    /// Properties of the pool of `row`.
    #[inline]
    pub(super) fn of(&self, row: PlaneGroupId) -> &PoolBlocks {
        &self.each[self.pools.number_of_group(row)]
    }

    /// Mutable properties of the pool of `row`.
    #[inline]
    pub(super) fn of_mut(&mut self, row: PlaneGroupId) -> &mut PoolBlocks {
        &mut self.each[self.pools.number_of_group(row)]
    }

    /// Pool, plane group and table entry of a block.
    #[inline]
    pub(super) fn parts_of(&mut self, block: BlockSetId) -> (&mut PoolBlocks, PlaneGroupId, &mut Block) {
        let row = self.group_of(block);
        (&mut self.each[self.pools.number_of_group(row)], row, &mut self.table[block])
    }

    /// Pages that will be programmed in a pool and have no location in it yet; 0 for the first pool.
    pub fn on_their_way(&self, pool: usize) -> u64 {
        self.each[pool].on_their_way
    }

    /// Counts the pages in flight to a pool: adds pages that are sent there (`begin`), or subtracts pages
    /// that now have a location.
    #[inline]
    pub(crate) fn count_in_flight(&mut self, pool: usize, pages: u32, begin: bool) {
        if pool > 0 {
            let count = &mut self.each[pool].on_their_way;
            *count = if begin { *count + u64::from(pages) } else { *count - u64::from(pages) };
        }
    }

    /// Lets streams open blocks of a pool in a cell mode. Must be called before the first block is written.
    pub fn open_in_mode(&mut self, pool: usize, share: ModeShare) {
        self.each[pool].modes.push(ModeBlocks::new(share, &self.pools.get(pool).geometry));
    }

    /// While `paused`, only native blocks are opened.
    pub fn pause_modes(&mut self, paused: bool) {
        self.each.iter_mut().flat_map(|pool| &mut pool.modes).for_each(|blocks| blocks.pause(paused));
    }

    /// While `paused`, no block is suspended.
    pub fn pause_suspension(&mut self, paused: bool) {
        self.each
            .iter_mut()
            .filter_map(|pool| pool.order.as_mut())
            .for_each(|order| order.suspended.pause(paused));
    }

    /// Oldest closed block of a plane group in a mode; `None` unless more than `keep` blocks in the mode are
    /// not victims.
    #[inline]
    pub fn oldest_in_mode(&mut self, row: PlaneGroupId, mode: CellMode, keep: u32) -> Option<BlockSetId> {
        let Self { each, table, pools, .. } = self;
        let modes = &mut each[pools.number_of_group(row)].modes;
        modes.iter_mut().find(|blocks| blocks.mode() == mode)?.oldest(row, keep, table)
    }

    /// Lets a pool form superblocks. Must be called after [`keep`](Self::keep) and before the first block is
    /// written.
    pub fn form_super_blocks(&mut self, pool: usize) {
        let streams = usize::from(self.streams.host + self.streams.gc);
        let all = SuperBlocks::new(self.pools.get(pool), streams, self.indexes);
        self.each[pool].super_blocks = Some(Box::new(all));
    }

    /// Sets whether superblocks wait for all plane groups, however far behind one is. Used while plane groups
    /// are filled one after the other.
    pub fn set_waiting_for_groups(&mut self, waits: bool) {
        self.each.iter_mut().filter_map(|pool| pool.super_blocks.as_mut()).for_each(|all| all.wait(waits));
    }

    /// Whether a superblock was selected since the last call, in the pool of a plane group.
    #[inline]
    pub fn take_super_block_choice(&mut self, row: PlaneGroupId) -> bool {
        self.of_mut(row).super_blocks.as_mut().is_some_and(|all| all.take_choice())
    }

    /// Makes the blocks of a selected superblock the next victims of their plane groups, except blocks
    /// without gain.
    pub fn choose_super_block(&mut self, row: PlaneGroupId, chosen: BlockSetId) {
        let Self { each, table, pools, .. } = self;
        if let Some(all) = &mut each[pools.number_of_group(row)].super_blocks {
            all.choose(chosen, table, pools);
        }
    }

    /// Does not collect a block although its superblock was selected.
    pub fn spare_block(&mut self, block: BlockSetId) {
        let (pool, row, _) = self.parts_of(block);
        if let Some(all) = &mut pool.super_blocks {
            all.spare_block(row, block);
        }
    }

    /// Sets the GC watermarks of a pool, in free blocks of a plane group: the start and the stop watermark.
    pub fn set_gc_watermarks(&mut self, pool: usize, marks: [u32; 2]) {
        self.each[pool].marks = marks.map(|blocks| blocks as usize);
    }

    /// Lets GC count free space by programmed pages, as SSDSim does: locations that blocks in non-native
    /// modes cannot hold never count as consumed.
    pub fn count_programs(&mut self) {
        self.each.iter_mut().for_each(|pool| pool.counts_programs = true);
    }

    /// Maps a pool by program units. Must be called before the first block is written.
    pub fn map_coarsely(&mut self, pool: usize) {
        self.each[pool].whole_unit = Some(self.pools.get(pool).locations.per_program);
    }

    /// GC watermarks of a plane group, in free blocks: GC starts below the first and stops at the second.
    #[inline]
    pub fn marks(&self, row: PlaneGroupId) -> [usize; 2] {
        self.of(row).marks
    }

    /// Free blocks of a plane group that only GC may open.
    #[inline]
    pub fn kept(&self, row: PlaneGroupId) -> usize {
        self.of(row).kept
    }

    /// Whether the pool of a plane group is mapped by program units. All pages of such a unit count as valid
    /// if one is.
    #[inline]
    pub fn is_coarsely_mapped(&self, row: PlaneGroupId) -> bool {
        self.of(row).whole_unit.is_some()
    }

    /// Whether the page-level L2P map covers a location. A pool with coarse-grained mapping has a map of its
    /// own in memory, with one entry for each unit.
    #[inline]
    pub fn is_mapped_by_page(&self, location: Location) -> bool {
        self.each[self.pools.number_of_location(location)].whole_unit.is_none()
    }

    /// Sets the number of valid pages above which host pages leave a pool. Not for the first pool.
    pub fn limit_valid_pages(&mut self, pool: usize, pages: u64) {
        self.each[pool].most = pages;
    }

    /// Whether host pages of the pool of a plane group must be migrated to the first pool.
    #[inline]
    pub fn is_over_limit(&self, row: PlaneGroupId) -> bool {
        let pool = self.of(row);
        pool.valid > pool.most
    }

    /// Valid pages of a pool.
    pub fn valid_of(&self, pool: usize) -> u64 {
        self.each[pool].valid
    }

    /// Closed block of a plane group with the fewest valid pages, among those that are `wanted`. Scans all
    /// blocks of the plane group.
    pub fn fewest_valid_of(
        &self,
        row: PlaneGroupId,
        wanted: impl Fn(&BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        let closed = self.blocks_of(row).filter(|block| self.state(*block) == State::Closed);
        closed.filter(wanted).min_by_key(|block| self.valid(*block))
    }

    /// Valid pages of the device.
    pub fn total_valid(&self) -> u64 {
        self.each.iter().map(|pool| pool.valid).sum()
    }

    /// Counts a location of a pool as valid or invalid. Returns the number of pages by which the valid count
    /// changes. With coarse-grained mapping, all pages of a unit count as valid while one of them is valid.
    #[inline]
    pub(super) fn count_valid_page(&mut self, pool: usize, location: Location, is_valid: bool) -> u32 {
        let one = &mut self.each[pool];
        one.valid = if is_valid { one.valid + 1 } else { one.valid - 1 };
        match one.whole_unit {
            Some(unit) => self.pages_alone(pool, location, unit),
            None => 1,
        }
    }

    /// Lets word lines of a pool be reprogrammed. `most` has the most reprograms for each host stream. Called
    /// after [`order`](Self::order).
    pub fn allow_reprogram(&mut self, pool: usize, most: Vec<u8>) {
        let one = self.pools.get(pool);
        let begins = self.at(one.geometry.first_group(), StreamId(0));
        let streams = usize::from(self.streams.host + self.streams.gc);
        let mut of_all = most;
        of_all.resize(streams, 0);
        // Each stream that reprograms may have a full block open in addition to its active block.
        self.each[pool].at_work += of_all.iter().map(|times| u32::from(*times > 0)).sum::<u32>();
        self.each[pool].again = Some(Box::new(Reprogram::new(one, begins, of_all)));
    }

    /// Requests a new selection of the pages to reprogram in a plane group.
    #[inline]
    pub fn request_selection_in(&mut self, row: PlaneGroupId) {
        if let Some(again) = &mut self.of_mut(row).again {
            again.request_selection(row);
        }
    }

    /// Requests a new selection after a block in MLC mode lost a page.
    #[inline]
    pub(super) fn note_reprogrammable(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(again) = &mut self.of_mut(row).again {
            again.set_lost_page(block, true);
            again.request_selection(row);
        }
    }

    /// Deselects all pages of a block for reprogramming.
    #[inline]
    pub(super) fn deselect_reprogram(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let at = self.at(row, self.table[block].written_by);
        if let Some(again) = &mut self.of_mut(row).again {
            again.deselect(at, block);
            again.request_selection(row);
        }
        self.stop_reclaim(row, block);
    }

    /// Ends the reclaim of a block, if it is being reclaimed.
    pub(super) fn stop_reclaim(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let again = self.of_mut(row).again.as_mut();
        let again = again.filter(|again| again.vacated(row).is_some_and(|vacated| vacated.block == block));
        if let Some(again) = again {
            again.advance_reclaim(row, None);
        }
    }

    /// Starts to reclaim a suspended block. None of its pages is selected for a reprogram while its last
    /// super layer has valid pages.
    pub(super) fn start_reclaim(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.deselect_reprogram(row, block);
        self.of_mut(row).again.as_mut().expect("the caller saw it").start_reclaim(row, block);
    }

    /// Pages to relocate from the super layer that a plane group is reclaiming. They are returned once, when
    /// no program of the block is in progress.
    pub fn list_reclaimed_pages(&mut self, row: PlaneGroupId) -> Option<(BlockSetId, Vec<Location>)> {
        let ReclaimTarget { block, super_layer, .. } = self.of(row).again.as_ref()?.vacated(row)?;
        if !self.needs_reclaim_list(row) || self.table[block].programs > 0 {
            return None;
        }
        self.of_mut(row).again.as_mut().expect("it was just there").set_listed(row);
        Some((block, self.valid_in_super_layer(block, super_layer).collect()))
    }

    /// Moves the reclaim of a plane group to the next lower super layer with valid pages, if the current one
    /// has none. The block may have been reprogrammed meanwhile.
    pub(super) fn advance_reclaim(&mut self, row: PlaneGroupId) {
        let vacated = self.of(row).again.as_ref().and_then(|again| again.vacated(row));
        let Some(ReclaimTarget { block, super_layer, .. }) = vacated else { return };
        let holds = |number: &u32| self.valid_in_super_layer(block, *number).next().is_some();
        if holds(&super_layer) {
            return;
        }
        let next = (0..super_layer).rev().find(holds).map(|number| (block, number));
        self.of_mut(row).again.as_mut().expect("it was just there").advance_reclaim(row, next);
    }

    /// Closes suspended blocks of a stream that cannot be written before an erase: all their word lines are
    /// programmed, and none can be reprogrammed.
    pub(super) fn close_exhausted(&mut self, row: PlaneGroupId, stream: StreamId) {
        let blocks = self.suspended_of(row, stream, None).into_iter().flat_map(|suspended| suspended.iter());
        let is_spent = |one: &OpenBlock<'_>| {
            one.written == one.shape.count()
                && self.table[one.block].programs == 0
                && !self.has_reprogram_left(one.block)
        };
        let spent: Vec<BlockSetId> = blocks.filter(is_spent).map(|one| one.block).collect();
        spent.into_iter().for_each(|block| self.close(block));
    }

    /// A plane group whose next pages must be [selected](Self::select_reprogram).
    pub fn take_unselected(&mut self) -> Option<PlaneGroupId> {
        self.each.iter_mut().filter_map(|pool| pool.again.as_mut()).find_map(|again| again.take_unselected())
    }

    /// Queries the design for the word line of the next program of each stream with reprogrammable word
    /// lines. A full block without such a word line is suspended if its design decides so; otherwise it is
    /// closed.
    pub fn select_reprogram(&mut self, row: PlaneGroupId, next: NextWordLine<'_>) {
        self.advance_reclaim(row);
        for stream in (0..self.streams.host).map(StreamId) {
            let again = self.of(row).again.as_ref();
            let Some(again) = again.filter(|again| again.most(stream.0) > 0) else { continue };
            let at = self.at(row, stream);
            if let Some(full) = again.full(at) {
                self.keep_full_open(at, row, stream, full, &mut *next);
            }
            self.close_exhausted(row, stream);
            self.forget_lost_pages(row, stream);
            let named = self.query_reprogram(row, stream, &mut *next);
            self.of_mut(row).again.as_mut().expect("it was just there").name(at, named);
        }
    }

    /// Keeps a full block of a stream open while one of its pages can be replaced. Otherwise suspends or
    /// closes it.
    fn keep_full_open(
        &mut self,
        at: usize,
        row: PlaneGroupId,
        stream: StreamId,
        full: BlockSetId,
        next: NextWordLine<'_>,
    ) {
        if self.table[full].programs > 0 || self.reprogrammable_pages(full).next().is_some() {
            return;
        }
        if !self.suspend_full(at, row, stream, full, next) {
            self.close(full);
        }
    }

    /// Notes which blocks of a stream have nothing to reprogram. They are skipped until they lose a page.
    fn forget_lost_pages(&mut self, row: PlaneGroupId, stream: StreamId) {
        let blocks = self.suspended_of(row, stream, None).into_iter().flat_map(|suspended| suspended.iter());
        let has_none = |block: &BlockSetId| {
            let again = self.of(row).again.as_ref().expect("the caller saw it");
            again.lost_page(*block)
                && self.is_undisturbed(*block)
                && self.reprogrammable_pages(*block).next().is_none()
        };
        let done: Vec<BlockSetId> = blocks.map(|open| open.block).filter(has_none).collect();
        let again = self.of_mut(row).again.as_mut().expect("the caller saw it");
        done.into_iter().for_each(|block| again.set_lost_page(block, false));
    }

    /// Queries the design for the next word line of a stream. Returns the page to replace; `None` if the word
    /// line is unprogrammed.
    fn query_reprogram(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> Option<WordLinePage> {
        let per_super_layer = self.of(row).again.as_ref()?.per_super_layer();
        let found = self.reprogram_choices(row, stream);
        let lines =
            |places: &Vec<WordLinePage>| places.iter().map(|place| place.word_line).collect::<Vec<u32>>();
        let lines: Vec<Vec<u32>> = found.iter().map(|(_, places)| lines(places)).collect();
        let shown = found.iter().zip(&lines).map(|((open, _), word_lines)| OpenBlock {
            again: frontier::Reprogram { word_lines, per_super_layer },
            ..*open
        });
        let shown: Vec<OpenBlock<'_>> = shown.collect();
        if shown.is_empty() {
            return None;
        }
        let (which, word_line) = next.next(&shown, self);
        found[which].1.iter().copied().find(|place| place.word_line == word_line)
    }

    /// Allocates the next program of a stream, which replaces a page.
    #[inline(never)]
    pub(super) fn take_reprogram(
        &mut self,
        row: PlaneGroupId,
        stream: StreamId,
        place: WordLinePage,
    ) -> Location {
        let at = self.at(row, stream);
        let first = self.location_of(place);
        self.table[place.block].programs += 1;
        let again = self.of_mut(row).again.as_mut().expect("a place in it was named");
        again.replaced(place);
        again.name(at, None);
        first
    }

    /// Records that a word line of the active block of the stream at index `at` is programmed, beginning at
    /// `first`. `is_last` means that the block is full now.
    #[inline(never)]
    pub(super) fn note_word_line(&mut self, at: usize, first: Location, is_last: bool) {
        if self.mode(self.pools.block_of(first)) != CellMode::Mlc {
            return;
        }
        let WordLinePage { block, word_line, .. } = self.place_of(first);
        let pool = self.pools.number_of_block(block);
        let stream = self.table[block].written_by;
        let again = self.each[pool].again.as_mut().expect("the caller saw it");
        again.programmed(block, word_line);
        // If another stream wrote to this block because it could not open one, a page may still be selected
        // here. The super layer of that page may be closed now.
        again.deselect(at, block);
        if !is_last || again.most(stream.0) == 0 {
            return;
        }
        let before = again.full(at);
        again.set_full(at, Some(block));
        if let Some(before) = before {
            again.deselect(at, before);
            self.table[before].state = State::Closing;
            self.close_if_programmed(before);
        }
    }

    /// Whether a full block of the stream at index `at` stays open to be reprogrammed.
    #[inline]
    pub(super) fn is_kept_open(&self, at: usize, pool: usize, block: BlockSetId) -> bool {
        self.each[pool].again.as_ref().is_some_and(|again| again.full(at) == Some(block))
    }

    /// Stops reprogramming a block. Returns whether the block was open only for this.
    pub(super) fn stop_reprogram(&mut self, at: usize, row: PlaneGroupId, block: BlockSetId) -> bool {
        self.of_mut(row).again.as_mut().is_some_and(|again| again.leave(at, block))
    }

    /// Excludes a word line from reprogramming after a failed program at `first`.
    pub(crate) fn exclude_word_line(&mut self, first: Location) {
        if self.mode(self.pools.block_of(first)) == CellMode::Mlc {
            let WordLinePage { block, word_line, .. } = self.place_of(first);
            let pool = &mut self.each[self.pools.number_of_block(block)];
            pool.again.iter_mut().for_each(|again| again.exclude(block, word_line));
        }
    }

    /// Rebuilds the reprogram counts of word lines from flash after a power cut. `times` returns `None` for
    /// an unprogrammed location, and `u8::MAX` for an unreadable one.
    pub fn rebuild_reprogram_counts(&mut self, times: impl Fn(Location) -> Option<u8>) {
        for pool in 0..self.each.len() {
            let (Some(order), Some(_)) = (&self.each[pool].order, &self.each[pool].again) else { continue };
            let count = order.shape().count();
            for block in self.pools.get(pool).geometry.all_blocks() {
                if self.mode(block) != CellMode::Mlc || self.state(block) == State::Free {
                    continue;
                }
                let unit = self.capacity(block) / count;
                for word_line in 0..count {
                    let first = self.pools.at(block, word_line * unit).0;
                    let found: Vec<Option<u8>> =
                        (first..first + unit).map(|at| times(Location(at))).collect();
                    let is_programmed = found.iter().any(Option::is_some);
                    let again = self.each[pool].again.as_mut().expect("it was just there");
                    if is_programmed {
                        let whole = found.iter().all(|times| times.is_some_and(|times| times != u8::MAX));
                        again.found(block, word_line, found[0].filter(|_| whole));
                    }
                }
            }
            for row in self.pools.get(pool).geometry.all_groups() {
                self.request_selection_in(row);
            }
        }
    }

    /// Pages of a unit, if no other location of the unit is valid; otherwise 0.
    #[inline(never)]
    fn pages_alone(&self, pool: usize, location: Location, unit: u32) -> u32 {
        let locations = &self.pools.get(pool).locations;
        let first = location.0 - locations.split(location).1 % unit;
        let alone = (first..first + unit).all(|other| other == location.0 || !self.is_valid(Location(other)));
        if alone { unit } else { 0 }
    }
}
