//! A slab: values under reusable numbers, for requests and device commands in flight.

use serde::{Deserialize, Serialize};

/// Values by number. A new value gets the number that was freed last. Without a freed number it gets the next
/// unused one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// The number that [`add`](Self::add) will give.
    pub fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.slots.len() as u32)
    }

    /// Adds a value and returns its number.
    pub fn add(&mut self, value: T) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[number as usize] = Some(value);
        number
    }

    /// The value with this number. Panics if there is none.
    pub fn get(&self, number: u32) -> &T {
        self.slots[number as usize].as_ref().expect("a number of a value that is there")
    }

    /// The value with this number, mutable. Panics if there is none.
    pub fn get_mut(&mut self, number: u32) -> &mut T {
        self.slots[number as usize].as_mut().expect("a number of a value that is there")
    }

    /// Removes the value with this number and frees the number. Panics if there is none.
    pub fn remove(&mut self, number: u32) -> T {
        let value = self.slots[number as usize].take().expect("a number of a value that is there");
        self.free.push(number);
        value
    }

    /// Whether a value has this number.
    pub fn has(&self, number: u32) -> bool {
        self.slots.get(number as usize).is_some_and(Option::is_some)
    }

    /// All values with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &T)> + Clone {
        (0..).zip(&self.slots).filter_map(|(number, value)| Some((number, value.as_ref()?)))
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.slots.iter().flatten()
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Removes all values and returns them in order of number.
    pub fn take_all(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(self).slots.into_iter().flatten()
    }

    /// Whether a restored free list is consistent: it lists exactly the numbers without a value, each once.
    pub fn is_sound(&self) -> bool {
        let mut free = self.free.clone();
        free.sort_unstable();
        free.dedup();
        let is_free = |number: &u32| matches!(self.slots.get(*number as usize), Some(None));
        let count = self.slots.iter().filter(|slot| slot.is_none()).count();
        free.len() == count && self.free.len() == count && free.iter().all(is_free)
    }
}

/// Records of some of the values of a slab, by their numbers.
#[derive(Debug)]
pub(crate) struct Records<T>(Vec<Option<T>>);

impl<T> Default for Records<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Records<T> {
    /// Makes the record of the value with this number.
    #[inline]
    pub fn insert(&mut self, number: u32, record: T) {
        let number = number as usize;
        if number >= self.0.len() {
            self.0.resize_with(number + 1, || None);
        }
        self.0[number] = Some(record);
    }

    /// The record of the value with this number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.0.get_mut(number as usize)?.as_mut()
    }

    /// Removes the record of the value with this number.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        if let Some(record) = self.0.get_mut(number as usize) {
            *record = None;
        }
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_with_a_record_have_one() {
        let mut all = Records::default();
        all.insert(3, "d");
        all.insert(1, "b");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|n| all.get_mut(n).copied()),
            [None, Some("b"), None, Some("d"), None]
        );
        [1, 2, 9].into_iter().for_each(|n| all.remove(n));
        assert_eq!([1, 3].map(|n| all.get_mut(n).copied()), [None, Some("d")]);
        all.clear();
        assert_eq!(all.get_mut(3), None);
    }

    #[test]
    fn a_number_that_became_free_is_given_again() {
        let mut all = Slab::default();
        assert_eq!(["a", "b", "c"].map(|value| (all.next(), all.add(value))), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!((all.remove(1), all.remove(0), all.has(1), all.has(7)), ("b", "a", false, false));
        assert_eq!((all.count(), all.all().collect::<Vec<_>>()), (1, vec![(2, &"c")]));
        assert_eq!((all.next(), all.add("d"), *all.get(0)), (0, 0, "d"));
        assert!(all.is_sound());
        assert_eq!((all.take_all().collect::<Vec<_>>(), all.count(), all.next()), (vec!["d", "c"], 0, 0));
    }

    #[test]
    fn a_state_in_which_numbers_are_free_twice_or_not_at_all_is_not_sound() {
        let of = |slots, free| Slab { slots, free };
        assert!(of(vec![Some('a'), None], vec![1]).is_sound());
        for free in [vec![], vec![0], vec![1, 1], vec![2]] {
            assert!(!of(vec![Some('a'), None], free.clone()).is_sound(), "{free:?}");
        }
    }
}
