//! DFTL: a cache of single map entries. Dirty entries of one translation page are written together (Gupta,
//! Kim and Urgaonkar, ASPLOS 2009).

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Column, LookupTable, state};

use super::{CacheSize, Mapper, TranslationPage};
use crate::map::LogicalPage;

const NONE: u32 = u32::MAX;

/// Segment of a segmented cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
enum Segment {
    /// Used once since the entry was loaded.
    Probation,
    /// Used more than once.
    Protected,
}

/// Neighbours in a list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Links {
    newer: u32,
    older: u32,
}

const ALONE: Links = Links { newer: NONE, older: NONE };

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    page: LogicalPage,
    segment: Segment,
    /// Whether the location differs from the location in the translation page.
    dirty: bool,
    used: Links,
    /// Neighbours among the dirty entries of its translation page.
    changed: Links,
}

/// Entries from the most to the least recently used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct List {
    newest: u32,
    oldest: u32,
    len: u32,
}

const EMPTY: List = List { newest: NONE, oldest: NONE, len: 0 };

/// Cached mapping table with LRU eviction.
///
/// * An entry used again since it was loaded moves to the protected segment. If that segment is full, its
///   least recently used entry moves back.
/// * When a dirty entry is evicted, all dirty entries of its translation page are written. The other entries
///   stay in the cache and are clean.
/// * When GC relocates a page, the page's entry is changed in the cache if the cache has it, otherwise in its
///   translation page.
#[derive(Clone, Debug)]
pub struct Dftl {
    size: CacheSize,
    entries: Vec<Entry>,
    places: LookupTable,
    lists: [List; 2],
    /// First dirty entry of each translation page.
    dirty: Column<TranslationPage, u32>,
}

state!(Dftl { values { entries, places, lists } parts { dirty } fixed { size } });

impl Dftl {
    /// Empty cache of this size.
    pub fn new(size: &CacheSize) -> Self {
        assert!(size.protected < size.entries, "an entry that comes in needs a place");
        Self {
            entries: Vec::with_capacity(size.entries as usize),
            places: LookupTable::with_capacity(size.entries as usize),
            lists: [EMPTY; 2],
            dirty: Column::filled(size.tables as usize, NONE),
            size: *size,
        }
    }

    fn table(&self, page: LogicalPage) -> TranslationPage {
        TranslationPage(page.0 / self.size.per_table)
    }

    fn unlink(&mut self, at: u32) {
        let Entry { segment, used, .. } = self.entries[at as usize];
        let list = &mut self.lists[segment as usize];
        list.len -= 1;
        match used.newer {
            NONE => list.newest = used.older,
            newer => self.entries[newer as usize].used.older = used.older,
        }
        match used.older {
            NONE => list.oldest = used.newer,
            older => self.entries[older as usize].used.newer = used.newer,
        }
    }

    fn link(&mut self, at: u32, segment: Segment) {
        let list = &mut self.lists[segment as usize];
        let older = std::mem::replace(&mut list.newest, at);
        list.len += 1;
        match older {
            NONE => list.oldest = at,
            older => self.entries[older as usize].used.newer = at,
        }
        let entry = &mut self.entries[at as usize];
        (entry.segment, entry.used) = (segment, Links { newer: NONE, older });
    }

    /// Records another use of an entry.
    fn touch(&mut self, at: u32) {
        self.unlink(at);
        if self.size.protected == 0 {
            self.link(at, Segment::Probation);
            return;
        }
        self.link(at, Segment::Protected);
        let List { len, oldest, .. } = self.lists[Segment::Protected as usize];
        if len > self.size.protected {
            self.unlink(oldest);
            self.link(oldest, Segment::Probation);
        }
    }

    fn mark_dirty(&mut self, at: u32) {
        let Entry { page, dirty, .. } = self.entries[at as usize];
        if dirty {
            return;
        }
        let table = self.table(page);
        let older = std::mem::replace(&mut self.dirty[table], at);
        if older != NONE {
            self.entries[older as usize].changed.newer = at;
        }
        let entry = &mut self.entries[at as usize];
        (entry.dirty, entry.changed) = (true, Links { newer: NONE, older });
    }

    fn mark_clean(&mut self, at: u32) {
        let Entry { page, changed, .. } = self.entries[at as usize];
        match changed.newer {
            NONE => {
                let table = self.table(page);
                self.dirty[table] = changed.older;
            }
            newer => self.entries[newer as usize].changed.older = changed.older,
        }
        if changed.older != NONE {
            self.entries[changed.older as usize].changed.newer = changed.newer;
        }
        self.entries[at as usize].dirty = false;
    }

