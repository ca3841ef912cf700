use super::*;
use crate::Config;
use crate::config::tests::small;
use crate::ftl::blocks::Streams;
use crate::policy::victim::Fifo;
use wordline_kernel::Seed;

/// Carries out what the collector wants, at once; false if it wants nothing.
fn step(collector: &mut Collector, blocks: &mut Blocks) -> bool {
    match collector.next(0, blocks, Leave::MUST) {
        None => return false,
        Some(Step::Copyback { .. }) => unreachable!("copyback is off"),
        Some(Step::Read { first, end, .. }) => {
            for from in (first.0..end.0).map(SlotId) {
                collector.stage(0, 0, Moved { stamp: Stamp::PADDING, from });
            }
        }
        Some(Step::Program { stream }) => {
            let first = blocks.take(0, stream, blocks.slots().per_program);
            let moved: Vec<Moved> = collector.take_unit(0).collect();
            for (n, page) in moved.iter().enumerate() {
                blocks.invalidate(page.from);
                blocks.validate(SlotId(first.0 + n as u32));
            }
            blocks.program_done(first);
        }
        Some(Step::Erase { block }) => blocks.erased(block, 1),
        Some(Step::Retire { block }) => blocks.retire(block),
    }
    collector.command_done(0)
}

/// A table with a row that has so many free blocks, for cleaning first in, first out. The oldest blocks have one
/// invalid page each: such a victim fills nearly a whole block of the collector's.
fn table(free: usize) -> Blocks {
    let Config { geometry, slots, .. } = small().check().expect("the device is sound");
    let mut blocks = Blocks::new(geometry, slots, Streams::ONE_EACH, |_| false);
    blocks.keep(Fifo.needs());
    let per_block = geometry.pages_per_row_block();
    while blocks.free(0) > free {
        for n in 0..per_block {
            let page = blocks.take(0, Streams::ONE_EACH.host(0), 1);
            if n >= if page.0 < 8 * per_block { 1 } else { per_block / 2 } {
                blocks.validate(page);
            }
            blocks.program_done(page);
        }
    }
    blocks
}

fn fifo(gc: &GcFile) -> Collector {
    Collector::new(1, 1, Box::new(Fifo), Seed(1).stream("test.victim", 0), gc)
}

#[test]
fn a_collector_of_few_steps_takes_no_more_until_the_host_writes_or_needs_blocks() {
    let mut blocks = table(4);
    let gc = GcFile { start_below_free_blocks: 5, stop_at_free_blocks: 5, ..GcFile::default() };
    let mut collector = fifo(&GcFile { steps_per_write: Some(3), ..gc });
    for _ in 0..4 {
        let steps = (0..100).filter(|_| step(&mut collector, &mut blocks)).count();
        assert_eq!(steps, 3);
        collector.spend(0, 2);
    }
    while blocks.free(0) > 2 {
        let page = blocks.take(0, Streams::ONE_EACH.host(0), 1);
        blocks.program_done(page);
    }
    let steps = (0..100).filter(|_| step(&mut collector, &mut blocks)).count();
    assert!(steps > 3 && blocks.free(0) > 2, "{steps} steps to a block beside those kept");
}

#[test]
fn a_victim_that_is_read_for_long_does_not_end_the_life_of_its_row() {
    let mut blocks = table(2);
    let read = RowBlockId(0);
    blocks.read_queued(read);
    let mut collector = fifo(&GcFile::default());
    while step(&mut collector, &mut blocks) {}
    assert!(blocks.free(0) < 2 && !collector.is_stuck(0), "the collector waits for the reader");
    assert!(blocks.read_done(read), "a victim waited for the reader");
    while step(&mut collector, &mut blocks) {}
    assert!(blocks.free(0) >= 3 && !collector.is_stuck(0));
}
