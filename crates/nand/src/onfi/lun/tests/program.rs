use super::*;
use crate::PlaneBlock;
use crate::latency::{Latency, LatencyModel};
use crate::time_range::TimeRange;

#[test]
fn a_program_takes_its_time_and_keeps_what_the_register_held() {
    let mut lun = lun();
    lun.begin_load(row(5, 0), true);
    lun.load(8_190, &[1, 2, 3, 4]);
    let busy = lun.program(row(5, 0), ProgramKind::Start, false, at(10)).expect("legal");
    assert_eq!(busy, Busy { ready_at: at(10) + PROGRAM, array_ready_at: at(10) + PROGRAM });
    let read = lun.read(row(5, 0), ReadKind::Plain, busy.ready_at).expect("legal");
    lun.settle(read.ready_at);
    assert_eq!(lun.output(8_189, 6), [0xff, 1, 2, 3, 4, 0xff]);
    let [program, _] = lun.spans()[..] else { panic!("a program and a read") };
    assert_eq!((program.begin, program.length, program.stage), (at(10), PROGRAM, Stage::Tin));
    assert_eq!(program.planes, 0b10);
}

#[test]
fn partial_programs_add_zeros_to_what_is_there() {
    let part = part(|file| file.geometry.bits_per_cell = 1);
    let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
    put(&mut lun, row(0, 0), 0xf1);
    put(&mut lun, row(0, 0), 0x3f);
    assert_eq!(get(&mut lun, row(0, 0)), 0x31);
}

#[test]
fn data_can_be_loaded_in_pieces_and_a_new_address_clears_the_register() {
    let mut lun = lun();
    lun.begin_load(row(0, 0), true);
    lun.load(0, &[1]);
    lun.load(4, &[5]);
    assert_eq!(lun.output(0, 6), [1, 0xff, 0xff, 0xff, 5, 0xff]);
    lun.begin_load(row(2, 0), false);
    assert_eq!(lun.output(0, 1), [1], "a change of row keeps the register");
    lun.begin_load(row(1, 0), true);
    assert_eq!(lun.output(0, 1), [0xff], "the registers of all planes are cleared");
    lun.begin_load(row(0, 0), true);
    lun.load(8_639, &[7, 8]);
    assert_eq!(lun.output(8_639, 1), [7], "what goes beyond the register is lost");
}

/// The n-th cache program begins when the previous one has ended and its page has moved; RDY rises then.
/// Loading 100 us of data is thus hidden behind 750 us of programming. The last, plain program needs no RDY
/// in between.
#[test]
fn cache_programs_follow_each_other_with_a_turn_between() {
    let mut lun = lun();
    let load = Duration::from_us(100);
    let mut now = at(0) + load;
    for page in 0..3 {
        let busy = program(&mut lun, row(0, page), page as u8, ProgramKind::Cache, now).expect("legal");
        let begin = at(0) + load + TURN + (PROGRAM + TURN) * u64::from(page);
        assert_eq!(busy, Busy { ready_at: begin, array_ready_at: begin + PROGRAM }, "page {page}");
        now = busy.ready_at + load;
    }
    let last = program(&mut lun, row(0, 3), 3, ProgramKind::Start, now).expect("legal");
    let end = at(0) + load + (TURN + PROGRAM) * 3 + PROGRAM;
    assert_eq!(last, Busy { ready_at: end, array_ready_at: end });
    for page in 0..4 {
        assert_eq!(get(&mut lun, row(0, page)), page as u8);
    }
}

#[test]
fn planes_of_a_multi_plane_program_work_together() {
    let mut lun = lun();
    let queued = program(&mut lun, row(4, 0), 0x44, ProgramKind::Queue, at(0)).expect("legal");
    assert_eq!(queued.ready_at, at(0) + PLANE);
    let busy = program(&mut lun, row(7, 0), 0x77, ProgramKind::Start, queued.ready_at).expect("legal");
    assert_eq!(busy.ready_at, at(0) + PLANE + PROGRAM);
    assert_eq!([get(&mut lun, row(4, 0)), get(&mut lun, row(7, 0))], [0x44, 0x77]);
    assert_eq!(lun.spans()[0].planes, 0b11);
}

#[test]
fn a_multi_plane_cache_program_loads_all_planes_while_the_array_works() {
    let mut lun = lun();
    let mut now = at(0);
    for page in 0..2 {
        now = program(&mut lun, row(0, page), page as u8, ProgramKind::Queue, now).expect("legal").ready_at;
        let busy =
            program(&mut lun, row(1, page), 0x10 + page as u8, ProgramKind::Cache, now).expect("legal");
        let begin = at(0) + PLANE + TURN + (PROGRAM + TURN) * u64::from(page);
        assert_eq!(busy, Busy { ready_at: begin, array_ready_at: begin + PROGRAM });
        now = busy.ready_at;
    }
    for page in 0..2 {
        assert_eq!(get(&mut lun, row(0, page)), page as u8);
        assert_eq!(get(&mut lun, row(1, page)), 0x10 + page as u8);
    }
}

