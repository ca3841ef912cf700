//! Tests of suspended blocks of a plane group.

use wordline_nand::Location;

use super::*;
use crate::blocks::suspended::Suspended;
use crate::blocks::{BlockManager, StreamId, Streams, SuspendedBlocks, WordLineSelector};
use crate::config::tests::small;
use crate::policy::event::{DeviceEvent, EventMask};
use crate::policy::frontier::{OpenBlock, WordLines};

const ROW: PlaneGroupId = PlaneGroupId(0);
const HOST: StreamId = StreamId(0);

/// Programs word lines in numerical order. Decides once for each block that it is given.
#[derive(Default)]
struct Script {
    select_to_suspend: Option<BlockSetId>,
    select_to_resume: Option<BlockSetId>,
}

impl WordLineSelector for Script {
    fn next(&mut self, open: &[OpenBlock<'_>], _: &BlockManager) -> (usize, u32) {
        (0, open[0].first_unprogrammed())
    }

    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        _: &SuspendedBlocks<'_>,
        _: &BlockManager,
    ) -> Option<BlockSetId> {
        self.select_to_suspend.take_if(|block| open.iter().any(|open| open.block == *block))
    }

    fn select_to_resume(&mut self, suspended: &SuspendedBlocks<'_>, _: &BlockManager) -> Option<BlockSetId> {
        self.select_to_resume.take_if(|block| suspended.has(*block))
    }
}

/// A block table whose blocks have 16 word lines of two pages. The host stream may suspend two blocks of each
/// plane group.
fn table() -> BlockManager {
    let config = small().check().expect("the device is sound");
    let mut blocks = BlockManager::new(&config.pools, Streams::ONE_EACH, |_| false);
    blocks.events.observe(EventMask::BLOCKS | EventMask::LOST_PAGES);
    blocks.order(0, WordLines { layers: 16, per_layer: 1 }, 1, vec![2, 0]);
    blocks
}

/// Programs word lines of the host stream and makes their pages valid.
fn write(blocks: &mut BlockManager, script: &mut Script, word_lines: u32) -> Location {
    let mut last = Location(0);
    for _ in 0..word_lines {
        last = blocks.take(ROW, HOST, 2, script);
        (last.0..last.0 + 2).for_each(|page| blocks.validate(Location(page)));
        blocks.program_done(last);
    }
    last
}

/// Suspends the open block, and writes a word line of another block.
fn suspend(blocks: &mut BlockManager, block: BlockSetId) {
    let mut script = Script { select_to_suspend: Some(block), select_to_resume: None };
    write(blocks, &mut script, 1);
    assert_eq!((script.select_to_suspend, blocks.table.state(block)), (None, State::Suspended));
}

/// Programs word lines of the host stream, and returns the block of the last one.
fn open(blocks: &mut BlockManager, word_lines: u32) -> BlockSetId {
    let last = write(blocks, &mut Script::default(), word_lines);
    block_of(blocks, last)
}

fn suspended(blocks: &BlockManager) -> SuspendedBlocks<'_> {
    blocks.pool_of(ROW).suspended_of(ROW, HOST, None).expect("the pool has an order")
}

fn block_of(blocks: &BlockManager, location: Location) -> BlockSetId {
    blocks.pools().block_of(location)
}

#[test]
fn a_suspended_block_keeps_its_word_lines() {
    let mut suspended = Suspended::new(6, 2, vec![0, 2, 1], WordLines { layers: 100, per_layer: 1 });
    let rests = |block, place| SuspendedBlock { block: BlockSetId(block), place, unit: 2 };
    assert_eq!([6, 7, 8, 9, 10].map(|at| suspended.limit(at)), [0, 2, 1, 0, 2]);
    suspended.add(10, rests(4, 6), &[7, 0]);
    suspended.add(10, rests(9, 4), &[0, 3]);
    assert!(suspended.has_word_line_bitmaps(10));
    assert!(!suspended.has_room(10) && suspended.has_room(7) && !suspended.has_room(6));
    let mut bits = [0; 2];
    assert_eq!(suspended.take(10, BlockSetId(4), &mut bits), Some(6));
    assert_eq!((bits, suspended.take(10, BlockSetId(4), &mut bits)), ([7, 0], None));
    assert!(suspended.all().eq([BlockSetId(9)]));
    assert!(suspended.all_bits().eq([[0, 3]]));
    suspended.forget(9);
    assert!(suspended.of(10).is_empty());
}

