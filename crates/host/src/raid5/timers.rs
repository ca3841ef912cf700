//! Timed actions of an array.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use super::stripe_cache::HeadId;

/// Pending timers, and actions that an event defers to its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    /// Whether the first command of the run has arrived.
    pub started: bool,
    /// Whether the clock of the flash is off.
    pub untimed: bool,
    /// Times of pending member failures and of the scrub.
    pub failures: Vec<(Instant, u16)>,
    /// See there.
    pub scrub: Option<Instant>,
    /// Heads to be handled at the end of the instant.
    pub plugged: Vec<HeadId>,
    /// Whether an event for deferred parity is scheduled.
    pub settle: bool,
    /// Sequence number of the last synchronisation.
    pub syncs: u32,
    /// Since when the array has been degraded, and for how long it was before.
    pub degraded_since: Option<Instant>,
    /// See there.
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
