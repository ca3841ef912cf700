//! Locations of the sectors of an array.

use std::ops::Range;

use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_kernel::Bytes;

/// Striping of sectors over members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striping {
    members: u64,
    /// Sectors of a stripe unit.
    unit: u64,
    /// Whole stripe units of a member.
    units: u64,
}

impl Striping {
    /// Stripe units of `unit` bytes over `members` devices of this shape. Sectors after the last whole unit
    /// of a member are not used.
    pub fn of(members: u64, unit: Bytes, member: &Shape) -> Self {
        Self::new(members, unit.0 / SECTOR.0, member.namespaces[0])
    }

    /// Stripe units of `unit` sectors over `members` devices of this many sectors each.
    pub fn new(members: u64, unit: u64, sectors_of_a_member: u64) -> Self {
        Self { members, unit, units: sectors_of_a_member / unit }
    }

    /// Sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.units * self.unit * self.members
    }

    /// The shape of an array whose members have the shape `member`.
    pub fn shape(&self, member: Shape) -> Shape {
        let block_set = Bytes(member.block_set.0 * self.members);
        Shape { namespaces: vec![self.sectors()], capacity: SECTOR * self.sectors(), block_set, ..member }
    }

    /// The member of a sector, and the sector on that member.
    pub fn place(&self, sector: u64) -> (u16, u64) {
        let (unit, within) = (sector / self.unit, sector % self.unit);
        ((unit % self.members) as u16, unit / self.members * self.unit + within)
    }

    /// The pieces of `sectors` sectors from `first` on: one for each touched member, in the order of members.
    ///
    /// A range is the difference of two prefixes of the array. Of a prefix, a member has its unit in each
    /// complete stripe, and its part of the last stripe.
    pub fn pieces(&self, first: u64, sectors: u64) -> impl Iterator<Item = (u16, Range<u64>)> + use<> {
        let of = *self;
        (0..of.members).filter_map(move |member| {
            let piece = of.sectors_before(member, first)..of.sectors_before(member, first + sectors);
            (!piece.is_empty()).then_some((member as u16, piece))
        })
    }

    /// Indices of the sectors on a member, within `sectors` sectors from `first` on, in the order of its
    /// piece.
    pub fn sectors_on(&self, member: u16, first: u64, sectors: u64) -> impl Iterator<Item = usize> + use<> {
        let of = *self;
        (0..sectors).filter(move |at| of.place(first + at).0 == member).map(|at| at as usize)
    }

    /// Sectors of a member among the first `end` sectors of the array.
    fn sectors_before(&self, member: u64, end: u64) -> u64 {
        let stripe = self.unit * self.members;
        let rest = (end % stripe).saturating_sub(member * self.unit).min(self.unit);
        end / stripe * self.unit + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_places_of_their_sectors() {
        for (members, unit) in [(1, 4), (2, 8), (3, 2), (4, 1)] {
            let striping = Striping::new(members, unit, 24);
            for first in 0..striping.sectors() {
                for sectors in 1..=striping.sectors() - first {
                    let mut placed: Vec<(u16, u64)> =
                        (first..first + sectors).map(|sector| striping.place(sector)).collect();
                    placed.sort_unstable();
                    let pieces = striping.pieces(first, sectors);
                    let of_pieces: Vec<(u16, u64)> = pieces
                        .flat_map(|(member, piece)| piece.map(move |sector| (member, sector)))
                        .collect();
                    assert_eq!(of_pieces, placed, "{sectors} from {first} on");
                }
            }
        }
    }
}
