//! Lists of complete pages that wait for a program unit: one for each host stream, or with static allocation
//! one for each plane group and stream. Sets of the nonempty lists and of the lists with a unit to build
//! replace a search through all lists.

use std::collections::VecDeque;
use std::ops::{Index, Range};

use serde::{Deserialize, Serialize};
use wordline_ftl::policy::placement::PlaneGroupSet;
use wordline_kernel::ensure;
use wordline_kernel::{Id, state};
use wordline_nand::PlaneGroupId;

use crate::cache::buffer::EntryId;

/// Complete pages that wait for a program unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadyList {
    pub(crate) pages: VecDeque<EntryId>,
    /// Number of urgent pages in the list.
    pub(crate) urgent: u32,
}

/// Lists of complete pages, with sets of those that need attention.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    all: Vec<ReadyList>,
    /// Smallest program unit of each list, in pages.
    units: Vec<u32>,
    /// Number of host streams. `has_homes` is true under static allocation: each plane group has a list for
    /// each stream.
    streams: usize,
    has_homes: bool,
    /// Set of the lists that have a page.
    held: PlaneGroupSet,
    /// Set of the lists that have at least a program unit, or an urgent page.
    ripe: PlaneGroupSet,
}

state!(Lists { values { all, held, ripe } fixed { units, streams, has_homes } });

impl Index<usize> for Lists {
    type Output = ReadyList;

    #[inline]
    fn index(&self, list: usize) -> &ReadyList {
        &self.all[list]
    }
}

impl Lists {
    /// Empty lists. `units` has the smallest program unit of each list, in pages.
    pub fn new(units: Vec<u32>, streams: usize, has_homes: bool) -> Self {
        let count = units.len() as u32;
        let (held, ripe) = (PlaneGroupSet::new(count), PlaneGroupSet::new(count));
        Self { all: vec![ReadyList::default(); units.len()], units, streams, has_homes, held, ripe }
    }

    /// Whether pages are statically allocated to plane groups.
    #[inline]
    pub fn has_static_allocation(&self) -> bool {
        self.has_homes
    }

    /// List for pages of a stream that are assigned to plane group `home`, or to none.
    #[inline]
    pub fn of(&self, home: Option<PlaneGroupId>, stream: usize) -> usize {
        home.map_or(0, |home| home.index() * self.streams) + stream
    }

    /// Plane group to which the pages of a list are assigned, under static allocation.
    #[inline]
    pub fn home(&self, list: usize) -> Option<PlaneGroupId> {
        self.has_homes.then(|| PlaneGroupId((list / self.streams) as u32))
    }

    /// Stream of a list's pages.
    #[inline]
    pub fn stream(&self, list: usize) -> usize {
        if self.has_homes { list % self.streams } else { list }
    }

    /// Lists of a plane group, under static allocation.
    #[inline]
    pub fn of_group(&self, row: PlaneGroupId) -> Range<usize> {
        let first = row.index() * self.streams;
        first..first + self.streams
    }

    /// Number of lists.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// All lists, by number.
    pub fn iter(&self) -> impl Iterator<Item = &ReadyList> {
        self.all.iter()
    }

    /// First list from `list` on that has a page.
    #[inline]
    pub fn nonempty_from(&self, list: usize) -> Option<usize> {
        self.held.next_from(at(list)).map(Id::index)
    }

    /// First list from `list` on that may have a unit to build. Such a list has at least a program unit or an
    /// urgent page. With `pads`, any page is enough. If each plane group has only one list, lists of plane
    /// groups that do not accept programs are skipped.
    #[inline]
    pub fn with_unit_from(&self, list: usize, pads: bool, accepting: &[PlaneGroupSet]) -> Option<usize> {
        let ripe = if pads { &self.held } else { &self.ripe };
        let next = match accepting {
            [accepting] => ripe.next_common(accepting, at(list)),
            _ => ripe.next_from(at(list)),
        };
        next.map(Id::index)
    }

    /// Appends a page to a list.
    #[inline]
    pub fn push(&mut self, list: usize, id: EntryId, urgent: bool) {
        let ready = &mut self.all[list];
        ready.pages.push_back(id);
        ready.urgent += u32::from(urgent);
        self.note(list);
    }

    /// Takes the first page of a list.
    #[inline]
    pub fn pop(&mut self, list: usize) -> Option<EntryId> {
        let id = self.all[list].pages.pop_front()?;
        self.note(list);
        Some(id)
    }

    /// Counts one urgent page more, or with `urgent` false one less.
    #[inline]
    pub fn force(&mut self, list: usize, urgent: bool) {
        let ready = &mut self.all[list];
        ready.urgent = if urgent { ready.urgent + 1 } else { ready.urgent - 1 };
        self.note(list);
    }

    /// Takes all pages of a list.
    pub fn take(&mut self, list: usize) -> ReadyList {
        let ready = std::mem::take(&mut self.all[list]);
        self.note(list);
        ready
    }

    /// Drops all pages.
    pub fn forget(&mut self) {
        *self = Self::new(std::mem::take(&mut self.units), self.streams, self.has_homes);
    }

    /// Lengths of the lists of the state.
    pub fn shape(&self) -> [usize; 3] {
        [self.len(), self.held.words(), self.ripe.words()]
    }

    /// Checks a loaded state. The sets must agree with the lists; each page must be `ready` and in only one
    /// list.
    pub fn check_loaded(&self, entries: u32, ready: impl Fn(EntryId) -> bool) -> bool {
        let of = |list: usize| (self.held.contains(at(list)), self.ripe.contains(at(list)));
        let count = self.len() as u32;
        let mut seen = vec![false; entries as usize];
        let mut is_first = |id: EntryId| ensure::is_first(&mut seen, id.0 as usize);
        self.held.is_of(count)
            && self.ripe.is_of(count)
            && (0..self.len()).all(|list| of(list) == self.state_of(list))
            && self.all.iter().all(|list| list.urgent as usize <= list.pages.len())
            && self.all.iter().flat_map(|list| &list.pages).all(|id| is_first(*id) && ready(*id))
    }

    fn state_of(&self, list: usize) -> (bool, bool) {
        let ReadyList { pages, urgent } = &self.all[list];
        (!pages.is_empty(), *urgent > 0 || pages.len() as u32 >= self.units[list])
    }

    #[inline]
    fn note(&mut self, list: usize) {
        let (held, ripe) = self.state_of(list);
        self.held.set(at(list), held);
        self.ripe.set(at(list), ripe);
    }
}

/// Number of a list, as a member of a set. With one list for each plane group, it is the plane group.
#[inline]
fn at(list: usize) -> PlaneGroupId {
    PlaneGroupId::from_index(list)
}
