//! NAND flash: parts, ONFI commands, buses and dies, timing, energy and limits. This crate contains no FTL.
//!
//! There are two interfaces to the chips. Both give the same times in every stage, to the picosecond. The
//! stages are CLE, ALE, TIR and TOR on the bus, and TON, TIN and BER in the array ([`Stage`]).
//!
//! * [`onfi::Bus`] models the pins: the host latches commands and addresses, transfers bytes and polls the
//!   status. Every cycle is checked, and pages hold real bytes. Use it to test firmware.
//! * [`Chips`] executes transactions ([`Command`]) on a calendar that the caller owns, without callbacks.
//!   Pages hold data tags. Use it for whole devices: it simulates some millions of pages per second.
//!   [`LogicalUnit`] drives chips with host accesses, and [`drive`] drives them with lists of commands.
//!   [`Reference`] simulates such lists clock by clock.
//!
//! # A package of two dies over ONFI
//!
//! A part is read from a file ([`part::PartFile`], TOML in `data/parts`) or built in code. In this example
//! two LUNs share a chip enable. While the first one programs, the second one is erased, and the time line of
//! both is printed.
//!
//! ```
//! use wordline_nand::onfi::{Bus, BusOptions, Status, Wiring};
//! use wordline_nand::part::PartFile;
//! use wordline_nand::{DieId, Part};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #   let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/parts/micron-mt29f4g08aaa.toml");
//!     let file: PartFile = toml::from_str(&std::fs::read_to_string(file)?)?;
//!     let part: Part = file.check()?;
//!     let mut bus = Bus::new(&part, Wiring { luns: 2, ..Wiring::default() }, BusOptions::default())?;
//!
//!     // Page Program: 80h, column and row, data, 10h. Every cycle begins as soon as the timing rules allow.
//!     let page = bus.row(0, 6, 0)?; // LUN 0, block 6, page 0: three address bytes
//!     bus.command(0x80)?;
//!     bus.address(&[&[0, 0], &page[..]].concat())?;
//!     bus.data_in(b"kept without power")?;
//!     bus.command(0x10)?;
//!
//!     // Block Erase in the other LUN, which is idle.
//!     let block = bus.row(1, 9, 0)?;
//!     bus.command(0x60)?;
//!     bus.address(&block)?;
//!     bus.command(0xD0)?;
//!
//!     // The first LUN is busy: it accepts only status commands and resets. An error would say what was
//!     // refused, where and until when; the target would then need a reset, which aborts both operations.
//!     // So poll the status before the next command.
//!     bus.command(0x78)?;
//!     bus.address(&page)?;
//!     let status = Status(bus.data_out(1)?[0]);
//!     assert!(!status.has(Status::READY));
//!
//!     bus.wait_ready(); // R/B# is high once both LUNs are ready
//!     bus.command(0x78)?;
//!     bus.address(&page)?;
//!     let status = Status(bus.data_out(1)?[0]);
//!     assert!(status.has(Status::READY) && !status.has(Status::FAIL));
//!
//!     // Read: 00h, column and row, 30h, wait, data out.
//!     bus.command(0x00)?;
//!     bus.address(&[&[5, 0], &page[..]].concat())?;
//!     bus.command(0x30)?;
//!     bus.wait_ready();
//!     assert_eq!(bus.data_out(13)?, b"without power");
//!
//!     // An illegal cycle is refused: 10h without 80h.
//!     let refused = bus.command(0x10).expect_err("nothing was loaded");
//!     println!("{refused}");
//!
//!     for span in bus.spans() {
//!         let DieId(die) = span.die;
//!         println!("{:>12} +{:<12} die {die}  {}", span.begin.ps(), span.length.ps(), span.stage.name());
//!     }
//!     Ok(())
//! }
//! ```

pub mod cell;
pub mod cell_mode;
pub mod chain;
pub mod chips;
pub mod clock;
pub mod drive;
pub mod energy;
pub mod faults;
pub mod geometry;
pub mod interface;
pub mod latency;
pub mod layers;
pub mod locations;
pub mod onfi;
pub mod page_type;
pub mod pairing;
mod parameters;
pub mod part;
pub mod physics;
pub mod pipeline;
pub mod pools;
pub mod reference;
pub mod span;
pub mod time_range;
pub mod unit;

pub use cell_mode::CellMode;
pub use chips::{
    Chips, Command, CommandCompletion, CutLosses, DataTag, DieTimes, Event, InFlightFate, Operation, Refusal,
    TimeFactors,
};
pub use energy::{EnergyReport, Stage};
pub use faults::{Fault, FaultFile, Faults};
pub use geometry::{BlockSetId, ChannelId, DieId, Geometry, PageId, PlaneBlock, PlaneGroupId};
pub use interface::Interface;
pub use latency::{Latency, LatencyModel};
pub use layers::{LayerId, Layers};
pub use locations::{Location, Locations};
pub use pairing::Pairing;
pub use parameters::Parameters;
pub use part::Part;
pub use physics::{DataSheet, Outcome, Physics, Sensed};
pub use pipeline::Pipeline;
pub use pools::{Pool, Pools};
pub use reference::Reference;
pub use span::Span;
pub use unit::LogicalUnit;
