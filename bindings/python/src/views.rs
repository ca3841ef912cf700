//! Views passed to the decision methods of Python designs.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use wordline_kernel::{Instant, Stream};
use wordline_ssd::map::LogicalPage;
use wordline_ssd::policy::background;
use wordline_ssd::policy::failure::{self, FailedOperation};
use wordline_ssd::policy::relocator::RelocatedPage;
use wordline_ssd::policy::router::HostPage;
use wordline_ssd::policy::wear::PlaneGroupBlocks;

use crate::errors::refused;
use crate::settings::whole;

/// A block that GC could collect, or whose data may move.
#[pyclass(frozen, get_all, module = "wordline._native")]
#[derive(Clone, Copy)]
pub struct Block {
    /// Number in the device.
    pub number: u32,
    /// Valid logical pages.
    pub valid: u32,
    /// Erase count.
    pub erases: u32,
    /// Number of blocks of the device opened since this one was.
    pub age: u64,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        let Self { number, valid, erases, age } = self;
        format!("<wordline.Block {number}: valid={valid}, erases={erases}, age={age}>")
    }
}

/// The device as seen by a design that selects a victim.
#[pyclass(frozen, module = "wordline._native", name = "View")]
pub struct VictimView {
    /// Logical pages per block.
    #[pyo3(get)]
    pub pages: u32,
    /// Plane group in which a block is to be collected.
    #[pyo3(get)]
    pub row: u32,
    /// Free blocks of the plane group.
    #[pyo3(get)]
    pub free_blocks: u32,
    /// Time, in picoseconds.
    #[pyo3(get)]
    pub now_ps: u64,
    pub oldest: Vec<Block>,
    pub fewest: Vec<Block>,
    pub looks_at: usize,
}

#[pymethods]
impl VictimView {
    /// Blocks that were closed first, oldest first; there may be fewer.
    fn oldest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first(&self.oldest, count)
    }

    /// Blocks with the fewest valid pages, fewest first; there may be fewer.
    fn fewest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first(&self.fewest, count)
    }
}

impl VictimView {
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

/// Random stream of the design.
#[pyclass(frozen, module = "wordline._native")]
pub struct Random(pub Mutex<Stream>);

#[pymethods]
impl Random {
    /// A uniform integer from 0 to below the bound.
    fn below(&self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        let bound = whole("bound", bound, 1)?;
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).below(bound))
    }

    /// A uniform number from 0 to below 1.
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// A valid page of a block being collected.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Moved {
    /// Logical page number.
    logical: u32,
    /// GC stream that wrote its block; none if the host did.
    moved_by: Option<u8>,
}

impl Moved {
    pub fn of(page: &RelocatedPage) -> Self {
        Self { logical: page.logical, moved_by: page.relocated_by }
    }
}

/// A plane group when a design selects one of its blocks with cold data.
#[pyclass(frozen, module = "wordline._native")]
pub struct Wearing {
    /// Number of the plane group.
    #[pyo3(get)]
    row: u32,
    /// Number of its blocks.
    #[pyo3(get)]
    blocks: u32,
    /// Number of its first block in the device.
    #[pyo3(get)]
    first: u32,
    /// Free blocks.
    #[pyo3(get)]
    free_blocks: u32,
    /// Logical pages per block.
    #[pyo3(get)]
    pages: u32,
    /// Total erases of its blocks.
    #[pyo3(get)]
    erases: u64,
    /// Greatest erase count of a block.
    #[pyo3(get)]
    most_erases: u32,
    /// Numbers of the blocks erased since the design was last consulted about the plane group, in order.
    #[pyo3(get)]
    erased: Vec<u32>,
    /// Blocks whose data may move, by number.
    may_move: Vec<Block>,
}

#[pymethods]
impl Wearing {
    /// The block with a number in the device; `None` if its data may not move now: it is free or being
    /// written, or in another plane group.
    fn block(&self, number: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let number: u32 = whole("number", number, 0)?;
        let place = self.may_move.binary_search_by_key(&number, |block| block.number).ok();
        Ok(place.map(|place| self.may_move[place]))
    }

    /// Blocks with the lowest erase counts, of those whose data may move; the lowest number wins a tie. There
    /// may be fewer.
    fn least_erased(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first_by(count, |block| (u64::from(block.erases), block.number))
    }

    /// Blocks that were opened first, of those whose data may move, oldest first; there may be fewer.
    fn oldest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first_by(count, |block| (u64::MAX - block.age, block.number))
    }
}

impl Wearing {
    pub fn of(blocks: &PlaneGroupBlocks<'_>, erased: Vec<u32>) -> Self {
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

/// A page written by the host, on arrival at the write buffer.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Arriving {
    /// Logical page number.
    logical: u32,
    /// Time, in picoseconds.
    now_ps: u64,
}

impl Arriving {
    pub fn of(page: LogicalPage, now: Instant) -> Self {
        Self { logical: page.0, now_ps: now.ps() }
    }
}

/// A page being destaged.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Written {
    /// Logical page number.
    logical: u32,
    /// Stream tag of the last host write of the page; 0 for none.
    tag: u8,
    /// Sectors of it that the host wrote.
    sectors: u32,
    /// Sectors of the whole write that last wrote to it.
    request_sectors: u32,
    /// First sector of that write.
    request_sector: u64,
}

impl Written {
    pub fn of(page: &HostPage<'_>) -> Self {
        let HostPage { logical, tag, sectors, request, .. } = *page;
        Self { logical, tag, sectors, request_sectors: request.sectors, request_sector: request.sector }
    }
}

/// A plane group while the host is idle.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Resting {
    /// Number of the plane group.
    row: u32,
    /// Free blocks.
    free_blocks: u32,
    /// Blocks in use: all but the bad ones.
    good_blocks: u32,
    /// Blocks that the valid pages would fill: the others are spare.
    full_blocks: u32,
    /// Blocks in SLC mode, if there is a cache.
    cached_blocks: u32,
}

impl Resting {
    pub fn of(row: &background::IdleGroup) -> Self {
        let background::IdleGroup { row, free_blocks, good_blocks, full_blocks, cached_blocks } = *row;
        Self { row: row.0, free_blocks, good_blocks, full_blocks, cached_blocks }
    }
}

/// An operation that failed in a block.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Failure {
    /// `program`, `erase`, `read`, or `refused`: a program that a design did not accept.
    failed: &'static str,
    /// Number of the block in the device.
    block: u32,
    /// Number of failures of this operation in it, including this one.
    times: u32,
    /// Erase count.
    erases: u32,
}

impl Failure {
    pub fn of(failure: &failure::Failure) -> Self {
        let failure::Failure { failed, block, times, erases } = *failure;
        let failed = match failed {
            FailedOperation::Program => "program",
            FailedOperation::Erase => "erase",
            FailedOperation::Read => "read",
            FailedOperation::Rejected => "refused",
        };
        Self { failed, block: block.0, times, erases }
    }
}
