//! The published layouts as test vectors, and properties of all layouts.

use super::*;
use proptest::prelude::*;

fn table(pairing: Pairing, bits: u32, pages: u32) -> PageTable {
    pairing.table(bits, pages).expect("the layout has such a block")
}

/// Types of the pages from `from` on, as letters.
fn letters(table: &PageTable, from: usize, count: usize) -> String {
    table.types()[from..from + count].iter().map(|t| ['L', 'C', 'U', 'T'][usize::from(*t)]).collect()
}

fn pairs(table: &PageTable, word_lines: impl Iterator<Item = u32>) -> Vec<Vec<u32>> {
    word_lines.map(|word_line| table.pages_of(word_line).collect()).collect()
}

#[test]
fn pages_of_a_word_line_lie_side_by_side_by_default() {
    let table = table(Pairing::default(), 3, 576);
    assert_eq!(table.word_lines(), 192);
    for page in 0..576 {
        assert_eq!((table.page_type(page), table.word_line(page)), (page % 3, page / 3));
    }
}

#[test]
fn four_then_pairs_is_the_layout_of_most_measured_devices() {
    for pages in [128, 256] {
        let table = table(Pairing::FourThenPairs, 2, pages);
        for page in 0..pages {
            // NANDFlashSim, section 7.2, in closed form.
            let slow = page >= pages - 4 || (page >= 4 && ((page - 4) >> 1) % 2 == 0);
            assert_eq!(table.page_type(page), u32::from(slow), "page {page} of {pages}");
        }
    }
    let small = table(Pairing::FourThenPairs, 2, 128);
    let first = [[0, 4], [1, 5], [2, 8], [3, 9], [6, 12], [7, 13], [10, 16], [11, 17]];
    assert_eq!(pairs(&small, 0..8), first);
    let last = [[114, 120], [115, 121], [118, 124], [119, 125], [122, 126], [123, 127]];
    assert_eq!(pairs(&small, 58..64), last);
    let large = table(Pairing::FourThenPairs, 2, 256);
    assert_eq!(pairs(&large, 0..8), first);
    let last = [[242, 248], [243, 249], [246, 252], [247, 253], [250, 254], [251, 255]];
    assert_eq!(pairs(&large, 122..128), last);
}

#[test]
fn two_then_singles_is_dist3_of_linux() {
    let table = table(Pairing::TwoThenSingles, 2, 128);
    assert_eq!(pairs(&table, 0..6), [[0, 2], [1, 4], [3, 6], [5, 8], [7, 10], [9, 12]]);
    assert_eq!(pairs(&table, 60..64), [[119, 122], [121, 124], [123, 126], [125, 127]]);
    for page in 0..128 {
        let slow = page == 127 || (page > 0 && page % 2 == 0);
        assert_eq!(table.page_type(page), u32::from(slow), "page {page}");
    }
}

#[test]
fn the_l95b_has_the_types_that_were_measured() {
    let table = table(Pairing::MeasuredL95b, 2, 512);
    let low = [0, 1, 2, 3, 4, 5, 7, 8, 502, 503, 506, 507, 509, 510];
    let high = [6, 9, 504, 505, 508, 511];
    assert!(low.iter().all(|page| table.page_type(*page) == 0), "low pages at the ends");
    assert!(high.iter().all(|page| table.page_type(*page) == 1), "high pages at the ends");
    for page in 10..502 {
        assert_eq!(table.page_type(page), (page - 10) / 2 % 2, "page {page}");
    }
    let counts = [0, 1].map(|t| table.types().iter().filter(|of| **of == t).count());
    assert_eq!(counts, [260, 252]);
}

#[test]
fn the_first_and_the_last_four_word_lines_of_the_l95b_hold_one_page() {
    let table = table(Pairing::MeasuredL95b, 2, 512);
    assert_eq!(table.word_lines(), 260);
    assert_eq!(
        pairs(&table, 0..9),
        [&[0][..], &[1], &[2], &[3], &[4, 6], &[5, 9], &[7, 12], &[8, 13], &[10, 16]]
    );
    let last = [&[498, 504][..], &[499, 505], &[502, 508], &[503, 511], &[506], &[507], &[509], &[510]];
    assert_eq!(pairs(&table, 252..260), last);
    assert_eq!(table.partners(506).count(), 0);
}

