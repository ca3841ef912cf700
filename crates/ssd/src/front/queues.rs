//! Submission queues, and the arbitration that selects the queue of the next command.
//!
//! The arbitration follows the NVM Express Base Specification (section 4.13 of revision 1.4). Queues of one
//! priority level take turns, and a turn is a burst of commands. Urgent queues go before all others. High,
//! medium and low priority share the rest by their weights. With round robin all queues have the same
//! priority level.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_kernel::ensure::ensure;
use wordline_kernel::state;

use super::config::Arbitration;

/// Priority levels: urgent, high, medium, low.
const LEVELS: usize = 4;

/// Submission queues and their arbitration.
#[derive(Clone, Debug)]
pub struct SubmissionQueues {
    queues: Vec<Queue>,
    levels: [Level; LEVELS],
    /// Commands that each level may start in a round. The urgent level has no limit.
    weights: [u32; LEVELS],
    credits: [u32; LEVELS],
    burst: u32,
    /// Number of commands that the device could fetch.
    waiting: u32,
}

state!(SubmissionQueues {
    values { queues, levels, credits, waiting }
    fixed { weights, burst }
});

/// One submission queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    level: u8,
    /// Commands that the device knows of but has not fetched.
    waiting: VecDeque<RequestId>,
    /// Commands that the host holds, because the queue has no free entry.
    held: VecDeque<RequestId>,
    /// Entries in use: commands submitted but not completed.
    used: u32,
}

/// Queues of one level that have commands, and the queue whose turn it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Level {
    words: Vec<u64>,
    /// Bit n is set if word n is not zero.
    held: u64,
    current: u32,
    left: u32,
}

impl Level {
    fn new(queues: u32) -> Self {
        // Queue 0 has the first turn, because it follows the last queue.
        Self { words: vec![0; queues.div_ceil(64) as usize], held: 0, current: queues - 1, left: 0 }
    }

    fn set(&mut self, queue: u32, member: bool) {
        let (at, bit) = (queue / 64, 1 << (queue % 64));
        let word = &mut self.words[at as usize];
        *word = if member { *word | bit } else { *word & !bit };
        self.held = self.held & !(1 << at) | u64::from(*word != 0) << at;
    }

    fn contains(&self, queue: u32) -> bool {
        self.words[queue as usize / 64] >> (queue % 64) & 1 != 0
    }

    /// First member after `queue`, cyclically.
    fn after(&self, queue: u32) -> Option<u32> {
        let (here, bit) = (queue / 64, queue % 64);
        let above = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
        let first_of = |word: u32, mask: u64| {
            let found = self.words[word as usize] & mask;
            (found != 0).then(|| word * 64 + found.trailing_zeros())
        };
        let others = self.held & !(1 << here);
        let later = others & u64::MAX << here;
        let next = if later != 0 { later } else { others };
        first_of(here, above).or_else(|| match next {
            0 => first_of(here, !above),
            next => first_of(next.trailing_zeros(), u64::MAX),
        })
    }

    /// Selects the queue of the next command. A turn has at most `most` commands.
    fn next(&mut self, most: u32) -> Option<u32> {
        if self.left == 0 || !self.contains(self.current) {
            self.current = self.after(self.current)?;
            self.left = most;
        }
        self.left = self.left.min(most) - 1;
        Some(self.current)
    }
}

impl SubmissionQueues {
    /// This many empty queues, with an arbitration.
    pub fn new(queues: u32, arbitration: &Arbitration) -> Self {
        let (burst, letters, weights) = match arbitration {
            Arbitration::RoundRobin { burst } => (*burst, "U", [0; LEVELS]),
            Arbitration::WeightedRoundRobin { burst, priorities, high, medium, low } => {
                (*burst, priorities.as_str(), [0, *high, *medium, *low])
            }
        };
        let level_of = |letter: u8| "UHML".bytes().position(|known| known == letter).unwrap_or(LEVELS - 1);
        let levels = letters.bytes().cycle().take(queues as usize).map(level_of);
        Self {
            queues: levels.map(|level| Queue { level: level as u8, ..Queue::default() }).collect(),
            levels: std::array::from_fn(|_| Level::new(queues)),
            weights,
            credits: weights,
            burst: if burst == 0 { u32::MAX } else { burst },
            waiting: 0,
        }
    }

