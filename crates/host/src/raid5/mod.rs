//! RAID-5 over three or more devices, modelled on the Linux driver `md`.
//!
//! Data chunks are striped over the members, and each stripe has a parity chunk ([`layout`]). Reads go
//! directly to the member with the data. Writes go through the *stripe cache* ([`stripe_cache`]). Its entries
//! are stripe heads. A stripe head has the state and the blocks of one *row*: one block of each member, at
//! the same offset. The parity of a row is updated by read-modify-write or by reconstruct-write, as md's rule
//! decides ([`write_method`]).
//!
//! With [`Parity::Md`] parity is written with the data. With [`Parity::Cache`] it is deferred until its row
//! is evicted from the cache, until a flush, or for a configured time.
//!
//! A failed member is replaced by a spare, which is rebuilt at md's pace ([`sync`]). Blocks that cannot be
//! read are computed from the other blocks of their row. Sectors that cannot be computed are reported as
//! lost. [`durability`] decides which writes survive a power cut. The array knows the rows whose parity a cut
//! may leave inconsistent, and resynchronises them. A partial parity log (PPL) recovers the parity of these
//! rows even with a missing member.
//!
//! The parts own their state. `array` is below: the members, what they hold, and the synchronisation. `host` has
//! the host commands and their completions. `stripe` works on the rows in memory, and is handed the other two.
//! [`Raid5`] is their sum, and takes commands, failures and synchronisations through them.

mod array;
mod attribution;
mod block_device;
mod commands;
mod contents;
pub mod durability;
mod flush;
mod host;
pub mod intervals;
pub mod layout;
mod logging;
pub mod members;
mod outcome;
mod plan;
mod requests;
mod settings;
mod state;
mod store;
mod stripe;
pub mod stripe_cache;
pub mod sync;
mod timers;
mod upkeep;
pub mod write_method;

use serde::{Deserialize, Serialize};
use wordline_device::BlockDevice;
use wordline_kernel::metrics::Unit;
use wordline_kernel::{Duration, Instant, Metric, counters};

use array::Array;
use host::Host;
use intervals::IntervalSum;
pub use layout::Layout;
use members::DeviceTraffic;
pub use settings::{ArrayFile, FailureFile, Parity, Settings, check_members};
use stripe::Stripes;
use sync::Sync;

/// An event of an array whose devices have events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of one of its devices.
    Device {
        /// Number of the device.
        device: u16,
        /// The event of the device.
        event: E,
    },
    /// End of a plug: all commands of this instant have arrived, and their writes are handled.
    Unplug,
    /// Writes deferred parity whose delay has expired.
    Settle,
    /// Continues the rebuild, resync or scrub with this number.
    Sync(u32),
    /// Fails a member. The value is the index of the configured failure.
    Fails(u16),
    /// Begins a scrub.
    Scrub,
}

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
pub fn metrics() -> Vec<&'static Metric> {
    Counts::METRICS.iter().chain(&OTHERS).collect()
}

/// The metrics that are not counters.
const OTHERS: [Metric; 7] =
    [MEMBERS, DEGRADED, DEGRADED_TIME, PARITY_SHARE, DATA_INTERVAL, PARITY_INTERVAL, INTERVAL_RATIO];

/// Power state of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Power {
    #[default]
    On,
    /// The devices recover from a power cut.
    Recovering,
}

/// A RAID-5 array of devices of one shape.
pub struct Raid5<D> {
    array: Array<D>,
    host: Host,
    stripes: Stripes,
    /// The label of the array on each device: its superblock.
    labels: Vec<u64>,
}

/// The counters of an array at a point in time.
pub struct Mark<M> {
    counts: Counts,
    devices: Vec<M>,
    work: Vec<DeviceTraffic>,
    intervals: [IntervalSum; 2],
    degraded: Duration,
    at: Instant,
}

impl<D: BlockDevice> Raid5<D> {
    /// An array of these devices. Devices beyond the members are spares. `label` is written to all of them.
    ///
    /// # Panics
    /// If there are fewer devices than members, or a device is too small.
    pub fn new(devices: Vec<D>, settings: Settings, label: u64) -> Self {
        let striping = settings.striping;
        let needed = settings.log_begin() + settings.log_sectors();
        let count = striping.members as usize;
        assert!(devices.len() >= count, "{} devices for {count} members", devices.len());
        for (at, device) in devices.iter().enumerate() {
            let has = device.shape().namespaces[0];
            assert!(has >= needed, "device {at} has {has} sectors, wanted {needed}");
        }
        Self {
            labels: vec![label; devices.len()],
            stripes: Stripes::new(&settings),
            array: Array::new(devices, settings),
            host: Host::default(),
        }
    }

    /// The devices: members, spares and failed ones.
    pub fn devices(&self) -> &[D] {
        self.array.members.devices()
    }

    /// The devices, mutable.
    pub fn devices_mut(&mut self) -> &mut [D] {
        self.array.members.devices_mut()
    }

    /// The striping geometry.
    pub fn striping(&self) -> layout::Striping {
        self.array.settings.striping
    }

    /// Dirty rows: rows whose parity may be inconsistent.
    pub fn dirty_rows(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let rows = &self.array.durability.rows;
        std::iter::successors(rows.next_dirty(0), |row| rows.next_dirty(row + 1))
    }

    /// Whether any row has deferred parity.
    pub fn has_parity_behind(&self) -> bool {
        self.stripes.heads.all().any(|(_, head)| head.stale != 0)
    }

    /// Number of members that are missing or being rebuilt.
    pub fn degraded(&self) -> u32 {
        self.missing().count_ones()
    }

    /// Members that are missing or being rebuilt, as a set.
    pub fn missing(&self) -> write_method::MemberSet {
        self.array.durability.held.incomplete()
    }

    /// Lost sectors that are not rewritten yet. Sectors on two missing members do not count.
    pub fn lost_sectors(&self) -> u64 {
        self.array.durability.lost.count()
    }

    /// Whether a sector of the array is lost: it is recorded as lost, or its member and another member are
    /// missing.
    pub fn is_lost(&self, sector: u64) -> bool {
        let striping = self.striping();
        let (member, of_member) = striping.locate(sector);
        let missing = self.array.durability.held.missing(of_member / striping.block);
        missing.count_ones() > 1 && missing >> member & 1 == 1
            || self.array.durability.lost.touches(member, &(of_member..of_member + 1), striping.block)
    }

    /// The counters.
    pub fn counts(&self) -> &Counts {
        &self.array.counts
    }

    /// The synchronisation in progress.
    pub fn sync(&self) -> Option<&Sync> {
        self.array.sync.as_ref()
    }
}
