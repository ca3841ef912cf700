//! Zone write plugging: at most one write of a zone is in flight. Later writes and zone management commands of
//! the zone wait, in order.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// A part of a request: the number of the request, and the first logical block and the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub request: u32,
    pub first: u64,
    pub blocks: u32,
}

/// The parts that wait, by zone. A zone with a write in flight has an entry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Plugs(BTreeMap<u32, VecDeque<Part>>);

impl Plugs {
    /// Whether a part may be sent to a zone now. Otherwise it waits. `holds` is whether later parts must wait
    /// for this one.
    pub fn admit(&mut self, zone: u32, part: Part, holds: bool) -> bool {
        if let Some(waiting) = self.0.get_mut(&zone) {
            waiting.push_back(part);
            return false;
        }
        if holds {
            self.0.insert(zone, VecDeque::new());
        }
        true
    }

    /// Records that the write in flight of a zone ended. Returns the part that waited longest, which is sent
    /// next.
    pub fn end(&mut self, zone: u32) -> Option<Part> {
        let next = self.0.get_mut(&zone)?.pop_front();
        if next.is_none() {
            self.0.remove(&zone);
        }
        next
    }

    /// Parts that wait.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, &Part)> {
        self.0.iter().flat_map(|(zone, waiting)| waiting.iter().map(|part| (*zone, part)))
    }

    /// Drops all parts, after a power cut.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_a_zone_go_one_after_the_other_and_those_of_others_at_once() {
        let part = |request| Part { request, first: 0, blocks: 1 };
        let mut plugs = Plugs::default();
        assert!(plugs.admit(0, part(1), true) && plugs.admit(1, part(2), true));
        assert!(!plugs.admit(0, part(3), true) && !plugs.admit(0, part(4), false));
        assert_eq!(plugs.waiting().count(), 2);
        assert_eq!([plugs.end(0), plugs.end(0), plugs.end(0)], [Some(part(3)), Some(part(4)), None]);
        assert!(plugs.admit(0, part(5), false) && plugs.admit(0, part(6), true), "nothing holds the zone");
    }
}
