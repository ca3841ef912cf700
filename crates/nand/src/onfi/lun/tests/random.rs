//! Random operations, legal and illegal, against a model without time. In the model an accepted operation
//! takes effect at once, and cells of operations that a reset aborts are unknown.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The byte that fills a page or register; `None`: unknown.
type Fill = Option<u8>;

/// An accepted program or erase, its rows and its latest end.
struct InFlight {
    rows: Vec<Row>,
    erase: bool,
    end: Instant,
}

#[derive(Default)]
struct Oracle {
    pages: BTreeMap<(u32, u32), Fill>,
    registers: [Fill; 2],
    queue: Vec<Row>,
    sensed: Vec<Row>,
    in_flight: Vec<InFlight>,
}

impl Oracle {
    fn page(&self, row: Row) -> Fill {
        self.pages.get(&(row.block, row.page)).copied().unwrap_or(Some(0xff))
    }

    fn register(&mut self, row: Row) -> &mut Fill {
        &mut self.registers[row.block as usize % 2]
    }

    fn take(&mut self, row: Row) -> Vec<Row> {
        let mut rows = std::mem::take(&mut self.queue);
        rows.push(row);
        rows
    }

    fn fill(&mut self, rows: &[Row]) {
        for row in rows {
            *self.register(*row) = self.page(*row);
        }
    }

    fn program(&mut self, row: Row, end: Instant) {
        let rows = self.take(row);
        for row in &rows {
            let held = self.page(*row);
            let added = *self.register(*row);
            let now = held.zip(added).map(|(held, added)| held & added);
            self.pages.insert((row.block, row.page), now);
        }
        self.sensed.clear();
        self.in_flight.push(InFlight { rows, erase: false, end });
    }

    fn erase(&mut self, row: Row, end: Instant) {
        let rows = self.take(row);
        for row in &rows {
            self.pages.retain(|(block, _), _| *block != row.block);
        }
        self.sensed.clear();
        self.in_flight.push(InFlight { rows, erase: true, end });
    }

    /// Applies a reset: an operation that is not over at `now` leaves its pages unknown, and the pages that
    /// share their cells.
    fn reset(&mut self, now: Instant, ready_at: Instant) {
        for flight in self.in_flight.drain(..).filter(|flight| flight.end > now) {
            for row in flight.rows {
                let pages = if flight.erase { 0..8 } else { row.page & !1..row.page | 1 };
                for page in pages.chain([row.page]) {
                    self.pages.insert((row.block, page), None);
                }
            }
        }
        if ready_at > now {
            self.registers = [None; 2];
        }
        self.queue.clear();
        self.sensed.clear();
    }
}

/// The next operation: a kind, a row, a byte and the wait before it.
type Step = (u8, u32, u32, u8, u64);

