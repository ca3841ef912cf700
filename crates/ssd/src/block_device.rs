//! The face of a device that takes commands on logical sectors: an SSD, an array of them, a device that answers after a fixed
//! time.
//!
//! The caller owns the calendar, hands back each event that the device puts there, takes its answers, and measures it
//! through metrics. A device made of devices wraps their events in its own.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wordline_kernel::chart::Drawn;
use wordline_kernel::snapshot::{Broken, Sink, Source, State};
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};
use wordline_nand::TornBy;

use crate::command::{Answer, Command, SECTOR};
use crate::design::WrongAnswer;
use crate::device::{Content, Look, Recovered, Steady};
use crate::factors::{TimeFactors, Unchanged};
use crate::front::Tail;
use crate::gauges::Gauges;
use crate::metrics::Detail;
use crate::physical_device::Geometry;
use crate::snapshot::{self, Agenda};
use crate::timeline::Recorded;

/// The shape of a device as a host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sectors of 512 bytes of each namespace; there is one at least.
    pub namespaces: Vec<u64>,
    /// Bytes that the host can use.
    pub capacity: Bytes,
    /// The least that the host can address.
    pub sector_size: Bytes,
    /// The least that is mapped by itself.
    pub logical_page: Bytes,
    /// Bytes that are erased at once; zero on a device without flash.
    pub block_set: Bytes,
}

impl Shape {
    /// That of a host which shows so many logical blocks of an open-channel device as its pages.
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

/// The commands and operations that a power cut stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Commands that were not answered and never will be.
    pub unanswered: Vec<Command>,
    /// Programs and erases that it stopped.
    pub torn: TornBy,
}

/// How far the command is that a device took up first of those that are not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oldest {
    /// When it came.
    pub submitted: Instant,
    /// The caller's name for it.
    pub tag: u32,
    /// Changes whenever something of it is done.
    pub done: u64,
}

/// Logical pages that were programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Programmed {
    /// For the host.
    pub host: u64,
    /// For others: by the collector, with the rest of their unit, for the map, as padding.
    pub other: u64,
}

/// A function that returns the next command by which a device is [aged](BlockDevice::age), with its time since
/// the beginning.
pub type Next<'a> = &'a mut dyn FnMut(Programmed) -> Option<(Instant, Command)>;

/// A device that takes commands on logical sectors. A run of it is a function of its configuration, its seed and the commands.
pub trait BlockDevice: State {
    /// Its events.
    type Event: Copy + PartialEq + fmt::Debug + Serialize + DeserializeOwned;
    /// The counts of the device at some time.
    type Mark;

    /// The shape of the device as a host sees it.
    fn shape(&self) -> Shape;

