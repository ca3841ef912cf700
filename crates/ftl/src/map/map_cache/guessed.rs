//! Host reads at guessed locations, and the second reads after wrong guesses.

use wordline_flash::{Class, Flash, RequestId, Ticket};
use wordline_kernel::{Duration, Instant};
use wordline_nand::{DieId, Location, Pools};

use super::MapCache;
use crate::blocks::{BlockManager, State};
use crate::map::translation::{MapperState, WrongGuess};
use crate::map::{LogicalPage, Map};
use crate::policy::mapper::{Guess, TranslationPage};
use crate::{LocationRead, Piece, WantedSectors};

/// Guess of a mapper about a page whose entry is not in memory.
pub(crate) enum HostGuess {
    /// The location is right, and its read is the read of the data.
    Right,
    /// The location is wrong, and its read is queued in this die.
    Wrong(DieId),
}

/// Where a page is after the read of a location that was guessed wrong.
pub(crate) enum AfterGuess {
    /// The location is known.
    Known(WrongGuess),
    /// This translation page must be read.
    InTable(WrongGuess, (TranslationPage, Location)),
}

impl MapCache {
    /// Lets the mapper guess the location of a page; `None` without a guess, or if it is of no use. The read of
    /// a wrong one is queued, for the sectors that the request needs.
    pub(crate) fn guess(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        blocks: &mut BlockManager,
        flash: &mut Flash,
        now: Instant,
    ) -> Option<HostGuess> {
        let (guess, guesses) = self.translation.as_mut()?.mapper.predict(piece.page)?;
        if map.get(piece.page) == Some(guess.location) {
            guesses.counts.right += 1;
            return Some(HostGuess::Right);
        }
        if !may_show(guess, blocks, flash) {
            guesses.counts.refused += 1;
            return None;
        }
        let number = guesses.add(id, piece.page, now, guess);
        let found = flash.stamp(guess.location);
        let read = LocationRead {
            ticket: Ticket::Guess(number),
            class: Class::Read,
            location: guess.location,
            sectors: WantedSectors::Piece(piece),
            logical: LogicalPage(found.logical),
            version: found.version,
            waited: Duration::ZERO,
        };
        let (die, reads) = read.queue(blocks, flash, now);
        guesses.reading(number, reads);
        Some(HostGuess::Wrong(die))
    }

    /// Handles the read of a flash page at a location that was guessed wrong; `None` until the last one. The
    /// right location may be known after it: from the OOB area, or because the entry came into memory
    /// meanwhile.
    pub(crate) fn finish_guess(
        &mut self,
        number: u32,
        read: (bool, u64),
        map: &Map,
        pools: &Pools,
    ) -> Option<AfterGuess> {
        let MapperState { policy, guesses } = &mut self.translation.as_mut()?.mapper;
        let guesses = guesses.as_deref_mut()?;
        let wrong = guesses.finish_read(number, read)?;
        if map.get(wrong.page).is_some_and(|at| wrong.shows(at, pools)) {
            guesses.counts.corrected += 1;
            return Some(AfterGuess::Known(wrong));
        }
        let is_loaded = policy.lookup(wrong.page);
        let table = if is_loaded { None } else { self.table_of_missing(wrong.page, map) };
        Some(match table {
            Some(table) => AfterGuess::InTable(wrong, table),
            None => AfterGuess::Known(wrong),
        })
    }
}

/// Whether a read of a guessed location can show where the page is. The location must have data. If they are
/// invalid, only the numbers of its neighbours are of use; the location is then read only in a closed native
/// block, where no program is in progress.
fn may_show(guess: Guess, blocks: &BlockManager, flash: &Flash) -> bool {
    let Guess { location, error } = guess;
    let pools = blocks.pools();
    if location.0 >= pools.locations() || !flash.stamp(location).is_data() {
        return false;
    }
    let block = pools.block_of(location);
    let table = blocks.table();
    let is_closed = || table.state(block) == State::Closed && table.is_native(block);
    table.is_valid(location) || error > 0 && is_closed()
}
