//! Placement of host pages: outside their assigned plane group, and apart from pages of other streams.

use wordline_device::{BlockDevice, Command, Operation};
use wordline_ftl::policy::balancer::{BalancerKind, Reach};
use wordline_ftl::policy::placement::PlacementKind;
use wordline_ftl::policy::relocator::RelocatorKind;
use wordline_ftl::policy::router::RouterKind;
use wordline_ftl::policy::victim::VictimKind;
use wordline_kernel::{Duration, Instant, Seed};
use wordline_ssd::DeviceFile;

use crate::common::{Rig, small};

fn at_home(balancer: BalancerKind) -> DeviceFile {
    let mut file = small();
    file.ftl.placement = PlacementKind::Fixed { order: "CWDP".into() };
    file.ftl.balancer = balancer;
    file
}

/// Writes `count` pages of the first of four plane groups, at queue depth 8. Returns the time.
fn write_to_one_group(rig: &mut Rig, count: u64) -> Duration {
    let start = rig.calendar_now();
    for page in 0..count {
        rig.run_down_to(7);
        rig.submit(Operation::Write, true, page * 4 * 8, 8);
    }
    rig.run_down_to(0);
    rig.calendar_now() - start
}

#[test]
fn idle_dies_take_what_waits_for_a_busy_one() {
    let run = |balancer| {
        let mut rig = Rig::new(at_home(balancer), 1);
        let time = write_to_one_group(&mut rig, 64);
        rig.audit();
        (time, rig.device.totals().remote_programs)
    };
    let stealing = |reach| run(BalancerKind::Stealing { reach, least: 1 });
    let (home, none_away) = run(BalancerKind::None {});
    let (device, away) = stealing(Reach::Device);
    assert_eq!(none_away, 0);
    assert!(away > 32 && home.ps() > 2 * device.ps(), "{home} at home, {device} on four dies: {away} away");
    let (channel, _) = stealing(Reach::Channel);
    assert!(home > channel && channel > device, "{home}, {channel} on two dies, {device} on four");
    assert_eq!(stealing(Reach::Die), (home, 0), "a die with one row has nobody to take from");
}

#[test]
fn pages_of_a_lost_die_find_room_elsewhere() {
    use wordline_nand::faults::{Fails, FaultFile};
    let run = |balancer| {
        let mut file = at_home(balancer);
        file.ftl.over_provisioning = 0.5;
        file.faults =
            vec![FaultFile { at: Some(Duration::ZERO), die: Some(0.into()), ..FaultFile::new(Fails::Die) }];
        let mut rig = Rig::new(file, 1);
        let pages = u64::from(rig.device.config().ftl.logical_pages);
        for page in 0..pages {
            rig.alone(Operation::Write, true, page * 8, 8);
        }
        rig.audit();
        (
            rig.completions.iter().filter(|(_, completion)| completion.failed).count(),
            rig.device.is_read_only(),
        )
    };
    let (failed, read_only) = run(BalancerKind::Stealing { reach: Reach::Die, least: 1 });
    assert_eq!((failed, read_only), (0, false));
    assert!(run(BalancerKind::None {}).1, "at home there is no room for them");
}

#[test]
fn discarded_pages_reach_flash_though_the_only_other_group_with_room_is_full() {
    use wordline_ftl::config::DiscardsAtCut;
    use wordline_nand::faults::{Fails, FaultFile, NumberRange};
    let mut file = at_home(BalancerKind::Stealing { reach: Reach::Device, least: 1 });
    file.layout.dies_per_package = 1;
    // The second plane group has just enough space for its assigned pages, because programs fail in four of
    // its 21 blocks with data.
    file.ftl.over_provisioning = 1.0 - 17.0 / 24.0;
    file.ftl.recovery.discards = DiscardsAtCut::Kept;
    file.faults = vec![FaultFile {
        die: Some(1.into()),
        block: Some(NumberRange { least: 4, most: 7 }),
        ..FaultFile::new(Fails::Program)
    }];
    let mut rig = Rig::new(file, 1);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    for page in 0..pages {
        rig.alone(Operation::Write, true, page * 8, 8);
    }
    for n in 0..2 * pages {
        rig.run_down_to(7);
        // While the first plane group is idle it takes some of these pages, until it is full.
        rig.submit(Operation::Write, true, (2 * n + 1) % pages * 8, 8);
        if n % 16 == 0 {
            rig.alone(Operation::Discard, false, (2 * n + 1) % pages * 8, 8);
            rig.alone(Operation::Flush, false, 0, 0);
        }
    }
    assert_eq!((rig.device.ftl().blocks.space().bad(), rig.device.is_read_only()), (4, false));
    assert!(rig.device.totals().remote_programs > pages / 8);
    rig.audit();
}

