//! Reprogrammable word lines in the block table: which of their pages can be replaced, and in which cell
//! mode.

use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId, Pool};

use super::reprogram::{ReclaimTarget, Reprogram, WordLineInfo, WordLinePage};
use super::{Block, BlockManager, State, StreamId};
use crate::policy::frontier::{self, OpenBlock};

impl BlockManager {
    /// Whether pages of a block can be replaced without an erase.
    pub fn is_reprogrammable(&self, block: BlockSetId) -> bool {
        let again = self.each[self.pools.number_of_block(block)].again.as_ref();
        again.is_some_and(|again| again.most(self.table[block].written_by.0) > 0)
            && self.mode(block) == CellMode::Mlc
    }

    /// Locations of a page of a word line, in all planes.
    fn locations_per_page(&self, block: BlockSetId) -> u32 {
        let Pool { geometry, locations, .. } = self.pools.of_block(block);
        locations.of_adjacent_pages(geometry.planes_per_row)
    }

    /// First location of a page of a word line.
    pub(super) fn location_of(&self, place: WordLinePage) -> Location {
        let WordLinePage { block, word_line, page } = place;
        self.pools.at(block, (word_line * 2 + page) * self.locations_per_page(block))
    }

    /// Page of a word line, given its first location.
    pub(super) fn place_of(&self, first: Location) -> WordLinePage {
        let (block, place) = self.pools.of_location(first).locations.split(first);
        let page = place / self.locations_per_page(block);
        WordLinePage { block, word_line: page / 2, page: page % 2 }
    }

    /// Page that the next program of a stream replaces; `None` if it replaces none.
    #[inline]
    pub(super) fn selected_reprogram(&self, row: PlaneGroupId, stream: StreamId) -> Option<WordLinePage> {
        self.of(row).again.as_ref()?.named(self.at(row, stream))
    }

    /// Cell mode of a program that replaces a page.
    pub(super) fn reprogram_mode(&self, place: WordLinePage) -> CellMode {
        let again = self.each[self.pools.number_of_block(place.block)].again.as_ref();
        let times = again.and_then(|again| again.times(place.block, place.word_line)).unwrap_or(0);
        CellMode::Reprogrammed(times + 1)
    }

    /// State of a word line; empty for a block that is not in MLC mode.
    pub fn word_line(&self, block: BlockSetId, word_line: u32) -> WordLineInfo {
        if self.mode(block) != CellMode::Mlc {
            return WordLineInfo { again: None, valid: [0, 0] };
        }
        let again = self.each[self.pools.number_of_block(block)].again.as_ref();
        let again = again.and_then(|again| again.times(block, word_line));
        let valid = |page| self.valid_at(WordLinePage { block, word_line, page });
        WordLineInfo { again, valid: [valid(0), valid(1)] }
    }

    fn valid_at(&self, place: WordLinePage) -> u32 {
        let first = self.location_of(place).0;
        (first..first + self.locations_per_page(place.block))
            .map(|at| u32::from(self.is_valid(Location(at))))
            .sum()
    }

    /// Reprogram state of a block's pool, if word lines of the block can be reprogrammed.
    fn reprogrammable_in(&self, block: BlockSetId) -> Option<&Reprogram> {
        let known = &self.table[block];
        let takes = matches!(known.state, State::Open | State::Suspended) && !known.pending_retirement;
        let again = self.each[self.pools.number_of_block(block)].again.as_deref()?;
        (takes && self.mode(block) == CellMode::Mlc).then_some(again)
    }

    /// Whether a word line in the last super layer of a block may be reprogrammed, now or after it loses a
    /// page.
    pub(super) fn has_reprogram_left(&self, block: BlockSetId) -> bool {
        self.reprogrammable_in(block).is_some_and(|again| {
            let most = again.most(self.table[block].written_by.0);
            again
                .in_last_super_layer(block)
                .any(|line| again.times(block, line).is_some_and(|times| times < most))
        })
    }

