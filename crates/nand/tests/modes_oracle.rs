//! Do blocks in all cell modes store their data, as transactions and on the pins, and with equal times? Are
//! operations rejected that a word line does not allow? A model of a few lines is the oracle.

use proptest::prelude::*;
use wordline_kernel::{Bytes, Calendar, Duration};
use wordline_nand::geometry::Layout;
use wordline_nand::onfi::{Bus, BusOptions, Wiring};
use wordline_nand::{
    BlockSetId, CellMode, Chips, Command, DataTag, DieId, Event, Location, Operation, Part, Pools,
};

use crate::cells::Odd;
use crate::onfi::host;

const DIE: DieId = DieId(0);
const BLOCKS: u32 = 3;
/// Word lines of a block; there are as many layers. A super layer has two word lines.
const LINES: u32 = 4;

/// A step: numbers whose meaning depends on the present state.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: u8,
    block: u32,
    mode: u8,
    page: u32,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..10, 0..BLOCKS, 0u8..8, 0u32..LINES * 3);
    prop::collection::vec(step.prop_map(|(kind, block, mode, page)| Step { kind, block, mode, page }), 1..80)
}

/// TLC with one plane and all modes.
fn part() -> Part {
    let us = Duration::from_us;
    let mut file = host::part_file();
    let g = &mut file.geometry;
    (g.planes, g.blocks_per_plane, g.pages_per_block) = (1, BLOCKS, 3 * LINES);
    (g.bits_per_cell, g.one_shot, g.layers) = (3, true, LINES);
    file.timing.read = [25, 30, 35].map(|time| us(time).into()).to_vec();
    file.timing.reprogram = Some(us(270));
    file.check().expect("the part is sound")
}

/// The contents of a block: the version of each page, in the mode of its first program.
#[derive(Clone, Debug, Default)]
struct Block {
    mode: Option<CellMode>,
    held: Vec<u32>,
    again: [u8; LINES as usize],
}

impl Block {
    /// Whether the word line of `page` can be reprogrammed.
    fn stands(&self, page: u32) -> bool {
        let line = page / 2;
        let last = (self.held.len() as u32).saturating_sub(1) / 2;
        self.mode == Some(CellMode::Mlc)
            && (page as usize) < self.held.len()
            && self.again[line as usize] < 2
            && line / 2 == last / 2
    }

    /// Whether a command in `mode` is allowed in this block.
    fn is_in(&self, mode: CellMode) -> bool {
        self.mode.is_none_or(|own| own == mode.of_block())
    }
}

/// The transactions and the pins of one die.
struct Pair {
    chips: Chips,
    calendar: Calendar<Event>,
    bus: Bus,
}

impl Pair {
    fn new(cells: bool) -> Self {
        let part = part();
        let geometry = Layout::on_one_channel(1, Some(1)).check(&part).expect("the layout is sound");
        let mut chips = Chips::new(Pools::of_pages(part.clone(), geometry));
        let offered = CellMode::OF_BLOCKS.map(|mode| chips.enable_mode(mode));
        assert_eq!(offered, [true; 3]);
        let mut bus = Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
        if cells {
            chips.set_physics(Box::new(Odd::default()));
            bus.set_physics(&Odd::default());
        }
        Self { chips, calendar: Calendar::new(), bus }
    }

    /// Runs a command as a transaction. Returns the array time, or `None` if the command is rejected.
    fn transact(
        &mut self,
        operation: Operation,
        mode: CellMode,
        (block, page): (u32, u32),
    ) -> Option<Duration> {
        let page = self.chips.geometry().page(BlockSetId(block), page);
        let command = Command::new(operation, page, 1, Bytes(512)).spelled(mode);
        self.chips.start(DIE, command, &mut self.calendar).ok()?;
        loop {
            let event = self.calendar.advance().expect("the command ends");
            if let Some(done) = self.chips.handle(event, &mut self.calendar) {
                assert!(!done.failed, "{command:?}");
                return Some(done.array);
            }
        }
    }

    /// Runs a command on the pins. Returns the busy time of the LUN. A rejected command is followed by a
    /// reset.
    fn spell(
        &mut self,
        operation: Operation,
        mode: CellMode,
        (block, page): (u32, u32),
        bytes: &[u8],
    ) -> Option<Duration> {
        let spelled = self.cycles(operation, mode, (block, page), bytes);
        let begin = self.bus.now() + self.bus.timing().t_wb;
        if spelled.is_err() {
            self.bus.command(0xFF).expect("a reset is taken");
            self.bus.wait_ready();
            return None;
        }
        Some(self.bus.wait_ready() - begin)
    }

