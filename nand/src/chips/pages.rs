//! What is in the pages: stamps for a device that checks every read, or a ledger of the part's limits.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state, word};

use crate::geometry::{DieId, Geometry, PageId, RowBlockId};
use crate::slots::{SlotId, Slots};
use crate::{Command, Operation, Part};

/// What was written into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The logical unit, or one of the marks below.
    pub logical: u32,
    /// Which of its versions, counted from 1.
    pub version: u32,
}

word!(Stamp { logical: u32, version: u32 });

impl Stamp {
    /// A slot that was not programmed since its block was erased.
    pub const ERASED: Self = Self { logical: u32::MAX, version: 0 };
    /// A slot that was programmed with nothing in it.
    pub const PADDING: Self = Self { logical: u32::MAX - 1, version: 0 };
    /// A slot that cannot be read: its program failed, or the power was cut while it, or what shares its cells, was
    /// programmed or erased.
    pub const TORN: Self = Self { logical: u32::MAX - 2, version: 0 };

    /// Whether a logical unit was written here.
    pub fn is_data(self) -> bool {
        self.logical < Self::TORN.logical
    }
}

/// Limits of the part that commands broke, by kind (NANDFlashSim, section 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    /// Programs of a page below the last one programmed in its block.
    pub order: u64,
    /// Programs of a page beyond those that it stands between two erases (NOP).
    pub programs: u64,
    /// Erases of a block beyond its endurance.
    pub endurance: u64,
    /// Copybacks of a page to another plane than its own.
    pub copyback: u64,
}

impl Violations {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.order + self.programs + self.endurance + self.copyback
    }
}

/// The limits, watched page by page and plane by plane, for commands that no FTL keeps within them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ledger {
    /// Programs of each page since its block was erased.
    programs: Column<PageId, u8>,
    /// One beyond the last page programmed in each block of each plane.
    next: Vec<u32>,
    erases: Vec<u32>,
    broken: Violations,
}

/// What is in the pages of all dies.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    geometry: Geometry,
    slots: Slots,
    programs_per_page: u32,
    endurance: u32,
    /// Data registers of the dies: what the next program will write.
    registers: Vec<Stamp>,
    stamps: Column<SlotId, Stamp>,
    pub(super) erases: Column<RowBlockId, u32>,
    /// Slots of each block that are programmed; they are programmed in order, unless any order will do.
    pub(super) programmed: Column<RowBlockId, u32>,
    pub(super) any_order: bool,
    ledger: Option<Ledger>,
}

state!(Pages {
    values { ledger }
    parts { registers, stamps, erases, programmed }
    fixed { geometry, slots, programs_per_page, endurance, any_order }
});

impl Pages {
    /// Nothing written; every slot will carry its stamp, and a program out of order is a bug.
    pub(super) fn stamped(part: &Part, geometry: Geometry, slots: Slots) -> Self {
        let blocks = geometry.row_blocks() as usize;
        Self {
            programs_per_page: part.programs_per_page(),
            endurance: part.endurance,
            registers: vec![Stamp::PADDING; (geometry.dies() * slots.per_program) as usize],
            stamps: Column::filled(slots.count() as usize, Stamp::ERASED),
            erases: Column::filled(blocks, 0),
            programmed: Column::filled(blocks, 0),
            any_order: false,
            ledger: None,
            geometry,
            slots,
        }
    }

    /// Nothing written; what breaks a limit of the part is counted and carried out all the same.
    pub(super) fn counted(part: &Part, geometry: Geometry) -> Self {
        let plane_blocks = (geometry.row_blocks() * geometry.planes_per_row) as usize;
        Self {
            programs_per_page: part.programs_per_page(),
            endurance: part.endurance,
            registers: Vec::new(),
            stamps: Column::filled(0, Stamp::ERASED),
            erases: Column::filled(0, 0),
            programmed: Column::filled(0, 0),
            any_order: false,
            ledger: Some(Ledger {
                programs: Column::filled(geometry.pages() as usize, 0),
                next: vec![0; plane_blocks],
                erases: vec![0; plane_blocks],
                broken: Violations::default(),
            }),
            slots: Slots::of_pages(&geometry),
            geometry,
        }
    }

