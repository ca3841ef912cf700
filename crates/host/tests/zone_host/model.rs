//! Random commands against a model of the zones.

use proptest::prelude::*;
use wordline_device::content::{Content, ZEROES};
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Operation};
use wordline_kernel::{Instant, Schedule, Seed};
use wordline_open_channel::zoned::{ZoneId, ZoneState, ZonesFile};

use super::{Rig, SECTORS, file};
use crate::pblk::rig::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Open,
    Closed,
    Full,
}

/// A zone: its state, and the tags of the writes of its blocks.
#[derive(Clone, Debug)]
struct Zone {
    state: State,
    blocks: Vec<u32>,
}

impl Zone {
    /// Executes an operation in a zone of this capacity, from block `place` on. Returns whether it succeeds.
    fn execute(&mut self, operation: Operation, tag: u32, (place, count, capacity): (u64, u64, u64)) -> bool {
        use Operation as O;
        let next = self.blocks.len() as u64;
        match operation {
            O::Write | O::ZoneAppend => {
                let is_at_pointer = operation == O::ZoneAppend || place == next;
                let from = if operation == O::ZoneAppend { next } else { place };
                if self.state == State::Full || !is_at_pointer || from + count > capacity {
                    return false;
                }
                self.blocks.extend((0..count).map(|_| tag));
                self.state = if self.blocks.len() as u64 == capacity { State::Full } else { State::Open };
            }
            O::ZoneReset => *self = Self { state: State::Empty, blocks: Vec::new() },
            O::ZoneFinish => self.state = State::Full,
            O::ZoneOpen if self.state == State::Full => return false,
            O::ZoneOpen => self.state = State::Open,
            O::ZoneClose if matches!(self.state, State::Empty | State::Full) => return false,
            O::ZoneClose => self.state = State::Closed,
            _ => {}
        }
        true
    }

    /// Contents of a block as a read finds them.
    fn content(&self, block: u64) -> Content {
        self.blocks.get(block as usize).map_or(ZEROES, |tag| Content::of(*tag))
    }
}

/// Operation, zone, offset of the place from the write pointer, and blocks.
type Step = (u8, u32, i64, u64);

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let offset = prop_oneof![9 => Just(0i64), 1 => -3i64..4];
    prop::collection::vec((0u8..20, 0u32..5, offset, 1u64..40), 1..count)
}

