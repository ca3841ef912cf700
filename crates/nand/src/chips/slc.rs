//! Blocks that are used with one bit a cell: each word line holds one page, and the times are those of the SLC mode.
//!
//! The pages of such a block are numbered by its word lines, so that it has as many of them as it has word lines, and
//! the numbers beyond are not used. The prefix that puts one operation into SLC mode is not counted on the bus: a latch
//! cycle beside the transfer of whole pages.

use wordline_kernel::{Column, state};

use super::Chips;
use super::die::Die;
use super::times::Times;
use crate::geometry::{BlockSetId, DieId, PageId};
use crate::{Part, Pool, Pools};

/// The SLC mode of a part, and the blocks that are in it.
#[derive(Clone, Debug)]
pub(super) struct SlcMode {
    part: Part,
    blocks: Column<BlockSetId, bool>,
}

state!(SlcMode { values { blocks } fixed { part } });

impl SlcMode {
    fn of(pools: &Pools) -> Option<Box<Self>> {
        let part = pools.first().part.in_slc_mode()?;
        let blocks = Column::filled(pools.block_sets() as usize, false);
        Some(Box::new(Self { part, blocks }))
    }
}

impl Chips {
    /// Lets blocks of the first pool be used in SLC mode from now on; false if its part has none.
    pub fn offer_slc_mode(&mut self) -> bool {
        self.slc = SlcMode::of(&self.pools);
        self.times.truncate(self.pools.count());
        if let Some(slc) = &self.slc {
            self.times.push(Times::of(&slc.part, &self.pools.first().geometry, &self.wiring));
        }
        self.slc.is_some()
    }

    /// Says in which mode the programs, reads and the next erase of an erased block are, once SLC mode is offered.
    pub fn set_slc(&mut self, block: BlockSetId, is_slc: bool) {
        if let Some(slc) = &mut self.slc {
            let erased = self.pages.programmed[block] == 0;
            assert!(erased || slc.blocks[block] == is_slc, "a block changes its mode when it is erased");
            slc.blocks[block] = is_slc;
        }
    }

    /// Whether a block is in SLC mode.
    pub fn is_slc(&self, block: BlockSetId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.blocks[block])
    }

    /// Notes which times hold for the command that `die` has begun.
    #[inline(never)]
    pub(super) fn choose_times(&mut self, die: DieId) {
        let Die { pool, command, .. } = self.dies[die];
        let block = self.pool_of(die).geometry.block_of(command.page);
        let times = if self.is_slc(block) { self.pools.count() as u8 } else { pool };
        self.dies[die].times = times;
    }

    /// The part and the times that hold for `page`.
    pub(super) fn seen_at(&self, die: DieId, page: PageId) -> (&Part, &Times) {
        let Pool { part, geometry, .. } = self.pool_of(die);
        match &self.slc {
            Some(slc) if slc.blocks[geometry.block_of(page)] => (&slc.part, &self.times[self.pools.count()]),
            _ => (part, &self.times[usize::from(self.dies[die].pool)]),
        }
    }

    /// Pages that a program of `page` writes in each plane.
    #[inline]
    pub(super) fn pages_per_program(&self, die: DieId, page: PageId) -> u32 {
        let Pool { part, geometry, .. } = self.pool_of(die);
        match &self.slc {
            Some(slc) if slc.blocks[geometry.block_of(page)] => 1,
            _ => part.pages_per_program(),
        }
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::{Bytes, Calendar, Duration, Schedule};

    use super::*;
    use crate::chips::{Command, Done, Operation, Stamp};
    use crate::geometry::{DieId, Layout};
    use crate::part::SlcTiming;
    use crate::part::tests::mqsim_file;
    use crate::slots::SlotId;

    /// A die of a one-shot part of three bits a cell with an SLC mode, its planes tied.
    fn chips() -> Chips {
        let us = Duration::from_us;
        let mut file = mqsim_file();
        (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
        file.timing.slc = Some(SlcTiming { read: us(20), program: us(200), erase: us(2_000) });
        let part = file.check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(2)).check(&part).expect("the layout is sound");
        let mut chips = Chips::new(Pools::of_pages(part, geometry));
        assert!(chips.offer_slc_mode());
        chips
    }

    fn carry_out(
        chips: &mut Chips,
        calendar: &mut Calendar<crate::chips::Event>,
        operation: Operation,
        block: u32,
        n: u32,
    ) -> (Duration, Done) {
        let begin = calendar.now();
        let page = chips.geometry().page(BlockSetId(block), n);
        chips.registers(DieId(0)).fill(Stamp { logical: block, version: 1 });
        let command = Command { operation, page, planes: 2, bytes: Bytes::kib(16) };
        chips.begin(DieId(0), command, calendar);
        loop {
            let event = calendar.advance().expect("the command ends");
            if let Some(done) = chips.handle(event, calendar) {
                return (calendar.now() - begin, done);
            }
        }
    }

    #[test]
    fn a_block_in_slc_mode_holds_a_page_a_word_line_and_has_times_of_its_own() {
        let mut chips = chips();
        chips.set_slc(BlockSetId(1), true);
        let us = Duration::from_us;
        let (mut arrays, mut calendar) = (Vec::new(), Calendar::new());
        for block in [0, 1] {
            for operation in [Operation::Program, Operation::Read, Operation::Erase] {
                let (time, done) = carry_out(&mut chips, &mut calendar, operation, block, 0);
                assert_eq!(time, done.bus + done.array);
                arrays.push((done.array, done.bus));
            }
        }
        let array: Vec<Duration> = arrays.iter().map(|(array, _)| *array).collect();
        assert_eq!(array, [us(750), us(75), us(3_800), us(200), us(20), us(2_000)]);
        assert!(arrays[0].1.ps() > 2 * arrays[3].1.ps(), "six pages cross the bus, or two");
        assert_eq!(arrays[1].1, arrays[4].1, "as many bytes are read");
        assert_eq!(chips.counts().pages_programmed, 6 + 2);
    }

    #[test]
    fn the_pages_of_a_block_in_slc_mode_are_numbered_by_word_lines() {
        let mut chips = chips();
        chips.set_slc(BlockSetId(0), true);
        let mut calendar = Calendar::new();
        for n in 0..4 {
            carry_out(&mut chips, &mut calendar, Operation::Program, 0, 2 * n);
        }
        assert_eq!(chips.programmed(BlockSetId(0)), 8);
        assert_eq!(chips.stamp(SlotId(7)).logical, 0);
        assert_eq!(chips.stamp(SlotId(8)), Stamp::ERASED);
        carry_out(&mut chips, &mut calendar, Operation::Erase, 0, 0);
        chips.set_slc(BlockSetId(0), false);
        carry_out(&mut chips, &mut calendar, Operation::Program, 0, 0);
        assert_eq!(chips.programmed(BlockSetId(0)), 6);
    }
}
