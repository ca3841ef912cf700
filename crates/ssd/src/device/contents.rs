//! What sectors hold, each told by what the command that wrote it carried, or by its tag. A device keeps that only when it is asked to,
//! for a host that wants to hold every sector of an answer against what it wrote. Nothing that the device does depends on it.
//!
//! Contents are followed where data go: from a command into the buffer, from flash into what the buffer lacks of a page,
//! with a program to flash, and from both into an answer. Copies in flash keep their stamp, and so their contents.

use std::collections::BTreeMap;

use super::Device;
use super::front::Piece;
use crate::buffer::EntryId;
use crate::command::{Command, Operation, RequestId};
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;
use crate::sectors::Sectors;

/// The content of a sector: what the command that wrote it carried for it, or its tag, or one of those below.
pub type Content = u64;

/// Zeroes: never written, discarded, or made to read so.
pub const ZEROES: Content = 0;
/// What the device was filled with before its first command.
pub const FILLED: Content = u64::MAX;
/// What nobody wrote: a part of a page that was programmed without having been read.
pub const NOTHING: Content = u64::MAX - 1;

/// Deliberate faults, which whoever checks a device must find. They can be switched on where debug assertions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The rest of a partly written page is never read.
    RestNotRead,
    /// What cannot be read any more is not noted as lost.
    LossNotNoted,
    /// Forced unit access is ignored.
    FuaIgnored,
    /// After a power cut the oldest of a page's copies counts.
    OldestAtRecovery,
    /// A command that makes sectors read as zeroes does nothing.
    ZeroesIgnored,
    /// What a program of a whole unit should carry along stays where it is.
    UnitNotCarried,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::RestNotRead,
        Self::LossNotNoted,
        Self::FuaIgnored,
        Self::OldestAtRecovery,
        Self::ZeroesIgnored,
        Self::UnitNotCarried,
    ];
}

/// What the sectors of a device hold.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Of pages that were in the buffer: what it has of them.
    buffered: BTreeMap<LogicalPage, Vec<Option<Content>>>,
    /// Of versions of pages that were sent to flash.
    flash: BTreeMap<(LogicalPage, u32), Vec<Content>>,
    /// What the commands under way carry for each of their sectors, by their tags.
    carried: BTreeMap<u32, Vec<Content>>,
    /// What the reads under way found so far, by their requests.
    found: BTreeMap<RequestId, Vec<Content>>,
    /// What the reads found that were answered, by their tags.
    answered: BTreeMap<u32, Vec<Content>>,
    mutant: Option<Mutant>,
}

impl Contents {
    /// With a deliberate fault, if there is one.
    pub fn new(mutant: Option<Mutant>) -> Self {
        Self { mutant, ..Self::default() }
    }

    /// The command with this tag, which comes next, writes these contents.
    pub fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.carried.insert(tag, contents.to_vec());
    }

    /// What the read with this tag found in each of its sectors; told once.
    pub fn take_answer(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.answered.remove(&tag)
    }

    /// What a version of a page in flash holds at a sector.
    fn in_flash(&self, page: LogicalPage, version: u32, sector: u32) -> Content {
        self.flash.get(&(page, version)).map_or(FILLED, |sectors| sectors[sector as usize])
    }

    /// What the buffer holds at a sector of a page that it has.
    fn in_buffer(&self, page: LogicalPage, sector: u32) -> Content {
        self.buffered.get(&page).and_then(|sectors| sectors[sector as usize]).unwrap_or(NOTHING)
    }

    fn buffered(&mut self, page: LogicalPage, per_page: u64) -> &mut Vec<Option<Content>> {
        self.buffered.entry(page).or_insert_with(|| vec![None; per_page as usize])
    }
}

impl Device {
    /// From now on the device knows what its sectors hold.
    pub fn keep_contents(&mut self, contents: Contents) {
        self.contents = Some(Box::new(contents));
    }

    /// What its sectors hold, if the device knows that.
    pub fn contents(&mut self) -> Option<&mut Contents> {
        self.contents.as_deref_mut()
    }

    /// What each sector of a page holds, where none is lost: what a read would find.
    pub fn contents_of(&self, page: LogicalPage) -> Vec<Content> {
        (0..self.sectors_per_page() as u32).map(|sector| self.content_at(page, sector)).collect()
    }

    /// The sectors of a page that are lost: a read of one of them fails until it is written again.
    pub fn lost_sectors(&self, page: LogicalPage) -> Sectors {
        self.lost.of(page)
    }