    /// Inserts the entry of a page that is not cached. Returns the entry, and the translation page of the
    /// evicted entry if that entry was dirty.
    fn insert(&mut self, page: LogicalPage) -> (u32, Option<TranslationPage>) {
        let new = Entry { page, segment: Segment::Probation, dirty: false, used: ALONE, changed: ALONE };
        let mut evicted = None;
        let at = if self.entries.len() < self.size.entries as usize {
            self.entries.push(new);
            self.entries.len() as u32 - 1
        } else {
            let at = self.lists[Segment::Probation as usize].oldest;
            let Entry { page: old, dirty, .. } = self.entries[at as usize];
            if dirty {
                self.mark_clean(at);
                evicted = Some(self.table(old));
            }
            self.unlink(at);
            self.places.remove(old.0);
            self.entries[at as usize] = new;
            at
        };
        self.places.insert(page.0, at);
        self.link(at, Segment::Probation);
        (at, evicted)
    }
}

impl Mapper for Dftl {
    fn lookup(&mut self, page: LogicalPage) -> bool {
        let found = self.places.get(page.0);
        if let Some(at) = found {
            self.touch(at);
        }
        found.is_some()
    }

    fn load(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        match self.places.get(page.0) {
            Some(_) => None,
            None => self.insert(page).1,
        }
    }

    fn update(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        let (at, evicted) = match self.places.get(page.0) {
            Some(at) => (at, None),
            None => self.insert(page),
        };
        self.mark_dirty(at);
        evicted
    }

    fn amend(&mut self, page: LogicalPage) -> Option<TranslationPage> {
        match self.places.get(page.0) {
            Some(at) => {
                self.mark_dirty(at);
                None
            }
            None => Some(self.table(page)),
        }
    }

    fn written(&mut self, table: TranslationPage) {
        loop {
            match self.dirty[table] {
                NONE => return,
                at => self.mark_clean(at),
            }
        }
    }

    fn has_changed(&self, table: TranslationPage) -> bool {
        self.dirty[table] != NONE
    }

    fn keep_changed(&mut self) {
        let before = std::mem::replace(self, Self::new(&self.size));
        for segment in [Segment::Probation, Segment::Protected] {
            let newer = |at: &u32| Some(before.entries[*at as usize].used.newer).filter(|at| *at != NONE);
            let oldest = Some(before.lists[segment as usize].oldest).filter(|at| *at != NONE);
            for at in std::iter::successors(oldest, newer).filter(|at| before.entries[*at as usize].dirty) {
                let (kept, _) = self.insert(before.entries[at as usize].page);
                self.unlink(kept);
                self.link(kept, segment);
                self.mark_dirty(kept);
            }
        }
    }

    /// Checks that each entry is in the list of its segment and can be found by its page, and that the dirty
    /// entries are in the lists of their translation pages.
    fn check_loaded(&self) -> Result<(), String> {
        let (held, most) = (self.entries.len(), self.size.entries as usize);
        ensure(held <= most && self.dirty.len() == self.size.tables as usize, || {
            format!("the cached map holds {held} entries of {most}")
        })?;
        let mut seen = vec![false; held];
        for segment in [Segment::Probation, Segment::Protected] {
            self.check_segment(segment, &mut seen)?;
        }
        ensure(seen.iter().all(|seen| *seen), || "entries of the cached map are in no list".into())?;
        let protected = self.lists[Segment::Protected as usize].len;
        ensure(protected <= self.size.protected, || format!("{protected} entries are protected"))?;
        ensure(self.places.is_sound(most, held), || "the index of the cached map is inconsistent".into())?;
        for (at, Entry { page, .. }) in (0..).zip(&self.entries) {
            let is_found = self.table(*page).0 < self.size.tables && self.places.get(page.0) == Some(at);
            ensure(is_found, || format!("page {} of the cached map is not in its index", page.0))?;
        }
        self.check_dirty()
    }
}

impl Dftl {
    /// Checks the list of a segment, marking its entries in `seen`. No entry may have been seen before.
    fn check_segment(&self, segment: Segment, seen: &mut [bool]) -> Result<(), String> {
        let list = &self.lists[segment as usize];
        let (mut at, mut newer, mut len) = (list.newest, NONE, 0);
        while at != NONE {
            let is_first = ensure::is_first(seen, at as usize);
            let found = self.entries.get(at as usize).filter(|_| is_first);
            let found = found.filter(|entry| entry.segment == segment && entry.used.newer == newer);
            let Some(Entry { used, .. }) = found else {
                return Err(format!("the cached map lists entry {at}, which does not exist"));
            };
            (newer, at, len) = (at, used.older, len + 1);
        }
        ensure(newer == list.oldest && len == list.len, || "a list of the cached map without an end".into())
    }

