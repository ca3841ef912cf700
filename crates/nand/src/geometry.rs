//! The layout of dies on channels, and the numbering of dies, plane groups, blocks and pages.

use std::fmt;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, id};

use crate::Part;

id!(
    /// A channel: one bus with the packages on it.
    ChannelId
);
id!(
    /// A die (LUN), counted over the device: channel by channel, package by package.
    DieId
);
id!(
    /// A plane group: the planes of a die that multi-plane commands program and erase together, counted over
    /// the device, die by die.
    PlaneGroupId
);

impl fmt::Display for PlaneGroupId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

id!(
    /// A multi-plane block (block set): the blocks of one number in the planes of one plane group, which are
    /// erased and programmed together.
    BlockSetId
);
id!(
    /// A physical page, counted over the device so that the pages of a [`BlockSetId`] follow each other in
    /// the order in which they are programmed.
    PageId
);

/// A block of one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaneBlock {
    /// Die of the block.
    pub die: DieId,
    /// Number of the block in the die, over all planes. The plane is the lowest part of the number, as in a
    /// row address.
    pub block: u32,
}

/// The layout of a device in a configuration: numbers of channels, packages, dies and planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Channels of the device.
    #[schemars(range(min = 1))]
    pub channels: u32,
    /// Packages (chips) on a channel.
    #[schemars(range(min = 1))]
    pub packages_per_channel: u32,
    /// Dies in a package.
    #[schemars(range(min = 1))]
    pub dies_per_package: u32,
    /// Number of channels that have one package fewer than the other channels. They are the last channels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short_channels: u32,
    /// Planes of a die that are programmed and erased together by multi-plane commands: all of them, or 1.
    /// Default: all planes of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes_per_row: Option<u32>,
}

impl Layout {
    /// A single channel with one package of `dies` dies.
    pub const fn on_one_channel(dies: u32, planes_per_row: Option<u32>) -> Self {
        Self {
            channels: 1,
            packages_per_channel: 1,
            dies_per_package: dies,
            short_channels: 0,
            planes_per_row,
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The first numbers of a [pool](crate::Pools); the pools before it have lower numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstIds {
    /// First channel; pools may share channels.
    pub channel: u32,
    /// First die.
    pub die: u32,
    /// First plane group.
    pub row: u32,
    /// First block set.
    pub block: u32,
    /// First page.
    pub page: u32,
}

/// The numbers of the dies of one part in a device, and the arithmetic over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The first numbers: 0 except in a pool that follows other pools.
    pub first: FirstIds,
    /// Channels of these dies.
    pub channels: u32,
    /// Dies on a channel; a short channel has `dies_less` fewer.
    pub dies_per_channel: u32,
    /// Number of short channels. They are the last channels.
    pub short_channels: u32,
    /// Dies that a short channel lacks: one package.
    pub missing_dies: u32,
    /// Plane groups of a die: its planes divided by `planes_per_row`.
    pub groups_per_die: u32,
    /// Planes of a plane group, which multi-plane commands address together.
    pub planes_per_row: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data bytes of a page.
    pub page_size: Bytes,
    /// Pages that one program command writes: planes of the group, times the pages of a one-shot word line.
    pub pages_per_program: u32,
    bits_per_cell: u32,
    per_block_set: Divisor,
    per_group: Divisor,
    per_die: Divisor,
}

/// Division by a number that is known only at run time, done as a multiplication. It is exact for every `u32`
/// dividend (Granlund and Montgomery, PLDI 1994, with a 64-bit reciprocal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    by: u32,
    reciprocal: u64,
}

impl Divisor {
    pub(crate) fn new(by: u32) -> Self {
        Self { by, reciprocal: if by == 1 { 0 } else { u64::MAX / u64::from(by) + 1 } }
    }

    #[inline]
    pub(crate) fn by(self) -> u32 {
        self.by
    }

    #[inline]
    pub(crate) fn quotient(self, n: u32) -> u32 {
        if self.by == 1 {
            return n;
        }
        ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u32
    }

