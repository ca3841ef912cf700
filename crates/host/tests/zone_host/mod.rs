//! The host of a zoned namespace: it obeys the rules of zones, and reads return what was written.

mod model;

use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Completion, Operation};
use wordline_host::zone_host::{ZoneHost, ZoneHostFile};
use wordline_kernel::{Calendar, Duration, Instant, Schedule, Seed};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::OpenChannel;
use wordline_open_channel::zoned::ZonesFile;

use crate::pblk::rig::{Chips, Kind};
use crate::zones;

/// Sectors of a logical block.
const SECTORS: u64 = 8;

/// Zones of `width` chunks, `spare` strips less than they have, over a device with a buffer.
fn file(chips: Chips, kind: Kind, width: u32, spare: u32) -> ZoneHostFile {
    let with_ftl = zones::file(chips, kind, 4, width, spare);
    ZoneHostFile {
        command_time: Duration::from_us(1),
        write_plugging: true,
        zones: with_ftl.zones,
        open_channel: with_ftl.open_channel,
    }
}

/// A device with its calendar, and the completions so far.
struct Rig {
    device: ZoneHost<OpenChannel>,
    calendar: Calendar<<ZoneHost<OpenChannel> as BlockDevice>::Event>,
    completions: Vec<(Instant, Completion)>,
    submitted: u32,
}

impl Rig {
    fn new(file: ZoneHostFile) -> Self {
        let mut device = file.check().unwrap_or_else(|wrong| panic!("{wrong}")).build(Seed(1));
        device.follow_contents();
        Self { device, calendar: Calendar::new(), completions: Vec::new(), submitted: 0 }
    }

    /// Submits an operation on logical blocks. Returns its tag.
    fn submit(&mut self, operation: Operation, block: u64, blocks: u64) -> u32 {
        self.submitted += 1;
        let tag = self.submitted;
        let (sector, sectors) = (block * SECTORS, blocks * SECTORS);
        let command = Command { operation, sector, sectors, tag, ..Command::default() };
        self.device.submit(command, &mut self.calendar);
        tag
    }

    /// Handles the next event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let Some(event) = self.calendar.advance() else { return false };
        self.device.handle(event, &mut self.calendar);
        let now = self.calendar.now();
        self.completions.extend(self.device.completions().iter().map(|done| (now, *done)));
        self.device.clear_completions();
        true
    }

    fn run(&mut self) {
        while self.step() {}
        assert_eq!(self.device.outstanding(), 0, "{}", self.device.describe_outstanding(self.calendar.now()));
    }

    /// Executes an operation alone. Returns whether it succeeded, and its latency.
    fn execute(&mut self, operation: Operation, block: u64, blocks: u64) -> (bool, Duration) {
        let tag = self.submit(operation, block, blocks);
        self.run();
        let done = self.completions.iter().rev().find(|(_, done)| done.command.tag == tag);
        let (_, done) = done.expect("a command completes");
        (!done.failed, done.latency)
    }
}

#[test]
fn writes_of_a_zone_follow_each_other_and_those_of_two_zones_go_beside_each_other() {
    let mut times = Vec::new();
    // Each parallel unit takes four programs at once. The fifth write of a zone waits for a program, and the
    // later ones of the zone for it.
    for (plugs, zones, plugged) in [(true, 1, 11), (true, 4, 0), (false, 1, 0)] {
        let mut rig =
            Rig::new(ZoneHostFile { write_plugging: plugs, ..file([40, 16, 1, 2, 2], Kind::Shift, 1, 0) });
        let layout = rig.device.zoned().config().layout;
        let (size, program) = (layout.size, u64::from(layout.unit));
        for n in 0..16 {
            rig.submit(Operation::Write, n % zones * size + n / zones * program, program);
        }
        rig.run();
        assert!(rig.completions.iter().all(|(_, done)| !done.failed), "{:?}", rig.completions);
        let counts = rig.device.counts();
        assert_eq!((counts.plugged, counts.blocks_written), (plugged, 16 * program), "{counts:?}");
        times.push(rig.calendar.now());
    }
    assert!(times[0] > times[1], "one zone takes longer than four: {times:?}");
    assert_eq!(times[2], times[0], "the die of the zone is busy either way");
}

