//! Rules of zones, compared with a model: random commands, valid and invalid, the status of each, and the
//! reported and read data.

use std::collections::BTreeMap;

use wordline_device::PhysicalDevice;
use wordline_kernel::{Calendar, Seed, Stream};
use wordline_nand::DataTag;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::zoned::{Action, Command, Operation, Status, ZoneId, ZoneState, ZonesFile};
use wordline_open_channel::{OpenChannelFile, Zoned};

use super::host::build;
use super::{device, managed, rule, zones};

/// Logical blocks of a zone (size, capacity), maximum of an append, and limits of active and open zones.
const SIZE: u64 = 64;
const CAPACITY: u64 = 56;
const APPEND: u64 = 8;
const LIMITS: [usize; 2] = [5, 3];

/// Model of the zones. Each has its state code (ZS), its write pointer, the time of its opening, and its
/// data.
struct Model {
    zones: Vec<(u8, u64, u64, Vec<DataTag>)>,
    time: u64,
}

impl Model {
    /// Model of `zones` empty zones.
    fn new(zones: u32) -> Self {
        Self { zones: vec![(1, 0, 0, Vec::new()); zones as usize], time: 0 }
    }

    fn count(&self, states: &[u8]) -> usize {
        self.zones.iter().filter(|zone| states.contains(&zone.0)).count()
    }

    /// Opens a zone. Closes the oldest implicitly open zone if the limit requires it.
    fn open(&mut self, at: usize, state: u8) -> u16 {
        let before = self.zones[at].0;
        if before == 1 && self.count(&[2, 3, 4]) == LIMITS[0] {
            return 0x1bd;
        }
        if !matches!(before, 2 | 3) && self.count(&[2, 3]) == LIMITS[1] {
            let oldest =
                (0..self.zones.len()).filter(|n| self.zones[*n].0 == 2).min_by_key(|n| self.zones[*n].2);
            let Some(oldest) = oldest else { return 0x1be };
            self.zones[oldest].0 = 4;
        }
        self.time += 1;
        if before != state {
            (self.zones[at].0, self.zones[at].2) = (state, self.time);
        }
        0
    }

    fn manage(&mut self, action: Action, at: usize) -> u16 {
        let state = self.zones[at].0;
        match (action, state) {
            (Action::Open, 1..=4) => return self.open(at, 3),
            (Action::Close, 2..=4) => self.zones[at].0 = 4,
            (Action::Finish, 1..=4 | 0xe) => self.zones[at].0 = 0xe,
            (Action::Reset, 1..=4 | 0xe) => self.zones[at] = (1, 0, 0, Vec::new()),
            (Action::Offline, 0xd | 0xf) => self.zones[at].0 = 0xf,
            _ => return 0x1bf,
        }
        0
    }

    fn manage_all(&mut self, action: Action) -> u16 {
        let states: &[u8] = match action {
            Action::Open => &[4],
            Action::Close => &[2, 3],
            Action::Finish => &[2, 3, 4],
            Action::Reset => &[2, 3, 4, 0xe],
            Action::Offline => &[0xd],
        };
        let is_for = |n: &usize| states.contains(&self.zones[*n].0);
        let zones: Vec<usize> = (0..self.zones.len()).filter(is_for).collect();
        if action == Action::Open && self.count(&[3]) + zones.len() > LIMITS[1] {
            return 0x1be;
        }
        zones.into_iter().for_each(|at| assert_eq!(self.manage(action, at), 0));
        0
    }

    fn write(&mut self, first: u64, stamps: &[DataTag], appends: bool) -> u16 {
        let (at, place, count) = ((first / SIZE) as usize, first % SIZE, stamps.len() as u64);
        let (state, next, ..) = self.zones[at];
        let begin = match (appends, state) {
            (false, _) => place,
            (true, 1..=4) => next,
            (true, _) => 0,
        };
        match state {
            _ if begin + count > CAPACITY => return 0x1b8,
            0xe => return 0x1b9,
            0xd => return 0x1ba,
            0xf => return 0x1bb,
            _ if appends && (place > 0 || count > APPEND) => return 0x002,
            _ if !appends && place != next => return 0x1bc,
            _ => {}
        }
        let status = if matches!(state, 2 | 3) { 0 } else { self.open(at, 2) };
        if status == 0 {
            let zone = &mut self.zones[at];
            zone.3.extend(stamps);
            zone.1 += count;
            zone.0 = if zone.1 == CAPACITY { 0xe } else { zone.0 };
        }
        status
    }

