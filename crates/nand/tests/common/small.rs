// Chips of a small device, for tests of all crates above.

/// Chips of 12 MiB: two channels with two dies each, two planes per die in one plane group. Each plane has 24
/// blocks of 16 pages of 4 KiB.
fn small_chips() -> (wordline_nand::part::PartFile, wordline_nand::geometry::Layout) {
    use wordline_kernel::{Bytes, Duration, Power};
    use wordline_nand::geometry::Layout;
    use wordline_nand::part::{ArrayTiming, BusFile, DieGeometry, PartFile, PowerDraw};
    use wordline_nand::{Interface, Pairing};
    let us = Duration::from_us;
    let part = PartFile {
        name: "small".into(),
        source: "chosen: small".into(),
        geometry: DieGeometry {
            planes: 2,
            blocks_per_plane: 24,
            pages_per_block: 16,
            page_size: Bytes::kib(4),
            spare_size: Bytes(128),
            bits_per_cell: 1,
            one_shot: false,
            layers: 1,
            pairing: Pairing::WordLine,
            registers: 2,
            independent_reads: false,
        },
        timing: ArrayTiming::new(us(25), us(250), us(1_500), Duration::from_ns(500)),
        bus: BusFile::new(Interface::NvDdr2, 7),
        power: PowerDraw {
            read: Power(66_000),
            program: Power(66_000),
            erase: Power(66_000),
            interface: Some(Power(16_500)),
            latch: None,
            per_plane: false,
            idle: Power(33),
        },
        endurance: 100_000,
        programs_per_page: None,
        super_layers: Default::default(),
        nominal: None,
        cells: None,
    };
    let layout =
        Layout { channels: 2, packages_per_channel: 1, dies_per_package: 2, short_channels: 0, planes_per_row: None };
    (part, layout)
}
