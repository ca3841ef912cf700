//! RAID-5 over devices, after the driver `md` of Linux: a device made of three or more.
//!
//! Chunks of data lie side by side on the members, and each stripe of them has a chunk of parity ([`layout`]). What is read goes to its member. What is written
//! goes through the *stripe cache* ([`heads`]), of which a head holds a *row*: a block of each member, at the same place. The parity of a row is
//! computed from the old parity or from all data of the row, by md's rule ([`way`]). With [`Parity::Md`] it is written
//! with the data; with [`Parity::Cache`] it stays behind until its row leaves the cache, on a flush, or after some time.
//!
//! A member that fails is replaced by a spare, and rebuilt at the pace of md ([`sync`]). What cannot be read is computed from the others, and what
//! cannot be computed is reported as lost. What outlives a power cut follows from one model ([`durability`]): the rows whose parity a cut leaves wrong
//! are known, and resynchronised; with a partial parity log their parity is had from that, also where a member is missing.

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
    /// That of a device.
    Of {
        /// Which device.
        device: u16,
        /// Its event.
        event: E,
    },
    /// The commands of an instant are all there: what they write is handled.
    Unplug,
    /// Parity that stayed behind for as long as it may is written.
    Settle,
    /// A rebuild, a resync or a scrub goes on.
    Sync,
    /// A member fails: which of the failures that are configured.
    Fails(u16),
    /// A scrub begins.
    Scrub,
}

counters! {
    /// The counts of an array.
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

/// The metrics that are no counters.
pub const MEMBERS: Metric = Metric::new("raid5.members", Unit::Count, "Members of the array.");
/// See there.
pub const DEGRADED: Metric = Metric::new(
    "raid5.degraded",
    Unit::Fraction,
    "Part of the time in which a member held less than all; null without any time.",
);

/// See there.
pub const DEGRADED_TIME: Metric =
    Metric::new("raid5.degraded_us", Unit::Count, "Microseconds in which a member held less than all.");
/// See there.
pub const PARITY_SHARE: Metric = Metric::new(
    "raid5.parity_share",
    Unit::Ratio,
    "Blocks of parity written for each block of data of which something was written; null without any.",
);
/// See there.
pub const DATA_INTERVAL: Metric = Metric::new(
    "raid5.data_interval_us",
    Unit::Ratio,
    "Mean microseconds between two writes of a block of data; null unless `array.intervals` is set.",
);
/// See there.
pub const PARITY_INTERVAL: Metric = Metric::new(
    "raid5.parity_interval_us",
    Unit::Ratio,
    "Mean microseconds between two writes of a block of parity; null unless `array.intervals` is set.",
);
/// See there.
pub const INTERVAL_RATIO: Metric = Metric::new(
    "raid5.interval_ratio",
    Unit::Ratio,
    "The interval of parity as a part of that of data; null unless `array.intervals` is set.",
);

/// All metrics of an array, beside those of its members.
pub fn metrics() -> Vec<&'static Metric> {
    Counts::METRICS.iter().chain(&OTHERS).collect()
}

/// Those that are no counters.
const OTHERS: [Metric; 7] =
    [MEMBERS, DEGRADED, DEGRADED_TIME, PARITY_SHARE, DATA_INTERVAL, PARITY_INTERVAL, INTERVAL_RATIO];

/// Whether the array has power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Power {
    #[default]
    On,
    /// Devices recover.
    Recovering,
}

/// A RAID-5 over devices of one shape.
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
    /// Rows that wait for room in the partial parity log.
    wait_for_log: Vec<HeadId>,
    /// Which array each device belongs to: its superblock.
    labels: Vec<u64>,
    /// Rows that are stored together with the first of them. Between two events there are none.
    batch: Vec<HeadId>,
    /// None unless it is measured.
    intervals: Option<Box<Intervals>>,
    /// None unless contents are followed.
    followed: Option<Box<Followed>>,
    /// None unless the commands of the host are explained.
    explainer: Option<Box<Explainer>>,
    recorder: Recorder,
}

state!(Raid5<D: State> {
    values { sync, timers, power, counts, digest, answers, own_flush, wait_for_log, labels, intervals }
    parts { members, heads, requests, durability }
    fixed { settings, batch, followed, explainer, recorder }
});

/// The counts of an array at some time.
pub struct Mark<M> {
    counts: Counts,
    devices: Vec<M>,
    work: Vec<Work>,
    intervals: [Sum; 2],
    degraded: Duration,
    at: Instant,
}

impl<D: BlockDevice> Raid5<D> {
    /// An array of these devices, of which those after the members are spares. The `label` is written on its devices.
    ///
    /// # Panics
    /// If there are fewer devices than members, or one has fewer sectors than a member needs.
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

    /// The devices: members, spares, and those that failed.
    pub fn devices(&self) -> &[D] {
        self.members.devices()
    }

    /// The same, to be changed.
    pub fn devices_mut(&mut self) -> &mut [D] {
        self.members.devices_mut()
    }

    /// The geometry.
    pub fn striping(&self) -> layout::Striping {
        self.settings.striping
    }

    /// Rows whose parity may be wrong.
    pub fn unsure(&self) -> impl Iterator<Item = u64> + use<'_, D> {
        let rows = &self.durability.rows;
        std::iter::successors(rows.next_untrusted(0), |row| rows.next_untrusted(row + 1))
    }

    /// Whether parity of a row stayed behind.
    pub fn has_parity_behind(&self) -> bool {
        self.heads.all().any(|(_, head)| head.stale != 0)
    }

    /// Members that hold less than all.
    pub fn degraded(&self) -> u32 {
        self.missing().count_ones()
    }

    /// Members that hold less than all, as bits.
    pub fn missing(&self) -> way::Set {
        self.durability.held.lacking()
    }

    /// Sectors that are lost for as long as they are not written, without those that two missing members held.
    pub fn lost_sectors(&self) -> u64 {
        self.durability.lost.count()
    }

    /// Whether a sector of the array is lost: noted as such, or on a missing member beside another.
    pub fn is_lost(&self, sector: u64) -> bool {
        let settings::Settings { striping, .. } = self.settings;
        let (member, of_member) = striping.place(sector);
        let missing = self.durability.held.missing(of_member / striping.block);
        missing.count_ones() > 1 && missing >> member & 1 == 1
            || self.durability.lost.touches(member, &(of_member..of_member + 1), striping.block)
    }

    /// Blocks of a row are written, those of these members.
    fn note_written(&mut self, row: u64, blocks: way::Set, of: Of, now: Instant) {
        let Some(intervals) = &mut self.intervals else { return };
        let members = self.settings.striping.members;
        way::each(blocks).for_each(|member| intervals.written(row * members + u64::from(member), of, now));
    }

    /// A step of the work on a row is over, with the command that a member has just answered.
    fn step_over(&mut self, id: HeadId, why: Why) {
        if let Some(explainer) = &mut self.explainer {
            explainer.step_over(id, why);
        }
    }

    /// Commands of the host that end from now on end for this reason.
    fn note_cause(&mut self, cause: Cause) {
        if let Some(explainer) = &mut self.explainer {
            explainer.cause = cause;
        }
    }

    /// The counts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The synchronisation under way.
    pub fn sync(&self) -> Option<&Sync> {
        self.sync.as_ref()
    }
}