fn step(lun: &mut Lun, oracle: &mut Oracle, now: Instant, (kind, block, page, byte, _): Step) {
    let row = row(block, page);
    let ready_at = lun.pipeline().ready_at;
    match kind {
        0..=5 if now >= ready_at => {
            lun.begin_load(row, true);
            lun.load(0, &vec![byte; lun.register_size() as usize]);
            // The register of the other plane is cleared, unless that plane is queued.
            let other = Row { block: row.block ^ 1, ..row };
            *oracle.register(other) = if oracle.queue.is_empty() { Some(0xff) } else { None };
            *oracle.register(row) = Some(byte);
            let kinds = [ProgramKind::Start, ProgramKind::Cache, ProgramKind::Queue];
            let kind = kinds[kind as usize % 3];
            match lun.program(row, kind, false, now) {
                Ok(_) if kind == ProgramKind::Queue => oracle.queue.push(row),
                Ok(busy) => oracle.program(row, busy.array_ready_at),
                Err(_) => (),
            }
        }
        0..=5 => {
            assert!(lun.program(row, ProgramKind::Start, false, now).is_err(), "busy until {ready_at:?}");
        }
        6 | 7 => match lun.erase(row, kind == 6, now) {
            Ok(_) if kind == 6 => oracle.queue.push(Row { page: 0, ..row }),
            Ok(busy) => oracle.erase(row, busy.array_ready_at),
            Err(_) => (),
        },
        8..=11 => {
            let kinds = [ReadKind::Plain, ReadKind::Queue, ReadKind::Copyback, ReadKind::CacheRandom];
            let kind = kinds[kind as usize % 4];
            match lun.read(row, kind, now) {
                Ok(_) if kind == ReadKind::Queue => oracle.queue.push(row),
                Ok(_) => {
                    let rows = oracle.take(row);
                    let before = std::mem::take(&mut oracle.sensed);
                    oracle.fill(if kind == ReadKind::CacheRandom { &before } else { &rows });
                    oracle.sensed = if kind == ReadKind::Copyback { Vec::new() } else { rows };
                }
                Err(_) => (),
            }
        }
        12 if lun.cache_read_next(now).is_ok() => {
            let rows = oracle.sensed.clone();
            oracle.fill(&rows);
            oracle.sensed.iter_mut().for_each(|row| row.page += 1);
        }
        13 if lun.cache_read_end(now).is_ok() => {
            let rows = std::mem::take(&mut oracle.sensed);
            oracle.fill(&rows);
        }
        14 if lun.suspend(now).is_ok() && lun.is_suspended() => {
            let unfinished = oracle.in_flight.iter_mut().filter(|flight| flight.end > now);
            unfinished.for_each(|flight| flight.end = Instant::MAX);
        }
        15 => {
            if let Ok(busy) = lun.resume(now) {
                let suspended = oracle.in_flight.iter_mut().filter(|flight| flight.end == Instant::MAX);
                suspended.for_each(|flight| flight.end = busy.array_ready_at);
            }
        }
        16 => {
            let ready_at = lun.pipeline().ready_at;
            lun.reset(now);
            oracle.reset(now, ready_at);
        }
        _ => (),
    }
}

fn held(lun: &mut Lun) -> [Vec<u8>; 2] {
    [0, 1].map(|plane| {
        lun.select_output(plane);
        lun.output(0, lun.register_size())
    })
}

proptest! {
    #[test]
    fn registers_and_cells_hold_what_was_accepted(
        steps in prop::collection::vec((0u8..17, 0u32..5, 0u32..9, any::<u8>(), 0u64..1_200), 1..60),
        slc in any::<bool>(),
    ) {
        let part = part(|file| {
            file.geometry.bits_per_cell = if slc { 1 } else { 2 };
            file.geometry.page_size = wordline_kernel::Bytes(512);
            file.geometry.spare_size = wordline_kernel::Bytes(16);
            file.geometry.blocks_per_plane = 2;
        });
        let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
        let mut oracle = Oracle { registers: [Some(0xff); 2], ..Oracle::default() };
        let mut now = Instant::ZERO;
        for given in steps {
            // A third of the steps come during an operation, the others after it.
            let wait = Duration::from_us(given.4);
            now = if given.4 % 3 == 0 { now + wait } else { now.max(lun.pipeline().array_ready_at) };
            lun.settle(now);
            let (pipeline, before, errors) = (*lun.pipeline(), held(&mut lun), lun.broken().len());
            let counted: u64 = lun.broken().values().sum();
            step(&mut lun, &mut oracle, now, given);
            if lun.broken().values().sum::<u64>() > counted && given.0 > 5 {
                prop_assert_eq!(*lun.pipeline(), pipeline, "a refusal takes no time");
                prop_assert_eq!(held(&mut lun), before, "a refusal changes no register");
            }
            prop_assert!(lun.broken().len() >= errors);
            let ready_at = lun.pipeline().ready_at;
            let status = lun.status(now);
            prop_assert_eq!(status.ready, now >= ready_at);
            prop_assert!(status.ready || status.byte() & 0x7f == 0 || status.array_ready);
            prop_assert!(ready_at <= lun.pipeline().array_ready_at, "the array rests last");
            now = if given.4 % 2 == 0 { now } else { ready_at.max(now) };
            if now >= ready_at {
                lun.settle(now);
                for (register, fill) in held(&mut lun).iter().zip(oracle.registers) {
                    if let Some(fill) = fill {
                        prop_assert!(register.iter().all(|byte| *byte == fill), "wanted {fill:02x}: {given:?}");
                    }
                }
            }
        }
    }
}

