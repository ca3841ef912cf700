//! Drift of write amplification during the measurement.

use serde::{Deserialize, Serialize};

use crate::summary::Window;

/// Write amplification in the third and in the fourth quarter of the host's writes. If they differ, the
/// device had not reached the steady state of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Drift {
    /// Bytes programmed per byte that the host wrote, in the third quarter of the host's writes.
    pub third_quarter: f64,
    /// Bytes programmed per byte that the host wrote, in the last quarter.
    pub last_quarter: f64,
}

/// The bytes written in an interval of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByteCounts {
    /// Bytes that the host wrote.
    pub host: u64,
    /// Bytes programmed.
    pub programmed: u64,
}

impl From<&Window> for ByteCounts {
    fn from(window: &Window) -> Self {
        Self { host: window.written_bytes, programmed: window.programmed_bytes }
    }
}

/// Greatest relative difference of the two quarters that counts as steady. Chosen: half a drive write varies
/// by about 1 % with the seed (docs/validation/analytic.md).
const STEADY_WITHIN: f64 = 0.02;

/// Blocks that each quarter must fill before a drift is reported. Chosen: one block more or less then changes
/// less than `STEADY_WITHIN`.
const LEAST_BLOCKS: u64 = 64;

impl Drift {
    /// The drift over the intervals of a run, in order. `None` unless the host wrote in both quarters.
    pub(crate) fn of(parts: &[ByteCounts]) -> Option<Self> {
        let [_, _, third, last] = quarters(parts);
        let share =
            |quarter: ByteCounts| (quarter.host > 0).then(|| quarter.programmed as f64 / quarter.host as f64);
        Some(Self { third_quarter: share(third)?, last_quarter: share(last)? })
    }

    /// Whether the quarters differ by more than `STEADY_WITHIN`.
    fn is_drifting(self) -> bool {
        let Self { third_quarter: third, last_quarter: last } = self;
        (last - third).abs() > STEADY_WITHIN * third.max(last)
    }
}

/// The bytes written in each quarter of the host's writes. An interval belongs to the quarter that contains
/// its middle.
fn quarters(parts: &[ByteCounts]) -> [ByteCounts; 4] {
    let total: u64 = parts.iter().map(|part| part.host).sum();
    let (mut quarters, mut before) = ([ByteCounts::default(); 4], 0);
    for part in parts {
        let middle = before as f64 + part.host as f64 / 2.0;
        let quarter = &mut quarters[((4.0 * middle / total.max(1) as f64) as usize).min(3)];
        quarter.host += part.host;
        quarter.programmed += part.programmed;
        before += part.host;
    }
    quarters
}

/// A note for the user if write amplification still drifted. `block` is the block size in bytes.
pub(crate) fn note(parts: &[ByteCounts], block: u64) -> Option<String> {
    let drift = Drift::of(parts)?;
    let [_, _, third, last] = quarters(parts);
    let filled = third.programmed.min(last.programmed) / block.max(1);
    (filled >= LEAST_BLOCKS && drift.is_drifting()).then(|| {
        format!(
            "write amplification still drifts: {:.3} in the third quarter of what the host wrote, {:.3} in the last; \
             the device is not yet in the steady state of the workload",
            drift.third_quarter, drift.last_quarter
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 1 << 20;

    fn run(amplifications: &[f64]) -> Vec<ByteCounts> {
        let part = |of: &f64| ByteCounts { host: 100 * BLOCK, programmed: (of * 100.0) as u64 * BLOCK };
        amplifications.iter().map(part).collect()
    }

    #[test]
    fn the_quarters_are_of_what_the_host_wrote() {
        let drift = Drift::of(&run(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0])).expect("it wrote");
        assert_eq!(drift, Drift { third_quarter: 3.0, last_quarter: 4.5 });
    }

    #[test]
    fn a_run_that_moves_says_so_and_one_that_stands_still_or_is_short_does_not() {
        assert!(
            note(&run(&[1.0, 2.0, 3.0, 4.0]), BLOCK)
                .is_some_and(|text| text.contains("3.000") && text.contains("4.000"))
        );
        assert_eq!(note(&run(&[1.0, 2.0, 4.0, 4.05]), BLOCK), None);
        assert_eq!(note(&run(&[1.0, 2.0, 3.0, 4.0]), 10 * BLOCK), None, "thirty blocks tell nothing");
    }

    #[test]
    fn without_writes_there_is_no_amplification() {
        assert_eq!(Drift::of(&[]), None);
        assert_eq!(Drift::of(&[ByteCounts::default(); 4]), None);
    }
}
