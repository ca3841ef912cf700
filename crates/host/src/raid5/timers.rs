//! The things that an array does at a time.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use super::heads::HeadId;

/// The things that are to happen by time, and those that an event leaves for its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    /// Whether the first command of the run has come.
    pub started: bool,
    /// Whether the clock of the flash is off.
    pub untimed: bool,
    /// When the failures that have not happened will, and the scrub.
    pub failures: Vec<(Instant, u16)>,
    /// See there.
    pub scrub: Option<Instant>,
    /// Heads that are handled at the end of the instant.
    pub plugged: Vec<HeadId>,
    /// Whether an event for parity that stays behind is due.
    pub settle: bool,
    /// The number of the last synchronisation.
    pub syncs: u32,
    /// Since when a member holds less than all, and for how long that was so before.
    pub degraded_since: Option<Instant>,
    /// See there.
    pub degraded: Duration,
}

impl Timers {
    /// A member holds less than all, or none does.
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

    /// For how long a member held less than all until `now`.
    pub fn degraded_until(&self, now: Instant) -> Duration {
        self.degraded + self.degraded_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}
