//! Selection of the page that the next program of a stream replaces, and what becomes of blocks without such
//! pages.

use wordline_nand::{BlockSetId, CellMode, Location, PlaneGroupId};

use super::reprogram::{Reprogram, WordLineInfo, WordLinePage};
use super::word_line_selector::NextWordLine;
use super::{BlockManager, State, StreamId};
use crate::policy::frontier::{self, OpenBlock};

impl BlockManager {
    /// Lets word lines of a pool be reprogrammed. `most` has the most reprograms for each host stream. Called
    /// after [`order`](Self::order).
    pub fn allow_reprogram(&mut self, pool: usize, most: Vec<u8>) {
        let one = self.table.pools.get(pool);
        let begins = self.open.at(one.geometry.first_group(), StreamId(0));
        let mut of_all = most;
        of_all.resize(self.streams().count(), 0);
        // Each stream that reprograms may have a full block open in addition to its active block.
        let full = of_all.iter().map(|times| u32::from(*times > 0)).sum::<u32>();
        one.geometry.all_groups().for_each(|row| self.space.reserves[row].at_work += full);
        self.by_pool[pool].again = Some(Box::new(Reprogram::new(one, begins, of_all)));
    }

    /// Page that the next program of a stream replaces; `None` if it replaces none.
    #[inline]
    pub(super) fn selected_reprogram(&self, row: PlaneGroupId, stream: StreamId) -> Option<WordLinePage> {
        self.pool_of(row).again.as_ref()?.named(self.open.at(row, stream))
    }

    /// Whether pages of a block can be replaced without an erase.
    pub(crate) fn is_reprogrammable(&self, block: BlockSetId) -> bool {
        let again = &self.pool_of(self.table.group_of(block)).again;
        again.as_ref().is_some_and(|again| again.may_reprogram(block, &self.table))
    }

    /// State of a word line; empty for a block that is not in MLC mode.
    pub fn word_line(&self, block: BlockSetId, word_line: u32) -> WordLineInfo {
        if self.table.mode(block) != CellMode::Mlc {
            return WordLineInfo { again: None, valid: [0, 0] };
        }
        let again = self.pool_of(self.table.group_of(block)).again.as_ref();
        let again = again.and_then(|again| again.times(block, word_line));
        let valid = |page| WordLinePage { block, word_line, page }.valid(&self.table);
        WordLineInfo { again, valid: [valid(0), valid(1)] }
    }

    /// Locations of the other page of a word line in which the program at `first` replaced a page; empty if
    /// it replaced none.
    pub fn sibling_locations(&self, first: Location) -> std::ops::Range<u32> {
        let replaced = WordLinePage::at(first, &self.table.pools);
        let again = self.word_line(replaced.block, replaced.word_line).again;
        match again.is_some_and(|times| times > 0) {
            true => WordLinePage { page: 1 - replaced.page, ..replaced }.locations(&self.table.pools),
            false => 0..0,
        }
    }

    /// Whether the next host program of a stream with reprogrammable word lines goes to a block of the first
    /// stream, together with pages of the block being reclaimed. True if the program replaces no page. In its
    /// own stream it would begin an unprogrammed word line, although the reclaim will make word lines
    /// reprogrammable.
    pub fn shares_reclaim_unit(&self, row: PlaneGroupId, stream: StreamId) -> bool {
        let has_again = self.pool_of(row).again.as_ref().is_some_and(|again| again.most(stream.0) > 0);
        has_again && self.selected_reprogram(row, stream).is_none()
    }

    /// Pages to relocate from the super layer that a plane group is reclaiming. They are returned once, when
    /// no program of the block is in progress.
    pub(crate) fn list_reclaimed_pages(&mut self, row: PlaneGroupId) -> Option<(BlockSetId, Vec<Location>)> {
        let pool = self.table.pools.number_of_group(row);
        self.by_pool[pool].again.as_mut()?.list_reclaimed_pages(row, &self.table)
    }

    /// Requests a new selection of the pages to reprogram in a plane group.
    #[inline]
    pub fn request_selection(&mut self, row: PlaneGroupId) {
        self.pool_of_mut(row).request_selection(row);
    }

    /// A plane group whose pages to reprogram must be [selected](Self::select_reprogram).
    pub fn take_unselected(&mut self) -> Option<PlaneGroupId> {
        self.by_pool.take_unselected()
    }