    fn play(&mut self, command: &Command<'_>) -> u16 {
        let count = u64::from(command.blocks) + command.stamps.len() as u64;
        let end = self.zones.len() as u64 * SIZE;
        match command.operation {
            Operation::Flush => 0,
            Operation::Manage(action) if command.all => self.manage_all(action),
            _ if command.first + count > end || command.first >= end => 0x080,
            Operation::Manage(_) if !command.first.is_multiple_of(SIZE) => 0x002,
            Operation::Manage(action) => self.manage(action, (command.first / SIZE) as usize),
            _ if count == 0 => 0x002,
            Operation::Read if command.first % SIZE + count > SIZE => 0x1b8,
            Operation::Read => 0x1bb * u16::from(self.zones[(command.first / SIZE) as usize].0 == 0xf),
            Operation::Write => self.write(command.first, command.stamps, false),
            Operation::Append => self.write(command.first, command.stamps, true),
        }
    }

    /// Retires a zone after a failure of its chips: it is read-only, or offline if it was empty.
    fn retire(&mut self, at: usize, state: u8) {
        let before = self.zones[at].0;
        let may = matches!((before, state), (2..=4 | 0xe, 0xd) | (1, 0xf));
        assert!(may, "zone {at} went from {before:x}h to {state:x}h");
        self.zones[at].0 = state;
    }

    /// Data tags that a read finds.
    fn found(&self, first: u64, count: u64) -> Vec<DataTag> {
        let written = &self.zones[(first / SIZE) as usize].3;
        let at = |n: u64| written.get((first % SIZE + n) as usize).copied().unwrap_or(DataTag::ERASED);
        (0..count).map(at).collect()
    }
}

/// Random command, mostly valid, to one of a few zones.
fn draw<'a>(model: &Model, tag: u32, stamps: &'a mut Vec<DataTag>, random: &mut Stream) -> Command<'a> {
    let kind = random.below(24);
    let mut below = |n: u64| random.below(n);
    let zone = if below(60) == 0 { below(model.zones.len() as u64 + 1) } else { below(8) };
    let (start, next) = (zone * SIZE, model.zones.get(zone as usize).map_or(0, |zone| zone.1));
    let count = [1 + below(4), 1 + below(24), below(70)][if below(30) == 0 { 2 } else { below(2) as usize }];
    let odd = if below(15) == 0 { below(SIZE) } else { 0 };
    *stamps = (0..count as u32).map(|n| DataTag { logical: n, version: tag }).collect();
    let action = Action::ALL[below(5) as usize];
    match kind {
        0..5 => Command::read(tag, start + below(SIZE), count as u32),
        5..12 => Command::write(tag, start + if odd > 0 { odd } else { next }, stamps),
        12..16 => Command::append(tag, start + odd, stamps),
        16 => Command::flush(tag),
        17 if below(20) == 0 => Command::manage_all(tag, action),
        _ => Command::manage(tag, action, start + odd),
    }
}

/// Sends `commands` random commands to a device with zones, and compares their status with the model. Returns
/// the number of commands by status.
fn play(files: (OpenChannelFile, ZonesFile), seed: u64, commands: u32) -> BTreeMap<u16, u32> {
    let fails = !files.0.faults.is_empty();
    let mut device: Zoned<_> = build(&files, seed);
    let mut model = Model::new(device.config().layout.zones);
    let (mut calendar, mut random) = (Calendar::new(), Seed(seed).stream("model", 0));
    let (mut seen, mut stamps) = (BTreeMap::new(), Vec::new());
    // Zones with a failed write. Some of its logical blocks may have been written.
    let mut lost = vec![false; model.zones.len()];
    for tag in 1..=commands {
        let command = draw(&model, tag, &mut stamps, &mut random);
        let written = command.first / SIZE;
        let pointer = model.zones.get(written as usize).map_or(0, |zone| zone.1);
        let wanted = model.play(&command);
        *seen.entry(wanted).or_insert(0) += 1;
        let taken = device.submit(&command, &mut calendar);
        assert_eq!(taken.map_or_else(|status| status.code(), |()| 0), wanted, "{command:?}");
        if wanted == 0 {
            while let Some(event) = calendar.advance() {
                device.handle(event, &mut calendar);
            }
            let completion = device
                .zone_completions()
                .iter()
                .find(|completion| completion.tag == tag)
                .expect("it is answered");
            let is_told = match (command.operation, completion.status) {
                (_, None) => true,
                (Operation::Manage(Action::Reset), Some(Status::Offline)) => fails,
                (Operation::Write | Operation::Append, Some(Status::WriteFault)) => fails,
                _ => false,
            };
            assert!(is_told, "{:?}: {command:?}", completion.status);
            match command.operation {
                Operation::Read if lost[written as usize] => {}
                Operation::Read => {
                    assert_eq!(completion.found, model.found(command.first, u64::from(command.blocks)));
                }
                // The zone keeps its earlier data and accepts no more.
                Operation::Write | Operation::Append if completion.status.is_some() => {
                    let state = device.zone(ZoneId(written as u32)).state;
                    assert_eq!(state, ZoneState::ReadOnly, "{command:?}");
                    lost[written as usize] = true;
                }
                Operation::Append => assert_eq!(completion.first, written * SIZE + pointer),
                _ => {}
            }
        }
        device.clear_zone_completions();
        device.clear_notifications();
        for n in 0..model.zones.len() {
            let state = device.zone(ZoneId(n as u32)).state.code();
            if fails && matches!(state, 0xd | 0xf) && state != model.zones[n].0 {
                model.retire(n, state);
            }
        }
        for (n, (state, next, ..)) in (0..).zip(&mut model.zones) {
            let zone = device.zone(ZoneId(n));
            if zone.attributes.finished && (2..=4).contains(state) {
                // The padding of a flush left too little capacity.
                *state = 0xe;
            }
            let pointer = if (1..=4).contains(state) { zone.start + *next } else { u64::MAX };
            assert_eq!((zone.state.code(), zone.write_pointer), (*state, pointer), "zone {n}: {command:?}");
        }
    }
    seen
}