    #[inline]
    pub(crate) fn both(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }
}

impl Layout {
    /// The geometry of this layout with dies of `part`, or all complaints.
    pub fn check(&self, part: &Part) -> Result<Geometry, Complaints> {
        let mut wrong = Complaints::default();
        for (key, value, most) in [
            ("channels", self.channels, 128),
            ("packages_per_channel", self.packages_per_channel, 64),
            ("dies_per_package", self.dies_per_package, 64),
        ] {
            wrong.require((1..=most).contains(&value), key, value, format!("from 1 to {most}"));
        }
        let short = self.short_channels;
        wrong.require(
            short == 0 || short < self.channels && self.packages_per_channel > 1,
            "short_channels",
            short,
            "fewer than layout.channels, each with two packages or more; or 0",
        );
        let g = &part.geometry;
        let planes_per_row = self.planes_per_row.unwrap_or(g.planes);
        wrong.require(
            planes_per_row == 1 || planes_per_row == g.planes,
            "planes_per_row",
            planes_per_row,
            format!("1, or all {} planes of the part", g.planes),
        );
        // Within these bounds the product below does not overflow. Beyond them it would add a second
        // complaint about the same key.
        wrong = wrong.into_result(Complaints::default())?;
        let packages = u64::from(self.channels) * u64::from(self.packages_per_channel) - u64::from(short);
        let dies = packages * u64::from(self.dies_per_package);
        let pages = dies * u64::from(g.planes) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block);
        wrong.require(
            pages < 1 << 31,
            "channels",
            format!("{pages} pages in all"),
            "fewer than 2^31 pages: take fewer dies or larger pages",
        );
        wrong.into_result(())?;
        let per_block_set = g.pages_per_block * planes_per_row;
        Ok(Geometry {
            first: FirstIds::default(),
            channels: self.channels,
            dies_per_channel: self.packages_per_channel * self.dies_per_package,
            short_channels: short,
            missing_dies: self.dies_per_package,
            groups_per_die: g.planes / planes_per_row,
            planes_per_row,
            blocks_per_plane: g.blocks_per_plane,
            pages_per_block: g.pages_per_block,
            page_size: g.page_size,
            pages_per_program: part.pages_per_program() * planes_per_row,
            bits_per_cell: g.bits_per_cell,
            per_block_set: Divisor::new(per_block_set),
            per_group: Divisor::new(g.blocks_per_plane),
            per_die: Divisor::new((g.planes / planes_per_row) * g.blocks_per_plane),
        })
    }
}

impl Geometry {
    /// The same dies, numbered from `first` on.
    pub fn from(self, first: FirstIds) -> Self {
        Self { first, ..self }
    }

    /// The first numbers after these dies, on channels from `channel` on.
    pub fn end(&self, channel: u32) -> FirstIds {
        let FirstIds { die, row, block, page, .. } = self.first;
        FirstIds {
            channel,
            die: die + self.dies(),
            row: row + self.rows(),
            block: block + self.block_sets(),
            page: page + self.pages(),
        }
    }

