//! Layout of data and parity over the members, as in Linux md.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order of data and parity over the members, with md's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Raid5Layout")]
pub enum Layout {
    /// Parity rotates from the last member to the first. Data start on the first member.
    LeftAsymmetric,
    /// Parity rotates from the first member to the last. Data start on the first member.
    RightAsymmetric,
    /// Parity rotates from the last member to the first. Data start after the parity, so that consecutive
    /// chunks are on different members.
    #[default]
    LeftSymmetric,
    /// Parity rotates from the first member to the last. Data start after the parity.
    RightSymmetric,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 4] =
        [Self::LeftAsymmetric, Self::RightAsymmetric, Self::LeftSymmetric, Self::RightSymmetric];
}

/// The geometry of an array, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striping {
    /// The order of data and parity.
    pub layout: Layout,
    /// Members, at least three.
    pub members: u64,
    /// Chunk size.
    pub chunk: u64,
    /// Size of the block of a member in a row, a divisor of the chunk. A row is the unit of the stripe cache.
    pub block: u64,
    /// Chunks of each member.
    pub chunks: u64,
}

impl Striping {
    /// Number of data members of a stripe.
    pub fn data(&self) -> u64 {
        self.members - 1
    }

    /// Sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.chunks * self.chunk * self.data()
    }

    /// Rows of the array.
    pub fn rows(&self) -> u64 {
        self.chunks * (self.chunk / self.block)
    }

    /// Data sectors of a stripe: a chunk of each member except the parity member.
    pub fn stripe(&self) -> u64 {
        self.chunk * self.data()
    }

    /// The parity member of a stripe.
    pub fn parity_of_stripe(&self, stripe: u64) -> u16 {
        let turn = stripe % self.members;
        let member = match self.layout {
            Layout::LeftAsymmetric | Layout::LeftSymmetric => self.data() - turn,
            Layout::RightAsymmetric | Layout::RightSymmetric => turn,
        };
        member as u16
    }

    /// The member with the data chunk `index` of a stripe.
    pub fn data_of_stripe(&self, stripe: u64, index: u64) -> u16 {
        let parity = u64::from(self.parity_of_stripe(stripe));
        let member = match self.layout {
            Layout::LeftSymmetric | Layout::RightSymmetric => (parity + 1 + index) % self.members,
            Layout::LeftAsymmetric | Layout::RightAsymmetric => index + u64::from(index >= parity),
        };
        member as u16
    }

    /// The member of an array sector, and the sector on that member.
    #[inline]
    pub fn locate(&self, sector: u64) -> (u16, u64) {
        let (chunk, within) = (sector / self.chunk, sector % self.chunk);
        let (stripe, index) = (chunk / self.data(), chunk % self.data());
        (self.data_of_stripe(stripe, index), stripe * self.chunk + within)
    }

    /// The stripe of a row.
    pub fn stripe_of(&self, row: u64) -> u64 {
        row * self.block / self.chunk
    }

    /// The parity member of a row.
    pub fn parity(&self, row: u64) -> u16 {
        self.parity_of_stripe(self.stripe_of(row))
    }

    /// The data blocks of a row: for each block its member and its first array sector.
    pub fn blocks(&self, row: u64) -> impl Iterator<Item = (u16, u64)> + use<> {
        let (of, stripe) = (*self, self.stripe_of(row));
        let within = row * self.block % self.chunk;
        let first = move |index: u64| (stripe * of.data() + index) * of.chunk + within;
        (0..of.data()).map(move |index| (of.data_of_stripe(stripe, index), first(index)))
    }

    /// The parts of a range of array sectors that are in a row. For each part: the member, the sectors within
    /// its block, and the offset of the part in the range.
    pub fn parts(
        &self,
        row: u64,
        sectors: Range<u64>,
    ) -> impl Iterator<Item = (u16, Range<u64>, usize)> + use<> {
        let block = self.block;
        self.blocks(row).filter_map(move |(member, first)| {
            let (from, to) = (sectors.start.max(first), sectors.end.min(first + block));
            (from < to).then(|| (member, from - first..to - first, (from - sectors.start) as usize))
        })
    }

    /// The pieces of a range of array sectors, one for each chunk. For each piece: the member, the sectors on
    /// it, and the offset of the piece in the range.
    pub fn pieces(&self, sectors: Range<u64>) -> impl Iterator<Item = (u16, Range<u64>, usize)> + use<> {
        let of = *self;
        let mut next = sectors.start;
        std::iter::from_fn(move || {
            let from = next;
            (from < sectors.end).then(|| {
                next = ((from / of.chunk + 1) * of.chunk).min(sectors.end);
                let (member, first) = of.locate(from);
                (member, first..first + (next - from), (from - sectors.start) as usize)
            })
        })
    }

    /// The rows of a range of array sectors, each once, stripe by stripe.
    pub fn rows_of(&self, sectors: Range<u64>) -> RowsOfRange {
        RowsOfRange { striping: *self, sectors, stripe: None, next: 0, end: 0 }
    }
}

/// The rows of a range of sectors.
#[derive(Clone, Debug)]
pub struct RowsOfRange {
    striping: Striping,
    sectors: Range<u64>,
    stripe: Option<u64>,
    next: u64,
    end: u64,
}

impl RowsOfRange {
    /// Selects the candidate rows of a stripe: all rows of the stripe if the range touches several of its
    /// chunks, else only the touched rows. The iterator skips rows without a part of the range.
    fn enter(&mut self, stripe: u64) {
        let Striping { chunk, block, .. } = self.striping;
        let all = self.striping.stripe();
        let from = self.sectors.start.max(stripe * all) - stripe * all;
        let to = self.sectors.end.min((stripe + 1) * all) - stripe * all;
        let whole = from / chunk != (to - 1) / chunk;
        let (first, last) = if whole { (0, chunk - 1) } else { (from % chunk, (to - 1) % chunk) };
        let before = stripe * (chunk / block);
        (self.next, self.end) = (before + first / block, before + last / block + 1);
        self.stripe = Some(stripe);
    }
}

