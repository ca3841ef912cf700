use super::*;

const START: ProgramKind = ProgramKind::Start;
const QUEUE: ProgramKind = ProgramKind::Queue;

/// Exceeds a limit twice: on a LUN that rejects it and on a LUN that counts it. The rejected operation
/// changes neither pipeline nor registers nor cells; the counted operation ends with FAIL.
fn breaks(wanted: Limit, prepare: impl Fn(&mut Lun), act: impl Fn(&mut Lun, Instant) -> Result<Busy, Limit>) {
    let (mut strict, mut lenient) = (lun(), lenient());
    for lun in [&mut strict, &mut lenient] {
        prepare(lun);
        assert!(lun.broken().is_empty(), "{wanted}: broken too early");
    }
    let now = strict.pipeline().ready_at;
    strict.settle(now);
    strict.begin_load(row(0, 0), false);
    let (pipeline, registers) = (*strict.pipeline(), registers(&mut strict));
    assert_eq!(act(&mut strict, now), Err(wanted));
    assert_eq!((*strict.pipeline(), self::registers(&mut strict)), (pipeline, registers), "{wanted}");
    assert_eq!(strict.broken().get(wanted.name()), Some(&1), "{wanted}");
    assert!(strict.status(now).failed, "{wanted}: a refusal shows as FAIL");

    let carried_out = act(&mut lenient, now);
    assert_eq!(lenient.broken().get(wanted.name()), Some(&1), "{wanted}");
    assert_eq!(carried_out.is_ok(), wanted.can_be_ignored(), "{wanted}: {carried_out:?}");
    let Ok(Busy { array_ready_at, .. }) = carried_out else { return };
    assert!(lenient.status(array_ready_at).failed, "{wanted}: what is counted ends with FAIL");
}

fn registers(lun: &mut Lun) -> Vec<Vec<u8>> {
    [0, 1]
        .map(|plane| {
            lun.select_output(plane);
            lun.output(0, lun.register_size())
        })
        .to_vec()
}

#[test]
fn programs_go_upwards_in_a_block() {
    let last = 3;
    breaks(
        Limit::ProgramOutOfOrder { row: row(0, 1), last },
        |lun| {
            put(lun, row(0, 3), 1);
        },
        |lun, now| lun.program(row(0, 1), START, false, now),
    );
}

#[test]
fn order_counts_per_block_and_ends_with_the_erase() {
    let mut lun = lun();
    put(&mut lun, row(0, 5), 1);
    put(&mut lun, row(2, 0), 2);
    let now = lun.pipeline().ready_at;
    lun.erase(row(0, 0), false, now).expect("legal");
    put(&mut lun, row(0, 0), 3);
    assert_eq!(get(&mut lun, row(0, 0)), 3);
}

#[test]
fn order_counts_programs_that_are_not_over() {
    let mut lun = lun();
    let first = program(&mut lun, row(0, 1), 0, ProgramKind::Cache, at(0)).expect("legal");
    let second = program(&mut lun, row(0, 0), 0, ProgramKind::Cache, first.ready_at);
    assert_eq!(second, Err(Limit::ProgramOutOfOrder { row: row(0, 0), last: 1 }));
}

#[test]
fn a_page_stands_so_many_programs() {
    breaks(
        Limit::TooManyPrograms { row: row(0, 0), limit: 1 },
        |lun| {
            put(lun, row(0, 0), 1);
        },
        |lun, now| lun.program(row(0, 0), START, false, now),
    );
    let part = part(|file| file.geometry.bits_per_cell = 1);
    let mut slc = Lun::new(&part, DieId(0), LunOptions::default());
    (0..4).for_each(|_| {
        put(&mut slc, row(0, 0), 0x55);
    });
    let now = slc.pipeline().ready_at;
    let fifth = slc.program(row(0, 0), START, false, now);
    assert_eq!(fifth, Err(Limit::TooManyPrograms { row: row(0, 0), limit: 4 }));
}

#[test]
fn a_block_stands_so_many_erases() {
    let limit = 10_000;
    breaks(
        Limit::Endurance { block: 3, limit },
        |lun| {
            lun.set_erases(3, limit - 1);
            lun.erase(row(3, 0), false, at(0)).expect("the last one that it stands");
        },
        |lun, now| lun.erase(row(3, 0), false, now),
    );
}

#[test]
fn planes_of_an_operation_differ_and_pages_agree() {
    let rule = |second| Limit::PlaneRule { first: row(0, 0), second };
    let queue_read = |lun: &mut Lun| {
        lun.read(row(0, 0), ReadKind::Queue, at(0)).expect("legal");
    };
    let queue_program = |lun: &mut Lun| {
        program(lun, row(0, 0), 7, QUEUE, at(0)).expect("legal");
    };
    let queue_erase = |lun: &mut Lun| {
        lun.erase(row(0, 0), true, at(0)).expect("legal");
    };
    for second in [row(2, 0), row(1, 1)] {
        breaks(rule(second), queue_read, |lun, now| lun.read(second, ReadKind::Plain, now));
        breaks(rule(second), queue_program, |lun, now| lun.program(second, START, false, now));
    }
    breaks(rule(row(2, 0)), queue_erase, |lun, now| lun.erase(row(2, 0), false, now));
}

