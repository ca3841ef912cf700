//! Tables of the failure manager alone: the paper's figures, state by state, and every small case against a
//! model.

use std::collections::BTreeSet;

use wordline_kernel::Bytes;
use wordline_nand::BlockSetId;
use wordline_open_channel::device::chunks::ChunkId;
use wordline_open_channel::device::failures::{
    EarlyClose, Element, Manager, NoBlock, PageLocation, Phase, Shape, Step, memory,
};

const CHUNK: ChunkId = ChunkId(0);

fn locate(block: u32, page: u32) -> PageLocation {
    PageLocation { block: BlockSetId(block), page }
}

fn element(block: u32, pages: u32, is_bad: bool) -> Element {
    Element { block: BlockSetId(block), pages, is_bad }
}

/// Blocks of four pages, 100 chunks, and reserve blocks from 100 on, as in the paper's figures.
fn drawn(shifts: bool) -> Manager {
    let shape = Shape { units: 1, blocks_per_unit: 104, chunks_per_unit: 100, pages: 4 };
    Manager::new(shape, shifts, EarlyClose::Pad, &[]).0
}

/// Open block list of a chunk.
fn list(manager: &Manager, chunk: ChunkId) -> Vec<Element> {
    manager.list(chunk).map(|list| list.elements.clone()).unwrap_or_default()
}

// Figures of the paper.

#[test]
fn figure_6_all_pages_are_copied_before_a_failed_one_is_tried_again() {
    let mut manager = drawn(false);
    for page in 0..3 {
        assert_eq!(manager.locate(CHUNK, page), locate(0, page));
        manager.note_programmed(CHUNK);
    }
    manager.failed(CHUNK, 3, true).expect("there is a reserve");
    assert!(manager.must_copy_first(0));
    for page in 0..3 {
        let step = Step::Copy { from: locate(0, page), to: locate(100, page) };
        assert_eq!(manager.step(CHUNK), step);
        assert_eq!(manager.locate(CHUNK, page), locate(0, page), "it is read from where it was");
        manager.complete_step(CHUNK, step);
    }
    assert_eq!(manager.step(CHUNK), Step::Finish);
    manager.finish(CHUNK);
    assert_eq!((manager.block(CHUNK), manager.shift(CHUNK)), (BlockSetId(100), Some(0)));
    assert_eq!(manager.locate(CHUNK, 3), locate(100, 3));
    assert!(!manager.must_copy_first(0));
}

#[test]
fn figures_7_and_10_a_failed_page_goes_to_the_first_of_a_reserve_block_and_pages_follow_later() {
    let mut manager = drawn(true);
    // Step 1: D0 and D1 are in PBN 0, and the program of D2 fails.
    (0..2).for_each(|_| manager.note_programmed(CHUNK));
    manager.failed(CHUNK, 2, true).expect("there is a reserve");
    assert_eq!(list(&manager, CHUNK), [element(0, 2, true), element(100, 0, false)]);
    assert_eq!(manager.shift(CHUNK), None);
    // Steps 2 and 3: D2 goes to the first page of PBN 100.
    assert_eq!(manager.locate(CHUNK, 2), locate(100, 0));
    manager.note_programmed(CHUNK);
    assert_eq!(list(&manager, CHUNK), [element(0, 2, true), element(100, 1, false)]);
    // Steps 4 and 5: D3 follows it. The pages now fill a block.
    assert_eq!(manager.locate(CHUNK, 3), locate(100, 1));
    assert_eq!(manager.next_to_migrate(0), None);
    manager.note_programmed(CHUNK);
    assert_eq!(list(&manager, CHUNK), [element(0, 2, true), element(100, 2, false)]);
    assert_eq!(manager.next_to_migrate(0), Some(CHUNK));
    // Steps 6 and 7: D0 and D1 are copied after D3. Then the map changes, with a shift of 2.
    for page in 0..2 {
        let step = Step::Copy { from: locate(0, page), to: locate(100, 2 + page) };
        assert_eq!(manager.step(CHUNK), step);
        manager.complete_step(CHUNK, step);
    }
    assert_eq!(manager.step(CHUNK), Step::Finish);
    manager.finish(CHUNK);
    assert_eq!((manager.block(CHUNK), manager.shift(CHUNK)), (BlockSetId(100), Some(2)));
    assert!(manager.list(CHUNK).is_none());
    let all: Vec<PageLocation> = (0..4).map(|page| manager.locate(CHUNK, page)).collect();
    assert_eq!(all, [locate(100, 2), locate(100, 3), locate(100, 0), locate(100, 1)]);
}

