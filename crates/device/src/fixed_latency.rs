//! The smallest device: it completes each command after the same time. It stores no data unless asked to. It
//! serves tests of the layers above a device, and gives a lower bound for the time that a run takes to
//! simulate.

mod volatile;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed, state};

use crate::ageing::Ages;
use crate::block_device::{OldestCommand, Programmed, Shape};
use crate::content::{Content, ZEROES};
use crate::detail::Detail;
use crate::factors::none_of;
use crate::preconditioning::{ProgressFn, Steady};
use crate::snapshot::Agenda;
use crate::{
    BlockDevice, Command, Completion, Operation, PowerCut, Recovered, SECTOR, TimeFactors, UnscalableReason,
};
use volatile::Volatile;

/// A device that completes each command after the same time, for any number of outstanding commands.
pub struct FixedLatency {
    capacity: Bytes,
    latency: Duration,
    /// Commands in flight and their submission times, by number.
    under_way: BTreeMap<u32, (Command, Instant)>,
    next: u32,
    digest: Digest,
    recovered: bool,
    completions: Vec<Completion>,
    /// Sectors that cannot be read.
    unreadable: BTreeSet<u64>,
    /// Contents of written sectors; `None` if contents are not tracked.
    contents: Option<BTreeMap<u64, Content>>,
    /// Contents of writes in flight, by tag.
    carried: BTreeMap<u32, Vec<Content>>,
    found: BTreeMap<u32, Vec<Content>>,
    /// Operation whose next command fails.
    failing: Option<Operation>,
    /// Volatile cache; `None` if all completed writes survive a power cut.
    volatile: Option<Volatile>,
}

state!(FixedLatency {
    values { under_way, next, digest, recovered, completions, unreadable, contents, carried, found }
    fixed { capacity, latency, failing, volatile }
});

/// The command with this number has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done(u32);

impl FixedLatency {
    /// A device with this capacity and this latency. The capacity must be a multiple of a sector.
    pub fn new(capacity: Bytes, latency: Duration) -> Self {
        assert!(capacity.0.is_multiple_of(SECTOR.0), "a device of whole sectors");
        Self {
            capacity,
            latency,
            under_way: BTreeMap::new(),
            next: 0,
            digest: Digest::default(),
            recovered: false,
            completions: Vec::new(),
            unreadable: BTreeSet::new(),
            contents: None,
            carried: BTreeMap::new(),
            found: BTreeMap::new(),
            failing: None,
            volatile: None,
        }
    }

    /// Gives the device a volatile cache. If contents are tracked, a power cut leaves in each sector a random
    /// version among those written since the last flush of the sector. A flush does not make discards
    /// durable. A snapshot does not include the cache.
    #[must_use]
    pub fn with_volatile_cache(self, seed: Seed) -> Self {
        Self { volatile: Some(Volatile::new(seed)), ..self }
    }

    /// Makes reads of these sectors fail until they are written. For tests of layers that handle such
    /// failures.
    pub fn spoil(&mut self, sectors: Range<u64>) {
        self.unreadable.extend(sectors);
    }

    /// Makes the next command with this operation fail. For tests of layers that handle such failures.
    pub fn fail_next(&mut self, operation: Operation) {
        self.failing = Some(operation);
    }

    /// Whether an ended command failed because of unreadable sectors. A write makes its sectors readable
    /// again.
    fn fails(&mut self, command: &Command) -> bool {
        let sectors = command.sector..command.sector + command.sectors;
        match command.operation {
            Operation::Read | Operation::Compare => self.unreadable.range(sectors).next().is_some(),
            Operation::Write | Operation::WriteZeroes | Operation::Discard => {
                self.unreadable.retain(|sector| !sectors.contains(sector));
                false
            }
            Operation::Flush => false,
            of_zones => of_zones.is_not_executed(),
        }
    }

    /// Records what an ended command wrote or found.
    #[cold]
    fn note_contents(&mut self, number: u32, command: &Command) {
        if let Some(volatile) = &mut self.volatile {
            volatile.complete();
        }
        match command.operation {
            Operation::Write | Operation::WriteZeroes | Operation::Discard => {
                self.write(command, |_| true);
                let is_durable = command.fua && command.operation != Operation::Discard;
                if let (Some(volatile), true) = (&mut self.volatile, is_durable) {
                    (command.sector..command.sector + command.sectors)
                        .for_each(|sector| volatile.force(sector));
                }
                self.carried.remove(&command.tag);
            }
            Operation::Read => {
                let Some(contents) = &self.contents else { return };
                let sectors = command.sector..command.sector + command.sectors;
                let found = sectors.map(|sector| contents.get(&sector).copied().unwrap_or(ZEROES));
                self.found.insert(command.tag, found.collect());
            }
            Operation::Flush => {
                if let Some(volatile) = &mut self.volatile {
                    volatile.finish_flush(number);
                }
            }
            _ => {}
        }
    }

