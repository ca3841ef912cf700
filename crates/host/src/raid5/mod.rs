//! RAID-5 over three or more devices, modelled on the Linux driver `md`.
//!
//! Data chunks are striped over the members, and each stripe has a parity chunk ([`layout`]). Reads go
//! directly to their member. Writes go through the *stripe cache* ([`heads`]), whose stripe heads each hold a
//! *row*: one block of each member, at the same offset. The parity of a row is updated by read-modify-write
//! or by reconstruct-write, as md's rule decides ([`way`]). With [`Parity::Md`] parity is written with the
//! data; with [`Parity::Cache`] it is deferred until its row is evicted from the cache, until a flush, or for
//! a configured time.
//!
//! A failed member is replaced by a spare and rebuilt at md's pace ([`sync`]). Blocks that cannot be read are
//! computed from the others; sectors that cannot be computed are reported as lost. One model decides which
//! writes survive a power cut ([`durability`]): rows whose parity a cut may leave inconsistent are known and
//! resynchronised; a partial parity log (PPL) gives their parity, even with a missing member.

mod block_device;
mod commands;
mod contents;
pub mod durability;
mod explained;
mod flush;
pub mod heads;
pub mod intervals;
pub mod layout;
mod logging;
pub mod members;
mod outcome;
mod plan;
mod requests;
mod settings;
mod store;
mod stripe;
pub mod sync;
mod timers;
mod upkeep;
pub mod way;

use serde::{Deserialize, Serialize};
use wordline_kernel::metrics::Unit;
use wordline_kernel::snapshot::State;
use wordline_kernel::{Digest, Duration, Instant, Metric, counters, state};
use wordline_ssd::{Answer, BlockDevice};

use contents::Followed;
use durability::Durability;
use explained::{Cause, Explainer};
use flush::OwnFlush;
use heads::{HeadId, Heads};
use intervals::{Intervals, Of, Sum};
pub use layout::Layout;
use members::{Members, Why, Work};
use requests::Requests;
pub use settings::{ArrayFile, FailureFile, Parity, Settings, check_members};
use sync::Sync;
use timers::Timers;

use crate::recorded::Recorder;

/// An event of an array whose devices have events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of a device.
    Of {
        /// Which device.
        device: u16,
        /// Its event.
        event: E,
    },
    /// Plug: all commands of an instant have arrived, and their writes are handled.
    Unplug,
    /// Deferred parity whose delay has expired is written.
    Settle,
    /// A rebuild, a resync or a scrub continues.
    Sync,
    /// A member fails: the number of the configured failure.
    Fails(u16),
    /// A scrub begins.
    Scrub,
}

counters! {
    /// The counters of an array.
    pub struct Counts {
        commands: "raid5.commands", Count, "Commands of the host.";
        member_commands: "raid5.member_commands", Count, "Commands to members.";
        data_writes: "raid5.data_writes", Count, "Blocks of data of which something was written to a member.";
        parity_writes: "raid5.parity_writes", Count, "Blocks of parity written.";
        full_stripes: "raid5.full_stripes", Count, "Rows of which all data were in memory when parity was computed: of most, all of it was written.";
        reconstructed: "raid5.reconstructed", Count, "Rows whose parity was computed from all their data, of which some had to be read.";
        modified: "raid5.modified", Count, "Rows whose parity was computed from the old parity and the old data.";
        pre_reads: "raid5.pre_reads", Count, "Blocks read to compute parity.";
        degraded_reads: "raid5.degraded_reads", Count, "Blocks that the host read and that were computed from the others of their row.";
        repaired: "raid5.repaired", Count, "Blocks that could not be read, and were computed and written again.";
        failures: "raid5.failures", Count, "Members that failed.";
        rebuilt: "raid5.rebuilt", Count, "Blocks of spares that were written to take the place of those of failed members.";
        resynced: "raid5.resynced", Count, "Rows of which parity was written because a power cut might have left it wrong.";
        scrubbed: "raid5.scrubbed", Count, "Rows that were read and compared by a scrub.";
        unsure: "raid5.unsure", Count, "Rows whose parity power cuts might have left wrong.";
        log_writes: "raid5.log_writes", Count, "Entries of the partial parity log that were written.";
        log_flushes: "raid5.log_flushes", Count, "Flushes of all members that made room in the partial parity log.";
        replayed: "raid5.replayed", Count, "Rows whose parity was had from the partial parity log after a power cut.";
        lost: "raid5.lost", Count, "Sectors that were lost, for one of the three reasons that follow.";
        lost_behind: "raid5.lost_parity_behind", Count, "Sectors lost because a member failed while their parity stayed behind: `array.parity = \"cache\"`.";
        lost_in_doubt: "raid5.lost_write_hole", Count, "Sectors lost because a member was missing, or a page of it unreadable, in a row whose parity a power cut left in doubt.";
        lost_unreadable: "raid5.lost_unreadable", Count, "Sectors lost because two blocks of their row could not be read.";
    }
}

/// Number of members.
pub const MEMBERS: Metric = Metric::new("raid5.members", Unit::Count, "Members of the array.");
/// Fraction of time spent degraded.
pub const DEGRADED: Metric = Metric::new(
    "raid5.degraded",
    Unit::Fraction,
    "Part of the time in which a member held less than all; null without any time.",
);

/// Time spent degraded.
pub const DEGRADED_TIME: Metric =
    Metric::new("raid5.degraded_us", Unit::Count, "Microseconds in which a member held less than all.");
