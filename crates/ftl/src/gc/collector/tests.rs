mod units;

use wordline_flash::Flash;
use wordline_kernel::Seed;
use wordline_nand::{DataTag, Location, Pool};

use super::*;
use crate::Config;
use crate::blocks::Streams;
use crate::config::tests::small;
use crate::map::Relocation;
use crate::policies::Policies;
use crate::policy::frontier::OpenBlock;
use crate::policy::victim::{Fifo, Greedy};

/// Selector that programs word lines in numerical order. It is never queried.
fn by_number(_: &[OpenBlock<'_>], _: &BlockManager) -> (usize, u32) {
    unreachable!("word lines go by their numbers")
}

/// Next GC step in a plane group of a device without designs.
fn next_in(
    row: PlaneGroupId,
    collector: &mut Collector,
    blocks: &mut BlockManager,
    leave: GcLimits,
) -> Option<Step> {
    let config = small().check().expect("the device is sound");
    let (flash, mut policies) =
        (Flash::new(&config.flash(), Seed(1)), Policies::of(&config).split(&config, Seed(1)).0);
    collector.next(row, blocks, leave, &flash, &mut policies)
}

/// Executes the next GC step in the first plane group at once. Returns false if there is none.
fn step(collector: &mut Collector, blocks: &mut BlockManager) -> bool {
    step_in(PlaneGroupId(0), collector, blocks, &mut Vec::new())
}

/// Executes the next GC step in a plane group at once and records erased blocks. Returns false if there is
/// none.
fn step_in(
    row: PlaneGroupId,
    collector: &mut Collector,
    blocks: &mut BlockManager,
    erased: &mut Vec<BlockSetId>,
) -> bool {
    match next_in(row, collector, blocks, GcLimits::REQUIRED) {
        None => return false,
        Some(step @ (Step::Copyback { .. } | Step::QueryRelocator)) => {
            unreachable!("{step:?} with one pool, and without copyback")
        }
        Some(Step::Read { first, end, .. }) => {
            for from in (first.0..end.0).map(Location) {
                collector.rows[row].stage(0, Relocation { stamp: DataTag::PADDING, from });
            }
        }
        Some(Step::Program { stream }) => {
            let first = blocks.take(row, stream, blocks.pools().per_program(row), &mut by_number);
            let moved: Vec<Relocation> = collector.rows[row].unit.drain(..).collect();
            for (n, page) in moved.iter().enumerate() {
                blocks.invalidate(page.from);
                blocks.validate(Location(first.0 + n as u32));
            }
            blocks.program_done(first);
        }
        Some(Step::Erase { block }) => {
            blocks.erased(block, 1);
            erased.push(block);
        }
        Some(Step::Retire { block }) => blocks.retire(block),
    }
    collector.command_done(row)
}

/// A block table with one plane group, this many free blocks, and FIFO victims. Each of the oldest blocks has
/// one invalid page, so that its relocated pages fill nearly a whole block of GC.
fn table(free: usize) -> BlockManager {
    let Config { pools, .. } = small().check().expect("the device is sound");
    let Pool { geometry, .. } = pools.first();
    let mut blocks = BlockManager::new(&pools, Streams::ONE_EACH, |_| false);
    blocks.keep(Fifo.needs());
    let GcFile { start_below_free_blocks, stop_at_free_blocks, .. } = GcFile::default();
    blocks.set_gc_watermarks(0, [start_below_free_blocks, stop_at_free_blocks]);
    let per_block = geometry.pages_per_block_set();
    while blocks.space().free(PlaneGroupId(0)) > free {
        for n in 0..per_block {
            let page = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.host(0), 1, &mut by_number);
            if n >= if page.0 < 8 * per_block { 1 } else { per_block / 2 } {
                blocks.validate(page);
            }
            blocks.program_done(page);
        }
    }
    blocks
}

