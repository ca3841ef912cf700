//! Page pairing: which pages of a block share cells, and which bit of the cells each page stores.
//!
//! The cells of a word line store one bit for each of its pages. The page of the lowest bit is fast to
//! program, the page of the highest bit is slow. Planar parts separate the pages of a word line: the low
//! pages of its neighbours are programmed before its own high page, so that they disturb that page less.
//!
//! A [`Pairing`] is the order of page types by page number. Pages of the same rank among the pages of their
//! type share a word line. Part files choose a pairing with `geometry.pairing`, and [`PageTable`] is its
//! lookup table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page_type::MAX_BITS_PER_CELL;

/// The order of the page numbers of a block over its word lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// The pages of a word line in sequence, lowest bit first: 3D parts, one-shot parts, and SLC.
    #[default]
    WordLine,
    /// MLC: four fast pages, then alternating pairs of slow and fast pages, then four slow pages. Most of the
    /// devices that NANDFlashSim's authors measured have this order (section 7.2). Pages 0, 1, 4 and 5 share
    /// the first cells (ssdfans.com).
    FourThenPairs,
    /// MLC: two fast pages, then alternating slow and fast pages, then two slow pages. The other devices of
    /// NANDFlashSim have this order. It is also `dist3` of Linux (`nand_base.c`), which uses it for Hynix MLC
    /// and Toshiba TC58TEG5DCLTA00.
    TwoThenSingles,
    /// MLC of 512 pages: Micron L95B, with the page types of FEMU's `nand.c`. It has eight more fast pages
    /// than slow ones. The pairing is not published. Chosen: partners are six pages apart in mid-block as in
    /// `four-then-pairs`, so that the first four and the last four fast pages are alone on their word lines.
    MeasuredL95b,
    /// Planar TLC in FEMU's order (`nand.c`, after Yaakobi, ICNC 2012), which begins with three pairs of low
    /// pages. FEMU's sequence has no end. Chosen: at the end of the block, page types that are used up are
    /// skipped, so that each word line is complete.
    ShadowTlc,
    /// Planar QLC in FEMU's order (`nand.c`), ended as in `shadow-tlc`. In FEMU's list of first pages, page
    /// 14 is a low page; FEMU's loop makes it a top page. Chosen: the loop, which decides in FEMU's devices.
    ShadowQlc,
}

/// The sequence of page types of a pairing.
struct Shape {
    /// Types of the first pages.
    head: &'static [u8],
    /// Types of the following pages, repeated; a type that is used up is skipped.
    cycle: &'static [u8],
    /// Types of the last pages, if given.
    tail: &'static [u8],
    /// Low pages at the beginning of the block without partners on their word lines.
    alone: usize,
    /// The only number of pages per block for which the sequence is known, if there is one.
    only: Option<usize>,
}

const LOWEST_FIRST: [u8; MAX_BITS_PER_CELL as usize] = [0, 1, 2, 3, 4];

impl Shape {
    fn bits(&self) -> usize {
        self.cycle.iter().max().map_or(0, |highest| usize::from(*highest) + 1)
    }

    /// Minimum number of pages: the low pages of the head, each with its partners.
    fn least(&self) -> usize {
        self.bits() * self.head.iter().filter(|page_type| **page_type == 0).count().max(1)
    }

    fn fits(&self, bits: usize, pages: usize) -> bool {
        let right_number = match self.only {
            Some(only) => pages == only,
            None => pages >= self.least() && pages.is_multiple_of(self.cycle.len()),
        };
        bits == self.bits() && right_number
    }

    fn wanted(&self) -> String {
        let bits = self.bits();
        match self.only {
            Some(only) => format!("{bits} bits a cell and {only} pages a block, as this layout has"),
            None => format!(
                "{bits} bits a cell and a multiple of {} pages a block, at least {}, as this layout has",
                self.cycle.len(),
                self.least()
            ),
        }
    }

    /// The type of each of `pages` pages.
    fn types(&self, pages: usize) -> Vec<u8> {
        let mut left = [pages / self.bits(); MAX_BITS_PER_CELL as usize];
        let mut has_left = |page_type: &&u8| {
            let left = &mut left[usize::from(**page_type)];
            let some = *left > 0;
            *left = left.saturating_sub(1);
            some
        };
        let open = self.head.iter().chain(self.cycle.iter().cycle()).filter(|t| has_left(t));
        open.take(pages - self.tail.len()).chain(self.tail).copied().collect()
    }
}

