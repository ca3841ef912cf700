//! The host FTL: it returns the data that were written, through GC, faults, power cuts and snapshots.

mod host;

use host::{Host, device, preset};
use proptest::prelude::*;
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Operation};
use wordline_kernel::{Instant, Schedule, Seed};
use wordline_lab::devices::DeviceType;

/// A step of the host: kind, page, and count.
type Step = (u8, u16, u8);

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..20, any::<u16>(), 1u8..6), 1..most)
}

fn play(host: &mut Host, steps: &[Step], cuts: bool) {
    for (kind, page, pages) in steps {
        host.run_down_to(usize::from(*kind) % 7);
        let (page, pages) = (u32::from(*page), u32::from(*pages));
        match kind {
            0..=11 => host.submit(Operation::Write, *kind == 0, page, pages),
            12..=15 => host.submit(Operation::Read, false, page, pages),
            16 if !cuts => {
                host.run_down_to(0);
                host.submit(Operation::Discard, false, page, pages);
            }
            17 => host.submit(Operation::Flush, false, 0, 0),
            18 if cuts => {
                host.go_on(pages as usize);
                host.cut_power();
            }
            _ => host.go_on(10 * pages as usize),
        }
    }
}

proptest! {
    #[test]
    fn every_read_finds_what_was_written_last(steps in steps(400), filled in any::<bool>()) {
        let mut host = Host::new(&device(&[]));
        if filled {
            host.fill();
        }
        play(&mut host, &steps, false);
        host.read_all();
    }

    #[test]
    fn flushed_data_survive_power_cuts(steps in steps(400), filled in any::<bool>(), finished in any::<bool>()) {
        let at_cut = if finished { "finished" } else { "torn" };
        let mut host = Host::new(&device(&[&format!("open_channel.programs_at_cut={at_cut}")]));
        if filled {
            host.fill();
        }
        play(&mut host, &steps, true);
        host.cut_power();
        host.read_all();
    }

    #[test]
    fn nothing_is_read_wrong_when_programs_fail(steps in steps(300), every in 20u32..200) {
        let rule = format!("open_channel.faults=[{{fails='program',every={every}}},{{fails='read',probability=0.002}}]");
        let mut host = Host::new(&device(&[&rule]));
        host.may_fail = true;
        play(&mut host, &steps, false);
        host.read_all();
    }

    #[test]
    fn a_state_that_was_saved_goes_on_as_the_other_does(steps in steps(300), at in any::<prop::sample::Index>()) {
        let mut host = Host::new(&device(&[]));
        host.fill();
        let (before, after) = steps.split_at(at.index(steps.len()));
        play(&mut host, before, false);
        let mut bytes = Vec::new();
        host.device.save(&Agenda::of(&host.calendar), &mut bytes).expect("a list takes everything");
        let mut again = Host::new(&device(&[]));
        again.device = device(&[]).build(Seed(9));
        let agenda = again.device.load(&mut bytes.as_slice()).expect("it was just written");
        again.calendar = agenda.calendar(|event| event);
        for (kind, page, pages) in after {
            let (sector, sectors) = (u64::from(*page) % 64 * 8, u64::from(*pages) * 8);
            let operation = if kind % 2 == 0 { Operation::Write } else { Operation::Read };
            let tag = 1_000_000 + u32::from(*page);
            for (device, calendar) in [(&mut host.device, &mut host.calendar), (&mut again.device, &mut again.calendar)] {
                let command = wordline_device::Command { operation, sector, sectors, tag, ..Default::default() };
                device.submit(command, calendar);
                while device.outstanding() > 4 {
                    let event = calendar.advance().expect("commands are under way");
                    device.handle(event, calendar);
                }
            }
        }
        for (device, calendar) in [(&mut host.device, &mut host.calendar), (&mut again.device, &mut again.calendar)] {
            while let Some(event) = calendar.advance() {
                device.handle(event, calendar);
            }
            device.audit(calendar.now() - Instant::ZERO);
        }
        prop_assert_eq!(host.device.digest(), again.device.digest());
    }
}

/// Write amplification from GC: pages programmed for each page that the host writes. `next` chooses the
/// pages.
fn amplification(mut host: Host, mut next: impl FnMut(u32) -> u32) -> f64 {
    host.fill();
    let mark = host.device.mark(host.calendar.now());
    for n in 0..20 * host.pages() {
        host.run_down_to(15);
        host.submit(Operation::Write, false, next(n), 1);
    }
    host.run_down_to(0);
    let metrics = host.device.metrics(&mark, host.calendar.now());
    assert!(metrics.count("ftl.lines_cleaned") > 100);
    metrics.number("programs_per_host_program").expect("pages were programmed")
}

#[test]
fn pages_that_are_overwritten_in_order_are_never_moved() {
    assert_eq!(amplification(Host::new(&device(&["over_provisioning=0.46"])), |n| n), 1.0);
}

/// Pages programmed for each host page, if lines are collected in write order and `share` of their pages is
/// valid on average. With a valid share v of the victims this mean is (v - 1) / ln v.
fn cost_in_order(share: f64) -> f64 {
    let (mut low, mut high) = (1e-9, share);
    for _ in 0..60 {
        let v = f64::midpoint(low, high);
        if (v - 1.0) / libm::log(v) < share {
            low = v;
        } else {
            high = v;
        }
    }
    1.0 / (1.0 - low)
}

#[test]
fn random_writes_cost_what_greedy_gc_of_so_many_lines_does() {
    let host = Host::new(&preset(&[]));
    // Of 32 lines three are free when a victim is selected, and one is open. So 28 lines have pages.
    let share = f64::from(host.pages()) / (28.0 * 128.0);
    let (pages, mut random) = (u64::from(host.pages()), Seed(5).stream("test.writes", 0));
    let found = amplification(host, |_| random.below(pages) as u32);
    // Lower bound: lines lose pages ever more slowly, from full to the valid share v of a victim. So their
    // mean share u is below the middle, and 1 - v is less than 2 (1 - u). A page costs 1 / (1 - v). Upper
    // bound: the cost in write order. The 48 pages that are in the buffer or in flight are still valid.
    let (least, most) = (0.5 / (1.0 - share), cost_in_order(share + 48.0 / (28.0 * 128.0)));
    assert!((least..most).contains(&found), "{found}, not from {least} to {most}");
}

#[test]
fn a_device_that_is_out_of_chunks_gives_writes_up() {
    let mut host = Host::new(&device(&["open_channel.part.endurance=3"]));
    host.may_fail = true;
    for n in 0..40 * host.pages() {
        host.run_down_to(3);
        host.submit(Operation::Write, false, n, 1);
        if host.failed > 0 {
            break;
        }
    }
    host.run_down_to(0);
    assert!(host.failed > 0, "each chunk is erased three times");
    host.read_all();
}

#[test]
fn a_steady_state_is_that_of_random_writes_and_takes_no_time() {
    let mut host = Host::new(&device(&["over_provisioning=0.46"]));
    let steady = host.device.fill_steady_while(Seed(3), None, &mut |_| true).expect("nobody stops it");
    assert!(steady.amplification > Some(1.02) && steady.overwritten > 0, "{steady:?}");
    assert_eq!(host.device.device().chips().erases().iter().sum::<u32>(), 0);
    host.device.audit(wordline_kernel::Duration::ZERO);
}
