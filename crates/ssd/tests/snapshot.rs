//! A run that is saved, restored and continued must equal one uninterrupted run.

use proptest::prelude::*;
use wordline_device::content::Content;
use wordline_device::snapshot::{Agenda, LAYOUT};
use wordline_device::{BlockDevice, Command, Operation};
use wordline_flash::policy::tuner::TunerKind;
use wordline_ftl::config::Scope;
use wordline_ftl::contents::Contents;
use wordline_ftl::policy::victim::VictimKind;
use wordline_ftl::policy::wear::WearKind;
use wordline_kernel::snapshot::SnapshotError;
use wordline_kernel::{Bytes, Calendar, Digest, Duration, Seed};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::config::Interface;
use wordline_ssd::{Device, DeviceFile};

use crate::common::devices::{block_mapped, device, suspending};
use crate::common::steps::{Step, step};
use crate::common::{Rig, failing, small};

fn play(rig: &mut Rig, steps: &[Step], depth: usize) {
    let sectors = u64::from(rig.device.config().ftl.logical_pages) * (rig.device.config().ftl.unit.0 / 512);
    for step in steps {
        rig.run_down_to(depth - 1);
        let range = if step.place % 4 == 0 { sectors } else { 96.min(sectors) };
        let sector = u64::from(step.place) * 7919 % range / 8 * 8;
        let count = u64::from(step.sectors).next_multiple_of(8).min(sectors - sector);
        let operation = match step.kind {
            0..=9 => Operation::Write,
            10..=15 => Operation::Read,
            16 => Operation::Discard,
            17 => Operation::WriteZeroes,
            18 => Operation::Compare,
            19 => Operation::Flush,
            _ => {
                rig.rest(Duration::from_us(20 * u64::from(step.sectors)));
                continue;
            }
        };
        rig.submit_command(Command {
            operation,
            fua: step.fua,
            sector,
            sectors: count,
            queue: u16::from(step.sectors % 2),
            stream: step.sectors % 3,
            ..Command::default()
        });
    }
}

fn saved(rig: &Rig) -> Vec<u8> {
    let mut bytes = Vec::new();
    rig.device.save(&Agenda::of(&rig.calendar), &mut bytes).expect("a list takes everything");
    bytes
}

/// Device with another seed that has loaded `bytes`.
fn restored(file: &DeviceFile, bytes: &[u8]) -> Result<Rig, SnapshotError> {
    restored_in(Rig::new(file.clone(), 999), bytes)
}

/// New device that has loaded `bytes`.
fn restored_in(rig: Rig, mut bytes: &[u8]) -> Result<Rig, SnapshotError> {
    let mut device = rig.device;
    let agenda = device.load(&mut bytes)?;
    assert!(bytes.is_empty(), "{} bytes are left over", bytes.len());
    Ok(Rig::of(device, agenda.calendar(|event| event)))
}

/// Handles `events` events.
fn go_on(rig: &mut Rig, events: usize) {
    for _ in 0..events {
        let Some(event) = rig.calendar.advance() else { return };
        rig.device.handle(event, &mut rig.calendar);
    }
}

/// Run of `steps` with a save and a restore `events` events after the first `cut` steps.
#[derive(Clone, Debug)]
struct Run {
    steps: Vec<Step>,
    cut: usize,
    events: usize,
    depth: usize,
    state: u8,
}

fn run() -> impl Strategy<Value = Run> {
    (
        prop::collection::vec(step(22, 0.1), 1..400),
        any::<prop::sample::Index>(),
        0usize..60,
        1usize..12,
        0u8..3,
    )
        .prop_map(|(steps, cut, events, depth, state)| Run {
            cut: cut.index(steps.len() + 1),
            steps,
            events,
            depth,
            state,
        })
}

/// Checks that a run with a save and a restore equals the same run without, to the last byte of the final
/// state.
fn is_one_run(file: &DeviceFile, run: &Run) {
    is_one_run_of(|seed| Rig::new(file.clone(), seed), run);
}