#[test]
fn figure_11_a_second_failure_adds_another_block() {
    let mut manager = drawn(true);
    (0..2).for_each(|_| manager.note_programmed(CHUNK));
    manager.failed(CHUNK, 2, true).expect("there is a reserve");
    manager.note_programmed(CHUNK);
    manager.failed(CHUNK, 3, true).expect("there is a reserve");
    let two = [element(0, 2, true), element(100, 1, true), element(101, 0, false)];
    assert_eq!(list(&manager, CHUNK), two);
    assert_eq!(manager.locate(CHUNK, 3), locate(101, 0));
    manager.note_programmed(CHUNK);
    let sources = [locate(0, 0), locate(0, 1), locate(100, 0)];
    for (from, page) in sources.into_iter().zip(1..) {
        let step = Step::Copy { from, to: locate(101, page) };
        assert_eq!(manager.step(CHUNK), step);
        manager.complete_step(CHUNK, step);
    }
    manager.finish(CHUNK);
    assert_eq!((manager.block(CHUNK), manager.shift(CHUNK)), (BlockSetId(101), Some(1)));
    let all: Vec<PageLocation> = (0..4).map(|page| manager.locate(CHUNK, page)).collect();
    assert_eq!(all, [locate(101, 1), locate(101, 2), locate(101, 3), locate(101, 0)]);
    assert_eq!(manager.reserve(0).len(), 2, "blocks in which a program failed are not used again");
}

#[test]
fn figures_9_and_12_a_read_goes_by_the_shift_or_through_the_list() {
    let mut manager = drawn(true);
    // D2 of LBN 0, without a shift.
    (0..4).for_each(|_| manager.note_programmed(CHUNK));
    assert_eq!(manager.locate(CHUNK, 2), locate(0, 2));
    // D10 is page 2 of LBN 2, which has two pages in PBN 2 and one in PBN 100.
    let third = ChunkId(2);
    (0..2).for_each(|_| manager.note_programmed(third));
    manager.failed(third, 2, true).expect("there is a reserve");
    manager.note_programmed(third);
    assert_eq!(list(&manager, third), [element(2, 2, true), element(100, 1, false)]);
    assert_eq!(manager.locate(third, 1), locate(2, 1));
    assert_eq!(manager.locate(third, 2), locate(100, 0), "page 2 of a block of two is in the next one");
    // D6 is page 2 of LBN 1, which has a shift of 2.
    let second = ChunkId(1);
    (0..2).for_each(|_| manager.note_programmed(second));
    manager.failed(second, 2, true).expect("there is a reserve");
    (0..2).for_each(|_| manager.note_programmed(second));
    while manager.step(second) != Step::Finish {
        manager.complete_step(second, manager.step(second));
    }
    manager.finish(second);
    assert_eq!((manager.shift(second), manager.locate(second, 2)), (Some(2), locate(101, 0)));
}

#[test]
fn the_tables_take_the_memory_that_the_paper_says() {
    // Section V.A: 13 bits for each of 8,192 blocks, and 11 bits for a shift among 1,536 pages.
    let [map, shift] = memory(8192, 1536);
    assert_eq!((map, shift), (Bytes::kib(13), Bytes::kib(11)));
}

// Every small case.

