//! Contents of pages: data tags for a device that verifies every read, or a ledger of the part's limits.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Pairs, state, word};

use crate::geometry::{BlockSetId, DieId, Geometry, PageId};
use crate::locations::Location;
use crate::{Command, Operation, Pool, Pools};

/// A data tag of a location: the logical unit that it was programmed with, and the version of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataTag {
    /// The logical unit, or one of the special values below.
    pub logical: u32,
    /// Version of the data, from 1.
    pub version: u32,
}

word!(DataTag { logical: u32, version: u32 });

impl DataTag {
    /// An erased location.
    pub const ERASED: Self = Self { logical: u32::MAX, version: 0 };
    /// A location programmed without data.
    pub const PADDING: Self = Self { logical: u32::MAX - 1, version: 0 };
    /// An unreadable location: its program failed, or a power cut interrupted a program or erase of its page
    /// or of a page that shares its cells.
    pub const UNREADABLE: Self = Self { logical: u32::MAX - 2, version: 0 };

    /// Whether the location holds data of a logical unit.
    pub fn is_data(self) -> bool {
        self.logical < Self::UNREADABLE.logical
    }
}

/// Counts of exceeded limits of the part, by kind (NANDFlashSim, section 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violations {
    /// Programs of a page below the page programmed last in its block.
    pub order: u64,
    /// Programs of a page beyond the number allowed between two erases (NOP).
    pub programs: u64,
    /// Erases of a block beyond its endurance.
    pub endurance: u64,
    /// Copybacks of a page to a plane other than its own.
    pub copyback: u64,
}

impl Violations {
    /// Sum of all kinds.
    pub fn total(&self) -> u64 {
        self.order + self.programs + self.endurance + self.copyback
    }
}

/// A ledger of the limits, page by page and plane by plane, for lists of commands that may exceed them.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ledger {
    /// Programs of each page since its block was erased.
    programs: Column<PageId, u8>,
    /// The page after the last programmed one, for each block of each plane.
    next: Vec<u32>,
    erases: Vec<u32>,
    broken: Violations,
}

/// The contents of the pages of all dies.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub(super) pools: Pools,
    /// Data registers of the dies, each as large as the largest program unit: the data of the next program.
    registers: Vec<DataTag>,
    per_die: u32,
    /// The data tag of each location: logical unit and version.
    tags: Pairs<Location>,
    pub(super) erases: Column<BlockSetId, u32>,
    /// Number of programmed locations of each block; they are programmed in order unless `any_order` is set.
    pub(super) programmed: Column<BlockSetId, u32>,
    pub(super) any_order: bool,
    ledger: Option<Ledger>,
}

state!(Pages {
    values { ledger }
    parts { registers, tags, erases, programmed }
    fixed { pools, any_order, per_die }
});

impl Pages {
    /// Erased pages with a data tag for every location. A program out of order panics.
    pub(super) fn with_data_tags(pools: &Pools) -> Self {
        let blocks = pools.block_sets() as usize;
        let per_die = pools.iter().map(|pool| pool.locations.per_program).max().unwrap_or(0);
        Self {
            registers: vec![DataTag::PADDING; (pools.dies() * per_die) as usize],
            per_die,
            tags: Pairs::new(pools.locations() as usize),
            erases: Column::filled(blocks, 0),
            programmed: Column::filled(blocks, 0),
            any_order: false,
            ledger: None,
            pools: pools.clone(),
        }
    }

    /// Erased pages without data tags. Commands that exceed a limit of the part are counted and executed
    /// nevertheless.
    pub(super) fn counted(pools: &Pools) -> Self {
        let geometry = &pools.first().geometry;
        let plane_blocks = (geometry.block_sets() * geometry.planes_per_row) as usize;
        Self {
            registers: Vec::new(),
            per_die: 0,
            tags: Pairs::new(0),
            erases: Column::filled(0, 0),
            programmed: Column::filled(0, 0),
            any_order: false,
            ledger: Some(Ledger {
                programs: Column::filled(geometry.pages() as usize, 0),
                next: vec![0; plane_blocks],
                erases: vec![0; plane_blocks],
                broken: Violations::default(),
            }),
            pools: pools.clone(),
        }
    }

    /// Whether pages hold data tags; otherwise only the limits are checked.
    pub(super) fn has_data_tags(&self) -> bool {
        self.ledger.is_none()
    }

