//! Every part of the repository on the pins.

use wordline_nand::Part;
use wordline_nand::onfi::parameter_page::ParameterPage;
use wordline_nand::onfi::{Bus, BusOptions, Failure, Status, Wiring};
use wordline_nand::part::PartFile;

fn parts() -> Vec<Part> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/parts");
    let files = std::fs::read_dir(folder).expect("the parts are beside the crate");
    let part = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the file is readable");
        let file: PartFile = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        file.check().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    files.map(|file| part(file.expect("the folder is readable").path())).collect()
}

/// Plays a sequence of setup command, column 0, row, data and confirm command.
fn page(bus: &mut Bus, code: u8, row: &[u8], data: &[u8], confirm: u8) -> Result<(), Failure> {
    bus.command(code)?;
    bus.address(&[&[0, 0], row].concat())?;
    bus.data_in(data)?;
    bus.command(confirm)?;
    bus.wait_ready();
    Ok(())
}

fn exercise(part: &Part) -> Result<(), Failure> {
    let wiring = Wiring { luns: 2, ..Wiring::default() };
    let mut bus = Bus::new(part, wiring, BusOptions::default()).expect("the wiring is sound");
    bus.command(0xEC)?;
    bus.address(&[0])?;
    bus.wait_ready();
    let bytes = bus.data_out(768)?;
    let described = ParameterPage::recover(&bytes).expect("a copy is whole").page;
    // The parameter page gives the bits of the plane address.
    assert_eq!(described.planes(), part.geometry.planes.next_power_of_two(), "{}", part.name);
    // The last block of every plane, in the second LUN.
    let planes = part.geometry.planes;
    let block = (part.geometry.blocks_per_plane - 1) * planes;
    let word_line: Vec<u32> = match part.geometry.one_shot {
        true => part.pages().pages_of(0).collect(),
        false => vec![0],
    };
    for (n, number) in word_line.iter().enumerate() {
        for plane in 0..planes {
            let row = bus.row(1, block + plane, *number).expect("the page exists");
            let last = n + 1 == word_line.len() && plane + 1 == planes;
            page(&mut bus, 0x80, &row, &[*number as u8, plane as u8], if last { 0x10 } else { 0x11 })?;
        }
    }
    bus.command(0x70)?;
    assert_eq!(bus.data_out(1)?, [Status::IDLE.0], "{}", part.name);
    for number in word_line {
        for plane in 0..planes {
            let row = bus.row(1, block + plane, number).expect("the page exists");
            page(&mut bus, 0x00, &row, &[], if plane + 1 == planes { 0x30 } else { 0x32 })?;
        }
        for plane in 0..planes {
            let row = bus.row(1, block + plane, number).expect("the page exists");
            page(&mut bus, 0x06, &row, &[], 0xE0)?;
            assert_eq!(bus.data_out(2)?, [number as u8, plane as u8], "{}", part.name);
        }
    }
    bus.command(0x60)?;
    bus.address(&bus.row(1, block, 0).expect("the block exists"))?;
    bus.command(0xD0)?;
    bus.wait_ready();
    bus.command(0x78)?;
    bus.address(&bus.row(1, block, 0).expect("the block exists"))?;
    assert_eq!(bus.data_out(1)?, [Status::IDLE.0], "{}", part.name);
    Ok(())
}

#[test]
fn every_part_is_programmed_read_and_erased_through_its_pins() {
    for part in parts() {
        exercise(&part).unwrap_or_else(|failure| panic!("{}: {failure}", part.name));
    }
}

/// Parts at the bounds that the check of parts allows.
#[test]
fn extreme_parts_are_driven_through_their_pins() {
    for (planes, blocks, bits, width) in [(16, 1, 5, 16), (16, 65_536, 1, 8), (3, 5, 4, 16), (1, 1, 1, 8)] {
        for one_shot in [false, true] {
            let mut file = super::host::part_file();
            let g = &mut file.geometry;
            (g.planes, g.blocks_per_plane, g.bits_per_cell, g.one_shot) = (planes, blocks, bits, one_shot);
            g.pages_per_block = bits;
            file.bus.width = Some(width);
            let part = file.check().expect("the part is sound");
            exercise(&part).unwrap_or_else(|failure| panic!("{planes} planes, {bits} bits: {failure}"));
        }
    }
}
