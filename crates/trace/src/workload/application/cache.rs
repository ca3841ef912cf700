//! A cache of numbered items; only the numbers are kept. Set-associative with eight ways and LRU replacement.

/// Associativity. Chosen: one set fills half a cache line, and hit rates are within a percentage point of a
/// fully associative cache.
const WAYS: usize = 8;

/// A cache.
#[derive(Clone, Debug)]
pub struct Cache {
    ways: usize,
    /// Numbers of the items in the cache plus one; 0 for an empty way. The most recently used item of a set
    /// comes first.
    slots: Vec<u32>,
}

impl Cache {
    /// Creates a cache for `capacity` items, rounded down to whole sets.
    pub fn new(capacity: u32) -> Self {
        let ways = WAYS.min(capacity as usize);
        let sets = (capacity as usize).checked_div(ways).unwrap_or(0);
        Self { ways, slots: vec![0; sets * ways] }
    }

    /// Returns the capacity in items.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn set(&mut self, number: u32) -> &mut [u32] {
        let sets = (self.slots.len() / self.ways) as u64;
        let hash = number.wrapping_mul(0x9e37_79b1) ^ (number.wrapping_mul(0x85eb_ca77) >> 15);
        let first = ((u64::from(hash) * sets) >> 32) as usize * self.ways;
        &mut self.slots[first..first + self.ways]
    }

    /// Whether an item is in the cache. A hit makes it the most recently used.
    #[inline]
    pub fn touch(&mut self, number: u32) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let set = self.set(number);
        let Some(at) = set.iter().position(|held| *held == number + 1) else { return false };
        put_first(set, at, number + 1);
        true
    }

    /// Inserts an item as the most recently used. Returns the item that it evicts.
    #[inline]
    pub fn insert(&mut self, number: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return Some(number);
        }
        let set = self.set(number);
        let (at, last) = (set.iter().position(|held| *held == number + 1), set.len() - 1);
        let gone = if at.is_some() { 0 } else { set[last] };
        put_first(set, at.unwrap_or(last), number + 1);
        gone.checked_sub(1)
    }

    /// Removes an item.
    pub fn remove(&mut self, number: u32) {
        if self.slots.is_empty() {
            return;
        }
        let set = self.set(number);
        if let Some(at) = set.iter().position(|held| *held == number + 1) {
            set[at..].rotate_left(1);
            set[set.len() - 1] = 0;
        }
    }
}

/// Shifts the first `at` values back by one, overwriting the value after them, and puts `value` first.
#[inline]
fn put_first(set: &mut [u32], at: usize, value: u32) {
    set.copy_within(..at, 1);
    set[0] = value;
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Seed;

    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut cache = Cache::new(3);
        assert_eq!([5, 6, 7].map(|number| cache.insert(number)), [None; 3]);
        assert!(cache.touch(5));
        assert_eq!(cache.insert(8), Some(6));
        assert_eq!((cache.touch(6), cache.touch(5)), (false, true));
        cache.remove(7);
        assert_eq!((cache.insert(9), cache.insert(10)), (None, Some(8)));
    }

    #[test]
    fn a_cache_without_room_holds_nothing() {
        let mut cache = Cache::new(0);
        assert_eq!((cache.insert(3), cache.touch(3)), (Some(3), false));
        cache.remove(3);
    }

    #[test]
    fn uniform_accesses_hit_as_often_as_the_cache_holds_a_part_of_them() {
        let (all, mut random) = (40_000, Seed(1).stream("cache", 0));
        let mut cache = Cache::new(all / 4);
        let mut access = || {
            let number = random.below(u64::from(all)) as u32;
            let hit = cache.touch(number);
            cache.insert(number);
            hit
        };
        (0..200_000).for_each(|_| _ = access());
        let hits = (0..200_000).filter(|_| access()).count() as f64 / 2e5;
        // Five standard deviations of 0.001. Under uniform accesses uneven sets cost almost nothing.
        assert!((hits - 0.25).abs() < 0.005, "{hits}");
    }
}
