//! The interface of a device that takes commands on logical sectors: an SSD, an array of them, or a device
//! with a fixed latency.
//!
//! The caller owns the calendar, returns each event that the device puts there, takes its completions, and
//! measures it through metrics. A device made of devices wraps their events in its own.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_kernel::chart::ChartData;
use wordline_kernel::snapshot::{Sink, SnapshotError, Source, State};
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};
use wordline_nand::CutLosses;

use crate::command::{Command, Completion, SECTOR};
use crate::design::InvalidDecision;
use crate::device::{Content, ProgressFn, Recovered, Steady};
use crate::factors::{TimeFactors, UnscalableReason};
use crate::front::Tail;
use crate::gauges::Gauges;
use crate::metrics::Detail;
use crate::physical_device::Geometry;
use crate::snapshot::{self, Agenda};
use crate::timeline::Recorded;

/// Dimensions of a device as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sectors of 512 bytes of each namespace; there is at least one.
    pub namespaces: Vec<u64>,
    /// Capacity available to the host.
    pub capacity: Bytes,
    /// The smallest unit that the host can address.
    pub sector_size: Bytes,
    /// The mapping unit.
    pub logical_page: Bytes,
    /// Bytes of a multi-plane block, erased at once; zero on a device without flash.
    pub block_set: Bytes,
}

impl Shape {
    /// Dimensions of a host FTL that exposes `pages` logical blocks of an open-channel device as its pages.
    pub fn of_pages(geometry: &Geometry, pages: u32) -> Self {
        let page = geometry.block_size;
        let capacity = page * u64::from(pages);
        Self {
            namespaces: vec![capacity.0 / SECTOR.0],
            capacity,
            sector_size: page,
            logical_page: page,
            block_set: page * u64::from(geometry.blocks_per_chunk),
        }
    }
}

/// Commands and operations that a power cut interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Commands that will never complete.
    pub incomplete: Vec<Command>,
    /// Programs and erases that were interrupted.
    pub torn: CutLosses,
}

/// Progress of the oldest outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldestCommand {
    /// Submission.
    pub submitted: Instant,
    /// Tag chosen by the caller.
    pub tag: u32,
    /// Changes with any progress of the command.
    pub done: u64,
}

/// Counts of programmed logical pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Programmed {
    /// Host pages.
    pub host: u64,
    /// Other pages: by GC, with the rest of their unit, for the map, as padding.
    pub other: u64,
}

/// A function that returns the next command by which a device is [aged](BlockDevice::age), with its time
/// since the beginning.
pub type NextCommand<'a> = &'a mut dyn FnMut(Programmed) -> Option<(Instant, Command)>;

/// A device that takes commands on logical sectors. A run is a function of its configuration, its seed and
/// its commands.
pub trait BlockDevice: State {
    /// Events of the device.
    type Event: Copy + PartialEq + fmt::Debug + Serialize + DeserializeOwned;
    /// Counts of the device at a point in time.
    type Mark;

    /// Dimensions of the device as a host sees it.
    fn shape(&self) -> Shape;

