//! A host that plays cycles written as words:
//!
//! * `c80`: a command;
//! * `a00.12`: addresses;
//! * `i01.02`: data in;
//! * `o4`: data out of four bytes;
//! * `rb`: a wait for R/B#;
//! * `arb`: a wait for the array.

use wordline_kernel::{Bytes, Duration, Power};
use wordline_nand::interface::{BusFile, Interface};
use wordline_nand::onfi::{Bus, BusOptions, Failure, FailureKind, Fault, Status, Wiring};
use wordline_nand::part::{ArrayTiming, DieGeometry, PartFile, PowerDraw, SlcTiming};
use wordline_nand::{Pairing, Part};

/// Two planes of 16 blocks with 8 pages of 512 + 16 bytes: a row is `lun << 8 | block << 3 | page`.
pub fn part_file() -> PartFile {
    let us = Duration::from_us;
    PartFile {
        name: "small".into(),
        source: "chosen: small enough to see everything".into(),
        geometry: DieGeometry {
            planes: 2,
            blocks_per_plane: 16,
            pages_per_block: 8,
            page_size: Bytes(512),
            spare_size: Bytes(16),
            bits_per_cell: 1,
            one_shot: false,
            pairing: Pairing::WordLine,
            layers: 1,
            registers: 2,
            independent_reads: false,
        },
        timing: ArrayTiming {
            slc: Some(SlcTiming { read: us(20), program: us(150), erase: us(1_000) }),
            ..ArrayTiming::new(us(25), us(200), us(1_500), Duration::from_ns(500))
        },
        bus: BusFile::new(Interface::Sdr, 4),
        power: PowerDraw::even(Power(1)),
        endurance: 1_000,
        programs_per_page: None,
        super_layers: Default::default(),
        nominal: None,
        cells: None,
    }
}

pub fn part() -> Part {
    part_file().check().expect("the part is sound")
}

pub fn bus_with(wiring: Wiring, options: BusOptions) -> Bus {
    Bus::new(&part(), wiring, options).expect("the wiring is sound")
}

pub fn bus() -> Bus {
    bus_with(Wiring::default(), BusOptions::default())
}

pub fn two_luns() -> Bus {
    bus_with(Wiring { luns: 2, ..Wiring::default() }, BusOptions::default())
}

fn bytes(text: &str) -> Vec<u8> {
    let byte = |byte: &str| u8::from_str_radix(byte, 16).expect("tests write bytes in hexadecimal");
    text.split('.').filter(|byte| !byte.is_empty()).map(byte).collect()
}

/// Plays `cycles`. Returns the data out, or the failure of the first rejected cycle.
pub fn play(bus: &mut Bus, cycles: &str) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    for word in cycles.split_whitespace() {
        match word.split_at(1) {
            _ if word == "rb" => {
                bus.wait_ready();
            }
            _ if word == "arb" => {
                bus.wait_array_ready();
            }
            ("c", code) => bus.command(bytes(code)[0])?,
            ("a", address) => bus.address(&bytes(address))?,
            ("i", data) => bus.data_in(&bytes(data))?,
            ("o", len) => out.extend(bus.data_out(len.parse().expect("tests write numbers"))?),
            _ => panic!("no such word: {word}"),
        }
    }
    Ok(out)
}

/// Plays `cycles`, none of which may be rejected. Returns the data out.
pub fn played(bus: &mut Bus, cycles: &str) -> Vec<u8> {
    play(bus, cycles).unwrap_or_else(|failure| panic!("{cycles}: {failure}"))
}

pub fn status(bus: &mut Bus) -> Status {
    Status(played(bus, "c70 o1")[0])
}

/// The reason for which the last of `cycles` is rejected.
pub fn refusal(bus: &mut Bus, cycles: &str) -> FailureKind {
    let words: Vec<&str> = cycles.split_whitespace().collect();
    let (last, before) = words.split_last().expect("there are cycles");
    played(bus, &before.join(" "));
    play(bus, last).expect_err(cycles).kind
}

pub fn fault(bus: &mut Bus, cycles: &str) -> Fault {
    match refusal(bus, cycles) {
        FailureKind::Sequence(fault) => fault,
        other => panic!("{cycles}: {other:?}"),
    }
}
