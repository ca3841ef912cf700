//! What cannot be read any more, although the host wrote it: sectors of logical pages, until they are written again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mapping::LogicalPage;
use crate::sectors::Sectors;

/// The lost sectors of a device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lost(BTreeMap<LogicalPage, Sectors>);

impl Lost {
    /// Whether nothing is lost.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that `sectors` of a page are lost.
    pub fn add(&mut self, page: LogicalPage, sectors: Sectors) {
        if !sectors.is_empty() {
            let all = self.0.entry(page).or_default();
            *all = all.and(sectors);
        }
    }

    /// Notes that the host wrote or discarded `sectors` of a page: what stood there is asked for no more.
    pub fn remove(&mut self, page: LogicalPage, sectors: Sectors) {
        if let Some(lost) = self.0.get_mut(&page) {
            *lost = lost.without(sectors);
            if lost.is_empty() {
                self.0.remove(&page);
            }
        }
    }

    /// The lost sectors of a page.
    pub fn of(&self, page: LogicalPage) -> Sectors {
        self.0.get(&page).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_stays_lost_until_it_is_written() {
        let mut lost = Lost::default();
        let page = LogicalPage(3);
        lost.add(page, Sectors::range(0, 8));
        lost.remove(page, Sectors::range(2, 4));
        lost.add(page, Sectors::NONE);
        assert_eq!(lost.of(page), Sectors::range(0, 8).without(Sectors::range(2, 4)));
        lost.remove(page, Sectors::range(0, 8));
        assert!(lost.is_empty() && lost.of(page).is_empty());
    }
}