/// Model of a chunk with its blocks, and of the programs that fail.
#[derive(Clone)]
struct Small {
    manager: Manager,
    blocks: Vec<Vec<Option<u32>>>,
    written: u32,
    programs: u32,
    fails: BTreeSet<u32>,
    shifts: bool,
}

impl Small {
    /// Chunk with enough reserve blocks for all failures.
    fn new(size: u32, shifts: bool, early_close: EarlyClose, fails: &[u32]) -> Self {
        let shape = Shape { units: 1, blocks_per_unit: 6, chunks_per_unit: 1, pages: size };
        Self {
            manager: Manager::new(shape, shifts, early_close, &[]).0,
            blocks: vec![Vec::new(); 6],
            written: 0,
            programs: 0,
            fails: fails.iter().copied().collect(),
            shifts,
        }
    }

    fn program(&mut self, to: PageLocation, data: u32) -> bool {
        let fails = self.fails.contains(&self.programs);
        self.programs += 1;
        let block = &mut self.blocks[to.block.0 as usize];
        assert_eq!(block.len() as u32, to.page, "pages of a block are programmed in order");
        block.push((!fails).then_some(data));
        !fails
    }

    fn write(&mut self) {
        while !self.program(self.manager.locate(CHUNK, self.written), self.written) {
            self.manager.failed(CHUNK, self.written, true).expect("there is a reserve");
            self.check();
            while !self.shifts && self.manager.must_copy_first(0) {
                self.step();
            }
        }
        self.manager.note_programmed(CHUNK);
        self.written += 1;
        self.check();
    }

    fn step(&mut self) {
        let step = self.manager.step(CHUNK);
        let (to, data) = match step {
            Step::Finish => {
                self.manager.finish(CHUNK);
                return self.check();
            }
            Step::Pad { to } => (to, u32::MAX),
            Step::Copy { from, to } => {
                (to, self.blocks[from.block.0 as usize][from.page as usize].expect("it was written"))
            }
        };
        if self.program(to, data) {
            self.manager.complete_step(CHUNK, step);
        } else {
            self.manager.fail_step(CHUNK, step, true).expect("there is a reserve");
        }
        self.check();
    }

    /// Checks that each page reads back.
    fn check(&self) {
        self.manager.check(6, []).expect("the tables agree");
        for page in 0..self.written {
            let PageLocation { block, page: of_block } = self.manager.locate(CHUNK, page);
            assert_eq!(self.blocks[block.0 as usize][of_block as usize], Some(page), "page {page}");
        }
    }

    /// Resets a copy of the chunk, and checks that it can be written from its start.
    fn reset(&self, size: u32) {
        let mut other = self.clone();
        let block = other.manager.reset(CHUNK, false).expect("a block is left");
        other.blocks[block.0 as usize].clear();
        while other.manager.next_to_erase(0).is_some() {
            let used = other.manager.next_to_erase(0).expect("there is one");
            other.blocks[used.0 as usize].clear();
            other.manager.erased(0, false);
        }
        (other.written, other.fails) = (0, BTreeSet::new());
        other.manager.check(6, []).expect("the tables agree");
        (0..size).for_each(|_| other.write());
        assert_eq!(other.manager.shift(CHUNK), Some(0));
    }
}

/// Writes a chunk up to page `close`, and migrates its pages into one block. If `resets` is true, tries a
/// reset after every step. Returns the number of programs.
fn play(size: u32, close: u32, mut small: Small, resets: bool) -> u32 {
    let try_reset = |small: &Small| {
        if resets {
            small.reset(size);
        }
    };
    for _ in 0..close {
        small.write();
        try_reset(&small);
    }
    if close < size {
        small.manager.closed(CHUNK);
    }
    while small.manager.next_to_migrate(0).is_some() {
        small.step();
        try_reset(&small);
    }
    // The shift gives every address, unless the chunk keeps its list on purpose.
    match small.manager.list(CHUNK) {
        Some(list) => assert_eq!((list.phase, close < size), (Phase::Kept, true)),
        None => {
            let shift = small.manager.shift(CHUNK).expect("it has no list");
            for page in 0..close {
                let wanted = PageLocation { block: small.manager.block(CHUNK), page: (page + shift) % size };
                assert_eq!(small.manager.locate(CHUNK, page), wanted);
            }
        }
    }
    small.programs
}

