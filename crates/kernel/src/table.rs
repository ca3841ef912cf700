//! A small lookup table from one number to another, of fixed capacity.

use serde::{Deserialize, Serialize};

/// Maps `u32` keys to `u32` values by open addressing with linear probing. It never allocates after
/// construction, and results depend on nothing but the entries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LookupTable {
    slots: Vec<(u32, u32)>,
    shift: u32,
}

const EMPTY: u32 = u32::MAX;

impl LookupTable {
    /// A table for `capacity` keys, at most half full.
    pub fn with_capacity(capacity: usize) -> Self {
        let size = (capacity.max(1) * 2).next_power_of_two();
        Self { slots: vec![(EMPTY, 0); size], shift: 64 - size.trailing_zeros() }
    }

    /// The slot at which the search for `key` begins: Fibonacci hashing.
    #[inline]
    fn first_slot(&self, key: u32) -> usize {
        (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline]
    fn find(&self, key: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(key);
        while self.slots[at].0 != key && self.slots[at].0 != EMPTY {
            at = (at + 1) & mask;
        }
        at
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let (found, value) = self.slots[self.find(key)];
        (found != EMPTY).then_some(value)
    }

    /// Whether the table is consistent: it has the size for `capacity` keys and holds `keys` of them, each in
    /// a slot where a search finds it. A table read from a file may be inconsistent.
    pub fn is_sound(&self, capacity: usize, keys: usize) -> bool {
        let size = (capacity.max(1) * 2).next_power_of_two();
        let is_as_made = self.slots.len() == size && self.shift == 64 - size.trailing_zeros();
        let held = || self.slots.iter().enumerate().filter(|(_, (key, _))| *key != EMPTY);
        // A search ends at an empty slot. So the table needs at least one, or `find` would not return.
        is_as_made
            && keys < size
            && held().count() == keys
            && held().all(|(at, (key, _))| self.find(*key) == at)
    }

    /// Prefetches the slot of `key`; see [`prefetch`](crate::prefetch).
    #[inline]
    pub fn prefetch(&self, key: u32) {
        crate::prefetch(&self.slots[self.first_slot(key)]);
    }

    /// Sets the value of `key`, which is below `u32::MAX`.
    #[inline]
    pub fn insert(&mut self, key: u32, value: u32) {
        debug_assert_ne!(key, EMPTY, "the greatest number marks an empty slot");
        let at = self.find(key);
        self.slots[at] = (key, value);
    }

    /// Removes `key`: later keys of the same probe run move up, so that no tombstones are needed.
    pub fn remove(&mut self, key: u32) {
        let mask = self.slots.len() - 1;
        let mut hole = self.find(key);
        if self.slots[hole].0 == EMPTY {
            return;
        }
        let mut next = hole;
        loop {
            next = (next + 1) & mask;
            let (found, _) = self.slots[next];
            if found == EMPTY {
                break;
            }
            let from_home = next.wrapping_sub(self.first_slot(found)) & mask;
            if from_home >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
        }
        self.slots[hole].0 = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_answers_like_a_map(steps in prop::collection::vec((0u32..40, any::<bool>()), 0..400)) {
            let mut table = LookupTable::with_capacity(40);
            let mut model = BTreeMap::new();
            for (n, (key, put)) in steps.into_iter().enumerate() {
                if put {
                    table.insert(key, n as u32);
                    model.insert(key, n as u32);
                } else {
                    table.remove(key);
                    model.remove(&key);
                }
                for key in 0..40 {
                    prop_assert_eq!(table.get(key), model.get(&key).copied());
                }
                prop_assert!(table.is_sound(40, model.len()) && !table.is_sound(40, model.len() + 1));
            }
        }
    }
}
