use super::*;

const PAGE: ProgramKind = ProgramKind::Page;
const START: ProgramKind = ProgramKind::Start;
const QUEUE: ProgramKind = ProgramKind::Queue;

fn strict() -> Lun {
    tlc(LunOptions::default())
}

#[test]
fn a_word_line_is_loaded_page_by_page_and_programmed_at_once() {
    let mut lun = strict();
    let mut now = at(0);
    for page in 0..2 {
        let busy = program(&mut lun, row(0, page), 1 + page as u8, PAGE, now).expect("legal");
        assert_eq!(busy.ready_at, now + PLANE);
        now = busy.ready_at;
    }
    assert_eq!(lun.contents().programs(row(0, 0)), 0, "nothing is programmed yet");
    let end = program(&mut lun, row(0, 2), 3, START, now).expect("legal");
    assert_eq!(end, Busy { ready_at: now + PROGRAM, array_ready_at: now + PROGRAM });
    assert_eq!([0, 1, 2].map(|page| get(&mut lun, row(0, page))), [1, 2, 3]);
    let programs = lun.spans().iter().filter(|span| span.stage == Stage::Tin).count();
    assert_eq!(programs, 1, "one program for three pages");
}

/// All pages of a word line in all planes: Centaur's IDP unit.
#[test]
fn one_program_writes_a_word_line_in_every_plane() {
    let mut lun = strict();
    let mut now = at(0);
    for page in 0..3 {
        for block in 0..2 {
            let kind = match (page, block) {
                (2, 1) => START,
                (_, 1) => PAGE,
                _ => QUEUE,
            };
            let byte = 0x10 * page as u8 + block as u8;
            now = program(&mut lun, row(block, page), byte, kind, now).expect("legal").ready_at;
        }
    }
    assert_eq!(now, at(0) + (PLANE * 5) + PROGRAM);
    for page in 0..3 {
        let held = [0, 1].map(|block| get(&mut lun, row(block, page)));
        assert_eq!(held, [0x10 * page as u8, 0x10 * page as u8 + 1]);
    }
    assert_eq!(lun.spans()[0].planes, 0b11);
}

/// While a word line is programmed from the write-back registers, one page fits into the cache register; its
/// transfer to a write-back register waits for the array.
#[test]
fn the_next_word_line_waits_for_the_write_back_registers() {
    let mut lun = strict();
    let mut now = at(0);
    for page in 0..2 {
        now = program(&mut lun, row(0, page), page as u8, PAGE, now).expect("legal").ready_at;
    }
    let first = program(&mut lun, row(0, 2), 2, ProgramKind::Cache, now).expect("legal");
    assert_eq!(first, Busy { ready_at: now + TURN, array_ready_at: now + TURN + PROGRAM });
    let page = program(&mut lun, row(0, 3), 3, PAGE, first.ready_at + Duration::from_us(20)).expect("legal");
    assert_eq!(page.ready_at, first.array_ready_at + PLANE);
    let page = program(&mut lun, row(0, 4), 4, PAGE, page.ready_at).expect("legal");
    let last = program(&mut lun, row(0, 5), 5, START, page.ready_at).expect("legal");
    assert_eq!(last.ready_at, now + TURN + PROGRAM + (PLANE * 2) + PROGRAM);
    for page in 0..6 {
        assert_eq!(get(&mut lun, row(0, page)), page as u8);
    }
}

#[test]
fn a_word_line_is_programmed_whole_and_alone() {
    for fatal in [true, false] {
        let mut lun = tlc(LunOptions { fatal, ..LunOptions::default() });
        let now = program(&mut lun, row(0, 0), 0, PAGE, at(0)).expect("legal").ready_at;
        let other = program(&mut lun, row(0, 4), 0, PAGE, now);
        let limit = Limit::OtherWordLine { row: row(0, 4), loaded: row(0, 0) };
        assert_eq!(other.err(), fatal.then_some(limit));
        let mut lun = tlc(LunOptions { fatal, ..LunOptions::default() });
        let now = program(&mut lun, row(0, 0), 9, PAGE, at(0)).expect("legal").ready_at;
        let short = program(&mut lun, row(0, 1), 9, START, now);
        let limit = Limit::IncompleteWordLine { row: row(0, 0), loaded: 2, wanted: 3 };
        assert_eq!(short.err(), fatal.then_some(limit));
        if fatal {
            let now =
                program(&mut lun, row(0, 1), 8, PAGE, now).expect("the first page waits still").ready_at;
            program(&mut lun, row(0, 2), 7, START, now).expect("legal");
            assert_eq!([0, 1, 2].map(|page| get(&mut lun, row(0, page))), [9, 8, 7]);
        }
    }
}