    /// Takes a command, which lies within the device and comes when no power cut is being recovered from.
    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Self::Event>);

    /// From now on the device follows what every sector holds, so that layers above can check parity and logs. Nothing that it does
    /// depends on it, and it costs nothing otherwise.
    fn follow_contents(&mut self);

    /// The command with this tag, which is submitted next, writes these contents, one for each of its sectors; a write that carries none
    /// writes its tag. Only for a device that [follows contents](Self::follow_contents).
    fn carry(&mut self, tag: u32, contents: &[Content]);

    /// The contents of each sector of the read with this tag, returned once; none where contents are not followed. Zeroes
    /// are [`ZEROES`](crate::device::ZEROES), and contents from before the first command [`FILLED`](crate::device::FILLED).
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

    /// Prefetches the memory that the next commands look up. Changes nothing.
    #[inline]
    fn foresee(&self, _upcoming: [Option<&Command>; 2]) {}

    /// Lets time go on to `event`.
    fn handle(&mut self, event: Self::Event, calendar: &mut impl Schedule<Self::Event>);

    /// From now on the time of requests is explained to this [tail](Self::tail), where the device can. Nothing that it does depends on it.
    fn explain(&mut self, _tail: Tail) {}

    /// Where the time of requests went, one by one; none where they are not [explained](Self::explain).
    fn tail(&self) -> Option<&Tail> {
        None
    }

    /// From its next commands on the device takes its times with these factors, in place of those before: its state is one that the times it
    /// was made with brought about. A device whose times were changed cannot be saved.
    ///
    /// # Errors
    /// The reason, where it has no times of a kind of which the factor is not one. Then the device is good for nothing.
    fn change_times(&mut self, _factors: &TimeFactors) -> Result<(), Unchanged> {
        Err("the times of a device of this type cannot be changed")
    }

    /// From now on its work is [recorded](Self::take_recorded), or no longer; whether the device can. Nothing that it does
    /// depends on it.
    fn record(&mut self, _on: bool) -> bool {
        false
    }

    /// The work of the device since it was last asked, as far as that is [recorded](Self::record).
    fn take_recorded(&mut self) -> Recorded {
        Recorded::default()
    }

    /// Answers that were given since they were last [forgotten](Self::forget_answers).
    fn answers(&self) -> &[Answer];

    /// They were seen.
    fn forget_answers(&mut self);

    /// The first answer of a design or a policy of the device that was not allowed. The caller checks it after each event and
    /// goes no further; a device made of devices asks its members. It refuses further commands.
    #[inline]
    fn wrong_answer(&self) -> Option<&WrongAnswer> {
        None
    }

    /// Commands that are not answered yet.
    fn outstanding(&self) -> usize;

    /// Answers what can never be done, with an error, now that no event is pending; whether there was such a command.
    fn give_up(&mut self, _calendar: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    /// Whether it refuses writes because it is at the end of its life.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Cuts the power at `now`. The caller forgets all events of this device; it takes no command until it has
    /// [recovered](Self::recover).
    fn power_cut(&mut self, now: Instant) -> PowerCut;

    /// Switches the power on again.
    fn recover(&mut self, calendar: &mut impl Schedule<Self::Event>);

    /// Whether it takes commands.
    fn is_ready(&self) -> bool;

    /// Pages that a recovery has read, or is reading, where it reads any.
    fn pages_recovered(&self) -> u64 {
        0
    }

    /// Pages that it is going to read beside those.
    fn pages_to_recover(&self) -> u64 {
        0
    }

    /// The time and the results of the last recovery, once it is over.
    fn recovery(&self) -> Option<Recovered>;

    /// Writes a first fraction of the logical pages once, in order, without taking time. False if `look` stopped it.
    fn fill_while(&mut self, fraction: f64, look: Look<'_>) -> bool;

    /// Writes all logical pages, and overwrites them at random until the write amplification stands still, without taking time, and leaves
    /// the device at work, as a load without a pause needs it; or does so with a first fraction of them (1 is all), and leaves the device
    /// as after a rest: a load with pauses would work off in them what is begun, and be charged for it. None if `look` stopped it.
    fn fill_steady_while(&mut self, seed: Seed, fraction: Option<f64>, look: Look<'_>) -> Option<Steady>;

    /// Carries out what `next` gives until it gives nothing more, with the clock of the flash off: a command takes no time, wears
    /// nothing and never fails. With a `depth` this many are outstanding at once, and times are not looked at; else each comes at its
    /// time, and the device is at rest before that. `next` is told what was programmed so far. Returns when the device is and what
    /// is about to happen to it; none if it cannot do so. A device that can is one that [`Ages`](crate::ageing::Ages), and passes this on.
    fn age(&mut self, _next: Next<'_>, _depth: Option<u32>) -> Option<Agenda<Self::Event>> {
        None
    }

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

    /// Logical pages programmed since it was made.
    fn programmed(&self) -> Programmed;

    /// The metrics of the device from `mark` to `now`, number by number.
    fn metrics(&self, mark: &Self::Mark, now: Instant) -> Metrics;

    /// The charts that its designs draw of the time since `mark`, each with the name of the design.
    fn charts(&self, _mark: &Self::Mark) -> Vec<(&'static str, Drawn)> {
        Vec::new()
    }

    /// The metrics of the device from `mark` to `now`, by channel, die, block and component.
    fn detail(&self, mark: &Self::Mark, now: Instant) -> Detail;

    /// Its readings at `now`, for the course of a run. Devices that have none to tell return the default.
    fn gauges(&self, _now: Instant) -> Gauges {
        Gauges::default()
    }

    /// The lengths of the lists whose lengths follow from the configuration, of those that a state brings with it.
    fn lengths(&self) -> Vec<usize> {
        Vec::new()
    }

    /// About as many bytes as the longest field of its state takes, beside as many as the source has. Chosen where it is not said: 16 MiB.
    fn most_bytes(&self) -> u64 {
        1 << 24
    }

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

    /// Takes over what a device of the same configuration and design wrote; the agenda is for the caller to carry on with. Nothing is
    /// left of what this device was, whatever its seed. After an error it is good for nothing.
    ///
    /// # Errors
    /// Those of the source, and bytes that [`save`](Self::save) did not write for this configuration.
    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Self::Event>, Broken> {
        snapshot::load(self, self.most_bytes(), from, Self::lengths, Self::check_loaded)
    }
}