/// Relocated pages for each host page. Nine of ten writes go to one page in sixteen.
fn moved(streams: u8, start: u32) -> f64 {
    let mut file = small();
    file.ftl.over_provisioning = 0.4;
    file.ftl.router = RouterKind::Host { streams };
    file.ftl.gc.relocator = RelocatorKind::Single {};
    file.ftl.gc.victim = VictimKind::Greedy {};
    file.ftl.gc.start_below_free_blocks = start;
    file.ftl.gc.stop_at_free_blocks = start;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut random = Seed(3).stream("test.hot", 0);
    let mut before = (0, 0);
    for n in 0..20 * pages {
        if n == 4 * pages {
            before = (rig.device.totals().gc_programs, rig.device.totals().host_programs);
        }
        rig.run_down_to(15);
        let hot = random.below(10) < 9;
        let page = if hot { random.below(pages / 16) * 16 } else { random.below(pages) };
        let stream = u8::from(page.is_multiple_of(16));
        rig.submit_command(Command {
            operation: Operation::Write,
            stream,
            sector: page * 8,
            sectors: 8,
            ..Command::default()
        });
    }
    rig.run_down_to(0);
    rig.audit();
    assert!(rig.calendar_now() > Instant::ZERO);
    let totals = rig.device.totals();
    (totals.gc_programs - before.0) as f64 / (totals.host_programs - before.1) as f64
}

#[test]
fn streams_stay_apart_in_a_group_with_only_its_last_blocks() {
    let (apart, together) = (moved(2, 3), moved(1, 3));
    assert!(apart < 0.9 * together, "{apart:.3} pages moved a write in streams, {together:.3} without");
}

/// Write amplification and effective over-provisioning under uniform writes to the fraction `kept` of the
/// logical pages. The other pages are discarded.
fn amplification(over_provisioning: f64, kept: f64) -> (f64, f64) {
    let mut file = small();
    file.part.geometry.blocks_per_plane = 64;
    file.ftl.over_provisioning = over_provisioning;
    let mut rig = Rig::new(file, 1);
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let kept = (pages as f64 * kept) as u64;
    if kept < pages {
        rig.alone(Operation::Discard, false, kept * 8, (pages - kept) * 8);
    }
    let mut random = Seed(3).stream("test.uniform", 0);
    let mut before = (0, 0);
    for n in 0..6 * kept {
        if n == 3 * kept {
            before = (rig.device.totals().gc_programs, rig.device.totals().host_programs);
        }
        rig.run_down_to(15);
        rig.submit(Operation::Write, false, random.below(kept) * 8, 8);
    }
    rig.run_down_to(0);
    rig.audit();
    let totals = rig.device.totals();
    let moved = (totals.gc_programs - before.0) as f64 / (totals.host_programs - before.1) as f64;
    (1.0 + moved, rig.device.ftl().effective_spare())
}

#[test]
fn discarded_pages_are_spare_space() {
    let (full, little) = amplification(0.2, 1.0);
    let (trimmed, more) = amplification(0.2, 0.75);
    let (made_so, same) = amplification(0.4, 1.0);
    assert!((little - 0.2).abs() < 0.01 && (more - 0.4).abs() < 0.01, "{little:.3} and {more:.3} are spare");
    assert!((more - same).abs() < 0.001, "as if the device had been made with it");
    assert!(trimmed < 0.75 * full, "{trimmed:.3} after a quarter was discarded, {full:.3} before");
    assert!((trimmed / made_so - 1.0).abs() < 0.02, "{trimmed:.3}, and {made_so:.3} of a device made so");
}

#[test]
fn an_order_of_word_lines_that_the_part_cannot_have_is_refused() {
    use wordline_ftl::policy::frontier::FrontierKind;
    let keys = |change: fn(&mut DeviceFile)| -> Vec<String> {
        let mut file = small();
        file.ftl.frontier = FrontierKind::Vertical {};
        change(&mut file);
        file.check().err().map_or_else(Vec::new, |wrong| wrong.0.into_iter().map(|c| c.key).collect())
    };
    assert_eq!(keys(|_| {}), ["ftl.frontier.policy"], "a planar part has one order");
    assert!(keys(|file| file.part.geometry.layers = 8).is_empty());
    assert_eq!(
        keys(|file| file.part.geometry.layers = 3),
        ["ftl.frontier.policy"],
        "16 word lines in 3 layers"
    );
    let page_by_page = |file: &mut DeviceFile| {
        (file.part.geometry.layers, file.part.geometry.bits_per_cell) = (8, 2);
    };
    assert_eq!(keys(page_by_page), ["ftl.frontier.policy"]);
    let too_many = |file: &mut DeviceFile| {
        file.part.geometry.layers = 8;
        file.ftl.frontier = FrontierKind::Mixed { layers: Some(9) };
    };
    assert_eq!(keys(too_many), ["ftl.frontier.layers"]);
}
