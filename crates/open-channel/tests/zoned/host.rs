//! Host of zones that records what it wrote, and checks every completion against it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_device::PhysicalDevice;
use wordline_device::snapshot::Agenda;
use wordline_kernel::snapshot::SnapshotError;
use wordline_kernel::{Calendar, Duration, Instant, Schedule, Seed};
use wordline_nand::DataTag;
use wordline_nand::faults::Fails;
use wordline_open_channel::device;
use wordline_open_channel::zoned::{
    Action, Command, Completion, Event, Operation, Status, Zone, ZoneId, ZoneState, ZonesFile,
};
use wordline_open_channel::{OpenChannel, OpenChannelFile, Zoned};

/// Number of zones that random steps use: few, so that commands overlap.
const ZONES: u32 = 5;

/// Zone, as the host knows it.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Data tags written or being written since the last reset.
    written: Vec<DataTag>,
    /// Number of completed blocks. `flushed` is the number that a flush covers.
    done: u32,
    flushed: u32,
    resets: u32,
    /// Blocks of failed writes, and blocks that a failed flush did not cover.
    failed: Vec<std::ops::Range<u32>>,
    /// Whether data without a flush may be lost, because there was a power loss while the zone was full.
    is_loose: bool,
}

#[derive(Clone, Debug)]
struct Sent {
    operation: Operation,
    zone: ZoneId,
    /// Start and end of a write, and the resets of its zone before it.
    begin: u32,
    end: u32,
    resets: u32,
    /// For a read, the allowed contents of each block.
    allowed: Vec<Vec<DataTag>>,
    /// For a flush, the completed blocks of each zone and its resets.
    covers: Vec<(u32, u32)>,
}

pub struct Host {
    pub device: Zoned<OpenChannel>,
    pub calendar: Calendar<Event<device::Event>>,
    pub completions: Vec<Completion>,
    zones: Vec<Known>,
    sent: BTreeMap<u32, Sent>,
    tag: u32,
    /// Whether programs and erases may fail. `reads_fail` is true if reads may fail.
    fails: bool,
    reads_fail: bool,
    files: (OpenChannelFile, ZonesFile),
}

#[derive(Clone, Debug)]
pub enum Step {
    Write(u8, u8),
    Append(u8, u8),
    Read(u8, u8, u8),
    Manage(u8, u8),
    ManageAll(u8),
    Flush,
    GoOn(u8),
    RunDown,
    Cut(u16),
}

pub fn step(cuts: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (any::<u8>(), 1u8..24).prop_map(|(zone, blocks)| Step::Write(zone, blocks)),
        4 => (any::<u8>(), 1u8..10).prop_map(|(zone, blocks)| Step::Append(zone, blocks)),
        4 => (any::<u8>(), any::<u8>(), 1u8..30).prop_map(|(zone, at, blocks)| Step::Read(zone, at, blocks)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(action, zone)| Step::Manage(action, zone)),
        1 => any::<u8>().prop_map(Step::ManageAll),
        2 => Just(Step::Flush),
        5 => (1u8..40).prop_map(Step::GoOn),
        1 => Just(Step::RunDown),
        u32::from(cuts) => (0u16..900).prop_map(Step::Cut),
    ]
}

pub fn build((file, zones): &(OpenChannelFile, ZonesFile), seed: u64) -> Zoned<OpenChannel> {
    let config = file.clone().check().unwrap_or_else(|wrong| panic!("{wrong}"));
    let zones = zones.check(file, &config.geometry).unwrap_or_else(|wrong| panic!("{wrong}"));
    Zoned::new(zones, OpenChannel::new(config, Seed(seed)))
}

impl Host {
    pub fn new(file: OpenChannelFile, zones: ZonesFile) -> Self {
        let reads_fail = file.faults.iter().any(|rule| rule.fails == Fails::Read);
        let fails = !file.faults.is_empty();
        let files = (file, zones);
        let device = build(&files, 1);
        let zones = vec![Known::default(); device.config().layout.zones as usize];
        Self {
            device,
            calendar: Calendar::new(),
            completions: Vec::new(),
            zones,
            sent: BTreeMap::new(),
            tag: 0,
            fails,
            reads_fail,
            files,
        }
    }

