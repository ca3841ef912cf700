//! Queues of the dies of a logical unit, and the operation in progress on each die.

use std::collections::VecDeque;

use wordline_kernel::Column;

use crate::geometry::{DieId, Geometry, PageId};

/// The operation on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Read,
    Write,
    Erase,
    /// Copyback to a page of the same plane.
    Copy(PageId),
}

/// The part of an access that concerns one page or block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) work: Work,
    pub(super) page: PageId,
    /// Slot of the access.
    pub(super) slot: u32,
    /// Number in the order of arrival.
    pub(super) number: u64,
}

impl Part {
    /// Whether this part can follow `before` in one multi-plane command: it is the same page in the next
    /// plane of the same die.
    fn continues(&self, before: &Part, geometry: &Geometry) -> bool {
        let next_plane = |a: PageId, b: PageId| {
            b.0 == a.0 + 1 && geometry.block_of(a) == geometry.block_of(b) && {
                let ((_, x), (_, y)) = (geometry.split(a), geometry.split(b));
                geometry.page_in_block(x) == geometry.page_in_block(y)
            }
        };
        next_plane(before.page, self.page)
            && match (before.work, self.work) {
                (Work::Copy(a), Work::Copy(b)) => next_plane(a, b),
                (a, b) => a == b,
            }
    }
}

/// The queues of one die.
#[derive(Clone, Debug, Default)]
struct DieQueue {
    waiting: VecDeque<Part>,
    /// The parts of the running commands, and the number of parts of each command.
    running: VecDeque<Part>,
    commands: VecDeque<u32>,
    /// Number of parts of the next command, if the die has begun to sense for it.
    committed: Option<u32>,
}

/// The queues of all dies.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    dies: Column<DieId, DieQueue>,
    /// The dies of all parts not yet issued, in the order of arrival, if parts may not overtake each other.
    order: Option<VecDeque<DieId>>,
}

/// The parts of one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) first: Part,
    pub(super) planes: u32,
    /// The first part of the following group of the same die and its number of parts, if any.
    pub(super) behind: Option<(Part, u32)>,
}

impl Queues {
    pub(super) fn new(dies: u32, overtakes: bool) -> Self {
        Self {
            dies: Column::filled(dies as usize, DieQueue::default()),
            order: (!overtakes).then(VecDeque::new),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, die: DieId, part: Part) {
        self.dies[die].waiting.push_back(part);
        if let Some(order) = &mut self.order {
            order.push_back(die);
        }
    }

    /// Whether parts may not overtake each other.
    #[inline]
    pub(super) fn is_in_order(&self) -> bool {
        self.order.is_some()
    }

    /// The die of the earliest part, if parts may not overtake each other.
    #[inline]
    pub(super) fn earliest(&self) -> Option<DieId> {
        self.order.as_ref()?.front().copied()
    }

    /// Whether `die` has begun to sense for its next command.
    #[inline]
    pub(super) fn is_committed(&self, die: DieId) -> bool {
        self.dies[die].committed.is_some()
    }

    /// The next group of `die`, of at most `most` planes.
    #[inline]
    pub(super) fn next(&self, die: DieId, geometry: &Geometry, most: u32) -> Option<Group> {
        let queue = &self.dies[die];
        let first = *queue.waiting.front()?;
        let planes = queue.committed.unwrap_or_else(|| self.group_size(die, 0, geometry, most));
        let behind = queue.waiting.get(planes as usize).map(|part| {
            (*part, if most == 1 { 1 } else { self.group_size(die, planes as usize, geometry, most) })
        });
        Some(Group { first, planes, behind })
    }

    /// Number of parts from index `from` on that fit in one command.
    fn group_size(&self, die: DieId, from: usize, geometry: &Geometry, most: u32) -> u32 {
        let waiting = &self.dies[die].waiting;
        let mut count = 1;
        while count < most {
            let (before, Some(next)) =
                (waiting[from + count as usize - 1], waiting.get(from + count as usize))
            else {
                break;
            };
            let in_turn = self.order.is_none() || next.number == before.number + 1;
            if !in_turn || !next.continues(&before, geometry) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Issues the next `planes` parts of `die`. If `committed` is given, that many following parts are its
    /// next command.
    #[inline]
    pub(super) fn issue(&mut self, die: DieId, planes: u32, committed: Option<u32>) {
        let queue = &mut self.dies[die];
        for _ in 0..planes {
            let part = queue.waiting.pop_front().expect("a group is no longer than the queue");
            queue.running.push_back(part);
        }
        queue.commands.push_back(planes);
        queue.committed = committed;
        if let Some(order) = &mut self.order {
            order.drain(..planes as usize);
        }
    }

    /// Removes the oldest command of `die` and returns its number of parts, to be taken with
    /// [`Queues::take`].
    #[inline]
    pub(super) fn finished(&mut self, die: DieId) -> u32 {
        self.dies[die].commands.pop_front().expect("a command was issued before it ended")
    }

    /// Takes the next part of a completed command.
    #[inline]
    pub(super) fn take(&mut self, die: DieId) -> Part {
        self.dies[die].running.pop_front().expect("the parts of a command are there until it ends")
    }
}