/// Makes this check with devices from `made`, which takes a seed.
fn is_one_run_of(made: impl Fn(u64) -> Rig, run: &Run) {
    let mut one = made(1);
    match run.state {
        0 => {}
        1 => one.device.fill(0.8),
        _ => drop(one.device.fill_steady(Seed(1))),
    }
    play(&mut one, &run.steps[..run.cut], run.depth);
    go_on(&mut one, run.events);
    let bytes = saved(&one);
    let mut two = restored_in(made(999), &bytes).unwrap_or_else(|broken| panic!("{broken}"));
    assert!(saved(&two) == bytes, "what was restored is what was saved");
    let mut before = Vec::new();
    one.device.take_completions(&mut before);
    let first = (one.completions.len(), before.len());
    let mut again = Vec::new();
    two.device.take_completions(&mut again);
    assert_eq!(before, again);
    for rig in [&mut one, &mut two] {
        play(rig, &run.steps[run.cut..], run.depth);
        rig.run_down_to(0);
        rig.audit();
    }
    assert_eq!(one.device.digest(), two.device.digest());
    assert_eq!(one.device.totals(), two.device.totals());
    assert_eq!(one.completions[first.0..], two.completions[..]);
    assert!(saved(&one) == saved(&two), "the devices are equal in the end");
}

