//! Pages of a unit that wait in the write buffer.

use std::ops::Range;

/// Pages of a unit that wait in the write buffer. A unit is the consecutive logical pages that the device
/// coalesces. With several pools the unit is a sub-request, with one pool a program unit.
pub struct CoalescedUnit<'a> {
    is_waiting: &'a dyn Fn(u32) -> bool,
    pages: Range<u32>,
}

impl<'a> CoalescedUnit<'a> {
    /// The unit of these logical pages. `is_waiting` says whether a page waits.
    pub fn new(pages: Range<u32>, is_waiting: &'a dyn Fn(u32) -> bool) -> Self {
        Self { is_waiting, pages }
    }

    /// First logical page of the unit.
    pub fn first(&self) -> u32 {
        self.pages.start
    }

    /// Number of pages of the unit.
    pub fn size(&self) -> u32 {
        self.pages.end - self.pages.start
    }

    /// Whether a page of the unit waits.
    pub fn waits(&self, page: u32) -> bool {
        (self.is_waiting)(page)
    }

    /// Number of waiting pages. Each call checks every page of the unit.
    pub fn waiting(&self) -> u32 {
        self.pages.clone().filter(|page| self.waits(*page)).count() as u32
    }
}
