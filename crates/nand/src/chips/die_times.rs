//! The time of each die by activity.

use wordline_kernel::Duration;

/// The time of a die in finished stages, by activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieTimes {
    /// Sensing.
    pub sensing: Duration,
    /// Programming.
    pub programming: Duration,
    /// Erasing.
    pub erasing: Duration,
    /// Using the bus of its channel.
    pub bus: Duration,
    /// Using the bus while the array worked. This time is included in the bus time and in the array time.
    pub both: Duration,
}

impl DieTimes {
    /// Busy time of bus or array; waits for the bus are not included.
    pub fn busy(&self) -> Duration {
        (self.array() + self.bus).saturating_sub(self.both)
    }

    /// Array time.
    pub fn array(&self) -> Duration {
        self.sensing + self.programming + self.erasing
    }

    /// The time since `earlier`; zero if a power cut took back more than was added.
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