    /// Number of queues.
    pub fn count(&self) -> u32 {
        self.queues.len() as u32
    }

    /// Checks a loaded state. Waiting commands must be `known`. The queues must count them, and the commands
    /// `taken` from each queue.
    pub(super) fn check_loaded(
        &self,
        taken: &[u32],
        known: impl Fn(RequestId) -> bool,
    ) -> Result<(), String> {
        let waiting: usize = self.queues.iter().map(|queue| queue.waiting.len()).sum();
        ensure(waiting == self.waiting as usize, || format!("{waiting} commands wait in the queues"))?;
        let words = self.queues.len().div_ceil(64);
        let fits = |level: &Level| level.words.len() == words && level.current < self.count();
        ensure(self.levels.iter().all(fits), || "levels of other queues".into())?;
        for ((n, queue), taken) in (0..).zip(&self.queues).zip(taken) {
            let Queue { level: own, waiting, held, used } = queue;
            let is_in = |(level, members): (usize, &Level)| {
                let member = level == usize::from(*own) && !waiting.is_empty();
                members.contains(n) == member
            };
            let holds = usize::from(*own) < LEVELS
                && self.levels.iter().enumerate().all(is_in)
                && waiting.iter().chain(held).all(|id| known(*id))
                && *taken as usize == *used as usize + held.len();
            ensure(holds, || format!("submission queue {n} contains unknown commands or wrong counts"))?;
        }
        let has = |level: &Level| {
            let held = (0..).zip(&level.words).filter(|(_, word)| **word != 0);
            level.held == held.fold(0, |held, (at, _)| held | 1 << at)
        };
        ensure(self.levels.iter().all(has), || "the bitmap of a level differs from its queues".into())
    }

    /// Takes one of a queue's `entries` for a command. Returns false if no entry is free; the host then holds
    /// the command.
    pub fn enter(&mut self, queue: u32, id: RequestId, entries: u32) -> bool {
        let queue = &mut self.queues[queue as usize];
        let has_room = queue.used < entries;
        if has_room {
            queue.used += 1;
        } else {
            queue.held.push_back(id);
        }
        has_room
    }

    /// Records that a command of the queue has completed. Returns the held command that gets its entry.
    pub fn complete(&mut self, queue: u32) -> Option<RequestId> {
        let queue = &mut self.queues[queue as usize];
        let next = queue.held.pop_front();
        queue.used -= u32::from(next.is_none());
        next
    }

    /// Adds a command that the device knows of now.
    pub fn push(&mut self, queue: u32, id: RequestId) {
        let Queue { waiting, level, .. } = &mut self.queues[queue as usize];
        waiting.push_back(id);
        self.levels[*level as usize].set(queue, true);
        self.waiting += 1;
    }

    /// The command at the head of a queue.
    pub fn head(&self, queue: u32) -> Option<RequestId> {
        self.queues[queue as usize].waiting.front().copied()
    }

    /// Takes the next command in the order of the arbitration.
    pub fn pop(&mut self) -> Option<RequestId> {
        if self.waiting == 0 {
            return None;
        }
        let queue = self.choose();
        let Queue { waiting, level, .. } = &mut self.queues[queue as usize];
        let id = waiting.pop_front().expect("a member of a level holds a command");
        self.waiting -= 1;
        if waiting.is_empty() {
            self.levels[*level as usize].set(queue, false);
        }
        Some(id)
    }

