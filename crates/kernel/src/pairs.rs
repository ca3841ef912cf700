//! Two numbers for each id in as little memory as they need.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use crate::Id;

/// Bytes of an entry while counts are small.
pub const ENTRY: usize = 5;

/// Count in a narrow entry whose real count is in `large`.
const ELSEWHERE: u8 = 0xff;

/// Part of the ids that may have a large count before all entries become wide. Chosen: the list of large
/// counts then takes less memory than one more byte an entry.
const LARGE_PART: usize = 64;

/// A reference and a count for each id from 0 to `len() - 1`, such as the location of a page and the number of
/// its versions.
///
/// An entry takes 5 bytes while counts from 255 on are rare, and 8 bytes afterwards. All entries begin with the
/// reference `u32::MAX` and the count 0. Entries that were never set take no memory of the machine.
#[derive(Clone, Debug)]
pub struct Pairs<I> {
    entries: Entries,
    /// Counts from 255 on, while entries are narrow.
    large: BTreeMap<usize, u32>,
    key: PhantomData<fn(I)>,
}

/// The complement of each reference, little-endian, and the count. The complement, because memory begins as
/// zeroes.
#[derive(Clone, Debug)]
enum Entries {
    Narrow(Vec<[u8; ENTRY]>),
    Wide(Vec<[u32; 2]>),
}

use Entries::{Narrow, Wide};

impl<I: Id> Pairs<I> {
    /// `len` entries with the reference `u32::MAX` and the count 0.
    pub fn new(len: usize) -> Self {
        Self { entries: Narrow(vec![[0; ENTRY]; len]), large: BTreeMap::new(), key: PhantomData }
    }

    /// Number of ids.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.entries {
            Narrow(entries) => entries.len(),
            Wide(entries) => entries.len(),
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I> {
        (0..self.len()).map(I::from_index)
    }

    /// The reference of `id`.
    #[inline]
    pub fn reference(&self, id: I) -> u32 {
        match &self.entries {
            Narrow(entries) => narrow(entries[id.index()]).0,
            Wide(entries) => !entries[id.index()][0],
        }
    }

    /// Sets the reference of `id`. Returns the old one.
    #[inline]
    pub fn set_reference(&mut self, id: I, reference: u32) -> u32 {
        match &mut self.entries {
            Narrow(entries) => {
                let entry = &mut entries[id.index()];
                let (old, count) = narrow(*entry);
                *entry = narrowed(reference, count);
                old
            }
            Wide(entries) => !std::mem::replace(&mut entries[id.index()][0], !reference),
        }
    }

    /// The count of `id`.
    #[inline]
    pub fn count(&self, id: I) -> u32 {
        self.get(id).1
    }

    /// Changes the count of `id`. Returns the new one.
    #[inline]
    pub fn change_count(&mut self, id: I, change: impl Fn(u32) -> u32) -> u32 {
        let (reference, count) = self.get(id);
        let count = change(count);
        self.set(id, (reference, count));
        count
    }

    /// The reference and the count of `id`.
    #[inline]
    pub fn get(&self, id: I) -> (u32, u32) {
        match &self.entries {
            Narrow(entries) => match narrow(entries[id.index()]) {
                (reference, ELSEWHERE) => (reference, self.large[&id.index()]),
                (reference, count) => (reference, count.into()),
            },
            Wide(entries) => {
                let [complement, count] = entries[id.index()];
                (!complement, count)
            }
        }
    }

    /// Sets the reference and the count of `id`.
    #[inline]
    pub fn set(&mut self, id: I, (reference, count): (u32, u32)) {
        match &mut self.entries {
            Narrow(entries) => {
                let entry = &mut entries[id.index()];
                let (_, old) = narrow(*entry);
                let small = count.min(ELSEWHERE.into()) as u8;
                *entry = narrowed(reference, small);
                if small.max(old) == ELSEWHERE {
                    self.set_large(id.index(), count);
                }
            }
            Wide(entries) => entries[id.index()] = [!reference, count],
        }
    }

    /// Sets the entries from `first` on to these values.
    #[inline]
    pub fn set_all(&mut self, first: I, values: impl ExactSizeIterator<Item = (u32, u32)> + Clone) {
        let (first, count) = (first.index(), values.len());
        match &mut self.entries {
            Narrow(entries) if values.clone().all(|(_, count)| count < ELSEWHERE.into()) => {
                for (entry, (reference, count)) in entries[first..][..count].iter_mut().zip(values) {
                    *entry = narrowed(reference, count as u8);
                }
                self.forget_large(first, count);
            }
            _ => values.enumerate().for_each(|(n, value)| self.set(I::from_index(first + n), value)),
        }
    }

