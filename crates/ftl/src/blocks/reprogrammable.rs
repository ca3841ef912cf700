//! Pages of reprogrammable word lines: which of them can be replaced, given the block table, and which are
//! relocated while their block is being reclaimed.

use std::ops::Range;

use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId, Pool, Pools};

use super::block::{Block, State};
use super::reprogram::{ReclaimTarget, Reprogram, WordLinePage};
use super::table::BlockTable;

/// Locations of a page of a word line, in all planes.
fn locations_per_page(block: BlockSetId, pools: &Pools) -> u32 {
    let Pool { geometry, locations, .. } = pools.of_block(block);
    locations.of_adjacent_pages(geometry.planes_per_row)
}

impl WordLinePage {
    /// Page of a word line, given its first location.
    pub fn at(first: Location, pools: &Pools) -> Self {
        let (block, place) = pools.of_location(first).locations.split(first);
        let page = place / locations_per_page(block, pools);
        Self { block, word_line: page / 2, page: page % 2 }
    }

    /// First location of the page.
    pub fn first(self, pools: &Pools) -> Location {
        let Self { block, word_line, page } = self;
        pools.at(block, (word_line * 2 + page) * locations_per_page(block, pools))
    }

    /// Locations of the page.
    pub fn locations(self, pools: &Pools) -> Range<u32> {
        let first = self.first(pools).0;
        first..first + locations_per_page(self.block, pools)
    }

    /// Valid locations of the page, counted.
    pub fn valid(self, table: &BlockTable) -> u32 {
        self.locations(&table.pools).map(|at| u32::from(table.is_valid(Location(at)))).sum()
    }
}

impl Reprogram {
    /// Whether pages of a block can be replaced without an erase.
    pub fn may_reprogram(&self, block: BlockSetId, table: &BlockTable) -> bool {
        self.most(table.blocks[block].written_by.0) > 0 && table.mode(block) == CellMode::Mlc
    }

    /// Cell mode of a program that replaces a page.
    pub fn mode_of(&self, place: WordLinePage) -> CellMode {
        CellMode::Reprogrammed(self.times(place.block, place.word_line).unwrap_or(0) + 1)
    }