/// Parity writes for each data write.
pub const PARITY_SHARE: Metric = Metric::new(
    "raid5.parity_share",
    Unit::Ratio,
    "Blocks of parity written for each block of data of which something was written; null without any.",
);
/// Mean time between writes of a data block.
pub const DATA_INTERVAL: Metric = Metric::new(
    "raid5.data_interval_us",
    Unit::Ratio,
    "Mean microseconds between two writes of a block of data; null unless `array.intervals` is set.",
);
/// Mean time between writes of a parity block.
pub const PARITY_INTERVAL: Metric = Metric::new(
    "raid5.parity_interval_us",
    Unit::Ratio,
    "Mean microseconds between two writes of a block of parity; null unless `array.intervals` is set.",
);
/// Ratio of the two intervals.
pub const INTERVAL_RATIO: Metric = Metric::new(
    "raid5.interval_ratio",
    Unit::Ratio,
    "The interval of parity as a part of that of data; null unless `array.intervals` is set.",
);

/// All metrics of an array, without those of its members.
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
    /// The devices recover.
    Recovering,
}

/// A RAID-5 array of devices of one shape.
pub struct Raid5<D> {
    settings: Settings,
    members: Members<D>,
    heads: Heads,
    requests: Requests,
    durability: Durability,
    sync: Option<Sync>,
    timers: Timers,
    power: Power,
    counts: Counts,
    digest: Digest,
    answers: Vec<Answer>,
    own_flush: OwnFlush,
    /// Rows that wait for space in the partial parity log.
    wait_for_log: Vec<HeadId>,
    /// The array label on each device: its superblock.
    labels: Vec<u64>,
    /// Consecutive full stripes that are stored in one batch. Empty between events.
    batch: Vec<HeadId>,
    /// `None` unless intervals are measured.
    intervals: Option<Box<Intervals>>,
    /// `None` unless data verification is on.
    followed: Option<Box<Followed>>,
    /// `None` unless host commands are explained.
    explainer: Option<Box<Explainer>>,
    recorder: Recorder,
}

state!(Raid5<D: State> {
    values { sync, timers, power, counts, digest, answers, own_flush, wait_for_log, labels, intervals }
    parts { members, heads, requests, durability }
    fixed { settings, batch, followed, explainer, recorder }
});

/// The counters of an array at a point in time.
pub struct Mark<M> {
    counts: Counts,
    devices: Vec<M>,
    work: Vec<Work>,
    intervals: [Sum; 2],
    degraded: Duration,
    at: Instant,
}

impl<D: BlockDevice> Raid5<D> {
    /// An array of these devices; those beyond the members are spares. `label` is written to all of them.
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
            heads: Heads::new(settings.file.stripe_cache, striping.members),
            durability: Durability::new(striping, settings.log_sectors()),
            labels: vec![label; devices.len()],
            intervals: settings
                .file
                .intervals
                .then(|| Box::new(Intervals::new(striping.rows() * striping.members))),
            members: Members::new(devices, count),
            settings,
            requests: Requests::default(),
            sync: None,
            timers: Timers::default(),
            power: Power::On,
            counts: Counts::default(),
            digest: Digest::default(),
            answers: Vec::new(),
            own_flush: OwnFlush::default(),
            wait_for_log: Vec::new(),
            batch: Vec::new(),
            followed: None,
            explainer: None,
            recorder: Recorder::default(),
        }
    }

    /// The devices: members, spares and failed ones.
    pub fn devices(&self) -> &[D] {
        self.members.devices()
    }

    /// The devices, mutable.
    pub fn devices_mut(&mut self) -> &mut [D] {
        self.members.devices_mut()
    }

    /// The striping geometry.
    pub fn striping(&self) -> layout::Striping {
        self.settings.striping
    }

    /// Rows whose parity may be inconsistent.
    pub fn unsure(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let rows = &self.durability.rows;
        std::iter::successors(rows.next_untrusted(0), |row| rows.next_untrusted(row + 1))
    }

    /// Whether parity of a row is deferred.
    pub fn has_parity_behind(&self) -> bool {
        self.heads.all().any(|(_, head)| head.stale != 0)
    }

    /// Number of members that are missing or being rebuilt.
    pub fn degraded(&self) -> u32 {
        self.missing().count_ones()
    }

    /// Members that are missing or being rebuilt, as a set.
    pub fn missing(&self) -> way::Set {
        self.durability.held.lacking()
    }

    /// Lost sectors, until they are rewritten; without those on two missing members.
    pub fn lost_sectors(&self) -> u64 {
        self.durability.lost.count()
    }

    /// Whether a sector of the array is lost: recorded as lost, or on a missing member while another is
    /// missing too.
    pub fn is_lost(&self, sector: u64) -> bool {
        let settings::Settings { striping, .. } = self.settings;
        let (member, of_member) = striping.place(sector);
        let missing = self.durability.held.missing(of_member / striping.block);
        missing.count_ones() > 1 && missing >> member & 1 == 1
            || self.durability.lost.touches(member, &(of_member..of_member + 1), striping.block)
    }

    /// Notes writes to the blocks of these members in a row.
    fn note_written(&mut self, row: u64, blocks: way::Set, of: Of, now: Instant) {
        let Some(intervals) = &mut self.intervals else { return };
        let members = self.settings.striping.members;
        way::each(blocks).for_each(|member| intervals.written(row * members + u64::from(member), of, now));
    }

    /// Notes the end of a step of a head, with the member command that has just completed.
    fn step_over(&mut self, id: HeadId, why: Why) {
        if let Some(explainer) = &mut self.explainer {
            explainer.step_over(id, why);
        }
    }

    /// Sets the cause of the host completions that follow.
    fn note_cause(&mut self, cause: Cause) {
        if let Some(explainer) = &mut self.explainer {
            explainer.cause = cause;
        }
    }

    /// The counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The synchronisation in progress.
    pub fn sync(&self) -> Option<&Sync> {
        self.sync.as_ref()
    }
}