/// All sets of at most three different numbers below `end`.
fn sets(end: u32) -> impl Iterator<Item = Vec<u32>> {
    (0..=end).flat_map(move |a| {
        (a..=end).flat_map(move |b| {
            (b..=end).filter_map(move |c| {
                // The number `end` means "no number".
                let set: Vec<u32> = [a, b, c].into_iter().filter(|n| *n < end).collect();
                set.windows(2).all(|two| two[0] < two[1]).then_some(set)
            })
        })
    })
}

#[test]
fn every_set_of_three_failures_and_every_early_close_reads_back() {
    for size in 4..=8 {
        for (shifts, early_close) in
            [(true, EarlyClose::Pad), (true, EarlyClose::KeepList), (false, EarlyClose::Pad)]
        {
            let (mut cases, mut latest) = (0, 0);
            // Pages are written once, and copied at most once for each failure and once more.
            for set in sets(size * 4) {
                for close in 0..=size {
                    let small = Small::new(size, shifts, early_close, &set);
                    latest = latest.max(play(size, close, small, size == 4));
                    cases += 1;
                }
            }
            assert!(cases > 900 && latest > size * 2, "{cases} cases of {size} pages, {latest} programs");
        }
    }
}

#[test]
fn a_reserve_that_is_used_up_leaves_what_was_written_readable() {
    let mut small = Small::new(4, true, EarlyClose::Pad, &[1, 2, 3, 4, 5, 6]);
    small.write();
    small.program(small.manager.locate(CHUNK, 1), 1);
    for _ in 0..5 {
        small.manager.failed(CHUNK, 1, true).expect("there are five blocks");
        small.program(small.manager.locate(CHUNK, 1), 1);
    }
    let before = small.manager.clone();
    assert_eq!(small.manager.failed(CHUNK, 1, true), Err(NoBlock::UsedUp));
    assert!(small.manager == before, "nothing has changed");
    small.check();
}

#[test]
fn a_copy_without_a_block_for_it_leaves_the_list() {
    // Programs 0 to 4 are pages 0 and 1, page 2 twice, and page 3. From 5 on they are copies, and all of
    // these fail.
    let fails: Vec<u32> = [2].into_iter().chain(5..30).collect();
    let mut small = Small::new(4, true, EarlyClose::Pad, &fails);
    (0..4).for_each(|_| small.write());
    while small.manager.next_to_migrate(0).is_some() {
        let step = small.manager.step(CHUNK);
        let Step::Copy { to, .. } = step else { panic!("a copy is next, and not {step:?}") };
        assert!(!small.program(to, 0));
        let _ = small.manager.fail_step(CHUNK, step, true);
        small.check();
    }
    assert_eq!(small.manager.list(CHUNK).expect("it stays").phase, Phase::Kept);
    assert!(small.manager.reserve(0).is_empty());
}

#[test]
fn a_torn_block_goes_back_to_the_reserve_and_is_erased_before_it_is_used() {
    let mut small = Small::new(4, true, EarlyClose::Pad, &[]);
    small.write();
    small.blocks[0].push(None);
    small.manager.failed(CHUNK, 1, false).expect("there is a reserve");
    (0..3).for_each(|_| small.write());
    while small.manager.next_to_migrate(0).is_some() {
        small.step();
    }
    assert_eq!((small.manager.reserve(0).len(), small.manager.next_to_erase(0)), (5, Some(BlockSetId(0))));
    small.manager.erased(0, false);
    assert_eq!((small.manager.reserve(0).len(), small.manager.next_to_erase(0)), (5, None));
}
