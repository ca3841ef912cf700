//! Command chains of transactions, executed on the pins: the same time in every stage of the bus.

use wordline_kernel::{Bytes, Duration};
use wordline_nand::chain::{BusPhase, BusTimes, Cycle, PrecedingStep, Shape};
use wordline_nand::interface::{BusFile, Interface};
use wordline_nand::onfi::{Bus, BusOptions, Wiring};

use super::host::part_file;

/// Executes a bus phase on page `page` of block 0 of every plane (block 2 for a destination).
fn spell(bus: &mut Bus, hold: BusPhase, shape: &Shape, page: u8) {
    for cycle in hold.cycles(shape) {
        match cycle {
            Cycle::Select => bus.select(0),
            Cycle::Command(code) | Cycle::Confirm(code) => bus.command(code),
            Cycle::Address { plane, bytes, destination } => {
                let block =
                    plane as u8 + if destination && hold == BusPhase::CopybackProgram { 2 } else { 0 };
                let full = [0, 0, block << 3 | page, 0, 0];
                bus.address(&full[5 - usize::from(bytes)..])
            }
            Cycle::DataIn(size) => bus.data_in(&vec![page; size.0 as usize]),
            Cycle::DataOut { size, after } => {
                if after == PrecedingStep::Ready {
                    bus.select(0).expect("there is a target");
                }
                bus.data_out(size.0 as u32).map(|_| ())
            }
            Cycle::Turnaround => Ok(()),
            Cycle::PlaneBusy => {
                bus.wait_ready();
                Ok(())
            }
        }
        .unwrap_or_else(|failure| panic!("{hold:?}: {failure}"));
    }
}

fn spelled(bus: &mut Bus, hold: BusPhase, shape: &Shape, page: u8) -> BusTimes {
    bus.spans();
    spell(bus, hold, shape, page);
    let mut times = BusTimes::default();
    for span in bus.spans().iter().filter(|span| span.planes == 0) {
        times.add(span.stage, span.length);
    }
    times
}

#[test]
fn a_hold_takes_on_the_pins_what_its_chain_says() {
    use BusPhase::{
        CacheReadEnd, CacheReadRandom, CacheReadSequential, CopybackProgram, CopybackRead, DataOut, Erase,
        Program, ProgramCache, Read, Status,
    };
    let operations: [&[BusPhase]; 7] = [
        &[Program, Status],
        &[ProgramCache, ProgramCache, Program, Status],
        &[Read, DataOut],
        &[Read, CacheReadSequential, DataOut, CacheReadSequential, DataOut, CacheReadEnd, DataOut],
        &[Read, CacheReadRandom, DataOut, CacheReadEnd, DataOut],
        &[CopybackRead, CopybackProgram, Status],
        &[Erase, Status],
    ];
    for (interface, mode) in
        [(Interface::Sdr, 0), (Interface::NvDdr, 5), (Interface::NvDdr2, 6), (Interface::NvDdr3, 12)]
    {
        let mut file = part_file();
        file.bus = BusFile::new(interface, mode);
        let part = file.check().expect("the part is sound");
        for (planes, shared_enable) in [(1, false), (2, false), (1, true), (2, true)] {
            let shape = Shape { page: Bytes(512), ..Shape::of(&part, planes, shared_enable) };
            let mut bus =
                Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
            for (n, operation) in operations.iter().enumerate() {
                for (page, hold) in operation.iter().enumerate() {
                    bus.wait_ready();
                    if *hold != DataOut {
                        // The turnaround after data out is over when the next bus phase begins.
                        bus.wait(Duration::from_us(1));
                    }
                    if *hold == Status {
                        bus.wait_array_ready();
                    }
                    let wanted = hold.times(&part, &shape);
                    let found = spelled(&mut bus, *hold, &shape, page.min(7) as u8);
                    assert_eq!(found, wanted, "{interface} {mode}, {planes} planes, operation {n}, {hold:?}");
                }
                bus.wait_array_ready();
                bus.wait(Duration::from_us(1));
            }
        }
    }
}

/// Executes a bus phase of a one-shot part. Pages of its word lines follow each other in the order of the
/// chain.
fn spell_word_line(bus: &mut Bus, hold: BusPhase, shape: &Shape, first: u8) {
    let mut addresses = 0;
    for cycle in hold.cycles(shape) {
        match cycle {
            Cycle::Select => bus.select(0),
            Cycle::Command(code) | Cycle::Confirm(code) => bus.command(code),
            Cycle::Address { plane, .. } => {
                let page = first + (addresses / shape.planes) as u8;
                addresses += 1;
                bus.address(&[0, 0, (plane as u8) << 3 | page, 0, 0])
            }
            Cycle::DataIn(size) => bus.data_in(&vec![0; size.0 as usize]),
            Cycle::PlaneBusy => {
                bus.wait_ready();
                Ok(())
            }
            Cycle::DataOut { .. } | Cycle::Turnaround => unreachable!("a program gives no data out"),
        }
        .unwrap_or_else(|failure| panic!("{hold:?}: {failure}"));
    }
}

#[test]
fn a_word_line_is_loaded_on_the_pins_as_its_chain_says() {
    let mut file = part_file();
    (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 6);
    let part = file.check().expect("the part is sound");
    for planes in [1, 2] {
        let shape = Shape { page: Bytes(512), ..Shape::of(&part, planes, false) };
        let mut bus = Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
        for (hold, first) in [(BusPhase::ProgramCache, 0), (BusPhase::Program, 3)] {
            // The array works from the write-back registers.
            bus.wait_array_ready();
            bus.spans();
            let (begin, wanted) = (bus.now(), hold.times(&part, &shape));
            spell_word_line(&mut bus, hold, &shape, first);
            let mut times = BusTimes::default();
            for span in bus.spans().iter().filter(|span| span.planes == 0) {
                times.add(span.stage, span.length);
            }
            assert_eq!(times, wanted, "{planes} planes, {hold:?} from {begin:?}");
        }
    }
}
