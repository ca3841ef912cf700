//! Legal sequences: their effects on cells, registers and status.

use wordline_kernel::Duration;
use wordline_nand::Interface;
use wordline_nand::interface::BusFile;
use wordline_nand::onfi::parameter_page::ParameterPage;
use wordline_nand::onfi::{
    Bus, BusOptions, FailureKind, Fault, InjectedFailure, Limit, LunOptions, Row, Status, Wiring,
};

use super::host::{bus, bus_with, fault, played, status};

#[test]
fn a_page_reads_back_what_was_programmed() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.0a.00.00 i11.22.33 c10");
    assert!(!bus.ready());
    assert_eq!(status(&mut bus), Status::BUSY);
    played(&mut bus, "rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    assert_eq!(played(&mut bus, "c00 a01.00.0a.00.00 c30 rb o3"), [0x22, 0x33, 0xff]);
    assert_eq!(status(&mut bus), Status::IDLE);
}

#[test]
fn an_erased_block_reads_as_ones() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i00 c10 rb c60 a00.00.00 cd0 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1"), [0xff]);
}

#[test]
fn the_status_can_be_polled_and_left_again() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i5a.5b c10 rb c00 a00.00.00.00.00 c30");
    let polled = played(&mut bus, "c70 o2");
    assert_eq!(polled, [0x80, 0x80], "the output follows the status");
    assert_eq!(played(&mut bus, "rb o1 c00 o2"), [0xe0, 0x5a, 0x5b]);
}

fn programmed(bus: &mut Bus) {
    for page in 0..4 {
        played(bus, &format!("c80 a00.00.0{page}.00.00 i1{page}.2{page} c10 rb"));
    }
}

#[test]
fn a_cache_read_gives_a_page_while_the_next_is_sensed() {
    let mut bus = bus();
    programmed(&mut bus);
    played(&mut bus, "c00 a00.00.00.00.00 c30 rb c31 rb");
    assert_eq!(status(&mut bus), Status(0xc0), "the cache register is free, the array senses");
    assert_eq!(played(&mut bus, "c00 o2 c31 rb o2"), [0x10, 0x20, 0x11, 0x21]);
    assert_eq!(played(&mut bus, "c3f rb o2"), [0x12, 0x22]);
    assert_eq!(status(&mut bus), Status::IDLE);
}

#[test]
fn a_random_cache_read_goes_anywhere() {
    let mut bus = bus();
    programmed(&mut bus);
    assert_eq!(played(&mut bus, "c00 a00.00.03.00.00 c30 rb c00 a00.00.01.00.00 c31 rb o2"), [0x13, 0x23]);
    assert_eq!(played(&mut bus, "c3f rb o2"), [0x11, 0x21]);
}

#[test]
fn columns_can_be_changed_both_ways() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01.02 c85 a00.02 i03 c85 a0f.02 i04 c10 rb");
    assert_eq!(
        played(&mut bus, "c00 a00.00.00.00.00 c30 rb o3 c05 a00.02 ce0 o1 c05 a0f.02 ce0 o1"),
        [1, 2, 0xff, 3, 4]
    );
}

#[test]
fn the_row_can_be_changed_before_the_program() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c85 a01.00.08.00.00 i02 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o2"), [0xff, 0xff]);
    assert_eq!(played(&mut bus, "c00 a01.00.08.00.00 c30 rb o1"), [2]);
}

#[test]
fn the_target_describes_itself() {
    let mut bus = bus();
    assert_eq!(played(&mut bus, "c90 a20 o4"), b"ONFI");
    let bytes = played(&mut bus, "cec a00 rb o768");
    let page = ParameterPage::recover(&bytes).expect("a copy is whole");
    assert_eq!(page.page.planes(), 2);
    assert_eq!(played(&mut bus, "c05 a00.01 ce0 o4"), b"ONFI", "the second copy");
    let unique = played(&mut bus, "ced a00 rb o32");
    assert!((0..16).all(|n| unique[n] ^ unique[n + 16] == 0xff));
}

#[test]
fn a_feature_is_read_as_it_was_set() {
    let mut bus = bus();
    played(&mut bus, "cef a10 i02.00.00.00 rb");
    assert_eq!(played(&mut bus, "cee a10 rb o4"), [2, 0, 0, 0]);
    played(&mut bus, "cd5 a00.10 i01.00.00.00 rb");
    assert_eq!(played(&mut bus, "cd4 a00.10 rb o4"), [1, 0, 0, 0]);
}

#[test]
fn a_slower_timing_mode_makes_slower_cycles() {
    let mut bus = bus();
    played(&mut bus, "cef a01 i00.00.00.00 rb");
    assert_eq!(bus.timing().t_wc, Duration::from_ns(100));
    played(&mut bus, "cff rb");
    assert_eq!(bus.timing().t_wc, Duration::from_ns(25), "FFh goes back to what the host had set up");
}

