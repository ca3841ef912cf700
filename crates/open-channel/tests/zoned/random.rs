//! Random devices and runs: data, faults, power losses, snapshots.

use proptest::prelude::*;
use wordline_device::PhysicalDevice;
use wordline_flash::ProgramsAtCut;
use wordline_kernel::{Bytes, Duration};
use wordline_nand::faults::{Fails, FaultFile};
use wordline_open_channel::OpenChannelFile;
use wordline_open_channel::device::buffer::{BufferFile, CompletionMode};
use wordline_open_channel::zoned::ZonesFile;

use super::host::{Host, Step, step};
use super::{device, managed, rule, zones};

fn any_device() -> impl Strategy<Value = OpenChannelFile> {
    (0u8..4, any::<bool>(), any::<bool>(), 1u64..6).prop_map(|(kind, tied, finished, programs)| {
        let through = BufferFile {
            size: Bytes::kib(8 * programs),
            completion: CompletionMode::WriteThrough,
            unreliable: false,
            protected: false,
        };
        let mut file = match kind {
            0 => device(),
            1 => OpenChannelFile { buffer: Some(through), ..device() },
            2 => managed(0.2, false),
            _ => managed(0.2, true),
        };
        file.layout.planes_per_row = Some(if tied { 2 } else { 1 });
        if finished {
            file.programs_at_cut = ProgramsAtCut::Finished;
        }
        file
    })
}

/// Device with zones that fit it.
fn any_zoned() -> impl Strategy<Value = (OpenChannelFile, ZonesFile)> {
    let widths = prop::sample::select(vec![1u32, 2, 4]);
    let stripes = prop::sample::select(vec![2u32, 4, 8, 16]);
    let limits = (1u32..6, 0u32..5);
    (any_device(), widths, stripes, 0u32..4, limits).prop_map(
        |(file, width, stripe, spare, (active, less))| {
            let chunk = if file.layout.planes_per_row == Some(1) { 16 } else { 32 };
            let capacity = (width * chunk).saturating_sub(spare * stripe).max(stripe);
            let zones = ZonesFile {
                width: Some(width),
                stripe: Some(stripe),
                capacity: Some(Bytes::kib(4 * u64::from(capacity))),
                size: Some(Bytes::kib(4 * 128)),
                max_active: Some(active),
                max_open: Some(active.saturating_sub(less).max(1)),
                append_limit: (less > 2).then_some(Bytes::kib(64)),
                reset_time: (spare % 2 == 1).then_some(Duration::from_us(100)),
                reset_time_full: (spare == 3).then_some(Duration::from_us(900)),
                finish_pads: less % 2 == 1,
            };
            (file, zones)
        },
    )
}

fn any_rule(reads: bool) -> impl Strategy<Value = FaultFile> {
    let fails = if reads { vec![Fails::Read] } else { vec![Fails::Program, Fails::Erase] };
    (prop::sample::select(fails), 1u32..20)
        .prop_map(|(fails, n)| FaultFile { probability: Some(f64::from(n) / 100.0), ..rule(fails) })
}

fn steps(cuts: bool) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(cuts), 1..120)
}

/// Number of cases for each property. `make long` runs 10,000.
fn cases() -> ProptestConfig {
    ProptestConfig::with_cases(if std::env::var_os("WORDLINE_LONG").is_some() { 10_000 } else { 128 })
}

fn play(host: &mut Host, steps: &[Step]) {
    steps.iter().for_each(|step| host.play(step));
    host.read_all();
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_read_finds_what_was_written((file, zones) in any_zoned(), steps in steps(false)) {
        play(&mut Host::new(file, zones), &steps);
    }

    #[test]
    fn flushed_data_survive_power_cuts((file, zones) in any_zoned(), steps in steps(true)) {
        let mut host = Host::new(file, zones);
        steps.iter().for_each(|step| host.play(step));
        host.cut_power(Duration::ZERO);
        host.read_all();
    }

    #[test]
    fn flushed_data_survive_failures(
        (file, zones) in any_zoned(),
        rules in prop::collection::vec(any_rule(false), 1..3),
        steps in steps(true),
    ) {
        play(&mut Host::new(OpenChannelFile { faults: rules, ..file }, zones), &steps);
    }

    #[test]
    fn nothing_is_read_wrong_where_reads_fail(
        (file, zones) in any_zoned(),
        rules in prop::collection::vec(any_rule(true), 1..3),
        steps in steps(true),
    ) {
        play(&mut Host::new(OpenChannelFile { faults: rules, ..file }, zones), &steps);
    }

    #[test]
    fn a_device_that_was_saved_goes_on_as_the_other_does(
        (file, zones) in any_zoned(),
        rules in prop::collection::vec(any_rule(false), 0..3),
        steps in steps(true),
        at in any::<prop::sample::Index>(),
    ) {
        let mut host = Host::new(OpenChannelFile { faults: rules, ..file }, zones);
        let (before, after) = steps.split_at(at.index(steps.len()));
        before.iter().for_each(|step| host.play(step));
        let mut again = host.restored(&host.saved()).expect("it was just written");
        for host in [&mut host, &mut again] {
            play(host, after);
        }
        prop_assert_eq!(host.device.digest(), again.device.digest());
        prop_assert_eq!(host.completions, again.completions);
    }

    #[test]
    fn a_broken_state_is_an_error_and_no_panic(
        (file, zones) in any_zoned(), steps in steps(false), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut host = Host::new(file, zones);
        steps.iter().for_each(|step| host.play(step));
        let mut bytes = host.saved();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        drop(host.restored(&bytes));
    }
}

/// Short sequence with writes, appends, a flush, a zone that becomes full, and a reset, all outstanding
/// together.
fn history() -> Vec<Step> {
    let rest = [Step::Flush, Step::GoOn(3), Step::Append(2, 9), Step::Manage(1, 1), Step::Write(0, 23)];
    let again = [Step::Manage(3, 0), Step::GoOn(2), Step::Write(0, 5), Step::Flush, Step::Append(1, 7)];
    let mut steps = vec![Step::Write(0, 23), Step::Write(0, 10), Step::Append(1, 9), Step::Append(1, 8)];
    steps.extend(rest);
    steps.extend(again);
    steps
}

/// Cuts the power before the first event, after the first, after the second, and so on. Flushed data must be
/// there each time, and the zones must continue.
#[test]
fn a_cut_after_any_event_keeps_what_was_flushed() {
    for file in [device(), managed(0.2, false), managed(0.2, true)] {
        let mut cuts = 0;
        loop {
            let mut host = Host::new(file.clone(), zones());
            let mut events = cuts;
            for step in history() {
                // `events` counts events over all pauses of the sequence.
                let Step::GoOn(most) = step else {
                    host.play(&step);
                    continue;
                };
                let now = events.min(usize::from(most));
                host.go_on(now);
                events -= now;
                if events == 0 {
                    break;
                }
            }
            host.go_on(events);
            let is_over = host.calendar.pending().is_empty();
            host.cut_power(Duration::ZERO);
            history().iter().for_each(|step| host.play(step));
            host.read_all();
            cuts += 1;
            if is_over {
                break;
            }
        }
        assert!(cuts > 20, "{cuts} events");
    }
}