    /// Limits exceeded so far.
    pub(super) fn violations(&self) -> Violations {
        self.ledger.as_ref().map_or(Violations::default(), |ledger| ledger.broken)
    }

    /// The data registers of all dies.
    pub(super) fn all_registers(&self) -> &[DataTag] {
        &self.registers
    }

    #[inline]
    pub(super) fn registers(&mut self, die: DieId) -> &mut [DataTag] {
        let unit = self.pools.of_die(die).locations.per_program as usize;
        &mut self.registers[(die.0 * self.per_die) as usize..][..unit]
    }

    #[inline]
    pub(super) fn prefetch(&self, location: Location) {
        self.tags.prefetch(location);
    }

    #[inline]
    pub(super) fn stamp(&self, location: Location) -> DataTag {
        let (logical, version) = self.tags.get(location);
        DataTag { logical, version }
    }

    #[inline]
    fn set_stamp(&mut self, location: Location, stamp: DataTag) {
        self.tags.set(location, (stamp.logical, stamp.version));
    }

    /// Data tags of all locations.
    pub(super) fn stamps(&self) -> impl Iterator<Item = DataTag> {
        self.tags.ids().map(|location| self.stamp(location))
    }

    /// Applies a command whose array operation is over. A program writes `word_line` pages in each plane.
    /// Returns the planes in which a limit was exceeded.
    #[inline]
    pub(super) fn apply(&mut self, die: DieId, command: &Command, word_line: u32) -> u16 {
        if self.ledger.is_some() {
            return self.note(command, word_line);
        }
        match command.operation {
            Operation::Program | Operation::ProgramCache => {
                let Pool { geometry, locations, .. } = self.pools.of_die(die);
                let unit = locations.of_adjacent_pages(command.planes * word_line);
                assert_eq!(command.planes, geometry.planes_per_row, "a device programs whole units");
                let (from, first) = ((die.0 * self.per_die) as usize, locations.location_of(command.page));
                self.put_unit(first, from..from + unit as usize);
                0
            }
            Operation::Erase => {
                let endured = self.wipe(self.pools.of_die(die).geometry.block_of(command.page));
                if endured { 0 } else { plane_mask(command.planes) }
            }
            Operation::Copyback { to } => {
                let locations = self.pools.of_die(die).locations;
                let [from, to] = [command.page, to].map(|page| locations.location_of(page).0);
                for n in 0..command.planes * locations.per_page() / locations.pages() {
                    let stamp = self.stamp(Location(from + n));
                    self.put(Location(to + n), stamp);
                }
                0
            }
            Operation::Read | Operation::ReadCache { .. } => 0,
        }
    }

    /// Programs the locations of a unit from `first` on with the data in these registers.
    #[inline]
    fn put_unit(&mut self, first: Location, registers: Range<usize>) {
        let Self { pools, registers: stamps, tags, programmed, .. } = self;
        let layout = &pools.of_location(first).locations;
        let (block, place) = layout.split(first);
        let unit = registers.len() as u32;
        assert!(place + unit <= layout.per_block(), "a unit is of one block");
        let stamps = &stamps[registers];
        if self.any_order {
            let DataTag { logical, version } = DataTag::ERASED;
            let mut held = (first.0..first.0 + unit).map(|location| tags.get(Location(location)));
            assert!(held.all(|tag| tag == (logical, version)), "a page is programmed once");
        } else {
            assert_eq!(programmed[block], place, "pages of a block are programmed in order");
        }
        programmed[block] += unit;
        tags.set_all(first, stamps.iter().map(|stamp| (stamp.logical, stamp.version)));
    }

    #[inline]
    pub(super) fn put(&mut self, location: Location, stamp: DataTag) {
        let (block, place) = self.pools.of_location(location).locations.split(location);
        if self.any_order {
            assert_eq!(self.stamp(location), DataTag::ERASED, "a page is programmed once");
        } else {
            assert_eq!(self.programmed[block], place, "pages of a block are programmed in order");
        }
        self.programmed[block] += 1;
        self.set_stamp(location, stamp);
    }

    /// Makes a programmed location unreadable.
    pub(super) fn corrupt(&mut self, location: Location) {
        self.set_stamp(location, DataTag::UNREADABLE);
    }