    /// Pages of a block that can be replaced once no program is in progress in the block. At most one for
    /// each word line.
    pub(super) fn reprogrammable_pages(&self, block: BlockSetId) -> impl Iterator<Item = WordLinePage> + '_ {
        self.reprogrammable_in(block).into_iter().flat_map(move |again| {
            let most = again.most(self.table[block].written_by.0);
            let may = move |line: &u32| again.times(block, *line).is_some_and(|times| times < most);
            again.in_last_super_layer(block).filter(may).filter_map(move |word_line| {
                let mut pages = [0, 1].map(|page| WordLinePage { block, word_line, page }).into_iter();
                pages.find(|place| self.valid_at(*place) == 0)
            })
        })
    }

    /// Whether pages of a block can be replaced now. The block must have no program in progress. It must have
    /// no queued read, because the read would find the new page instead of the old one. The last super layer
    /// of the block must not be in reclaim.
    pub(super) fn is_undisturbed(&self, block: BlockSetId) -> bool {
        let (Block { programs, readers, .. }, row) = (self.table[block], self.group_of(block));
        let leaves = |again: &Reprogram| again.is_reclaiming_last_super_layer(row, block);
        programs == 0 && readers == 0 && !self.of(row).again.as_deref().is_some_and(leaves)
    }

    /// Block of a plane group that is being reclaimed.
    #[inline]
    pub fn vacated(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        Some(self.of(row).again.as_ref()?.vacated(row)?.block)
    }

    /// Whether pages of the block being reclaimed in a plane group are not listed for GC yet.
    #[inline]
    pub fn needs_reclaim_list(&self, row: PlaneGroupId) -> bool {
        self.of(row).again.as_ref().is_some_and(|again| again.needs_listing(row))
    }

    /// Valid pages of a super layer of a block.
    pub(super) fn valid_in_super_layer(
        &self,
        block: BlockSetId,
        number: u32,
    ) -> impl Iterator<Item = Location> + '_ {
        let again = self.each[self.pools.number_of_block(block)].again.as_deref();
        let lines = again.map_or(0..0, |again| again.in_super_layer(number));
        let unit = 2 * self.locations_per_page(block);
        let all = (lines.start * unit..lines.end * unit).map(move |place| self.pools.at(block, place));
        all.filter(|page| self.is_valid(*page))
    }

    /// Whether the next host program of a stream with reprogrammable word lines goes to a block of the first
    /// stream, together with pages of the block being reclaimed. True if the program replaces no page. In its
    /// own stream it would begin an unprogrammed word line, although the reclaim will make word lines
    /// reprogrammable.
    pub(crate) fn shares_reclaim_unit(&self, row: PlaneGroupId, stream: StreamId) -> bool {
        let has_again = self.of(row).again.as_ref().is_some_and(|again| again.most(stream.0) > 0);
        has_again && self.selected_reprogram(row, stream).is_none()
    }

    /// Blocks of a stream with pages that can be replaced now, and its active block, in the order of opening.
    /// Empty if no page can be replaced.
    pub(super) fn reprogram_choices(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
    ) -> Vec<(OpenBlock<'_>, Vec<WordLinePage>)> {
        let at = self.at(row, stream);
        let (Some(again), Some(order)) = (&self.of(row).again, &self.of(row).order) else {
            return Vec::new();
        };
        let places = |block: BlockSetId| match again.lost_page(block) && self.is_undisturbed(block) {
            true => self.reprogrammable_pages(block).collect(),
            false => Vec::new(),
        };
        let (shape, is_gc) = (order.shape(), self.streams.is_gc(stream));
        let full = again.full(at).map(|block| order.full_block(block, is_gc));
        let suspended =
            self.suspended_of(row, stream, None).into_iter().flat_map(|suspended| suspended.iter());
        let beside = full.into_iter().chain(suspended).map(|open| (open, places(open.block)));
        let mut all: Vec<_> = beside.filter(|(_, places)| !places.is_empty()).collect();
        let at_work = self.open[at].map(|(block, place)| {
            let written = place * shape.count() / self.capacity(block);
            let programmed = order.bits(order.works(at));
            let open =
                OpenBlock { block, is_gc, written, shape, programmed, again: frontier::Reprogram::NONE };
            (open, places(block))
        });
        if let Some(at_work) = at_work.filter(|(_, places)| !all.is_empty() || !places.is_empty()) {
            all.push(at_work);
        }
        all.sort_by_key(|(open, _)| self.opening_number(open.block));
        all
    }

    /// Word lines of a super layer in the pool of a block; `None` if word lines are not reprogrammed.
    pub fn per_super_layer(&self, block: BlockSetId) -> Option<u32> {
        Some(self.each[self.pools.number_of_block(block)].again.as_ref()?.per_super_layer())
    }

    /// Locations of the other page of a word line in which the program at `first` replaced a page; empty if
    /// it replaced none.
    pub(crate) fn sibling_locations(&self, first: Location) -> std::ops::Range<u32> {
        let replaced = self.place_of(first);
        let is_again =
            self.word_line(replaced.block, replaced.word_line).again.is_some_and(|times| times > 0);
        let other = self.location_of(WordLinePage { page: 1 - replaced.page, ..replaced }).0;
        if is_again { other..other + self.locations_per_page(replaced.block) } else { 0..0 }
    }

    /// Checks the reprogram counts against those of the chips, which `times` returns by location. Panics if
    /// they differ.
    pub(crate) fn audit_reprograms(&self, times: impl Fn(Location) -> u8) {
        for pool in self.each.iter().zip(self.pools.iter()) {
            let (Some(again), Pool { geometry, .. }) = (&pool.0.again, pool.1) else { continue };
            for block in geometry.all_blocks().filter(|block| self.mode(*block) == CellMode::Mlc) {
                for word_line in 0..again.per_block() {
                    let Some(known) = again.times(block, word_line) else { continue };
                    let there = times(self.location_of(WordLinePage { block, word_line, page: 0 }));
                    let under_way = u8::from(self.table[block].programs > 0);
                    assert!(
                        known >= there && known - there <= under_way,
                        "word line {word_line} of {block:?} was programmed again {there} times, not {known}"
                    );
                }
            }
        }
    }

    /// Checks the loaded state of a plane group: blocks kept open and selected pages must exist.
    pub(super) fn check_reprograms(&self, row: PlaneGroupId) -> Result<(), String> {
        let Some(again) = &self.of(row).again else { return Ok(()) };
        ensure(again.is_whole(), || "word lines that are programmed again of another device".to_owned())?;
        let is_vacated = |ReclaimTarget { block, super_layer, .. }: ReclaimTarget| {
            self.blocks_of(row).any(|own| own == block)
                && !matches!(self.state(block), State::Free | State::Victim | State::Bad)
                && super_layer * again.per_super_layer() < again.per_block()
        };
        ensure(again.vacated(row).is_none_or(is_vacated), || {
            format!("plane group {row} reclaims a block without data")
        })?;
        for stream in self.streams.all() {
            let at = self.at(row, stream);
            let is_own = |block: BlockSetId| {
                self.blocks_of(row).any(|own| own == block) && self.state(block) == State::Open
            };
            let is_place = |place: WordLinePage| {
                (is_own(place.block) || self.state(place.block) == State::Suspended)
                    && place.word_line < again.per_block()
                    && place.page < 2
            };
            ensure(again.full(at).is_none_or(is_own) && again.named(at).is_none_or(is_place), || {
                format!("plane group {row} reprograms word lines of stream {} that do not exist", stream.0)
            })?;
        }
        Ok(())
    }
}
