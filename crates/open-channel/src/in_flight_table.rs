//! Outstanding items under ascending numbers.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Outstanding items by ascending number. Numbers wrap around.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InFlightTable<T> {
    /// Items from the oldest outstanding one on; `None` for one that is over.
    slots: VecDeque<Option<T>>,
    /// Number of the next item.
    next: u32,
}

impl<T> Default for InFlightTable<T> {
    fn default() -> Self {
        Self { slots: VecDeque::new(), next: 0 }
    }
}

impl<T> InFlightTable<T> {
    /// Number of the next item.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Number of the first slot.
    fn first(&self) -> u32 {
        self.next.wrapping_sub(self.slots.len() as u32)
    }

    /// Slot of a number. May be beyond the last one.
    #[inline]
    fn locate(&self, number: u32) -> usize {
        number.wrapping_sub(self.first()) as usize
    }

    /// Adds an item. Returns its number.
    pub(crate) fn add(&mut self, item: T) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.slots.push_back(Some(item));
        number
    }

    /// The item with this number, if it is outstanding.
    #[inline]
    pub(crate) fn find(&self, number: u32) -> Option<&T> {
        self.slots.get(self.locate(number))?.as_ref()
    }

    /// The item with this number, if it is outstanding, mutable.
    #[inline]
    pub(crate) fn find_mut(&mut self, number: u32) -> Option<&mut T> {
        let slot = self.locate(number);
        self.slots.get_mut(slot)?.as_mut()
    }

    /// The item with this number. Panics if it is not outstanding.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &T {
        self.find(number).expect("it is in flight")
    }

    /// The item with this number, mutable. Panics if it is not outstanding.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        self.find_mut(number).expect("it is in flight")
    }

    /// Removes the item with this number. Panics if it is not outstanding.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        let slot = self.locate(number);
        let item = self.slots.get_mut(slot).and_then(Option::take);
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
        }
        item.expect("it is in flight")
    }

    /// Numbers of all items.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let first = self.first();
        (0..).zip(&self.slots).filter(|(_, slot)| slot.is_some()).map(move |(n, _)| first.wrapping_add(n))
    }

    /// All items by ascending number.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// Number of items. The time grows with it.
    pub(crate) fn len(&self) -> usize {
        self.values().count()
    }

    /// Whether there are no items.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Removes all items. Returns them by ascending number.
    pub(crate) fn forget(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }

    /// Whether a loaded table begins with an outstanding item.
    pub(crate) fn is_sound(&self) -> bool {
        !matches!(self.slots.front(), Some(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_numbers_while_others_end() {
        let mut table = InFlightTable { next: u32::MAX - 1, ..InFlightTable::default() };
        let numbers = ["a", "b", "c", "d"].map(|item| table.add(item));
        assert_eq!(numbers, [u32::MAX - 1, u32::MAX, 0, 1]);
        assert_eq!((table.remove(u32::MAX), table.find(u32::MAX)), ("b", None));
        assert_eq!((table.remove(u32::MAX - 1), table.remove(1)), ("a", "d"));
        *table.get_mut(0) = "e";
        assert_eq!((table.numbers().collect::<Vec<_>>(), table.len(), *table.get(0)), (vec![0], 1, "e"));
        assert_eq!([u32::MAX - 1, 2, 7].map(|number| table.find(number)), [None; 3]);
        assert!(table.is_sound() && !table.is_empty());
        assert_eq!((table.remove(0), table.is_empty(), table.add("f")), ("e", true, 2));
        assert_eq!((table.forget().collect::<Vec<_>>(), table.add("g")), (vec!["f"], 3));
    }

    #[test]
    fn a_table_that_begins_with_an_item_that_is_over_is_not_sound() {
        let of = |slots: &[Option<char>]| InFlightTable { slots: slots.iter().copied().collect(), next: 5 };
        assert!(
            of(&[]).is_sound() && of(&[Some('a'), None]).is_sound() && !of(&[None, Some('a')]).is_sound()
        );
    }
}