    /// Makes `pages` pages of a program unreadable in each of these planes. Bit 0 of `planes` is the plane of
    /// `first`.
    pub(super) fn spoil_planes(&mut self, first: PageId, pages: u32, planes: u16) {
        if self.ledger.is_some() {
            return;
        }
        let Pool { geometry, locations, .. } = self.pools.of_page(first);
        let (per_row, per_page, layout) = (geometry.planes_per_row, locations.per_page(), *locations);
        for (n, page) in (0..16u32).flat_map(|n| (0..pages).map(move |page| (n, page))) {
            if planes >> n & 1 != 0 {
                let location = layout.location_of(PageId(first.0 + page * per_row + n));
                (0..per_page).for_each(|part| self.corrupt(Location(location.0 + part)));
            }
        }
    }

    /// Replaces the data tag of a location.
    pub(super) fn replace_one(&mut self, location: Location, stamp: DataTag) {
        self.set_stamp(location, stamp);
    }

    /// Replaces the contents of `planes` pages from `first` on by the registers of `die`.
    pub(super) fn replace(&mut self, die: DieId, first: PageId, planes: u32) {
        let locations = &self.pools.of_die(die).locations;
        let (from, first) = ((die.0 * self.per_die) as usize, locations.location_of(first));
        for n in 0..locations.of_adjacent_pages(planes) {
            self.set_stamp(Location(first.0 + n), self.registers[from + n as usize]);
        }
    }

    /// The index of the first register of `die`, the first location of `pages` pages from `first` on, and the
    /// number of their locations.
    fn unit_at(&self, die: DieId, first: PageId, pages: u32) -> (usize, Location, u32) {
        let locations = &self.pools.of_die(die).locations;
        ((die.0 * self.per_die) as usize, locations.location_of(first), locations.of_adjacent_pages(pages))
    }

    /// A programmed location that a program of `pages` pages from `first` on would overwrite, if any.
    pub(super) fn find_overwritten(&self, die: DieId, first: PageId, pages: u32) -> Option<Location> {
        let (from, first, unit) = self.unit_at(die, first, pages);
        let locations = (0..unit).map(|n| (self.registers[from + n as usize], Location(first.0 + n)));
        let mut twice = locations
            .filter(|(register, location)| ![*register, self.stamp(*location)].contains(&DataTag::ERASED));
        twice.next().map(|(_, location)| location)
    }

    /// Programs `pages` pages from `first` on with the registers of `die`, except for locations that are
    /// erased in the registers. `is_first` is true if the pages were not programmed before.
    pub(super) fn put_partial(&mut self, die: DieId, first: PageId, pages: u32, is_first: bool) {
        let (from, first, unit) = self.unit_at(die, first, pages);
        let (block, place) = self.pools.of_location(first).locations.split(first);
        let next = if is_first { place } else { place + unit };
        assert!(self.any_order || self.programmed[block] == next, "pages of a block are programmed in order");
        self.programmed[block] += if is_first { unit } else { 0 };
        for n in 0..unit {
            let stamp = self.registers[from + n as usize];
            if stamp != DataTag::ERASED {
                self.set_stamp(Location(first.0 + n), stamp);
            }
        }
    }

    /// Whether `planes` pages from `first` on are programmed.
    pub(super) fn are_programmed(&self, first: PageId, planes: u32) -> bool {
        let locations = &self.pools.of_page(first).locations;
        let first = locations.location_of(first);
        // A location may span pages of several planes.
        (0..locations.of_adjacent_pages(planes).max(1))
            .all(|n| self.stamp(Location(first.0 + n)) != DataTag::ERASED)
    }

    /// Applies an interrupted erase of `block`: it can neither be read nor programmed.
    pub(super) fn tear_block(&mut self, block: BlockSetId) {
        self.erases[block] += 1;
        let first = self.pools.at(block, 0);
        for n in 0..self.programmed_end(block) {
            if self.stamp(Location(first.0 + n)) != DataTag::ERASED {
                self.corrupt(Location(first.0 + n));
            }
        }
    }

    /// Upper bound on the offsets of programmed locations in a block.
    #[inline]
    pub(super) fn programmed_end(&self, block: BlockSetId) -> u32 {
        match self.any_order && self.programmed[block] > 0 {
            true => self.pools.per_block(block),
            false => self.programmed[block],
        }
    }

    pub(super) fn wipe(&mut self, block: BlockSetId) -> bool {
        let first = self.pools.at(block, 0);
        self.tags.clear(first, self.programmed_end(block) as usize);
        self.programmed[block] = 0;
        self.erases[block] += 1;
        self.erases[block] <= self.pools.of_block(block).part.endurance
    }

