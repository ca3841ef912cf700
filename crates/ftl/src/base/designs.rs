//! Queries and notifications to designs that only need `Base`.

use wordline_device::Command;
use wordline_flash::policy::failure::{Failure, FailureAction};
use wordline_flash::{Flash, Task, Ticket};
use wordline_nand::{BlockSetId, CommandCompletion, Location, Operation, PlaneGroupId};

use super::{Base, Piece};
use crate::HostWrite;
use crate::blocks::{BlockManager, StreamId, SuspendedBlocks, WordLineSelector};
use crate::design::{
    BufferOccupancy, DesignContext, DeviceEvent, EventMask, ExtensionPoint, Maintenance, ProgramSource,
};
use crate::parts::Policies;
use crate::policy::frontier::OpenBlock;
use crate::policy::placement::PlaneGroupSet;

/// Policies and designs that select the next word line of a stream, and the flash that they see.
struct PolicySelector<'a> {
    flash: &'a Flash,
    policies: &'a mut Policies,
}

impl WordLineSelector for PolicySelector<'_> {
    fn next(&mut self, open: &[OpenBlock<'_>], blocks: &BlockManager) -> (usize, u32) {
        self.policies.next_word_line(open, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_suspend(open, suspended, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_reclaim(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_reclaim(open, suspended, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_resume(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_resume(suspended, DesignContext { flash: self.flash, blocks })
    }
}

impl Base {
    /// Allocates the next `pages` of the stream's active block; see
    /// [`BlockManager::take`](crate::blocks::BlockManager).
    #[inline]
    pub fn take(&mut self, row: PlaneGroupId, stream: StreamId, pages: u32) -> Location {
        let Self { blocks, flash, policies, .. } = self;
        blocks.take(row, stream, pages, &mut PolicySelector { flash, policies })
    }

    /// Selects the word lines of a plane group to be reprogrammed next; see
    /// [`BlockManager::select_reprogram`](crate::blocks::BlockManager).
    pub fn select_reprogram(&mut self, row: PlaneGroupId) {
        let Self { blocks, flash, policies, .. } = self;
        blocks.select_reprogram(row, &mut PolicySelector { flash, policies });
    }

    /// Selects one of these plane groups. The set must not be empty.
    #[inline]
    pub fn place(&mut self, rows: &PlaneGroupSet) -> PlaneGroupId {
        let Self { blocks, flash, policies, .. } = self;
        policies.place(rows, DesignContext { flash, blocks })
    }

    /// Whether a design decides when pages that may stay in the buffer are destaged.
    #[inline]
    pub fn coalesces(&self) -> bool {
        self.policies.designs.decides(ExtensionPoint::Coalesce)
    }

    /// Queries the action after a command failed in a block.
    pub fn failure_action(&mut self, failure: &Failure) -> FailureAction {
        let Self { blocks, flash, policies, .. } = self;
        let pool = blocks.pools().number_of_group(blocks.table().group_of(failure.block));
        policies.failed(failure, pool, DesignContext { flash, blocks })
    }

    /// Notifies designs of an event, if one of them observes this kind.
    #[inline(always)]
    pub fn observe<'a>(&mut self, kind: EventMask, seen: impl FnOnce(&Self) -> DeviceEvent<'a>) {
        if self.policies.designs.observes(kind) {
            let seen = seen(self);
            self.notify_now(&seen);
        }
    }

    /// Notifies designs of an event, after the pending block events.
    #[inline(never)]
    pub fn notify_now(&mut self, seen: &DeviceEvent<'_>) {
        let Self { blocks, flash, policies, .. } = self;
        policies.designs.notify_after_pending(seen, DesignContext { flash, blocks });
    }

    /// Notifies designs of the pending block events.
    pub(crate) fn notify_pending(&mut self) {
        let Self { blocks, flash, policies, .. } = self;
        policies.designs.notify_pending(DesignContext { flash, blocks });
    }

    /// Notifies designs at the end of an event: of pending block events, and of a changed buffer occupancy.
    #[inline(never)]
    pub fn notify_end_of_event(&mut self, level: BufferOccupancy) {
        self.notify_pending();
        if self.policies.designs.is_new_level(level) {
            self.observe(EventMask::BUFFER, |_| DeviceEvent::Buffer { level });
        }
    }

    /// Work that a design requests.
    pub fn maintenance(&mut self) -> Option<Maintenance> {
        let Self { blocks, flash, policies, .. } = self;
        policies.maintenance(DesignContext { flash, blocks })
    }

    /// Notifies designs of a host write.
    #[inline(always)]
    pub fn notify_written(&mut self, piece: &Piece, command: &Command) {
        self.observe(EventMask::WRITTEN, |_| DeviceEvent::Written {
            page: piece.page,
            sectors: piece.count(),
            request: HostWrite::of(command),
        });
    }

    /// Notifies designs of a completed program.
    #[inline]
    pub fn notify_programmed(&mut self, task: &Task, done: &CommandCompletion, failed: bool) {
        if self.policies.designs.observes(EventMask::PROGRAMMED) {
            self.notify_program(task, done, failed);
        }
    }

    #[inline(never)]
    fn notify_program(&mut self, task: &Task, done: &CommandCompletion, failed: bool) {
        let Self { blocks, flash, policies, config, .. } = self;
        let locations = match task.operation {
            Operation::Program => task.locations,
            Operation::Read | Operation::Erase => return,
            // A copyback programs a whole unit.
            _ => config.pools.of_location(task.location).locations.per_program,
        };
        let of = match task.ticket {
            Ticket::Gc(..) => ProgramSource::Gc,
            Ticket::TableUnit(_) => ProgramSource::Tables,
            _ => ProgramSource::Host,
        };
        let (first, array, outcome) = (task.location, done.array, flash.chips().outcome(done));
        let seen = DeviceEvent::Programmed { first, locations, of, failed, array, outcome };
        policies.designs.notify_after_pending(&seen, DesignContext { flash, blocks });
    }

    /// Notifies designs of an erase.
    #[inline]
    pub(crate) fn notify_erased(&mut self, block: BlockSetId, done: &CommandCompletion) {
        if self.policies.designs.observes(EventMask::ERASED) {
            let Self { blocks, flash, policies, .. } = self;
            let chips = flash.chips();
            let (erases, array, outcome) = (chips.erases()[block], done.array, chips.outcome(done));
            let seen = DeviceEvent::Erased { block, erases, array, outcome };
            policies.designs.notify_after_pending(&seen, DesignContext { flash, blocks });
        }
    }
}
