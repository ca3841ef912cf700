//! Queries and notifications to designs that only need `Base`.

use wordline_nand::{BlockSetId, Done, Location, Operation, RowId};

use super::{Base, Piece};
use crate::command::{Command, HostWrite};
use crate::config::BufferMode;
use crate::design::{Level, Observes, Seam, Seen, Sight, Writes};
use crate::flash::{Flash, Task, Ticket};
use crate::parts::Policies;
use crate::policy::failure::{After, Failure};
use crate::policy::frontier::OpenBlock;
use crate::policy::placement::RowSet;
use crate::space::{AnswersNext, Space, StreamId, SuspendedBlocks};

/// Policies and designs that select where a stream is programmed next, and the flash that they see.
struct Asked<'a> {
    flash: &'a Flash,
    policies: &'a mut Policies,
}

impl AnswersNext for Asked<'_> {
    fn next(&mut self, open: &[OpenBlock<'_>], space: &Space) -> (usize, u32) {
        self.policies.next_word_line(open, Sight { flash: self.flash, space })
    }

    fn suspends(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        space: &Space,
    ) -> Option<BlockSetId> {
        self.policies.suspends(open, suspended, Sight { flash: self.flash, space })
    }

    fn vacates(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        space: &Space,
    ) -> Option<BlockSetId> {
        self.policies.vacates(open, suspended, Sight { flash: self.flash, space })
    }

    fn resumes(&mut self, suspended: &SuspendedBlocks<'_>, space: &Space) -> Option<BlockSetId> {
        self.policies.resumes(suspended, Sight { flash: self.flash, space })
    }
}

impl Base {
    /// Allocates the next `pages` of the stream's active block; see [`Space::take`](crate::space::Space).
    #[inline]
    pub(crate) fn take(&mut self, row: RowId, stream: StreamId, pages: u32) -> Location {
        let Self { space, flash, policies, .. } = self;
        space.take(row, stream, pages, &mut Asked { flash, policies })
    }

    /// Selects the word lines of a plane group to be reprogrammed next; see
    /// [`Space::select_reprogram`](crate::space::Space).
    pub(crate) fn select_reprogram(&mut self, row: RowId) {
        let Self { space, flash, policies, .. } = self;
        space.select_reprogram(row, &mut Asked { flash, policies });
    }

    /// Selects one of these plane groups, of which there is at least one.
    #[inline]
    pub(crate) fn place(&mut self, rows: &RowSet) -> RowId {
        let Self { space, flash, policies, .. } = self;
        policies.place(rows, Sight { flash, space })
    }

    /// Whether a design decides when pages are destaged that may stay in the buffer.
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.policies.designs.answers(Seam::Coalesce) && self.config.file.buffer.mode == BufferMode::WriteBack
    }

    /// Asks for the action after a command failed in a block.
    pub(crate) fn asked_after(&mut self, failure: &Failure) -> After {
        let Self { space, flash, policies, .. } = self;
        let pool = space.pools().number_of_row(space.row_of(failure.block));
        policies.failed(failure, pool, Sight { flash, space })
    }

    /// Notifies designs of an event, if one observes its kind.
    #[inline(always)]
    pub(crate) fn observe<'a>(&mut self, kind: Observes, seen: impl FnOnce(&Self) -> Seen<'a>) {
        if self.policies.designs.observes(kind) {
            let seen = seen(self);
            self.tell_now(&seen);
        }
    }

    /// Notifies designs of an event, after the pending block events.
    #[inline(never)]
    pub(crate) fn tell_now(&mut self, seen: &Seen<'_>) {
        let Self { space, flash, policies, .. } = self;
        let sight = Sight { flash, space };
        policies.designs.tell_news(sight);
        policies.designs.tell(seen, sight);
    }

    /// Notifies designs of the pending block events.
    pub(crate) fn tell_news(&mut self) {
        let Self { space, flash, policies, .. } = self;
        policies.designs.tell_news(Sight { flash, space });
    }

    /// Whether designs must be notified at the end of an event, given the buffer occupancy.
    #[inline]
    pub(crate) fn has_rest(&self, level: Level) -> bool {
        let designs = &self.policies.designs;
        !designs.is_empty() && (level != designs.notified_level() || self.space.has_news())
    }

    /// Notifies designs at the end of an event: of pending block events, and of a changed buffer occupancy.
    #[inline(never)]
    pub(crate) fn tell_rest(&mut self, level: Level) {
        self.tell_news();
        if self.policies.designs.is_new_level(level) {
            self.observe(Observes::BUFFER, |_| Seen::Buffer { level });
        }
    }

    /// Notifies designs of a host write.
    #[inline(always)]
    pub(crate) fn tell_written(&mut self, piece: &Piece, command: &Command) {
        self.observe(Observes::WRITTEN, |_| Seen::Written {
            page: piece.page,
            sectors: piece.len(),
            request: HostWrite::of(command),
        });
    }

    /// Notifies designs of a completed program.
    #[inline]
    pub(crate) fn tell_programmed(&mut self, task: &Task, done: &Done, failed: bool) {
        if self.policies.designs.observes(Observes::PROGRAMMED) {
            self.tell_program(task, done, failed);
        }
    }

    #[inline(never)]
    fn tell_program(&mut self, task: &Task, done: &Done, failed: bool) {
        let Self { space, flash, policies, config, .. } = self;
        let locations = match task.operation {
            Operation::Program => task.locations,
            Operation::Read | Operation::Erase => return,
            // A copyback programs a whole unit.
            _ => config.pools.of_location(task.location).locations.per_program,
        };
        let of = match task.ticket {
            Ticket::Reclaim(..) => Writes::Collector,
            Ticket::TableUnit(_) => Writes::Tables,
            _ => Writes::Host,
        };
        let (first, array, outcome) = (task.location, done.array, flash.chips().outcome(done));
        let seen = Seen::Programmed { first, locations, of, failed, array, outcome };
        let sight = Sight { flash, space };
        policies.designs.tell_news(sight);
        policies.designs.tell(&seen, sight);
    }

    /// Notifies designs of an erase.
    #[inline]
    pub(crate) fn told_erased(&mut self, block: BlockSetId) {
        self.observe(Observes::ERASED, |base| Seen::Erased {
            block,
            erases: base.flash.chips().erases()[block],
        });
    }
}
