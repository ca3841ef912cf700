//! Block-level mapping as die commands: the next step of a plane group, copies of pages between blocks, and
//! the handling of completed or failed commands. Without block-level mapping there are no steps, and these
//! functions do nothing.

use wordline_flash::{Class, Purpose, Task, Ticket};
use wordline_kernel::Schedule;
use wordline_nand::{BlockSetId, DieId, Location, PageId, PlaneGroupId};

use crate::base::Base;
use crate::blocks::StreamId;
use crate::event::Event;
use crate::map::block_map::Step;
use crate::map::{LogicalPage, Map, Relocation};

impl Map {
    /// Location for a program unit of a plane group. With block-level mapping the page determines it;
    /// otherwise it is allocated.
    #[inline]
    pub(crate) fn take_location(
        &self,
        row: PlaneGroupId,
        stream: StreamId,
        pages: u32,
        base: &mut Base,
    ) -> Location {
        match self.by_block() {
            Some(map) => map.write_target(row),
            None => base.take(row, stream, pages),
        }
    }

    /// Pages of a plane group that were read and must be copied; `None` without block-level mapping.
    pub(crate) fn copies(&self, row: PlaneGroupId) -> Option<&[Relocation]> {
        self.by_block().map(|map| map.held(row))
    }

    /// Queues the reads of a location that is copied, one for each of its page numbers.
    fn queue_copy_reads(
        &mut self,
        row: PlaneGroupId,
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
            let read =
                base.flash.read(die, calendar.now(), (Ticket::Gc(row, Purpose::Collecting), Class::Gc), page);
            (read.location, read.planes) = (from, planes);
            read.bytes = locations.size.0 as u32 / commands;
            // The data of a location are available after its last page.
            read.locations = u32::from(n + 1 == commands);
        }
        self.begin_step(row, commands);
        die
    }

    /// Queues the program of the page that a plane group copies, or of padding.
    fn queue_copy(
        &mut self,
        row: PlaneGroupId,
        to: Location,
        base: &mut Base,
        calendar: &impl Schedule<Event>,
    ) -> DieId {
        let held = self.copies(row).unwrap_or_default();
        let (copied, per_program) = (held.len() as u64, base.config.locations().per_program);
        let (die, stamps) = base.flash.program(
            calendar.now(),
            (Ticket::Gc(row, Purpose::Collecting), Class::Gc),
            to,
            per_program,
        );
        held.iter().for_each(|moved| stamps[0] = moved.stamp);
        base.totals.gc_programs += copied;
        base.totals.padding += 1 - copied;
        self.begin_step(row, 1);
        die
    }

    /// Begins a copyback of a location within its planes.
    pub(crate) fn begin_copyback(&mut self, row: PlaneGroupId, from: Location, base: &mut Base) {
        self.hold(row, Relocation { stamp: base.flash.stamp(from), from });
        base.totals.gc_programs += 1;
        base.totals.gc_copied += 1;
        self.begin_step(row, 1);
    }

    /// Stores a page that was read for copying, unless it was lost, overwritten or discarded meanwhile.
    pub(crate) fn copy_read(&mut self, row: PlaneGroupId, read: &Task, base: &mut Base) {
        base.totals.gc_reads += u64::from(read.planes);
        let Task { location, locations, .. } = *read;
        if locations > 0 && base.blocks.table().is_valid(location) {
            let moved = Relocation { stamp: base.flash.stamp(location), from: location };
            self.hold(row, moved);
        }
    }

    /// Maps a copied page to its new location.
    pub(crate) fn copied(&mut self, row: PlaneGroupId, to: Location, base: &mut Base) {
        let moved = self.by_block.as_mut().and_then(|map| map.take_held(row));
        if let Some(moved) = moved.filter(|moved| base.blocks.table().is_valid(moved.from)) {
            let place = |location| base.config.locations().split(location).1;
            debug_assert_eq!(place(to), place(Location(moved.stamp.logical)));
            self.relocate(moved, to, &mut base.blocks);
        }
        base.blocks.program_done(to);
    }

    /// Next step of block-level mapping in a plane group. `waiting` is the page that waits to be written, if
    /// any. If the plane group is stuck, the device becomes read-only.
    pub(crate) fn next_step(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        base: &mut Base,
    ) -> Option<Step> {
        let map = self.by_block.as_mut()?;
        let step = map.next(row, waiting, &mut base.blocks, base.flash.chips());
        let step = match step {
            Some(Step::Read { from }) if base.config.file.ftl.gc.uses_copyback() => {
                let to = map.copy_target(row, &mut base.blocks, base.flash.chips());
                Some(Step::Copyback { from, to })
            }
            step => step,
        };
        base.life.read_only |= step.is_none() && map.is_stuck(row);
        step
    }

    /// Queues the next command of block-level mapping in a plane group. `waiting` is the page that waits to
    /// be written, if any. Returns true if the next step is to write that page; nothing is queued then.
    pub(crate) fn work_on(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        while let Some(step) = self.next_step(row, waiting, base) {
            let die = match step {
                Step::Write { .. } => return true,
                Step::Retire { block } => {
                    base.blocks.retire(block);
                    continue;
                }
                Step::Read { from } => self.queue_copy_reads(row, from, base, calendar),
                Step::Program { to } => self.queue_copy(row, to, base, calendar),
                Step::Copyback { from, to } => {
                    self.begin_copyback(row, from, base);
                    base.flash.relocate_inside(
                        calendar.now(),
                        (Ticket::Gc(row, Purpose::Collecting), Class::Gc),
                        from,
                        to,
                    )
                }
                Step::Erase { block } => {
                    self.begin_step(row, 1);
                    base.flash.erase(calendar.now(), (Ticket::Gc(row, Purpose::Collecting), Class::Gc), block)
                }
            };
            base.start_die(die, calendar);
            return false;
        }
        false
    }

    /// Whether a plane group with block-level mapping has no pending work besides host requests.
    pub(crate) fn is_at_rest(&self, row: PlaneGroupId) -> bool {
        self.by_block().is_some_and(|map| map.is_at_rest(row))
    }

    /// Whether a block is full and block-level mapping can relocate its data.
    pub(crate) fn may_move(&self, block: BlockSetId, base: &Base) -> bool {
        self.by_block().is_some_and(|map| map.may_move(block, &base.blocks))
    }

    /// Relocates the data of a block before other data are written to the plane group.
    pub(crate) fn relocate_cold(&mut self, row: PlaneGroupId, block: BlockSetId, base: &Base) {
        if let Some(map) = &mut self.by_block {
            map.relocate_cold(row, block, &base.blocks, base.flash.chips());
        }
    }

    /// Whether a merge in a plane group frees a block.
    pub(crate) fn merge_gains(&self, row: PlaneGroupId, base: &Base) -> bool {
        self.by_block().is_some_and(|map| map.gains(row, &base.blocks, base.flash.chips()))
    }

    /// Begins to merge a logical block of a plane group while the host is idle.
    pub(crate) fn merge_while_idle(&mut self, row: PlaneGroupId, base: &mut Base) {
        if let Some(map) = &mut self.by_block {
            map.merge_while_idle(row, &mut base.blocks, base.flash.chips());
        }
    }

    /// Stops a merge that continues only while the host is idle.
    pub(crate) fn stop_background_merge(&mut self, row: PlaneGroupId) {
        if let Some(map) = &mut self.by_block {
            map.stop_merge(row);
        }
    }

    /// Whether each page, including table pages, has a fixed offset in its block.
    #[inline]
    pub(crate) fn has_fixed_offsets(&self) -> bool {
        self.by_block.is_some()
    }

    /// Stores a page that was read for copying in a plane group.
    fn hold(&mut self, row: PlaneGroupId, moved: Relocation) {
        if let Some(map) = &mut self.by_block {
            map.hold(row, moved);
        }
    }

    /// Records that a page of the host or of a table was programmed in a plane group.
    #[inline]
    pub(crate) fn page_written(&mut self, row: PlaneGroupId) {
        if let Some(map) = &mut self.by_block {
            map.page_written(row);
        }
    }

    /// Records that a command of a step is done. Returns whether block-level mapping is in use.
    pub(crate) fn command_done(&mut self, row: PlaneGroupId) -> bool {
        self.by_block.as_mut().map(|map| map.command_done(row)).is_some()
    }

    /// Records that a program failed in a block.
    pub(crate) fn program_failed(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(map) = &mut self.by_block {
            map.program_failed(row, block);
        }
    }

    /// Queues a failed erase again. Returns whether block-level mapping is in use.
    pub(crate) fn erase_again(&mut self, row: PlaneGroupId, block: BlockSetId) -> bool {
        self.by_block.as_mut().map(|map| map.erase_again(row, block)).is_some()
    }

    /// Records that a block is pending retirement. Returns whether block-level mapping handles it.
    pub(crate) fn pending_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) -> bool {
        self.by_block.as_mut().map(|map| map.pending_retirement(row, block)).is_some()
    }

    /// Records that a plane group is out of service.
    pub(crate) fn fail_group(&mut self, row: PlaneGroupId, base: &Base) {
        if let Some(map) = &mut self.by_block {
            map.lose(row, &base.blocks);
        }
    }

    /// Finds the blocks of each logical block after a power cut, when the valid pages are known.
    pub(crate) fn find_blocks(&mut self, base: &mut Base) {
        if let Some(map) = &mut self.by_block {
            map.rebuild(&mut base.blocks, base.flash.chips());
        }
    }

    /// Begins a step of this many commands in a plane group.
    fn begin_step(&mut self, row: PlaneGroupId, commands: u32) {
        if let Some(map) = &mut self.by_block {
            map.begin(row, commands);
        }
    }
}