    /// Word lines in the last super layer of a block that may be reprogrammed, now or after they lose a page.
    fn lines_left(&self, block: BlockSetId, table: &BlockTable) -> impl Iterator<Item = u32> + '_ {
        let Block { state, pending_retirement, written_by, .. } = table.blocks[block];
        let takes = matches!(state, State::Open | State::Suspended) && !pending_retirement;
        let takes = takes && table.mode(block) == CellMode::Mlc;
        let lines = if takes { self.in_last_super_layer(block) } else { 0..0 };
        let most = self.most(written_by.0);
        lines.filter(move |line| self.times(block, *line).is_some_and(|times| times < most))
    }

    /// Whether a word line in the last super layer of a block may be reprogrammed, now or after it loses a
    /// page.
    pub fn has_lines_left(&self, block: BlockSetId, table: &BlockTable) -> bool {
        self.lines_left(block, table).next().is_some()
    }

    /// Pages of a block that can be replaced once no program is in progress in the block. At most one for
    /// each word line.
    pub fn pages<'a>(
        &'a self,
        block: BlockSetId,
        table: &'a BlockTable,
    ) -> impl Iterator<Item = WordLinePage> + 'a {
        self.lines_left(block, table).filter_map(move |word_line| {
            let mut pages = [0, 1].map(|page| WordLinePage { block, word_line, page }).into_iter();
            pages.find(|place| place.valid(table) == 0)
        })
    }

    /// Whether pages of a block can be replaced now. The block must have no program in progress. It must have
    /// no queued read, because the read would find the new page instead of the old one. The last super layer
    /// of the block must not be in reclaim.
    fn is_undisturbed(&self, block: BlockSetId, table: &BlockTable) -> bool {
        let Block { programs, readers, .. } = table.blocks[block];
        programs == 0 && readers == 0 && !self.is_reclaiming_last_super_layer(table.group_of(block), block)
    }

    /// Pages of a block that can be replaced now.
    pub fn pages_now(&self, block: BlockSetId, table: &BlockTable) -> Vec<WordLinePage> {
        match self.lost_page(block) && self.is_undisturbed(block, table) {
            true => self.pages(block, table).collect(),
            false => Vec::new(),
        }
    }

    /// Whether a block lost a page, and nonetheless has none that can be replaced now.
    pub fn has_lost_in_vain(&self, block: BlockSetId, table: &BlockTable) -> bool {
        self.lost_page(block)
            && self.is_undisturbed(block, table)
            && self.pages(block, table).next().is_none()
    }

    /// Valid pages of a super layer of a block.
    fn valid_in_super_layer<'a>(
        &self,
        block: BlockSetId,
        number: u32,
        table: &'a BlockTable,
    ) -> impl Iterator<Item = Location> + use<'a> {
        let (lines, unit) = (self.in_super_layer(number), 2 * locations_per_page(block, &table.pools));
        let all = (lines.start * unit..lines.end * unit).map(move |place| table.pools.at(block, place));
        all.filter(|page| table.is_valid(*page))
    }

    /// Pages to relocate from the super layer that a plane group is reclaiming. They are returned once, when
    /// no program of the block is in progress.
    pub fn list_reclaimed_pages(
        &mut self,
        row: PlaneGroupId,
        table: &BlockTable,
    ) -> Option<(BlockSetId, Vec<Location>)> {
        let ReclaimTarget { block, super_layer, .. } = self.vacated(row)?;
        if !self.needs_listing(row) || table.blocks[block].programs > 0 {
            return None;
        }
        self.set_listed(row);
        Some((block, self.valid_in_super_layer(block, super_layer, table).collect()))
    }

    /// Moves the reclaim of a plane group to the next lower super layer with valid pages, if the current one
    /// has none. The block may have been reprogrammed meanwhile.
    pub fn advance_reclaim(&mut self, row: PlaneGroupId, table: &BlockTable) {
        let Some(ReclaimTarget { block, super_layer, .. }) = self.vacated(row) else { return };
        let holds = |number: &u32| self.valid_in_super_layer(block, *number, table).next().is_some();
        if holds(&super_layer) {
            return;
        }
        let next = (0..super_layer).rev().find(holds).map(|number| (block, number));
        self.set_reclaim(row, next);
    }

    /// Rebuilds the reprogram counts of word lines of `pool` from flash after a power cut. A block has `lines`
    /// word lines. `times` returns `None` for an unprogrammed location, and `u8::MAX` for an unreadable one.
    pub fn rebuild(
        &mut self,
        (pool, lines): (&Pool, u32),
        table: &BlockTable,
        times: &impl Fn(Location) -> Option<u8>,
    ) {
        for block in pool.geometry.all_blocks() {
            if table.mode(block) != CellMode::Mlc || table.state(block) == State::Free {
                continue;
            }
            let unit = table.capacity(block) / lines;
            for word_line in 0..lines {
                let first = table.pools.at(block, word_line * unit).0;
                let found: Vec<Option<u8>> = (first..first + unit).map(|at| times(Location(at))).collect();
                if found.iter().any(Option::is_some) {
                    let whole = found.iter().all(|times| times.is_some_and(|times| times != u8::MAX));
                    self.found(block, word_line, found[0].filter(|_| whole));
                }
            }
        }
        pool.geometry.all_groups().for_each(|row| self.request_selection(row));
    }

    /// Checks the reprogram counts of a `pool` against those of the chips, which `times` returns by location.
    /// Panics if they differ.
    pub fn audit(&self, pool: &Pool, table: &BlockTable, times: &impl Fn(Location) -> u8) {
        for block in pool.geometry.all_blocks().filter(|block| table.mode(*block) == CellMode::Mlc) {
            for word_line in 0..self.per_block() {
                let Some(known) = self.times(block, word_line) else { continue };
                let there = times(WordLinePage { block, word_line, page: 0 }.first(&table.pools));
                let under_way = u8::from(table.blocks[block].programs > 0);
                assert!(
                    known >= there && known - there <= under_way,
                    "word line {word_line} of {block:?} was programmed again {there} times, not {known}"
                );
            }
        }
    }

    /// Checks the loaded state of a plane group, whose first stream has the index `first`: blocks kept open
    /// and selected pages must exist.
    pub fn check(&self, row: PlaneGroupId, first: usize, table: &BlockTable) -> Result<(), String> {
        ensure(self.is_whole(), || "word lines that are programmed again of another device".to_owned())?;
        let is_in_row = |block: BlockSetId| table.blocks_of(row).any(|own| own == block);
        let is_vacated = |ReclaimTarget { block, super_layer, .. }: ReclaimTarget| {
            is_in_row(block)
                && !matches!(table.state(block), State::Free | State::Victim | State::Bad)
                && super_layer * self.per_super_layer() < self.per_block()
        };
        ensure(self.vacated(row).is_none_or(is_vacated), || {
            format!("plane group {row} reclaims a block without data")
        })?;
        for stream in table.streams.all() {
            let at = first + usize::from(stream.0);
            let is_own = |block: BlockSetId| is_in_row(block) && table.state(block) == State::Open;
            let is_place = |place: WordLinePage| {
                (is_own(place.block) || table.state(place.block) == State::Suspended)
                    && place.word_line < self.per_block()
                    && place.page < 2
            };
            ensure(self.full(at).is_none_or(is_own) && self.named(at).is_none_or(is_place), || {
                format!("plane group {row} reprograms word lines of stream {} that do not exist", stream.0)
            })?;
        }
        Ok(())
    }
}
