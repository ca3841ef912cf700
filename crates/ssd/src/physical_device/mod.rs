//! The face of a device without an FTL: chunks that are written in order, vector commands on their logical blocks, and reports.
//!
//! It follows the Open-Channel Solid State Drives Specification, revision 2.0 of January 29, 2018; sections, log pages and status codes
//! are those of that. The duties of a host are checked where a command comes in: a [`Refusal`] is a fault of the host, and
//! changes nothing. A failure of the flash is a [`Failure`] in the answer, for each logical block. Both have a status of NVMe. The copy within the device
//! (Vector Chunk Copy, 93h) is optional there: see [`Capabilities`].
//!
//! As with a [`BlockDevice`](crate::BlockDevice), the caller of a device owns the calendar, hands each event back that it puts there,
//! and takes its answers. Each logical block carries a stamp: a write brings it, a read finds it, so that the layers above can check
//! where their data are.

mod chunk;
mod command;
mod geometry;
mod told;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_kernel::snapshot::{Broken, Sink, Source, State};
use wordline_kernel::{Digest, Duration, Instant, Metrics, Schedule};
use wordline_nand::{Stamp, TornBy};

use crate::block_device::Oldest;
use crate::device::Recovered;
use crate::factors::{TimeFactors, Unchanged};
use crate::flash::ByWork;
use crate::gauges::Gauges;
use crate::metrics::Detail;
use crate::snapshot::{self, Agenda};
use crate::timeline::Recorded;

pub use chunk::{ChunkState, ChunkType, Descriptor, Notice, Notification};
pub use command::{Answer, Command, Failure, MOST_BLOCKS, Operation, Refusal};
pub use geometry::{Capabilities, Chunk, Geometry, LogicalBlock, Times};
pub use told::Told;

/// The commands and operations that a power cut stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// The tags of commands that were not answered and never will be.
    pub unanswered: Vec<u32>,
    /// Programs and erases that it stopped.
    pub torn: TornBy,
}

/// A device without an FTL. A run of it is a function of its configuration, its seed and the commands.
pub trait PhysicalDevice: State {
    /// Its events.
    type Event: Copy + PartialEq + fmt::Debug + Serialize + DeserializeOwned;
    /// The counts of the device at some time.
    type Mark;

    /// Its geometry.
    fn geometry(&self) -> &Geometry;

    /// The report of a chunk, which has to exist.
    fn report(&self, chunk: Chunk) -> Descriptor;

    /// The stamp that a read of a logical block would find now; none where it would find none. For checks of what is kept elsewhere of it.
    fn stamp(&self, block: LogicalBlock) -> Option<Stamp>;

    /// Takes a command. Its answer may be there at once.
    ///
    /// # Errors
    /// The rule that the host broke; then nothing has changed.
    fn submit(
        &mut self,
        command: &Command<'_>,
        calendar: &mut impl Schedule<Self::Event>,
    ) -> Result<(), Refusal>;