    /// Writes those sectors of a command that reach the medium, according to `reaches`.
    fn write(&mut self, command: &Command, mut reaches: impl FnMut(&mut Option<Volatile>) -> bool) {
        let Self { contents: Some(contents), carried, volatile, .. } = self else { return };
        let carried = carried.get(&command.tag);
        let tag = Content::of(command.tag);
        for (at, sector) in (command.sector..command.sector + command.sectors).enumerate() {
            if !reaches(volatile) {
                continue;
            }
            let new =
                (command.operation == Operation::Write).then(|| carried.map_or(tag, |carried| carried[at]));
            let before = match new {
                Some(content) => contents.insert(sector, content),
                None => contents.remove(&sector),
            };
            if let Some(volatile) = volatile {
                volatile.write(sector, before, new, command.operation == Operation::Discard);
            }
        }
    }

    /// Simulates a power cut: writes in flight may have reached their sectors, and writes after the last
    /// flush may be lost.
    fn lose(&mut self, in_flight: &[Command]) {
        for command in in_flight {
            if matches!(command.operation, Operation::Write | Operation::WriteZeroes | Operation::Discard) {
                self.write(command, |volatile| volatile.as_mut().is_some_and(Volatile::reached));
            }
        }
        let Self { contents: Some(contents), volatile: Some(volatile), .. } = self else { return };
        for (sector, held) in volatile.cut() {
            match held {
                Some(content) => contents.insert(sector, content),
                None => contents.remove(&sector),
            };
        }
    }
}

impl BlockDevice for FixedLatency {
    type Event = Done;
    type Mark = ();

    fn shape(&self) -> Shape {
        Shape {
            namespaces: vec![self.capacity.0 / SECTOR.0],
            capacity: self.capacity,
            sector_size: SECTOR,
            logical_page: SECTOR,
            discard_unit: SECTOR,
            deallocates_zeroes: true,
            block_set: Bytes(0),
            zones: None,
        }
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Done>) {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let is_flush = command.operation == Operation::Flush && self.failing != Some(Operation::Flush);
        if let (Some(volatile), true) = (&mut self.volatile, is_flush) {
            volatile.begin_flush(number);
        }
        self.under_way.insert(number, (command, calendar.now()));
        calendar.after(self.latency, Done(number));
    }

    /// The latency of the device counts as controller time.
    fn change_times(&mut self, factors: &TimeFactors) -> Result<(), UnscalableReason> {
        let TimeFactors { controller, read, program, erase, bus, gc, link } = *factors;
        self.latency = controller.of(self.latency);
        [read, program, erase, bus, gc, link]
            .into_iter()
            .try_for_each(|factor| none_of(factor, "the device has a latency and nothing else"))
    }

    fn follow_contents(&mut self) {
        self.contents = Some(BTreeMap::new());
    }

    fn carry(&mut self, tag: u32, contents: &[Content]) {
        assert!(self.contents.is_some(), "contents are followed");
        self.carried.insert(tag, contents.to_vec());
    }

    fn take_contents(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.found.remove(&tag)
    }

    fn handle(&mut self, Done(number): Done, calendar: &mut impl Schedule<Done>) {
        let (command, submitted) = self.under_way.remove(&number).expect("it was submitted");
        let latency = calendar.now() - submitted;
        for word in [command.sector, command.sectors, latency.ps()] {
            self.digest.add(word);
        }
        if self.contents.is_some() {
            self.note_contents(number, &command);
        }
        let refused = self.failing.take_if(|failing| *failing == command.operation).is_some();
        let failed = refused || !self.unreadable.is_empty() && self.fails(&command);
        self.completions.push(Completion { command, latency, failed });
    }

    fn completions(&self) -> &[Completion] {
        &self.completions
    }

    fn clear_completions(&mut self) {
        self.completions.clear();
    }

    fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    fn power_cut(&mut self, _now: Instant) -> PowerCut {
        let in_flight = std::mem::take(&mut self.under_way).into_values();
        let incomplete: Vec<Command> = in_flight.map(|(command, _)| command).collect();
        if self.volatile.is_some() {
            self.lose(&incomplete);
        }
        self.carried.clear();
        self.found.clear();
        PowerCut { incomplete, ..PowerCut::default() }
    }

