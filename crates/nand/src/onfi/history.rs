//! The previous commands of a LUN, as far as they determine which commands may follow.

use super::command::{Activity, Operation};
use super::failure::Fault;
use crate::Pipeline;
use wordline_kernel::Instant;

/// The kind of operation for which planes are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Read,
    Program,
    Copyback,
    Erase,
}

/// The state after an operation in a LUN's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultState {
    /// A sensed page, from which 31h can continue.
    Sensed,
    /// A cache read in progress.
    CacheRead,
    /// A page that copyback programs can write.
    Source,
    /// A cache program in progress.
    CacheProgram,
    /// A queue of planes.
    Queue,
    /// None of these.
    Nothing,
}

/// The family and the following state of each array operation.
#[rustfmt::skip]
const OPERATIONS: [(Operation, Family, ResultState); 15] = {
    use {Family as F, ResultState as L, Operation as O};
    [
        (O::Read,                 F::Read,     L::Sensed),
        (O::QueueRead,            F::Read,     L::Queue),
        (O::CopybackRead,         F::Read,     L::Source),
        (O::CacheReadRandom,      F::Read,     L::CacheRead),
        (O::IndependentRead,      F::Read,     L::Nothing),
        (O::CacheReadSequential,  F::Read,     L::CacheRead),
        (O::CacheReadEnd,         F::Read,     L::Nothing),
        (O::Program,              F::Program,  L::Nothing),
        (O::QueueProgram,         F::Program,  L::Queue),
        (O::NextPage,             F::Program,  L::Queue),
        (O::CacheProgram,         F::Program,  L::CacheProgram),
        (O::CopybackProgram,      F::Copyback, L::Nothing),
        (O::QueueCopybackProgram, F::Copyback, L::Queue),
        (O::Erase,                F::Erase,    L::Nothing),
        (O::QueueErase,           F::Erase,    L::Queue),
    ]
};

/// The history of a LUN since its last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Whether a page is sensed from which a cache read can continue.
    sensed: bool,
    /// The cache operation in progress: reading or programming.
    cache: Option<Family>,
    /// Planes that hold the page of a copyback read.
    sources: u16,
    /// The operation for which planes are queued, and these planes.
    queue: Option<(Family, u16)>,
    /// The family of the last operation.
    last: Option<Family>,
}

impl History {
    /// Whether `operation` in `plane` may follow the previous commands. With `strict`, a copyback program
    /// needs a copyback read of the same plane. Otherwise one of any plane suffices here, and the LUN counts
    /// the violation.
    pub fn check_allowed(&self, operation: Operation, plane: u32, strict: bool) -> Result<(), Fault> {
        let suspends = match operation {
            Operation::SuspendProgram => Some(self.last.filter(|last| *last == Family::Erase)),
            Operation::SuspendErase => Some(self.last.filter(|last| *last != Family::Erase)),
            _ => None,
        };
        if let Some(working) = suspends.flatten() {
            return Err(Fault::OtherSuspended { working: working.name() });
        }
        let Some((_, family, _)) = OPERATIONS.iter().find(|row| row.0 == operation) else { return Ok(()) };
        if let Some((queued, _)) = self.queue.filter(|(queued, _)| queued != family) {
            return Err(Fault::QueueBroken { queued: queued.name() });
        }
        let source = if strict { self.sources & (1 << plane) != 0 } else { self.sources != 0 };
        match operation {
            Operation::CacheReadSequential | Operation::CacheReadRandom if !self.sensed => {
                Err(Fault::CacheReadWithoutRead)
            }
            Operation::CacheReadEnd if self.cache != Some(Family::Read) => Err(Fault::CacheReadNotBegun),
            Operation::CopybackProgram | Operation::QueueCopybackProgram if !source => {
                Err(Fault::CopybackWithoutRead { plane })
            }
            _ => Ok(()),
        }
    }