#[test]
fn a_page_is_not_named_twice_for_one_program() {
    let mut lun = lun();
    lun.begin_load(row(0, 0), true);
    let queued = lun.program(row(0, 0), ProgramKind::Queue, false, at(0)).expect("legal");
    let again = lun.program(row(0, 0), ProgramKind::Start, false, queued.ready_at);
    assert_eq!(again, Err(Limit::PlaneRule { first: row(0, 0), second: row(0, 0) }));
}

#[test]
fn a_copyback_moves_a_page_within_its_plane_with_new_data_in_it() {
    let mut lun = lun();
    let start = put(&mut lun, row(2, 0), 0x6c);
    let read = lun.read(row(2, 0), ReadKind::Copyback, start).expect("legal");
    assert_eq!(read.ready_at, start + READ);
    lun.settle(read.ready_at);
    assert_eq!(lun.output(0, 1), [0x6c], "the page can be read out on its way");
    lun.begin_load(row(4, 0), false);
    lun.load(3, &[9]);
    let busy = lun.program(row(4, 0), ProgramKind::Start, true, read.ready_at).expect("legal");
    assert_eq!(busy.ready_at, start + READ + PROGRAM);
    lun.read(row(4, 0), ReadKind::Plain, busy.ready_at).expect("legal");
    lun.settle(busy.ready_at + READ);
    assert_eq!(lun.output(2, 3), [0x6c, 9, 0x6c]);
}

#[test]
fn a_multi_plane_copyback_moves_a_page_in_every_plane() {
    let mut lun = lun();
    for block in 0..2 {
        put(&mut lun, row(block, 0), 0x50 + block as u8);
    }
    let start = lun.pipeline().ready_at;
    let queued = lun.read(row(0, 0), ReadKind::Queue, start).expect("legal");
    let read = lun.read(row(1, 0), ReadKind::Copyback, queued.ready_at).expect("legal");
    lun.begin_load(row(4, 0), false);
    let queued = lun.program(row(4, 0), ProgramKind::Queue, true, read.ready_at).expect("legal");
    lun.begin_load(row(5, 0), false);
    let busy = lun.program(row(5, 0), ProgramKind::Start, true, queued.ready_at).expect("legal");
    assert_eq!(busy.ready_at, start + (PLANE * 2) + READ + PROGRAM);
    assert_eq!([get(&mut lun, row(4, 0)), get(&mut lun, row(5, 0))], [0x50, 0x51]);
}

#[test]
fn an_erase_clears_its_blocks_and_counts() {
    let mut lun = lun();
    for block in 0..3 {
        put(&mut lun, row(block, 0), 0);
    }
    let start = lun.pipeline().ready_at;
    let queued = lun.erase(row(0, 5), true, start).expect("the page does not matter");
    assert_eq!(queued.ready_at, start + PLANE);
    let busy = lun.erase(row(1, 2), false, queued.ready_at).expect("legal");
    assert_eq!(busy.ready_at, start + PLANE + ERASE);
    assert_eq!([0, 1, 2].map(|block| get(&mut lun, row(block, 0))), [0xff, 0xff, 0]);
    assert_eq!([0, 1, 2].map(|block| lun.contents().erases(block)), [1, 1, 0]);
    put(&mut lun, row(0, 0), 0x12);
    assert_eq!(get(&mut lun, row(0, 0)), 0x12, "an erased block is programmed from its first page again");
    let spans = lun.spans();
    let span = spans.iter().find(|span| span.stage == Stage::Ber).expect("a span of the erase");
    assert_eq!((span.planes, span.length), (0b11, ERASE));
}

#[test]
fn array_times_are_those_of_the_latency_model_and_the_slowest_plane() {
    let us = Duration::from_us;
    let part = part(|file| file.timing.program = vec![TimeRange { least: us(250), most: us(2_200) }]);
    for latency in [LatencyModel::VariationAware, LatencyModel::Worst] {
        let options = LunOptions { latency, seed: Seed(5), ..LunOptions::default() };
        let mut lun = Lun::new(&part, DieId(3), options);
        let model = Latency::new(&part, latency, Seed(5));
        let time = |page, block| model.program(page, [PlaneBlock { die: DieId(3), block }]);
        for page in 0..4 {
            let start = lun.pipeline().array_ready_at;
            let queued = program(&mut lun, row(0, page), 0, ProgramKind::Queue, start).expect("legal");
            let busy =
                program(&mut lun, row(5, page), 0, ProgramKind::Start, queued.ready_at).expect("legal");
            assert_eq!(busy.ready_at - queued.ready_at, time(page, 0).max(time(page, 5)));
        }
    }
}