#[test]
fn planes_work_together() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c11 rb c80 a00.00.08.00.00 i02 c10 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    played(&mut bus, "c00 a00.00.00.00.00 c32 rb c00 a00.00.08.00.00 c30 rb");
    assert_eq!(played(&mut bus, "c06 a00.00.00.00.00 ce0 o1 c06 a00.00.08.00.00 ce0 o1"), [1, 2]);
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c05 a00.00 ce0 o1"), [1], "the other spelling of 06h");
    played(&mut bus, "c60 a00.00.00 cd1 rb c60 a08.00.00 cd0 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1 c00 a00.00.08.00.00 c30 rb o1"), [0xff, 0xff]);
}

#[test]
fn pages_are_programmed_behind_the_cache_register() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c15 rb");
    assert_eq!(status(&mut bus), Status(0xc0));
    played(&mut bus, "c80 a00.00.01.00.00 i02 c15 rb c80 a00.00.02.00.00 i03 c10 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    for page in 0..3 {
        let read = format!("c00 a00.00.0{page}.00.00 c30 rb o1");
        assert_eq!(played(&mut bus, &read), [page + 1]);
    }
    played(&mut bus, "c80 a00.00.03.00.00 i01 c11 rb c80 a00.00.0b.00.00 i02 c15 rb");
    assert_eq!(status(&mut bus), Status(0xc0), "both planes");
    played(&mut bus, "arb");
    assert_eq!(status(&mut bus), Status::IDLE);
}

#[test]
fn a_page_is_copied_within_its_plane() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01.02.03 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c35 rb o1"), [1]);
    played(&mut bus, "c85 a00.00.10.00.00 c85 a01.00 i09 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.10.00.00 c30 rb o3"), [1, 9, 3]);
}

#[test]
fn pages_of_several_planes_are_copied_together() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb c80 a00.00.08.00.00 i02 c10 rb");
    played(&mut bus, "c00 a00.00.00.00.00 c32 rb c00 a00.00.08.00.00 c35 rb");
    played(&mut bus, "c85 a00.00.10.00.00 c11 rb c85 a00.00.18.00.00 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.10.00.00 c30 rb o1 c00 a00.00.18.00.00 c30 rb o1"), [1, 2]);
}

#[test]
fn spellings_from_before_onfi_are_taken_when_asked_for() {
    let mut bus = bus_with(Wiring::default(), BusOptions { compatible: true, ..BusOptions::default() });
    played(&mut bus, "c80 a00.00.00.00.00 i01 c11 rb c81 a00.00.08.00.00 i02 c10 rb");
    played(&mut bus, "c00 a00.00.00.00.00 c32 rb c00 a00.00.08.00.00 c35 rb");
    played(&mut bus, "c85 a00.00.10.00.00 c11 rb c81 a00.00.18.00.00 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.10.00.00 c30 rb o1 c00 a00.00.18.00.00 c30 rb o1"), [1, 2]);
    played(&mut bus, "c60 a10.00.00 c60 a18.00.00 cd0 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.10.00.00 c30 rb o1 c00 a00.00.18.00.00 c30 rb o1"), [0xff, 0xff]);
}

#[test]
fn a_failed_program_shows_in_the_status() {
    let fails = |page| InjectedFailure { row: Row { lun: 0, block: 0, page }, erase: false, nth: 1 };
    let lun = LunOptions { failures: vec![fails(0), fails(1)], ..LunOptions::default() };
    let mut bus = bus_with(Wiring::default(), BusOptions { lun, ..BusOptions::default() });
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb");
    assert_eq!(status(&mut bus), Status(0xe1));
    played(&mut bus, "c80 a00.00.01.00.00 i01 c15 rb c80 a00.00.02.00.00 i01 c10 rb");
    assert_eq!(status(&mut bus), Status(0xe2), "the page before the last");
}

#[test]
fn write_protect_shows_and_refuses_programs() {
    let mut bus = bus();
    bus.set_write_protect(true);
    assert_eq!(status(&mut bus), Status(0x60));
    let refused = super::host::refusal(&mut bus, "c80 a00.00.00.00.00 i01 c10");
    assert_eq!(refused, FailureKind::Limit(Limit::WriteProtected));
    played(&mut bus, "cff rb");
    bus.set_write_protect(false);
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
}

#[test]
fn a_program_is_put_aside_for_a_read() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb c80 a00.00.01.00.00 i02 c10");
    bus.wait(Duration::from_us(10));
    played(&mut bus, "c84 a01.00.00 rb");
    assert_eq!(status(&mut bus), Status::IDLE);
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00 c30 rb o1"), [1]);
    played(&mut bus, "c13 a01.00.00");
    assert_eq!(status(&mut bus), Status::BUSY);
    assert_eq!(played(&mut bus, "rb c00 a00.00.01.00.00 c30 rb o1"), [2]);
}

