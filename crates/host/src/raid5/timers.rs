//! Timed actions of an array.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use super::stripe_cache::HeadId;

/// Pending timers, and actions that an event defers to the end of its instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    /// Whether the first command of the run has arrived.
    pub started: bool,
    /// Whether the clock of the flash is off.
    pub untimed: bool,
    /// Times of pending member failures, each with the index of the configured failure.
    pub failures: Vec<(Instant, u16)>,
    /// Time of the pending scrub.
    pub scrub: Option<Instant>,
    /// Whether a scrub begins once the array is whole and has no other synchronisation.
    pub scrub_waits: bool,
    /// Heads to be handled at the end of the instant.
    pub plugged: Vec<HeadId>,
    /// Whether an event for deferred parity is scheduled.
    pub settle: bool,
    /// Sequence number of the last synchronisation.
    pub syncs: u32,
    /// Time of power on, until the array accepts commands.
    pub powered_on: Option<Instant>,
    /// Duration of the last recovery.
    pub recovery: Option<Duration>,
    /// Time since which the array has been degraded.
    pub degraded_since: Option<Instant>,
    /// Time spent degraded before that.
    pub degraded: Duration,
}

impl Timers {
    /// Notes whether the array is degraded.
    pub fn note_degraded(&mut self, is_degraded: bool, now: Instant) {
        match (self.degraded_since, is_degraded) {
            (None, true) => self.degraded_since = Some(now),
            (Some(since), false) => {
                self.degraded += now.since(since);
                self.degraded_since = None;
            }
            _ => {}
        }
    }

    /// Time spent degraded until `now`.
    pub fn degraded_until(&self, now: Instant) -> Duration {
        self.degraded + self.degraded_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}
