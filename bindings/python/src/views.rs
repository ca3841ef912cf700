//! Views that designs in Python see when they are asked.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use wordline_kernel::Stream;
use wordline_ssd::policy::background;
use wordline_ssd::policy::failure::{self, Failed};
use wordline_ssd::policy::relocator::Leaving;
use wordline_ssd::policy::router::Outgoing;

use crate::errors::refused;

/// A block that could be cleaned.
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
    fn oldest(&self, count: usize) -> PyResult<Vec<Block>> {
        self.first(&self.oldest, count)
    }

    /// The blocks with the fewest valid pages, fewest first; there may be fewer.
    fn fewest(&self, count: usize) -> PyResult<Vec<Block>> {
        self.first(&self.fewest, count)
    }
}

impl Shown {
    fn first(&self, blocks: &[Block], count: usize) -> PyResult<Vec<Block>> {
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
    fn below(&self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(refused("the bound", bound, "at least 1"));
        }
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

/// A page that leaves the buffer.
#[pyclass(frozen, get_all, module = "wordline._native")]
pub struct Written {
    /// Its number.
    logical: u32,
    /// The stream that the host named when it wrote the page last; 0 for none.
    tag: u8,
    /// Sectors of it that the host wrote.
    sectors: u32,
}

impl Written {
    pub fn of(page: &Outgoing<'_>) -> Self {
        Self { logical: page.logical, tag: page.tag, sectors: page.sectors }
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
