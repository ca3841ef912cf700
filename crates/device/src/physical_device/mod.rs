//! Interface of a device without an FTL: chunks that are written in order, vector commands on their logical
//! blocks, and reports.
//!
//! It follows the Open-Channel Solid State Drives Specification, revision 2.0 of January 29, 2018, with its
//! sections, log pages and status codes. When a command is submitted, the device checks that it follows the
//! rules for hosts. A [`Refusal`] means that the host broke a rule, and changes nothing. A [`Failure`] in the
//! completion is a failure of the flash; the completion has the logical blocks that failed. Both have an NVMe
//! status. The copy within the device (Vector Chunk Copy, 93h) is optional; see [`Capabilities`].
//!
//! As with a [`BlockDevice`](crate::BlockDevice), the caller owns the calendar, hands each event of the
//! device back to it, and takes its completions. Each logical block has a data tag, which a write sets and a
//! read returns. With it the layers above can verify where their data are.

mod breakdown;
mod chunk;
mod command;
mod geometry;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_flash::WorkTimes;
use wordline_kernel::snapshot::{Sink, SnapshotError, Source, State};
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::{CutLosses, DataTag};

use crate::block_device::OldestCommand;
use crate::detail::Detail;
use crate::snapshot::Agenda;
use crate::timeline::Recorded;
use crate::{Gauges, Recovered, TimeFactors, UnscalableReason, snapshot};

pub use breakdown::CommandBreakdown;
pub use chunk::{ChunkState, ChunkType, Descriptor, Notice, Notification};
pub use command::{Command, Completion, Failure, MOST_BLOCKS, Operation, Refusal};
pub use geometry::{Capabilities, Chunk, Geometry, LogicalBlock, Times};

/// Commands and operations that a power cut interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Tags of the commands that will never complete.
    pub incomplete: Vec<u32>,
    /// Programs and erases that were interrupted.
    pub torn: CutLosses,
}

/// A device without an FTL. Its results depend only on its configuration, its seed and its commands.
pub trait PhysicalDevice: State {
    /// Events of the device.
    type Event: Copy + PartialEq + fmt::Debug + Serialize + DeserializeOwned;
    /// Counts of the device at a point in time.
    type Mark;

    /// Geometry of the device.
    fn geometry(&self) -> &Geometry;

    /// Report of a chunk. The chunk must exist.
    fn report(&self, chunk: Chunk) -> Descriptor;

    /// Data tag that a read of a logical block would return now; `None` if the block cannot be read. For
    /// verification by the layers above.
    fn stamp(&self, block: LogicalBlock) -> Option<DataTag>;

    /// Submits a command, which may complete at once.
    ///
    /// # Errors
    /// The rule that the host broke. The command then does not change the device.
    fn submit(
        &mut self,
        command: &Command<'_>,
        calendar: &mut impl Schedule<Self::Event>,
    ) -> Result<(), Refusal>;

    /// Handles an event at its time.
    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>);

    /// Completions since they were last [cleared](Self::clear_completions).
    fn completions(&self) -> &[Completion];

    /// Moves all completions to the end of `into`.
    fn take_completions(&mut self, into: &mut Vec<Completion>) {
        into.extend_from_slice(self.completions());
        self.clear_completions();
    }

    /// Clears the completions.
    fn clear_completions(&mut self);

    /// Notifications since they were last [cleared](Self::clear_notifications), in order. A notification may
    /// come without a command.
    fn notifications(&self) -> &[Notification];

    /// Clears the notifications.
    fn clear_notifications(&mut self);

    /// Outstanding commands.
    fn outstanding(&self) -> usize;

    /// Whether a command with this tag is outstanding.
    fn is_outstanding(&self, tag: u32) -> bool;

    /// Stops the clock: commands take no time, cause no wear, never fail, and complete at once. A layer above
    /// uses this to fill the device before a run. No command may be outstanding.
    fn stop_clock(&mut self);

    /// Starts the clock: commands take time again.
    fn start_clock(&mut self);

    /// Multiplies the device's times by these factors, from its next commands on. The factors replace earlier
    /// ones. The device cannot be saved any more.
    ///
    /// # Errors
    /// The reason, if a factor other than one is for a kind of time that the device does not have. The device
    /// is then unusable.
    fn change_times(&mut self, _factors: &TimeFactors) -> Result<(), UnscalableReason> {
        Err("the times of a device of this type cannot be changed")
    }

    /// Cuts the power at `now`. The caller drops all pending events of this device. The device accepts no
    /// command until it has [recovered](Self::recover); the report of a chunk then has its write pointer.
    ///
    /// No flushed write is lost. With write-through completion no completed write is lost either. The
    /// exception is pages that share cells with interrupted programs. Of other writes, each unit is either
    /// written as a whole or not at all.
    fn power_cut(&mut self, now: Instant) -> PowerCut;

    /// Switches the power on again, which starts recovery.
    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>);

    /// Whether the device accepts commands.
    fn is_ready(&self) -> bool;

    /// Duration and results of the last recovery; `None` until it has ended.
    fn recovery(&self) -> Option<Recovered>;

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

    /// Metrics of the device from `mark` to `now`.
    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics;

    /// Details of the device from `mark` to `now`, by channel, die, block and component.
    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail;

    /// Logical blocks that the device has programmed since it was made, beside the data of its host: copies and
    /// repetitions after failed programs, padding, and tables.
    fn own_blocks(&self) -> u64;

    /// Gauges at `now`, for the time series of a run. A device without gauges returns the default.
    fn gauges(&self, _now: Instant) -> Gauges {
        Gauges::default()
    }

    /// Starts or stops [recording](Self::take_recorded) the commands of the dies. Returns whether the device
    /// supports recording. Changes no result.
    fn record(&mut self, _on: bool) -> bool {
        false
    }

    /// Takes the recorded commands of the dies and their stages that have ended at `now` since the last call.
    /// If the recording ends, stages in progress end at `now`. The device does not know which requests they
    /// serve.
    fn take_recorded(&mut self, _now: Instant, _ends: bool) -> Recorded {
        Recorded::default()
    }

    /// Starts recording the [times](Self::take_breakdown) of commands. Returns whether the device supports
    /// it. Changes no result.
    fn record_times(&mut self) -> bool {
        false
    }

    /// Takes the times of the completed command with this tag, within the event in which it completed; `None`
    /// if they are not recorded.
    fn take_breakdown(&mut self, _tag: u32) -> Option<CommandBreakdown> {
        None
    }

    /// Drops the times of the completed command with this tag.
    fn drop_breakdown(&mut self, tag: u32) {
        self.take_breakdown(tag);
    }

    /// Time of all dies at each kind of work since recording began; zeros without recording.
    fn worked(&self) -> WorkTimes {
        WorkTimes::default()
    }

    /// Lengths of the lists in the state that follow from the configuration. A loaded state must have the
    /// same lengths.
    fn lengths(&self) -> Vec<usize>;

    /// Approximate upper limit, in bytes, of the longest field of the saved state.
    fn max_field_bytes(&self) -> u64;

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

    /// Loads the state of a device with the same configuration. The caller continues with the returned
    /// agenda. After an error the device is unusable.
    ///
    /// # Errors
    /// Errors of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Self::Event>, SnapshotError> {
        snapshot::load(self, self.max_field_bytes(), from, Self::lengths, Self::check_loaded)
    }
}
