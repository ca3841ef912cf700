//! Write methods: how the parity of a row is updated. md's rule selects the method.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of members as a bitmap, the first in the lowest bit.
pub type MemberSet = u64;

/// Maximum number of members: the bits of a [`MemberSet`].
pub const MOST_MEMBERS: u16 = 64;

/// The members of a set in ascending order.
pub fn each(set: MemberSet) -> impl Iterator<Item = u16> {
    let mut rest = set;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let member = rest.trailing_zeros() as u16;
            rest &= rest - 1;
            member
        })
    })
}

/// When read-modify-write is used instead of reconstruct-write: md's `rmw_level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadModifyWrite {
    /// Never (level 0).
    Never,
    /// When it needs fewer reads (level 1).
    #[default]
    Fewer,
    /// When it does not need more reads (level 2).
    Preferred,
}

/// Write method: the blocks from which the new parity is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteMethod {
    /// Read-modify-write (rmw): the old parity, the old data and the new data.
    Modify,
    /// Reconstruct-write (rcw): all data of the row.
    Reconstruct,
}

/// The blocks of a row when a write is planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// All members.
    pub all: MemberSet,
    /// The parity member.
    pub parity: MemberSet,
    /// Members whose block is written.
    pub written: MemberSet,
    /// Members whose block is written entirely.
    pub whole: MemberSet,
    /// Members whose block is in memory.
    pub known: MemberSet,
    /// Members whose block is readable.
    pub readable: MemberSet,
}

/// Number of reads that each write method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// For read-modify-write.
    pub modify: u32,
    /// For reconstruct-write.
    pub reconstruct: u32,
}

impl Blocks {
    /// Blocks that a write method needs but that are not in memory.
    pub fn needs(&self, way: WriteMethod) -> MemberSet {
        let needed = match way {
            WriteMethod::Modify => self.written | self.parity,
            WriteMethod::Reconstruct => self.all & !self.parity & !self.whole,
        };
        needed & !self.known
    }

    /// The reads of each write method, as md counts them. An unreadable block counts as twice the number of
    /// members.
    pub fn reads(&self) -> Reads {
        let of = |way| {
            let needs = self.needs(way);
            (needs & self.readable).count_ones()
                + (needs & !self.readable).count_ones() * 2 * self.all.count_ones()
        };
        Reads { modify: of(WriteMethod::Modify), reconstruct: of(WriteMethod::Reconstruct) }
    }

    /// The write method by md's rule: reconstruct-write if it needs no reads, otherwise the method with fewer
    /// reads. `level` decides between equal ones. The parity of an `untrusted` row may be wrong, so it is
    /// always reconstructed.
    pub fn way(&self, level: ReadModifyWrite, untrusted: bool) -> WriteMethod {
        let Reads { modify, reconstruct } = self.reads();
        if untrusted || level == ReadModifyWrite::Never || reconstruct == 0 {
            return WriteMethod::Reconstruct;
        }
        match modify < reconstruct || modify == reconstruct && level == ReadModifyWrite::Preferred {
            true => WriteMethod::Modify,
            false => WriteMethod::Reconstruct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of `members` whose first `written` blocks are written entirely, with nothing in memory.
    fn cold(members: u32, written: u32) -> Blocks {
        let (all, written) = ((1 << members) - 1, (1 << written) - 1);
        Blocks { all, parity: 1 << (members - 1), written, whole: written, known: 0, readable: all }
    }

    #[test]
    fn a_cold_cache_takes_the_ways_of_md() {
        // By md's rule `k` written blocks need k + 1 reads for rmw, and n - 1 - k reads for rcw.
        let cases = [
            (4, 1, (2, 2), WriteMethod::Reconstruct),
            (4, 2, (3, 1), WriteMethod::Reconstruct),
            (4, 3, (4, 0), WriteMethod::Reconstruct),
            (5, 1, (2, 3), WriteMethod::Modify),
            (5, 2, (3, 2), WriteMethod::Reconstruct),
            (8, 1, (2, 6), WriteMethod::Modify),
            (8, 2, (3, 5), WriteMethod::Modify),
            (8, 3, (4, 4), WriteMethod::Reconstruct),
        ];
        for (members, written, (modify, reconstruct), way) in cases {
            let row = cold(members, written);
            assert_eq!(row.reads(), Reads { modify, reconstruct }, "{members} {written}");
            assert_eq!(row.way(ReadModifyWrite::Fewer, false), way, "{members} {written}");
        }
    }

    #[test]
    fn the_level_decides_a_draw_and_an_untrusted_parity_is_not_modified() {
        assert_eq!(cold(4, 1).way(ReadModifyWrite::Preferred, false), WriteMethod::Modify);
        assert_eq!(cold(8, 3).way(ReadModifyWrite::Preferred, false), WriteMethod::Modify);
        for level in [ReadModifyWrite::Never, ReadModifyWrite::Fewer, ReadModifyWrite::Preferred] {
            assert_eq!(cold(5, 1).way(level, true), WriteMethod::Reconstruct);
        }
        assert_eq!(cold(8, 1).way(ReadModifyWrite::Never, false), WriteMethod::Reconstruct);
    }

    #[test]
    fn what_is_in_memory_takes_no_read() {
        let warm = Blocks { known: 0b10001, ..cold(5, 1) };
        assert_eq!(warm.reads(), Reads { modify: 0, reconstruct: 3 });
        assert_eq!(warm.way(ReadModifyWrite::Fewer, false), WriteMethod::Modify);
        let all = Blocks { known: 0b11111, ..cold(5, 1) };
        assert_eq!(
            all.way(ReadModifyWrite::Preferred, false),
            WriteMethod::Reconstruct,
            "nothing is to be read"
        );
    }

    #[test]
    fn a_block_written_in_part_is_read_for_either_way() {
        let part = Blocks { whole: 0, ..cold(5, 1) };
        assert_eq!(part.reads(), Reads { modify: 2, reconstruct: 4 });
    }

    #[test]
    fn a_block_that_cannot_be_read_counts_as_twice_the_members() {
        let without = |member: u32, row: Blocks| Blocks { readable: row.all & !(1 << member), ..row };
        // Of four members the second is missing and the first is written. The parity can only be modified.
        assert_eq!(without(1, cold(4, 1)).reads(), Reads { modify: 2, reconstruct: 9 });
        // The missing block itself is written. Its old content is not needed if the other blocks are read.
        assert_eq!(without(0, cold(4, 1)).reads(), Reads { modify: 9, reconstruct: 2 });
    }

    #[test]
    fn members_of_a_set_come_in_order() {
        assert_eq!(each(0b101001).collect::<Vec<_>>(), [0, 3, 5]);
        assert_eq!(each(1 << 63).collect::<Vec<_>>(), [63]);
    }
}
