//! Views of the device, which the decision methods of Python designs get.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use wordline_flash::policy::failure;
use wordline_flash::policy::failure::FailedOperation;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::policy::background;
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::policy::wear::PlaneGroupBlocks;
use wordline_kernel::{Instant, Stream};

use crate::errors::refused;
use crate::settings::whole;

/// A block that GC could collect, or whose data could move.
#[pyclass(frozen, get_all, module = "wordline._native")]
#[derive(Clone, Copy)]
pub struct Block {
    /// Number of the block in the device.
    pub number: u32,
    /// Valid logical pages.
    pub valid: u32,
    /// Erase count.
    pub erases: u32,
    /// Number of blocks that the device has opened since this one.
    pub age: u64,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        let Self { number, valid, erases, age } = self;
        format!("<wordline.Block {number}: valid={valid}, erases={erases}, age={age}>")
    }
}

/// The device at the time at which a design selects a victim.
#[pyclass(frozen, module = "wordline._native", name = "View")]
pub struct VictimView {
    /// Logical pages per block.
    #[pyo3(get)]
    pub pages: u32,
    /// Number of the plane group in which GC needs a victim.
    #[pyo3(get)]
    pub row: u32,
    /// Free blocks of the plane group.
    #[pyo3(get)]
    pub free_blocks: u32,
    /// Simulated time, in picoseconds.
    #[pyo3(get)]
    pub now_ps: u64,
    pub oldest: Vec<Block>,
    pub fewest: Vec<Block>,
    pub looks_at: usize,
}

#[pymethods]
impl VictimView {
    /// The `count` blocks that were closed first, the oldest first. There may be fewer.
    fn oldest(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first(&self.oldest, count)
    }

    /// The `count` blocks with the fewest valid pages, the fewest first. There may be fewer.
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

/// Random stream of a design.
#[pyclass(frozen, module = "wordline._native")]
pub struct Random(pub Mutex<Stream>);

#[pymethods]
impl Random {
    /// A uniform integer of at least 0 and less than `bound`.
    fn below(&self, bound: &Bound<'_, PyAny>) -> PyResult<u64> {
        let bound = whole("bound", bound, 1)?;
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).below(bound))
    }

    /// A uniform number of at least 0 and less than 1.
    fn random(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).unit()
    }
}

/// A valid page of a victim of GC.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Moved {
    /// Logical page number.
    logical: u32,
    /// GC stream that wrote the block of the page; `None` if the block was written for the host.
    moved_by: Option<u8>,
}

impl Moved {
    pub fn of(page: &RelocatedPage) -> Self {
        Self { logical: page.logical, moved_by: page.relocated_by }
    }
}

/// A plane group at the time at which a design can select one of its blocks with cold data.
#[pyclass(frozen, module = "wordline._native")]
pub struct Wearing {
    /// Number of the plane group.
    #[pyo3(get)]
    row: u32,
    /// Number of blocks of the plane group.
    #[pyo3(get)]
    blocks: u32,
    /// Number, in the device, of the first block of the plane group.
    #[pyo3(get)]
    first: u32,
    /// Free blocks of the plane group.
    #[pyo3(get)]
    free_blocks: u32,
    /// Logical pages per block.
    #[pyo3(get)]
    pages: u32,
    /// Sum of the erase counts of all blocks.
    #[pyo3(get)]
    erases: u64,
    /// Greatest erase count of all blocks.
    #[pyo3(get)]
    most_erases: u32,
    /// Numbers of the blocks that were erased since the last call for this plane group, in order.
    #[pyo3(get)]
    erased: Vec<u32>,
    /// Blocks whose data can move now, by number.
    may_move: Vec<Block>,
}

#[pymethods]
impl Wearing {
    /// The block with this number in the device. `None` if its data cannot move now, because it is free,
    /// being written, or in another plane group.
    fn block(&self, number: &Bound<'_, PyAny>) -> PyResult<Option<Block>> {
        let number: u32 = whole("number", number, 0)?;
        let place = self.may_move.binary_search_by_key(&number, |block| block.number).ok();
        Ok(place.map(|place| self.may_move[place]))
    }

    /// The `count` blocks with the lowest erase counts among those whose data can move now. Among equal
    /// counts the lower number comes first. There may be fewer.
    fn least_erased(&self, count: &Bound<'_, PyAny>) -> PyResult<Vec<Block>> {
        self.first_by(count, |block| (u64::from(block.erases), block.number))
    }

    /// The `count` blocks that were opened first among those whose data can move now, the oldest first. There
    /// may be fewer.
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

/// A page that the host writes, when it arrives at the write buffer.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Arriving {
    /// Logical page number.
    logical: u32,
    /// Simulated time, in picoseconds.
    now_ps: u64,
}

impl Arriving {
    pub fn of(page: LogicalPage, now: Instant) -> Self {
        Self { logical: page.0, now_ps: now.ps() }
    }
}

/// A page that is being destaged.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Written {
    /// Logical page number.
    logical: u32,
    /// Stream number of the last host write to the page; 0 for none.
    tag: u8,
    /// Number of sectors of the page that the host wrote.
    sectors: u32,
    /// Number of sectors of the whole request that wrote to the page last.
    request_sectors: u32,
    /// First sector of the whole request that wrote to the page last.
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
    /// Free blocks of the plane group.
    free_blocks: u32,
    /// Blocks of the plane group that are not bad.
    good_blocks: u32,
    /// Number of blocks that the valid pages would fill. The other good blocks are spare.
    full_blocks: u32,
    /// Blocks in SLC mode, if the device has an SLC cache.
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
    /// The operation that failed: `program`, `erase` or `read`. `refused` is a program that a design did not
    /// accept.
    failed: &'static str,
    /// Number of the block in the device.
    block: u32,
    /// Number of failures of this operation in this block, including this one.
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
