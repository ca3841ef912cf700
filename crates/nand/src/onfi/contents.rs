//! The contents of the cells of a LUN: the bytes of programmed pages, and the state of blocks.

use std::collections::{BTreeMap, BTreeSet};

use wordline_kernel::random::Seed;

use super::registers::ERASED;
use super::{CellMode, Row};

/// A programmed page.
#[derive(Clone, Debug)]
struct Page {
    bytes: Box<[u8]>,
    torn: bool,
}

/// A block that was programmed or erased.
#[derive(Clone, Debug, Default)]
struct Block {
    erases: u32,
    /// The mode of its first program since the erase.
    mode: Option<CellMode>,
    /// The page programmed last.
    last: Option<u32>,
    /// Programs of each page since the erase.
    programs: BTreeMap<u32, u32>,
    /// Reprograms of each word line since the erase.
    reprograms: BTreeMap<u32, u32>,
    pages: BTreeMap<u32, Page>,
    /// Whether an erase was interrupted.
    torn: bool,
}

/// The contents of the cells of a LUN. Only programmed pages are stored.
///
/// A page is torn if a reset or a power loss interrupted its program, or if its program failed. A block is
/// torn if its erase was interrupted or failed. No standard defines the data of torn cells. Chosen: they read
/// as noise that depends only on the seed, the die, the page and the block's erases. Every read thus returns
/// the same data, and runs are reproducible.
#[derive(Clone, Debug)]
pub struct Contents {
    page_bytes: usize,
    pages_per_block: u32,
    die: u32,
    seed: Seed,
    blocks: BTreeMap<u32, Block>,
    bad: BTreeSet<u32>,
}

impl Contents {
    /// Erased cells, in pages of `page_bytes` including spare bytes. `bad` lists the factory bad blocks.
    pub fn new(page_bytes: usize, pages_per_block: u32, die: u32, seed: Seed, bad: &[u32]) -> Self {
        Self {
            page_bytes,
            pages_per_block,
            die,
            seed,
            blocks: BTreeMap::new(),
            bad: bad.iter().copied().collect(),
        }
    }

    /// The bytes that a sense of `row` returns: its contents, FFh for an erased page, noise for a torn page.
    /// A factory bad block reads 00h, the mark of the factory (ONFI, factory defect mapping), until it is
    /// erased. An erase removes the mark, but the block stays bad.
    pub fn read(&self, row: Row) -> Vec<u8> {
        let marked = self.is_bad(row.block) && self.erases(row.block) == 0;
        let untouched = || vec![if marked { 0 } else { ERASED }; self.page_bytes];
        let Some(block) = self.blocks.get(&row.block) else { return untouched() };
        match block.pages.get(&row.page) {
            _ if block.torn => self.noise(row, block.erases),
            Some(page) if page.torn => self.noise(row, block.erases),
            Some(page) => page.bytes.to_vec(),
            None => untouched(),
        }
    }

    fn noise(&self, row: Row, erases: u32) -> Vec<u8> {
        let page = u64::from(row.block) * u64::from(self.pages_per_block) + u64::from(row.page);
        let mut stream = Seed(self.seed.stream("nand.torn", page).bits())
            .stream("nand.die", u64::from(self.die) << 32 | u64::from(erases));
        let mut bytes: Vec<u8> =
            (0..self.page_bytes.div_ceil(8)).flat_map(|_| stream.bits().to_le_bytes()).collect();
        bytes.truncate(self.page_bytes);
        bytes
    }

    /// Records the begin of a program of `row`: order, count and mode.
    pub(super) fn note_program(&mut self, row: Row, mode: CellMode) {
        let block = self.blocks.entry(row.block).or_default();
        block.mode = Some(mode);
        block.last = Some(row.page);
        *block.programs.entry(row.page).or_default() += 1;
    }

    /// Programs `bytes` into `row`: bits that are 0 stay 0.
    pub(super) fn program(&mut self, row: Row, bytes: &[u8]) {
        let block = self.blocks.entry(row.block).or_default();
        match block.pages.get_mut(&row.page) {
            Some(page) => page.bytes.iter_mut().zip(bytes).for_each(|(cell, bit)| *cell &= bit),
            None => {
                block.pages.insert(row.page, Page { bytes: bytes.into(), torn: false });
            }
        }
    }

    /// Records the begin of a reprogram of word line `line` in the block of `row`.
    pub(super) fn note_reprogram(&mut self, row: Row, line: u32) {
        *self.blocks.entry(row.block).or_default().reprograms.entry(line).or_default() += 1;
    }

    /// Replaces the bytes of `row` with `bytes`.
    pub(super) fn replace(&mut self, row: Row, bytes: &[u8]) {
        let block = self.blocks.entry(row.block).or_default();
        block.pages.insert(row.page, Page { bytes: bytes.into(), torn: false });
    }

    /// Marks `row` torn.
    pub(super) fn tear_page(&mut self, row: Row) {
        let bytes = vec![ERASED; self.page_bytes].into();
        let block = self.blocks.entry(row.block).or_default();
        block.pages.entry(row.page).or_insert(Page { bytes, torn: true }).torn = true;
    }

    /// Records the begin of an erase of `block`.
    pub(super) fn note_erase(&mut self, block: u32) {
        self.blocks.entry(block).or_default().erases += 1;
    }

    /// Erases `block`.
    pub(super) fn erase(&mut self, block: u32) {
        let entry = self.blocks.entry(block).or_default();
        *entry = Block { erases: entry.erases, ..Block::default() };
    }

    /// Marks `block` torn.
    pub(super) fn tear_block(&mut self, block: u32) {
        self.blocks.entry(block).or_default().torn = true;
    }

    /// Whether `block` is a factory bad block.
    pub fn is_bad(&self, block: u32) -> bool {
        self.bad.contains(&block)
    }

    /// Whether `row` reads as noise.
    pub fn is_torn(&self, row: Row) -> bool {
        self.blocks
            .get(&row.block)
            .is_some_and(|block| block.torn || block.pages.get(&row.page).is_some_and(|page| page.torn))
    }

    /// Whether `row` was programmed since its block was erased.
    pub fn is_programmed(&self, row: Row) -> bool {
        self.programs(row) > 0
    }

    /// Erases of `block`.
    pub fn erases(&self, block: u32) -> u32 {
        self.blocks.get(&block).map_or(0, |block| block.erases)
    }

    /// Sets the number of erases of `block` before the run.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.blocks.entry(block).or_default().erases = erases;
    }

    /// Programs of `row` since its block was erased.
    pub fn programs(&self, row: Row) -> u32 {
        self.blocks.get(&row.block).and_then(|block| block.programs.get(&row.page)).copied().unwrap_or(0)
    }

    /// Reprograms of word line `line` of `block` since the erase.
    pub fn reprograms(&self, block: u32, line: u32) -> u32 {
        self.blocks.get(&block).and_then(|block| block.reprograms.get(&line)).copied().unwrap_or(0)
    }

    /// The last page of `block` programmed since its erase.
    pub fn last(&self, block: u32) -> Option<u32> {
        self.blocks.get(&block).and_then(|block| block.last)
    }

    /// The mode in which `block` was programmed since its erase.
    pub fn mode(&self, block: u32) -> Option<CellMode> {
        self.blocks.get(&block).and_then(|block| block.mode)
    }
}