proptest! {
    #[test]
    fn a_run_that_was_saved_and_restored_is_one_run(file in device(), run in run()) {
        is_one_run(&file, &run);
    }

    #[test]
    fn a_device_that_fails_goes_on_failing_as_it_would_have(
        file in device(),
        faults in failing::faults(1..4),
        run in run(),
    ) {
        let run = Run { state: run.state.min(1), ..run };
        is_one_run(&faults.strike(file)?, &run);
    }

    #[test]
    fn a_device_with_a_block_map_goes_on_as_it_would_have(
        file in block_mapped(),
        rules in prop::collection::vec(failing::rule(), 0..3),
        run in run(),
    ) {
        let mut file = file;
        let run = Run { state: if rules.is_empty() { run.state } else { run.state.min(1) }, ..run };
        file.faults = rules;
        prop_assume!(file.clone().check().is_ok());
        is_one_run(&file, &run);
    }

    #[test]
    fn commands_on_their_way_over_a_link_arrive(file in device(), is_sata in any::<bool>(), run in run()) {
        let mut file = file;
        file.front.interface = if is_sata { Interface::Sata } else { Interface::Nvme };
        file.front.sector_size = Bytes::kib(4);
        if !is_sata {
            file.front.nvme.queues = 2;
        }
        prop_assume!(file.clone().check().is_ok());
        is_one_run(&file, &run);
    }

    /// Covers states during a recovery and after it.
    #[test]
    fn a_recovery_goes_on(file in device(), run in run()) {
        let mut one = Rig::new(file.clone(), 1);
        one.device.fill(0.8);
        play(&mut one, &run.steps[..run.cut], run.depth);
        one.cut_power();
        go_on(&mut one, run.events);
        let mut two = restored(&file, &saved(&one)).unwrap_or_else(|broken| panic!("{broken}"));
        for rig in [&mut one, &mut two] {
            while !rig.device.is_ready() {
                go_on(rig, 1);
            }
            play(rig, &run.steps[run.cut..], run.depth);
            rig.run_down_to(0);
            rig.audit();
        }
        assert_eq!(one.device.digest(), two.device.digest());
        assert!(saved(&one) == saved(&two), "the devices are equal in the end");
    }

    /// A checksum protects devices from such bytes. Here bytes that pass it must not cause a panic.
    #[test]
    fn bytes_that_were_cut_or_changed_never_panic(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let mut rig = Rig::new(small(), 1);
        rig.device.fill(0.9);
        let mut bytes = saved(&rig);
        let at = at.index(bytes.len());
        if cut {
            assert_eq!(restored(&small(), &bytes[..at]).err(), Some(SnapshotError::UnexpectedEnd));
        } else {
            bytes[at] ^= 1 << bit;
            let mut device = Device::new(small().check().expect("the device is sound"), Seed(1));
            let _ = device.load(&mut bytes.as_slice());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_of_a_device_that_suspends_blocks_is_one_run((file, settings) in suspending(), run in run()) {
        let made = |seed| Rig::with(&file, settings.design(), seed);
        prop_assume!(made(1).is_ok());
        is_one_run_of(|seed| made(seed).expect("it was just made"), &run);
    }
}

#[test]
fn array_times_of_a_range_are_drawn_from_the_seed_and_stay_those_of_a_saved_device() {
    let mut file = small();
    file.part.timing.read = vec!["50us..100us".parse().expect("a range")];
    let read = |rig: &mut Rig| [0, 8, 16].map(|sector| rig.alone(Operation::Read, false, sector, 8));
    let filled = |seed| {
        let mut rig = Rig::new(file.clone(), seed);
        rig.device.fill(0.8);
        rig
    };
    assert_ne!(read(&mut filled(1)), read(&mut filled(2)));
    let mut again = restored(&file, &saved(&filled(1))).expect("it was just saved");
    assert_eq!(read(&mut filled(1)), read(&mut again));
}

/// Digest of a saved device that uses many features, for the layout number `LAYOUT`. If only the behaviour of
/// a device has changed, and not what its components save, only the digest has to be renewed.
#[test]
fn another_layout_of_the_bytes_has_another_number() {
    let mut file = small();
    file.front.interface = Interface::Nvme;
    file.buffer.read_cache = Bytes::kib(256);
    file.buffer.read_ahead = 4;
    file.ftl.mapping.cache = Some(Bytes(2_000));
    file.ftl.over_provisioning = 0.4;
    (file.ftl.gc.start_below_free_blocks, file.ftl.gc.stop_at_free_blocks) = (4, 4);
    file.ftl.wear.levelling = WearKind::Bet { k: 0, threshold: 4 };
    file.ftl.gc.victim = VictimKind::CostBenefit {};
    file.ftl.gc.scope = Scope::SuperBlock;
    file.faults = vec![
        FaultFile { every: Some(1_000), ..FaultFile::new(Fails::Program) },
        FaultFile { every: Some(2), level: Some(1.into()), ..FaultFile::new(Fails::Read) },
    ];
    file.ftl.tuner = TunerKind::LastGood {};
    let mut rig = Rig::new(file, 1);
    rig.device.fill(0.1);
    rig.submit(Operation::Write, false, 0, 256);
    rig.submit(Operation::Read, false, 4_096, 8);
    go_on(&mut rig, 60);
    let mut digest = Digest::default();
    saved(&rig).iter().for_each(|byte| digest.add(u64::from(*byte)));
    assert_eq!(
        (LAYOUT, digest.to_string().as_str()),
        (64, "c142c60f6fa3d577"),
        "what a snapshot holds has changed: raise ssd::snapshot::LAYOUT if its layout has, and note the new digest here"
    );
}

#[test]
fn a_device_of_another_size_is_refused() {
    let mut rig = Rig::new(small(), 1);
    rig.device.fill(1.0);
    let mut file = small();
    file.part.geometry.blocks_per_plane += 1;
    let error = restored(&file, &saved(&rig)).err().expect("it has more pages").to_string();
    assert!(error.starts_with("a list of "), "{error}");
}

#[test]
fn a_device_can_be_copied_by_way_of_a_list_of_bytes() {
    let mut rig = Rig::new(small(), 1);
    rig.device.fill_steady(Seed(1));
    let bytes = saved(&rig);
    let digests = [1, 2].map(|_| {
        let mut copy = restored(&small(), &bytes).expect("it was just saved");
        assert_eq!(copy.calendar.pending(), Calendar::new().pending());
        copy.alone(Operation::Write, true, 0, 8);
        copy.device.digest()
    });
    rig.alone(Operation::Write, true, 0, 8);
    assert_eq!(digests, [rig.device.digest(); 2]);
}

/// Data verification begins on a used device with outstanding commands. Data written after that are known.
#[test]
fn contents_are_followed_from_any_time_on() {
    let mut before = Rig::new(small(), 1);
    before.device.fill_steady(Seed(1));
    for n in 0..40u64 {
        before.submit(Operation::Write, false, n * 56 % 512, 12);
        before.submit(Operation::Read, false, n * 88 % 512, 24);
    }
    go_on(&mut before, 30);
    let mut rig = restored(&small(), &saved(&before)).expect("it was just saved");
    rig.device.keep_contents(Contents::default());
    go_on(&mut rig, 30);
    rig.run_down_to(0);
    for n in 0..200u32 {
        let sector = u64::from(n) * 8;
        rig.submit_command(Command {
            operation: Operation::Write,
            sector,
            sectors: 8,
            tag: n,
            ..Command::default()
        });
        rig.run_down_to(0);
    }
    for n in 0..200u32 {
        let (tag, sector) = (1_000 + n, u64::from(n) * 8);
        rig.submit_command(Command {
            operation: Operation::Read,
            sector,
            sectors: 8,
            tag,
            ..Command::default()
        });
        rig.run_down_to(0);
        let found = rig.device.contents().expect("they are followed").take_completed(tag);
        assert_eq!(found, Some(vec![Content::of(n); 8]), "sector {sector}");
    }
}
