//! Size of logical pages, and pieces of commands within them.

use wordline_device::{Command, SECTOR};

use crate::Sectors;
use crate::config::Config;
use crate::map::LogicalPage;

/// Part of a command within one logical page.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The logical page.
    pub page: LogicalPage,
    /// First sector in the page, and one past the last.
    from: u32,
    to: u32,
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
    pub fn count(&self) -> u32 {
        self.to - self.from
    }
}

/// Size of a logical page.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    sectors: u64,
    /// Binary logarithm of the sectors of a page; `None` if their number is not a power of two.
    shift: Option<u32>,
    all: Sectors,
}

impl PageSize {
    /// Size of the logical pages of a back end.
    pub fn new(config: &Config) -> Self {
        let sectors = config.unit.0 / SECTOR.0;
        let shift = sectors.is_power_of_two().then_some(sectors.trailing_zeros());
        Self { sectors, shift, all: Sectors::range(0, sectors as u32) }
    }

    /// Number of sectors of a page.
    #[inline]
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// All sectors of a page.
    #[inline]
    pub fn full(&self) -> Sectors {
        self.all
    }

    /// First page of a command, and one past its last page. They are equal if the command has no sectors.
    #[inline]
    pub fn pages_of(&self, command: &Command) -> (u32, u32) {
        let first = self.page_of(command.sector);
        let end = match command.sectors {
            0 => first,
            sectors => self.page_of(command.sector + sectors - 1) + 1,
        };
        (first, end)
    }

    /// Part of `command` in page `page`, which must be one of the pages that it covers.
    #[inline]
    pub fn piece(&self, command: &Command, page: u32) -> Piece {
        let start = u64::from(page) * self.sectors;
        let from = command.sector.saturating_sub(start);
        let to = (command.sector + command.sectors - start).min(self.sectors);
        Piece { page: LogicalPage(page), from: from as u32, to: to as u32 }
    }

    /// Page of a sector.
    #[inline]
    fn page_of(&self, sector: u64) -> u32 {
        let page = match self.shift {
            Some(shift) => sector >> shift,
            None => sector / self.sectors,
        };
        page as u32
    }
}