    /// Deselects all pages of a block for reprogramming.
    #[inline]
    pub(super) fn deselect_reprogram(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let at = self.open.at(row, self.table.blocks[block].written_by);
        if let Some(again) = &mut self.pool_of_mut(row).again {
            again.deselect(at, block);
            again.request_selection(row);
            again.stop_reclaim(row, block);
        }
    }

    /// Queries the design for the word line of the next program of each stream with reprogrammable word
    /// lines. A full block without such a word line is suspended if its design decides so; otherwise it is
    /// closed.
    pub fn select_reprogram(&mut self, row: PlaneGroupId, next: NextWordLine<'_>) {
        let pool = self.table.pools.number_of_group(row);
        if let Some(again) = &mut self.by_pool[pool].again {
            again.advance_reclaim(row, &self.table);
        }
        for stream in (0..self.streams().host).map(StreamId) {
            let again = self.by_pool[pool].again.as_ref();
            let Some(again) = again.filter(|again| again.most(stream.0) > 0) else { continue };
            let at = self.open.at(row, stream);
            if let Some(full) = again.full(at) {
                self.keep_full_open(at, row, stream, full, &mut *next);
            }
            self.close_exhausted(row, stream);
            self.by_pool[pool].forget_lost_pages(row, stream, &self.table);
            let named = self.query_reprogram(row, stream, &mut *next);
            self.pool_of_mut(row).again_mut().name(at, named);
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
        let again = self.pool_of(row).again.as_ref().expect("the caller saw it");
        if self.table.blocks[full].programs > 0 || again.pages(full, &self.table).next().is_some() {
            return;
        }
        if !self.suspend_full(at, row, stream, full, next) {
            self.close(full);
        }
    }

    /// Closes suspended blocks of a stream that cannot be written before an erase: all their word lines are
    /// programmed, and none can be reprogrammed.
    fn close_exhausted(&mut self, row: PlaneGroupId, stream: StreamId) {
        let again = self.pool_of(row).again.as_ref();
        let is_spent = |one: &OpenBlock<'_>| {
            one.written == one.shape.count()
                && self.table.blocks[one.block].programs == 0
                && !again.is_some_and(|again| again.has_lines_left(one.block, &self.table))
        };
        let spent: Vec<BlockSetId> =
            self.pool_of(row).all_suspended(row, stream).filter(is_spent).map(|one| one.block).collect();
        spent.into_iter().for_each(|block| self.close(block));
    }

    /// Queries the design for the next word line of a stream. Returns the page to replace; `None` if the word
    /// line is unprogrammed.
    fn query_reprogram(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        next: NextWordLine<'_>,
    ) -> Option<WordLinePage> {
        let per_super_layer = self.pool_of(row).per_super_layer()?;
        let at = self.open.at(row, stream);
        let found = self.pool_of(row).reprogram_choices(at, (row, stream), self.open[at], &self.table);
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
        let at = self.open.at(row, stream);
        self.table.blocks[place.block].programs += 1;
        let again = self.pool_of_mut(row).again_mut();
        again.replaced(place);
        again.name(at, None);
        place.first(&self.table.pools)
    }

    /// Records that a word line of the active block of the stream at index `at` is programmed, beginning at
    /// `first`. `is_last` means that the block is full now.
    #[inline(never)]
    pub(super) fn note_word_line(&mut self, at: usize, first: Location, is_last: bool) {
        if self.table.mode(self.table.pools.block_of(first)) != CellMode::Mlc {
            return;
        }
        let WordLinePage { block, word_line, .. } = WordLinePage::at(first, &self.table.pools);
        let pool = self.table.pools.number_of_block(block);
        let stream = self.table.blocks[block].written_by;
        let again = self.by_pool[pool].again.as_mut().expect("the caller saw it");
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
            self.table.blocks[before].state = State::Closing;
            self.close_if_programmed(before);
        }
    }

    /// Excludes a word line from reprogramming after a failed program at `first`.
    pub fn exclude_word_line(&mut self, first: Location) {
        if self.table.mode(self.table.pools.block_of(first)) == CellMode::Mlc {
            let WordLinePage { block, word_line, .. } = WordLinePage::at(first, &self.table.pools);
            let pool = &mut self.by_pool[self.table.pools.number_of_block(block)];
            pool.again.iter_mut().for_each(|again| again.exclude(block, word_line));
        }
    }
}
