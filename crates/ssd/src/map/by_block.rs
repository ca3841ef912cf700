//! The steps of a block map: the next step of a row, the pages copied from one block to another by commands of the dies, and the
//! reports of commands that are done or failed. Without a block map there are no steps, and reports go nowhere.

use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Location, PageId, RowId};

use crate::base::Base;
use crate::event::Event;
use crate::flash::{Class, Purpose, Task, Ticket};
use crate::map::block_map::Step;
use crate::map::{LogicalPage, Map, Moved};
use crate::space::StreamId;

impl Map {
    /// Where the unit of a row goes: to its place, where there is a block map.
    #[inline]
    pub(crate) fn take_place(&self, row: RowId, stream: StreamId, pages: u32, base: &mut Base) -> Location {
        match self.by_block() {
            Some(map) => map.place_of_write(row),
            None => base.take(row, stream, pages),
        }
    }

    /// The pages of a row that are held to be copied, where there is a block map.
    pub(crate) fn copies(&self, row: RowId) -> Option<&[Moved]> {
        self.by_block().map(|map| map.held(row))
    }

    /// Queues the reads of a location that is copied: one for each of its page numbers.
    fn queue_copy_reads(
        &mut self,
        row: RowId,
        from: Location,
        base: &mut Base,
        calendar: &impl Schedule<Event>,
    ) -> DieId {
        let (geometry, locations) = (base.config.geometry(), *base.config.locations());
        let (first, pages) = (locations.page_of(from), locations.pages());
        let die = geometry.die_of(locations.block_of(from));
        let planes = pages.min(geometry.planes_per_row);
        let commands = pages / planes;
        for n in 0..commands {
            let page = PageId(first.0 + n * planes);
            let read = base.flash.read(
                die,
                calendar.now(),
                (Ticket::Reclaim(row, Purpose::Cleaning), Class::Reclaim),
                page,
            );
            (read.location, read.planes) = (from, planes);
            read.bytes = locations.size.0 as u32 / commands;
            // The pages of a location are there once the last of them is.
            read.locations = u32::from(n + 1 == commands);
        }
        self.begin_step(row, commands);
        die
    }

    /// Queues the program of the page that the row holds, or of padding.
    fn queue_copy(
        &mut self,
        row: RowId,
        to: Location,
        base: &mut Base,
        calendar: &impl Schedule<Event>,
    ) -> DieId {
        let held = self.copies(row).unwrap_or_default();
        let (copied, per_program) = (held.len() as u64, base.config.locations().per_program);
        let (die, stamps) = base.flash.program(
            calendar.now(),
            (Ticket::Reclaim(row, Purpose::Cleaning), Class::Reclaim),
            to,
            per_program,
        );
        held.iter().for_each(|moved| stamps[0] = moved.stamp);
        base.totals.gc_programs += copied;
        base.totals.padding += 1 - copied;
        self.begin_step(row, 1);
        die
    }

    /// A location is moved inside its planes.
    pub(crate) fn begin_move(&mut self, row: RowId, from: Location, base: &mut Base) {
        self.hold(row, Moved { stamp: base.flash.stamp(from), from });
        base.totals.gc_programs += 1;
        base.totals.gc_copied += 1;
        self.begin_step(row, 1);
    }

    /// A page was read to be copied; if it was not lost, nor written or discarded meanwhile, it is held.
    pub(crate) fn copy_read(&mut self, row: RowId, read: &Task, base: &mut Base) {
        base.totals.gc_reads += u64::from(read.planes);
        let Task { location, locations, .. } = *read;
        if locations > 0 && base.space.is_valid(location) {
            let moved = Moved { stamp: base.flash.stamp(location), from: location };
            self.hold(row, moved);
        }
    }

    /// A page that was copied is where it was written to.
    pub(crate) fn copied(&mut self, row: RowId, to: Location, base: &mut Base) {
        let moved = self.by_block.as_mut().and_then(|map| map.take_held(row));
        if let Some(moved) = moved.filter(|moved| base.space.is_valid(moved.from)) {
            let place = |location| base.config.locations().split(location).1;
            debug_assert_eq!(place(to), place(Location(moved.stamp.logical)));
            self.relocate(moved, to, &mut base.space);
        }
        base.space.program_done(to);
    }

    /// The next step of the block map in a row where a page may wait to be written. A row that cannot go on ends the life of the
    /// device.
    pub(crate) fn next_step(
        &mut self,
        row: RowId,
        waiting: Option<LogicalPage>,
        base: &mut Base,
    ) -> Option<Step> {
        let map = self.by_block.as_mut()?;
        let step = map.next(row, waiting, &mut base.space, base.flash.chips());
        let step = match step {
            Some(Step::Read { from }) if base.config.file.ftl.gc.moves_inside() => {
                let to = map.place_of_copy(row, &mut base.space, base.flash.chips());
                Some(Step::Move { from, to })
            }
            step => step,
        };
        base.life.read_only |= step.is_none() && map.is_stuck(row);
        step
    }