    fn cycles(
        &mut self,
        operation: Operation,
        mode: CellMode,
        (block, page): (u32, u32),
        bytes: &[u8],
    ) -> Result<(), wordline_nand::onfi::Failure> {
        let programs = operation == Operation::Program;
        let (first, last) = match operation {
            Operation::Read => (0x00, 0x30),
            Operation::Program => (0x80, 0x10),
            _ => (0x60, 0xD0),
        };
        // A program loads the pages of its word line one after the other.
        let pages = if programs { bytes.len() as u32 } else { 1 };
        for n in 0..pages {
            if let Some(prefix) = mode.prefix(programs) {
                self.bus.command(prefix)?;
            }
            self.bus.command(first)?;
            let row = self.bus.row(0, block, page + n).expect("the address has room");
            let column: &[u8] = if first == 0x60 { &[] } else { &[0, 0] };
            self.bus.address(&[column, &row[..]].concat())?;
            if programs {
                self.bus.data_in(&[bytes[n as usize]])?;
            }
            self.bus.command(if n + 1 < pages { 0x11 } else { last })?;
            if n + 1 < pages {
                self.bus.wait_ready();
            }
        }
        Ok(())
    }
}

/// A pair, and the model to which it is compared.
struct Oracle {
    pair: Pair,
    blocks: Vec<Block>,
    version: u32,
}

impl Oracle {
    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let mode = match step.mode {
            0..3 => CellMode::OF_BLOCKS[usize::from(step.mode)],
            // In most cases the mode of the block.
            _ => self.blocks[step.block as usize].mode.unwrap_or(CellMode::Mlc),
        };
        match step.kind {
            0..=3 => self.program(step.block, mode),
            4..=5 => self.program_again(step.block, step.page % (2 * LINES)),
            6..=8 => self.read(step.block, mode, step.page % (LINES * mode.bits(3))),
            _ => self.erase(step.block, mode),
        }
    }

    /// Programs the next word line.
    fn program(&mut self, at: u32, mode: CellMode) -> Result<(), TestCaseError> {
        let block = self.blocks[at as usize].clone();
        let (page, bits) = (block.held.len() as u32, mode.bits(3));
        let allowed = block.is_in(mode) && page < LINES * bits;
        if !page.is_multiple_of(bits) || page >= LINES * 3 {
            return Ok(()); // No such address.
        }
        let versions: Vec<u32> = (1..=bits).map(|n| self.version + n).collect();
        self.version += bits;
        let took = self.both(Operation::Program, mode, (at, page), &versions, allowed)?;
        if took {
            let block = &mut self.blocks[at as usize];
            block.mode = Some(mode);
            block.held.extend(versions);
        }
        Ok(())
    }

    fn program_again(&mut self, at: u32, page: u32) -> Result<(), TestCaseError> {
        let block = self.blocks[at as usize].clone();
        self.version += 1;
        let mode = CellMode::Reprogrammed(block.again[page as usize / 2] + 1);
        let took = self.both(Operation::Program, mode, (at, page), &[self.version], block.stands(page))?;
        if took {
            let block = &mut self.blocks[at as usize];
            block.held[page as usize] = self.version;
            block.again[page as usize / 2] += 1;
        }
        Ok(())
    }

    fn read(&mut self, at: u32, mode: CellMode, page: u32) -> Result<(), TestCaseError> {
        let block = self.blocks[at as usize].clone();
        let again = if mode == CellMode::Mlc { block.again[page as usize / 2] } else { 0 };
        let mode = if again > 0 { CellMode::Reprogrammed(again) } else { mode };
        if self.both(Operation::Read, mode, (at, page), &[], block.is_in(mode))? {
            let byte = self.pair.bus.data_out(1).expect("the page is in the register")[0];
            let stamp = self.pair.chips.stamp(Location(at * 3 * LINES + page));
            match block.held.get(page as usize) {
                Some(version) => prop_assert_eq!((stamp.version, byte), (*version, *version as u8)),
                None => prop_assert_eq!((stamp, byte), (DataTag::ERASED, 0xFF)),
            }
        }
        Ok(())
    }

    fn erase(&mut self, at: u32, mode: CellMode) -> Result<(), TestCaseError> {
        self.both(Operation::Erase, mode, (at, 0), &[], true)?;
        self.blocks[at as usize] = Block::default();
        Ok(())
    }

    /// Runs a command as a transaction and on the pins. Either both take the same time, or both reject it.
    /// Returns whether they accept it.
    fn both(
        &mut self,
        operation: Operation,
        mode: CellMode,
        place: (u32, u32),
        versions: &[u32],
        allowed: bool,
    ) -> Result<bool, TestCaseError> {
        for (register, version) in self.pair.chips.registers(DIE).iter_mut().zip(versions) {
            *register = DataTag { logical: 0, version: *version };
        }
        let bytes: Vec<u8> = versions.iter().map(|version| *version as u8).collect();
        let transaction = self.pair.transact(operation, mode, place);
        let pins = self.pair.spell(operation, mode, place, &bytes);
        prop_assert_eq!(transaction, pins, "{:?} {} {:?}", operation, mode, place);
        prop_assert_eq!(pins.is_some(), allowed, "{:?} {} {:?}", operation, mode, place);
        Ok(allowed)
    }
}

proptest! {
    #[test]
    fn blocks_in_all_modes_hold_what_a_simple_model_holds(steps in steps(), cells in any::<bool>()) {
        let blocks = vec![Block::default(); BLOCKS as usize];
        let mut oracle = Oracle { pair: Pair::new(cells), blocks, version: 0 };
        for step in steps {
            oracle.step(step)?;
        }
    }
}
