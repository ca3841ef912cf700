//! The firmware as a server: it takes at most one command in an interval.

use serde::{Deserialize, Serialize};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Duration, Instant};

/// When the firmware can take the next command.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Firmware {
    free: Instant,
}

impl Firmware {
    /// Takes a command that arrives at `at`. Returns how long it waits. Commands come in the order of their
    /// arrival.
    #[inline]
    pub(super) fn take(&mut self, at: Instant, interval: Duration) -> Duration {
        if interval == Duration::ZERO {
            return Duration::ZERO;
        }
        let begin = at.max(self.free);
        self.free = begin + interval;
        begin - at
    }

    /// Checks a state loaded at `now`: each started command takes at most one interval.
    pub(super) fn check_loaded(self, now: Instant, interval: Duration, started: u64) -> Result<(), String> {
        ensure(self.free <= now + interval * (started + 1), || "the firmware is busy for too long".into())
    }
}
