//! The counters of cubeFTL.

use serde::{Deserialize, Serialize};
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Duration, Metric};

static LEADERS: Metric =
    Metric::new("cubeftl.leaders", Unit::Count, "Word lines programmed as leaders, and monitored.");
static FOLLOWERS: Metric = Metric::new(
    "cubeftl.followers",
    Unit::Count,
    "Word lines programmed with parameters from the leader of their layer, or with the margin of their layer.",
);
static LEADER_US: Metric = Metric::new(
    "cubeftl.leader_us",
    Unit::Microseconds,
    "Mean tPROG of leaders in microseconds; null if there was none.",
);
static FOLLOWER_US: Metric = Metric::new(
    "cubeftl.follower_us",
    Unit::Microseconds,
    "Mean tPROG of followers in microseconds; null if there was none.",
);
static LEAST_US: Metric = Metric::new(
    "cubeftl.least_follower_us",
    Unit::Microseconds,
    "tPROG of the fastest follower since the device was new, in microseconds; null if there was none.",
);
static PROGRAM_US: Metric = Metric::new(
    "cubeftl.program_us",
    Unit::Microseconds,
    "Mean tPROG of leaders and followers in microseconds; null if there was none, as with design.parameters = \"data-sheet\".",
);
static FULL: Metric = Metric::new(
    "cubeftl.full",
    Unit::Count,
    "Word lines on layers selected while the occupancy of the pool's share of the write buffer was above the threshold.",
);
static NOT_FULL: Metric = Metric::new(
    "cubeftl.not_full",
    Unit::Count,
    "Word lines on layers selected while the occupancy of the pool's share of the write buffer was not above the threshold.",
);
static REJECTED: Metric = Metric::new(
    "cubeftl.rejected",
    Unit::Count,
    "Followers rejected and programmed again, as their errors were far above those of the preceding word line.",
);
static ORT_BYTES: Metric =
    Metric::new("cubeftl.ort_bytes", Unit::Bytes, "Memory of the table of read offsets by layer.");
static MOST_KEPT: Metric = Metric::new(
    "cubeftl.most_kept",
    Unit::Count,
    "Most layers of one open block with kept follower parameters, since the device was new.",
);

/// All metrics.
pub static ALL: &[&Metric] = &[
    &LEADERS,
    &FOLLOWERS,
    &LEADER_US,
    &FOLLOWER_US,
    &LEAST_US,
    &PROGRAM_US,
    &FULL,
    &NOT_FULL,
    &REJECTED,
    &ORT_BYTES,
    &MOST_KEPT,
];

/// Programs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Number of programs.
    count: u64,
    /// Total array time in picoseconds.
    sum_ps: u128,
    /// Array time of the fastest program.
    least: Duration,
}

impl Programs {
    /// Counts a program.
    pub fn add(&mut self, array: Duration) {
        self.least = if self.count == 0 { array } else { self.least.min(array) };
        self.count += 1;
        self.sum_ps += u128::from(array.ps());
    }
}

fn mean_us(of: &[Programs]) -> Value {
    let sum: u128 = of.iter().map(|one| one.sum_ps).sum();
    Value::Mean { sum: sum as f64 / 1e6, count: of.iter().map(|one| one.count).sum() }
}

/// The counters of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Programs of leaders.
    pub leaders: Programs,
    /// Programs of followers.
    pub followers: Programs,
    /// Word lines chosen while the write buffer was not full, and while it was full.
    pub chosen: [u64; 2],
    /// Rejected followers.
    pub rejected: u64,
    /// Maximum number of layers of one block that had kept parameters at the same time.
    pub most_kept: u64,
}

impl Counts {
    /// The value of each metric.
    pub fn measure(&self, ort_bytes: u64) -> Vec<(&'static Metric, Value)> {
        let Self { leaders, followers, chosen: [not_full, full], rejected, most_kept } = *self;
        let least = (followers.count > 0).then(|| followers.least.us());
        vec![
            (&LEADERS, leaders.count.into()),
            (&FOLLOWERS, followers.count.into()),
            (&LEADER_US, mean_us(&[leaders])),
            (&FOLLOWER_US, mean_us(&[followers])),
            (&LEAST_US, least.into()),
            (&PROGRAM_US, mean_us(&[leaders, followers])),
            (&FULL, full.into()),
            (&NOT_FULL, not_full.into()),
            (&REJECTED, rejected.into()),
            (&ORT_BYTES, Value::Number(ort_bytes as f64)),
            (&MOST_KEPT, Value::Number(most_kept as f64)),
        ]
    }
}