    /// Checks the lists of dirty entries of all translation pages.
    fn check_dirty(&self) -> Result<(), String> {
        let mut left = self.entries.iter().filter(|entry| entry.dirty).count();
        for (table, first) in self.dirty.entries() {
            let (mut at, mut before) = (*first, NONE);
            while at != NONE {
                let found = self.entries.get(at as usize).filter(|entry| {
                    let Links { newer, .. } = entry.changed;
                    left > 0 && entry.dirty && self.table(entry.page) == table && newer == before
                });
                let Some(Entry { changed, .. }) = found else {
                    return Err(format!("translation page {} has changed in entry {at}", table.0));
                };
                (before, at, left) = (at, changed.older, left - 1);
            }
        }
        ensure(left == 0, || "entries of the cached map that changed are written with no page".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: u32, protected: u32) -> Dftl {
        Dftl::new(&CacheSize { entries, protected, per_table: 4, tables: 16 })
    }

    fn use_page(dftl: &mut Dftl, page: u32) -> bool {
        let hit = dftl.lookup(LogicalPage(page));
        if !hit {
            assert_eq!(dftl.load(LogicalPage(page)), None, "nothing has changed");
        }
        hit
    }

    #[test]
    fn what_was_not_used_for_longest_leaves() {
        let mut dftl = cache(3, 0);
        let hits = [0, 1, 2, 0, 3, 0, 1].map(|page| use_page(&mut dftl, page));
        assert_eq!(hits, [false, false, false, true, false, true, false]);
    }

    #[test]
    fn what_was_used_again_outlives_a_scan() {
        let (mut plain, mut segmented) = (cache(4, 0), cache(4, 2));
        for dftl in [&mut plain, &mut segmented] {
            for page in [0, 0, 1, 1, 20, 21, 22, 23, 24] {
                use_page(dftl, page);
            }
        }
        assert_eq!([0, 1].map(|page| plain.lookup(LogicalPage(page))), [false; 2]);
        assert_eq!([0, 1].map(|page| segmented.lookup(LogicalPage(page))), [true; 2]);
    }

    #[test]
    fn changed_entries_of_a_translation_page_are_written_together() {
        let mut dftl = cache(3, 0);
        for page in [4, 5, 6] {
            assert_eq!(dftl.update(LogicalPage(page)), None);
        }
        assert_eq!(dftl.load(LogicalPage(9)), Some(TranslationPage(1)), "page 4 leaves");
        dftl.written(TranslationPage(1));
        assert_eq!(dftl.load(LogicalPage(10)), None, "page 5 leaves, written already");
        assert_eq!(dftl.update(LogicalPage(6)), None);
        assert_eq!(dftl.update(LogicalPage(11)), Some(TranslationPage(1)), "page 6 changed again and leaves");
    }

    #[test]
    fn what_changed_and_is_not_written_is_kept_through_a_power_cut() {
        let mut dftl = cache(6, 2);
        for page in [0, 4, 5, 8, 9] {
            dftl.load(LogicalPage(page));
        }
        for page in [4, 9, 8] {
            dftl.lookup(LogicalPage(page));
            dftl.update(LogicalPage(page));
        }
        dftl.written(TranslationPage(1));
        dftl.keep_changed();
        let kept = [0, 4, 5, 8, 9].map(|page| dftl.lookup(LogicalPage(page)));
        assert_eq!(kept, [false, false, false, true, true]);
        assert!(dftl.has_changed(TranslationPage(2)) && !dftl.has_changed(TranslationPage(1)));
        assert_eq!(dftl.lists.map(|list| list.len), [0, 2]);
    }

    #[test]
    fn what_the_collector_moves_is_changed_where_it_is() {
        let mut dftl = cache(2, 0);
        assert_eq!(dftl.amend(LogicalPage(4)), Some(TranslationPage(1)));
        assert!(!dftl.lookup(LogicalPage(4)), "it does not come in");
        dftl.load(LogicalPage(4));
        assert_eq!(dftl.amend(LogicalPage(4)), None);
        dftl.load(LogicalPage(8));
        assert_eq!(dftl.load(LogicalPage(9)), Some(TranslationPage(1)));
    }
}
