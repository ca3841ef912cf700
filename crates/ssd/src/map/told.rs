//! A watch over checkpoints, for tests: the places that each page of a table told when it was programmed. When the power is back every place
//! that the map knew must be one that recovery reads, or that a table in flash tells.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_nand::{Location, Stamp};

use super::{LogicalPage, Map};
use crate::base::Base;

/// The place of a page that is nowhere.
const NOWHERE: u32 = u32::MAX;

/// The contents of tables in flash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// Of a page of a table, by its number and its version, from the one in flash on: the places that it tells.
    places: BTreeMap<(u32, u32), Vec<u32>>,
    /// Pages that the last recovery found in a place that is neither told nor read with a checkpoint: discards that were not flushed.
    beyond: BTreeMap<u32, u32>,
}

impl Told {
    /// A page of a table is programmed as it is in the memory of the map now.
    pub(super) fn note(&mut self, page: Stamp, map: &Map) {
        let place = |page| map.get(LogicalPage(page)).map_or(NOWHERE, |at| at.0);
        self.places.insert((page.logical, page.version), map.told_by(page.logical).map(place).collect());
    }

    /// A page of a table is in flash: its older versions count no more.
    pub(super) fn programmed(&mut self, page: Stamp) {
        let older = (page.logical, 0)..(page.logical, page.version);
        while let Some((version, _)) = self.places.range(older.clone()).next() {
            let version = *version;
            self.places.remove(&version);
        }
    }

    /// The tables are put together again after a power cut.
    pub(super) fn note_found(&mut self, map: &Map, base: &Base) {
        self.beyond = map.beyond(self, base).collect();
    }
}

impl Map {
    /// The pages of which a page of a table tells the places.
    fn told_by(&self, table: u32) -> Range<u32> {
        let of_discards = self.discards().and_then(|discards| Some((discards, discards.table(table)?)));
        match (self.translation(), of_discards) {
            (None, Some((discards, table))) => discards.pages_of(table, self.len()),
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

    /// The page of a table that tells where a page is; none where that is known without a read.
    fn teller(&self, page: LogicalPage) -> Option<LogicalPage> {
        let discards = self.discards()?;
        if discards.table(page.0).is_some() {
            return None;
        }
        let Some(translation) = self.translation() else { return Some(discards.teller(page)) };
        Some(match translation.table(page.0) {
            Some(table) => discards.page_of_directory(translation.listed_with(table)),
            None => translation.logical(translation.table_of(page)),
        })
    }

    /// Whether recovery with the last checkpoint learns that a page is in a place.
    fn learns(&self, page: LogicalPage, at: Location, told: &Told, base: &Base) -> bool {
        let (block, place) = base.config.pools.of_location(at).locations.split(at);
        let Some(known) = self.checkpoints().and_then(|checkpoints| checkpoints.known(block)) else {
            return true;
        };
        let is_read = place >= known.programmed
            || known.erases != base.flash.chips().erases()[block]
            || base.space.may_change(block);
        // Which pages of a block were programmed in another order the checkpoint knows, and this watch does not; the map of whole units
        // is in memory, and in the directory as a whole.
        let is_in_memory = self.translation().is_some() && !base.space.is_mapped_by_page(at);
        if is_read || is_in_memory || !base.space.is_in_order(block) {
            return true;
        }
        let Some(teller) = self.teller(page) else { return true };
        let Some(found) = self.get(teller) else { return false };
        let places = &told.places.get(&(teller.0, base.flash.stamp(found).version));
        let entry = (page.0 - self.told_by(teller.0).start) as usize;
        places.is_some_and(|places| places[entry] == at.0)
    }

    /// The pages in places that recovery with the last checkpoint does not learn of, and these places.
    fn beyond<'a>(&'a self, told: &'a Told, base: &'a Base) -> impl Iterator<Item = (u32, u32)> + 'a {
        let goes_by = !self.gives_places() && self.checkpoints().is_some();
        let all = (0..if goes_by { self.len() } else { 0 }).map(LogicalPage);
        let placed = all.filter_map(|page| Some((page, self.get(page)?)));
        let there = placed.filter(|(page, at)| base.flash.stamp(*at).logical == page.0);
        there.filter(|(page, at)| !self.learns(*page, *at, told, base)).map(|(page, at)| (page.0, at.0))
    }

    /// The power is back, and nothing is read yet: recovery learns of every place that the map knew.
    pub(crate) fn audit_told(&self, base: &Base) {
        let Some(told) = &self.told else { return };
        let unknown = self.beyond(told, base).find(|(page, at)| told.beyond.get(page) != Some(at));
        assert!(unknown.is_none(), "recovery learns nothing of this page, which is there: {unknown:?}");
    }
}
