//! The size of logical pages, and the part of one that a command covers.

use crate::command::SECTOR;
use crate::config::Config;
use crate::map::LogicalPage;
use crate::sectors::Sectors;

/// The part of a command that lies in one logical page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub page: LogicalPage,
    /// Its first sector in the page, and one beyond its last.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Piece {
    /// Its sectors of the page.
    #[inline]
    pub fn sectors(&self) -> Sectors {
        Sectors::range(self.from, self.to)
    }

    /// Their numbers.
    pub fn range(&self) -> std::ops::Range<u32> {
        self.from..self.to
    }

    /// How many these are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.to - self.from
    }
}

/// The size of a logical page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    pub(super) sectors: u64,
    /// The binary logarithm of their number, where they are a power of two.
    shift: Option<u32>,
    pub(super) all: Sectors,
}

impl PageSize {
    pub fn new(config: &Config) -> Self {
        let sectors = config.unit.0 / SECTOR.0;
        let shift = sectors.is_power_of_two().then_some(sectors.trailing_zeros());
        Self { sectors, shift, all: Sectors::range(0, sectors as u32) }
    }

    /// The page that a sector lies in.
    #[inline]
    pub(super) fn page_of(&self, sector: u64) -> u32 {
        let page = match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.sectors,
        };
        page as u32
    }
}
