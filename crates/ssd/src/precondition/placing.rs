//! Direct placement: puts logical pages where the device would write them, in no simulated time.

use wordline_ftl::Ftl;
use wordline_ftl::blocks::StreamId;
use wordline_ftl::design::WordLineQueries;
use wordline_ftl::map::block_map::Step;
use wordline_ftl::map::{LogicalPage, Tables};
use wordline_ftl::policy::mapper::TranslationPage;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_kernel::gcd;
use wordline_nand::{DataTag, Location, PlaneGroupId};

use super::ProgressReporter;
use crate::engines::Core;
use crate::writer::Writer;

/// Direct placement of pages in a device without invalid pages.
pub(super) struct Layer<'a> {
    pub(super) core: &'a mut Core,
    writer: &'a mut Writer,
    /// Stream and plane group of the last page.
    last: Option<(StreamId, PlaneGroupId)>,
    /// Pages left in the current program unit.
    left: u32,
}

impl<'a> Layer<'a> {
    /// Placement for a device. Until [`finish`](Self::finish) only native blocks are opened, and no block is
    /// suspended.
    pub(super) fn of(core: &'a mut Core, writer: &'a mut Writer) -> Self {
        core.ftl.blocks.pause_modes(true);
        core.ftl.blocks.pause_suspension(true);
        Self { core, writer, last: None, left: 0 }
    }

    /// Places a page in the plane group that the placement policy selects.
    pub(super) fn page(&mut self, logical: LogicalPage) {
        if self.core.ftl.block_map.is_some() {
            return self.page_of_block(logical);
        }
        if let Some(home) = self.core.ftl.policies.placement.home(logical.0, FALLBACK_POOL) {
            let stream = self.stream_to(home);
            return self.put(logical, home, stream);
        }
        let stream = self.core.ftl.blocks.streams().host(0);
        let row = self.next_row(stream);
        self.put(logical, row, stream);
    }

    /// Places a page at the write pointer of a plane group.
    fn put(&mut self, logical: LogicalPage, row: PlaneGroupId, stream: StreamId) {
        let at = self.take(row, stream, 1);
        self.fill(at, logical);
        self.core.ftl.blocks.program_done(at);
    }

    /// Allocates the next `pages` of a stream.
    fn take(&mut self, row: PlaneGroupId, stream: StreamId, pages: u32) -> Location {
        let Ftl { blocks, flash, policies, .. } = &mut self.core.ftl;
        blocks.take(row, stream, pages, &mut WordLineQueries { flash, policies })
    }

    /// Writes a new version of a page to a location.
    fn fill(&mut self, at: Location, logical: LogicalPage) {
        let Ftl { config, flash, blocks, map, map_cache, tables, .. } = &mut self.core.ftl;
        flash.put(at, DataTag { logical: logical.0, version: map.written(logical) });
        if config.is_table(logical.0) {
            tables.install_table(logical, at, map, map_cache, blocks);
        } else {
            map.install(logical, at, blocks);
            map_cache.note_placed(logical, at, blocks);
        }
    }

    /// Places a page at its offset in its logical block. The pages before it have been placed.
    fn page_of_block(&mut self, logical: LogicalPage) {
        let Ftl { health, policies, flash, blocks, block_map, .. } = &mut self.core.ftl;
        let row = policies.placement.home(logical.0, FALLBACK_POOL).unwrap_or(PlaneGroupId(0));
        let map = block_map.as_mut().expect("a page of a logical block");
        match map.next_step(row, Some(logical), blocks, flash.chips(), health) {
            Some(Step::Write { to }) => {
                self.fill(to, logical);
                self.core.ftl.blocks.program_done(to);
            }
            step => unreachable!("a logical block that is filled in order wants {step:?}"),
        }
    }

