use super::*;
use crate::interface::Interface;

/// MQSim's default part (its `ssdconfig.xml` and `ONFI_Channel_NVDDR2`), two planes of MLC.
pub(crate) fn mqsim_file() -> PartFile {
    let us = Duration::from_us;
    PartFile {
        name: "mqsim".into(),
        source: "MQSim defaults".into(),
        geometry: DieGeometry {
            planes: 2,
            blocks_per_plane: 16,
            pages_per_block: 8,
            page_size: Bytes::kib(8),
            spare_size: Bytes(448),
            bits_per_cell: 2,
            one_shot: false,
            pairing: Pairing::WordLine,
            layers: 1,
            registers: 2,
            independent_reads: false,
        },
        timing: ArrayTiming::new(us(75), us(750), us(3_800), Duration::from_ns(500)),
        bus: BusFile::new(Interface::NvDdr2, 6),
        power: PowerDraw {
            read: Power(82_500),
            program: Power(82_500),
            erase: Power(82_500),
            interface: Some(Power(16_500)),
            latch: None,
            per_plane: false,
            idle: Power(33),
        },
        endurance: 10_000,
        programs_per_page: None,
        super_layers: Default::default(),
        nominal: None,
        cells: None,
    }
}

/// MQSim's default part, checked.
pub(crate) fn mqsim() -> Part {
    mqsim_file().check().expect("the part is sound")
}

#[test]
fn a_part_file_reports_everything_that_is_wrong() {
    let mut file = mqsim_file();
    file.geometry.planes = 0;
    file.geometry.page_size = Bytes(5_000);
    file.timing.read = vec![Duration::from_us(1).into(); 3];
    let wrong = file.check().expect_err("three things are wrong");
    let keys: Vec<&str> = wrong.0.iter().map(|c| c.key.as_str()).collect();
    assert_eq!(keys, ["geometry.planes", "geometry.page_size", "timing.read"]);
}

#[test]
fn sizes_and_powers_that_no_integer_holds_are_complaints() {
    let mut file = mqsim_file();
    file.geometry.spare_size = Bytes(u64::MAX);
    file.power.latch = Some(Power(u64::MAX));
    let wrong = file.check().expect_err("two things are wrong");
    let keys: Vec<&str> = wrong.0.iter().map(|c| c.key.as_str()).collect();
    assert_eq!(keys, ["geometry.spare_size", "power"]);
}

#[test]
fn super_layers_of_more_than_two_layers_have_to_be_allowed() {
    let with = |layers, allow_uncorrectable| {
        let super_layers = SuperLayersFile { layers, allow_uncorrectable };
        let mut file = PartFile { super_layers, ..mqsim_file() };
        file.geometry.layers = 4;
        file.check().map_err(|wrong| wrong.to_string())
    };
    assert!(with(1, false).is_ok() && with(2, false).is_ok() && with(3, true).is_ok());
    let wrong = with(3, false).expect_err("it was not allowed");
    let wanted = "super_layers.layers: found 3, wanted from 1 to 2; more than 2 need super_layers.allow_uncorrectable = true";
    assert_eq!(wrong, wanted);
    assert!(with(5, true).is_err() && with(0, true).is_err(), "the block has four layers");
}

#[test]
fn a_layout_that_does_not_fit_is_a_complaint() {
    let mut file = mqsim_file();
    file.geometry.pairing = Pairing::ShadowTlc;
    file.timing.read.clear();
    let wrong = file.check().expect_err("two things are wrong").to_string();
    let found = "geometry.pairing: found 2 bits a cell and 8 pages a block, wanted 3 bits a cell";
    assert!(wrong.starts_with(found) && wrong.contains("timing.read: found 0 values"), "{wrong}");
}

#[test]
fn a_one_shot_part_has_the_pages_of_a_word_line_side_by_side() {
    let mut file = mqsim_file();
    file.geometry.one_shot = true;
    assert!(file.clone().check().is_ok());
    file.geometry.pairing = Pairing::TwoThenSingles;
    let wrong = file.check().expect_err("it programs page by page").to_string();
    assert!(wrong.contains("wanted word-line: the part is one-shot"), "{wrong}");
}

#[test]
fn the_power_of_the_interface_follows_from_interface_and_rate_unless_it_is_given() {
    let draw = |bus: BusFile| {
        let mut file = PartFile { bus, ..mqsim_file() };
        file.power.interface = None;
        file.check().expect("the part is sound").power
    };
    // NANDFlashSim, table III: 16.5 mW at a byte each 25 ns.
    let sdr = draw(BusFile::new(Interface::Sdr, 4));
    assert_eq!((sdr.interface, sdr.latch), (Power(16_500), Power(16_500)));
    assert_eq!(draw(BusFile::new(Interface::Sdr, 5)).interface, Power(20_625), "20 ns");
    // Figure 24: DDR2-800, 270 mW at a byte each 2.5 ns.
    assert_eq!(draw(BusFile::new(Interface::NvDdr2, 7)).interface, Power(270_000), "400 MT/s");
    let half = draw(BusFile {
        rate: Some(wordline_kernel::MegaTransfers(200)),
        ..BusFile::new(Interface::NvDdr2, 7)
    });
    assert_eq!((half.interface, half.latch), (Power(135_000), Power(27_000)), "a byte a cycle of 25 ns");
    let wide = BusFile { width: Some(16), ..BusFile::new(Interface::Sdr, 4) };
    assert_eq!(draw(wide).interface, Power(33_000), "two bytes each 25 ns");
    let given = mqsim_file().check().expect("the part is sound").power;
    assert_eq!((given.interface, given.latch), (Power(16_500), Power(16_500)));
}

#[test]
fn the_energy_of_a_byte_falls_with_each_interface_but_the_first_step() {
    // NANDFlashSim, figure 24 and section 9.3: DDR1 costs more than the baseline, DDR3 the least.
    let [sdr, ddr, ddr2, ddr3, lpddr4] = Interface::ALL.map(|interface| interface.byte_energy().0);
    assert!(ddr > ddr2 && ddr2 > sdr && sdr > ddr3 && ddr3 == lpddr4);
}

#[test]
fn times_go_by_the_page_types_of_the_layout() {
    let mut file = mqsim_file();
    file.geometry.pairing = Pairing::FourThenPairs;
    file.timing.read = [50, 60].map(|us| Duration::from_us(us).into()).to_vec();
    file.timing.program = ["250us", "2000us..2200us"].map(|text| text.parse().expect(text)).to_vec();
    let part = file.check().expect("the part is sound");
    let programs: Vec<f64> = (0..8).map(|page| part.program_time(page).us()).collect();
    assert_eq!(programs, [250.0, 250.0, 250.0, 250.0, 2100.0, 2100.0, 2100.0, 2100.0]);
    assert_eq!(part.read_time(3), Duration::from_us(50));
    assert_eq!(part.read_times(), [50, 60].map(Duration::from_us));
    assert_eq!(part.program_times(), [250, 2100].map(Duration::from_us));
    assert_eq!(part.typical_program_time(), Duration::from_us(1175));
    assert_eq!(part.worst_program_time(), Duration::from_us(2200));
}