    /// Erases of `block`; 0 without data tags.
    pub(super) fn erases_of(&self, block: BlockSetId) -> u32 {
        if self.ledger.is_some() { 0 } else { self.erases[block] }
    }

    /// Whether `page` holds `stamp`; false without data tags.
    pub(super) fn holds(&self, page: PageId, stamp: DataTag) -> bool {
        self.ledger.is_none() && self.stamp(self.pools.of_page(page).locations.location_of(page)) == stamp
    }

    /// Applies a failed program of `pages` pages from `first` on.
    pub(super) fn tear(&mut self, first: PageId, pages: u32) {
        if self.ledger.is_none() {
            let locations = self.pools.of_page(first).locations;
            let first = locations.location_of(first);
            for n in 0..pages * locations.per_page() / locations.pages() {
                self.put(Location(first.0 + n), DataTag::UNREADABLE);
            }
        }
    }

    /// Applies a failed erase. It causes the same wear as a successful one.
    pub(super) fn wear(&mut self, block: BlockSetId) {
        if self.ledger.is_none() {
            self.erases[block] += 1;
        }
    }

    /// Records a command in the ledger. Returns the planes in which it exceeded a limit.
    fn note(&mut self, command: &Command, word_line: u32) -> u16 {
        let Self { ledger, pools, .. } = self;
        let Pool { part, geometry, .. } = pools.first();
        let ledger = ledger.as_mut().expect("commands are noted in a ledger");
        let most = part.programs_per_page();
        match command.operation {
            Operation::Program | Operation::ProgramCache => {
                ledger.program(geometry, command.page, command.planes, word_line, most)
            }
            Operation::Copyback { to } => {
                ledger.copyback(geometry, command.page, to, command.planes)
                    | ledger.program(geometry, to, command.planes, word_line, most)
            }
            Operation::Erase => ledger.erase(geometry, command.page, command.planes, part.endurance),
            Operation::Read | Operation::ReadCache { .. } => 0,
        }
    }
}

/// A mask with one bit for each of `planes` planes.
pub(super) fn plane_mask(planes: u32) -> u16 {
    ((1u32 << planes) - 1) as u16
}

impl Ledger {
    /// Records a copyback: each page must stay in its plane.
    fn copyback(&mut self, geometry: &Geometry, from: PageId, to: PageId, planes: u32) -> u16 {
        let plane = |page| {
            let (block, offset) = geometry.split(page);
            (block.0 / geometry.blocks_per_plane, offset % geometry.planes_per_row)
        };
        if plane(from) == plane(to) {
            return 0;
        }
        self.broken.copyback += u64::from(planes);
        plane_mask(planes)
    }

    fn program(&mut self, geometry: &Geometry, first: PageId, planes: u32, word_line: u32, most: u32) -> u16 {
        let (block, offset) = geometry.split(first);
        let plane = offset % geometry.planes_per_row;
        let page = geometry.page_in_block(offset);
        let mut failed = 0;
        for n in 0..planes {
            let before = self.broken;
            let next = &mut self.next[(block.0 * geometry.planes_per_row + plane + n) as usize];
            self.broken.order += u64::from(page + word_line < *next);
            *next = (*next).max(page + word_line);
            for bit in 0..word_line {
                let programs = &mut self.programs[PageId(first.0 + n + bit * geometry.planes_per_row)];
                *programs = programs.saturating_add(1);
                self.broken.programs += u64::from(u32::from(*programs) > most);
            }
            failed |= u16::from(self.broken != before) << n;
        }
        failed
    }

    fn erase(&mut self, geometry: &Geometry, page: PageId, planes: u32, endurance: u32) -> u16 {
        let (block, offset) = geometry.split(page);
        let mut failed = 0;
        for n in 0..planes {
            let plane = offset % geometry.planes_per_row + n;
            let at = (block.0 * geometry.planes_per_row + plane) as usize;
            for page in 0..self.next[at] {
                self.programs[geometry.page(block, page * geometry.planes_per_row + plane)] = 0;
            }
            self.next[at] = 0;
            self.erases[at] += 1;
            let worn = self.erases[at] > endurance;
            self.broken.endurance += u64::from(worn);
            failed |= u16::from(worn) << n;
        }
        failed
    }
}
