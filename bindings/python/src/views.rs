//! Views that designs in Python see when they are asked.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use wordline_kernel::{Instant, Stream};
use wordline_ssd::map::LogicalPage;
use wordline_ssd::policy::background;
use wordline_ssd::policy::failure::{self, Failed};
use wordline_ssd::policy::relocator::Leaving;
use wordline_ssd::policy::router::Outgoing;
use wordline_ssd::policy::wear::RowBlocks;

use crate::errors::refused;
use crate::settings::whole;

/// A block that could be cleaned, or whose data may move.
#[pyclass(frozen, get_all, module = "wordline._native")]
#[derive(Clone, Copy)]
pub struct Block {
    /// Its number in the device.
    pub number: u32,
    /// Its valid logical pages.
    pub valid: u32,
    /// How often it was erased.
    pub erases: u32,
    /// How many blocks of the device were opened since it was.
    pub age: u64,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        let Self { number, valid, erases, age } = self;
        format!("<wordline.Block {number}: valid={valid}, erases={erases}, age={age}>")
    }
}

/// The device as a design sees it when it is asked for a victim.
#[pyclass(frozen, module = "wordline._native", name = "View")]
pub struct Shown {
    /// Logical pages of a block.
    #[pyo3(get)]
    pub pages: u32,
    /// The row of planes of which a block is to be cleaned.
    #[pyo3(get)]
    pub row: u32,
    /// Its free blocks.
    #[pyo3(get)]
    pub free_blocks: u32,
    /// The time, in picoseconds.
    #[pyo3(get)]
    pub now_ps: u64,
    pub oldest: Vec<Block>,
    pub fewest: Vec<Block>,
    pub looks_at: usize,
}

#[pymethods]
impl Shown {
    /// The blocks that were closed first, the oldest at the front; there may be fewer.
    fn oldest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first(&self.oldest, count)
    }

    /// The blocks with the fewest valid pages, fewest first; there may be fewer.
    fn fewest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first(&self.fewest, count)
    }
}

impl Shown {
    fn first(&self, blocks: &[Block], count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        let count: u64 = whole("count", count, 0)?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > self.looks_at {
            let wanted =
                format!("at most {}: class ...(wl.Design, name=..., looks_at={count})", self.looks_at);
            return Err(refused("blocks of a view", count, &wanted));
        }
        Ok(blocks.iter().take(count).copied().collect())
    }
}

/// The design's own random stream.
#[pyclass(frozen, module = "wordline._native")]
pub struct Random(pub Mutex<Stream>);

#[pymethods]
impl Random {
    /// A whole number from 0 to below the bound, each equally likely.
    fn below(&self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        let bound = whole("bound", bound, 1)?;
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).below(bound))
    }

    /// A number from 0 to below 1.
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// A valid page of a block that is cleaned.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Moved {
    /// Its number.
    logical: u32,
    /// The collector's stream that wrote its block; none if the host did.
    moved_by: Option<u8>,
}

impl Moved {
    pub fn of(page: &Leaving) -> Self {
        Self { logical: page.logical, moved_by: page.moved_by }
    }
}

/// A row of planes when a design is asked which of its blocks lie still.
#[pyclass(frozen, module = "wordline._native")]
pub struct Wearing {
    /// Its number.
    #[pyo3(get)]
    row: u32,
    /// How many blocks it has.
    #[pyo3(get)]
    blocks: u32,
    /// The number of the first of them in the device.
    #[pyo3(get)]
    first: u32,
    /// Blocks that are free.
    #[pyo3(get)]
    free_blocks: u32,
    /// Logical pages of a block.
    #[pyo3(get)]
    pages: u32,
    /// How often its blocks were erased, all together.
    #[pyo3(get)]
    erases: u64,
    /// How often the one was that was erased most.
    #[pyo3(get)]
    most_erases: u32,
    /// The numbers of the blocks that were erased since the design was asked about the row before, in order.
    #[pyo3(get)]
    erased: Vec<u32>,
    /// Those whose data may move, by number.
    may_move: Vec<Block>,
}