    fn recover(&mut self, _calendar: &mut impl Schedule<Done>) {
        self.recovered = true;
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn recovery(&self) -> Option<Recovered> {
        self.recovered.then(Recovered::default)
    }

    fn fill_while(&mut self, _fraction: f64, _look: ProgressFn<'_>) -> bool {
        true
    }

    fn fill_steady_while(
        &mut self,
        _seed: Seed,
        _fraction: Option<f64>,
        _look: ProgressFn<'_>,
    ) -> Option<Steady> {
        Some(Steady { overwritten: 0, amplification: None })
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn audit(&self, _elapsed: Duration) {}

    fn oldest(&self) -> Option<OldestCommand> {
        let first = self.under_way.values().min_by_key(|(_, submitted)| *submitted);
        first.map(|(command, submitted)| OldestCommand { submitted: *submitted, tag: command.tag, done: 0 })
    }

    fn stall_limit(&self) -> Duration {
        self.latency * 2
    }

    fn describe_outstanding(&self, _now: Instant) -> String {
        format!("{} commands are in flight\n", self.outstanding())
    }

    fn mark(&self, _now: Instant) {}

    fn programmed(&self) -> Programmed {
        Programmed::default()
    }

    fn metrics(&self, _mark: &(), _now: Instant) -> Metrics {
        Metrics::default()
    }

    fn detail(&self, _mark: &(), _now: Instant) -> Detail {
        Detail::default()
    }

    fn check_loaded(&self, agenda: &Agenda<Done>) -> Result<(), String> {
        let is_known = |Done(number): Done| self.under_way.contains_key(&number);
        let all = agenda.events.iter().all(|(_, done)| is_known(*done));
        let holds = all && agenda.events.len() == self.under_way.len();
        if holds { Ok(()) } else { Err("its events are not those of its commands".into()) }
    }
}

/// A device without flash does not age.
impl Ages for FixedLatency {
    fn is_timer(_: &Self::Event) -> bool {
        false
    }

    fn stop_clock(&mut self) -> bool {
        false
    }

    fn next_untimed_completion(&mut self, _: &mut impl Schedule<Self::Event>) -> bool {
        false
    }

    fn pause_gc(&mut self) {}

    fn start_clock(&mut self) {}

    fn page_program_time(&self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_kernel::Calendar;

    fn device() -> FixedLatency {
        FixedLatency::new(Bytes(1 << 20), Duration::from_us(10))
    }

    #[test]
    fn what_a_flush_covers_outlives_a_power_cut_and_of_the_rest_anything_may() {
        let mut held = BTreeSet::new();
        for seed in 0..64 {
            let mut device = device().with_volatile_cache(Seed(seed));
            device.follow_contents();
            let mut calendar = Calendar::new();
            let mut tag = 0;
            let mut run = |device: &mut FixedLatency, operation, fua| {
                tag += 1;
                let command = Command { operation, fua, tag, sectors: 1, ..Command::default() };
                device.submit(command, &mut calendar);
                let done = calendar.advance().expect("it was submitted");
                device.handle(done, &mut calendar);
                device.take_contents(tag).map(|found| found[0])
            };
            run(&mut device, Operation::Write, false);
            run(&mut device, Operation::Write, false);
            run(&mut device, Operation::Flush, false);
            run(&mut device, Operation::Write, false);
            run(&mut device, Operation::Discard, false);
            device.power_cut(Instant::ZERO);
            held.insert(run(&mut device, Operation::Read, false).expect("contents are followed"));
            run(&mut device, Operation::Write, true);
            device.power_cut(Instant::ZERO);
            assert_eq!(run(&mut device, Operation::Read, false), Some(Content::of(7)));
        }
        assert_eq!(held, BTreeSet::from([Content::of(2), Content::of(4), ZEROES]));
    }

    #[test]
    fn a_device_that_was_saved_goes_on_and_one_without_its_commands_is_refused() {
        let (mut device, mut calendar) = (self::device(), Calendar::new());
        (0..3)
            .for_each(|tag| device.submit(Command { tag, sectors: 8, ..Command::default() }, &mut calendar));
        let mut bytes = Vec::new();
        device.save(&Agenda::of(&calendar), &mut bytes).expect("a list takes everything");
        let mut again = self::device();
        let agenda = again.load(&mut bytes.as_slice()).expect("it was just written");
        let mut resumed = agenda.calendar(|event| event);
        while let Some(done) = resumed.advance() {
            again.handle(done, &mut resumed);
        }
        let tags: Vec<u32> = again.completions().iter().map(|completion| completion.command.tag).collect();
        assert_eq!((tags, again.outstanding()), (vec![0, 1, 2], 0));
        let empty = Agenda { now: Instant::ZERO, events: Vec::new() };
        let mut bytes = Vec::new();
        device.save(&empty, &mut bytes).expect("a list takes everything");
        let error =
            self::device().load(&mut bytes.as_slice()).expect_err("they would never be done").to_string();
        assert!(error.contains("its events are not those of its commands"), "{error}");
    }
}
