//! Lookups of map entries, and the reads of flash that entries outside of memory need.

use wordline_flash::{Class, Event, RequestId};
use wordline_kernel::Schedule;
use wordline_nand::Location;

use super::Ftl;
use crate::Piece;
use crate::map::translation::{Continuation, WrongGuess};
use crate::map::{AfterGuess, HostGuess, LogicalPage};
use crate::policy::mapper::TranslationPage;

impl Ftl {
    /// Whether the location of `page` is known now. If not, its translation page is read, and `then`
    /// continues after the read.
    #[inline]
    pub fn locate_or_wait(
        &mut self,
        page: LogicalPage,
        (then, class): (Continuation, Class),
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.map_cache.is_whole_map() || self.locate(page, (then, class), calendar)
    }

    #[inline(never)]
    fn locate(
        &mut self,
        page: LogicalPage,
        (then, class): (Continuation, Class),
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Some(table) = self.map_cache.table_to_read(page, &self.map, &mut self.totals) else {
            return true;
        };
        self.map_cache.wait(then, page, calendar.now());
        self.read_table(table, class, calendar);
        false
    }

    /// Whether the location of a piece's page is known now, or was guessed right. If not, the guessed
    /// location or the translation page is read, and the host request continues after the read.
    #[inline]
    pub fn locate_for_host(
        &mut self,
        id: RequestId,
        piece: Piece,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        self.map_cache.is_whole_map() || self.locate_or_guess(id, piece, calendar)
    }

    #[inline(never)]
    fn locate_or_guess(&mut self, id: RequestId, piece: Piece, calendar: &mut impl Schedule<Event>) -> bool {
        let Self { map, map_cache, totals, blocks, flash, .. } = self;
        let now = calendar.now();
        let Some(table) = map_cache.table_to_read(piece.page, map, totals) else { return true };
        match map_cache.guess(id, piece, map, blocks, flash, now) {
            Some(HostGuess::Right) => return true,
            Some(HostGuess::Wrong(die)) => flash.start_at_end_of_event(die),
            None => {
                map_cache.wait(Continuation::Read(id), piece.page, now);
                self.read_table(table, Class::Read, calendar);
            }
        }
        false
    }

    /// Handles a read at a location that was guessed wrong: whether it was readable, and its number of flash
    /// pages. After the last one, returns the guess if the right location is known: from the OOB area, or because
    /// the entry came into memory meanwhile. Otherwise the translation page is read.
    pub fn guess_read(
        &mut self,
        number: u32,
        read: (bool, u64),
        calendar: &mut impl Schedule<Event>,
    ) -> Option<WrongGuess> {
        match self.map_cache.finish_guess(number, read, &self.map, &self.config.pools)? {
            AfterGuess::Known(wrong) => Some(wrong),
            AfterGuess::InTable(wrong, table) => {
                self.map_cache.wait(Continuation::Read(wrong.id), wrong.page, wrong.since);
                self.read_table(table, Class::Read, calendar);
                None
            }
        }
    }

    /// Reads translation pages that are queued for writing, with this scheduling class.
    pub fn read_queued_tables(&mut self, class: Class, calendar: &mut impl Schedule<Event>) {
        while let Some(table) = self.map_cache.next_queued_table(&self.map) {
            self.read_table(table, class, calendar);
        }
    }

    /// Reads a translation page, unless it is already being read.
    fn read_table(
        &mut self,
        table: (TranslationPage, Location),
        class: Class,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Self { map_cache, blocks, flash, policies, .. } = self;
        map_cache.read_table(table, class, blocks, flash, policies, calendar);
    }
}
