//! Workloads of a logical unit.

use serde::Deserialize;
use wordline_kernel::{Bytes, Complaints, Seed};
use wordline_nand::LogicalUnit;
use wordline_nand::unit::{Access, UnitError};

use wordline_lab::error::{Error, Result};
use wordline_lab::trace::Op;
use wordline_lab::trace::workload::profile::Profile;

/// A workload of a logical unit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "pattern", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NandWorkload {
    /// Accesses of one kind and size, one after another from the first page on.
    Sequential {
        /// The operation.
        operation: OperationName,
        /// Data per access, rounded up to whole pages. An erase takes one page per block.
        size: Option<Bytes>,
        /// Pages per access, in place of `size`.
        pages: Option<u32>,
        /// Total data.
        data: Bytes,
    },
    /// Requests of a profile at their own addresses, without an FTL. The page number is the address divided
    /// by the page size. Writes may violate the part's program rules; violations are counted.
    Volume {
        /// The profile, `PAPER/VOLUME`.
        profile: String,
        /// Number of requests. The shares and mean sizes of the profile do not change.
        requests: u64,
    },
    /// Migration of blocks: the pages are copied to erased blocks, and the source blocks are erased.
    Migration {
        /// Number of blocks to copy, over all planes and dies.
        blocks: u32,
        /// Whether pages are copied inside the dies (copyback). Otherwise the host reads and writes them.
        internal: bool,
        /// Buffer in the host between read and write, at least a page. Copyback does not use it.
        buffer: Bytes,
    },
}

/// An operation on pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationName {
    /// Read.
    Read,
    /// Program.
    Write,
    /// Erase their blocks.
    Erase,
}

/// Maximum number of pages that one run may access. Chosen: a few seconds.
const MAX_PAGES: u64 = 50_000_000;

impl NandWorkload {
    /// Rejects workloads that no unit can execute.
    pub(crate) fn check(&self, wrong: &mut Complaints) {
        match self {
            Self::Sequential { size, pages, data, .. } => {
                let count = u8::from(size.is_some()) + u8::from(pages.is_some());
                wrong.require(count == 1, "workload", format!("{count} of size and pages"), "one of them");
                let size = size.unwrap_or(Bytes(1));
                wrong.require(size.0 > 0, "workload.size", size, "at least a byte");
                wrong.require(*pages != Some(0), "workload.pages", 0, "at least 1");
                let most = Bytes(MAX_PAGES * 512);
                let fits = *data >= size && *data <= most;
                wrong.require(
                    fits,
                    "workload.data",
                    data,
                    format!("at least workload.size and at most {most}"),
                );
            }
            Self::Volume { profile, requests } => {
                if let Err(error) = Profile::named(profile) {
                    wrong.add("workload.profile", format!("`{profile}`"), error.to_string());
                }
                let fits = (1..=10_000_000).contains(requests);
                wrong.require(fits, "workload.requests", requests, "from 1 to 10000000");
            }
            Self::Migration { blocks, buffer, .. } => {
                wrong.require(*blocks > 0, "workload.blocks", blocks, "at least 1");
                wrong.require(buffer.0 > 0, "workload.buffer", buffer, "at least a byte");
            }
        }
    }