#[pymethods]
impl Wearing {
    /// The block of a number in the device; `None` where its data may not move now: it is free or being written, or of another row.
    fn block(&self, number: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let number: u32 = whole("number", number, 0)?;
        let place = self.may_move.binary_search_by_key(&number, |block| block.number).ok();
        Ok(place.map(|place| self.may_move[place]))
    }

    /// The blocks that were erased least, of those whose data may move; the lowest number wins a tie. There may be fewer.
    fn least_erased(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first_by(count, |block| (u64::from(block.erases), block.number))
    }

    /// The blocks that were opened first, of those whose data may move, the oldest at the front; there may be fewer.
    fn oldest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first_by(count, |block| (u64::MAX - block.age, block.number))
    }
}

impl Wearing {
    pub fn of(blocks: &RowBlocks<'_>, erased: Vec<u32>) -> Self {
        let first = blocks.block(0).0;
        let block = |n| Block {
            number: first + n,
            valid: blocks.valid(n),
            erases: blocks.erases(n),
            age: blocks.age(n),
        };
        let all = 0..blocks.count();
        Self {
            row: blocks.row().0,
            blocks: blocks.count(),
            first,
            free_blocks: blocks.free(),
            pages: blocks.pages_per_block(),
            erases: all.clone().map(|n| u64::from(blocks.erases(n))).sum(),
            most_erases: all.clone().map(|n| blocks.erases(n)).max().unwrap_or(0),
            erased: erased.into_iter().map(|n| first + n).collect(),
            may_move: all.filter(|n| blocks.may_move(*n)).map(block).collect(),
        }
    }

    fn first_by(&self, count: &Bound<'_, PyAny>, key: impl Fn(&Block) -> (u64, u32)) -> PyResult<Vec<Block>> {
        let count: u64 = whole("count", count, 0)?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut found = self.may_move.clone();
        if count > 0 && count < found.len() {
            found.select_nth_unstable_by_key(count - 1, &key);
        }
        found.truncate(count);
        found.sort_unstable_by_key(key);
        Ok(found)
    }
}

/// A page that the host writes, when it comes to the buffer.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Arriving {
    /// Its number.
    logical: u32,
    /// The time, in picoseconds.
    now_ps: u64,
}

impl Arriving {
    pub fn of(page: LogicalPage, now: Instant) -> Self {
        Self { logical: page.0, now_ps: now.ps() }
    }
}

/// A page that leaves the buffer.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Written {
    /// Its number.
    logical: u32,
    /// The stream that the host named when it wrote the page last; 0 for none.
    tag: u8,
    /// Sectors of it that the host wrote.
    sectors: u32,
    /// Sectors of the whole write that wrote of it last.
    request_sectors: u32,
    /// The first sector of that write.
    request_sector: u64,
}

impl Written {
    pub fn of(page: &Outgoing<'_>) -> Self {
        let Outgoing { logical, tag, sectors, request, .. } = *page;
        Self { logical, tag, sectors, request_sectors: request.sectors, request_sector: request.sector }
    }
}

/// A row of planes while the host rests.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Resting {
    /// Its number.
    row: u32,
    /// Blocks that are free.
    free_blocks: u32,
    /// Blocks that are in use: all but the bad ones.
    good_blocks: u32,
    /// Blocks that the valid pages would fill: the others are spare.
    full_blocks: u32,
    /// Blocks in SLC mode, where there is a cache.
    cached_blocks: u32,
}

impl Resting {
    pub fn of(row: &background::Resting) -> Self {
        let background::Resting { row, free_blocks, good_blocks, full_blocks, cached_blocks } = *row;
        Self { row: row.0, free_blocks, good_blocks, full_blocks, cached_blocks }
    }
}

/// An operation that failed in a block.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Failure {
    /// `program`, `erase`, `read`, or `refused`: a program that a design did not accept.
    failed: &'static str,
    /// The number of the block in the device.
    block: u32,
    /// How often the same failed in it, with this time.
    times: u32,
    /// How often it was erased.
    erases: u32,
}

impl Failure {
    pub fn of(failure: &failure::Failure) -> Self {
        let failure::Failure { failed, block, times, erases } = *failure;
        let failed = match failed {
            Failed::Program => "program",
            Failed::Erase => "erase",
            Failed::Read => "read",
            Failed::Refused => "refused",
        };
        Self { failed, block: block.0, times, erases }
    }
}