#[test]
fn word_lines_of_other_planes_have_the_same_number() {
    let mut lun = strict();
    let now = program(&mut lun, row(0, 3), 0, QUEUE, at(0)).expect("legal").ready_at;
    let wrong = program(&mut lun, row(1, 0), 0, PAGE, now);
    assert_eq!(wrong, Err(Limit::PlaneRule { first: row(0, 3), second: row(1, 0) }));
}

#[test]
fn pages_copied_back_and_loaded_share_a_word_line() {
    let mut lun = strict();
    lun.set_mode(CellMode::Slc).expect("the part has it");
    put(&mut lun, row(2, 0), 0x2d);
    lun.settle(at(10_000));
    let read = lun.read(row(2, 0), ReadKind::Copyback, at(10_000)).expect("legal").ready_at;
    lun.settle(read);
    lun.set_mode(CellMode::Native).expect("the part has it");
    lun.begin_load(row(0, 0), false);
    let mut now = lun.program(row(0, 0), PAGE, true, read).expect("legal").ready_at;
    now = program(&mut lun, row(0, 1), 1, PAGE, now).expect("legal").ready_at;
    program(&mut lun, row(0, 2), 2, START, now).expect("legal");
    assert_eq!([0, 1, 2].map(|page| get(&mut lun, row(0, page))), [0x2d, 1, 2]);
}

#[test]
fn slc_mode_has_its_own_times_and_one_page_a_word_line() {
    let mut lun = strict();
    lun.set_mode(CellMode::Slc).expect("the part has it");
    let wrote = program(&mut lun, row(0, 2), 0x3c, START, at(0)).expect("the third and last word line");
    assert_eq!(wrote.ready_at, at(0) + SLC.program);
    let read = lun.read(row(0, 2), ReadKind::Plain, wrote.ready_at).expect("legal");
    assert_eq!(read.ready_at, wrote.ready_at + SLC.read);
    lun.settle(read.ready_at);
    assert_eq!(lun.output(0, 1), [0x3c]);
    let erased = lun.erase(row(2, 0), false, read.ready_at).expect("legal");
    assert_eq!(erased.ready_at, read.ready_at + SLC.erase);
    let read = erased;
    let beyond = lun.program(row(0, 3), START, false, read.ready_at);
    assert_eq!(beyond, Err(Limit::Hole { row: row(0, 3), pages: 3 }));
}

#[test]
fn modes_mix_only_over_an_erase() {
    for fatal in [true, false] {
        let mut lun = tlc(LunOptions { fatal, ..LunOptions::default() });
        lun.set_mode(CellMode::Slc).expect("the part has it");
        put(&mut lun, row(0, 0), 1);
        lun.set_mode(CellMode::Native).expect("the part has it");
        let mixed = Limit::MixedModes { row: row(0, 1), block: CellMode::Slc };
        let now = lun.pipeline().ready_at;
        assert_eq!(lun.read(row(0, 1), ReadKind::Plain, now).err(), fatal.then_some(mixed));
        let now = lun.pipeline().ready_at;
        assert_eq!(program(&mut lun, row(0, 1), 2, PAGE, now).err(), fatal.then_some(mixed));
        assert_eq!(lun.broken().get("mixed-modes"), Some(&2));
        lun.reset(now);
        let now = lun.pipeline().array_ready_at;
        let end = lun.erase(row(0, 0), false, now).expect("legal").ready_at;
        program(&mut lun, row(0, 0), 3, PAGE, end).expect("the erase lets the block change its mode");
    }
}

