//! Contents of the sectors of a device, for data verification.
//!
//! A write command may carry a content for each of its sectors. Without such contents, the command's tag is
//! the content. A device tracks contents only on request. The request may come at any time; data written
//! before are [`FILLED`]. A host can then compare each sector that it reads with the content that it wrote.
//! Tracking contents changes no result.
//!
//! Contents move along the data path:
//!
//! * from a command into the buffer;
//! * from flash into the rest of a buffered page (RMW);
//! * from the buffer to flash, with a program;
//! * from the buffer and from flash into a completion.
//!
//! A relocated page keeps its data tag, and so its contents.

use std::collections::BTreeMap;

use wordline_device::content::{Content, FILLED, NOTHING, ZEROES};
use wordline_device::{Command, Operation};
use wordline_flash::RequestId;

use crate::map::LogicalPage;
use crate::page_size::{PageSize, Piece};

/// Deliberate faults, which tests of the verification must find. They require debug assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The RMW read of a partly written page is never done.
    RestNotRead,
    /// Data loss is not recorded.
    LossNotNoted,
    /// FUA is ignored.
    FuaIgnored,
    /// At power-loss recovery the oldest copy of a page wins.
    OldestAtRecovery,
    /// A command that makes sectors read as zeroes has no effect.
    ZeroesIgnored,
    /// A program of a mapping unit does not include the unit's other pages.
    UnitNotCarried,
    /// A checkpoint does not write translation pages with changes.
    ChangesNotWritten,
}

impl InjectedFault {
    /// All faults.
    pub const ALL: [Self; 7] = [
        Self::RestNotRead,
        Self::LossNotNoted,
        Self::FuaIgnored,
        Self::OldestAtRecovery,
        Self::ZeroesIgnored,
        Self::UnitNotCarried,
        Self::ChangesNotWritten,
    ];

    /// Whether the fault is enabled in a device with these contents.
    #[inline(always)]
    pub fn is_enabled(self, contents: Option<&Contents>) -> bool {
        cfg!(debug_assertions) && contents.is_some_and(|contents| contents.mutant == Some(self))
    }
}

/// The contents of the sectors of a device.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Sectors of a logical page, set by the device.
    per_page: u64,
    /// Contents of pages in the buffer. Pages that have left it may still have an entry.
    buffered: BTreeMap<LogicalPage, Vec<Option<Content>>>,
    /// Contents of page versions that were sent to flash.
    flash: BTreeMap<(LogicalPage, u32), Vec<Content>>,
    /// Contents of the commands in flight, by tag, one for each sector.
    carried: BTreeMap<u32, Vec<Content>>,
    /// Contents that reads in flight have found so far, by request.
    found: BTreeMap<RequestId, Vec<Content>>,
    /// Contents found by completed reads, by tag.
    completed: BTreeMap<u32, Vec<Content>>,
    mutant: Option<InjectedFault>,
}

impl Contents {
    /// Contents with a deliberate fault, if given.
    pub fn new(mutant: Option<InjectedFault>) -> Self {
        Self { mutant, ..Self::default() }
    }

    /// These contents, for logical pages of this size.
    #[must_use]
    pub(crate) fn of_pages(self, size: PageSize) -> Self {
        Self { per_page: size.sectors(), ..self }
    }

    /// Sets the contents that the next command writes. The command must have this tag.
    pub fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.carried.insert(tag, contents.to_vec());
    }

    /// Takes the contents that the completed read with this tag found, one for each sector.
    pub fn take_completed(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.completed.remove(&tag)
    }

    /// Content of a sector in a version of a page in flash.
    pub fn in_flash(&self, page: LogicalPage, version: u32, sector: u32) -> Content {
        self.flash.get(&(page, version)).map_or(FILLED, |sectors| sectors[sector as usize])
    }

    /// Content of a sector of a page in the buffer.
    pub fn in_buffer(&self, page: LogicalPage, sector: u32) -> Content {
        self.buffered.get(&page).map_or(FILLED, |sectors| sectors[sector as usize].unwrap_or(NOTHING))
    }

    fn buffered(&mut self, page: LogicalPage) -> &mut Vec<Option<Content>> {
        let per_page = self.per_page as usize;
        self.buffered.entry(page).or_insert_with(|| vec![None; per_page])
    }

    /// A command writes a piece of a page into the buffer. If it `is_new`, the buffer had nothing of the page
    /// before.
    #[cold]
    pub fn wrote(&mut self, command: &Command, piece: &Piece, is_new: bool) {
        let Self { carried, buffered, per_page, .. } = self;
        let start = u64::from(piece.page.0) * *per_page;
        let carried = carried.get(&command.tag);
        let content = |at: u32| match (command.operation, carried) {
            (Operation::WriteZeroes, _) => ZEROES,
            (_, Some(carried)) => carried[(start + u64::from(at) - command.sector) as usize],
            (_, None) => Content::of(command.tag),
        };
        let held = buffered.entry(piece.page).or_insert_with(|| vec![None; *per_page as usize]);
        if is_new {
            held.fill(None);
        }
        piece.range().for_each(|at| held[at as usize] = Some(content(at)));
    }

    /// A page reads as zeroes from now on.
    #[cold]
    pub fn discarded(&mut self, page: LogicalPage) {
        self.buffered(page).fill(Some(ZEROES));
    }

    /// A version of a page was read from flash to complete the buffered page (RMW).
    #[cold]
    pub fn filled(&mut self, page: LogicalPage, version: u32) {
        let found: Vec<Content> =
            (0..self.per_page as u32).map(|at| self.in_flash(page, version, at)).collect();
        let held = self.buffered(page);
        held.iter_mut().zip(found).for_each(|(held, found)| *held = held.or(Some(found)));
    }

    /// A page that is not in flash becomes complete in the buffer: the rest of it is zeroes.
    #[cold]
    pub fn fill_rest_with_zeroes(&mut self, page: LogicalPage) {
        let held = self.buffered(page);
        held.iter_mut().for_each(|held| *held = held.or(Some(ZEROES)));
    }

    /// The buffered contents of a page go to flash as a version.
    #[cold]
    pub fn sent(&mut self, page: LogicalPage, version: u32) {
        // A page that was buffered before tracking began has unknown contents, like pages in flash at that
        // time.
        let Some(held) = self.buffered.get(&page) else { return };
        let sectors = held.iter().map(|held| held.unwrap_or(NOTHING)).collect();
        self.flash.insert((page, version), sectors);
    }

    /// A read of `sectors` sectors finds some of them.
    #[cold]
    pub fn found(&mut self, id: RequestId, sectors: u64, found: impl Iterator<Item = (usize, Content)>) {
        let all = self.found.entry(id).or_insert_with(|| vec![NOTHING; sectors as usize]);
        found.for_each(|(at, content)| all[at] = content);
    }

    /// A command completes. A read makes the contents that it found available under its tag.
    #[cold]
    pub fn completed(&mut self, id: RequestId, tag: u32) {
        self.carried.remove(&tag);
        if let Some(found) = self.found.remove(&id) {
            self.completed.insert(tag, found);
        }
    }

    /// Forgets what a power cut loses. Buffered contents survive if the buffer is protected.
    pub(crate) fn forget(&mut self, is_protected: bool) {
        self.carried.clear();
        self.found.clear();
        self.completed.clear();
        if !is_protected {
            self.buffered.clear();
        }
    }
}
