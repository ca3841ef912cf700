use super::*;

#[test]
fn an_erased_page_reads_ff_with_its_spare_bytes() {
    let mut lun = lun();
    assert_eq!(lun.register_size(), 8_192 + 448);
    assert_eq!(get(&mut lun, row(0, 7)), 0xff);
}

#[test]
fn a_read_takes_the_sensing_time_and_fills_the_cache_register_at_its_end() {
    let mut lun = lun();
    let start = put(&mut lun, row(3, 0), 0x5a);
    let busy = lun.read(row(3, 0), ReadKind::Plain, start).expect("legal");
    assert_eq!(busy, Busy { ready_at: start + READ, array_ready_at: start + READ });
    lun.load(0, &[0x11]);
    lun.settle(Instant::from_ps((start + READ).ps() - 1));
    assert_eq!(lun.output(0, 1), [0x11], "a picosecond early the register holds what was loaded");
    lun.settle(start + READ);
    assert_eq!(lun.output(0, 2), [0x5a, 0x5a]);
    assert_eq!(lun.output(8_639, 3), [0x5a, 0xff, 0xff], "beyond the register there is nothing");
}

#[test]
fn planes_of_a_multi_plane_read_sense_together() {
    let mut lun = lun();
    for block in [0, 3] {
        put(&mut lun, row(block, 0), 0x10 + block as u8);
    }
    let start = lun.pipeline().ready_at;
    let queued = lun.read(row(0, 0), ReadKind::Queue, start).expect("legal");
    assert_eq!(queued.ready_at, start + PLANE);
    lun.set_command(7);
    let busy = lun.read(row(3, 0), ReadKind::Plain, queued.ready_at).expect("legal");
    assert_eq!(busy.ready_at, start + PLANE + READ);
    lun.settle(busy.ready_at);
    for (plane, byte) in [(0, 0x10), (1, 0x13)] {
        lun.select_output(plane);
        assert_eq!(lun.output(100, 1), [byte]);
    }
    let last = lun.spans().pop().expect("the array worked");
    assert_eq!((last.planes, last.stage, last.command), (0b11, Stage::Ton, 7));
    assert_eq!((last.begin, last.length), (start + PLANE, READ));
}

/// Transfers take 20 us. RDY rises after the first page at tR. Page n leaves while the array senses page n +
/// 1, so each further page takes tR + turn.
#[test]
fn a_sequential_cache_read_hides_the_transfer() {
    let mut lun = lun();
    for page in 0..4 {
        put(&mut lun, row(2, page), 0x20 + page as u8);
    }
    let start = lun.pipeline().ready_at;
    let transfer = Duration::from_us(20);
    let mut busy = lun.read(row(2, 0), ReadKind::Plain, start).expect("legal");
    for page in 0..3 {
        busy = lun
            .cache_read_next(busy.ready_at + if page == 0 { Duration::ZERO } else { transfer })
            .expect("legal");
        let ready = start + READ + TURN + (READ + TURN) * page;
        assert_eq!(busy, Busy { ready_at: ready, array_ready_at: ready + READ }, "page {page}");
        lun.settle(busy.ready_at);
        assert_eq!(lun.output(0, 1), [0x20 + page as u8]);
        lun.settle(busy.array_ready_at);
        assert_eq!(lun.output(0, 1), [0x20 + page as u8], "the array leaves the cache register alone");
    }
    let end = lun.cache_read_end(busy.ready_at + transfer).expect("legal");
    assert_eq!(end.ready_at, start + READ + (TURN + READ) * 3 + TURN);
    assert_eq!(end.ready_at, end.array_ready_at);
    lun.settle(end.ready_at);
    assert_eq!(lun.output(0, 1), [0x23]);
}

#[test]
fn a_random_cache_read_hands_over_the_page_before() {
    let mut lun = lun();
    put(&mut lun, row(2, 0), 0xa0);
    put(&mut lun, row(4, 0), 0xb0);
    let start = lun.pipeline().ready_at;
    let first = lun.read(row(2, 0), ReadKind::Plain, start).expect("legal");
    let second = lun.read(row(4, 0), ReadKind::CacheRandom, first.ready_at).expect("legal");
    assert_eq!(second.ready_at, start + READ + TURN);
    lun.settle(second.ready_at);
    assert_eq!(lun.output(0, 1), [0xa0]);
    let end = lun.cache_read_end(second.ready_at).expect("legal");
    assert_eq!(end.ready_at, start + (READ + TURN) * 2);
    lun.settle(end.ready_at);
    assert_eq!(lun.output(0, 1), [0xb0]);
}

#[test]
fn a_random_cache_read_in_another_plane_hands_over_what_the_first_one_holds() {
    let mut lun = lun();
    for block in 0..3 {
        put(&mut lun, row(block, 0), 0xa0 + block as u8);
    }
    let start = lun.pipeline().ready_at;
    let first = lun.read(row(0, 0), ReadKind::Plain, start).expect("legal");
    let second = lun.read(row(2, 0), ReadKind::CacheRandom, first.ready_at).expect("legal");
    let third = lun.read(row(1, 0), ReadKind::CacheRandom, second.ready_at).expect("legal");
    lun.settle(third.ready_at);
    lun.select_output(0);
    assert_eq!(lun.output(0, 1), [0xa2]);
    let end = lun.cache_read_end(third.ready_at).expect("legal");
    lun.settle(end.ready_at);
    lun.select_output(1);
    assert_eq!(lun.output(0, 1), [0xa1]);
}