/// `make long` sends a million commands, half of them to each device.
#[test]
fn every_command_has_the_status_that_the_model_says() {
    let commands = if std::env::var_os("WORDLINE_LONG").is_some() { 500_000 } else { 20_000 };
    for file in [device(), managed(0.2, true)] {
        let seen = play((file, zones()), 1, commands);
        for status in [0, 0x002, 0x080, 0x1b8, 0x1b9, 0x1bc, 0x1bd, 0x1be, 0x1bf] {
            assert!(seen.get(&status).is_some_and(|n| *n > 5), "{status:x}h is among {seen:x?}");
        }
        assert!(seen[&0] > commands / 4, "{seen:x?}");
    }
}

/// Failed erases take zones offline. Failed programs without a reserve make zones read-only.
#[test]
fn zones_whose_chips_fail_have_the_status_that_the_model_says() {
    let devices = if std::env::var_os("WORDLINE_LONG").is_some() { 500 } else { 20 };
    let mut seen = BTreeMap::new();
    for seed in 0..devices {
        let fails = |fails, probability| FaultFile { probability: Some(probability), ..rule(fails) };
        let file = match seed % 2 {
            0 => OpenChannelFile { faults: vec![fails(Fails::Erase, 0.02)], ..device() },
            _ => OpenChannelFile { faults: vec![fails(Fails::Program, 0.01)], ..managed(0.05, true) },
        };
        for (status, count) in play((file, zones()), seed, 1_000) {
            *seen.entry(status).or_insert(0) += count;
        }
    }
    for status in [0, 0x1b8, 0x1b9, 0x1ba, 0x1bb, 0x1bc, 0x1bf] {
        assert!(seen.get(&status).is_some_and(|n| *n > 5), "{status:x}h is among {seen:x?}");
    }
}

#[test]
fn a_report_has_the_zones_of_a_filter_from_a_place_on() {
    let mut device = build(&(managed(0.2, true), zones()), 1);
    let (mut calendar, mut random) = (Calendar::new(), Seed(1).stream("report", 0));
    let (model, mut stamps) = (Model::new(40), Vec::new());
    for tag in 0..200 {
        let command = draw(&model, tag, &mut stamps, &mut random);
        let _ = device.submit(&command, &mut calendar);
    }
    for filter in 0..8 {
        for first in [0, 5, 39] {
            let all = (first..40).map(|n| device.zone(ZoneId(n)));
            let wanted: Vec<_> = all.filter(|zone| filter == 0 || zone.state as u8 + 1 == filter).collect();
            let (count, found) =
                device.report_zones(u64::from(first) * SIZE + 3, filter, 4).expect("they are there");
            assert_eq!((count, &found[..]), (wanted.len() as u64, &wanted[..wanted.len().min(4)]));
        }
    }
    assert_eq!(device.report_zones(0, 8, 1).map_err(|status| status.code()), Err(0x002));
    assert_eq!(device.report_zones(40 * SIZE, 0, 1).map_err(|status| status.code()), Err(0x080));
}