    /// Lets time go on to `event`.
    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>);

    /// Answers that were given since they were last [forgotten](Self::forget_answers).
    fn answers(&self) -> &[Answer];

    /// The same, moved to the end of `into`, and forgotten.
    fn take_answers(&mut self, into: &mut Vec<Answer>) {
        into.extend_from_slice(self.answers());
        self.forget_answers();
    }

    /// They were seen.
    fn forget_answers(&mut self);

    /// Notifications since they were last [forgotten](Self::forget_notifications), in their order; one may come without any
    /// command.
    fn notifications(&self) -> &[Notification];

    /// They were seen.
    fn forget_notifications(&mut self);

    /// Commands that are not answered yet.
    fn outstanding(&self) -> usize;

    /// Whether a command of this tag is not answered yet.
    fn is_outstanding(&self, tag: u32) -> bool;

    /// From now on commands take no time, wear nothing, never fail, and are answered at once: for what stands above a device, to fill it
    /// before a run. No command may be outstanding.
    fn stop_clock(&mut self);

    /// From now on commands take their time.
    fn start_clock(&mut self);

    /// From its next commands on the device takes its times with these factors, in place of those before. A device whose times were changed
    /// cannot be saved.
    ///
    /// # Errors
    /// The reason, where it has no times of a kind of which the factor is not one. Then the device is good for nothing.
    fn change_times(&mut self, _factors: &TimeFactors) -> Result<(), Unchanged> {
        Err("the times of a device of this type cannot be changed")
    }

    /// Cuts the power at `now`. The caller forgets all events of this device; it takes no command until it has
    /// [recovered](Self::recover). The next place to write in a chunk is in its report then. No write is lost that was answered as flushed,
    /// nor, where a write is answered when it is in flash, any answered one, but for pages
    /// that shared cells with torn ones; of other writes each unit is written as a whole or not at all.
    fn power_cut(&mut self, now: Instant) -> PowerCut;

    /// Switches the power on again.
    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>);

    /// Whether it takes commands.
    fn is_ready(&self) -> bool;

    /// The time and the results of the last recovery, once it is over.
    fn recovery(&self) -> Option<Recovered>;

    /// The digest of everything that happened.
    fn digest(&self) -> Digest;

    /// Checks the conservation laws that follow from the whole state, `elapsed` after time began; a bug if one does not hold.
    fn audit(&self, elapsed: Duration);

    /// How far the oldest command is; none if none is outstanding.
    fn oldest(&self) -> Option<Oldest>;

    /// How long a command may stand still with good reason.
    fn longest_wait(&self) -> Duration;

    /// The pending work and the causes of its waits, in lines of text.
    fn what_waits(&self, now: Instant) -> String;

    /// The counts of the device at `now`.
    fn mark(&self, now: Instant) -> Self::Mark;

    /// The metrics of the device from `mark` to `now`, number by number.
    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics;

    /// The metrics of the device from `mark` to `now`, by channel, die, block and component.
    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail;

    /// Its readings at `now`, for the course of a run. Devices that have none to tell return the default.
    fn gauges(&self, _now: Instant) -> Gauges {
        Gauges::default()
    }

    /// From now on the commands of its dies are [recorded](Self::take_recorded), or no longer; whether the device can. Nothing that it does
    /// depends on it.
    fn record(&mut self, _on: bool) -> bool {
        false
    }

    /// The commands of its dies and their stages since it was last asked; which requests they are for is not known here.
    fn take_recorded(&mut self) -> Recorded {
        Recorded::default()
    }

    /// From now on the time of commands is [told](Self::take_told); whether the device can. Nothing that it does depends on it.
    fn tell_times(&mut self) -> bool {
        false
    }

    /// Where the time of the answered command of this tag went, told once; none where it is not told.
    fn take_told(&mut self, _tag: u32) -> Option<Told> {
        None
    }

    /// The time of all dies by their work since times are told; nothing where they are not.
    fn worked(&self) -> ByWork {
        ByWork::default()
    }

    /// The lengths of the lists whose lengths follow from the configuration, of those that a state brings with it.
    fn lengths(&self) -> Vec<usize>;

    /// About as many bytes as the longest field of its state takes, beside as many as the source has.
    fn most_bytes(&self) -> u64;

    /// Whether a state that was just taken over can be one of this device, with these pending events.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self, agenda: &Agenda<Self::Event>) -> Result<(), String>;

    /// Writes the device and what is about to happen to it.
    ///
    /// # Errors
    /// Those of the sink.
    fn save(&self, agenda: &Agenda<Self::Event>, to: &mut dyn Sink) -> Result<(), Broken> {
        snapshot::save(self, agenda, to)
    }

    /// Takes over what a device of the same configuration wrote; the agenda is for the caller to carry on with. After an error it is
    /// good for nothing.
    ///
    /// # Errors
    /// Those of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Self::Event>, Broken> {
        snapshot::load(self, self.most_bytes(), from, Self::lengths, Self::check_loaded)
    }
}
