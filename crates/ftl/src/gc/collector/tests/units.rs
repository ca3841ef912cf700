use wordline_nand::{BlockSetId, DataTag, Location, PlaneGroupId};

use super::{by_number, fifo, next_in};
use crate::Config;
use crate::blocks::{BlockManager, State, Streams};
use crate::config::tests::small;
use crate::gc::collector::GcLimits;
use crate::gc::config::GcFile;
use crate::gc::step::Step;
use crate::map::Relocation;
use crate::policy::victim::{Fifo, VictimPolicy};

/// Reading a unit of three page numbers takes three reads. Between them background GC waits for migrating
/// pages.
#[test]
fn a_whole_unit_is_not_divided_by_a_job_that_comes_between() {
    let mut file = small();
    (file.part.geometry.bits_per_cell, file.part.geometry.one_shot) = (3, true);
    file.part.geometry.pages_per_block = 24;
    let Config { pools, .. } = file.check().expect("the device is sound");
    let mut blocks = BlockManager::new(&pools, Streams::ONE_EACH, |_| false);
    blocks.keep(Fifo.needs());
    blocks.map_coarsely(0);
    let (unit, mut written) = (pools.per_program(PlaneGroupId(0)), 0);
    assert_eq!(unit, 6);
    while blocks.space().free(PlaneGroupId(0)) > 5 {
        let first = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.host(0), unit, &mut by_number);
        written += 1;
        let is_valid = |_: &u32| written % 2 == 0;
        (0..unit).filter(is_valid).for_each(|place| blocks.validate(Location(first.0 + place)));
        blocks.program_done(first);
    }
    let mut collector = fifo(&GcFile::default());
    let idle = GcLimits { idle_goal: 7, is_idle: true, ..GcLimits::REQUIRED };
    let (mut leave, mut units) = (idle, 0);
    loop {
        let Some(step) = next_in(PlaneGroupId(0), &mut collector, &mut blocks, leave) else {
            match std::mem::replace(&mut leave, idle) == idle {
                true => break,
                false => continue,
            }
        };
        match step {
            Step::Read { first, end, .. } => {
                for from in (first.0..end.0).map(Location) {
                    match collector.rows[PlaneGroupId(0)].leaves() {
                        true => blocks.invalidate(from),
                        false => {
                            collector.rows[PlaneGroupId(0)]
                                .stage(0, Relocation { stamp: DataTag::PADDING, from });
                        }
                    }
                }
                if units == 2 && blocks.table().state(BlockSetId(7)) == State::Closed {
                    leave = GcLimits::REQUIRED;
                    collector.sources.migration.migrate(PlaneGroupId(0), BlockSetId(7), 0);
                }
            }
            Step::Program { stream } => {
                let first = blocks.take(PlaneGroupId(0), stream, unit, &mut by_number);
                let moved: Vec<Location> =
                    collector.rows[PlaneGroupId(0)].unit.drain(..).map(|moved| moved.from).collect();
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
        collector.command_done(PlaneGroupId(0));
    }
    assert!(units >= 8 && blocks.space().free(PlaneGroupId(0)) >= 7, "{units} units moved");
}