    /// Places a whole unit of pages from `first` on, in the next plane group of the first pool. Pages from
    /// `end` on are padding.
    pub(super) fn whole_unit(&mut self, first: LogicalPage, end: u32) {
        let subs = self.writer.subs();
        let (stream, pages) = (self.core.ftl.blocks.streams().host(subs.stream_to(0)), subs.per_unit);
        let row = self.next_with_room(stream);
        let held = (first.0..first.0 + pages).map(|page| (page < end).then_some(LogicalPage(page)));
        self.unit(row, stream, DataTag::PADDING, held);
    }

    /// First host stream of the pool of a plane group.
    pub(super) fn stream_to(&mut self, row: PlaneGroupId) -> StreamId {
        let pool = self.core.ftl.config.pools.number_of_group(row);
        let stream = if self.writer.has_units() { self.writer.subs().stream_to(pool) } else { 0 };
        self.core.ftl.blocks.streams().host(stream)
    }

    /// Places a program unit in a plane group. Where `held` has no page, the data tag is `other`.
    pub(super) fn unit(
        &mut self,
        row: PlaneGroupId,
        stream: StreamId,
        other: DataTag,
        held: impl ExactSizeIterator<Item = Option<LogicalPage>>,
    ) {
        let first = self.take(row, stream, held.len() as u32);
        if self.core.ftl.blocks.pool_of(row).is_coarsely_mapped() {
            self.core.ftl.map.note_unit_placed(first);
        }
        for (location, page) in (first.0..).map(Location).zip(held) {
            match page {
                Some(page) => self.fill(location, page),
                None => self.core.ftl.flash.put(location, other),
            }
        }
        self.core.ftl.blocks.program_done(first);
    }

    /// Places the translation pages of the first `pages` logical pages.
    pub(super) fn tables(&mut self, pages: u32, watched: &mut ProgressReporter<'_>) {
        let Some(translation) = self.core.ftl.map_cache.translation() else { return };
        for table in translation.tables() {
            let Some(translation) = self.core.ftl.map_cache.translation().filter(|_| watched.wrote(1)) else {
                return;
            };
            let Ftl { blocks, map, .. } = &self.core.ftl;
            let mut held = translation.pages_of(table).take_while(|page| page.0 < pages);
            if held.any(|page| map.get(page).is_some_and(|location| blocks.is_mapped_by_page(location))) {
                self.table(table);
            }
        }
    }

    fn table(&mut self, table: TranslationPage) {
        let Some(logical) =
            self.core.ftl.map_cache.translation().map(|translation| translation.logical(table))
        else {
            return;
        };
        let streams = self.core.ftl.blocks.streams();
        let stream = streams.host(streams.host - 1);
        let row = if self.core.ftl.health.has_static_pages() {
            self.next_for_tables()
        } else {
            self.next_with_room(stream)
        };
        let version = self.core.ftl.map.last_written(logical).unwrap_or(0) + 1;
        let Ftl { map, map_cache, tables, .. } = &mut self.core.ftl;
        tables.lay_table(table, version, row, map, map_cache);
        self.put(logical, row, stream);
    }

    /// Next plane group for a translation page, under static allocation.
    fn next_for_tables(&mut self) -> PlaneGroupId {
        loop {
            let row = self.row_for_tables().unwrap_or_else(|| {
                self.writer.update_all_groups(self.core);
                self.row_for_tables().expect("a device that was checked has room for its translation pages")
            });
            self.writer.update_group(row, self.core);
            if self.writer.rows().for_tables().contains(row) {
                return row;
            }
        }
    }

    fn row_for_tables(&self) -> Option<PlaneGroupId> {
        let Ftl { health, policies, blocks, map_cache, tables, .. } = &self.core.ftl;
        let accepting = self.writer.rows().for_tables();
        let balances = policies.balances();
        tables.row_for_tables(Tables::Translation, accepting, map_cache, health, blocks, balances)
    }