#[test]
fn an_erase_is_not_suspended_as_a_program() {
    let mut bus = bus();
    played(&mut bus, "c60 a00.00.00 cd0");
    bus.wait(Duration::from_us(10));
    let refused = fault(&mut bus, "c84 a00.00.00");
    assert!(refused.to_string().contains("wanted that of an erase"), "{refused}");
}

#[test]
fn a_prefix_uses_one_bit_a_cell() {
    let mut bus = bus();
    played(&mut bus, "ca2 c60 a00.00.00 cd0");
    let begin = bus.now();
    assert_eq!(bus.wait_ready() - begin, Duration::from_us(1_000) + bus.timing().t_wb);
    played(&mut bus, "ca2 c80 a00.00.00.00.00 i07 c10 rb");
    assert_eq!(played(&mut bus, "ca2 c00 a00.00.00.00.00 c30 rb o1"), [7]);
}

#[test]
fn calibration_and_termination_are_taken() {
    let mut file = super::host::part_file();
    file.bus = BusFile::new(Interface::NvDdr3, 12);
    let part = file.check().expect("the part is sound");
    let mut bus = Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
    played(&mut bus, "ce2 a00 i01.02.03.04 cf9 a00 rb cd9 a00 rb");
    assert_eq!(bus.termination(wordline_nand::DieId(0)), [1, 2, 3, 4]);
}

#[test]
fn a_random_cache_read_in_another_plane_gives_the_page_sensed_before() {
    let mut bus = bus();
    played(&mut bus, "c80 a00.00.00.00.00 i01 c10 rb c80 a00.00.08.00.00 i02 c10 rb");
    assert_eq!(
        played(&mut bus, "c00 a00.00.08.00.00 c30 rb c00 a00.00.00.00.00 c31 rb o1 c3f rb o1"),
        [2, 1]
    );
}

#[test]
fn planes_are_read_behind_the_cache_register_together() {
    let mut bus = bus();
    for page in 0..2 {
        played(&mut bus, &format!("c80 a00.00.0{page}.00.00 i0{page} c11 rb"));
        played(&mut bus, &format!("c80 a00.00.0{}.00.00 i1{page} c10 rb", page + 8));
    }
    played(&mut bus, "c00 a00.00.00.00.00 c32 rb c00 a00.00.08.00.00 c30 rb");
    played(&mut bus, "c00 a00.00.01.00.00 c32 rb c00 a00.00.09.00.00 c31 rb");
    assert_eq!(status(&mut bus), Status(0xc0));
    let both = "c06 a00.00.00.00.00 ce0 o1 c06 a00.00.08.00.00 ce0 o1";
    assert_eq!(played(&mut bus, both), [0x00, 0x10]);
    played(&mut bus, "c3f rb");
    assert_eq!(played(&mut bus, both), [0x01, 0x11]);
}

#[test]
fn a_large_part_takes_four_cycles_of_row_address() {
    let mut file = super::host::part_file();
    (file.geometry.blocks_per_plane, file.geometry.pages_per_block) = (1 << 14, 1 << 10);
    let part = file.check().expect("the part is sound");
    let mut bus = Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
    let bytes = played(&mut bus, "cec a00 rb o256");
    assert_eq!(ParameterPage::decode(&bytes).expect("the page is whole").address_cycles.row, 4);
    // Block 2^14, page 0.
    played(&mut bus, "c80 a00.00.00.00.00.01 i05 c10 rb");
    assert_eq!(played(&mut bus, "c00 a00.00.00.00.00.01 c30 rb o1 c78 a00.00.00.01 o1"), [5, 0xe0]);
    assert_eq!(
        fault(&mut bus, "c60 a00.00.00 cd0"),
        Fault::AddressMissing { command: 0x60, found: 3, wanted: 4 }
    );
}

#[test]
fn a_target_can_begin_as_at_power_on() {
    let options = BusOptions { power_on: true, ..BusOptions::default() };
    let mut bus = bus_with(Wiring::default(), options);
    let slow = Duration::from_ns(100);
    assert_eq!(bus.timing().t_wc, slow, "SDR mode 0");
    played(&mut bus, "cff rb");
    played(&mut bus, "cef a01 i04.00.00.00 rb");
    assert_eq!(bus.timing().t_wc, Duration::from_ns(25));
    played(&mut bus, "cfc rb");
    assert_eq!(bus.timing().t_wc, Duration::from_ns(25), "FCh keeps the mode");
    played(&mut bus, "cff rb");
    assert_eq!(bus.timing().t_wc, slow);
}