    /// Records the begin of `operation` in `plane`. With `behind`, the LUN is ready before its array is idle.
    pub fn note(&mut self, operation: Operation, plane: u32, behind: bool) {
        let Some((_, family, leaves)) = OPERATIONS.iter().find(|row| row.0 == operation) else {
            // The operation is a suspend or a resume: only a cache program leaves the LUN ready.
            *self = Self { cache: behind.then_some(Family::Program), ..Self::default() };
            return;
        };
        let planes = self.queue.map_or(0, |(_, planes)| planes) | 1 << plane;
        // The pages of a copyback read stay until their program ends, however many planes it has.
        let kept =
            if *family == Family::Copyback && *leaves == ResultState::Queue { self.sources } else { 0 };
        let sources = if *leaves == ResultState::Source { planes } else { kept };
        let sensed = matches!(leaves, ResultState::Sensed | ResultState::CacheRead)
            || (*leaves == ResultState::Queue && *family == Family::Read && self.sensed);
        let cache = match leaves {
            ResultState::CacheRead => Some(Family::Read),
            ResultState::CacheProgram => Some(Family::Program),
            _ => behind.then_some(*family),
        };
        let queue = (*leaves == ResultState::Queue).then_some((*family, planes));
        *self = Self { sensed, cache, sources, queue, last: Some(*family) };
    }

    /// The activity of the LUN at `now`.
    pub fn activity(&self, pipeline: &Pipeline, now: Instant) -> Activity {
        if now < pipeline.ready_at {
            Activity::Busy
        } else if now >= pipeline.array_ready_at {
            Activity::Idle
        } else {
            match self.cache {
                Some(Family::Read) => Activity::CacheReading,
                Some(_) => Activity::CacheProgramming,
                None => Activity::Busy,
            }
        }
    }

    /// Whether a queue of planes is open.
    pub fn is_queueing(&self) -> bool {
        self.queue.is_some()
    }
}

impl Family {
    fn name(self) -> &'static str {
        ["a read", "a program", "a copyback program", "an erase"][self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Operation as O;
    use super::*;

    fn after(told: &[(Operation, u32)]) -> History {
        let mut history = History::default();
        for (operation, plane) in told {
            assert_eq!(history.check_allowed(*operation, *plane, true), Ok(()), "{operation:?}");
            history.note(*operation, *plane, false);
        }
        history
    }

    #[test]
    fn a_cache_read_needs_a_page_and_ends_once() {
        assert_eq!(
            after(&[]).check_allowed(O::CacheReadSequential, 0, true),
            Err(Fault::CacheReadWithoutRead)
        );
        assert_eq!(
            after(&[(O::Read, 0)]).check_allowed(O::CacheReadEnd, 0, true),
            Err(Fault::CacheReadNotBegun)
        );
        let ended = after(&[
            (O::Read, 0),
            (O::CacheReadSequential, 0),
            (O::CacheReadRandom, 0),
            (O::CacheReadEnd, 0),
        ]);
        assert_eq!(ended.check_allowed(O::CacheReadEnd, 0, true), Err(Fault::CacheReadNotBegun));
        assert_eq!(ended.check_allowed(O::CacheReadSequential, 0, true), Err(Fault::CacheReadWithoutRead));
    }

    #[test]
    fn a_copyback_program_needs_its_read_in_the_same_plane() {
        let read = after(&[(O::QueueRead, 0), (O::CopybackRead, 1)]);
        assert_eq!(read.check_allowed(O::CopybackProgram, 1, true), Ok(()));
        assert_eq!(
            read.check_allowed(O::CopybackProgram, 2, true),
            Err(Fault::CopybackWithoutRead { plane: 2 })
        );
        assert_eq!(read.check_allowed(O::CopybackProgram, 2, false), Ok(()), "the LUN counts it");
        let both = after(&[
            (O::QueueRead, 0),
            (O::CopybackRead, 1),
            (O::QueueCopybackProgram, 0),
            (O::CopybackProgram, 1),
        ]);
        assert_eq!(
            both.check_allowed(O::CopybackProgram, 1, true),
            Err(Fault::CopybackWithoutRead { plane: 1 })
        );
    }

    #[test]
    fn a_queue_is_finished_before_anything_else() {
        for (queue, other) in
            [(O::QueueRead, O::Erase), (O::QueueProgram, O::Read), (O::QueueErase, O::Program)]
        {
            assert!(matches!(
                after(&[(queue, 0)]).check_allowed(other, 1, true),
                Err(Fault::QueueBroken { .. })
            ));
        }
    }
}