impl Iterator for RowsOfRange {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let all = self.striping.stripe();
        loop {
            while self.next < self.end {
                let row = self.next;
                self.next += 1;
                if self.striping.parts(row, self.sectors.clone()).next().is_some() {
                    return Some(row);
                }
            }
            let next = self.stripe.map_or(self.sectors.start / all, |stripe| stripe + 1);
            if self.sectors.is_empty() || next * all >= self.sectors.end {
                return None;
            }
            self.enter(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn striping(layout: Layout, members: u64) -> Striping {
        Striping { layout, members, chunk: 8, block: 2, chunks: 2 * members }
    }

    /// The stripes of an array as text: the chunks of each member. P is parity.
    fn drawn(layout: Layout, members: u64, stripes: u64) -> Vec<String> {
        let striping = striping(layout, members);
        let line = |stripe: u64| {
            let mut of: Vec<String> = vec!["P".into(); members as usize];
            for index in 0..striping.data() {
                let chunk = stripe * striping.data() + index;
                of[usize::from(striping.data_of_stripe(stripe, index))] = format!("D{chunk}");
            }
            assert_eq!(of[usize::from(striping.parity_of_stripe(stripe))], "P");
            of.join(" ")
        };
        (0..stripes).map(line).collect()
    }

    #[test]
    fn left_symmetric_is_that_of_md() {
        // From md's rule: pd = d - stripe mod n, and the member of data chunk dd is (pd + 1 + dd) mod n.
        let four = ["D0 D1 D2 P", "D4 D5 P D3", "D8 P D6 D7", "P D9 D10 D11", "D12 D13 D14 P"];
        assert_eq!(drawn(Layout::LeftSymmetric, 4, 5), four);
        let five =
            ["D0 D1 D2 D3 P", "D5 D6 D7 P D4", "D10 D11 P D8 D9", "D15 P D12 D13 D14", "P D16 D17 D18 D19"];
        assert_eq!(drawn(Layout::LeftSymmetric, 5, 5), five);
    }

    #[test]
    fn the_other_layouts_are_those_of_md() {
        // From md's rule. Left: pd = d - stripe mod n. Right: pd = stripe mod n. Asymmetric: the member of
        // data chunk dd is dd + (dd >= pd).
        let left = ["D0 D1 D2 P", "D3 D4 P D5", "D6 P D7 D8", "P D9 D10 D11", "D12 D13 D14 P"];
        assert_eq!(drawn(Layout::LeftAsymmetric, 4, 5), left);
        let right = ["P D0 D1 D2", "D3 P D4 D5", "D6 D7 P D8", "D9 D10 D11 P", "P D12 D13 D14"];
        assert_eq!(drawn(Layout::RightAsymmetric, 4, 5), right);
        let symmetric = ["P D0 D1 D2", "D5 P D3 D4", "D7 D8 P D6", "D9 D10 D11 P", "P D12 D13 D14"];
        assert_eq!(drawn(Layout::RightSymmetric, 4, 5), symmetric);
    }

    #[test]
    fn every_sector_has_a_place_of_its_own_beside_the_parity() {
        for layout in Layout::ALL {
            for members in 3..7 {
                let striping = striping(layout, members);
                let mut places = BTreeSet::new();
                for sector in 0..striping.sectors() {
                    let (member, of_member) = striping.locate(sector);
                    let row = of_member / striping.block;
                    assert_ne!(member, striping.parity(row), "{layout:?} {members} {sector}");
                    assert!(places.insert((member, of_member)), "{layout:?} {members} {sector}");
                    let (within, first) = (of_member % striping.block, sector - of_member % striping.block);
                    assert!(striping.blocks(row).any(|block| block == (member, first)), "{within}");
                }
                let data = striping.rows() * striping.block * striping.data();
                assert_eq!(places.len() as u64, data);
            }
        }
    }

    #[test]
    fn rows_and_pieces_cover_a_range_once() {
        for (layout, members) in [(Layout::LeftSymmetric, 3), (Layout::RightAsymmetric, 4)] {
            let striping = striping(layout, members);
            for first in 0..striping.stripe() + 3 {
                for end in first + 1..(first + 2 * striping.stripe() + 5).min(striping.sectors()) {
                    let by_place = |(member, sector): (u16, u64)| (member, sector);
                    let wanted: BTreeSet<_> = (first..end).map(|at| by_place(striping.locate(at))).collect();
                    let rows: Vec<u64> = striping.rows_of(first..end).collect();
                    assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len(), "{first}..{end}");
                    let mut found = BTreeSet::new();
                    for row in rows {
                        for (member, part, at) in striping.parts(row, first..end) {
                            let place = striping.locate(first + at as u64);
                            assert_eq!(place, (member, row * striping.block + part.start));
                            found.extend(part.map(|within| (member, row * striping.block + within)));
                        }
                    }
                    assert_eq!(found, wanted, "rows of {first}..{end}");
                    let pieces = striping.pieces(first..end);
                    let of_pieces: Vec<_> =
                        pieces.flat_map(|(member, part, _)| part.map(move |at| (member, at))).collect();
                    let places: Vec<_> = (first..end).map(|at| striping.locate(at)).collect();
                    assert_eq!(of_pieces, places, "pieces of {first}..{end}");
                }
            }
        }
    }
}
