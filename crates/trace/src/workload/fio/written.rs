//! Writes of a job that it has not read yet (`verify`).

use std::collections::{BTreeMap, VecDeque};

/// Writes that the job reads later.
#[derive(Clone, Debug)]
pub enum Written {
    /// In the order of the writes: no place is written twice.
    InOrder(VecDeque<(u64, u64)>),
    /// By address: a write replaces earlier ones of the same place.
    ByAddress(BTreeMap<u64, u64>),
}

impl Written {
    /// Creates a list for a job that may write a place twice, or not.
    pub fn new(may_repeat: bool) -> Self {
        if may_repeat { Self::ByAddress(BTreeMap::new()) } else { Self::InOrder(VecDeque::new()) }
    }

    /// Adds a write.
    pub fn add(&mut self, address: u64, size: u64) {
        match self {
            Self::InOrder(list) => list.push_back((address, size)),
            Self::ByAddress(map) => {
                let end = address + size;
                let overlaps = |(begin, length): (&u64, &u64)| (begin + length > address).then_some(*begin);
                while let Some(begin) = map.range(..end).next_back().and_then(overlaps) {
                    map.remove(&begin);
                }
                map.insert(address, size);
            }
        }
    }

    /// Removes the next read.
    pub fn pop(&mut self) -> Option<(u64, u64)> {
        match self {
            Self::InOrder(list) => list.pop_front(),
            Self::ByAddress(map) => map.pop_first(),
        }
    }

    /// Number of writes that are not read yet.
    pub fn count(&self) -> u64 {
        match self {
            Self::InOrder(list) => list.len() as u64,
            Self::ByAddress(map) => map.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_those_that_it_overlaps() {
        let mut written = Written::new(true);
        for (address, size) in [(0, 4), (8, 4), (4, 4), (6, 4), (20, 4)] {
            written.add(address, size);
        }
        let all: Vec<(u64, u64)> = std::iter::from_fn(|| written.pop()).collect();
        assert_eq!(all, [(0, 4), (6, 4), (20, 4)]);
    }
}
