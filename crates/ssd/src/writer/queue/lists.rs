//! Lists of complete pages that wait for a program unit: one for each stream of the host, and where pages have homes for each row.
//! Which lists hold a page, and which may have a unit to form, is kept up, so that no search through all of them is
//! needed.

use std::collections::VecDeque;
use std::ops::{Index, Range};

use serde::{Deserialize, Serialize};
use wordline_kernel::{Id, state};
use wordline_nand::RowId;

use crate::cache::buffer::EntryId;
use crate::ensure;
use crate::policy::placement::RowSet;

/// Complete pages that wait for a program unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) pages: VecDeque<EntryId>,
    /// How many of them must not wait.
    pub(crate) urgent: u32,
}

/// All lists.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    all: Vec<Ready>,
    /// The pages that make a unit of a list at least.
    units: Vec<u32>,
    /// Streams of the host, and whether each row has a list for each of them, for pages that have their home there.
    streams: usize,
    has_homes: bool,
    /// The lists that hold a page.
    held: RowSet,
    /// Those that hold a unit at least, or a page that must not wait.
    ripe: RowSet,
}

state!(Lists { values { all, held, ripe } fixed { units, streams, has_homes } });

impl Index<usize> for Lists {
    type Output = Ready;

    #[inline]
    fn index(&self, list: usize) -> &Ready {
        &self.all[list]
    }
}

impl Lists {
    /// Empty lists, of which each makes a unit of this many pages at least: one for each of this many streams, or one of each
    /// row for each of them.
    pub fn new(units: Vec<u32>, streams: usize, has_homes: bool) -> Self {
        let count = units.len() as u32;
        let (held, ripe) = (RowSet::new(count), RowSet::new(count));
        Self { all: vec![Ready::default(); units.len()], units, streams, has_homes, held, ripe }
    }

    /// Whether pages wait for a row of their own.
    #[inline]
    pub fn have_homes(&self) -> bool {
        self.has_homes
    }

    /// The list for pages of a stream that have this home.
    #[inline]
    pub fn of(&self, home: Option<RowId>, stream: usize) -> usize {
        home.map_or(0, |home| home.index() * self.streams) + stream
    }

    /// The only row that pages of a list go to, if it has one.
    #[inline]
    pub fn home(&self, list: usize) -> Option<RowId> {
        self.has_homes.then(|| RowId((list / self.streams) as u32))
    }

    /// The stream that the pages of a list are of.
    #[inline]
    pub fn stream(&self, list: usize) -> usize {
        if self.has_homes { list % self.streams } else { list }
    }

    /// The lists of a row, where pages have homes.
    #[inline]
    pub fn of_row(&self, row: RowId) -> Range<usize> {
        let first = row.index() * self.streams;
        first..first + self.streams
    }

    /// How many lists there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Ready> {
        self.all.iter()
    }

    /// The first list from `list` on that holds a page.
    #[inline]
    pub fn held_from(&self, list: usize) -> Option<usize> {
        self.held.next_from(at(list)).map(Id::index)
    }

    /// The first list from `list` on that may have a unit to form: which holds one at least, or a page that must not wait, or any page
    /// if units are padded. Where each row has a single list, only those of rows that accept one are looked at.
    #[inline]
    pub fn ripe_from(&self, list: usize, pads: bool, accepting: &[RowSet]) -> Option<usize> {
        let ripe = if pads { &self.held } else { &self.ripe };
        let next = match accepting {
            [accepting] => ripe.next_common(accepting, at(list)),
            _ => ripe.next_from(at(list)),
        };
        next.map(Id::index)
    }

    /// A page waits at the end of a list.
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

    /// A page of a list must not wait, or one that must not has left it.
    #[inline]
    pub fn urge(&mut self, list: usize, urgent: bool) {
        let ready = &mut self.all[list];
        ready.urgent = if urgent { ready.urgent + 1 } else { ready.urgent - 1 };
        self.note(list);
    }

    /// Takes all pages of a list.
    pub fn take(&mut self, list: usize) -> Ready {
        let ready = std::mem::take(&mut self.all[list]);
        self.note(list);
        ready
    }

    /// Forgets all pages.
    pub fn forget(&mut self) {
        *self = Self::new(std::mem::take(&mut self.units), self.streams, self.has_homes);
    }

    /// The lengths of what is kept of the lists.
    pub fn shape(&self) -> [usize; 3] {
        [self.len(), self.held.words(), self.ripe.words()]
    }

    /// Whether what was loaded is what follows from the lists, of pages that are `ready`, each in one list.
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
        let Ready { pages, urgent } = &self.all[list];
        (!pages.is_empty(), *urgent > 0 || pages.len() as u32 >= self.units[list])
    }

    #[inline]
    fn note(&mut self, list: usize) {
        let (held, ripe) = self.state_of(list);
        self.held.set(at(list), held);
        self.ripe.set(at(list), ripe);
    }
}

/// Where a list stands in a set of them. Where each row has a single list, that is its row.
#[inline]
fn at(list: usize) -> RowId {
    RowId::from_index(list)
}
