//! Dynamic: round-robin over the plane groups that are free.

use wordline_kernel::ensure::ensure;
use wordline_kernel::state;
use wordline_nand::{Geometry, PlaneGroupId, Pools};

use super::{Placement, PlaneGroupSet};

/// Goes round the plane groups: over the channels first, then the dies of a channel, then the plane groups of
/// a die. Selects the next plane group that accepts a program unit. Each pool has its own round.
pub struct Dynamic {
    first: Round,
    others: Vec<Round>,
}

state!(Dynamic { parts { first } lists { others } });

/// Round over the plane groups of one pool.
struct Round {
    turn: Vec<PlaneGroupId>,
    /// First plane group of the pool.
    begins: PlaneGroupId,
    /// Position in the round of each plane group.
    place: Vec<u32>,
    at: usize,
}

state!(Round { values { at } fixed { turn, begins, place } });

/// Number of plane groups that are tried in order. If none of them is free, the set of free plane groups is
/// searched. Chosen.
const TRIES: usize = 8;

impl Round {
    fn new(geometry: &Geometry) -> Self {
        let (dies, rows) = (geometry.dies_per_channel, geometry.groups_per_die);
        let begins = geometry.first_group();
        let turn: Vec<PlaneGroupId> = (0..geometry.channels * dies * rows)
            .filter_map(|n| {
                let (channel, rest) = (n % geometry.channels, n / geometry.channels);
                let row = begins.0 + (geometry.first_die_on(channel) + rest % dies) * rows + rest / dies;
                (rest % dies < geometry.dies_on(channel)).then_some(PlaneGroupId(row))
            })
            .collect();
        let mut place = vec![0; turn.len()];
        turn.iter().enumerate().for_each(|(n, row)| place[(row.0 - begins.0) as usize] = n as u32);
        Self { turn, begins, place, at: 0 }
    }

    fn place(&self, row: PlaneGroupId) -> usize {
        self.place[(row.0 - self.begins.0) as usize] as usize
    }

    /// Steps in the round from the current position to `row`.
    fn distance(&self, row: PlaneGroupId) -> usize {
        let place = self.place(row);
        if place >= self.at { place - self.at } else { place + self.turn.len() - self.at }
    }

    fn next(&mut self, rows: &PlaneGroupSet) -> Option<PlaneGroupId> {
        let ahead = self.turn[self.at..].iter().take(TRIES).position(|row| rows.contains(*row));
        let place = match ahead {
            Some(further) => self.at + further,
            None => self.place(rows.iter().min_by_key(|row| self.distance(*row))?),
        };
        self.at = if place + 1 == self.turn.len() { 0 } else { place + 1 };
        Some(self.turn[place])
    }
}

impl Dynamic {
    /// Policy with a round for each pool.
    pub fn new(pools: &Pools) -> Self {
        let others = pools.iter().skip(1).map(|pool| Round::new(&pool.geometry)).collect();
        Self { first: Round::new(&pools.first().geometry), others }
    }
}

impl Placement for Dynamic {
    fn home(&self, _: u32, _: usize) -> Option<PlaneGroupId> {
        None
    }

    fn check_loaded(&self) -> Result<(), String> {
        let mut rounds = std::iter::once(&self.first).chain(&self.others);
        ensure(rounds.all(|round| round.at < round.turn.len()), || {
            "the placement continues at a plane group that does not exist".into()
        })
    }

    fn next(&mut self, rows: &PlaneGroupSet) -> Option<PlaneGroupId> {
        if self.others.is_empty() {
            return self.first.next(rows);
        }
        let row = rows.iter().next()?;
        let later = self.others.iter_mut().rfind(|round| round.begins <= row);
        later.unwrap_or(&mut self.first).next(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;

    #[test]
    fn it_goes_round_the_rows_that_accept() {
        let config = small().check().expect("the device is sound");
        let count = config.pools.rows();
        let mut rows = PlaneGroupSet::new(count);
        let mut placement = Dynamic::new(&config.pools);
        assert_eq!(placement.next(&rows), None);
        let all: Vec<PlaneGroupId> = config.pools.all_groups().collect();
        all.iter().for_each(|row| _ = rows.set(*row, true));
        let mut round: Vec<PlaneGroupId> = (0..count).filter_map(|_| placement.next(&rows)).collect();
        assert_eq!(
            round[..2].iter().map(|row| row.0 / (count / 2)).collect::<Vec<_>>(),
            [0, 1],
            "channels first"
        );
        round.sort_unstable();
        assert_eq!(round, all);
        let (last, others) = all.split_last().expect("there are rows");
        others.iter().for_each(|row| _ = rows.set(*row, false));
        assert_eq!((placement.next(&rows), placement.next(&rows)), (Some(*last), Some(*last)));
    }
}