    /// Executes the workload on `unit`, whose blocks have `pages_per_block` pages.
    pub(crate) fn run(&self, unit: &mut LogicalUnit, pages_per_block: u32, seed: Seed) -> Result<()> {
        let (page, pages) = (unit.page_size().0, unit.pages());
        let ended = match self {
            Self::Sequential { operation, size, pages: of_access, data } => {
                let size = size.map_or(u64::from(of_access.unwrap_or(1)) * page, |size| size.0);
                let count = fitting(size.div_ceil(page), pages)?;
                let access = |n: u64| {
                    // An access that does not fit at the end begins again at the first page.
                    let page = (n % u64::from(pages / count)) as u32 * count;
                    match operation {
                        OperationName::Read => Access::Read { page, count },
                        OperationName::Write => Access::Write { page, count },
                        OperationName::Erase => Access::Erase { page, count },
                    }
                };
                unit.run((0..(data.0 / size).max(1)).map(access))
            }
            Self::Volume { profile, requests } => {
                let profile = Profile::named(profile)?;
                let whole = profile.chosen.requests.unwrap_or(1_000_000) as f64;
                let scale = (*requests as f64 / whole).min(1.0);
                let requests = profile.generator(seed, scale).take(*requests as usize);
                unit.run(requests.filter_map(|request| {
                    let first = request.offset.0 / page;
                    let count = (request.offset.0 + request.size.0).div_ceil(page) - first;
                    let page = (first % u64::from(pages)) as u32;
                    // A request that exceeds the unit is truncated.
                    let count = count.min(u64::from(pages - page)) as u32;
                    match request.op {
                        Op::Read => Some(Access::Read { page, count }),
                        Op::Write => Some(Access::Write { page, count }),
                        _ => None,
                    }
                }))
            }
            Self::Migration { blocks, internal, buffer } => {
                let plan = Plan::of(unit, *blocks, pages_per_block)?;
                let buffered = buffer.0.div_ceil(page).clamp(1, u64::from(plan.pages)) as u32;
                let chunk = if *internal { plan.pages } else { buffered };
                plan.run(unit, *internal, chunk)
            }
        };
        ended.map_err(|wrong| match wrong {
            UnitError::Limit(broken) => Error::Argument {
                what: "kind.nand.unit.fatal_limits".into(),
                found: broken.to_string(),
                wanted: "accesses that keep to the part's limits, or `false`".into(),
            },
            UnitError::OutOfRange { .. } => Error::Argument {
                what: "workload".into(),
                found: wrong.to_string(),
                wanted: "accesses that the unit has pages for".into(),
            },
        })
    }
}

/// Pages of an access. It is an error if the unit has fewer.
fn fitting(count: u64, pages: u32) -> Result<u32> {
    let fits = u32::try_from(count).ok().filter(|count| *count <= pages);
    fits.ok_or_else(|| Error::Argument {
        what: "pages of an access".into(),
        found: count.to_string(),
        wanted: format!("at most {pages}, those of the unit"),
    })
}

/// The layout of the blocks of a migration.
struct Plan {
    /// Number of planes of the unit, and so of adjacent blocks.
    side_by_side: u32,
    /// Number of pages in adjacent blocks.
    pages_of_row: u32,
    /// Total number of pages.
    pages: u32,
}

impl Plan {
    fn of(unit: &LogicalUnit, blocks: u32, pages_per_block: u32) -> Result<Self> {
        let side_by_side = unit.shape().dies * unit.shape().planes;
        let (pages_of_row, pages) = (side_by_side * pages_per_block, blocks.saturating_mul(pages_per_block));
        if !blocks.is_multiple_of(side_by_side) || pages > unit.pages() / 2 {
            let most = unit.pages() / 2 / pages_per_block;
            return Err(Error::Argument {
                what: "blocks of a migration".into(),
                found: blocks.to_string(),
                wanted: format!("a multiple of the unit's {side_by_side} planes, at most {most}"),
            });
        }
        Ok(Self { side_by_side, pages_of_row, pages })
    }

    /// Erases the destination, copies the pages in portions of `chunk`, and erases the source.
    fn run(&self, unit: &mut LogicalUnit, internal: bool, chunk: u32) -> std::result::Result<(), UnitError> {
        let to = self.pages;
        self.erase(unit, to)?;
        for page in (0..self.pages).step_by(chunk as usize) {
            let count = chunk.min(self.pages - page);
            if internal {
                unit.run([Access::Copy { page, to: page + to, count }])?;
            } else {
                unit.run([Access::Read { page, count }])?;
                unit.run([Access::Write { page: page + to, count }])?;
            }
        }
        self.erase(unit, 0)
    }

    fn erase(&self, unit: &mut LogicalUnit, first: u32) -> std::result::Result<(), UnitError> {
        let rows = (first..first + self.pages).step_by(self.pages_of_row as usize);
        unit.run(rows.map(|page| Access::Erase { page, count: self.side_by_side }))
    }
}
