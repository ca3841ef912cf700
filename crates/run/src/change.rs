//! A change of device times or host demand, applied between preparation and the first request. Preparation is
//! equal with and without the change, so a difference between two runs is the effect of the change.

use wordline_device::{BlockDevice, TimeFactors};
use wordline_host::Pace;
use wordline_kernel::Factor;

use crate::error::{Error, Result};

/// A change of device times or host demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Factors on the times of the device.
    pub times: TimeFactors,
    /// Factor on host demand: on outstanding requests in a closed loop, on requests per second in an open
    /// loop.
    pub demand: f64,
}

impl Default for Change {
    /// No change.
    fn default() -> Self {
        Self { times: TimeFactors::default(), demand: 1.0 }
    }
}

impl Change {
    /// A change of device times.
    pub fn of_times(times: TimeFactors) -> Self {
        Self { times, ..Self::default() }
    }

    /// A change of host demand by this factor.
    pub fn of_demand(demand: f64) -> Self {
        Self { demand, ..Self::default() }
    }

    /// Leaves the link time unchanged, for a device without a link to the host.
    pub fn without_link(self) -> Self {
        Self { times: TimeFactors { link: Factor::ONE, ..self.times }, ..self }
    }

    /// Applies the change to a prepared device and to the pace of its requests.
    ///
    /// # Errors
    /// [`Error::CannotChange`] where the device or the pace cannot be changed so.
    pub fn apply<D: BlockDevice>(&self, device: &mut D, pace: &mut Pace) -> Result<()> {
        if self.times != TimeFactors::default() {
            device.change_times(&self.times).map_err(Error::CannotChange)?;
        }
        *pace = self.change_pace(*pace).map_err(Error::CannotChange)?;
        Ok(())
    }

    /// The pace with the changed demand. A queue depth grows by at least one.
    ///
    /// # Errors
    /// The reason why this pace cannot be changed.
    pub fn change_pace(&self, pace: Pace) -> std::result::Result<Pace, &'static str> {
        if self.demand == 1.0 {
            return Ok(pace);
        }
        let more =
            |depth: u32| ((f64::from(depth) * self.demand).round() as u32).max(depth.saturating_add(1));
        match pace {
            Pace::Closed { depth, think } => Ok(Pace::Closed { depth: more(depth), think }),
            Pace::Bursts { depth, on, off } => Ok(Pace::Bursts { depth: more(depth), on, off }),
            Pace::Open { time_scale: 0.0 } => Err("all requests come at once"),
            Pace::Open { time_scale } => Ok(Pace::Open { time_scale: time_scale / self.demand }),
            Pace::Bounded { depth, time_scale } => {
                Ok(Pace::Bounded { depth: more(depth), time_scale: time_scale / self.demand })
            }
            Pace::SourcePaced { .. } => {
                Err("the jobs of a job file say themselves how many requests they have outstanding")
            }
        }
    }

    /// The ratio of the changed to the original demand. It exceeds the requested factor where a small depth
    /// had to grow by one.
    ///
    /// # Errors
    /// The reason why this pace cannot be changed.
    pub fn ratio(&self, pace: Pace) -> std::result::Result<f64, &'static str> {
        let changed = self.change_pace(pace)?;
        Ok(match (pace, changed) {
            (Pace::Closed { depth: before, .. }, Pace::Closed { depth, .. })
            | (Pace::Bursts { depth: before, .. }, Pace::Bursts { depth, .. }) => {
                f64::from(depth) / f64::from(before)
            }
            _ => self.demand,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_kernel::Duration;

    #[test]
    fn a_depth_grows_by_one_at_least_and_the_times_of_an_open_loop_shrink() {
        let tenth = Change::of_demand(1.1);
        let closed = |depth| Pace::Closed { depth, think: Duration::ZERO };
        for (depth, wanted) in [(1, 2), (4, 5), (32, 35), (128, 141)] {
            assert_eq!(tenth.change_pace(closed(depth)), Ok(closed(wanted)));
            assert_eq!(tenth.ratio(closed(depth)), Ok(f64::from(wanted) / f64::from(depth)));
        }
        assert_eq!(Change::of_demand(2.0).change_pace(closed(32)), Ok(closed(64)));
        let open = Pace::Open { time_scale: 1.0 };
        assert_eq!(Change::of_demand(2.0).change_pace(open), Ok(Pace::Open { time_scale: 0.5 }));
        assert!(
            tenth.change_pace(Pace::SourcePaced { pauses: false }).is_err()
                && tenth.change_pace(Pace::Open { time_scale: 0.0 }).is_err()
        );
        assert_eq!(
            Change::default().change_pace(Pace::SourcePaced { pauses: false }),
            Ok(Pace::SourcePaced { pauses: false })
        );
    }
}
