//! Record of table contents, to audit checkpoints in tests. For each table page, the record has the locations
//! that the page contained when it was programmed. After a power cut, recovery must find every location that
//! the map knew: either in a page that it reads, or in a table in flash.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_flash::Flash;
use wordline_nand::{DataTag, Location};

use super::MapTables;
use crate::blocks::BlockManager;
use crate::map::checkpoint::Checkpoints;
use crate::map::discards::Discards;
use crate::map::map_cache::MapCache;
use crate::map::translation::Translation;
use crate::map::{LogicalPage, Map};

/// Stands for the location of an unmapped page.
const NOWHERE: u32 = u32::MAX;

/// Contents of tables in flash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TableRecord {
    /// Locations that a table page contains, by its number and version. Versions before the one in flash are
    /// dropped.
    places: BTreeMap<(u32, u32), Vec<u32>>,
    /// Pages that the last recovery found at locations that are neither recorded nor read with a checkpoint.
    /// These are pages that come back after a discard which was not flushed.
    beyond: BTreeMap<u32, u32>,
}

impl TableRecord {
    /// Records the contents of a table page when it is programmed.
    pub(super) fn note(&mut self, page: DataTag, tables: &Lookup<'_>) {
        let place = |page| tables.map.get(LogicalPage(page)).map_or(NOWHERE, |at| at.0);
        self.places
            .insert((page.logical, page.version), tables.pages_covered_by(page.logical).map(place).collect());
    }

    /// Drops earlier versions of a table page that is now in flash.
    pub(super) fn programmed(&mut self, page: DataTag) {
        let older = (page.logical, 0)..(page.logical, page.version);
        while let Some((version, _)) = self.places.range(older.clone()).next() {
            let version = *version;
            self.places.remove(&version);
        }
    }

    /// Records the pages that the checkpoint does not cover, after a power cut.
    pub(super) fn note_found(&mut self, tables: &Lookup<'_>, blocks: &BlockManager, flash: &Flash) {
        self.beyond = tables.beyond(self, blocks, flash).collect();
    }

    /// Checks after a power cut, before anything is read, that recovery will find every location that the map
    /// knew.
    pub(super) fn audit(&self, tables: &Lookup<'_>, blocks: &BlockManager, flash: &Flash) {
        let unknown = tables.beyond(self, blocks, flash).find(|(page, at)| self.beyond.get(page) != Some(at));
        assert!(unknown.is_none(), "recovery learns nothing of this page, which is there: {unknown:?}");
    }
}

/// The map, and the tables in flash from which recovery with a checkpoint rebuilds it.
pub(super) struct Lookup<'a> {
    map: &'a Map,
    translation: Option<&'a Translation>,
    discards: Option<&'a Discards>,
    checkpoints: Option<&'a Checkpoints>,
}

impl MapTables {
    /// The map and its tables, as the record compares them.
    pub(super) fn lookup<'a>(&'a self, map: &'a Map, cache: &'a MapCache) -> Lookup<'a> {
        let (discards, checkpoints) = (self.discards(), self.checkpoints());
        Lookup { map, translation: cache.translation(), discards, checkpoints }
    }
}

impl Lookup<'_> {
    /// Pages whose locations a table page contains.
    fn pages_covered_by(&self, table: u32) -> Range<u32> {
        let of_discards = self.discards.and_then(|discards| Some((discards, discards.table(table)?)));
        match (self.translation, of_discards) {
            (None, Some((discards, table))) => discards.pages_of(table, self.map.pages()),
            (Some(translation), Some((discards, table))) => match discards.number_in_directory(table) {
                Some(number) => translation.listed_in(number),
                None => 0..0,
            },
            (Some(translation), None) => {
                let mut pages =
                    translation.pages_of(translation.table(table).expect("it is a translation page"));
                let first = pages.next().map_or(0, |page| page.0);
                first..first + 1 + pages.count() as u32
            }
            (None, None) => 0..0,
        }
    }

    /// Table page that contains the location of a page; `None` if the location is known without a read.
    fn teller(&self, page: LogicalPage) -> Option<LogicalPage> {
        let discards = self.discards?;
        if discards.table(page.0).is_some() {
            return None;
        }
        let Some(translation) = self.translation else { return Some(discards.teller(page)) };
        Some(match translation.table(page.0) {
            Some(table) => discards.page_of_directory(translation.directory_page_of(table)),
            None => translation.logical(translation.table_of(page)),
        })
    }

    /// Whether a recovery with the last checkpoint finds the location of a page.
    fn is_learned(
        &self,
        page: LogicalPage,
        at: Location,
        told: &TableRecord,
        blocks: &BlockManager,
        flash: &Flash,
    ) -> bool {
        let (block, place) = blocks.pools().of_location(at).locations.split(at);
        let Some(known) = self.checkpoints.and_then(|checkpoints| checkpoints.known(block)) else {
            return true;
        };
        let is_read = place >= known.programmed
            || known.erases != flash.chips().erases()[block]
            || blocks.is_reprogrammable(block);
        // In a block without numerical program order the checkpoint knows the programmed pages; this record
        // does not. With coarse-grained mapping, the map of units is in memory, and all of it is in the
        // directory.
        let is_in_memory = self.translation.is_some() && !blocks.is_mapped_by_page(at);
        if is_read || is_in_memory || !blocks.is_in_order(block) {
            return true;
        }
        let Some(teller) = self.teller(page) else { return true };
        let Some(found) = self.map.get(teller) else { return false };
        let places = &told.places.get(&(teller.0, flash.stamp(found).version));
        let entry = (page.0 - self.pages_covered_by(teller.0).start) as usize;
        places.is_some_and(|places| places[entry] == at.0)
    }

    /// Pages whose locations a recovery with the last checkpoint does not find, with these locations.
    fn beyond<'a>(
        &'a self,
        told: &'a TableRecord,
        blocks: &'a BlockManager,
        flash: &'a Flash,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let goes_by = self.checkpoints.is_some();
        let all = (0..if goes_by { self.map.pages() } else { 0 }).map(LogicalPage);
        let placed = all.filter_map(|page| Some((page, self.map.get(page)?)));
        let there = placed.filter(|(page, at)| flash.stamp(*at).logical == page.0);
        there
            .filter(|(page, at)| !self.is_learned(*page, *at, told, blocks, flash))
            .map(|(page, at)| (page.0, at.0))
    }
}