/// Arbitrary steps, in every cell mode.
fn anything(lun: &mut Lun, now: Instant, (kind, block, page, byte, _): Step) -> Result<(), Limit> {
    let row = row(block, page);
    let copyback = byte % 4 == 0;
    if kind < 20 && byte % 2 == 0 {
        lun.begin_load(row, !copyback);
        lun.load(page * 90, &[byte; 40]);
    }
    match kind {
        0..=7 => lun.program(row, ProgramKind::Start, copyback, now).map(drop),
        8 | 9 => lun.program(row, ProgramKind::Cache, copyback, now).map(drop),
        10 | 11 => lun.program(row, ProgramKind::Queue, copyback, now).map(drop),
        12..=16 => lun.program(row, ProgramKind::Page, copyback, now).map(drop),
        17..=19 => lun.program(row, ProgramKind::Reprogram, copyback, now).map(drop),
        20 | 21 => lun.erase(row, byte % 4 == 0, now).map(drop),
        22 => lun.read(row, ReadKind::Plain, now).map(drop),
        23 => lun.read(row, ReadKind::Queue, now).map(drop),
        24 => lun.read(row, ReadKind::Copyback, now).map(drop),
        25 => lun.read(row, ReadKind::CacheRandom, now).map(drop),
        26 => lun.read(row, ReadKind::Independent, now).map(drop),
        27 => lun.cache_read_next(now).map(drop),
        28 => lun.cache_read_end(now).map(drop),
        29 => lun.suspend(now).map(drop),
        30 => lun.resume(now).map(drop),
        31 if byte < 64 => {
            lun.cut_power(now);
            Ok(())
        }
        31 => {
            lun.reset(now);
            Ok(())
        }
        _ => lun.set_mode([CellMode::Native, CellMode::Slc, CellMode::Mlc][usize::from(byte) % 3]),
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_stretches_of_array_work_do_not_overlap(
        steps in prop::collection::vec((0u8..34, 0u32..5, 0u32..10, any::<u8>(), 0u64..1_200), 1..80),
        (one_shot, fatal, independent) in any::<(bool, bool, bool)>(),
    ) {
        let part = part(|file| {
            file.geometry.bits_per_cell = 3;
            file.geometry.pages_per_block = 9;
            file.geometry.one_shot = one_shot;
            file.geometry.independent_reads = independent;
            file.geometry.page_size = wordline_kernel::Bytes(512);
            file.geometry.spare_size = wordline_kernel::Bytes(16);
            file.geometry.blocks_per_plane = 2;
            file.timing.slc = Some(SLC);
            file.timing.reprogram = Some(REPROGRAM);
        });
        let failures = vec![InjectedFailure { row: row(0, 0), erase: false, nth: 1 }];
        let options = LunOptions { fatal, failures, bad_blocks: vec![3], ..LunOptions::default() };
        let mut lun = Lun::new(&part, DieId(0), options);
        let mut now = Instant::ZERO;
        for given in steps {
            let wait = Duration::from_us(given.4);
            now = if given.4 % 3 == 0 { now + wait } else { now.max(lun.pipeline().ready_at) };
            lun.settle(now);
            let pipeline = *lun.pipeline();
            match anything(&mut lun, now, given) {
                Ok(()) => (),
                Err(limit) => {
                    prop_assert!(fatal || !limit.can_be_ignored(), "{limit} is refused though it is counted");
                    prop_assert_eq!(*lun.pipeline(), pipeline, "{} takes no time", limit);
                }
            }
            prop_assert!(lun.pipeline().ready_at <= lun.pipeline().array_ready_at);
        }
        lun.settle(Instant::MAX);
        let mut spans = lun.spans();
        spans.sort_by_key(|span| span.begin);
        for pair in spans.windows(2).filter(|pair| pair[0].planes & pair[1].planes != 0) {
            prop_assert!(pair[0].end() <= pair[1].begin, "{pair:?}");
        }
    }
}