    /// Limits broken so far.
    pub(super) fn violations(&self) -> Violations {
        self.ledger.as_ref().map_or(Violations::default(), |ledger| ledger.broken)
    }

    #[inline]
    pub(super) fn registers(&mut self, die: DieId) -> &mut [Stamp] {
        let unit = self.slots.per_program as usize;
        &mut self.registers[die.0 as usize * unit..][..unit]
    }

    #[inline]
    pub(super) fn prefetch(&self, slot: SlotId) {
        self.stamps.prefetch(slot);
    }

    #[inline]
    pub(super) fn stamp(&self, slot: SlotId) -> Stamp {
        self.stamps[slot]
    }

    /// The effect of a command whose array work is over, where a program writes `word_line` pages in each plane; false if a
    /// limit was broken.
    #[inline]
    pub(super) fn apply(&mut self, die: DieId, command: &Command, word_line: u32) -> bool {
        if self.ledger.is_some() {
            return self.note(command);
        }
        match command.operation {
            Operation::Program | Operation::ProgramCache => {
                let unit = self.slots.of_pages_side_by_side(command.planes * word_line);
                assert_eq!(command.planes, self.geometry.planes_per_row, "a device programs whole units");
                let (from, first) =
                    ((die.0 * self.slots.per_program) as usize, self.slots.slot_of(command.page).0);
                for n in 0..unit {
                    let stamp = self.registers[from + n as usize];
                    self.put(SlotId(first + n), stamp);
                }
                true
            }
            Operation::Erase => self.wipe(self.geometry.block_of(command.page)),
            Operation::Copyback { to } => {
                let [from, to] = [command.page, to].map(|page| self.slots.slot_of(page).0);
                for n in 0..command.planes * self.slots.per_page() / self.slots.pages() {
                    let stamp = self.stamps[SlotId(from + n)];
                    self.put(SlotId(to + n), stamp);
                }
                true
            }
            Operation::Read | Operation::ReadCache { .. } => true,
        }
    }

    #[inline]
    pub(super) fn put(&mut self, slot: SlotId, stamp: Stamp) {
        let (block, place) = self.slots.split(slot);
        if self.any_order {
            assert_eq!(self.stamps[slot], Stamp::ERASED, "a page is programmed once");
        } else {
            assert_eq!(self.programmed[block], place, "pages of a block are programmed in order");
        }
        self.programmed[block] += 1;
        self.stamps[slot] = stamp;
    }

    /// Makes a programmed slot unreadable.
    pub(super) fn spoil(&mut self, slot: SlotId) {
        self.stamps[slot] = Stamp::TORN;
    }

    /// An erase of `block` stopped half-way: nothing in it can be read, and nothing can be programmed.
    pub(super) fn tear_block(&mut self, block: RowBlockId) {
        self.erases[block] += 1;
        let first = self.slots.at(block, 0);
        for n in 0..self.end_of(block) {
            if self.stamps[SlotId(first.0 + n)] != Stamp::ERASED {
                self.spoil(SlotId(first.0 + n));
            }
        }
    }

    /// Slots of a block from the first to the last one that may be programmed.
    #[inline]
    pub(super) fn end_of(&self, block: RowBlockId) -> u32 {
        match self.any_order && self.programmed[block] > 0 {
            true => self.slots.per_block(),
            false => self.programmed[block],
        }
    }

    /// How the pages are divided.
    pub(super) fn slots(&self) -> Slots {
        self.slots
    }

