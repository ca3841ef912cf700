//! Questions and reports to designs whose inputs are all in `Base`.

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

/// The policies and designs that say where a stream is programmed next, and the flash that they see.
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
    /// The next `pages` of the stream's open block; see [`Space::take`](crate::space::Space).
    #[inline]
    pub(crate) fn take(&mut self, row: RowId, stream: StreamId, pages: u32) -> Location {
        let Self { space, flash, policies, .. } = self;
        space.take(row, stream, pages, &mut Asked { flash, policies })
    }

    /// Has the word lines of a row named that are programmed again next; see [`Space::select_reprogram`](crate::space::Space).
    pub(crate) fn select_reprogram(&mut self, row: RowId) {
        let Self { space, flash, policies, .. } = self;
        space.select_reprogram(row, &mut Asked { flash, policies });
    }

    /// One of these rows, of which there is at least one.
    #[inline]
    pub(crate) fn place(&mut self, rows: &RowSet) -> RowId {
        let Self { space, flash, policies, .. } = self;
        policies.place(rows, Sight { flash, space })
    }

    /// Whether a design says when pages leave the buffer that may stay in it.
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.policies.designs.answers(Seam::Coalesce) && self.config.file.buffer.mode == BufferMode::WriteBack
    }

    /// Asks what to do with a block in which a command failed.
    pub(crate) fn asked_after(&mut self, failure: &Failure) -> After {
        let Self { space, flash, policies, .. } = self;
        let pool = space.pools().number_of_row(space.row_of(failure.block));
        policies.failed(failure, pool, Sight { flash, space })
    }

    /// Tells designs what happened, if one observes it.
    #[inline(always)]
    pub(crate) fn observe<'a>(&mut self, kind: Observes, seen: impl FnOnce(&Self) -> Seen<'a>) {
        if self.policies.designs.observes(kind) {
            let seen = seen(self);
            self.tell_now(&seen);
        }
    }

    /// Tells designs what happened, after what happened to blocks before.
    #[inline(never)]
    pub(crate) fn tell_now(&mut self, seen: &Seen<'_>) {
        let Self { space, flash, policies, .. } = self;
        let sight = Sight { flash, space };
        policies.designs.tell_news(sight);
        policies.designs.tell(seen, sight);
    }

    /// Tells designs what happened to blocks.
    pub(crate) fn tell_news(&mut self) {
        let Self { space, flash, policies, .. } = self;
        policies.designs.tell_news(Sight { flash, space });
    }

    /// Whether designs are to hear of something at the end of an event, with the buffer as full as `level` says.
    #[inline]
    pub(crate) fn has_rest(&self, level: Level) -> bool {
        let designs = &self.policies.designs;
        !designs.is_empty() && (level != designs.notified_level() || self.space.has_news())
    }

    /// At the end of an event designs hear of what is left to be told; the buffer is as full as `level` says.
    #[inline(never)]
    pub(crate) fn tell_rest(&mut self, level: Level) {
        self.tell_news();
        if self.policies.designs.is_new_level(level) {
            self.observe(Observes::BUFFER, |_| Seen::Buffer { level });
        }
    }

    /// The host wrote of a page.
    #[inline(always)]
    pub(crate) fn tell_written(&mut self, piece: &Piece, command: &Command) {
        self.observe(Observes::WRITTEN, |_| Seen::Written {
            page: piece.page,
            sectors: piece.len(),
            request: HostWrite::of(command),
        });
    }

    /// A program is over.
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

    /// A block was erased.
    #[inline]
    pub(crate) fn told_erased(&mut self, block: BlockSetId) {
        self.observe(Observes::ERASED, |base| Seen::Erased {
            block,
            erases: base.flash.chips().erases()[block],
        });
    }
}
