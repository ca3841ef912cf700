//! Block-level mapping as die commands: the next step of a plane group, copies of pages between blocks, and
//! the handling of completed or failed commands.

use wordline_flash::{Class, Flash, Purpose, Task, Ticket};
use wordline_kernel::Instant;
use wordline_nand::{BlockSetId, Chips, DieId, Location, PageId, PlaneGroupId, Pool};

use super::{BlockMap, Step};
use crate::blocks::BlockManager;
use crate::health::DeviceHealth;
use crate::map::{LogicalPage, Map, Relocation};
use crate::totals::Totals;

/// Ticket and class of the commands of a plane group's step.
fn ticket(row: PlaneGroupId) -> (Ticket, Class) {
    (Ticket::Gc(row, Purpose::Collecting), Class::Gc)
}

impl BlockMap {
    /// Destination of the page that is being written.
    pub fn write_target(&self, row: PlaneGroupId) -> Location {
        self.rows[row].write.expect("the row's step is a write")
    }

    /// Pages of a plane group that were read and must be copied.
    pub(crate) fn copies(&self, row: PlaneGroupId) -> &[Relocation] {
        &self.rows[row].held
    }

    /// Queues the reads of a location that is copied, one for each of its page numbers.
    fn queue_copy_reads(
        &mut self,
        row: PlaneGroupId,
        from: Location,
        blocks: &BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        let Pool { geometry, locations, .. } = blocks.pools().first();
        let (first, pages) = (locations.page_of(from), locations.pages());
        let die = geometry.die_of(locations.block_of(from));
        let planes = pages.min(geometry.planes_per_row);
        let commands = pages / planes;
        for n in 0..commands {
            let page = PageId(first.0 + n * planes);
            let read = flash.read(die, now, ticket(row), page);
            (read.location, read.planes) = (from, planes);
            read.bytes = locations.size.0 as u32 / commands;
            // The data of a location are available after its last page.
            read.locations = u32::from(n + 1 == commands);
        }
        self.rows[row].begin(commands);
        die
    }

    /// Queues the program of the page that a plane group copies, or of padding. Returns the die.
    fn queue_copy(
        &mut self,
        row: PlaneGroupId,
        to: Location,
        blocks: &BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        let per_program = blocks.pools().first().locations.per_program;
        let (die, stamps) = flash.program(now, ticket(row), to, per_program);
        self.copies(row).iter().for_each(|moved| stamps[0] = moved.stamp);
        self.rows[row].begin(1);
        die
    }

    /// Stores a page that was read for copying, unless it was lost, overwritten or discarded meanwhile.
    pub fn copy_read(&mut self, row: PlaneGroupId, read: &Task, blocks: &BlockManager, flash: &Flash) {
        let Task { location, locations, .. } = *read;
        if locations > 0 && blocks.table().is_valid(location) {
            let moved = Relocation { stamp: flash.stamp(location), from: location };
            self.rows[row].held.push(moved);
        }
    }

    /// Maps a copied page to its new location.
    pub fn copied(&mut self, row: PlaneGroupId, to: Location, map: &mut Map, blocks: &mut BlockManager) {
        let moved = self.rows[row].held.pop();
        if let Some(moved) = moved.filter(|moved| blocks.table().is_valid(moved.from)) {
            let place = |location| blocks.pools().first().locations.split(location).1;
            debug_assert_eq!(place(to), place(Location(moved.stamp.logical)));
            map.relocate(moved, to, blocks);
            self.rows[row].note_copied_from(blocks.pools().block_of(moved.from));
        }
        blocks.program_done(to);
    }

    /// Destination of the page that is copied next.
    fn copy_target(&self, row: PlaneGroupId, blocks: &mut BlockManager, chips: &Chips) -> Location {
        let into = self.rows[row].copying.expect("the row's step is a copy").into;
        blocks.program_at(into, chips.programmed(into))
    }

    /// Next step of block-level mapping in a plane group. `waiting` is the page that waits to be written, if
    /// any. If the plane group is stuck, the device becomes read-only.
    pub fn next_step(
        &mut self,
        row: PlaneGroupId,
        waiting: Option<LogicalPage>,
        blocks: &mut BlockManager,
        chips: &Chips,
        health: &mut DeviceHealth,
    ) -> Option<Step> {
        let step = self.next(row, waiting, blocks, chips);
        let step = match step {
            Some(Step::Read { from }) if self.uses_copyback => {
                let to = self.copy_target(row, blocks, chips);
                Some(Step::Copyback { from, to })
            }
            step => step,
        };
        health.read_only |= step.is_none() && self.rows[row].is_stuck();
        step
    }

    /// Counts what a step queues: programs, and the erase of a block of which nothing was copied.
    pub(crate) fn count(&mut self, row: PlaneGroupId, step: Step, totals: &mut Totals) {
        match step {
            Step::Program { .. } => {
                let copied = self.copies(row).len() as u64;
                totals.gc_programs += copied;
                totals.padding += 1 - copied;
            }
            Step::Copyback { .. } => {
                totals.gc_programs += 1;
                totals.gc_copied += 1;
            }
            Step::Erase { block } => {
                totals.gc_empty_victims += u64::from(!self.rows[row].take_copied_from(block));
            }
            _ => {}
        }
    }

    /// Queues the command of a step that takes time and is no write of a host page. Returns its die.
    pub(crate) fn queue(
        &mut self,
        row: PlaneGroupId,
        step: Step,
        blocks: &BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> DieId {
        match step {
            Step::Read { from } => self.queue_copy_reads(row, from, blocks, flash, now),
            Step::Program { to } => self.queue_copy(row, to, blocks, flash, now),
            Step::Copyback { from, to } => {
                self.rows[row].held.push(Relocation { stamp: flash.stamp(from), from });
                self.rows[row].begin(1);
                flash.relocate_inside(now, ticket(row), from, to)
            }
            Step::Erase { block } => {
                self.rows[row].begin(1);
                flash.erase(now, ticket(row), block)
            }
            Step::Write { .. } | Step::Retire { .. } => unreachable!("{step:?} queues nothing here"),
        }
    }

    /// Records that a page of the host or of a table was programmed in a plane group.
    #[inline]
    pub fn page_written(&mut self, row: PlaneGroupId) {
        self.rows[row].note_progress();
    }

    /// Records that a command of a plane group's step is done.
    pub fn command_done(&mut self, row: PlaneGroupId) {
        self.rows[row].command_done();
    }

    /// Handles a failed program in a block: the valid pages of its logical block are merged into another
    /// block. Pages have fixed offsets, so the merge programs as many pages as a block has. Each of these
    /// programs may fail again. The plane group gives up after
    /// [`MOST_FAILURES`](wordline_flash::policy::failure::MOST_FAILURES) failures without a written host page
    /// in between.
    pub fn program_failed(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.rows[row].program_failed();
        let logical = self.logical.owner(block).expect("a block that is programmed is of a logical block");
        self.logical.note_failed(logical, block);
        self.rows[row].queue_merge(logical);
    }

    /// Queues a block for another erase, after an erase of it failed.
    pub fn erase_again(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.rows[row].to_erase.push_back(block);
    }

    /// Queues a merge for a block that is pending retirement.
    pub fn pending_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(logical) = self.logical.owner(block) {
            self.rows[row].queue_merge(logical);
        }
    }

    /// Clears a plane group that is out of service, with all its blocks.
    pub fn lose(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        self.logical.lose(row, blocks);
        self.rows[row].lose();
    }
}
