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
mod event;
mod flush;
mod host;
pub mod intervals;
pub mod layout;
mod logging;
pub mod members;
mod metrics;
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

use wordline_device::BlockDevice;
use wordline_kernel::{Duration, Instant};

use array::Array;
pub use event::Event;
use host::Host;
use intervals::IntervalSum;
pub use layout::Layout;
use members::DeviceTraffic;
pub use metrics::{Counts, all as metrics};
pub use settings::{ArrayFile, FailureFile, Parity, Settings, Writes, check_members};
use stripe::Stripes;
use sync::Sync;

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