#[test]
fn a_block_that_is_opened_again_goes_on_where_it_was() {
    let mut blocks = table();
    let first = open(&mut blocks, 3);
    suspend(&mut blocks, first);
    blocks.check_suspended(ROW).expect("it is known once");
    let shown: Vec<_> = suspended(&blocks).iter().map(|one| (one.block, one.written)).collect();
    assert_eq!(shown, [(first, 3)]);
    // The second block must be full before a free one is opened.
    let second = open(&mut blocks, 15);
    assert!(second != first && blocks.table.state(second) == State::Closed);
    let again = write(&mut blocks, &mut Script { select_to_suspend: None, select_to_resume: Some(first) }, 1);
    assert_eq!(again, blocks.pools().at(first, 3 * 2));
    assert_eq!((blocks.table.state(first), suspended(&blocks).count()), (State::Open, 0));
    write(&mut blocks, &mut Script::default(), 12);
    assert_eq!(blocks.table.state(first), State::Closed);
    let told: Vec<String> =
        blocks.events.take().expect("it is observed").iter().map(|seen| format!("{seen:?}")).collect();
    let kinds: Vec<&str> = told.iter().map(|seen| seen.split(' ').next().expect("it has a name")).collect();
    assert_eq!(kinds, ["Opened", "Suspended", "Opened", "Closed", "Resumed", "Closed"]);
}

#[test]
fn a_stream_suspends_no_more_blocks_than_it_may_and_none_of_those_kept_for_the_collector() {
    let mut blocks = table();
    for _ in 0..2 {
        let block = open(&mut blocks, 1);
        suspend(&mut blocks, block);
    }
    let third = open(&mut blocks, 1);
    let mut script = Script { select_to_suspend: Some(third), select_to_resume: None };
    write(&mut blocks, &mut script, 1);
    assert_eq!(
        (script.select_to_suspend, blocks.table.state(third)),
        (Some(third), State::Open),
        "it was not asked"
    );

    let mut blocks = table();
    while blocks.space.free(ROW) > blocks.space.kept(ROW) {
        write(&mut blocks, &mut Script::default(), 1);
    }
    let last = open(&mut blocks, 1);
    let mut script = Script { select_to_suspend: Some(last), select_to_resume: None };
    write(&mut blocks, &mut script, 1);
    assert_eq!(
        (script.select_to_suspend, blocks.table.state(last)),
        (Some(last), State::Open),
        "it was not asked"
    );
}

#[test]
fn room_is_kept_for_the_blocks_that_may_be_suspended() {
    let (with, config) = (table(), small().check().expect("the device is sound"));
    let without = BlockManager::new(&config.pools, Streams::ONE_EACH, |_| false);
    assert_eq!(without.space.limit(ROW) - with.space.limit(ROW), 2 * 32);
}

#[test]
fn a_suspended_block_is_a_candidate_when_no_program_of_it_is_under_way() {
    let mut blocks = table();
    let first = blocks.take(ROW, HOST, 2, &mut Script::default());
    let block = block_of(&blocks, first);
    suspend(&mut blocks, block);
    assert_eq!(blocks.candidates(ROW).suspended().count(), 0);
    assert!(!blocks.table.is_candidate(block, ROW));
    blocks.validate(first);
    blocks.program_done(first);
    assert!(blocks.candidates(ROW).suspended().eq([block]) && blocks.table.is_candidate(block, ROW));
    assert_eq!(blocks.candidates(ROW).fewest_valid(), None, "it is not closed");
    blocks.make_victim(block);
    assert_eq!((blocks.table.state(block), suspended(&blocks).count()), (State::Victim, 0));
    blocks.invalidate(first);
    blocks.erased(block, 1);
    blocks.check_suspended(ROW).expect("none is left");
}

fn better(blocks: &BlockManager, closed: Option<BlockSetId>) -> Option<BlockSetId> {
    blocks.pool_of(ROW).better_of_suspended(ROW, closed, &blocks.table)
}