    /// Sets `count` entries from `first` on to the reference `u32::MAX` and the count 0.
    pub fn clear(&mut self, first: I, count: usize) {
        let first = first.index();
        match &mut self.entries {
            Narrow(entries) => entries[first..][..count].fill([0; ENTRY]),
            Wide(entries) => entries[first..][..count].fill([0; 2]),
        }
        self.forget_large(first, count);
    }

    /// Prefetches the entry of `id`, if there is one; see [`prefetch`](crate::prefetch()).
    #[inline]
    pub fn prefetch(&self, id: I) {
        match &self.entries {
            Narrow(entries) => _ = entries.get(id.index()).map(crate::prefetch),
            Wide(entries) => _ = entries.get(id.index()).map(crate::prefetch),
        }
    }

    /// Notes a large count of a narrow entry, or forgets it. Makes all entries wide if there are too many.
    #[cold]
    fn set_large(&mut self, index: usize, count: u32) {
        if count < ELSEWHERE.into() {
            self.large.remove(&index);
            return;
        }
        self.large.insert(index, count);
        if self.large.len() > self.len() / LARGE_PART {
            let wide = self.ids().map(|id| self.get(id)).map(|(reference, count)| [!reference, count]);
            self.entries = Wide(wide.collect());
            self.large.clear();
        }
    }

    /// Forgets the large counts of `count` entries from `first` on.
    #[inline]
    fn forget_large(&mut self, first: usize, count: usize) {
        if !self.large.is_empty() {
            let among = self.large.range(first..first + count).map(|(index, _)| *index);
            among.collect::<Vec<_>>().iter().for_each(|index| _ = self.large.remove(index));
        }
    }
}

/// The reference and the count of a narrow entry.
#[inline]
fn narrow([a, b, c, d, count]: [u8; ENTRY]) -> (u32, u8) {
    (!u32::from_le_bytes([a, b, c, d]), count)
}

#[inline]
fn narrowed(reference: u32, count: u8) -> [u8; ENTRY] {
    let [a, b, c, d] = (!reference).to_le_bytes();
    [a, b, c, d, count]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    crate::id!(Page);

    proptest! {
        #[test]
        fn entries_are_what_was_set(
            len in 1usize..200,
            steps in prop::collection::vec((any::<u32>(), any::<u32>(), prop_oneof![0u32..3, 250u32..260, any::<u32>()], 0..10u8), 0..400),
        ) {
            let mut pairs = Pairs::<Page>::new(len);
            let mut model = vec![(u32::MAX, 0); len];
            for (id, reference, count, kind) in steps {
                let id = Page(id % len as u32);
                match kind {
                    0 => {
                        let cleared = (id.index() + 3).min(len) - id.index();
                        pairs.clear(id, cleared);
                        model[id.index()..][..cleared].fill((u32::MAX, 0));
                    }
                    1 => {
                        let old = std::mem::replace(&mut model[id.index()].0, reference);
                        prop_assert_eq!(pairs.set_reference(id, reference), old);
                    }
                    2 => {
                        model[id.index()].1 ^= count;
                        prop_assert_eq!(pairs.change_count(id, |old| old ^ count), model[id.index()].1);
                    }
                    3 => {
                        let values = &[(reference, count), (count, reference % 4)][..(len - id.index()).min(2)];
                        pairs.set_all(id, values.iter().copied());
                        model[id.index()..][..values.len()].copy_from_slice(values);
                    }
                    _ => {
                        pairs.set(id, (reference, count));
                        model[id.index()] = (reference, count);
                    }
                }
                let all: Vec<_> = pairs.ids().map(|id| pairs.get(id)).collect();
                prop_assert_eq!(&all, &model);
                prop_assert_eq!(pairs.reference(id), model[id.index()].0);
                prop_assert_eq!(pairs.count(id), model[id.index()].1);
            }
        }
    }

    #[test]
    fn entries_take_five_bytes_until_large_counts_are_many() {
        let mut pairs = Pairs::<Page>::new(64_000);
        for id in 0..1_000 {
            pairs.set(Page(id), (id, 255 + id));
        }
        assert!(matches!(pairs.entries, Narrow(_)));
        assert_eq!(pairs.large.len(), 1_000);
        pairs.set(Page(7), (7, 254));
        pairs.clear(Page(8), 2);
        assert_eq!(pairs.large.len(), 997);
        for id in 0..1_001 {
            pairs.set(Page(id), (id, 255 + id));
        }
        assert!(matches!(pairs.entries, Wide(_)));
        assert_eq!(pairs.large.len(), 0);
        assert_eq!(pairs.get(Page(1_000)), (1_000, 1_255));
    }
}
