//! The counters of an array, and its metrics.

use wordline_kernel::metrics::Unit;
use wordline_kernel::{Metric, counters};

counters! {
    /// The counters of an array.
    pub struct Counts {
        commands: "raid5.commands", Count, "Commands of the host.";
        member_commands: "raid5.member_commands", Count, "Commands to members.";
        data_writes: "raid5.data_writes", Count, "Data blocks of host writes that were written to members, in whole or in part.";
        parity_writes: "raid5.parity_writes", Count, "Blocks of parity written for host writes; those of a rebuild or a resync are in `raid5.rebuilt` and `raid5.resynced`.";
        full_stripe_writes: "raid5.full_stripe_writes", Count, "Rows whose data were all in memory when parity was computed: mostly full-stripe writes.";
        reconstruct_writes: "raid5.reconstruct_writes", Count, "Rows whose parity was computed by reconstruct-write, with reads of the missing data.";
        read_modify_writes: "raid5.read_modify_writes", Count, "Rows whose parity was computed by read-modify-write.";
        pre_reads: "raid5.pre_reads", Count, "Blocks read to compute parity.";
        degraded_reads: "raid5.degraded_reads", Count, "Host-read blocks that were computed from the other blocks of their row.";
        corrected: "raid5.corrected", Count, "Unreadable blocks that were computed and rewritten.";
        failures: "raid5.failures", Count, "Members that failed.";
        rebuilt: "raid5.rebuilt", Count, "Blocks of spares that were rebuilt.";
        resynced: "raid5.resynced", Count, "Rows whose parity was rewritten because a power cut might have left it inconsistent.";
        scrubbed: "raid5.scrubbed", Count, "Rows that were read and compared by a scrub.";
        dirty_rows: "raid5.dirty_rows", Count, "Dirty rows: rows whose parity power cuts might have left inconsistent.";
        ppl_writes: "raid5.ppl_writes", Count, "Entries of the partial parity log that were written.";
        ppl_flushes: "raid5.ppl_flushes", Count, "Flushes of all members to free space in the partial parity log.";
        ppl_recovered: "raid5.ppl_recovered", Count, "Rows whose parity was recovered from the partial parity log after a power cut.";
        lost: "raid5.lost", Count, "Lost sectors, for one of the three reasons that follow.";
        lost_deferred_parity: "raid5.lost_deferred_parity", Count, "Sectors lost because a member failed while their parity was deferred: `array.parity = \"cache\"`.";
        lost_in_doubt: "raid5.lost_write_hole", Count, "Sectors lost because a member was missing, or a page of it unreadable, in a row whose parity a power cut left in doubt.";
        lost_unreadable: "raid5.lost_unreadable", Count, "Sectors lost because they could not be read from two blocks of their row.";
    }
}

/// Number of members.
pub const MEMBERS: Metric = Metric::new("raid5.members", Unit::Count, "Members of the array.");
/// Fraction of time spent degraded.
pub const DEGRADED: Metric = Metric::new(
    "raid5.degraded",
    Unit::Fraction,
    "Fraction of time in which the array was degraded; null without any time.",
);

/// Time spent degraded.
pub const DEGRADED_TIME: Metric =
    Metric::new("raid5.degraded_us", Unit::Count, "Microseconds in which the array was degraded.");
/// Parity writes for each data write.
pub const PARITY_SHARE: Metric = Metric::new(
    "raid5.parity_share",
    Unit::Ratio,
    "Parity blocks written for each data block written; null without any.",
);
/// Mean time between writes of a data block.
pub const DATA_INTERVAL: Metric = Metric::new(
    "raid5.data_interval_us",
    Unit::Microseconds,
    "Mean microseconds between writes of a data block; null unless `array.intervals` is set.",
);
/// Mean time between writes of a parity block.
pub const PARITY_INTERVAL: Metric = Metric::new(
    "raid5.parity_interval_us",
    Unit::Microseconds,
    "Mean microseconds between writes of a parity block; null unless `array.intervals` is set.",
);
/// Ratio of the parity interval to the data interval.
pub const INTERVAL_RATIO: Metric = Metric::new(
    "raid5.interval_ratio",
    Unit::Ratio,
    "Ratio of the parity interval to the data interval; null unless `array.intervals` is set.",
);

/// All metrics of an array, without the metrics of its members.
pub fn all() -> Vec<&'static Metric> {
    Counts::METRICS.iter().chain(&OTHERS).collect()
}

/// The metrics that are not counters.
const OTHERS: [Metric; 7] =
    [MEMBERS, DEGRADED, DEGRADED_TIME, PARITY_SHARE, DATA_INTERVAL, PARITY_INTERVAL, INTERVAL_RATIO];