    pub fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.device.save(&Agenda::of(&self.calendar), &mut bytes).expect("a list takes everything");
        bytes
    }

    /// Copy of the host, with a device that has another seed and has loaded the state.
    pub fn restored(&self, mut bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut device = build(&self.files, 999);
        let agenda = device.load(&mut bytes)?;
        assert!(bytes.is_empty(), "{} bytes are left over", bytes.len());
        Ok(Self {
            device,
            calendar: agenda.calendar(|event| event),
            completions: self.completions.clone(),
            zones: self.zones.clone(),
            sent: self.sent.clone(),
            files: self.files.clone(),
            ..*self
        })
    }

    pub fn zone(&self, zone: u32) -> Zone {
        self.device.zone(ZoneId(zone))
    }

    pub fn start(&self, zone: u32) -> u64 {
        self.device.config().layout.start(ZoneId(zone))
    }

    /// Submits a command for a zone. Checks that a rejected command changes nothing.
    pub fn submit(&mut self, command: &Command<'_>) -> Result<(), Status> {
        let before = self.saved();
        let layout = self.device.config().layout;
        let (zone, place) = layout.locate(command.first).unwrap_or((ZoneId(0), 0));
        let covers = self.zones.iter().map(|known| (known.done, known.resets)).collect();
        let allowed = (place..place + u64::from(command.blocks)).map(|at| self.allowed(zone, at)).collect();
        let selected: Vec<ZoneId> = (0..layout.zones).map(ZoneId).collect();
        let states: Vec<ZoneState> = selected.iter().map(|zone| self.device.zone(*zone).state).collect();
        if let Err(status) = self.device.submit(command, &mut self.calendar) {
            assert!(self.saved() == before, "{status} changed something");
            return Err(status);
        }
        let known = &mut self.zones[zone.0 as usize];
        if matches!(command.operation, Operation::Write | Operation::Append) {
            known.written.extend(command.stamps);
        }
        let (end, resets) = (known.written.len() as u32, known.resets);
        let begin = end - command.stamps.len() as u32;
        if command.operation == Operation::Manage(Action::Reset) {
            for (zone, state) in selected.iter().zip(states) {
                let is_reset = if command.all {
                    !matches!(state, ZoneState::Empty | ZoneState::ReadOnly | ZoneState::Offline)
                } else {
                    *zone == layout.locate(command.first).expect("it was taken").0
                };
                if is_reset {
                    let known = &mut self.zones[zone.0 as usize];
                    *known = Known { resets: known.resets + 1, ..Known::default() };
                }
            }
        }
        let sent = Sent { operation: command.operation, zone, begin, end, resets, allowed, covers };
        self.sent.insert(command.tag, sent);
        self.take_completions();
        Ok(())
    }

    /// Data tags that a read may find in a logical block.
    fn allowed(&self, zone: ZoneId, block: u64) -> Vec<DataTag> {
        let known = &self.zones[zone.0 as usize];
        let Some(stamp) = known.written.get(block as usize).copied() else { return vec![DataTag::ERASED] };
        let has_failed = known.failed.iter().any(|failed| failed.contains(&(block as u32)));
        let is_safe = block < u64::from(known.flushed)
            || block < u64::from(known.done) && !self.fails && !known.is_loose;
        let is_safe = is_safe && !has_failed;
        let mut allowed = vec![stamp];
        if !is_safe {
            allowed.push(DataTag::ERASED);
        }
        if !is_safe && (self.fails || known.is_loose) || self.reads_fail {
            allowed.push(DataTag::UNREADABLE);
        }
        allowed
    }

    fn take_completions(&mut self) {
        let completions = self.device.zone_completions().to_vec();
        self.device.clear_zone_completions();
        for completion in completions {
            let sent = self.sent.remove(&completion.tag).expect("it was sent, and answered once");
            assert_eq!(sent.operation, completion.operation);
            assert!(
                completion.status.is_none() || self.fails || sent.operation == Operation::Read,
                "{completion:?}"
            );
            let known = &mut self.zones[sent.zone.0 as usize];
            match completion.operation {
                Operation::Read => {
                    for (found, allowed) in completion.found.iter().zip(&sent.allowed) {
                        assert!(allowed.contains(found), "{completion:?} where {allowed:?} may be");
                    }
                    let is_torn = completion.found.contains(&DataTag::UNREADABLE);
                    assert_eq!(completion.status, is_torn.then_some(Status::Unrecovered));
                }
                Operation::Write | Operation::Append if completion.status.is_none() => {
                    if known.resets == sent.resets {
                        assert!(known.done < sent.end, "writes of a zone are answered in their order");
                        known.done = sent.end;
                    }
                }
                Operation::Flush if completion.status.is_none() => {
                    for (known, (done, resets)) in self.zones.iter_mut().zip(&sent.covers) {
                        let is_of_now = known.resets == *resets;
                        known.flushed = known.flushed.max(if is_of_now { *done } else { 0 });
                    }
                }
                Operation::Write | Operation::Append => {
                    let state = self.device.zone(sent.zone).state;
                    assert!(
                        known.resets != sent.resets || !state.is_active(),
                        "{completion:?}, and {state:?}"
                    );
                    if known.resets == sent.resets {
                        known.failed.push(sent.begin..sent.end);
                    }
                }
                // A failed flush reports lost data. The next flush does not report them again.
                Operation::Flush => {
                    for known in &mut self.zones {
                        known.failed.push(known.flushed..known.done);
                    }
                }
                Operation::Manage(_) => {}
            }
            self.completions.push(completion);
        }
    }

    pub fn next_tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag
    }

    fn stamps(tag: u32, count: u32) -> Vec<DataTag> {
        (0..count).map(|n| DataTag { logical: n, version: tag }).collect()
    }

    /// Writes at the write pointer of a zone.
    pub fn write(&mut self, zone: u32, blocks: u32) -> Result<u32, Status> {
        let tag = self.next_tag();
        let written = self.zones[zone as usize].written.len() as u64;
        let first = self.start(zone) + written;
        self.submit(&Command::write(tag, first, &Self::stamps(tag, blocks))).map(|()| tag)
    }

    pub fn append(&mut self, zone: u32, blocks: u32) -> Result<u32, Status> {
        let tag = self.next_tag();
        let first = self.start(zone);
        self.submit(&Command::append(tag, first, &Self::stamps(tag, blocks))).map(|()| tag)
    }

    pub fn read(&mut self, zone: u32, at: u64, blocks: u32) -> Result<u32, Status> {
        let tag = self.next_tag();
        let first = self.start(zone) + at;
        self.submit(&Command::read(tag, first, blocks)).map(|()| tag)
    }

    pub fn manage(&mut self, action: Action, zone: u32) -> Result<(), Status> {
        let tag = self.next_tag();
        let first = self.start(zone);
        self.submit(&Command::manage(tag, action, first))
    }

    pub fn manage_all(&mut self, action: Action) -> Result<(), Status> {
        let tag = self.next_tag();
        self.submit(&Command::manage_all(tag, action))
    }

    pub fn flush(&mut self) {
        let tag = self.next_tag();
        self.submit(&Command::flush(tag)).expect("nothing forbids a flush");
    }

    /// Completion of a command.
    pub fn completion(&self, tag: u32) -> &Completion {
        self.completions.iter().find(|completion| completion.tag == tag).expect("it is answered")
    }

    pub fn play(&mut self, step: &Step) {
        let pick = |zone: u8| u32::from(zone) % ZONES;
        let action = |action: u8| Action::ALL[usize::from(action) % Action::ALL.len()];
        match *step {
            Step::Write(zone, blocks) => {
                let _ = self.write(pick(zone), u32::from(blocks));
            }
            Step::Append(zone, blocks) => {
                let _ = self.append(pick(zone), u32::from(blocks));
            }
            Step::Read(zone, at, blocks) => {
                let _ = self.read(pick(zone), u64::from(at) % 64, u32::from(blocks));
            }
            Step::Manage(of, zone) => {
                let _ = self.manage(action(of), pick(zone));
            }
            Step::ManageAll(of) => {
                let _ = self.manage_all(action(of));
            }
            Step::Flush => self.flush(),
            Step::GoOn(events) => self.go_on(usize::from(events)),
            Step::RunDown => self.run_down(),
            Step::Cut(us) => self.cut_power(Duration::from_us(u64::from(us))),
        }
    }

    pub fn go_on(&mut self, events: usize) {
        for _ in 0..events {
            let Some(event) = self.calendar.advance() else { return };
            self.device.handle(event, &mut self.calendar);
            self.take_completions();
        }
    }

    /// Runs until no event is pending. All commands have completed by then.
    pub fn run_down(&mut self) {
        while !self.calendar.pending().is_empty() {
            self.go_on(1);
        }
        let waits = || self.device.describe_outstanding(self.calendar.now());
        assert_eq!(
            self.device.outstanding(),
            0,
            "commands are outstanding and no event is pending\n{}",
            waits()
        );
        assert!(self.sent.is_empty());
    }

    /// Cuts the power after a while, or at the next event if that is earlier, and waits for the recovery.
    /// Checks that flushed data are there, and that zones that are not full have no missing data before their
    /// write pointer.
    pub fn cut_power(&mut self, after: Duration) {
        let next = self.calendar.pending().first().map_or(self.calendar.now(), |(time, _)| *time);
        let now = next.min(self.calendar.now() + after);
        let cut = self.device.power_cut(now);
        self.calendar = Calendar::resumed(now, []);
        let flushes = self.sent.values().any(|sent| sent.operation == Operation::Flush);
        let incomplete: Vec<u32> = std::mem::take(&mut self.sent).into_keys().collect();
        assert_eq!(cut.incomplete, incomplete);
        assert!(!self.device.is_ready());
        self.device.recover(&mut self.calendar);
        while !self.device.is_ready() {
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
        for zone in 0..self.zones.len() {
            self.find_again(zone, flushes);
        }
        self.audit();
    }

    fn find_again(&mut self, number: usize, flushes: bool) {
        let zone = self.device.zone(ZoneId(number as u32));
        let below = self.device.device().geometry();
        let known = &mut self.zones[number];
        match zone.state {
            ZoneState::Empty | ZoneState::Closed => {
                let next = (zone.write_pointer - zone.start) as u32;
                // If the buffer below is not volatile, completed data that fill a program are there. With a
                // protected buffer all completed data are.
                let gathered = if self.device.has_volatile_writes() { below.ws_min - 1 } else { 0 };
                // An outstanding flush may have several padded programs in progress.
                let is_there = !below.capabilities.volatile_writes && !self.fails && !known.is_loose;
                let is_there = is_there && !(flushes && gathered > 0);
                let least = if is_there { known.done.saturating_sub(gathered) } else { 0 };
                let least = least.max(known.flushed);
                let fits = (least..=known.written.len() as u32).contains(&next);
                assert!(fits, "{zone:?} where {least} of {} have to be: {known:?}", known.written.len());
                known.written.truncate(next as usize);
                (known.done, known.flushed) = (next, next);
            }
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => {
                // Later flushes do not cover the data that may be lost.
                (known.is_loose, known.done) = (true, known.flushed);
            }
            ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen => panic!("{zone:?} after a power cut"),
        }
        if zone.state == ZoneState::Offline {
            known.written.clear();
        }
    }

    /// Reads everything that is readable.
    pub fn read_all(&mut self) {
        self.run_down();
        for zone in 0..self.zones.len() as u32 {
            if self.zone(zone).state != ZoneState::Offline {
                self.read(zone, 0, 64).expect("it can be read");
            }
        }
        self.run_down();
        self.audit();
    }

    pub fn audit(&self) {
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }
}