impl Pairing {
    fn shape(self, bits: u32) -> Shape {
        let open = |head, cycle| Shape { head, cycle, tail: &[], alone: 0, only: None };
        match self {
            Self::WordLine => open(&[], &LOWEST_FIRST[..bits.min(MAX_BITS_PER_CELL) as usize]),
            Self::FourThenPairs => open(&[0, 0, 0, 0], &[1, 1, 0, 0]),
            Self::TwoThenSingles => open(&[0, 0], &[1, 0]),
            Self::MeasuredL95b => Shape {
                head: &[0, 0, 0, 0, 0, 0, 1, 0, 0, 1],
                cycle: &[0, 0, 1, 1],
                tail: &[0, 0, 1, 1, 0, 0, 1, 0, 0, 1],
                alone: 4,
                only: Some(512),
            },
            Self::ShadowTlc => open(&[0, 0, 0, 0, 0, 0, 1, 1], &[0, 0, 1, 1, 2, 2]),
            Self::ShadowQlc => open(&[0, 0, 0, 0, 0, 0, 1, 1], &[0, 0, 1, 1, 2, 2, 3, 3]),
        }
    }

    /// The table of a block of `pages_per_block` pages with `bits_per_cell` bits per cell. If the pairing has
    /// no such block, the error describes the blocks that it has.
    pub fn table(self, bits_per_cell: u32, pages_per_block: u32) -> Result<PageTable, String> {
        let shape = self.shape(bits_per_cell);
        if !shape.fits(bits_per_cell as usize, pages_per_block as usize) {
            return Err(shape.wanted());
        }
        Ok(PageTable::of(shape.types(pages_per_block as usize), shape.alone))
    }
}

/// Marks a word line without a page of a type.
const NO_PAGE: u16 = u16::MAX;

/// Lookup table of the types and word lines of the pages of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTable {
    types: Vec<u8>,
    word_lines: Vec<u16>,
    /// The pages of each word line by type.
    pages: Vec<[u16; MAX_BITS_PER_CELL as usize]>,
}

impl PageTable {
    /// Pages of the same rank among the pages of their type share a word line, except for the first `alone`
    /// low pages.
    fn of(types: Vec<u8>, alone: usize) -> Self {
        let mut ranks = [alone; MAX_BITS_PER_CELL as usize];
        ranks[0] = 0;
        let mut pages = Vec::new();
        let mut word_lines = Vec::with_capacity(types.len());
        for (page, page_type) in types.iter().enumerate() {
            let page_type = usize::from(*page_type);
            let word_line = ranks[page_type];
            ranks[page_type] += 1;
            if pages.len() <= word_line {
                pages.resize(word_line + 1, [NO_PAGE; MAX_BITS_PER_CELL as usize]);
            }
            pages[word_line][page_type] = page as u16;
            word_lines.push(word_line as u16);
        }
        Self { types, word_lines, pages }
    }

    /// The type of each page: which bit of its cells it stores, 0 for the lowest.
    pub fn types(&self) -> &[u8] {
        &self.types
    }

    /// Which bit of its cells `page` stores, 0 for the lowest.
    #[inline]
    pub fn page_type(&self, page: u32) -> u32 {
        u32::from(self.types[page as usize])
    }

    /// The word line whose cells store `page`, numbered in the order of their low pages.
    #[inline]
    pub fn word_line(&self, page: u32) -> u32 {
        u32::from(self.word_lines[page as usize])
    }

    /// Word lines of a block.
    pub fn word_lines(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The pages that share the cells of `word_line`, lowest bit first.
    pub fn pages_of(&self, word_line: u32) -> impl Iterator<Item = u32> + '_ {
        let pages = self.pages[word_line as usize].iter();
        pages.filter(|page| **page != NO_PAGE).map(|page| u32::from(*page))
    }

    /// The other pages that share cells with `page`, lowest bit first.
    pub fn partners(&self, page: u32) -> impl Iterator<Item = u32> + '_ {
        self.pages_of(self.word_line(page)).filter(move |other| *other != page)
    }
}

#[cfg(test)]
mod tests;
