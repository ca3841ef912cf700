//! The contents of the sectors of a device. Each is what the command that wrote the sector carried for it, or else its tag. A device follows them only
//! when it is asked to, from any time on, so that a host can compare every sector of an answer with what it wrote; data that were written before
//! are [`FILLED`]. Nothing that the device does depends on them.
//!
//! Contents are followed where data go: from a command into the buffer, from flash into what the buffer lacks of a page,
//! with a program to flash, and from both into an answer. Copies in flash keep their stamp, and so their contents.

use std::collections::BTreeMap;

use crate::base::Piece;
use crate::command::{Command, Operation, RequestId};
use crate::content::{Content, FILLED, NOTHING, ZEROES};
use crate::map::LogicalPage;

/// Deliberate faults, which a checker of devices must find. They can be switched on where debug assertions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The rest of a partly written page is never read.
    RestNotRead,
    /// A loss of data is not noted.
    LossNotNoted,
    /// Forced unit access is ignored.
    FuaIgnored,
    /// After a power cut the oldest of a page's copies counts.
    OldestAtRecovery,
    /// A command that makes sectors read as zeroes does nothing.
    ZeroesIgnored,
    /// The other pages of a unit are not carried along by its program.
    UnitNotCarried,
    /// A checkpoint does not write the translation pages of which something changed.
    ChangesNotWritten,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::RestNotRead,
        Self::LossNotNoted,
        Self::FuaIgnored,
        Self::OldestAtRecovery,
        Self::ZeroesIgnored,
        Self::UnitNotCarried,
        Self::ChangesNotWritten,
    ];
}

/// The contents of the sectors of a device.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Sectors of a logical page, set by the device that follows them.
    pub(crate) per_page: u64,
    /// Of pages that were in the buffer: what it has of them.
    buffered: BTreeMap<LogicalPage, Vec<Option<Content>>>,
    /// Of versions of pages that were sent to flash.
    flash: BTreeMap<(LogicalPage, u32), Vec<Content>>,
    /// Contents of the commands in flight, sector by sector, by their tags.
    carried: BTreeMap<u32, Vec<Content>>,
    /// Contents that reads in flight have found so far, by their requests.
    found: BTreeMap<RequestId, Vec<Content>>,
    /// Contents found by reads that were answered, by their tags.
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

    /// The contents that the read with this tag found, sector by sector; returned once.
    pub fn take_answer(&mut self, tag: u32) -> Option<Vec<Content>> {
        self.answered.remove(&tag)
    }

    /// The content of a sector in a version of a page in flash.
    pub(crate) fn in_flash(&self, page: LogicalPage, version: u32, sector: u32) -> Content {
        self.flash.get(&(page, version)).map_or(FILLED, |sectors| sectors[sector as usize])
    }

    /// The content of a sector of a page in the buffer.
    pub(crate) fn in_buffer(&self, page: LogicalPage, sector: u32) -> Content {
        self.buffered.get(&page).map_or(FILLED, |sectors| sectors[sector as usize].unwrap_or(NOTHING))
    }

    fn buffered(&mut self, page: LogicalPage) -> &mut Vec<Option<Content>> {
        let per_page = self.per_page as usize;
        self.buffered.entry(page).or_insert_with(|| vec![None; per_page])
    }

    /// Whether a deliberate fault is switched on.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A command writes a piece of a page into the buffer, which has nothing of the page yet if that
    /// `is_new`.
    #[cold]
    pub(crate) fn wrote(&mut self, command: &Command, piece: &Piece, is_new: bool) {
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
    pub(crate) fn discarded(&mut self, page: LogicalPage) {
        self.buffered(page).fill(Some(ZEROES));
    }

    /// A version of a page was read from flash to complete what the buffer has of it.
    #[cold]
    pub(crate) fn filled(&mut self, page: LogicalPage, version: u32) {
        let found: Vec<Content> =
            (0..self.per_page as u32).map(|at| self.in_flash(page, version, at)).collect();
        let held = self.buffered(page);
        held.iter_mut().zip(found).for_each(|(held, found)| *held = held.or(Some(found)));
    }

    /// A page of which flash has nothing counts as complete in the buffer: the rest of it is zeroes.
    #[cold]
    pub(crate) fn completed(&mut self, page: LogicalPage) {
        let held = self.buffered(page);
        held.iter_mut().for_each(|held| *held = held.or(Some(ZEROES)));
    }

    /// A version of a page goes to flash with what the buffer has of it.
    #[cold]
    pub(crate) fn sent(&mut self, page: LogicalPage, version: u32) {
        // A page that was in the buffer before contents were followed is as unknown as those in flash then.
        let Some(held) = self.buffered.get(&page) else { return };
        let sectors = held.iter().map(|held| held.unwrap_or(NOTHING)).collect();
        self.flash.insert((page, version), sectors);
    }

    /// A read of this many sectors finds some of them.
    #[cold]
    pub(crate) fn found(
        &mut self,
        id: RequestId,
        sectors: u64,
        found: impl Iterator<Item = (usize, Content)>,
    ) {
        let all = self.found.entry(id).or_insert_with(|| vec![NOTHING; sectors as usize]);
        found.for_each(|(at, content)| all[at] = content);
    }

    /// A command with this tag is answered: what it found goes with it.
    #[cold]
    pub(crate) fn answered(&mut self, id: RequestId, tag: u32) {
        self.carried.remove(&tag);
        if let Some(found) = self.found.remove(&id) {
            self.answered.insert(tag, found);
        }
    }

    /// The power is cut; what is in the buffer outlives that if it is protected.
    pub(crate) fn forget(&mut self, is_protected: bool) {
        self.carried.clear();
        self.found.clear();
        self.answered.clear();
        if !is_protected {
            self.buffered.clear();
        }
    }
}
