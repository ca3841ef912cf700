//! A device aged without flash times must equal one after a run of the same commands.

use wordline_device::block_device::Programmed;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::{Duration, Instant, Seed, Stream};
use wordline_ssd::DeviceFile;

use crate::common::{Rig, small};

/// Device with four plane groups of 256 blocks, each of 64 pages in a plane: large enough for meaningful
/// averages.
fn device() -> DeviceFile {
    let mut file = small();
    (file.part.geometry.blocks_per_plane, file.part.geometry.pages_per_block) = (256, 64);
    file.ftl.over_provisioning = 0.25;
    file
}

/// Random writes of whole pages. The fraction `share` of them goes to the first `part` of the device.
fn writes(pages: u64, mut random: Stream, (part, share): (f64, f64)) -> impl FnMut() -> Command {
    move || {
        let hot = random.unit() < share;
        let range = if hot { (pages as f64 * part) as u64 } else { pages };
        Command {
            operation: Operation::Write,
            sector: random.below(range) * 8,
            sectors: 8,
            ..Command::default()
        }
    }
}

/// Write amplification between two counts.
fn amplification(from: Programmed, to: Programmed) -> f64 {
    let host = (to.host - from.host) as f64;
    (host + (to.other - from.other) as f64) / host
}

/// Ages a filled device with `drives` drive writes. Returns the write amplification over the last half of a
/// drive write.
fn aged(rig: &mut Rig, drives: f64, hot: (f64, f64), depth: Option<u32>) -> f64 {
    rig.device.fill(1.0);
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut command = writes(pages, Seed(5).stream("test.age", 0), hot);
    let (all, mut given) = ((pages as f64 * drives) as u64, 0);
    let (mut from, mut to) = (Programmed::default(), Programmed::default());
    let mut next = |programmed| {
        to = programmed;
        if given == all - pages / 2 {
            from = programmed;
        }
        given += 1;
        // One write each millisecond is less than the device can do.
        (given <= all).then(|| (Instant::ZERO + Duration::from_ms(1) * given, command()))
    };
    let agenda = rig.device.age(&mut next, depth).expect("it has flash");
    rig.calendar = agenda.calendar(|event| event);
    rig.audit();
    amplification(from, to)
}

/// Runs `drives` drive writes at queue depth `depth`. Returns the write amplification over the last half of a
/// drive write.
fn run(rig: &mut Rig, drives: f64, hot: (f64, f64), depth: usize) -> f64 {
    let pages = u64::from(rig.device.config().ftl.logical_pages);
    let mut command = writes(pages, Seed(6).stream("test.run", 0), hot);
    let all = (pages as f64 * drives) as u64;
    let mut from = Programmed::default();
    for n in 0..all {
        if n == all - pages / 2 {
            from = rig.device.programmed();
        }
        rig.run_down_to(depth - 1);
        rig.submit_command(command());
    }
    let to = rig.device.programmed();
    rig.audit();
    amplification(from, to)
}

fn assert_within(found: f64, wanted: f64, share: f64, what: &str) {
    assert!((found / wanted - 1.0).abs() <= share, "{what}: {found}, wanted {wanted} within {share}");
}

#[test]
fn ageing_leads_to_the_write_amplification_of_a_run() {
    for hot in [(1.0, 0.0), (0.1, 0.8)] {
        let mut run_in = Rig::new(device(), 1);
        run_in.device.fill(1.0);
        let timed = run(&mut run_in, 5.0, hot, 16);
        let untimed = aged(&mut Rig::new(device(), 1), 5.0, hot, Some(16));
        assert_within(untimed, timed, 0.02, &format!("{hot:?}"));
    }
}

#[test]
fn measurements_after_ageing_are_steady() {
    let mut rig = Rig::new(device(), 1);
    let aged = aged(&mut rig, 5.0, (0.1, 0.8), Some(16));
    let after = run(&mut rig, 0.5, (0.1, 0.8), 16);
    assert_within(after, aged, 0.02, "the run after it");
}

#[test]
fn ageing_with_uniform_writes_leads_to_the_steady_state_of_theory() {
    let mut from_theory = Rig::new(device(), 1);
    from_theory.device.fill_steady(Seed(1));
    let wanted = run(&mut from_theory, 1.0, (1.0, 0.0), 16);
    let mut rig = Rig::new(device(), 1);
    let found = aged(&mut rig, 6.0, (1.0, 0.0), Some(16));
    assert_within(found, wanted, 0.01, "aged");
    assert_within(run(&mut rig, 1.0, (1.0, 0.0), 16), wanted, 0.01, "the run after it");
}