    pub(super) fn wipe(&mut self, block: RowBlockId) -> bool {
        let first = self.slots.at(block, 0);
        for n in 0..self.end_of(block) {
            self.stamps[SlotId(first.0 + n)] = Stamp::ERASED;
        }
        self.programmed[block] = 0;
        self.erases[block] += 1;
        self.erases[block] <= self.endurance
    }

    /// Erases of `block`; none are known where commands are only counted.
    pub(super) fn erases_of(&self, block: RowBlockId) -> u32 {
        if self.ledger.is_some() { 0 } else { self.erases[block] }
    }

    /// Whether `page` is known to hold `stamp`.
    pub(super) fn holds(&self, page: PageId, stamp: Stamp) -> bool {
        self.ledger.is_none() && self.stamps[self.slots.slot_of(page)] == stamp
    }

    /// The effect of a failed program of `pages` pages from `first` on.
    pub(super) fn tear(&mut self, first: PageId, pages: u32) {
        if self.ledger.is_none() {
            let first = self.slots.slot_of(first);
            for n in 0..pages * self.slots.per_page() / self.slots.pages() {
                self.put(SlotId(first.0 + n), Stamp::TORN);
            }
        }
    }

    /// The effect of a failed erase: it wears as any other.
    pub(super) fn wear(&mut self, block: RowBlockId) {
        if self.ledger.is_none() {
            self.erases[block] += 1;
        }
    }

    /// Notes a command in the ledger; false if it broke a limit.
    fn note(&mut self, command: &Command) -> bool {
        let Self { ledger, geometry, programs_per_page, endurance, .. } = self;
        let ledger = ledger.as_mut().expect("commands are noted in a ledger");
        let before = ledger.broken;
        match command.operation {
            Operation::Program | Operation::ProgramCache => {
                ledger.program(geometry, command.page, command.planes, *programs_per_page);
            }
            Operation::Copyback { to } => {
                ledger.copyback(geometry, command.page, to, command.planes);
                ledger.program(geometry, to, command.planes, *programs_per_page);
            }
            Operation::Erase => ledger.erase(geometry, command.page, command.planes, *endurance),
            Operation::Read | Operation::ReadCache { .. } => {}
        }
        ledger.broken == before
    }
}

impl Ledger {
    /// Each page stays in its plane; several planes take part side by side.
    fn copyback(&mut self, geometry: &Geometry, from: PageId, to: PageId, planes: u32) {
        let plane = |page| {
            let (block, offset) = geometry.split(page);
            (block.0 / geometry.blocks_per_plane, offset % geometry.planes_per_row)
        };
        if plane(from) != plane(to) {
            self.broken.copyback += u64::from(planes);
        }
    }

    fn program(&mut self, geometry: &Geometry, first: PageId, planes: u32, most: u32) {
        let (block, offset) = geometry.split(first);
        let plane = offset % geometry.planes_per_row;
        let page = geometry.page_in_block(offset);
        let word_line = geometry.pages_per_program / geometry.planes_per_row;
        for n in 0..planes {
            let next = &mut self.next[(block.0 * geometry.planes_per_row + plane + n) as usize];
            self.broken.order += u64::from(page + word_line < *next);
            *next = (*next).max(page + word_line);
            for bit in 0..word_line {
                let programs = &mut self.programs[PageId(first.0 + n + bit * geometry.planes_per_row)];
                *programs = programs.saturating_add(1);
                self.broken.programs += u64::from(u32::from(*programs) > most);
            }
        }
    }

    fn erase(&mut self, geometry: &Geometry, page: PageId, planes: u32, endurance: u32) {
        let (block, offset) = geometry.split(page);
        for plane in (offset % geometry.planes_per_row..).take(planes as usize) {
            let at = (block.0 * geometry.planes_per_row + plane) as usize;
            for page in 0..self.next[at] {
                self.programs[geometry.page(block, page * geometry.planes_per_row + plane)] = 0;
            }
            self.next[at] = 0;
            self.erases[at] += 1;
            self.broken.endurance += u64::from(self.erases[at] > endurance);
        }
    }
}
