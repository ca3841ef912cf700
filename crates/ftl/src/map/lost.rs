//! Lost sectors of logical pages. The host wrote them and they are unreadable, until the host writes them
//! again.
//!
//! Like the bad-block table, the list survives a power cut. Later host writes may not survive it. So the list
//! records which sectors of a page were lost from which version on, until that version is in flash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mapping::LogicalPage;
use crate::Sectors;

/// Sectors of a page that are lost from a version on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LostFrom {
    version: u32,
    sectors: Sectors,
    /// Whether a discard made this version, not a write.
    discard: bool,
}

/// Lost sectors of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Page {
    /// The version that was in flash and is unreadable.
    lost: u32,
    full: Sectors,
    /// Sectors lost in this and later versions; never empty.
    since: Vec<LostFrom>,
}

/// Lost sectors of a device. For each page: the version lost in flash, and which of its sectors are still
/// lost in later versions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LostSectors(BTreeMap<LogicalPage, Page>);

impl LostSectors {
    /// Whether nothing is lost.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records that version `version` of a page with the sectors `full` is lost. If a newer version waits to
    /// be programmed, only the sectors `gone` are lost in it.
    pub fn add(&mut self, page: LogicalPage, version: u32, full: Sectors, newest: Option<(u32, Sectors)>) {
        let before = self.of(page);
        let mut since = vec![LostFrom { version, sectors: full, discard: false }];
        if let Some((version, gone)) = newest {
            since.push(LostFrom { version, sectors: before.and(gone), discard: false });
        }
        self.0.insert(page, Page { lost: version, full, since });
    }

    /// Records that the host writes `sectors` of a page as version `version`. These are not lost any more.
    pub fn write(&mut self, page: LogicalPage, version: u32, sectors: Sectors) {
        let left = self.of(page).without(sectors);
        self.change(page, LostFrom { version, sectors: left, discard: false });
    }

    /// Records that the host discards a page whose newest version was `version`.
    pub fn discard(&mut self, page: LogicalPage, version: u32) {
        self.change(page, LostFrom { version, sectors: Sectors::NONE, discard: true });
    }

    fn change(&mut self, page: LogicalPage, to: LostFrom) {
        if let Some(Page { since, .. }) = self.0.get_mut(&page) {
            let last = since.last().expect("a page that is listed has lost something");
            if last.sectors != to.sectors || last.discard != to.discard {
                since.push(to);
            }
        }
    }

    /// Records that version `version` of a page is in flash. Losses in earlier versions do not matter any
    /// more.
    pub fn in_flash(&mut self, page: LogicalPage, version: u32) {
        let Some(Page { since, .. }) = self.0.get_mut(&page) else { return };
        let first = since.iter().rposition(|at| at.version <= version && !at.discard).unwrap_or(0);
        since.drain(..first);
        if since.iter().all(|at| at.sectors.is_empty()) && since[0].version <= version {
            self.0.remove(&page);
        }
    }

    /// Lost sectors of a page.
    pub fn of(&self, page: LogicalPage) -> Sectors {
        self.0.get(&page).and_then(|page| page.since.last()).map_or(Sectors::NONE, |last| last.sectors)
    }

    /// Version of a page that is lost as a whole. `None` if a newer version was `found` in flash.
    pub fn whole(&self, page: LogicalPage, found: Option<u32>) -> Option<u32> {
        let lost = self.0.get(&page)?.lost;
        found.is_none_or(|found| found <= lost).then_some(lost)
    }

    /// Restores the losses of a page after a power cut. `found` is its newest version in flash. Versions up
    /// to `void` were discarded. Returns the version that is lost as a whole, if no newer one was found.
    pub fn recover(&mut self, page: LogicalPage, found: Option<u32>, void: u32) -> Option<u32> {
        let Page { lost, full, since } = self.0.get_mut(&page)?;
        let (lost, full) = (*lost, *full);
        if void >= lost {
            self.0.remove(&page);
            return None;
        }
        since.retain(|at| !at.discard);
        let last = since.iter().rposition(|at| found.is_some_and(|found| at.version <= found)).unwrap_or(0);
        since.truncate(last + 1);
        match found.filter(|found| *found > lost) {
            Some(found) => self.in_flash(page, found),
            None => *since = vec![LostFrom { version: lost, sectors: full, discard: false }],
        }
        self.whole(page, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: LogicalPage = LogicalPage(3);

    fn full() -> Sectors {
        Sectors::range(0, 8)
    }

    fn first_half() -> Sectors {
        Sectors::range(0, 4)
    }

    #[test]
    fn what_is_lost_stays_lost_until_it_is_written() {
        let mut lost = LostSectors::default();
        lost.add(PAGE, 5, full(), None);
        lost.write(PAGE, 6, Sectors::range(2, 4));
        assert_eq!(lost.of(PAGE), full().without(Sectors::range(2, 4)));
        lost.in_flash(PAGE, 6);
        assert_eq!(lost.of(PAGE), full().without(Sectors::range(2, 4)));
        lost.write(PAGE, 7, full());
        assert!(lost.of(PAGE).is_empty() && !lost.is_empty(), "the power may be cut before it is in flash");
        lost.in_flash(PAGE, 7);
        assert!(lost.is_empty());
    }

    #[test]
    fn a_power_cut_brings_back_what_was_lost_before_the_writes_that_it_lost() {
        let mut lost = LostSectors::default();
        lost.add(PAGE, 5, full(), None);
        lost.write(PAGE, 6, first_half());
        lost.write(PAGE, 7, full());
        let mut again = lost.clone();
        assert_eq!(again.recover(PAGE, Some(4), 0), Some(5), "an older version is no substitute");
        assert_eq!(again.of(PAGE), full());
        let mut again = lost.clone();
        assert_eq!(again.recover(PAGE, Some(6), 0), None);
        assert_eq!(again.of(PAGE), full().without(first_half()));
        assert_eq!(again.recover(PAGE, Some(6), 0), None, "half of it is there");
        assert_eq!(again.of(PAGE), full().without(first_half()));
        assert_eq!(again.recover(PAGE, None, 0), Some(5), "and then torn");
        assert_eq!(again.of(PAGE), full());
        assert_eq!(lost.recover(PAGE, Some(7), 0), None);
        assert!(lost.is_empty());
    }

    #[test]
    fn a_discard_ends_a_loss_once_it_outlives_the_power() {
        let mut lost = LostSectors::default();
        lost.add(PAGE, 5, full(), Some((6, first_half())));
        assert_eq!(lost.of(PAGE), first_half());
        lost.discard(PAGE, 6);
        assert!(lost.of(PAGE).is_empty());
        let mut again = lost.clone();
        assert_eq!(again.recover(PAGE, None, 0), Some(5));
        assert_eq!(again.of(PAGE), full());
        assert_eq!(lost.recover(PAGE, None, 6), None);
        assert!(lost.is_empty());
    }
}
