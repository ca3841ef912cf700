//! Host reads at guessed locations, and the second reads after wrong guesses.

use wordline_flash::{Class, Event, RequestId, Ticket};
use wordline_kernel::{Duration, Schedule};

use super::MapCache;
use crate::base::{Base, LocationRead, Piece, WantedSectors};
use crate::blocks::State;
use crate::map::translation::{Continuation, MapperState, WrongGuess};
use crate::map::{LogicalPage, Map};
use crate::policy::mapper::Guess;

impl MapCache {
    /// Whether the location of a piece's page is known now, or was guessed right. If not, the guessed
    /// location or the translation page is read, and the host request continues after the read.
    #[inline]
    pub fn locate_for_host(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.translation.is_none() || self.locate_or_guess(id, piece, map, base, calendar)
    }

    #[inline(never)]
    fn locate_or_guess(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Some(table) = self.table_to_read(piece.page, map, base) else { return true };
        if let Some(is_right) = self.guess(id, piece, map, base, calendar) {
            return is_right;
        }
        let then = (Continuation::Read(id), Class::Read);
        self.wait_for_table(table, then, (piece.page, calendar.now()), base, calendar);
        false
    }

    /// Lets the mapper guess the location of a page. Returns whether the guess is right; `None` without a
    /// guess, or if it is of no use. A wrong guess is read, for the sectors that the request needs. The read of
    /// a right one is the read of the data.
    fn guess(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<bool> {
        let (guess, guesses) = self.translation.as_mut()?.mapper.predict(piece.page)?;
        if map.get(piece.page) == Some(guess.location) {
            guesses.counts.right += 1;
            return Some(true);
        }
        if !may_show(guess, base) {
            guesses.counts.refused += 1;
            return None;
        }
        let number = guesses.add(id, piece.page, calendar.now(), guess);
        let found = base.flash.stamp(guess.location);
        let read = LocationRead {
            ticket: Ticket::Guess(number),
            class: Class::Read,
            location: guess.location,
            sectors: WantedSectors::Piece(piece),
            logical: LogicalPage(found.logical),
            version: found.version,
            waited: Duration::ZERO,
        };
        let (die, reads) = base.queue_read(read, calendar.now());
        guesses.reading(number, reads);
        base.start_die(die, calendar);
        Some(false)
    }

    /// Handles the read of a flash page at a location that was guessed wrong. After the last one, returns the
    /// guess if the right location is known: from the OOB area, or because the entry came into memory
    /// meanwhile. Otherwise the translation page is read.
    pub fn guess_read(
        &mut self,
        number: u32,
        is_readable: bool,
        map: &Map,
        base: &mut Base,
        calendar: &mut impl Schedule<Event>,
    ) -> Option<WrongGuess> {
        let MapperState { policy, guesses } = &mut self.translation.as_mut()?.mapper;
        let guesses = guesses.as_deref_mut()?;
        let wrong = guesses.finish_read(number, is_readable)?;
        if map.get(wrong.page).is_some_and(|at| wrong.shows(at, &base.config.pools)) {
            guesses.counts.corrected += 1;
            return Some(wrong);
        }
        let is_loaded = policy.lookup(wrong.page);
        let Some(table) = (if is_loaded { None } else { self.table_of_missing(wrong.page, map) }) else {
            return Some(wrong);
        };
        let then = (Continuation::Read(wrong.id), Class::Read);
        self.wait_for_table(table, then, (wrong.page, wrong.since), base, calendar);
        None
    }
}

/// Whether a read of a guessed location can show where the page is. The location must have data. If they are
/// invalid, only the numbers of its neighbours are of use; the location is then read only in a closed native
/// block, where no program is in progress.
fn may_show(guess: Guess, base: &Base) -> bool {
    let Guess { location, error } = guess;
    let pools = &base.config.pools;
    if location.0 >= pools.locations() || !base.flash.stamp(location).is_data() {
        return false;
    }
    let block = pools.block_of(location);
    let blocks = base.blocks.table();
    let is_closed = || blocks.state(block) == State::Closed && blocks.is_native(block);
    blocks.is_valid(location) || error > 0 && is_closed()
}