#[test]
fn the_shadow_layouts_begin_as_femus_and_end_complete() {
    let tlc = table(Pairing::ShadowTlc, 3, 384);
    assert_eq!(letters(&tlc, 0, 38), "LLLLLLCCLLCCUULLCCUULLCCUULLCCUULLCCUU");
    assert_eq!(letters(&tlc, 374 - 6, 16), "LLCCUUCCUUCCUUUU");
    assert_eq!(pairs(&tlc, 0..8)[6..], [[8, 22, 30], [9, 23, 31]]);
    let qlc = table(Pairing::ShadowQlc, 4, 512);
    assert_eq!(letters(&qlc, 0, 32), "LLLLLLCCLLCCUUTTLLCCUUTTLLCCUUTT");
    assert_eq!(letters(&qlc, 488, 24), "LLCCUUTTCCUUTTCCUUTTUUTT");
    assert_eq!(pairs(&qlc, 0..1), [[0, 6, 12, 14]]);
}

#[test]
fn a_block_that_a_layout_does_not_have_is_refused() {
    use Pairing::*;
    let refused = [
        (FourThenPairs, 2, 130, "2 bits a cell and a multiple of 4 pages a block, at least 8"),
        (FourThenPairs, 3, 384, "2 bits a cell"),
        (FourThenPairs, 2, 4, "at least 8"),
        (TwoThenSingles, 2, 127, "a multiple of 2 pages"),
        (MeasuredL95b, 2, 256, "2 bits a cell and 512 pages a block"),
        (ShadowTlc, 3, 576 + 3, "3 bits a cell and a multiple of 6 pages a block, at least 18"),
        (ShadowQlc, 4, 16, "4 bits a cell and a multiple of 8 pages a block, at least 24"),
        (WordLine, 3, 100, "3 bits a cell and a multiple of 3 pages"),
    ];
    for (pairing, bits, pages, wanted) in refused {
        let found = pairing.table(bits, pages).expect_err(wanted);
        assert!(found.contains(wanted), "{pairing:?}, {pages} pages: {found}");
    }
}

/// Every layout that is a perfect matching, its bits, and the step between the sizes of its blocks.
const MATCHINGS: [(Pairing, u32, u32); 8] = [
    (Pairing::WordLine, 1, 1),
    (Pairing::WordLine, 2, 2),
    (Pairing::WordLine, 3, 3),
    (Pairing::WordLine, 4, 4),
    (Pairing::FourThenPairs, 2, 4),
    (Pairing::TwoThenSingles, 2, 2),
    (Pairing::ShadowTlc, 3, 6),
    (Pairing::ShadowQlc, 4, 8),
];

#[test]
fn every_word_line_has_one_page_of_each_type_in_ascending_order() {
    for (pairing, bits, step) in MATCHINGS {
        for pages in (64..=512u32).filter(|pages| pages.is_multiple_of(step)) {
            let table = table(pairing, bits, pages);
            assert_eq!(table.word_lines(), pages / bits, "{pairing:?} of {pages}");
            let mut seen = vec![false; pages as usize];
            for word_line in 0..table.word_lines() {
                let members: Vec<u32> = table.pages_of(word_line).collect();
                let types: Vec<u32> = members.iter().map(|page| table.page_type(*page)).collect();
                assert_eq!(types, (0..bits).collect::<Vec<_>>(), "{pairing:?} of {pages}, {members:?}");
                assert!(members.is_sorted(), "{pairing:?} of {pages}: {members:?} program low bits first");
                members.iter().for_each(|page| seen[*page as usize] = true);
            }
            assert!(seen.iter().all(|seen| *seen), "{pairing:?} of {pages}: each page has a word line");
        }
    }
}

proptest! {
    #[test]
    fn partners_are_each_others_partners(which in 0..MATCHINGS.len(), blocks in 8u32..64, page: u32) {
        let (pairing, bits, step) = MATCHINGS[which];
        let pages = step * blocks;
        let table = table(pairing, bits, pages);
        let page = page % pages;
        prop_assert_eq!(table.partners(page).count() as u32, bits - 1);
        for other in table.partners(page) {
            prop_assert!(table.partners(other).any(|back| back == page));
            prop_assert_eq!(table.word_line(other), table.word_line(page));
        }
    }
}
