//! Writes into the write buffer; and discards, which make pages read as zeroes.

use wordline_device::Command;
use wordline_ftl::Piece;
use wordline_ftl::map::{LogicalPage, Map};
use wordline_ftl::{HostWrite, Sectors};

use crate::cache::Cache;
use crate::cache::buffer::{EntryId, EntryState};

impl Cache {
    /// Discards a page: drops its copies in memory, or marks the one that is being programmed.
    pub(crate) fn discard_page(&mut self, page: LogicalPage) {
        self.read.forget(page);
        if let Some(id) = self.buffer.find(page) {
            self.discard_entry(id);
        }
    }

    fn discard_entry(&mut self, id: EntryId) {
        let entry = self.buffer.get_mut(id);
        entry.flash_version = 0;
        match entry.state {
            EntryState::Dirty => {
                self.buffer.unlink(id);
                self.buffer.drop_entry(id, &mut self.waiting.wake);
            }
            _ => {
                entry.discarded = true;
                entry.void = true;
                entry.sectors = Sectors::NONE;
            }
        }
    }

    /// Writes a piece of a page to the page's buffer entry. Returns false if the entry must be programmed
    /// first.
    pub(crate) fn merge_page(
        &mut self,
        command: &Command,
        piece: &Piece,
        id: EntryId,
        map: &mut Map,
    ) -> bool {
        if !self.coalesces {
            return false;
        }
        let version = map.written(piece.page);
        map.write_lost(piece, version);
        self.buffer.rewrite(id, version, piece.sectors());
        self.note_request(id, command);
        true
    }

    /// Adds a buffer entry with a piece of a page.
    #[inline(always)]
    pub(crate) fn add_page(&mut self, command: &Command, piece: &Piece, map: &mut Map) -> EntryId {
        self.read.forget(piece.page);
        let in_flash = map.last_written(piece.page).unwrap_or(0);
        let version = map.written(piece.page);
        map.write_lost(piece, version);
        let id = self.buffer.add(piece.page, version, in_flash, piece.sectors());
        self.note_request(id, command);
        id
    }

    /// Records the last command that wrote an entry.
    #[inline]
    fn note_request(&mut self, id: EntryId, command: &Command) {
        let entry = self.buffer.get_mut(id);
        (entry.request, entry.tag) = (HostWrite::of(command), command.stream);
    }
}