    /// Queues the command that a block map wants next in a row where a page may wait to be written; true if it wants that page written,
    /// of which nothing is queued.
    pub(crate) fn work_on(
        &mut self,
        row: RowId,
        waiting: Option<LogicalPage>,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        while let Some(step) = self.next_step(row, waiting, base) {
            let die = match step {
                Step::Write { .. } => return true,
                Step::Retire { block } => {
                    base.space.retire(block);
                    continue;
                }
                Step::Read { from } => self.queue_copy_reads(row, from, base, calendar),
                Step::Program { to } => self.queue_copy(row, to, base, calendar),
                Step::Move { from, to } => {
                    self.begin_move(row, from, base);
                    base.flash.move_inside(
                        calendar.now(),
                        (Ticket::Reclaim(row, Purpose::Cleaning), Class::Reclaim),
                        from,
                        to,
                    )
                }
                Step::Erase { block } => {
                    self.begin_step(row, 1);
                    base.flash.erase(
                        calendar.now(),
                        (Ticket::Reclaim(row, Purpose::Cleaning), Class::Reclaim),
                        block,
                    )
                }
            };
            base.kick(die, calendar);
            return false;
        }
        false
    }

    /// Whether a row of a block map has nothing to do but what the host asks for.
    pub(crate) fn is_at_rest(&self, row: RowId) -> bool {
        self.by_block().is_some_and(|map| map.is_at_rest(row))
    }

    /// Whether a block is full of data that a block map can move to another one.
    pub(crate) fn may_move(&self, block: BlockSetId, base: &Base) -> bool {
        self.by_block().is_some_and(|map| map.may_move(block, &base.space))
    }

    /// The data of a block of a row are moved before anything else is written there.
    pub(crate) fn move_still(&mut self, row: RowId, block: BlockSetId, base: &Base) {
        if let Some(map) = &mut self.by_block {
            map.move_still(row, block, &base.space, base.flash.chips());
        }
    }

    /// Whether a merge in a row frees a block.
    pub(crate) fn merge_gains(&self, row: RowId, base: &Base) -> bool {
        self.by_block().is_some_and(|map| map.gains(row, &base.space, base.flash.chips()))
    }

    /// A logical block of a row is merged while the host is idle.
    pub(crate) fn merge_ahead(&mut self, row: RowId, base: &mut Base) {
        if let Some(map) = &mut self.by_block {
            map.merge_ahead(row, &mut base.space, base.flash.chips());
        }
    }

    /// The host is at work: a merge in a row that goes on only while it is not stops.
    pub(crate) fn put_merge_aside(&mut self, row: RowId) {
        if let Some(map) = &mut self.by_block {
            map.put_aside(row);
        }
    }

    /// Whether each page has a place by its number, that of a table as well.
    #[inline]
    pub(crate) fn gives_places(&self) -> bool {
        self.by_block.is_some()
    }

    /// A page was read to be copied in a row.
    fn hold(&mut self, row: RowId, moved: Moved) {
        if let Some(map) = &mut self.by_block {
            map.hold(row, moved);
        }
    }

    /// A page of the host, or of a table, is in flash in a row.
    #[inline]
    pub(crate) fn page_written(&mut self, row: RowId) {
        if let Some(map) = &mut self.by_block {
            map.page_written(row);
        }
    }

    /// A command of a step is done; whether it was one of a block map.
    pub(crate) fn command_done(&mut self, row: RowId) -> bool {
        self.by_block.as_mut().map(|map| map.command_done(row)).is_some()
    }

    /// A program failed in a block.
    pub(crate) fn program_failed(&mut self, row: RowId, block: BlockSetId) {
        if let Some(map) = &mut self.by_block {
            map.program_failed(row, block);
        }
    }

    /// The erase of a block failed and is tried again; whether a block map does that.
    pub(crate) fn erase_again(&mut self, row: RowId, block: BlockSetId) -> bool {
        self.by_block.as_mut().map(|map| map.erase_again(row, block)).is_some()
    }

    /// A block is to be emptied and taken out of use; whether a block map does that.
    pub(crate) fn condemned(&mut self, row: RowId, block: BlockSetId) -> bool {
        self.by_block.as_mut().map(|map| map.condemned(row, block)).is_some()
    }

    /// A row is out of use as a whole, with all its blocks.
    pub(crate) fn lose_row(&mut self, row: RowId, base: &Base) {
        if let Some(map) = &mut self.by_block {
            map.lose(row, &base.space);
        }
    }

    /// Finds the blocks of logical blocks after a power cut, once it is known which pages are valid.
    pub(crate) fn find_blocks(&mut self, base: &mut Base) {
        if let Some(map) = &mut self.by_block {
            map.rebuild(&mut base.space, base.flash.chips());
        }
    }

    /// A step of a block map that takes this many commands begins in a row.
    fn begin_step(&mut self, row: RowId, commands: u32) {
        if let Some(map) = &mut self.by_block {
            map.begin(row, commands);
        }
    }
}