#[test]
fn a_multi_plane_cache_read_goes_on_in_every_plane() {
    let mut lun = lun();
    for page in 0..2 {
        for block in 0..2 {
            put(&mut lun, row(block, page), (page * 16 + block) as u8);
        }
    }
    let start = lun.pipeline().ready_at;
    let queued = lun.read(row(0, 0), ReadKind::Queue, start).expect("legal");
    let first = lun.read(row(1, 0), ReadKind::Plain, queued.ready_at).expect("legal");
    let next = lun.cache_read_next(first.ready_at).expect("legal");
    let end = lun.cache_read_end(next.ready_at).expect("legal");
    assert_eq!(end.ready_at, start + PLANE + (READ + TURN) * 2);
    lun.settle(end.ready_at);
    for plane in 0..2 {
        lun.select_output(plane);
        assert_eq!(lun.output(0, 1), [16 + plane as u8]);
    }
}

#[test]
fn a_cache_read_needs_a_page_sensed_before_it_and_ends_once() {
    let mut lun = lun();
    assert_eq!(lun.cache_read_next(at(0)), Err(Limit::NothingSensed));
    let first = lun.read(row(0, 6), ReadKind::Plain, at(0)).expect("legal");
    let next = lun.cache_read_next(first.ready_at).expect("legal");
    let refused = lun.cache_read_next(next.array_ready_at);
    assert_eq!(refused, Err(Limit::PastBlock { row: row(0, 7) }));
    let end = lun.cache_read_end(next.array_ready_at).expect("legal");
    assert_eq!(lun.cache_read_end(end.ready_at), Err(Limit::NothingSensed));
}

#[test]
fn other_operations_wait_for_the_end_of_a_cache_read() {
    let mut lun = lun();
    let first = lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
    let next = lun.cache_read_next(first.ready_at).expect("legal");
    let busy = Err(Limit::Busy { until: next.array_ready_at });
    assert_eq!(lun.read(row(1, 0), ReadKind::Plain, next.ready_at), busy);
    assert_eq!(lun.erase(row(1, 0), false, next.ready_at), busy);
    assert_eq!(lun.program(row(1, 0), ProgramKind::Start, false, next.ready_at), busy);
    let early = Instant::from_ps(next.ready_at.ps() - 1);
    assert_eq!(lun.cache_read_next(early), Err(Limit::Busy { until: next.ready_at }));
    assert!(lun.cache_read_next(next.ready_at).is_ok());
}

#[test]
fn planes_sense_on_their_own_where_the_part_says_so() {
    let part = part(|file| file.geometry.independent_reads = true);
    let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
    put(&mut lun, row(0, 0), 0x44);
    put(&mut lun, row(1, 0), 0x45);
    put(&mut lun, row(1, 1), 0x46);
    let start = lun.pipeline().ready_at;
    let first = lun.read(row(0, 0), ReadKind::Independent, start).expect("legal");
    assert_eq!(first, Busy { ready_at: start + PLANE, array_ready_at: start + READ });
    let later = start + Duration::from_us(30);
    let second = lun.read(row(1, 1), ReadKind::Independent, later).expect("another plane and another page");
    assert_eq!(second.array_ready_at, later + READ);
    let again = lun.read(row(0, 1), ReadKind::Independent, later + PLANE);
    assert_eq!(again, Err(Limit::Busy { until: start + READ }));
    let ready = |lun: &mut Lun, block, now| lun.status_of(row(block, 0), now).ready;
    assert!(ready(&mut lun, 0, start + READ) && !ready(&mut lun, 1, start + READ));
    lun.select_output(0);
    assert_eq!(lun.output(0, 1), [0x44]);
    assert!(ready(&mut lun, 1, later + READ));
    lun.select_output(1);
    assert_eq!(lun.output(0, 1), [0x46]);
}

#[test]
fn a_part_without_a_cache_register_has_no_cache_operations() {
    let part = part(|file| file.geometry.registers = 1);
    let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
    let first = lun.read(row(0, 0), ReadKind::Plain, at(0)).expect("legal");
    let read = Limit::Unsupported { what: "a cache read" };
    assert_eq!(lun.cache_read_next(first.ready_at), Err(read));
    assert_eq!(lun.cache_read_end(first.ready_at), Err(read));
    assert_eq!(lun.read(row(0, 1), ReadKind::CacheRandom, first.ready_at), Err(read));
    let program = Limit::Unsupported { what: "a cache program" };
    assert_eq!(lun.program(row(0, 0), ProgramKind::Cache, false, first.ready_at), Err(program));
    let independent = Limit::Unsupported { what: "an independent read" };
    assert_eq!(lun.read(row(0, 1), ReadKind::Independent, first.ready_at), Err(independent));
}