#[test]
fn a_command_that_breaks_a_rule_fails_and_its_status_is_counted() {
    let limits = ZonesFile {
        max_active: Some(2),
        max_open: Some(1),
        ..file([40, 16, 1, 2, 2], Kind::Shift, 2, 3).zones
    };
    let mut rig = Rig::new(ZoneHostFile { zones: limits, ..file([40, 16, 1, 2, 2], Kind::Shift, 2, 3) });
    let (size, capacity) = {
        let layout = rig.device.zoned().config().layout;
        (layout.size, u64::from(layout.capacity))
    };
    use Operation::{Read, Write, ZoneAppend, ZoneClose, ZoneFinish, ZoneOpen, ZoneReset};
    for (operation, block, blocks, succeeds) in [
        (Write, 1, 1, false),
        (Write, 0, 3, true),
        (Write, 2, 1, false),
        (ZoneAppend, size + 7, 2, true),
        (Write, 2 * size, 1, false),
        (ZoneClose, 2 * size, 0, false),
        (ZoneFinish, 5, 0, true),
        (Write, 3, 1, false),
        (Write, 2 * size, capacity, true),
        (Write, 3 * size, capacity + 1, false),
        (Read, 0, 3, true),
        (Read, size - 2, 4, true),
        (ZoneReset, 0, 0, true),
        (ZoneOpen, 0, 0, true),
        (Write, 0, 1, true),
    ] {
        let (found, _) = rig.execute(operation, block, blocks);
        assert_eq!(
            found,
            succeeds,
            "{operation:?} of {blocks} blocks from {block}: {:?}",
            rig.device.counts()
        );
    }
    let counts = rig.device.counts();
    assert_eq!((counts.invalid_writes, counts.full, counts.boundary), (2, 1, 1), "{counts:?}");
    assert_eq!(counts.gap_blocks_read, 2, "the read of both zones begins in a gap");
    assert_eq!((counts.too_many_zones, counts.transitions, counts.other_failures), (1, 1, 0), "{counts:?}");
    rig.device.audit(rig.calendar.now() - Instant::ZERO);
}

#[test]
fn a_filled_device_has_full_zones_that_read_as_filled_and_take_writes_after_their_reset() {
    let mut rig = Rig::new(file([40, 16, 1, 2, 2], Kind::Shift, 4, 2));
    let layout = rig.device.zoned().config().layout;
    assert!(rig.device.fill_while(0.5, &mut |_| true));
    let full = layout.zones / 2;
    assert_eq!(rig.device.zoned().in_use()[0], layout.zones % 2);
    let last = u64::from(full - 1) * layout.size;
    assert_eq!(rig.execute(Operation::Write, last, 1), (false, Duration::from_us(1)));
    let tag = rig.submit(Operation::Read, last, 2);
    rig.run();
    let found = rig.device.take_contents(tag).expect("a read finds contents");
    assert!(found.iter().all(|content| *content == wordline_device::content::FILLED), "{found:?}");
    let (_, reset) = rig.execute(Operation::ZoneReset, last, 0);
    assert!(reset > Duration::from_us(1), "erases take time");
    assert!(rig.execute(Operation::Write, last, 1).0);
}

#[test]
fn a_write_with_fua_waits_for_its_program_and_a_flush_for_those_of_all() {
    let mut rig = Rig::new(file([40, 16, 1, 2, 2], Kind::Shift, 1, 8));
    let unprotected = rig.device.zoned().has_volatile_writes();
    assert!(unprotected, "the buffer is not protected");
    let (_, write) = rig.execute(Operation::Write, 0, 1);
    rig.submitted += 1;
    let tag = rig.submitted;
    let forced = Command {
        operation: Operation::Write,
        fua: true,
        sector: SECTORS,
        sectors: SECTORS,
        tag,
        ..Command::default()
    };
    rig.device.submit(forced, &mut rig.calendar);
    rig.run();
    let (_, forced) = *rig.completions.last().expect("it completes");
    assert!(!forced.failed && forced.latency > write * 2, "{forced:?} after {write:?}");
    let (_, flush) = rig.execute(Operation::Flush, 0, 0);
    assert!(flush < forced.latency, "everything is in flash already");
}

#[test]
fn resets_take_the_time_of_the_firmware_in_proportion_to_what_was_written() {
    let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 2, 3);
    (file.zones.reset_time, file.zones.reset_time_full) =
        (Some(Duration::from_ms(1)), Some(Duration::from_ms(9)));
    let mut rig = Rig::new(file);
    let layout = rig.device.zoned().config().layout;
    let (size, capacity) = (layout.size, u64::from(layout.capacity));
    assert!(
        rig.execute(Operation::Write, size, capacity / 2).0
            && rig.execute(Operation::Write, 2 * size, capacity).0
    );
    // A microsecond of the host, then 1 ms, and 8 ms times the written share.
    let share = Duration::from_ps(Duration::from_ms(8).ps() * (capacity / 2) / capacity);
    let after = [Duration::ZERO, share, Duration::from_ms(8)];
    for (zone, more) in (0..).zip(after) {
        let wanted = (true, Duration::from_us(1_001) + more);
        assert_eq!(rig.execute(Operation::ZoneReset, zone * size, 0), wanted, "zone {zone}");
        assert!(rig.execute(Operation::Write, zone * size, 1).0);
    }
    rig.device.audit(rig.calendar.now() - Instant::ZERO);
}