    /// Submits a command, which has to be within the device; the device must not be recovering from a power
    /// cut.
    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>);

    /// Follows the contents of every sector from now on, so that layers above can verify parity and logs. It
    /// changes no result, and costs nothing unless called.
    fn follow_contents(&mut self);

    /// Sets the contents, one for each sector, that the next submitted command, with this tag, writes; a
    /// write without contents writes its tag. Only for a device that [follows
    /// contents](Self::follow_contents).
    fn carry(&mut self, tag: u32, contents: &[Content]);

    /// Takes the contents of each sector of the read with this tag; none if contents are not followed. Zeroes
    /// are [`ZEROES`](crate::device::ZEROES), and contents from before the first command
    /// [`FILLED`](crate::device::FILLED).
    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>>;

    /// [Submits](Self::submit) a write of these contents.
    fn submit_with(
        &mut self,
        command: Command,
        contents: &[Content],
        calendar: &mut impl Schedule<Self::Event>,
    ) {
        self.carry(command.tag, contents);
        self.submit(command, calendar);
    }

    /// Prefetches the memory that the next commands need. Changes nothing.
    #[inline]
    fn prefetch_lookups(&self, _upcoming: [Option<&Command>; 2]) {}

    /// Handles an event at its time.
    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>);

    /// Breaks the latency of requests down in this [tail](Self::tail) from now on, if the device can. It
    /// changes no result.
    fn explain(&mut self, _tail: Tail) {}

    /// Latency breakdown of single requests; none unless it was [switched on](Self::explain).
    fn tail(&self) -> Option<&Tail> {
        None
    }

    /// Scales the device's times by these factors, in place of earlier ones, from its next commands on; its
    /// current state results from its original times. A device whose times were changed cannot be saved.
    ///
    /// # Errors
    /// The reason, where it lacks times of a kind whose factor is not one. The device is unusable then.
    fn change_times(&mut self, _factors: &TimeFactors) -> Result<(), UnscalableReason> {
        Err("the times of a device of this type cannot be changed")
    }

    /// Starts or stops [recording](Self::take_recorded) its work; returns whether the device supports it.
    /// Recording changes no result.
    fn record(&mut self, _on: bool) -> bool {
        false
    }

    /// The work [recorded](Self::record) since the last call.
    fn take_recorded(&mut self) -> Recorded {
        Recorded::default()
    }

    /// Completions since they were last [cleared](Self::clear_completions).
    fn completions(&self) -> &[Completion];

    /// Clears the completions.
    fn clear_completions(&mut self);

    /// The first invalid decision of a design or policy of the device. The caller checks it after each event
    /// and stops; a device made of devices queries its members. The device rejects further commands.
    #[inline]
    fn invalid_decision(&self) -> Option<&InvalidDecision> {
        None
    }

    /// Outstanding commands.
    fn outstanding(&self) -> usize;

    /// Completes, with an error, commands that can never be done, as no event is pending; returns whether
    /// there were any.
    fn give_up(&mut self, _calendar: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    /// Whether it rejects writes because it has reached the end of its life.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Cuts the power at `now`. The caller drops all events of this device; it accepts no command until it
    /// has [recovered](Self::recover).
    fn power_cut(&mut self, now: Instant) -> PowerCut;

    /// Switches the power on again.
    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>);

    /// Whether it accepts commands.
    fn is_ready(&self) -> bool;

    /// Pages that a recovery has read, or is reading.
    fn pages_recovered(&self) -> u64 {
        0
    }

    /// Pages that it has still to read.
    fn pages_to_recover(&self) -> u64 {
        0
    }

    /// Duration and results of the last recovery, once it has ended.
    fn recovery(&self) -> Option<Recovered>;

    /// Preconditioning: writes a first fraction of the logical pages once, in order, without taking time.
    /// False if `look` stopped it.
    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool;

    /// Preconditioning: writes all logical pages, and overwrites them at random until the write amplification
    /// is steady, without taking time, and leaves the device busy, as a load without pauses needs it. With a
    /// `fraction` (1 is all) it does so with a first fraction of the pages, and leaves the device as after an
    /// idle time: otherwise a load with pauses would finish the started work in them, and be charged for it.
    /// None if `look` stopped it.
    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady>;

    /// Executes the commands of `next` until it returns none, with the clock of the flash stopped: a command
    /// takes no time, causes no wear and never fails. With a `depth` this many are outstanding at once, and
    /// times are ignored; otherwise each is submitted at its time, and the device is idle before. `next` gets
    /// the pages programmed so far. Returns the device's time and pending events; none if the device cannot
    /// be aged. A device that can implements [`Ages`](crate::ageing::Ages), and delegates to it.
    fn age(&mut self, _next: NextCommand<'_>, _depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        None
    }

    /// Digest of all events so far.
    fn digest(&self) -> Digest;

    /// Checks the conservation laws over the whole state, `elapsed` after time began; panics if one does not
    /// hold.
    fn audit(&self, elapsed: Duration);

    /// Progress of the oldest command; none if none is outstanding.
    fn oldest(&self) -> Option<OldestCommand>;

    /// The longest time for which a command may make no progress without a fault.
    fn stall_limit(&self) -> Duration;

    /// Report of outstanding work and the causes of its waits, in lines of text.
    fn describe_outstanding(&self, now: Instant) -> String;

    /// Counts of the device at `now`.
    fn mark(&self, now: Instant) -> Self::Mark;

    /// Logical pages programmed since the device was made.
    fn programmed(&self) -> Programmed;

    /// Metrics of the device from `mark` to `now`.
    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics;

    /// Charts of its designs for the time since `mark`, each with the name of the design.
    fn charts(&self, _mark: &Self::Mark) -> Vec<(&'static str, ChartData)> {
        Vec::new()
    }

    /// Details of the device from `mark` to `now`, by channel, die, block and component.
    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail;

    /// Gauges at `now`, for the time series of a run. Devices without any return the default.
    fn gauges(&self, _now: Instant) -> Gauges {
        Gauges::default()
    }

    /// Lengths of the lists in a saved state whose lengths follow from the configuration.
    fn lengths(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Approximate upper limit, in bytes, for the longest field of its state, beyond what the source has.
    /// Chosen as the default: 16 MiB.
    fn max_field_bytes(&self) -> u64 {
        1 << 24
    }

    /// Checks whether a loaded state, with these pending events, can be a state of this device.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String>;

    /// Saves the device and its pending events.
    ///
    /// # Errors
    /// Errors of the sink.
    fn save(&self, agenda: &Agenda<Self::Event>, to: &mut dyn Sink) -> Result<(), SnapshotError> {
        snapshot::save(self, agenda, to)
    }

    /// Loads the state of a device with the same configuration and design, which replaces the whole state of
    /// this device, whatever its seed; the caller continues with the returned agenda. After an error the
    /// device is unusable.
    ///
    /// # Errors
    /// Errors of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Self::Event>, SnapshotError> {
        snapshot::load(self, self.max_field_bytes(), from, Self::lengths, Self::check_loaded)
    }
}
