//! Do partially programmed pages store their data, as transactions and on the pins, up to the number of
//! programs that the part allows?

use proptest::prelude::*;
use wordline_kernel::{Bytes, Calendar};
use wordline_nand::geometry::Layout;
use wordline_nand::onfi::{Bus, BusOptions, Failure, Wiring};
use wordline_nand::{
    BlockSetId, Chips, Command, DataTag, DieId, Event, Location, Locations, Operation, PageId, Pool, Pools,
    Refusal,
};

use crate::onfi::host;

const DIE: DieId = DieId(0);
const PAGES: u32 = 8;
/// The halves of a page, each with its first column.
const HALVES: [(usize, u16); 2] = [(0, 0), (1, 256)];

/// A block of one plane with pages of two locations.
struct Rig {
    chips: Chips,
    calendar: Calendar<Event>,
    bus: Bus,
    most: u32,
    /// For each page: the versions of its halves, and the number of its programs.
    held: Vec<([Option<u32>; 2], u32)>,
    version: u32,
}

impl Rig {
    fn new(most: u32) -> Self {
        let mut file = host::part_file();
        (file.geometry.planes, file.programs_per_page) = (1, Some(most));
        let part = file.check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(1)).check(&part).expect("the layout is sound");
        let locations = Locations::of_size(&geometry, Bytes(256)).expect("a page is two of them");
        let mut chips = Chips::new(Pools::one(Pool { part: part.clone(), geometry, locations }));
        assert_eq!(chips.enable_partial_programs(), most > 1);
        let bus = Bus::new(&part, Wiring::default(), BusOptions::default()).expect("the wiring is sound");
        Self { chips, calendar: Calendar::new(), bus, most, held: Vec::new(), version: 0 }
    }

    fn transact(&mut self, operation: Operation, page: u32) -> Result<(), Refusal> {
        let page = self.chips.geometry().page(BlockSetId(0), page);
        self.chips.start(DIE, Command::new(operation, page, 1, Bytes(512)), &mut self.calendar)?;
        while let Some(event) = self.calendar.advance() {
            self.chips.handle(event, &mut self.calendar);
        }
        Ok(())
    }

    /// Programs these halves of a page on the pins.
    fn spell(&mut self, page: u32, halves: [bool; 2], version: u32) -> Result<(), Failure> {
        let row = self.bus.row(0, 0, page).expect("the page is there");
        self.bus.command(0x80)?;
        self.bus.address(&[&[0, 0], &row[..]].concat())?;
        for (half, column) in HALVES.into_iter().filter(|(half, _)| halves[*half]) {
            self.bus.command(0x85)?;
            self.bus.address(&column.to_le_bytes())?;
            self.bus.data_in(&[version as u8 ^ half as u8])?;
        }
        self.bus.command(0x10)?;
        self.bus.wait_ready();
        Ok(())
    }

    fn program(&mut self, next: bool, halves: [bool; 2]) -> Result<(), TestCaseError> {
        let len = self.held.len() as u32;
        let page = if next || len == 0 { len } else { len - 1 };
        if page >= PAGES {
            return Ok(());
        }
        self.version += 1;
        let (held, programs) = self.held.get(page as usize).copied().unwrap_or_default();
        let overwrites = HALVES.iter().any(|(half, _)| halves[*half] && held[*half].is_some());
        for (half, register) in self.chips.registers(DIE).iter_mut().enumerate() {
            let stamp = DataTag { logical: half as u32, version: self.version };
            *register = if halves[half] { stamp } else { DataTag::ERASED };
        }
        let wanted = if programs >= self.most {
            Err(Refusal::Programs { page: PageId(page), most: self.most })
        } else if overwrites {
            Err(Refusal::Overwrites { page: PageId(page) })
        } else {
            Ok(())
        };
        prop_assert_eq!(self.transact(Operation::Program, page), wanted);
        if matches!(wanted, Err(Refusal::Overwrites { .. })) {
            return Ok(()); // On the pins its bits would mix with those that are there.
        }
        let spelled = self.spell(page, halves, self.version);
        prop_assert_eq!(spelled.is_ok(), wanted.is_ok(), "{:?}", spelled);
        if spelled.is_err() {
            self.bus.command(0xFF).expect("a reset is taken");
            self.bus.wait_ready();
            return Ok(());
        }
        if page == len {
            self.held.push(Default::default());
        }
        let (held, programs) = &mut self.held[page as usize];
        *programs += 1;
        for (half, _) in HALVES.into_iter().filter(|(half, _)| halves[*half]) {
            held[half] = Some(self.version);
        }
        self.compare(page)
    }

    /// Checks that transactions and pins store the programmed data.
    fn compare(&mut self, page: u32) -> Result<(), TestCaseError> {
        let (held, programs) = self.held[page as usize];
        prop_assert_eq!(u32::from(self.chips.programs(PageId(page))), programs);
        let row = self.bus.row(0, 0, page).expect("the page is there");
        let address = [&[0, 0], &row[..]].concat();
        self.bus.command(0x00).and_then(|()| self.bus.address(&address)).expect("it is read");
        self.bus.command(0x30).expect("it is read");
        self.bus.wait_ready();
        let bytes = self.bus.data_out(512).expect("it is read");
        for (half, column) in HALVES {
            let stamp = self.chips.stamp(Location(page * 2 + half as u32));
            let wanted =
                held[half].map_or(DataTag::ERASED, |version| DataTag { logical: half as u32, version });
            prop_assert_eq!(stamp, wanted);
            let byte = held[half].map_or(0xFF, |version| version as u8 ^ half as u8);
            prop_assert_eq!(bytes[usize::from(column)], byte);
        }
        Ok(())
    }

    fn erase(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.transact(Operation::Erase, 0), Ok(()));
        let row = self.bus.row(0, 0, 0).expect("the block is there");
        self.bus.command(0x60).and_then(|()| self.bus.address(&row)).expect("it is erased");
        self.bus.command(0xD0).expect("it is erased");
        self.bus.wait_ready();
        self.held.clear();
        prop_assert_eq!(self.chips.programs(PageId(0)), 0);
        Ok(())
    }
}

proptest! {
    #[test]
    fn pages_hold_the_parts_that_were_programmed_and_stand_no_more(
        most in 2u32..5,
        steps in prop::collection::vec((0u8..12, any::<[bool; 2]>()), 1..60),
    ) {
        let mut rig = Rig::new(most);
        for (kind, halves) in steps {
            if kind == 0 { rig.erase()? } else { rig.program(kind < 4, halves)? }
        }
    }
}

#[test]
fn a_part_that_stands_one_program_of_a_page_offers_no_partial_ones() {
    let rig = Rig::new(1);
    assert_eq!(rig.chips.programs(PageId(0)), 0, "nothing is counted");
}
