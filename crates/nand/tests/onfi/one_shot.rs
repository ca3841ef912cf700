//! One-shot programs, independent plane reads, and cell modes, on the pins.

use wordline_kernel::Duration;
use wordline_nand::DieId;
use wordline_nand::onfi::{Bus, BusOptions, FailureKind, Limit, Status, Wiring};

use super::host::{part_file, played, refusal, status};

/// A TLC part: one program writes the three pages of a word line.
fn bus() -> Bus {
    let mut file = part_file();
    (file.geometry.bits_per_cell, file.geometry.one_shot) = (3, true);
    file.geometry.pages_per_block = 6;
    file.geometry.independent_reads = true;
    file.timing.reprogram = Some(Duration::from_us(270));
    let part = file.check().expect("the part is sound");
    Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound")
}

#[test]
fn a_word_line_is_loaded_page_by_page_and_programmed_at_once() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c1a rb c80 a00.00.01.00.00 i02 c1a rb");
    played(&mut bus, "c80 a00.00.02.00.00 i03 c10");
    let begin = bus.now() + bus.timing().t_wb;
    assert_eq!(bus.wait_ready() - begin, Duration::from_us(200));
    assert_eq!(status(&mut bus), Status::IDLE);
    for page in 0..3 {
        assert_eq!(played(&mut bus, &format!("c00 a00.00.0{page}.00.00 c30 rb o1")), [page + 1]);
    }
}

#[test]
fn a_word_line_of_two_planes_is_one_program() {
    let mut bus = bus();
    for page in 0..3 {
        played(&mut bus, &format!("c80 a00.00.0{page}.00.00 i0{page} c11 rb"));
        let confirm = if page < 2 { "c1a rb" } else { "c10 rb" };
        played(&mut bus, &format!("c80 a00.00.0{}.00.00 i1{page} {confirm}", ["8", "9", "a"][page]));
    }
    assert_eq!(status(&mut bus), Status::IDLE);
    assert_eq!(played(&mut bus, "c00 a00.00.02.00.00 c30 rb o1 c00 a00.00.0a.00.00 c30 rb o1"), [2, 0x12]);
}

#[test]
fn a_word_line_with_a_page_missing_is_refused() {
    let refused = refusal(&mut bus(), "c80 a00.00.00.00.00 i01 c1a rb c80 a00.00.01.00.00 i02 c10");
    assert!(matches!(refused, FailureKind::Limit(Limit::IncompleteWordLine { loaded: 2, wanted: 3, .. })));
}

#[test]
fn planes_sense_alone_where_the_part_can() {
    let mut bus = bus();
    played(&mut bus, "c00 a00.00.00.00.00 c3e rb c00 a00.00.08.00.00 c3e rb");
    let sensed = bus.lun(DieId(0)).pipeline().array_ready_at;
    assert!(bus.now() < sensed, "both planes sense");
    assert_eq!(played(&mut bus, "c78 a00.00.00 o1"), [0x80], "this plane is busy");
    played(&mut bus, "arb");
    assert_eq!(played(&mut bus, "c78 a00.00.00 o1"), [0xe0]);
    assert_eq!(played(&mut bus, "c06 a00.00.00.00.00 ce0 o1 c06 a00.00.08.00.00 ce0 o1"), [0xff, 0xff]);
}

#[test]
fn a_word_line_in_two_bit_mode_is_programmed_again() {
    let mut bus = bus();
    played(&mut bus, "ca3 c80 a00.00.00.00.00 if0 c1a rb ca3 c80 a00.00.01.00.00 i0f c10 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    played(&mut bus, "ca4 c80 a00.00.00.00.00 i33 c10");
    let begin = bus.now() + bus.timing().t_wb;
    assert_eq!(bus.wait_ready() - begin, Duration::from_us(270));
    assert_eq!(
        played(&mut bus, "ca3 c00 a00.00.00.00.00 c30 rb o1 ca3 c00 a00.00.01.00.00 c30 rb o1"),
        [0x33, 0x0f]
    );
}

#[test]
fn word_lines_of_two_planes_are_programmed_again_at_once() {
    let mut bus = bus();
    for page in 0..2 {
        played(&mut bus, &format!("ca3 c80 a00.00.0{page}.00.00 i0{page} c11 rb"));
        let confirm = if page < 1 { "c11 rb" } else { "c10 rb" };
        played(&mut bus, &format!("ca3 c80 a00.00.0{}.00.00 i1{page} {confirm}", ["8", "9"][page]));
    }
    played(&mut bus, "ca4 c80 a00.00.01.00.00 i33 c11 rb ca4 c80 a00.00.09.00.00 i44 c10");
    let begin = bus.now() + bus.timing().t_wb;
    assert_eq!(bus.wait_ready() - begin, Duration::from_us(270));
    assert_eq!(status(&mut bus), Status::IDLE);
    for (page, held) in [("00", 0), ("01", 0x33), ("08", 0x10), ("09", 0x44)] {
        assert_eq!(
            played(&mut bus, &format!("ca3 c00 a00.00.{page}.00.00 c30 rb o1")),
            [held],
            "page {page}"
        );
    }
    let mixed = "ca4 c80 a00.00.00.00.00 i33 c11 rb ca3 c80 a00.00.08.00.00 i44 c10";
    assert!(matches!(refusal(&mut bus, mixed), FailureKind::Limit(Limit::OtherQueued { .. })));
}