#[test]
fn a_finish_that_pads_programs_the_rest_of_the_zone() {
    let mut times = Vec::new();
    // Five blocks end within a program, whose rest is padded first.
    for (pads, written) in [(false, 4), (true, 4), (true, 24), (true, 5)] {
        let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 4, 2);
        file.zones.finish_pads = pads;
        let mut rig = Rig::new(file);
        let capacity = u64::from(rig.device.zoned().config().layout.capacity);
        assert!(rig.execute(Operation::Write, 0, written).0);
        let (done, time) = rig.execute(Operation::ZoneFinish, 0, 0);
        assert!(done && !rig.execute(Operation::Write, written, 1).0, "the zone is full");
        let padding = rig.device.zoned().counts().padding;
        let unit = u64::from(rig.device.zoned().config().layout.unit);
        let wanted = if pads { capacity - written..capacity - written + unit } else { 0..1 };
        assert!(wanted.contains(&padding), "{padding} blocks of padding, wanted {wanted:?}");
        assert!(rig.execute(Operation::ZoneReset, 0, 0).0 && rig.execute(Operation::Write, 0, 1).0);
        rig.device.audit(rig.calendar.now() - Instant::ZERO);
        times.push((time, capacity - written));
    }
    let [(closed, _), (long, most), (short, less), (within, _)] = times[..] else { unreachable!() };
    assert!(closed < short && short < long, "{closed:?}, {short:?}, {long:?}");
    assert!((0.8..1.2).contains(&(within.seconds() / long.seconds())), "{within:?}, {long:?}");
    // Programs of the four dies go on side by side; the buffer holds the last ones.
    let [long, short] = [(long, most), (short, less)].map(|(time, blocks)| time.seconds() / blocks as f64);
    assert!(
        (0.6..1.7).contains(&(long / short)),
        "time is in proportion to padding: {long:e} and {short:e} s a block"
    );
}

#[test]
fn a_flush_has_no_effect_on_a_buffer_that_survives_a_power_cut() {
    for is_protected in [false, true] {
        let mut file = file([40, 16, 1, 2, 2], Kind::Shift, 1, 8);
        file.open_channel.buffer.as_mut().expect("the kind has one").protected = is_protected;
        let mut rig = Rig::new(file);
        rig.submit(Operation::Write, 0, 3);
        let flush = rig.submit(Operation::Flush, 0, 0);
        rig.run();
        let (_, done) = rig.completions.iter().find(|(_, done)| done.command.tag == flush).expect("it ends");
        assert_eq!(done.latency == Duration::from_us(1), is_protected, "{done:?}");
    }
}

#[test]
fn a_reset_whose_erase_fails_fails_whoever_says_when_it_ends() {
    let firmware = Duration::from_ms(20);
    for time in [None, Some(firmware)] {
        let mut file = file([40, 16, 1, 2, 2], Kind::Synchronous, 1, 8);
        (file.zones.reset_time, file.zones.reset_time_full) = (time, time);
        file.open_channel.faults = vec![FaultFile { nth: Some(1), ..FaultFile::new(Fails::Erase) }];
        let mut rig = Rig::new(file);
        assert!(rig.execute(Operation::Write, 0, 4).0);
        let (done, took) = rig.execute(Operation::ZoneReset, 0, 0);
        assert!(!done && time.is_none_or(|time| took == time + Duration::from_us(1)), "{took}");
        rig.device.audit(rig.calendar.now() - Instant::ZERO);
    }
}

#[test]
fn only_writes_are_counted_as_waiting_for_writes() {
    let mut rig = Rig::new(file([40, 16, 1, 2, 2], Kind::Synchronous, 1, 0));
    let program = u64::from(rig.device.zoned().config().layout.unit);
    for n in 0..3 {
        rig.submit(Operation::Write, n * program, program);
    }
    rig.submit(Operation::ZoneFinish, 0, 0);
    rig.submit(Operation::ZoneReset, 0, 0);
    rig.run();
    assert_eq!(rig.device.counts().plugged, 2);
}

#[test]
fn a_power_cut_counts_the_blocks_of_completed_writes_that_are_gone() {
    let layout = Rig::new(file([40, 16, 1, 2, 2], Kind::Shift, 2, 3)).device.zoned().config().layout;
    // A zone that is written in part, and a full one at two points of time.
    for (written, events) in [(layout.unit + 1, 0), (layout.capacity, 0), (layout.capacity, 4)] {
        let mut rig = Rig::new(file([40, 16, 1, 2, 2], Kind::Shift, 2, 3));
        let write = rig.submit(Operation::Write, 0, u64::from(written));
        while rig.completions.is_empty() {
            assert!(rig.step(), "a write is in progress");
        }
        (0..events).for_each(|_| assert!(rig.step(), "programs are in progress"));
        rig.device.power_cut(rig.calendar.now());
        rig.calendar.clear();
        rig.device.recover(&mut rig.calendar);
        rig.run();
        let mut gone = 0;
        for block in 0..u64::from(written) {
            let tag = rig.submit(Operation::Read, block, 1);
            rig.run();
            let found = rig.device.take_contents(tag).expect("a read finds contents");
            gone += u64::from(found[0] != Content::of(write));
        }
        let lost = rig.device.recovery().expect("it recovered").lost;
        assert!(lost == gone && lost > 0, "{lost} lost of {written}, {gone} gone");
    }
}