    /// Plane group for the next page, under dynamic allocation. Each plane group gets one program unit, in
    /// the order of the placement policy.
    fn next_row(&mut self, stream: StreamId) -> PlaneGroupId {
        let last = self.last.filter(|(to, _)| *to == stream);
        let stay = last.filter(|(_, row)| self.left > 0 && self.core.ftl.blocks.has_room(*row, stream, 1));
        let row = stay.map(|(_, row)| row).unwrap_or_else(|| {
            let row = self.next_with_room(stream);
            self.left = self.core.ftl.config.pools.per_program(row);
            row
        });
        self.left -= 1;
        self.last = Some((stream, row));
        row
    }

    /// Next plane group that accepts pages of a host stream.
    fn next_with_room(&mut self, stream: StreamId) -> PlaneGroupId {
        let stream = usize::from(stream.0);
        loop {
            let row = self.core.ftl.policies.placement.next(self.writer.rows().of(stream));
            let row = row.unwrap_or_else(|| {
                self.writer.update_all_groups(self.core);
                let row = self.core.ftl.policies.placement.next(self.writer.rows().of(stream));
                row.expect("a device that was checked has room for its pages")
            });
            self.writer.update_group(row, self.core);
            if self.writer.rows().of(stream).contains(row) {
                return row;
            }
        }
    }

    /// Pads partial program units. The device is then ready for commands.
    pub(super) fn finish(mut self) {
        for row in self.core.ftl.config.pools.all_groups() {
            let unit = self.core.ftl.config.pools.per_program(row);
            for stream in self.core.ftl.blocks.streams().all() {
                let open = self.core.ftl.blocks.write_pointer(row, stream);
                if let Some(place) = open.filter(|place| !place.is_multiple_of(unit)) {
                    let left = unit - place % unit;
                    self.unit(row, stream, DataTag::PADDING, (0..left).map(|_| None));
                }
            }
        }
        self.core.ftl.blocks.pause_modes(false);
        self.core.ftl.blocks.pause_suspension(false);
        self.writer.update_all_groups(self.core);
    }
}

/// Part of a list in a scattered order. Its items are `first + parts * k`, or `named[k]` if items are given.
/// `k` steps through its range by a number that is coprime to the length of the range.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    first: u32,
    parts: u32,
    /// Items, if they are given explicitly.
    named: Option<&'a [u32]>,
    /// Number of items.
    pub count: u32,
    step: u64,
}

impl<'a> Share<'a> {
    /// Share of these items.
    pub(super) fn of(named: &'a [u32]) -> Self {
        Self { named: Some(named), ..Self::new(0, 1, named.len() as u32) }
    }

    /// Part `first` of `parts` of this many items.
    pub fn new(first: u32, parts: u32, items: u32) -> Self {
        let count = items.saturating_sub(first).div_ceil(parts);
        // A step near the golden section of the range puts neighbours far apart.
        let near = (f64::from(count) * 0.618_033_988_75) as u64;
        let step = (near.max(1)..).find(|step| gcd(*step, u64::from(count.max(1))) == 1);
        let step = step.expect("there is a prime above every number");
        Self { first, parts, named: None, count, step }
    }

    /// Item number `n`.
    pub fn item(&self, n: u32) -> u32 {
        let k = (u64::from(n) * self.step % u64::from(self.count.max(1))) as u32;
        self.named.map_or(self.first + self.parts * k, |named| named[k as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_visits_each_of_its_items_once() {
        for (first, parts, items) in [(0, 4, 100), (3, 4, 101), (1, 7, 8), (0, 1, 1)] {
            let share = Share::new(first, parts, items);
            let mut seen: Vec<u32> = (0..share.count).map(|n| share.item(n)).collect();
            seen.sort_unstable();
            let wanted: Vec<u32> = (first..items).step_by(parts as usize).collect();
            assert_eq!(seen, wanted);
            let named = Share::of(&wanted);
            let mut seen: Vec<u32> = (0..named.count).map(|n| named.item(n)).collect();
            seen.sort_unstable();
            assert_eq!(seen, wanted);
        }
    }
}