#[test]
fn a_queue_survives_what_does_not_fit_to_it() {
    let mut lun = lun();
    let queued = program(&mut lun, row(0, 0), 0x33, QUEUE, at(0)).expect("legal");
    assert!(program(&mut lun, row(1, 1), 0x44, START, queued.ready_at).is_err());
    let mixed = Limit::OtherQueued { first: row(0, 0), second: row(1, 0) };
    assert_eq!(lun.erase(row(1, 0), false, queued.ready_at), Err(mixed));
    assert_eq!(lun.read(row(1, 0), ReadKind::Plain, queued.ready_at), Err(mixed));
    program(&mut lun, row(1, 0), 0x55, START, queued.ready_at).expect("legal");
    assert_eq!([get(&mut lun, row(0, 0)), get(&mut lun, row(1, 0))], [0x33, 0x55]);
}

#[test]
fn a_copyback_stays_in_the_plane_that_was_read() {
    breaks(
        Limit::CopybackAcrossPlanes { row: row(1, 0), from: 0 },
        |lun| {
            lun.read(row(0, 0), ReadKind::Copyback, at(0)).expect("legal");
        },
        |lun, now| lun.program(row(1, 0), START, true, now),
    );
    breaks(
        Limit::CopybackWithoutRead { row: row(1, 0) },
        |lun| {
            lun.read(row(1, 1), ReadKind::Plain, at(0)).expect("legal");
        },
        |lun, now| lun.program(row(1, 0), START, true, now),
    );
}

#[test]
fn bad_blocks_carry_the_factory_mark_and_are_refused() {
    for fatal in [true, false] {
        let options = LunOptions { bad_blocks: vec![6], fatal, ..LunOptions::default() };
        let mut lun = Lun::new(&part(|_| ()), DieId(0), options);
        assert_eq!([get(&mut lun, row(6, 0)), get(&mut lun, row(4, 0))], [0, 0xff]);
        let now = lun.pipeline().ready_at;
        let erased = lun.erase(row(6, 0), false, now);
        assert_eq!(erased.is_ok(), !fatal);
        let now = lun.pipeline().ready_at;
        assert_eq!(
            lun.program(row(6, 0), START, false, now).err(),
            fatal.then_some(Limit::BadBlock { block: 6 })
        );
        assert_eq!(lun.broken().get("bad-block"), Some(&2));
    }
}

#[test]
fn what_does_not_exist_is_refused_always() {
    let nothing = |_: &mut Lun| ();
    let block = Limit::NoSuchBlock { block: 32, blocks: 32 };
    let hole = Limit::Hole { row: row(0, 8), pages: 8 };
    for (limit, wrong) in [(block, row(32, 0)), (hole, row(0, 8))] {
        for kind in [ReadKind::Plain, ReadKind::Queue, ReadKind::Copyback, ReadKind::CacheRandom] {
            breaks(limit, nothing, |lun, now| lun.read(wrong, kind, now));
        }
        for kind in [START, QUEUE, ProgramKind::Cache] {
            breaks(limit, nothing, |lun, now| lun.program(wrong, kind, false, now));
        }
    }
    breaks(block, nothing, |lun, now| lun.erase(row(32, 0), false, now));
    breaks(Limit::NothingSensed, nothing, |lun, now| lun.cache_read_next(now));
    breaks(Limit::NothingSensed, nothing, |lun, now| lun.cache_read_end(now));
    breaks(Limit::NothingToSuspend, nothing, |lun, now| lun.suspend(now));
    breaks(Limit::NothingToResume, nothing, |lun, now| lun.resume(now));
    let page = Limit::Unsupported { what: "a page for a write-back register" };
    breaks(page, nothing, |lun, now| lun.program(row(0, 0), ProgramKind::Page, false, now));
    let reprogram = Limit::Unsupported { what: "a reprogram in this cell mode" };
    breaks(reprogram, nothing, |lun, now| lun.program(row(0, 0), ProgramKind::Reprogram, false, now));
}

#[test]
fn a_busy_lun_refuses_and_keeps_its_work() {
    let mut lun = lun();
    let end = program(&mut lun, row(0, 0), 0x66, START, at(0)).expect("legal").ready_at;
    let busy = Err(Limit::Busy { until: end });
    let now = Instant::from_ps(end.ps() - 1);
    assert_eq!(lun.read(row(1, 0), ReadKind::Plain, now), busy);
    assert_eq!(lun.program(row(1, 0), START, false, now), busy);
    assert_eq!(lun.erase(row(1, 0), false, now), busy);
    assert_eq!(lun.cache_read_next(now), busy);
    assert!(!lun.status(end).failed);
    assert_eq!(get(&mut lun, row(0, 0)), 0x66);
}

#[test]
fn limits_say_what_was_found_and_wanted() {
    let limits = [
        Limit::Hole { row: row(1, 9), pages: 8 },
        Limit::PlaneRule { first: row(0, 0), second: row(2, 0) },
        Limit::TooManyPrograms { row: row(0, 3), limit: 1 },
    ];
    let texts = limits.map(|limit| limit.to_string());
    assert_eq!(texts[0], "found page 9 of block 1 of LUN 0, wanted a page below 8");
    assert!(texts.iter().all(|text| text.contains("found") && text.contains("wanted")), "{texts:?}");
}
