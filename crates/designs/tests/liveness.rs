//! Liveness of the designs' mechanisms: a long run of each built-in design on a small device.

use std::collections::BTreeMap;

use wordline_designs::Designs;
use wordline_device::Operation;
use wordline_ftl::blocks::State;
use wordline_kernel::Seed;
use wordline_kernel::metrics::{Metrics, Value};
use wordline_nand::{BlockSetId, CellMode};
use wordline_ssd::DeviceFile;

use crate::rig::Rig;

/// Host writes of a run, in multiples of the logical pages. Chosen: each block is erased some hundred times.
const TURNOVERS: u64 = 60;

/// Host writes within which a suspended block must make progress, in multiples of the logical pages. Chosen:
/// each logical page is rewritten some three times.
const BOUND: u64 = 5;

/// The devices and settings for a design. Together they exercise all of its mechanisms.
fn of_design(name: &str) -> Vec<(DeviceFile, String)> {
    let settings = |settings: &str| format!("design = {{ name = '{name}', {settings} }}");
    match name {
        "centaur" => vec![(crate::centaur::two_pools(), settings("condition = '64KiB'"))],
        "slc-mlc-hybrid" => vec![(crate::centaur::two_pools(), settings("epoch = 100"))],
        "cubeftl" => vec![(crate::cubeftl::with_cells(2_000.0, 0.0), settings(""))],
        "ressd" => {
            let ages = "thresholds = ['40ms', '160ms', '640ms']";
            let with = |more: &str| settings(&format!("{ages}{more}"));
            let all = ["", ", candidates = 4", ", passive_reclaim = false", ", rewrites = 0"];
            all.map(|more| (crate::ressd::one_plane(), with(more))).to_vec()
        }
        _ => panic!("no device for the design {name}: its mechanisms are to be seen working"),
    }
}

/// A suspended block: its number, the number of its opening, and the reprogram passes of its word lines.
type Suspended = (BlockSetId, u64, Vec<Option<u8>>);

fn suspended(rig: &Rig) -> impl Iterator<Item = Suspended> + '_ {
    let space = &rig.device.ftl().blocks;
    let all = space.pools().all_blocks().filter(|block| space.table().state(*block) == State::Suspended);
    all.map(|block| {
        let lines = space.pools().of_block(block).part.pages().word_lines();
        let again = (0..lines).map(|line| space.word_line(block, line).again);
        assert_eq!(space.table().mode(block), CellMode::Mlc, "no other design suspends blocks");
        (block, space.table().opening_number(block), again.collect())
    })
}

/// Counters that advanced before `then`, but not after it.
fn stopped(names: impl Iterator<Item = &'static str>, then: &Metrics, now: &Metrics) -> Vec<&'static str> {
    let has_stopped = |name: &&str| match (then.get(name), now.get(name)) {
        (Some(Value::Count(then)), Some(Value::Count(now))) => then > 0 && then == now,
        _ => false,
    };
    names.filter(has_stopped).collect()
}

/// Long run of a design: half of the writes go to a tenth of the pages, and there are large writes and idle
/// times. Returns the mechanisms that stopped working.
fn stalled_mechanisms(file: DeviceFile, settings: &str, counters: &[&'static str]) -> Vec<String> {
    let mut rig = Rig::new(file, settings);
    let (pages, sectors) = {
        let config = rig.device.config();
        (u64::from(config.ftl.logical_pages), config.ftl.unit.0 / 512)
    };
    let mut random = Seed(1).stream("test.liveness", 0);
    let (mut since, mut dead) = (BTreeMap::<Suspended, u64>::new(), Vec::new());
    let mut late = None;
    for written in 0..TURNOVERS * pages {
        if written.is_multiple_of(pages / 4) {
            let began = |one: Suspended| (since.get(&one).copied().unwrap_or(written), one);
            let seen: Vec<(u64, Suspended)> = suspended(&rig).map(began).collect();
            since = seen.into_iter().map(|(at, one)| (one, at)).collect();
            let rests = since.iter().filter(|(_, at)| written - **at > BOUND * pages);
            dead.extend(rests.map(|((block, ..), at)| format!("{block:?} is suspended since write {at}")));
            if !dead.is_empty() {
                return dead;
            }
        }
        if written == TURNOVERS * pages / 10 * 9 {
            late = Some(rig.metrics());
        }
        if random.below(1_000) == 0 {
            rig.flush();
        }
        let (among, length) = match random.below(8) {
            0..4 => (pages / 10, 1),
            4..7 => (pages, 1),
            _ => (pages - 12, 12),
        };
        rig.submit(Operation::Write, random.below(among) * sectors, length * sectors);
        rig.run_down_to(15);
    }
    let late = late.expect("nine tenths were written");
    stopped(counters.iter().copied(), &late, &rig.metrics())
        .into_iter()
        .map(|name| format!("{name} stands still"))
        .collect()
}

#[test]
fn every_mechanism_of_every_design_goes_on() {
    let mut dead = Vec::new();
    for entry in Designs::default().entries() {
        let counters: Vec<&'static str> = entry.metrics().iter().map(|metric| metric.name).collect();
        for (file, settings) in of_design(entry.name()) {
            dead.extend(
                stalled_mechanisms(file, &settings, &counters)
                    .iter()
                    .map(|what| format!("{settings}: {what}")),
            );
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}
