//! Whether cleaning gains anything.

use super::Collector;
use crate::policy::placement::Row;
use crate::space::Space;

impl Collector {
    /// Whether cleaning all closed blocks of a row would take fewer program units than it gives back. What is left of the last
    /// victim is padded, and padding is invalid like anything else: a collector that took it for a gain would copy the same pages
    /// for ever. Each pass from here to the next padding gains a unit at least, so that cleaning comes to an end whatever
    /// mark it is for.
    #[inline]
    pub(super) fn gains_unit(&self, row: Row, space: &Space) -> bool {
        let unit = space.pools().per_program(row);
        // A unit that is to be padded has room for so many pages less.
        let begun = self.rows[row as usize].staged() as u32 % unit;
        space.invalid_in_closed(row) >= if begun > 0 { begun } else { unit }
    }
}
