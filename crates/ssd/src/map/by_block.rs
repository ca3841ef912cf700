//! The steps of a block map as commands of the dies: what is copied from one block to another.

use wordline_kernel::Schedule;
use wordline_nand::{DieId, Location, PageId};

use crate::base::Base;
use crate::event::Event;
use crate::flash::{Class, Task, Ticket};
use crate::map::{Map, Moved};
use crate::policy::placement::Row;
use crate::space::StreamId;

impl Map {
    /// Where the unit of a row goes: to its place, where there is a block map.
    #[inline]
    pub(crate) fn take_place(&self, row: Row, stream: StreamId, pages: u32, base: &mut Base) -> Location {
        match self.by_block() {
            Some(map) => map.place_of_write(row),
            None => base.space.take(row, stream, pages),
        }
    }

    /// Queues the reads of a location that is copied: one for each of its page numbers.
    pub(crate) fn queue_copy_reads(
        &mut self,
        row: Row,
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
            let read = base.flash.read(die, calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), page);
            (read.location, read.planes) = (from, planes);
            read.bytes = locations.size.0 as u32 / commands;
            // The pages of a location are there once the last of them is.
            read.locations = u32::from(n + 1 == commands);
        }
        self.begin_step(row, commands);
        die
    }

    /// Queues the program of the page that the row holds, or of padding.
    pub(crate) fn queue_copy(
        &mut self,
        row: Row,
        to: Location,
        base: &mut Base,
        calendar: &impl Schedule<Event>,
    ) -> DieId {
        let held = self.by_block().map_or(&[][..], |map| map.held(row));
        let (copied, per_program) = (held.len() as u64, base.config.locations().per_program);
        let (die, stamps) =
            base.flash.program(calendar.now(), (Ticket::Reclaim(row), Class::Reclaim), to, per_program);
        held.iter().for_each(|moved| stamps[0] = moved.stamp);
        base.totals.gc_programs += copied;
        base.totals.padding += 1 - copied;
        self.begin_step(row, 1);
        die
    }

    /// A page was read to be copied; if it was not lost, nor written or discarded meanwhile, it is held.
    pub(crate) fn copy_read(&mut self, row: Row, read: &Task, base: &mut Base) {
        base.totals.gc_reads += u64::from(read.planes);
        let Task { location, locations, .. } = *read;
        if locations > 0 && base.space.is_valid(location) {
            let moved = Moved { stamp: base.flash.stamp(location), from: location };
            if let Some(map) = self.by_block_mut() {
                map.hold(row, moved);
            }
        }
    }

    /// A page that was copied is where it was written to.
    pub(crate) fn copied(&mut self, row: Row, to: Location, base: &mut Base) {
        let moved = self.by_block_mut().and_then(|map| map.take_held(row));
        if let Some(moved) = moved.filter(|moved| base.space.is_valid(moved.from)) {
            let place = |location| base.config.locations().split(location).1;
            debug_assert_eq!(place(to), place(Location(moved.stamp.logical)));
            self.relocate(moved, to, &mut base.space);
        }
        base.space.program_done(to);
    }

    /// A step of a block map that takes so many commands begins in a row.
    pub(crate) fn begin_step(&mut self, row: Row, commands: u32) {
        if let Some(map) = &mut self.by_block {
            map.begin(row, commands);
        }
    }
}
