//! Checks of a store, and tests of a store in zones.

use std::collections::VecDeque;

use super::super::{Application, Model, Threads, ZoneLayout};
use super::*;
use crate::{Op, Request};

impl Store {
    /// Returns the blocks of all tables, after checking that no block belongs to two tables.
    pub fn audit(&self, on_their_way: u32) -> Vec<bool> {
        let mut held = vec![false; self.space.extent() as usize];
        let made = self.merge.iter().flat_map(|merge| &merge.made).chain(&self.flush);
        let logs = std::iter::once(&self.log).chain(&self.flushed);
        let of_tables = self.levels.iter().flatten().flat_map(|table| &table.runs);
        let moved = self.relocation.iter().flat_map(Relocation::extents);
        let others = made.flat_map(|table| &table.runs).chain(logs.flat_map(|log| &log.runs));
        let others = others.chain(&self.retired).chain(moved);
        let (mut count, mut taken) = (0, Vec::new());
        for (run, is_readable) in of_tables.map(|run| (run, true)).chain(others.map(|run| (run, false))) {
            count += run.1;
            taken.push(*run);
            for at in run.0..run.0 + run.1 {
                assert!(!held[at as usize], "block {at} belongs to two tables");
                held[at as usize] = is_readable;
            }
        }
        self.space.audit(count + on_their_way, &taken);
        for tables in &self.levels[1..] {
            assert!(tables.windows(2).all(|pair| pair[0].end <= pair[1].first), "tables of a level overlap");
        }
        let last = self.levels.last().expect("a level");
        assert!(
            last.windows(2).all(|pair| pair[0].end == pair[1].first),
            "a gap between tables of the last level"
        );
        assert!(last[0].first == 0 && last[last.len() - 1].end == self.count);
        held
    }

    /// Number of flushed tables, and the records of each level as a fraction of its target.
    pub fn level_fill(&self) -> (usize, Vec<f64>) {
        let records = |level: &Vec<Table>| level.iter().map(|table| table.records).sum::<f64>();
        let parts =
            self.levels.iter().zip(&self.targets).skip(1).map(|(level, target)| records(level) / target);
        (self.levels[0].len(), parts.collect())
    }

    /// Whether a zone is being relocated.
    pub fn relocates(&self) -> bool {
        self.relocation.is_some()
    }
}

/// Zones as a device checks them, with the blocks written in each.
struct ZoneModel {
    layout: ZoneLayout,
    written: Vec<u64>,
    counts: [u64; 12],
    most_active: usize,
}

impl ZoneModel {
    fn new(layout: ZoneLayout, filled: u32) -> Self {
        let capacity = layout.capacity.0 / BLOCK;
        let written =
            (0..layout.count).map(|zone| if zone < filled { capacity } else { 0 }).collect::<Vec<u64>>();
        Self { layout, written, counts: [0; 12], most_active: 0 }
    }

    /// Executes a request. Panics if a device would reject it, or if it reads what was not written.
    fn execute(&mut self, request: &Request, what: &str) {
        let (size, capacity) = (self.layout.size.0 / BLOCK, self.layout.capacity.0 / BLOCK);
        let (first, blocks) = (request.offset.0 / BLOCK, request.size.0 / BLOCK);
        let (zone, at) = ((first / size) as usize, first % size);
        let written = &mut self.written[zone];
        self.counts[request.op as usize] += 1;
        match request.op {
            Op::Flush => {}
            Op::Read => assert!(at + blocks <= *written, "{what}: {request:?} of {written} blocks"),
            Op::Write | Op::ZoneAppend => {
                let is_at_pointer = if request.op == Op::Write { at == *written } else { at == 0 };
                assert!(is_at_pointer && *written + blocks <= capacity, "{what}: {request:?}, {written}");
                *written += blocks;
            }
            Op::ZoneReset => *written = 0,
            other => panic!("{what}: {other:?} on zones"),
        }
        let active = self.written.iter().filter(|written| (1..capacity).contains(*written)).count();
        self.most_active = self.most_active.max(active);
        let most = self.layout.max_active.map_or(usize::MAX, |most| most as usize);
        assert!(active <= most, "{what}: {active} active zones");
    }
}

/// Zones of 2 MiB, 4 MiB apart.
fn small(count: u32, max_active: Option<u32>) -> ZoneLayout {
    ZoneLayout { size: Bytes::mib(4), capacity: Bytes::mib(2), count, max_active }
}

/// `rocks` with changed keys on zones.
fn rocks(keys: &str, layout: ZoneLayout) -> Result<Threads, Complaints> {
    let mut application = Application::named("rocks").expect("a built-in application");
    let Model::Lsm(lsm) = &application.model else { panic!("a merge tree") };
    let mut table = toml::Table::try_from(lsm).expect("a table");
    table.extend(keys.parse::<toml::Table>().expect("keys"));
    application.model = Model::Lsm(table.try_into().expect("a merge tree"));
    application.requests = u64::MAX;
    application.threads_on(Seed(7), layout.size * u64::from(layout.count), Some(layout))
}