/// A block table with one plane group of full blocks. The first blocks have the given numbers of invalid
/// pages.
fn nearly_full(free: usize, invalid: &[u32]) -> BlockManager {
    let Config { pools, .. } = small().check().expect("the device is sound");
    let mut blocks = BlockManager::new(&pools, Streams::ONE_EACH, |_| false);
    blocks.keep(Fifo.needs());
    blocks.set_gc_watermarks(0, [6, 6]);
    let mut invalid = invalid.iter();
    while blocks.space().free(PlaneGroupId(0)) > free {
        let missing = invalid.next().copied().unwrap_or(0);
        for n in 0..pools.per_block_of(PlaneGroupId(0)) {
            let page = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.host(0), 1, &mut by_number);
            if n >= missing {
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
    blocks.set_gc_watermarks(0, [5, 5]);
    let mut collector = fifo(&GcFile { steps_per_write: Some(3), ..GcFile::default() });
    for _ in 0..4 {
        let steps = (0..100).filter(|_| step(&mut collector, &mut blocks)).count();
        assert_eq!(steps, 3);
        collector.spend(PlaneGroupId(0), 2);
    }
    while blocks.space().free(PlaneGroupId(0)) > 2 {
        let page = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.host(0), 1, &mut by_number);
        blocks.program_done(page);
    }
    let steps = (0..100).filter(|_| step(&mut collector, &mut blocks)).count();
    assert!(
        steps > 3 && blocks.space().free(PlaneGroupId(0)) > 2,
        "{steps} steps to a block beside those kept"
    );
}

/// Each of the first victims has one invalid page of 32. Two victims are relocated for each program unit of
/// the host.
#[test]
fn a_paced_collector_wins_back_what_the_host_takes_and_no_more() {
    let (row, mut blocks) = (PlaneGroupId(0), table(6));
    // Enough blocks are free that the reserved ones are never used.
    blocks.set_gc_watermarks(0, [5, 5]);
    let mut collector = fifo(&GcFile { paced: true, ..GcFile::default() });
    let unit = blocks.pools().per_program(row);
    let write = |blocks: &mut BlockManager| {
        let page = blocks.take(row, Streams::ONE_EACH.host(0), unit, &mut by_number);
        blocks.program_done(page);
    };
    assert!(!step(&mut collector, &mut blocks), "as much is free as it goes for");
    let room = |collector: &Collector, blocks: &BlockManager| {
        blocks.room_of(row) as usize + collector.rows[row].processed_pages(row, blocks)
    };
    let wanted = room(&collector, &blocks);
    for _ in 0..200 {
        write(&mut blocks);
        let steps = (0..1_000).take_while(|_| step(&mut collector, &mut blocks)).count();
        let more = room(&collector, &blocks) - wanted;
        // Contiguous invalid pages are processed in one step. At most this is a whole victim.
        let most = blocks.pools().per_block_of(row);
        assert!(steps <= 140 && more <= most as usize, "{steps} steps, {more} pages more than at first");
        assert!(!collector.throttles_host(row, &blocks));
    }
    while collector.rows[row].is_ahead(row, &blocks) {
        write(&mut blocks);
    }
    write(&mut blocks);
    collector.rows[row].active = true;
    assert!(collector.throttles_host(row, &blocks), "the host is more than a unit ahead");
}

/// A program unit has two pages here. A victim with a single invalid page therefore ends with padding, which
/// fills the destination block.
#[test]
fn a_collector_rests_where_it_would_gain_nothing_but_its_own_padding() {
    for (invalid, left, most) in [(&[1][..], 1, 0), (&[1, 1], 0, 200), (&[1, 1, 1], 1, 200), (&[32], 0, 1)] {
        let mut blocks = nearly_full(4, invalid);
        let mut collector = fifo(&GcFile::default());
        let steps = (0..1_000).take_while(|_| step(&mut collector, &mut blocks)).count();
        assert!(steps <= most, "{invalid:?}: {steps} steps");
        assert_eq!(
            blocks.invalid_in_closed(PlaneGroupId(0)),
            left,
            "{invalid:?}: a unit more would be gained"
        );
        assert!(
            !collector.rows[PlaneGroupId(0)].stuck && collector.can_afford(PlaneGroupId(0), 2),
            "{invalid:?}: the host may write"
        );
    }
}

#[test]
fn victims_that_are_read_for_long_do_not_end_the_life_of_their_row() {
    for all in [false, true] {
        let mut blocks = table(2);
        let read = BlockSetId(0);
        let closed = |blocks: &BlockManager| {
            let of_group = blocks.pools().of_group(PlaneGroupId(0)).geometry.blocks_of(PlaneGroupId(0));
            of_group.filter(|block| blocks.table().state(*block) == State::Closed).collect::<Vec<_>>()
        };
        let reads = if all { closed(&blocks) } else { vec![read] };
        reads.iter().for_each(|block| blocks.read_queued(*block));
        let mut collector = fifo(&GcFile::default());
        while step(&mut collector, &mut blocks) {}
        assert!(
            blocks.table().state(read) == State::Victim && !collector.rows[PlaneGroupId(0)].stuck,
            "it waits for the reader"
        );
        assert_eq!(
            blocks.space().free(PlaneGroupId(0)) >= 3,
            !all,
            "others are collected meanwhile, if nobody reads them"
        );
        assert!(blocks.read_done(read), "a victim waited for the reader");
        reads.iter().filter(|block| **block != read).for_each(|block| _ = blocks.read_done(*block));
        while step(&mut collector, &mut blocks) {}
        assert!(blocks.space().free(PlaneGroupId(0)) >= 3 && !collector.rows[PlaneGroupId(0)].stuck);
    }
}

#[test]
fn listed_pages_move_in_their_order_and_the_blocks_that_they_were_in_stay() {
    let mut blocks = nearly_full(4, &[]);
    blocks.set_gc_watermarks(0, [3, 3]);
    let mut collector = fifo(&GcFile::default());
    let listed: Vec<Location> = [5, 4, 12, 0, 40].map(|n| blocks.pools().at(BlockSetId(n % 3), n)).to_vec();
    blocks.invalidate(listed[2]);
    collector.rows[PlaneGroupId(0)].begin(Job::relocating(listed.clone(), (BlockSetId(0), 0)));
    let (mut programmed, mut padded) = (Vec::new(), 0);
    while let Some(next) = next_in(PlaneGroupId(0), &mut collector, &mut blocks, GcLimits::REQUIRED) {
        match next {
            Step::Read { first, end, valid } => {
                assert_eq!(
                    (end.0 - first.0, valid),
                    (1, 1),
                    "those beside it are not listed, or come before"
                );
                collector.rows[PlaneGroupId(0)].stage(0, Relocation { stamp: DataTag::PADDING, from: first });
            }
            Step::Program { stream } => {
                let unit = blocks.pools().per_program(PlaneGroupId(0));
                let first = blocks.take(PlaneGroupId(0), stream, unit, &mut by_number);
                let moved: Vec<Relocation> = collector.rows[PlaneGroupId(0)].unit.drain(..).collect();
                padded += unit as usize - moved.len();
                for (n, page) in moved.iter().enumerate() {
                    blocks.invalidate(page.from);
                    blocks.validate(Location(first.0 + n as u32));
                }
                blocks.program_done(first);
                programmed.extend(moved.iter().map(|page| page.from));
            }
            step => panic!("{step:?} in a row that needs no blocks"),
        }
        collector.command_done(PlaneGroupId(0));
    }
    assert_eq!(programmed, [listed[0], listed[1], listed[3], listed[4]], "the third was not valid any more");
    assert_eq!(padded, 0);
    assert!((0..3).all(|n| blocks.table().state(BlockSetId(n)) == State::Closed), "they are not emptied");
    assert!(collector.rows[PlaneGroupId(0)].job.is_none() && collector.is_idle());
}

#[test]
fn what_is_collected_while_the_host_is_idle_waits_when_it_is_not_until_blocks_are_needed() {
    let mut blocks = table(5);
    let mut collector = fifo(&GcFile::default());
    let idle = GcLimits { idle_goal: 7, is_idle: true, ..GcLimits::REQUIRED };
    let carry_out = |collector: &mut Collector, blocks: &mut BlockManager, leave| {
        let next = next_in(PlaneGroupId(0), collector, blocks, leave);
        if let Some(Step::Read { first, end, .. }) = next {
            for from in (first.0..end.0).map(Location) {
                collector.rows[PlaneGroupId(0)].stage(0, Relocation { stamp: DataTag::PADDING, from });
            }
            collector.command_done(PlaneGroupId(0));
        }
        next
    };
    let begun = carry_out(&mut collector, &mut blocks, idle);
    assert!(matches!(begun, Some(Step::Read { .. })), "{begun:?}");
    assert_eq!(carry_out(&mut collector, &mut blocks, GcLimits::REQUIRED), None, "the host is at work");
    while blocks.space().free(PlaneGroupId(0)) > 2 {
        let page = blocks.take(PlaneGroupId(0), Streams::ONE_EACH.host(0), 1, &mut by_number);
        blocks.program_done(page);
    }
    let needed = carry_out(&mut collector, &mut blocks, GcLimits::REQUIRED);
    assert!(needed.is_some(), "what was begun is finished first");
    let of_group = blocks.pools().of_group(PlaneGroupId(0)).geometry.blocks_of(PlaneGroupId(0));
    assert_eq!(of_group.filter(|block| blocks.table().state(*block) == State::Victim).count(), 1);
}

/// A block table of four plane groups with superblocks and this many free blocks in each plane group. `valid`
/// returns the number of valid pages of the n-th block of a plane group.
fn rows_of_super_blocks(
    policy: &dyn VictimPolicy,
    free: u32,
    valid: impl Fn(PlaneGroupId, u32) -> u32,
) -> BlockManager {
    let Config { pools, .. } = small().check().expect("the device is sound");
    let Pool { geometry, locations, .. } = pools.first();
    let mut blocks = BlockManager::new(&pools, Streams::ONE_EACH, |_| false);
    blocks.keep(policy.needs());
    blocks.set_gc_watermarks(0, [6, 6]);
    blocks.form_super_blocks(0);
    for n in 0..geometry.blocks_per_plane - free {
        for row in 0..geometry.rows() {
            for place in 0..locations.per_block() {
                let page = blocks.take(PlaneGroupId(row), Streams::ONE_EACH.host(0), 1, &mut by_number);
                if place < valid(PlaneGroupId(row), n) {
                    blocks.validate(page);
                }
                blocks.program_done(page);
            }
        }
    }
    blocks.audit();
    blocks
}

/// Number of a block in its plane group.
fn number(block: BlockSetId, blocks: &BlockManager) -> u32 {
    block.0 % blocks.pools().first().geometry.blocks_per_plane
}

fn full() -> u32 {
    small().check().expect("the device is sound").pools.per_block_of(PlaneGroupId(0))
}

fn collector_of_four(policy: Box<dyn VictimPolicy>) -> Collector {
    Collector::new(4, 1, policy, Seed(1).stream("test.victim", 0), &GcFile::default())
}

#[test]
fn all_blocks_of_a_super_block_are_erased_before_another_is_chosen() {
    // Victims have whole program units of valid pages, so that none is carried over.
    let mut blocks = rows_of_super_blocks(&Fifo, 3, |_, n| full() / 4 + 2 * (n % 2));
    let mut collector = collector_of_four(Box::new(Fifo));
    let (mut erased, mut chosen, mut steps) = (Vec::new(), 0, 1);
    while steps > 0 {
        steps = 0;
        for row in 0..4 {
            steps += u32::from(step_in(PlaneGroupId(row), &mut collector, &mut blocks, &mut erased));
            let now = blocks.by_pool().super_block_counts().expect("there are some").chosen;
            if now > chosen {
                assert_eq!(erased.len() as u64, 4 * chosen, "all of the last one are erased");
                assert_eq!(blocks.by_pool().super_blocks_collecting(), 1);
                chosen = now;
            }
            blocks.audit();
        }
    }
    assert!(chosen > 2, "{chosen} were chosen");
    assert_eq!(erased.len() as u64, 4 * chosen);
    for (n, together) in erased.chunks(4).enumerate() {
        let mut rows: Vec<PlaneGroupId> =
            together.iter().map(|block| blocks.table().group_of(*block)).collect();
        rows.sort_unstable();
        assert_eq!(rows, [0, 1, 2, 3].map(PlaneGroupId), "one of each row");
        assert!(
            together.iter().all(|block| number(*block, &blocks) == n as u32),
            "{erased:?}: the oldest first"
        );
    }
}

#[test]
fn a_row_to_which_a_super_block_gains_nothing_cleans_a_victim_of_its_own() {
    let full = full();
    let valid = |row, n| if row == PlaneGroupId(1) && n < 8 { full } else { full / 2 };
    let mut blocks = rows_of_super_blocks(&Fifo, 3, valid);
    let mut collector = collector_of_four(Box::new(Fifo));
    let mut erased = Vec::new();
    while step_in(PlaneGroupId(1), &mut collector, &mut blocks, &mut erased) {}
    assert!(blocks.space().free(PlaneGroupId(1)) >= 6, "the row does not wait for the others");
    assert!(erased.iter().all(|block| number(*block, &blocks) >= 8), "{erased:?} gained something");
    assert!(
        blocks
            .pool_of(PlaneGroupId(0))
            .next_super_block_victim(PlaneGroupId(0))
            .is_some_and(|block| number(block, &blocks) == 0)
    );
    assert_eq!(blocks.pool_of(PlaneGroupId(1)).next_super_block_victim(PlaneGroupId(1)), None);
    blocks.audit();
}

#[test]
fn a_super_block_that_lost_blocks_is_compared_by_the_share_of_what_is_left() {
    let full = full();
    // The first two superblocks will each have a single block left, one with more and one with fewer valid
    // pages than others.
    let valid =
        |row, n| if n > 1 || row > PlaneGroupId(0) { full / 2 } else { [full - 2, full / 4][n as usize] };
    let mut blocks = rows_of_super_blocks(&Greedy, 3, valid);
    for (row, n) in [0, 1].into_iter().flat_map(|n| (1..4).map(move |row| (row, n))) {
        blocks.make_victim(BlockSetId(row * blocks.pools().first().geometry.blocks_per_plane + n));
    }
    let mut random = Seed(1).stream("test.victim", 0);
    let mut order = Vec::new();
    for _ in 0..8 {
        let candidates =
            blocks.pool_of(PlaneGroupId(0)).super_block_candidates().expect("none is being collected");
        let chosen = Greedy.choose(candidates, &mut random).expect("there are more");
        blocks.choose_super_block(PlaneGroupId(0), chosen);
        order.extend(
            blocks
                .pool_of(PlaneGroupId(0))
                .next_super_block_victim(PlaneGroupId(0))
                .map(|block| number(block, &blocks)),
        );
        for block in (0..4)
            .filter_map(|row| blocks.pool_of(PlaneGroupId(row)).next_super_block_victim(PlaneGroupId(row)))
            .collect::<Vec<_>>()
        {
            blocks.make_victim(block);
        }
        blocks.audit();
        (0..4).for_each(|row| {
            assert_eq!(blocks.pool_of(PlaneGroupId(row)).next_super_block_victim(PlaneGroupId(row)), None);
        });
        let of_group =
            |row| BlockSetId(row * blocks.pools().first().geometry.blocks_per_plane + order[order.len() - 1]);
        for block in (0..4).map(of_group).collect::<Vec<_>>() {
            while let Some(place) = blocks.table().next_valid(block, 0) {
                blocks.invalidate(blocks.pools().at(block, place));
            }
            blocks.erased(block, 1);
        }
    }
    assert_eq!(order[0], 1, "a quarter of what is left is valid: {order:?}");
    assert!(!order.contains(&0), "what gains more goes first: {order:?}");
}
