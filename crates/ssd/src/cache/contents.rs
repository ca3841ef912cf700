//! Contents of sectors that a read would find, for data verification.

use wordline_device::content::{Content, NOTHING, ZEROES};

use crate::Sectors;
use crate::base::Base;
use crate::cache::Cache;
use crate::map::{LogicalPage, Map};

impl Cache {
    /// Contents of a page that a read would find, one for each sector, unless one is lost.
    pub(crate) fn contents_of(&self, page: LogicalPage, base: &Base, map: &Map) -> Vec<Content> {
        (0..base.sectors_per_page() as u32).map(|sector| self.content_at(page, sector, base, map)).collect()
    }

    /// Content of a sector of a page that a read would find, in the buffer or in flash.
    pub(crate) fn content_at(&self, page: LogicalPage, sector: u32, base: &Base, map: &Map) -> Content {
        let Some(contents) = &base.contents else { return NOTHING };
        if let Some(entry) = self.buffer.find(page).map(|id| self.buffer.get(id)) {
            if entry.discarded {
                return ZEROES;
            }
            if entry.sectors.covers(Sectors::range(sector, sector + 1)) {
                return contents.in_buffer(page, sector);
            }
        }
        match map.get(page) {
            Some(location) => contents.in_flash(page, base.flash.stamp(location).version, sector),
            None => ZEROES,
        }
    }
}
