//! Interface of a device that takes commands on logical sectors: an SSD, an array of SSDs, or a device with a
//! fixed latency.
//!
//! The caller owns the calendar. It hands each event of the device back to the device at the event's time,
//! takes the completions, and reads results as metrics. A device that consists of other devices wraps their
//! events in its own type.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wordline_kernel::chart::ChartData;
use wordline_kernel::snapshot::{Sink, SnapshotError, Source, State};
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};
use wordline_nand::CutLosses;

use crate::content::Content;
use crate::detail::Detail;
use crate::preconditioning::{ProgressFn, Steady};
use crate::snapshot::Agenda;
use crate::tail::{RequestBreakdown, Tail};
use crate::timeline::Recorded;
use crate::{
    Command, Completion, Gauges, InvalidDecision, Operation, TimeFactors, UnscalableReason, ZoneDescriptor,
    snapshot,
};

/// Dimensions of a device as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sectors (512 bytes) of each namespace. There is at least one namespace.
    pub namespaces: Vec<u64>,
    /// Capacity available to the host.
    pub capacity: Bytes,
    /// The smallest unit that the host can address.
    pub sector_size: Bytes,
    /// The mapping unit.
    pub logical_page: Bytes,
    /// The unit that a discard deallocates as a whole. The rest of its range is kept.
    pub discard_unit: Bytes,
    /// Whether write zeroes deallocate such units. Otherwise they write data.
    pub deallocates_zeroes: bool,
    /// Bytes of a multi-plane block; 0 on a device without flash.
    pub block_set: Bytes,
    /// Zones of the only namespace, if it is a zoned one.
    pub zones: Option<ZoneShape>,
}

/// Zones as a host sees them, one after the other from the first sector on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape {
    /// Bytes from the start of a zone to the start of the next one.
    pub size: Bytes,
    /// Writable bytes of a zone.
    pub capacity: Bytes,
    /// Number of zones.
    pub count: u32,
    /// Upper bound on open and closed zones together; `None` without one.
    pub max_active: Option<u32>,
}

impl Shape {
    /// Whether the device executes an operation. A zoned namespace has no discards, write zeroes and compares
    /// here: a host resets zones in place of discards.
    pub fn executes(&self, operation: Operation) -> bool {
        match operation {
            Operation::Read | Operation::Write | Operation::Flush => true,
            Operation::Discard | Operation::WriteZeroes | Operation::Compare => self.zones.is_none(),
            _ => self.zones.is_some(),
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

/// Duration and results of a power-loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Time from power on until the device accepts commands.
    pub time: Duration,
    /// Pages whose data tag was read.
    pub pages_read: u64,
    /// Logical pages that lost their last write. Reads return their earlier data, or none.
    pub lost: u64,
    /// Discarded logical pages that have data again.
    pub returned: u64,
}

/// Progress of the oldest outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldestCommand {
    /// Time of submission.
    pub submitted: Instant,
    /// Tag chosen by the caller.
    pub tag: u32,
    /// A value that changes whenever the command makes progress.
    pub done: u64,
}

/// Counts of programmed logical pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Programmed {
    /// Host pages.
    pub host: u64,
    /// Other pages: relocated by GC, reprogrammed because their mapping unit is written as a whole, table
    /// pages of the map, and padding.
    pub other: u64,
}

/// Function that returns the next command for [ageing](BlockDevice::age), with its time since ageing began.
pub type NextCommand<'a> = &'a mut dyn FnMut(Programmed) -> Option<(Instant, Command)>;

/// State of the rebuild of the failed members of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// No member has failed yet.
    Intact {
        /// Time of the first configured failure that is still to come.
        fails_at: Option<Instant>,
    },
    /// A member is rebuilt, or a configured failure is still to come after a rebuild.
    Running {
        /// Rows that are rebuilt.
        done: u64,
        /// Rows of the member.
        rows: u64,
    },
    /// Members are missing that nothing replaces: there is no spare, or the data of two are lost.
    Impossible {
        /// Number of members that are failed or being rebuilt.
        missing: u32,
    },
    /// All members that failed are rebuilt, and no further failure is configured.
    Done,
}

/// A device that takes commands on logical sectors. Its results depend only on its configuration, its seed
/// and its commands.
pub trait BlockDevice: State {
    /// Events of the device.
    type Event: Copy + PartialEq + fmt::Debug + Serialize + DeserializeOwned;
    /// Counts of the device at a point in time.
    type Mark;

    /// Dimensions of the device as a host sees it.
    fn shape(&self) -> Shape;