    /// Whether a deliberate fault is switched on.
    #[inline(always)]
    pub(super) fn has(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions)
            && self.contents.as_ref().is_some_and(|contents| contents.mutant == Some(mutant))
    }

    /// What a read would find at a sector of a page, in the buffer or in flash.
    fn content_at(&self, page: LogicalPage, sector: u32) -> Content {
        let Some(contents) = &self.contents else { return NOTHING };
        if let Some(entry) = self.buffer.find(page).map(|id| self.buffer.get(id)) {
            if entry.discarded {
                return ZEROES;
            }
            if entry.sectors.covers(Sectors::range(sector, sector + 1)) {
                return contents.in_buffer(page, sector);
            }
        }
        match self.mapping.get(page) {
            Some(slot) => contents.in_flash(page, self.flash.stamp(slot).version, sector),
            None => ZEROES,
        }
    }

    /// A read of the host finds a piece of a page now.
    #[cold]
    pub(super) fn note_found(&mut self, id: RequestId, piece: &Piece) {
        let Command { sector, sectors, .. } = self.front.get(id).command;
        let start = u64::from(piece.page.0) * self.sectors_per_page();
        let found: Vec<(usize, Content)> = piece
            .range()
            .map(|at| ((start + u64::from(at) - sector) as usize, self.content_at(piece.page, at)))
            .collect();
        let Some(contents) = &mut self.contents else { return };
        let all = contents.found.entry(id).or_insert_with(|| vec![NOTHING; sectors as usize]);
        found.into_iter().for_each(|(at, content)| all[at] = content);
    }

    /// A command is answered: what it found goes with it.
    #[cold]
    pub(super) fn note_answer(&mut self, id: RequestId) {
        let tag = self.front.get(id).command.tag;
        let Some(contents) = &mut self.contents else { return };
        contents.carried.remove(&tag);
        if let Some(found) = contents.found.remove(&id) {
            contents.answered.insert(tag, found);
        }
    }

    /// A command writes a piece of a page into the buffer, which has nothing of the page yet if that `is_new`.
    #[cold]
    pub(super) fn note_written(&mut self, command: &Command, piece: &Piece, is_new: bool) {
        let per_page = self.sectors_per_page();
        let start = u64::from(piece.page.0) * per_page;
        let Some(contents) = self.contents.as_deref_mut() else { return };
        let Contents { carried, buffered, .. } = contents;
        let carried = carried.get(&command.tag);
        let content = |at: u32| match (command.operation, carried) {
            (Operation::WriteZeroes, _) => ZEROES,
            (_, Some(carried)) => carried[(start + u64::from(at) - command.sector) as usize],
            (_, None) => u64::from(command.tag),
        };
        let held = buffered.entry(piece.page).or_insert_with(|| vec![None; per_page as usize]);
        if is_new {
            held.fill(None);
        }
        piece.range().for_each(|at| held[at as usize] = Some(content(at)));
    }

    /// A page reads as zeroes from now on.
    #[cold]
    pub(super) fn note_discarded(&mut self, page: LogicalPage) {
        let per_page = self.sectors_per_page();
        if let Some(contents) = &mut self.contents {
            contents.buffered(page, per_page).fill(Some(ZEROES));
        }
    }

    /// A version of a page was read from flash to complete what the buffer has of it.
    #[cold]
    pub(super) fn note_filled(&mut self, page: LogicalPage, version: u32) {
        let per_page = self.sectors_per_page();
        let Some(contents) = &mut self.contents else { return };
        let found: Vec<Content> =
            (0..per_page as u32).map(|at| contents.in_flash(page, version, at)).collect();
        let held = contents.buffered(page, per_page);
        held.iter_mut().zip(found).for_each(|(held, found)| *held = held.or(Some(found)));
    }

    /// A page counts as complete in the buffer: of one that flash has nothing of, the rest is zeroes.
    #[cold]
    pub(super) fn note_complete(&mut self, id: EntryId) {
        let page = self.buffer.get(id).logical;
        let (per_page, is_new) = (self.sectors_per_page(), self.mapping.get(page).is_none());
        if let Some(contents) = &mut self.contents
            && is_new
        {
            let held = contents.buffered(page, per_page);
            held.iter_mut().for_each(|held| *held = held.or(Some(ZEROES)));
        }
    }

    /// The host's unit of a row goes to flash with what the buffer has of its pages.
    #[cold]
    pub(super) fn note_sent(&mut self, row: Row) {
        let Self { units, buffer, contents, .. } = self;
        let Some(contents) = contents else { return };
        for entry in units[row as usize].entries.iter().map(|id| buffer.get(*id)) {
            let held = contents.buffered.get(&entry.logical).map_or(&[][..], Vec::as_slice);
            let sectors = held.iter().map(|held| held.unwrap_or(NOTHING)).collect();
            contents.flash.insert((entry.logical, entry.version), sectors);
        }
    }

    /// The power is cut.
    #[cold]
    pub(super) fn forget_contents(&mut self) {
        let is_protected = self.is_protected();
        if let Some(contents) = &mut self.contents {
            contents.carried.clear();
            contents.found.clear();
            contents.answered.clear();
            if !is_protected {
                contents.buffered.clear();
            }
        }
    }
}
