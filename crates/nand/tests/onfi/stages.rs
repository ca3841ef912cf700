//! The stages of sequences of cycles on the bus and in the arrays, to the picosecond.

use wordline_kernel::{Bytes, Duration};
use wordline_nand::Stage::{self, Ale, Ber, Cle, Tin, Tir, Ton, Tor};
use wordline_nand::onfi::Bus;

use super::host::{bus, played};

fn stages(bus: &mut Bus, cycles: &str) -> Vec<(Stage, Duration)> {
    played(bus, cycles);
    let spans = bus.spans();
    for pair in spans.windows(2) {
        assert!(pair[0].end() <= pair[1].begin, "{pair:?}");
    }
    spans.iter().map(|span| (span.stage, span.length)).collect()
}

#[test]
fn a_read_is_spelled_in_its_stages() {
    let mut bus = bus();
    let b = *bus.timing();
    let read = stages(&mut bus, "c00 a00.00.00.00.00 c30 rb o512");
    assert_eq!(
        read,
        [
            (Cle, b.t_cs + b.t_wc),
            (Ale, b.t_wc * 5),
            (Cle, b.t_wc + b.t_wb),
            (Ton, Duration::from_us(25)),
            (Tor, b.t_rr + b.t_rpre + b.t_dqsre + b.burst_out(Bytes(512))),
        ]
    );
}

#[test]
fn a_program_is_spelled_in_its_stages() {
    let mut bus = bus();
    let b = *bus.timing();
    let data = vec!["00"; 16].join(".");
    let program = stages(&mut bus, &format!("c80 a00.00.00.00.00 i{data} c10 rb c70 o1"));
    assert_eq!(
        program,
        [
            (Cle, b.t_cs + b.t_wc),
            (Ale, b.t_wc * 5),
            (Tir, b.t_adl + b.burst_in(Bytes(16)) + b.t_wpst + b.t_wpsth),
            (Cle, b.t_wc + b.t_wb),
            (Tin, Duration::from_us(200)),
            (Cle, b.t_wc),
            (Tor, b.t_whr + b.t_rpre + b.t_dqsre + b.burst_out(Bytes(1))),
        ]
    );
}

#[test]
fn the_short_busy_time_between_planes_belongs_to_the_next_command() {
    let mut bus = bus();
    let (b, plane_busy) = (*bus.timing(), Duration::from_ns(500));
    let erase = stages(&mut bus, "c60 a00.00.00 cd1 rb c60 a08.00.00 cd0 rb");
    let (set_up, confirm) = (b.t_wc, (Cle, b.t_wc + b.t_wb));
    assert_eq!(
        erase,
        [
            (Cle, b.t_cs + set_up),
            (Ale, b.t_wc * 3),
            confirm,
            (Cle, plane_busy + set_up),
            (Ale, b.t_wc * 3),
            confirm,
            (Ber, Duration::from_us(1_500)),
        ]
    );
}

#[test]
fn a_turnaround_belongs_to_the_command_and_a_column_to_its_data() {
    let mut bus = bus();
    let b = *bus.timing();
    let read = stages(&mut bus, "c00 a00.00.00.00.00 c30 rb o1 c05 a00.01 ce0 o1");
    let out = b.t_rpre + b.t_dqsre + b.burst_out(Bytes(1));
    assert_eq!(read[5..], [(Cle, b.t_rhw + b.t_wc), (Ale, b.t_wc * 2), (Cle, b.t_wc), (Tor, b.t_ccs + out)]);
}

#[test]
fn the_spans_of_an_operation_carry_its_number() {
    let mut bus = bus();
    played(&mut bus, "c60 a00.00.00 cd0 rb c00 a00.00.00.00.00 c30 rb o1");
    let numbers: Vec<u32> = bus.spans().iter().map(|span| span.command).collect();
    assert_eq!(numbers, [1, 1, 1, 1, 2, 2, 2, 2, 2]);
}
