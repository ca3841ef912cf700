//! Blocks are emptied because the host, and the collector itself, need free ones.

use super::super_block::choose;
use super::view::{Source, View};
use crate::policy::placement::Row;
use crate::reclaim::job::Job;
use crate::reclaim::row::RowState;
use crate::space::Space;

/// Empties victims from the time that too few blocks are free until enough are.
pub(super) struct FreeBlocks;

impl Source for FreeBlocks {
    fn next(&mut self, row: Row, view: &mut View<'_>) -> Option<Job> {
        let [_, stop_at] = view.marks;
        view.state.active &= view.space.free(row) < stop_at;
        if !(view.state.active && gains_unit(row, view.state, view.space)) {
            return None;
        }
        let block = choose(row, view)?;
        view.empty_what_fits(row, block)
    }
}

/// Whether cleaning all closed blocks of a row would take fewer program units than it gives back. What is left of the last
/// victim is padded, and padding is invalid like anything else: a collector that took it for a gain would copy the same pages
/// for ever. Each pass from here to the next padding gains a unit at least, so that cleaning comes to an end whatever
/// mark it is for.
#[inline]
fn gains_unit(row: Row, state: &RowState, space: &Space) -> bool {
    let unit = space.pools().per_program(row);
    // A unit that is to be padded has room for so many pages less.
    let begun = state.staged() as u32 % unit;
    space.invalid_in_closed(row) >= if begun > 0 { begun } else { unit }
}