#[test]
fn a_suspended_block_is_the_victim_where_it_gains_more_of_what_is_written() {
    let mut blocks = table();
    let lose = |blocks: &mut BlockManager, block: BlockSetId, pages: u32| {
        let first = blocks.pools().at(block, blocks.table.next_valid(block, 0).expect("it holds pages")).0;
        (first..first + pages).for_each(|page| blocks.invalidate(Location(page)));
    };
    let block = open(&mut blocks, 3);
    suspend(&mut blocks, block);
    // The suspended block would gain only unwritten pages, and a closed block gains nothing.
    let closed = open(&mut blocks, 15);
    assert_eq!(blocks.table.state(closed), State::Closed);
    assert_eq!(better(&blocks, None), Some(block));
    lose(&mut blocks, closed, 1);
    assert_eq!(better(&blocks, Some(closed)), Some(closed));
    lose(&mut blocks, block, 2);
    assert_eq!(better(&blocks, Some(closed)), Some(block), "two of six pages by one of 32");
    lose(&mut blocks, closed, 1);
    assert_eq!(better(&blocks, Some(closed)), Some(closed));
}

#[test]
fn a_failure_closes_a_suspended_block() {
    let mut blocks = table();
    let block = open(&mut blocks, 1);
    suspend(&mut blocks, block);
    blocks.close(block);
    assert_eq!((blocks.table.state(block), suspended(&blocks).count()), (State::Closed, 0));
    assert_eq!(blocks.candidates(ROW).fewest_valid(), Some(block));
}

#[test]
fn a_design_is_told_of_a_page_that_a_suspended_block_loses() {
    let mut blocks = table();
    let last = write(&mut blocks, &mut Script::default(), 2);
    let block = block_of(&blocks, last);
    blocks.invalidate(last);
    suspend(&mut blocks, block);
    drop(blocks.events.take());
    blocks.invalidate(Location(last.0 + 1));
    let told = blocks.events.take().expect("it is observed");
    let [DeviceEvent::LostPage { block: of, location, valid }] = told[..] else { panic!("{told:?}") };
    assert_eq!((of, location.0, valid), (block, last.0 + 1, 2));
}

#[test]
fn after_a_power_cut_the_block_written_least_is_open_and_others_are_suspended() {
    let mut blocks = table();
    let mut written = Vec::new();
    for word_lines in [5, 1, 3] {
        let block = open(&mut blocks, word_lines);
        written.push((block, word_lines));
        if written.len() < 3 {
            // The next block begins with its own first word line.
            let mut script = Script { select_to_suspend: Some(block), select_to_resume: None };
            blocks.take(ROW, HOST, 2, &mut script);
        }
    }
    // The first word line of the second and third blocks was programmed when the block before was suspended.
    let locations = |block: BlockSetId| match written.iter().position(|(other, _)| *other == block) {
        Some(0) => 2 * 5,
        Some(n) => 2 * (written[n].1 + 1),
        None => 0,
    };
    blocks.forget(locations, |_| 0);
    let pools = blocks.pools().clone();
    blocks.rebuild_word_lines(|location| {
        let block = pools.block_of(location);
        location.0 - pools.at(block, 0).0 < locations(block)
    });
    let state = |n: usize| blocks.table.state(written[n].0);
    assert_eq!([state(0), state(1), state(2)], [State::Suspended, State::Open, State::Suspended]);
    blocks.check_suspended(ROW).expect("their word lines are known");
    write(&mut blocks, &mut Script::default(), 14);
    let mut script = Script { select_to_suspend: None, select_to_resume: Some(written[2].0) };
    assert_eq!(blocks.take(ROW, HOST, 2, &mut script), pools.at(written[2].0, 2 * 4));
}

#[test]
fn a_lost_row_suspends_nothing() {
    let mut blocks = table();
    let block = open(&mut blocks, 1);
    suspend(&mut blocks, block);
    blocks.fail_group(ROW, |_| ());
    blocks.check_suspended(ROW).expect("none is left");
    assert_eq!(blocks.table.state(block), State::Bad);
}
