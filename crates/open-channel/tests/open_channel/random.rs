//! Random devices and runs: data, faults, power losses, snapshots.

use proptest::prelude::*;
use wordline_device::PhysicalDevice;
use wordline_device::link::PcieFile;
use wordline_flash::ProgramsAtCut;
use wordline_kernel::{Bytes, Duration};
use wordline_nand::Pairing;
use wordline_nand::faults::{Fails, FaultFile, NumberRange};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::device::FailuresFile;
use wordline_open_channel::device::buffer::{BufferFile, CompletionMode};
use wordline_open_channel::device::failures::EarlyClose;

use super::host::{Host, Step, step};
use super::{device, rule};

fn any_device() -> impl Strategy<Value = OpenChannelFile> {
    let sizes = prop::sample::select(vec![None, Some(Bytes::kib(1))]);
    (sizes, any::<(bool, bool, bool)>(), 0u32..9, any::<(bool, bool)>(), any::<bool>()).prop_map(
        |(logical_block, (tied, one_shot, priority), mw_cunits, (programs, erases), finished)| {
            let mut file = OpenChannelFile { logical_block, mw_cunits, ..device() };
            file.layout.planes_per_row = Some(if tied { 2 } else { 1 });
            if one_shot {
                let geometry = &mut file.part.geometry;
                (geometry.bits_per_cell, geometry.one_shot, geometry.pairing) = (2, true, Pairing::WordLine);
            }
            file.scheduling.read_priority = priority;
            file.scheduling.suspend_programs = programs && priority;
            file.scheduling.suspend_erases = erases && priority;
            if finished {
                file.programs_at_cut = ProgramsAtCut::Finished;
            }
            file
        },
    )
}

/// Device with a link, a buffer and a failure manager, or without some of them.
fn any_managed_device() -> impl Strategy<Value = OpenChannelFile> {
    let parts = (any_device(), 1u64..12, any::<(bool, bool, bool, bool)>(), any::<(bool, bool)>());
    parts.prop_map(|(file, units, (link, back, protected, managed), (shift, volatile_tables))| {
        let config = file.clone().check().unwrap_or_else(|wrong| panic!("{wrong}"));
        let unit = config.geometry.block_size * u64::from(config.geometry.ws_min);
        let least = u64::from(file.mw_cunits.div_ceil(config.geometry.ws_min)).max(1);
        let completion =
            if back && managed { CompletionMode::WriteBack } else { CompletionMode::WriteThrough };
        let buffer = BufferFile {
            size: unit * units.max(least),
            completion,
            unreliable: false,
            protected: protected && completion == CompletionMode::WriteBack,
        };
        let early_close = if shift && units % 2 == 0 { EarlyClose::KeepList } else { EarlyClose::Pad };
        let failures = FailuresFile { block_map: true, shift, reserve: 0.3, early_close, volatile_tables };
        OpenChannelFile {
            link: link.then(PcieFile::default),
            buffer: Some(buffer),
            failures: managed.then_some(failures),
            ..file
        }
    })
}

fn any_rule() -> impl Strategy<Value = FaultFile> {
    let fails = prop::sample::select(vec![Fails::Program, Fails::Erase, Fails::Read]);
    prop_oneof![
        6 => (fails, 1u32..20).prop_map(|(fails, n)| FaultFile { probability: Some(f64::from(n) / 100.0), ..rule(fails) }),
        1 => (1u64..200).prop_map(|n| FaultFile { nth: Some(n), ..rule(Fails::Die) }),
        1 => (1u32..9).prop_map(|most| FaultFile {
            probability: Some(0.2),
            retries: Some(NumberRange { least: 1, most }),
            ..rule(Fails::Read)
        }),
    ]
}

fn steps(cuts: bool) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(cuts), 1..120)
}

/// Number of cases for devices with a failure manager. `make long` runs 10,000 for each property.
fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(if std::env::var_os("WORDLINE_LONG").is_some() { 10_000 } else { 128 })
}

/// A host that took these steps.
fn played(file: OpenChannelFile, steps: &[Step]) -> Host {
    let mut host = Host::new(file, 1);
    steps.iter().for_each(|step| host.play(step));
    host
}

/// Takes the steps, and saves the device behind number `at`. The restored one must go on as the other does.
fn goes_on_as_the_other(file: OpenChannelFile, steps: &[Step], at: usize) -> Result<(), TestCaseError> {
    let (before, after) = steps.split_at(at);
    let mut host = played(file, before);
    let mut again = host.restored(&host.saved()).expect("it was just written");
    for host in [&mut host, &mut again] {
        after.iter().for_each(|step| host.play(step));
        host.read_all();
    }
    prop_assert_eq!(host.device.digest(), again.device.digest());
    prop_assert_eq!(host.completions, again.completions);
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_managed_device_reads_back_what_was_written(file in any_managed_device(), steps in steps(false)) {
        played(file, &steps).read_all();
    }

    #[test]
    fn a_managed_device_hides_failed_programs(
        file in any_managed_device(),
        rules in prop::collection::vec(any_rule(), 1..4),
        steps in steps(true),
    ) {
        played(OpenChannelFile { faults: rules, ..file }, &steps).read_all();
    }

    #[test]
    fn flushed_data_survive_power_cuts(file in any_managed_device(), steps in steps(true)) {
        let mut host = played(file, &steps);
        host.cut_power(Duration::ZERO);
        host.read_all();
    }

    #[test]
    fn a_managed_device_that_was_saved_goes_on(
        file in any_managed_device(),
        rules in prop::collection::vec(any_rule(), 0..3),
        steps in steps(true),
        at in any::<prop::sample::Index>(),
    ) {
        goes_on_as_the_other(OpenChannelFile { faults: rules, ..file }, &steps, at.index(steps.len()))?;
    }
}

proptest! {
    #[test]
    fn every_read_finds_what_was_written_last(file in any_device(), steps in steps(false)) {
        played(file, &steps).read_all();
    }

    #[test]
    fn nothing_is_read_wrong_whatever_fails(
        file in any_device(),
        rules in prop::collection::vec(any_rule(), 1..4),
        steps in steps(true),
    ) {
        played(OpenChannelFile { faults: rules, ..file }, &steps).read_all();
    }

    #[test]
    fn completed_writes_survive_power_cuts(file in any_device(), steps in steps(true)) {
        let mut host = played(file, &steps);
        host.cut_power(Duration::ZERO);
        host.read_all();
    }

    #[test]
    fn a_device_that_was_saved_goes_on_as_the_other_does(
        file in any_device(),
        rules in prop::collection::vec(any_rule(), 0..3),
        steps in steps(true),
        at in any::<prop::sample::Index>(),
    ) {
        goes_on_as_the_other(OpenChannelFile { faults: rules, ..file }, &steps, at.index(steps.len()))?;
    }
}
