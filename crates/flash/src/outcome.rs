//! Outcome of a task. A failed read is retried as often as allowed.

use wordline_kernel::{Duration, Instant};
use wordline_nand::{CommandCompletion, DataTag, DieId, Location, Operation, PageId};

use super::Flash;
use super::task::Task;
use crate::policy::tuner::Tuner;
use crate::times::{FlashComponent, FlashTime};

/// The outcome of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The task is done.
    Done,
    /// The read is retried. Its issuer continues to wait.
    Retried,
    /// The read has ended, but some of its pages could not be read: one bit for each page, the lowest for the
    /// first.
    Unreadable(u32),
    /// The program or erase failed.
    Failed,
    /// The program has ended, but a design rejected its outcome. Its pages are unreadable.
    Rejected,
}

impl Flash {
    /// Outcome of a task whose command has ended.
    #[inline(always)]
    pub fn outcome(&mut self, task: &Task, done: &CommandCompletion, tuner: &mut dyn Tuner) -> Outcome {
        if let Some(levels) = &self.levels
            && done.command.operation == Operation::Read
        {
            levels.notify_read(task, done, &self.chips, tuner);
        }
        if done.failed {
            return self.failure(task, done, tuner);
        }
        if self.tunes && done.command.operation == Operation::Program && self.is_rejected(done, tuner) {
            let written = task.location.0..task.location.0 + task.locations;
            written.for_each(|location| self.chips.corrupt(Location(location)));
            return Outcome::Rejected;
        }
        Outcome::Done
    }

    /// Checks that a read found the data tag that it wanted. Panics otherwise.
    #[inline(always)]
    pub fn check_read(&self, read: &Task) {
        let (wanted, found) = (read.wanted, self.stamp(read.location));
        assert!(
            found == wanted,
            "a read of logical page {} wanted version {} and found {found:?} in {:?}",
            wanted.logical,
            wanted.version,
            read.location
        );
    }

    /// Whether the design or policy that set the parameters of a program rejects its outcome.
    #[inline(never)]
    fn is_rejected(&self, done: &CommandCompletion, tuner: &dyn Tuner) -> bool {
        let outcome = self.chips.outcome(done);
        outcome.is_some_and(|outcome| !tuner.accepts(&self.programmed_page(done.command.page), outcome))
    }

    #[cold]
    fn failure(&mut self, task: &Task, done: &CommandCompletion, tuner: &mut dyn Tuner) -> Outcome {
        if task.operation != Operation::Read {
            return Outcome::Failed;
        }
        let now = task.unreadable_in(done);
        let unread = if task.tries == 0 { now } else { now & u32::from(task.unread) };
        if unread == 0 || !task.retried {
            return Outcome::Done;
        }
        if task.tries < self.retry.levels && !self.chips.has_failed(done.die) {
            self.retry_read(task, unread, done, tuner);
            return Outcome::Retried;
        }
        if let Some(levels) = &self.levels {
            levels.notify(task, done.level, (unread, false), &self.chips, tuner);
        }
        Outcome::Unreadable(unread)
    }

    /// Queues a retry. Reads that shared a command retry in one command again, because the caller starts the
    /// die after all of them.
    fn retry_read(&mut self, task: &Task, unread: u32, done: &CommandCompletion, tuner: &dyn Tuner) {
        let die = done.die;
        if !task.shares_page {
            self.counts.read_retries += 1;
            self.counts.faults.count(self.chips.pools().number_of(die)).read_retries += 1;
        }
        let (tries, tried) = (task.tries + 1, task.tried_with(done));
        let mut again = Task { tries, unread: unread as u16, tried, shares_page: false, ..*task };
        if let Some(levels) = &self.levels {
            let page = PageId(task.page.0 + unread.trailing_zeros());
            again.level = levels.retry_level(page, u32::from(again.tries), done.level, &self.chips, tuner);
        }
        self.queues.queue_again(die, again);
    }

    /// Lets an idle die wait `read_retry.time` before each sense of its next command, if that retries a read. With
    /// read levels, the time passes while the die sets them.
    #[cold]
    pub(super) fn set_retry_time(&mut self, die: DieId) {
        let mut is_retry = false;
        self.queues.each_current(die, |task| is_retry |= task.tries > 0);
        let time = if is_retry { self.retry.time } else { Duration::ZERO };
        self.chips.set_read_level(die, 0, time);
    }

    /// Repeats a failed read at another location, to which its page was relocated or written meanwhile.
    pub fn read_elsewhere(
        &mut self,
        (task, done): (&Task, &CommandCompletion),
        (location, page): (Location, PageId),
        now: Instant,
    ) -> DieId {
        let pools = self.chips.pools();
        let die = pools.die_of(location);
        let wanted = DataTag { version: self.chips.stamp(location).version, ..task.wanted };
        // The wait for GC at the last die counts on.
        let gc_ps = self.queues.gc_time(done.die, now).wrapping_sub(task.gc_before);
        let gc_before = self.queues.gc_time(die, now).wrapping_sub(gc_ps);
        let again = Task { page, location, wanted, gc_before, tried: task.tried_with(done), ..*task };
        self.queues.queue_again(die, Task { tries: 0, unread: 0, shares_page: false, ..again });
        die
    }

    /// Latency breakdown of a task since it was queued.
    #[inline]
    pub fn spent(&self, task: &Task, done: &CommandCompletion, now: Instant) -> FlashTime {
        let mut spent = FlashTime::default();
        let elapsed = now - task.queued - task.decoding;
        let on_bus = done.bus + done.bus_wait;
        // While a suspend takes effect the array still works. This time counts only once.
        let array = done.array.min(elapsed.saturating_sub(on_bus));
        let mut waited = elapsed.saturating_sub(on_bus + array);
        if task.tried > Duration::ZERO {
            let tried = task.tried.min(waited);
            waited = waited.saturating_sub(tried);
            spent.set(FlashComponent::Retries, tried);
        }
        let gc = self.queues.gc_time(done.die, now).wrapping_sub(task.gc_before);
        let gc = Duration::from_ps(gc.min(waited.ps()));
        spent.set(FlashComponent::Mapping, task.looked_up);
        spent.set(FlashComponent::GcWait, gc);
        spent.set(FlashComponent::DieWait, waited - gc);
        spent.set(FlashComponent::Bus, on_bus);
        spent.set(FlashComponent::Array, array);
        spent.set(FlashComponent::Decoding, task.decoding);
        spent
    }
}