/// Executes steps on a device and on the model, one after the other, and compares their outcomes.
fn play(rig: &mut Rig, model: &mut [Zone], steps: &[Step]) -> Result<(), TestCaseError> {
    let layout = rig.device.zoned().config().layout;
    let (size, capacity) = (layout.size, u64::from(layout.capacity));
    for (kind, zone, offset, count) in steps {
        let operation = match kind {
            0..=8 => Operation::Write,
            9..=12 => Operation::ZoneAppend,
            13 => Operation::ZoneReset,
            14 => Operation::ZoneFinish,
            15 => Operation::ZoneOpen,
            16 => Operation::ZoneClose,
            17 => Operation::Flush,
            _ => Operation::Read,
        };
        let zone = zone % model.len() as u32;
        let next = model[zone as usize].blocks.len() as i64;
        let place = (next + offset).clamp(0, size as i64 - 1) as u64;
        // A longer request is split at the boundary; the model has no such request.
        let count = (*count).min(size - place);
        let tag = rig.submit(operation, u64::from(zone) * size + place, count);
        rig.run();
        let (_, done) = rig.completions.last().expect("a command completes");
        let succeeds = model[zone as usize].execute(operation, tag, (place, count, capacity));
        prop_assert_eq!(
            !done.failed,
            succeeds,
            "{:?} of {} blocks at {} of zone {}",
            operation,
            count,
            place,
            zone
        );
        if operation == Operation::Flush {
            // Padding may leave too little room for the rest of a zone, which the device then makes full.
            for (zone, of) in (0..).zip(model.iter_mut()) {
                let finished = rig.device.zoned().zone(ZoneId(zone)).attributes.finished;
                of.state = if finished { State::Full } else { of.state };
            }
        }
        if operation == Operation::Read {
            let found = rig.device.take_contents(tag).expect("a read finds contents");
            let wanted = (place..place + count)
                .flat_map(|block| [model[zone as usize].content(block); SECTORS as usize]);
            prop_assert_eq!(found, wanted.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Reads all that the model knows.
fn read_all(rig: &mut Rig, model: &[Zone]) -> Result<(), TestCaseError> {
    let size = rig.device.zoned().config().layout.size;
    for (zone, of) in (0..).zip(model) {
        let count = (of.blocks.len() as u64).clamp(1, 64);
        let tag = rig.submit(Operation::Read, zone * size, count);
        rig.run();
        let found = rig.device.take_contents(tag).expect("a read finds contents");
        let wanted = (0..count).flat_map(|block| [of.content(block); SECTORS as usize]);
        prop_assert_eq!(found, wanted.collect::<Vec<_>>(), "zone {}", zone);
    }
    rig.device.audit(rig.calendar.now() - Instant::ZERO);
    Ok(())
}

fn new(width: u32, spare: u32, kind: Kind) -> (Rig, Vec<Zone>) {
    let mut file = file([24, 16, 2, 2, 2], kind, width, spare);
    file.zones = ZonesFile { max_open: None, ..file.zones };
    let rig = Rig::new(file);
    let zones = rig.device.zoned().config().layout.zones.min(5) as usize;
    (rig, vec![Zone { state: State::Empty, blocks: Vec::new() }; zones])
}

proptest! {
    #[test]
    fn each_command_succeeds_or_fails_as_the_rules_say_and_reads_find_what_was_written(
        steps in steps(300), width in prop::sample::select(vec![1u32, 2, 4]), spare in 1u32..6,
    ) {
        let (mut rig, mut model) = new(width, spare, Kind::Shift);
        play(&mut rig, &mut model, &steps)?;
        read_all(&mut rig, &model)?;
    }

    #[test]
    fn a_state_that_was_saved_goes_on_as_the_other_does(steps in steps(120), at in any::<prop::sample::Index>()) {
        let (mut rig, mut model) = new(2, 2, Kind::Shift);
        let (before, after) = steps.split_at(at.index(steps.len()));
        play(&mut rig, &mut model, before)?;
        // Commands in flight are saved, too: writes of one zone, all but the first of which wait.
        for n in 0..4 {
            rig.submit(Operation::Write, n, 1);
        }
        for _ in 0..5 {
            let event = rig.calendar.advance().expect("commands are in flight");
            rig.device.handle(event, &mut rig.calendar);
        }
        let mut bytes = Vec::new();
        rig.device.save(&Agenda::of(&rig.calendar), &mut bytes).expect("a list takes everything");
        let mut device = file([24, 16, 2, 2, 2], Kind::Shift, 2, 2).check().expect("it fits").build(Seed(9));
        let calendar = device.load(&mut bytes.as_slice()).expect("it was just written").calendar(|event| event);
        let mut again = Rig { device, calendar, completions: Vec::new(), submitted: rig.submitted };
        for rig in [&mut rig, &mut again] {
            for (kind, zone, _, count) in after {
                let operation = Operation::ALL[[0, 1, 1, 6, 7, 8][usize::from(*kind) % 6]];
                let size = rig.device.zoned().config().layout.size;
                rig.submit(operation, u64::from(*zone % 5) * size, (*count).min(16));
            }
            rig.run();
        }
        prop_assert_eq!(rig.device.digest(), again.device.digest());
    }

    #[test]
    fn completed_and_flushed_writes_survive_a_power_cut(steps in steps(120)) {
        let (mut rig, mut model) = new(2, 2, Kind::Shift);
        play(&mut rig, &mut model, &steps)?;
        prop_assert!(rig.execute(Operation::Flush, 0, 0).0);
        for n in 0..3 {
            rig.submit(Operation::ZoneAppend, n, 1);
        }
        let now = rig.calendar.now();
        prop_assert_eq!(rig.device.power_cut(now).incomplete.len(), 3);
        rig.calendar.clear();
        rig.device.recover(&mut rig.calendar);
        rig.run();
        prop_assert!(rig.device.is_ready());
        for (zone, of) in (0..).zip(&mut model) {
            // An open zone comes back closed, an explicitly opened one without data empty.
            let found = rig.device.zoned().zone(ZoneId(zone));
            prop_assert!(of.state != State::Full || found.state == ZoneState::Full);
            if of.state == State::Open {
                of.state = if of.blocks.is_empty() { State::Empty } else { State::Closed };
            }
        }
        read_all(&mut rig, &model)?;
    }
}
