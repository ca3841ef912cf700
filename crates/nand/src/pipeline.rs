//! The timing state of a die: when it accepts the next command, and when its array is idle.
//!
//! ONFI reports both in the status register: RDY means that a command is accepted, ARDY that the array is
//! idle. The two differ only in cache operations: the cache register allows data transfers while the array
//! works on the data register.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

/// The times at which a die becomes ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipeline {
    /// RDY rises: the die accepts a command.
    pub ready_at: Instant,
    /// ARDY rises: the array is idle.
    pub array_ready_at: Instant,
}

/// The interval of an array operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Working {
    /// Begin of the operation.
    pub begin: Instant,
    /// End of the operation.
    pub end: Instant,
}

impl Pipeline {
    /// Runs an operation that occupies registers and array to its end, after the current array operation.
    #[inline]
    pub fn run(&mut self, now: Instant, time: Duration) -> Working {
        let begin = now.max(self.array_ready_at);
        let end = begin + time;
        *self = Self { ready_at: end, array_ready_at: end };
        Working { begin, end }
    }

    /// Once the array is idle, moves the page between the cache and the data register in `turn`. Afterwards
    /// the cache register is available to the bus while the array works for `time`.
    #[inline]
    pub fn turn_and_run(&mut self, now: Instant, turn: Duration, time: Duration) -> Working {
        let begin = now.max(self.array_ready_at) + turn;
        let end = begin + time;
        *self = Self { ready_at: begin, array_ready_at: end };
        Working { begin, end }
    }

    /// Once the array is idle, moves the page to the cache register in `turn`, without a further array
    /// operation. Returns the end.
    #[inline]
    pub fn turn(&mut self, now: Instant, turn: Duration) -> Instant {
        let end = now.max(self.array_ready_at) + turn;
        *self = Self { ready_at: end, array_ready_at: end };
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_program_waits_for_the_array_and_frees_the_bus_early() {
        let us = Duration::from_us;
        let mut die = Pipeline::default();
        let first = die.turn_and_run(Instant::ZERO, us(3), us(200));
        assert_eq!(die.ready_at, Instant::ZERO + us(3));
        assert_eq!(first.end, Instant::ZERO + us(203));
        // The next page is loaded by 60 us, but its data register is in use until 203 us.
        let second = die.turn_and_run(Instant::ZERO + us(60), us(3), us(200));
        assert_eq!((second.begin, die.ready_at), (Instant::ZERO + us(206), Instant::ZERO + us(206)));
        // The last program of the sequence keeps the die busy until its array operation ends.
        let last = die.run(Instant::ZERO + us(300), us(200));
        assert_eq!((last.begin, last.end), (Instant::ZERO + us(406), Instant::ZERO + us(606)));
        assert_eq!(die.ready_at, die.array_ready_at);
    }

    #[test]
    fn the_last_page_of_a_cache_read_is_only_handed_over() {
        let mut die = Pipeline::default();
        die.run(Instant::ZERO, Duration::from_us(25));
        assert_eq!(die.turn(Instant::ZERO, Duration::from_us(3)), Instant::ZERO + Duration::from_us(28));
    }
}
