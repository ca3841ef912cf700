//! Size of logical pages, and pieces of commands within them.

use wordline_device::SECTOR;

use crate::Sectors;
use crate::config::Config;
use crate::map::LogicalPage;

/// Part of a command within one logical page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub page: LogicalPage,
    /// First sector in the page, and one past the last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Piece {
    /// Set of its sectors.
    #[inline]
    pub fn sectors(&self) -> Sectors {
        Sectors::range(self.from, self.to)
    }

    /// Numbers of its sectors within the page.
    pub fn range(&self) -> std::ops::Range<u32> {
        self.from..self.to
    }

    /// Number of sectors.
    #[inline]
    pub fn len(&self) -> u32 {
        self.to - self.from
    }
}

/// Size of a logical page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    pub(super) sectors: u64,
    /// Binary logarithm of the sectors of a page; `None` if their number is not a power of two.
    shift: Option<u32>,
    pub(super) all: Sectors,
}

impl PageSize {
    pub fn new(config: &Config) -> Self {
        let sectors = config.unit.0 / SECTOR.0;
        let shift = sectors.is_power_of_two().then_some(sectors.trailing_zeros());
        Self { sectors, shift, all: Sectors::range(0, sectors as u32) }
    }

    /// Page of a sector.
    #[inline]
    pub(super) fn page_of(&self, sector: u64) -> u32 {
        let page = match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.sectors,
        };
        page as u32
    }
}