const CASES: [(&str, u32, Option<u32>); 7] = [
    ("", 64, None),
    ("fill = 0.5", 64, Some(14)),
    ("fill = 0.66", 64, Some(10)),
    ("fill = 0.4\nratio = 4.0", 64, Some(7)),
    ("page_cache = 0.0\nsync = true", 64, None),
    ("fill = 0.3\nmerge_at = 31\nstall_at = 32", 64, None),
    (
        "data = \"40MiB\"\nclients = { threads = 1, read_share = 0.0, theta = 0.5, record = \"4KiB\" }",
        48,
        None,
    ),
];

#[test]
fn zones_are_written_in_order_read_where_written_and_reset_when_their_tables_are_gone() {
    let mut relocated = 0;
    for (keys, count, max_active) in CASES {
        let layout = small(count, max_active);
        let threads = rocks(keys, layout).unwrap_or_else(|wrong| panic!("{keys}: {wrong}"));
        let mut zones = ZoneModel::new(layout, threads.filled_zones().expect("it writes zones"));
        let mut requests = threads.in_turn();
        for number in 0..60_000 {
            zones.execute(&requests.next().expect("there are more"), &format!("{keys}: request {number}"));
            if number % 500 == 0 {
                relocated += u32::from(requests.work().store().relocates());
            }
            if number % 10_000 == 0 {
                requests.work().audit();
            }
        }
        let [resets, appends] = [Op::ZoneReset, Op::ZoneAppend].map(|op| zones.counts[op as usize]);
        assert!(resets > 20 && appends > 20, "{keys}: {resets} resets, {appends} appends");
        assert!(zones.most_active >= 4, "{keys}: classes have zones of their own");
    }
    assert!(relocated > 0, "a zone with deleted data was relocated");
}

#[test]
fn zones_are_written_in_order_whatever_completes_first() {
    // The last piece of the log in a zone of 9 MiB is more than one write.
    let large = ZoneLayout { size: Bytes::mib(16), capacity: Bytes::mib(9), count: 64, max_active: None };
    let large = (
        "clients = { threads = 4, read_share = 0.2, theta = 0.8, record = \"16KiB\" }\nmemtable = \"1MiB\"\n\
         table = \"1MiB\"\nlevel = \"4MiB\"",
        large,
    );
    let small = CASES.map(|(keys, count, max_active)| (keys, small(count, max_active)));
    for (keys, layout) in small.into_iter().chain([large]) {
        let mut threads = rocks(keys, layout).unwrap_or_else(|wrong| panic!("{keys}: {wrong}"));
        let mut zones = ZoneModel::new(layout, threads.filled_zones().expect("it writes zones"));
        let (mut outstanding, mut draws) = (VecDeque::new(), Seed(3).stream("test", 0));
        for number in 0..40_000 {
            while let Some((thread, request)) = threads.ask() {
                zones.execute(&request, &format!("{keys}: request {number}"));
                outstanding.push_back(thread);
            }
            // One of the newest two, so that a thread falls as far behind the others as it can.
            let next = outstanding.len() - 1 - draws.below(outstanding.len().min(2) as u64) as usize;
            threads.completed(outstanding.remove(next).expect("one is outstanding"));
        }
        assert!(zones.counts[Op::ZoneReset as usize] > 10, "{keys}");
    }
}

#[test]
fn the_same_store_issues_the_same_writes_of_tables_on_zones_and_on_addresses() {
    let keys =
        "data = \"40MiB\"\nmemtable = \"128KiB\"\ntable = \"128KiB\"\nlevel = \"512KiB\"\npage_cache = 0.0";
    let layout = small(64, None);
    let zoned = rocks(keys, layout).expect("it fits").in_turn();
    let mut application = Application::named("rocks").expect("a built-in application");
    let Model::Lsm(lsm) = &application.model else { panic!("a merge tree") };
    let mut table = toml::Table::try_from(lsm).expect("a table");
    table.extend(keys.parse::<toml::Table>().expect("keys"));
    application.model = Model::Lsm(table.try_into().expect("a merge tree"));
    let plain = application.generator(Seed(7), Bytes::mib(128)).expect("it fits");
    let sums = |requests: &mut dyn Iterator<Item = Request>| {
        let (mut reads, mut written) = (0u64, 0u64);
        for request in requests {
            match request.op {
                Op::Read if request.size.0 == BLOCK => reads += 1,
                Op::Write => written += request.size.0,
                _ => {}
            }
            if reads == 20_000 {
                break;
            }
        }
        written as f64
    };
    let (zoned, plain) = (sums(&mut { zoned }), sums(&mut plain.take(1_000_000)));
    assert!((zoned / plain - 1.0).abs() < 0.1, "{zoned} and {plain} bytes for 20,000 gets");
}

#[test]
fn a_store_that_does_not_fit_its_zones_is_refused() {
    for (keys, layout, wanted) in [
        (
            "",
            small(64, Some(6)),
            "model.kind: found a device with at most 6 active zones, wanted lsm with at least 7",
        ),
        ("", small(12, None), "model.fill: found 0.6, wanted levels of at most"),
        ("data = \"100MiB\"", small(64, None), "model.data: found 100MiB, wanted at most"),
        (
            "data = \"84MiB\"\nstall_at = 32",
            small(64, None),
            "model.data: found 84MiB, wanted levels of at most 0.57 of the zones",
        ),
    ] {
        let error = rocks(keys, layout).map(|_| ()).expect_err("it does not fit").to_string();
        assert!(error.contains(wanted), "{keys}: {error}");
    }
}