/// A TLC word line in MLC mode: its limits and contents through two reprograms (ReSSD, section 3.2).
#[test]
fn a_word_line_is_reprogrammed_twice() {
    let mut lun = strict();
    lun.set_mode(CellMode::Mlc).expect("the part is one-shot TLC that can be reprogrammed");
    let now = program(&mut lun, row(0, 0), 0x0a, PAGE, at(0)).expect("legal").ready_at;
    let now = program(&mut lun, row(0, 1), 0x0b, START, now).expect("legal").ready_at;
    let first = program(&mut lun, row(0, 0), 0xf0, ProgramKind::Reprogram, now).expect("legal");
    assert_eq!(first.ready_at, now + REPROGRAM);
    assert_eq!([get(&mut lun, row(0, 0)), get(&mut lun, row(0, 1))], [0xf0, 0x0b], "bits go up again");
    let now = lun.pipeline().ready_at;
    program(&mut lun, row(0, 1), 0xf1, ProgramKind::Reprogram, now).expect("the second");
    assert_eq!([get(&mut lun, row(0, 0)), get(&mut lun, row(0, 1))], [0xf0, 0xf1]);
    let now = lun.pipeline().ready_at;
    let third = program(&mut lun, row(0, 0), 0, ProgramKind::Reprogram, now);
    assert_eq!(third, Err(Limit::TooManyReprograms { row: row(0, 0), limit: 2 }));
    assert_eq!(get(&mut lun, row(0, 0)), 0xf0);
}

#[test]
fn only_a_programmed_word_line_of_an_open_super_layer_is_reprogrammed() {
    let part = part(|file| {
        file.geometry.bits_per_cell = 3;
        file.geometry.one_shot = true;
        file.geometry.pages_per_block = 9;
        file.geometry.layers = 3;
        file.timing.reprogram = Some(REPROGRAM);
    });
    let mut lun = Lun::new(&part, DieId(0), LunOptions::default());
    lun.set_mode(CellMode::Mlc).expect("the part is one-shot TLC that can be reprogrammed");
    let reprogram = |lun: &mut Lun, page| {
        let now = lun.pipeline().array_ready_at;
        program(lun, row(0, page), 0, ProgramKind::Reprogram, now)
    };
    assert_eq!(reprogram(&mut lun, 0), Err(Limit::NothingToReprogram { row: row(0, 0) }));
    for page in [0, 2] {
        let now = lun.pipeline().array_ready_at;
        let now = program(&mut lun, row(0, page), 1, PAGE, now).expect("legal").ready_at;
        program(&mut lun, row(0, page + 1), 1, START, now).expect("legal");
    }
    reprogram(&mut lun, 1).expect("two layers make a super layer");
    let now = lun.pipeline().array_ready_at;
    let now = program(&mut lun, row(0, 4), 1, PAGE, now).expect("legal").ready_at;
    program(&mut lun, row(0, 5), 1, START, now).expect("legal");
    assert_eq!(reprogram(&mut lun, 2), Err(Limit::SuperLayerClosed { row: row(0, 2), last: 5 }));
    reprogram(&mut lun, 5).expect("the open super layer");
}

#[test]
fn a_part_has_the_modes_that_its_file_gives_times_for() {
    let mut mlc = lun();
    for mode in [CellMode::Slc, CellMode::Mlc] {
        assert_eq!(mlc.set_mode(mode), Err(Limit::Unsupported { what: mode.name() }));
    }
    assert_eq!(mlc.mode(), CellMode::Native);
    let part = part(|file| file.timing.reprogram = Some(REPROGRAM));
    let mut mlc = Lun::new(&part, DieId(0), LunOptions::default());
    assert!(mlc.set_mode(CellMode::Mlc).is_err(), "two bits are all that MLC has");
    let mut tlc = strict();
    for mode in [CellMode::Slc, CellMode::Mlc, CellMode::Native] {
        assert_eq!(tlc.set_mode(mode), Ok(()));
    }
}
