//! Garbage collection in no time, as in preconditioning.

use wordline_nand::{BlockSetId, Location, Stamp};

use super::{Collector, Job};
use crate::design::Sight;
use crate::flash::Flash;
use crate::parts::Policies;
use crate::policy::placement::Row;
use crate::reclaim::sources::choose_untimed;
use crate::space::{Space, StreamId};

impl Collector {
    /// Cleans the row in no time until it has as many free blocks as under full load, or, with `rested`, as many as cleaning
    /// starts at; with `one_by_one`, too, but no more than a victim once the host has room. `move_page` carries a valid page
    /// from one place to another, and is told which one comes next.
    pub(crate) fn clean_untimed(
        &mut self,
        row: Row,
        space: &mut Space,
        mut move_page: impl FnMut(&mut Space, &mut Flash, Location, Location, Option<Location>),
        (flash, policies): (&mut Flash, &mut Policies),
        one_by_one: bool,
        rested: bool,
    ) {
        let [start_below, _] = space.marks(row);
        let enough = if one_by_one || rested { start_below } else { space.kept(row) + 1 };
        while space.free(row) < enough {
            let Some(victim) = choose_untimed(row, &mut self.victims, space, (flash, policies)) else {
                return;
            };
            space.clean(victim);
            let mut next = space.next_valid(victim, 0);
            while let Some(at) = next {
                next = move_untimed(row, victim, at, space, &mut move_page, flash, policies);
            }
            erase_untimed(victim, space, flash);
            if one_by_one && space.has_room(row, space.streams().host(0), 1) {
                return;
            }
        }
    }

    /// Cleans the row in no time as far as it has to be cleaned before a host that writes as fast as it can may write
    /// `pages` to a stream: once none but the collector's blocks are free, an invalid page is passed for each page.
    /// What was begun is gone on with in time.
    pub(crate) fn pace_untimed(
        &mut self,
        row: Row,
        stream: StreamId,
        pages: u32,
        space: &mut Space,
        mut move_page: impl FnMut(&mut Space, &mut Flash, Location, Location, Option<Location>),
        (flash, policies): (&mut Flash, &mut Policies),
    ) {
        let [start_below, stop_at] = space.marks(row);
        let state = &mut self.rows[row as usize];
        state.regained = state.regained.saturating_sub(1);
        if !state.active && space.free(row) < start_below {
            (state.active, state.regained) = (true, 0);
        }
        let kept = space.kept(row);
        while self.rows[row as usize].active
            && ((space.free(row) <= kept && self.rows[row as usize].regained < pages)
                || !space.takes(row, stream, true))
        {
            let begun = self.rows[row as usize].job.take();
            let Some((victim, place)) = begun.map(|job| job.reached()).or_else(|| {
                let victim = choose_untimed(row, &mut self.victims, space, (flash, policies))?;
                space.clean(victim);
                Some((victim, 0))
            }) else {
                return;
            };
            let state = &mut self.rows[row as usize];
            if let Some(at) = space.next_valid(victim, place) {
                state.regained += at - place;
                // Its pages stay in their pool.
                state.job = Some(Job { is_asked: true, ..Job::empty_from(victim, at + 1) });
                move_untimed(row, victim, at, space, &mut move_page, flash, policies);
                continue;
            }
            state.regained += space.pools().per_block(victim) - place;
            erase_untimed(victim, space, flash);
            state.active = space.free(row) < stop_at;
        }
    }
}

/// Moves a valid page of a victim to the collector's open block, or, in a pool of whole units, all that is valid of its
/// program unit. Returns the next one.
fn move_untimed(
    row: Row,
    victim: BlockSetId,
    at: u32,
    space: &mut Space,
    move_page: &mut impl FnMut(&mut Space, &mut Flash, Location, Location, Option<Location>),
    flash: &mut Flash,
    policies: &mut Policies,
) -> Option<u32> {
    let (locations, stream) = (space.pools().of_row(row).locations, space.streams().gc(0));
    let unit = if space.has_whole_units(row) { locations.per_program } else { 1 };
    let to =
        space.take(row, stream, unit, &mut |open, space| policies.word_line(open, Sight { flash, space }));
    let first = at - at % unit;
    let mut next = Some(at);
    for place in 0..unit {
        let location = Location(to.0 + place);
        if next != Some(first + place) {
            flash.put(location, Stamp::PADDING);
            continue;
        }
        next = space.next_valid(victim, first + place + 1);
        let upcoming = next.map(|next| locations.at(victim, next));
        move_page(space, flash, locations.at(victim, first + place), location, upcoming);
    }
    space.program_done(to);
    next
}

/// Erases a block set of which nothing is valid, in no time. What happens before the run wears nothing.
pub fn erase_untimed(victim: BlockSetId, space: &mut Space, flash: &mut Flash) {
    let erases = flash.chips().erases()[victim];
    flash.wipe(victim);
    space.erased(victim, erases);
}