    /// Submits a command. The command must lie within the device, the shape must
    /// [execute](Shape::executes) its operation, and the device must not be recovering from a power cut.
    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>);

    /// Tracks the contents of every sector from now on, so that layers above can verify parity and logs.
    /// Tracking changes no result.
    fn follow_contents(&mut self);

    /// Sets the contents that the next submitted command writes, one for each sector. The command must have
    /// this tag. A write without contents writes its tag. Requires
    /// [`follow_contents`](Self::follow_contents).
    fn carry(&mut self, tag: u32, contents: &[Content]);

    /// Takes the contents that the read with this tag found, one for each sector; `None` if contents are not
    /// tracked. A sector of zeroes has [`ZEROES`](crate::content::ZEROES). Data from before tracking began are
    /// [`FILLED`](crate::content::FILLED).
    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>>;

    /// [Submits](Self::submit) a write with these contents.
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

    /// Collects the latency breakdown of single requests in this [tail](Self::tail) from now on, if the
    /// device can. Changes no result.
    fn explain(&mut self, _tail: Tail) {}

    /// Latency breakdown of single requests; `None` until [`explain`](Self::explain) is called.
    fn tail(&self) -> Option<&Tail> {
        None
    }

    /// Takes the breakdown of the completed command with this tag, within the event in which it completed; `None`
    /// unless the tail [records each](Tail::recording_each). Breakdowns are taken or dropped in the order of
    /// completion.
    fn take_breakdown(&mut self, _tag: u32) -> Option<RequestBreakdown> {
        None
    }

    /// Drops the breakdown of the completed command with this tag.
    fn drop_breakdown(&mut self, tag: u32) {
        self.take_breakdown(tag);
    }

    /// Multiplies the device's times by these factors, from its next commands on. The factors replace earlier
    /// ones. The current state of the device still results from the unscaled times, and the device cannot be
    /// saved any more.
    ///
    /// # Errors
    /// The reason, if a factor other than one is for a kind of time that the device does not have. The device
    /// is then unusable.
    fn change_times(&mut self, _factors: &TimeFactors) -> Result<(), UnscalableReason> {
        Err("the times of a device of this type cannot be changed")
    }

    /// Starts or stops [recording](Self::take_recorded) the device's work. Returns whether the device
    /// supports recording. Changes no result.
    fn record(&mut self, _on: bool) -> bool {
        false
    }

    /// Takes the work [recorded](Self::record) since the last call that has ended at `now`. If the recording
    /// `ends`, array operations in progress end at `now`; otherwise they are taken when they have ended.
    fn take_recorded(&mut self, _now: Instant, _ends: bool) -> Recorded {
        Recorded::default()
    }

    /// Completions since they were last [cleared](Self::clear_completions).
    fn completions(&self) -> &[Completion];

    /// Clears the completions.
    fn clear_completions(&mut self);

    /// First invalid decision of a design or policy of the device or of its members. The caller checks it
    /// after each event and stops the run. The device rejects further commands.
    #[inline]
    fn invalid_decision(&self) -> Option<&InvalidDecision> {
        None
    }

    /// Names of the designs that take decisions of the device, or of one of its members.
    fn designs(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Outstanding commands.
    fn outstanding(&self) -> usize;

    /// Fails commands that can never be executed. Called when no event is pending. Returns whether there were
    /// such commands. If not, and they wait for what a design declined to do, that is an [invalid
    /// decision](Self::invalid_decision).
    fn give_up(&mut self, _calendar: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    /// Whether the device rejects writes because it has reached its end of life.
    fn is_read_only(&self) -> bool {
        false
    }

    /// State of the rebuild of failed members. `None` if the device is no array that rebuilds.
    fn rebuild(&self) -> Option<Rebuild> {
        None
    }

    /// Starts the timers that otherwise start with the first command, such as those of configured failures.
    fn start_timers(&mut self, _calendar: &mut impl Schedule<Self::Event>) {}

    /// Cuts the power at `now`. The caller drops all pending events of this device. The device accepts no
    /// command until it has [recovered](Self::recover).
    fn power_cut(&mut self, now: Instant) -> PowerCut;

    /// Switches the power on again, which starts power-loss recovery.
    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>);

    /// Whether the device accepts commands.
    fn is_ready(&self) -> bool;

    /// Whether a power cut may undo completed writes that were neither flushed nor FUA.
    fn has_volatile_writes(&self) -> bool {
        true
    }

    /// Pages that power-loss recovery has read or is reading.
    fn pages_recovered(&self) -> u64 {
        0
    }

    /// Pages that power-loss recovery has still to read.
    fn pages_to_recover(&self) -> u64 {
        0
    }

    /// Descriptors of all zones, in order (Zone Management Receive); `None` on a device without zones. A state
    /// includes all commands that the device has accepted. Takes no simulated time.
    fn report_zones(&self) -> Option<Vec<ZoneDescriptor>> {
        None
    }

    /// Duration and results of the last power-loss recovery; `None` until it has ended.
    fn recovery(&self) -> Option<Recovered>;

    /// Preconditions the device: writes the first `fraction` of the logical pages once, in order, in no
    /// simulated time. Returns false if `look` stopped it.
    fn fill_while(&mut self, fraction: f64, look: ProgressFn<'_>) -> bool;

    /// Preconditions the device to steady state in no simulated time: writes all logical pages, then
    /// overwrites random ones until the write amplification is steady. Returns `None` if `look` stopped it.
    ///
    /// Without a `fraction` the device is left busy, for a load without pauses. With a `fraction` only this
    /// first part of the pages is written (1 is all), and the device is left as after an idle time. A load
    /// with pauses needs this. Otherwise the device would finish earlier work during the pauses, and the run
    /// would count that work.
    fn fill_steady_while(
        &mut self,
        seed: Seed,
        fraction: Option<f64>,
        look: ProgressFn<'_>,
    ) -> Option<Steady>;

    /// Executes the commands of `next` until it returns `None`, with the clock of the flash stopped: a
    /// command takes no time, causes no wear and never fails. `next` gets the counts of pages programmed so
    /// far.
    ///
    /// With a `depth`, this many commands are outstanding at once and their times are ignored. Without a
    /// `depth`, each command is submitted at its time, after the device has finished all earlier work.
    ///
    /// Returns the device's time and pending events; `None` if the device cannot be aged. A device that can
    /// be aged implements [`Ages`](crate::ageing::Ages) and delegates to [`age`](crate::ageing::age).
    fn age(&mut self, _next: NextCommand<'_>, _depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        None
    }

    /// Digest of all events so far.
    fn digest(&self) -> Digest;

    /// Checks the conservation laws over the whole state, at `elapsed` since the start of time. Panics if a
    /// law is violated.
    fn audit(&self, elapsed: Duration);

    /// Progress of the oldest outstanding command; `None` if none is outstanding.
    fn oldest(&self) -> Option<OldestCommand>;

    /// Longest time for which a command may make no progress. A longer stall is a fault of the model.
    fn stall_limit(&self) -> Duration;

    /// Report of the outstanding work and what it waits for, in lines of text.
    fn describe_outstanding(&self, now: Instant) -> String;

    /// Counts of the device at `now`.
    fn mark(&self, now: Instant) -> Self::Mark;

    /// Logical pages programmed since the device was made.
    fn programmed(&self) -> Programmed;

    /// Metrics of the device from `mark` to `now`.
    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics;

    /// Charts of the device's designs for the time since `mark`, each with the name of its design.
    fn charts(&self, _mark: &Self::Mark) -> Vec<(&'static str, ChartData)> {
        Vec::new()
    }

    /// Details of the device from `mark` to `now`, by channel, die, block and component.
    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail;

    /// Bytes that can be programmed before another victim is needed: in free blocks, in open blocks, and in
    /// the part of victims that GC has processed. `None` if a device does not report it. A call looks at every
    /// open block.
    fn room(&self) -> Option<u64> {
        None
    }

    /// Gauges at `now`, for the time series of a run. A device without gauges returns the default.
    fn gauges(&self, _now: Instant) -> Gauges {
        Gauges::default()
    }

    /// Lengths of the lists in the state that follow from the configuration. A loaded state must have the
    /// same lengths.
    fn lengths(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Approximate upper limit, in bytes, of the longest field of the saved state. Chosen as the default: 16
    /// MiB.
    fn max_field_bytes(&self) -> u64 {
        1 << 24
    }

    /// Checks whether a loaded state with these pending events is possible in this device.
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

    /// Loads the state of a device with the same configuration and design. The seed may differ. The loaded
    /// state replaces the whole state of this device, and the caller continues with the returned agenda.
    /// After an error the device is unusable.
    ///
    /// # Errors
    /// Errors of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Self::Event>, SnapshotError> {
        snapshot::load(self, self.max_field_bytes(), from, Self::lengths, Self::check_loaded)
    }
}