    /// Number of dies.
    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel - self.short_channels * self.missing_dies
    }

    /// Dies on channel `channel`, counted from 0 within these dies.
    pub fn dies_on(&self, channel: u32) -> u32 {
        let is_short = channel + self.short_channels >= self.channels;
        self.dies_per_channel - if is_short { self.missing_dies } else { 0 }
    }

    /// The first die on channel `channel`, both counted from 0 within these dies.
    pub fn first_die_on(&self, channel: u32) -> u32 {
        let short = (channel + self.short_channels).saturating_sub(self.channels);
        channel * self.dies_per_channel - short * self.missing_dies
    }

    /// Number of plane groups; each opens blocks and collects garbage independently.
    pub fn rows(&self) -> u32 {
        self.dies() * self.groups_per_die
    }

    /// The first plane group.
    pub fn first_group(&self) -> PlaneGroupId {
        PlaneGroupId(self.first.row)
    }

    /// All plane groups.
    pub fn all_groups(&self) -> impl DoubleEndedIterator<Item = PlaneGroupId> + Clone + use<> {
        (self.first.row..self.first.row + self.rows()).map(PlaneGroupId)
    }

    /// All dies.
    pub fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        (self.first.die..self.first.die + self.dies()).map(DieId)
    }

    /// All block sets.
    pub fn all_blocks(&self) -> impl Iterator<Item = BlockSetId> + use<> {
        (self.first.block..self.first.block + self.block_sets()).map(BlockSetId)
    }

    /// Number of block sets.
    pub fn block_sets(&self) -> u32 {
        self.rows() * self.blocks_per_plane
    }

    /// Pages of a block set.
    #[inline]
    pub fn pages_per_block_set(&self) -> u32 {
        self.per_block_set.by
    }

    /// Number of pages.
    pub fn pages(&self) -> u32 {
        self.block_sets() * self.pages_per_block_set()
    }

    /// Data bytes of all pages.
    pub fn capacity(&self) -> Bytes {
        self.page_size * u64::from(self.pages())
    }

    /// The channel of `die`.
    #[inline]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        let die = die.0 - self.first.die;
        if self.short_channels == 0 {
            return ChannelId(self.first.channel + die / self.dies_per_channel);
        }
        let long = self.channels - self.short_channels;
        let on_long = long * self.dies_per_channel;
        let channel = match die < on_long {
            true => die / self.dies_per_channel,
            false => long + (die - on_long) / (self.dies_per_channel - self.missing_dies),
        };
        ChannelId(self.first.channel + channel)
    }

    /// The block set that holds `page`, and the offset of the page in it.
    #[inline]
    pub fn split(&self, page: PageId) -> (BlockSetId, u32) {
        let (block, offset) = self.per_block_set.both(page.0 - self.first.page);
        (BlockSetId(self.first.block + block), offset)
    }

    /// The block set that holds `page`.
    #[inline]
    pub fn block_of(&self, page: PageId) -> BlockSetId {
        BlockSetId(self.first.block + self.per_block_set.quotient(page.0 - self.first.page))
    }

    /// The die that holds `block`.
    #[inline]
    pub fn die_of(&self, block: BlockSetId) -> DieId {
        DieId(self.first.die + self.per_die.quotient(block.0 - self.first.block))
    }

    /// The plane group that holds `block`.
    #[inline]
    pub fn group_of(&self, block: BlockSetId) -> PlaneGroupId {
        PlaneGroupId(self.first.row + self.per_group.quotient(block.0 - self.first.block))
    }

    /// The number of `block` in its planes.
    #[inline]
    pub fn number_of(&self, block: BlockSetId) -> u32 {
        (block.0 - self.first.block) % self.blocks_per_plane
    }

    /// The plane groups of `die`.
    pub fn groups_of(&self, die: DieId) -> impl Iterator<Item = PlaneGroupId> + Clone + use<> {
        (self.first_group_of(die).0..).take(self.groups_per_die as usize).map(PlaneGroupId)
    }

    /// The first plane group of `die`.
    pub fn first_group_of(&self, die: DieId) -> PlaneGroupId {
        PlaneGroupId(self.first.row + (die.0 - self.first.die) * self.groups_per_die)
    }

    /// The die of the plane group `row`.
    #[inline]
    pub fn die_of_group(&self, row: PlaneGroupId) -> DieId {
        DieId(self.first.die + (row.0 - self.first.row) / self.groups_per_die)
    }

    /// The page at `offset` in `block`.
    #[inline]
    pub fn page(&self, block: BlockSetId, offset: u32) -> PageId {
        PageId(self.first.page + (block.0 - self.first.block) * self.per_block_set.by + offset)
    }

    /// The first block set of a plane group; its block sets have consecutive numbers.
    pub fn first_block(&self, row: PlaneGroupId) -> BlockSetId {
        BlockSetId(self.first.block + (row.0 - self.first.row) * self.blocks_per_plane)
    }

    /// The block sets of a plane group.
    pub fn blocks_of(&self, row: PlaneGroupId) -> impl Iterator<Item = BlockSetId> + Clone + use<> {
        (self.first_block(row).0..).take(self.blocks_per_plane as usize).map(BlockSetId)
    }

    /// The number, within its block, of the page at `offset` in a block set. Pages with the same number in
    /// the planes of a group have adjacent offsets, so that one multi-plane command can read them.
    #[inline]
    pub fn page_in_block(&self, offset: u32) -> u32 {
        offset / self.planes_per_row
    }

    /// Whether `next` is the page after `page` in its block and plane.
    pub fn follows(&self, page: PageId, next: PageId) -> bool {
        next.0 == page.0 + self.planes_per_row && self.block_of(page) == self.block_of(next)
    }

    /// The blocks of the block set `block` in `planes` of its plane group, computed lazily.
    #[inline]
    pub fn plane_blocks(
        &self,
        block: BlockSetId,
        planes: Range<u32>,
    ) -> impl Iterator<Item = PlaneBlock> + '_ {
        planes.map(move |plane| {
            let (die, within) = self.per_die.both(block.0 - self.first.block);
            let (row, number) = (within / self.blocks_per_plane, within % self.blocks_per_plane);
            let block = (number * self.groups_per_die + row) * self.planes_per_row + plane;
            PlaneBlock { die: DieId(self.first.die + die), block }
        })
    }

    /// Pages of a word line.
    pub fn bits_per_cell(&self) -> u32 {
        self.bits_per_cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::mqsim;
    use proptest::prelude::*;

    #[test]
    fn every_block_of_every_plane_is_in_one_block_set() {
        for planes_per_row in [1, 2] {
            let layout = Layout {
                channels: 2,
                packages_per_channel: 1,
                dies_per_package: 2,
                short_channels: 0,
                planes_per_row: Some(planes_per_row),
            };
            let geometry = layout.check(&mqsim()).expect("the layout is sound");
            let block_sets = (0..geometry.block_sets()).map(BlockSetId);
            let mut found: Vec<PlaneBlock> =
                block_sets.flat_map(|block| geometry.plane_blocks(block, 0..planes_per_row)).collect();
            found.sort();
            let all = (0..4).flat_map(|die| (0..32).map(move |block| (DieId(die), block)));
            let all: Vec<PlaneBlock> = all.map(|(die, block)| PlaneBlock { die, block }).collect();
            assert_eq!(found, all, "{planes_per_row} planes a row");
        }
    }

    #[test]
    fn the_last_channels_may_have_a_package_less() {
        let layout = Layout {
            channels: 4,
            packages_per_channel: 2,
            dies_per_package: 1,
            short_channels: 1,
            planes_per_row: None,
        };
        let geometry = layout.check(&mqsim()).expect("the layout is sound");
        let channels: Vec<u32> = geometry.all_dies().map(|die| geometry.channel_of(die).0).collect();
        assert_eq!(channels, [0, 0, 1, 1, 2, 2, 3]);
        for channel in 0..4 {
            let on = channels.iter().filter(|of| **of == channel).count();
            assert_eq!(on, geometry.dies_on(channel) as usize);
            let first = channels.iter().position(|of| *of == channel).expect("each has one");
            assert_eq!(first, geometry.first_die_on(channel) as usize);
        }
        for (short_channels, packages_per_channel) in [(4, 2), (1, 1)] {
            let wrong = Layout { short_channels, packages_per_channel, ..layout }.check(&mqsim());
            assert_eq!(wrong.expect_err("a channel would be without a package").0[0].key, "short_channels");
        }
    }

    #[test]
    fn planes_are_the_lowest_part_of_a_block_number() {
        let geometry = Layout::on_one_channel(1, Some(2)).check(&mqsim()).expect("the layout is sound");
        let blocks: Vec<u32> = geometry.plane_blocks(BlockSetId(3), 0..2).map(|b| b.block).collect();
        assert_eq!(blocks, [6, 7]);
    }

    proptest! {
        #[test]
        fn a_divisor_divides(n in any::<u32>(), by in 1u32..=1 << 20) {
            prop_assert_eq!(Divisor::new(by).both(n), (n / by, n % by));
        }
    }

    #[test]
    fn a_divisor_divides_at_the_edges() {
        for by in [1, 2, 3, 7, 1 << 16, u32::MAX] {
            for n in [0, 1, by - 1, by, u32::MAX - 1, u32::MAX] {
                assert_eq!(Divisor::new(by).both(n), (n / by, n % by));
            }
        }
    }
}
