use wordline_nand::{BlockSetId, Location, Stamp};

use super::super::tests::{by_number, fifo, next_in};
use super::*;
use crate::Config;
use crate::config::tests::small;
use crate::map::Moved;
use crate::policy::victim::{Fifo, VictimPolicy};
use crate::reclaim::collector::Leave;
use crate::reclaim::config::GcFile;
use crate::space::{State, Streams};

/// A unit of three page numbers takes three reads. Background GC waits between them for pages being migrated.
#[test]
fn a_whole_unit_is_not_divided_by_a_job_that_comes_between() {
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    file.part.geometry.pages_per_block = 24;
    let Config { pools, .. } = file.check().expect("the device is sound");
    let mut blocks = Space::new(&pools, Streams::ONE_EACH, |_| false);
    blocks.keep(Fifo.needs());
    blocks.map_whole_units(0);
    let (unit, mut written) = (pools.per_program(RowId(0)), 0);
    assert_eq!(unit, 6);
    while blocks.free(RowId(0)) > 5 {
        let first = blocks.take(RowId(0), Streams::ONE_EACH.host(0), unit, &mut by_number);
        written += 1;
        let is_valid = |_: &u32| written % 2 == 0;
        (0..unit).filter(is_valid).for_each(|place| blocks.validate(Location(first.0 + place)));
        blocks.program_done(first);
    }
    let mut collector = fifo(&GcFile::default());
    let idle = Leave { idle_goal: 7, is_idle: true, ..Leave::MUST };
    let (mut leave, mut units) = (idle, 0);
    loop {
        let Some(step) = next_in(RowId(0), &mut collector, &mut blocks, leave) else {
            match std::mem::replace(&mut leave, idle) == idle {
                true => break,
                false => continue,
            }
        };
        match step {
            Step::Read { first, end, .. } => {
                for from in (first.0..end.0).map(Location) {
                    match collector.leaves(RowId(0)) {
                        true => blocks.invalidate(from),
                        false => collector.stage(RowId(0), 0, Moved { stamp: Stamp::PADDING, from }),
                    }
                }
                if units == 2 && blocks.state(BlockSetId(7)) == State::Closed {
                    leave = Leave::MUST;
                    collector.sources.migration.send_off(RowId(0), BlockSetId(7), 0);
                }
            }
            Step::Program { stream } => {
                let first = blocks.take(RowId(0), stream, unit, &mut by_number);
                let moved: Vec<Location> = collector.take_unit(RowId(0)).map(|moved| moved.from).collect();
                let begin = moved[0].0 - moved[0].0 % unit;
                assert_eq!(moved, (begin..begin + unit).map(Location).collect::<Vec<_>>(), "a whole unit");
                for from in moved {
                    blocks.invalidate(from);
                    blocks.validate(Location(first.0 + from.0 % unit));
                }
                blocks.program_done(first);
                units += 1;
            }
            Step::Erase { block } => blocks.erased(block, 1),
            step => panic!("{step:?} with one pool, without copyback, and where nothing fails"),
        }
        collector.command_done(RowId(0));
    }
    assert!(units >= 8 && blocks.free(RowId(0)) >= 7, "{units} units moved");
}