    /// Selects the queue of the next command. There must be a command.
    fn choose(&mut self) -> u32 {
        if let Some(queue) = self.levels[0].next(self.burst) {
            return queue;
        }
        loop {
            for level in 1..LEVELS {
                let credit = self.credits[level];
                if credit > 0
                    && let Some(queue) = self.levels[level].next(self.burst.min(credit))
                {
                    self.credits[level] -= 1;
                    return queue;
                }
                // A level without commands loses the rest of its credits in the round.
                self.credits[level] = 0;
            }
            self.credits = self.weights;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::config::MOST_QUEUES;

    fn weighted(burst: u32, priorities: &str, [high, medium, low]: [u32; 3]) -> Arbitration {
        Arbitration::WeightedRoundRobin { burst, priorities: priorities.into(), high, medium, low }
    }

    /// Queues of the first `count` commands, if each queue always has commands. The id of a request is the
    /// number of its queue.
    fn order(queues: u32, arbitration: &Arbitration, count: usize) -> Vec<u32> {
        let mut all = SubmissionQueues::new(queues, arbitration);
        for queue in 0..queues {
            (0..count).for_each(|_| all.push(queue, RequestId(queue)));
        }
        (0..count).map(|_| all.pop().expect("there are plenty").0).collect()
    }

    #[test]
    fn round_robin_takes_a_burst_from_each_queue_in_turn() {
        assert_eq!(order(3, &Arbitration::RoundRobin { burst: 1 }, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(order(2, &Arbitration::RoundRobin { burst: 2 }, 8), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(order(2, &Arbitration::RoundRobin { burst: 0 }, 4), [0; 4]);
    }

    #[test]
    fn weights_share_a_round_exactly() {
        let all = order(3, &weighted(1, "HML", [5, 3, 2]), 1_000);
        let count = |queue| all.iter().filter(|taken| **taken == queue).count();
        assert_eq!([0, 1, 2].map(count), [500, 300, 200]);
        assert_eq!(all[..10], [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]);
    }

    #[test]
    fn queues_of_one_level_share_its_weight_in_bursts_that_end_with_the_credit() {
        let all = order(3, &weighted(2, "HHL", [3, 1, 1]), 8);
        assert_eq!(all, [0, 0, 1, 2, 0, 0, 1, 2]);
    }

    #[test]
    fn all_queues_have_their_turn_however_many_there_are() {
        for queues in [1, 63, 64, 65, 1_000, MOST_QUEUES] {
            let mut all = SubmissionQueues::new(queues, &Arbitration::RoundRobin { burst: 1 });
            let holding = |queue: &u32| queues < 64 || queue % 7 == 3 || *queue == queues - 1;
            let some: Vec<u32> = (0..queues).filter(holding).collect();
            for (queue, round) in some.iter().flat_map(|queue| [(*queue, 0), (*queue, 1)]) {
                all.push(queue, RequestId(queue + queues * round));
            }
            let order: Vec<u32> = std::iter::from_fn(|| all.pop().map(|id| id.0 % queues)).collect();
            assert_eq!(order, [some.clone(), some].concat(), "of {queues} queues");
        }
    }

    #[test]
    fn urgent_queues_go_before_all_others() {
        let mut all = SubmissionQueues::new(4, &weighted(1, "UHML", [4, 2, 1]));
        for queue in [3, 2, 1, 0, 0] {
            all.push(queue, RequestId(queue));
        }
        let taken: Vec<_> = std::iter::from_fn(|| all.pop()).map(|id| id.0).collect();
        assert_eq!(taken, [0, 0, 1, 2, 3]);
    }

    #[test]
    fn a_level_without_commands_leaves_its_share_to_the_others() {
        let mut all = SubmissionQueues::new(3, &weighted(1, "HML", [4, 2, 1]));
        (0..9).for_each(|_| all.push(1, RequestId(1)));
        (0..9).for_each(|_| all.push(2, RequestId(2)));
        let taken: Vec<_> = (0..9).map(|_| all.pop().expect("there are 18").0).collect();
        assert_eq!(taken, [1, 1, 2, 1, 1, 2, 1, 1, 2]);
    }

    #[test]
    fn turns_go_round_over_many_words() {
        let mut all = SubmissionQueues::new(200, &Arbitration::RoundRobin { burst: 1 });
        for queue in [3, 64, 127, 199] {
            (0..2).for_each(|_| all.push(queue, RequestId(queue)));
        }
        let taken: Vec<_> = std::iter::from_fn(|| all.pop()).map(|id| id.0).collect();
        assert_eq!(taken, [3, 64, 127, 199, 3, 64, 127, 199]);
    }

    #[test]
    fn a_full_queue_leaves_commands_with_the_host() {
        let mut all = SubmissionQueues::new(1, &Arbitration::RoundRobin { burst: 1 });
        assert_eq!([1, 2, 3].map(|id| all.enter(0, RequestId(id), 2)), [true, true, false]);
        assert_eq!((all.complete(0), all.complete(0), all.complete(0)), (Some(RequestId(3)), None, None));
        assert!(all.enter(0, RequestId(4), 2));
    }
}
