//! The time of each die by what it did.

use wordline_kernel::{Duration, Instant};

use super::Chips;
use crate::Stage;

/// The time of a die in stages that are over, by what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieTimes {
    /// Its array sensed.
    pub sensing: Duration,
    /// Its array programmed.
    pub programming: Duration,
    /// Its array erased.
    pub erasing: Duration,
    /// It held the bus of its channel.
    pub bus: Duration,
    /// It held the bus while its array worked: this time is in both.
    pub both: Duration,
}

impl DieTimes {
    /// Time in which it did something; waits for the bus are not among it.
    pub fn busy(&self) -> Duration {
        (self.array() + self.bus).saturating_sub(self.both)
    }

    /// Time in which its array worked.
    pub fn array(&self) -> Duration {
        self.sensing + self.programming + self.erasing
    }

    /// The time since `earlier`; none where a power cut took back more than came.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            sensing: self.sensing.saturating_sub(earlier.sensing),
            programming: self.programming.saturating_sub(earlier.programming),
            erasing: self.erasing.saturating_sub(earlier.erasing),
            bus: self.bus.saturating_sub(earlier.bus),
            both: self.both.saturating_sub(earlier.both),
        }
    }
}

impl std::iter::Sum for DieTimes {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), |sum, next| Self {
            sensing: sum.sensing + next.sensing,
            programming: sum.programming + next.programming,
            erasing: sum.erasing + next.erasing,
            bus: sum.bus + next.bus,
            both: sum.both + next.both,
        })
    }
}

impl Chips {
    /// The time of each die until `now` by what it did, in their order.
    pub fn die_times(&self, now: Instant) -> impl Iterator<Item = DieTimes> + '_ {
        let elapsed = now - Instant::ZERO;
        self.pools.all_dies().map(move |die| {
            let stages = self.stages_of_die(die, elapsed);
            // No stage of a die outlives the clock.
            let of = |stage| Duration::from_ps(stages.ps(stage) as u64);
            DieTimes {
                sensing: of(Stage::Ton),
                programming: of(Stage::Tin),
                erasing: of(Stage::Ber),
                bus: of(Stage::Cle) + of(Stage::Ale) + of(Stage::Tir) + of(Stage::Tor),
                both: Duration::from_ps(self.dies[die].overlap(now)),
            }
        })
    }
}
