//! NAND flash: parts, geometry, buses and dies, energy, and what was written into every page.
//!
//! A transaction ([`Command`]) walks a chain of stages: CLE, ALE, TIR and TOR hold the channel's bus, TON, TIN and
//! BER hold the planes. [`Chips`] carries it out on a calendar that the caller owns, and never calls upward.

pub mod chain;
pub mod chips;
pub mod clock;
pub mod drive;
pub mod energy;
pub mod geometry;
pub mod interface;
pub mod latency;
pub mod onfi;
pub mod pairing;
pub mod part;
pub mod pipeline;
pub mod reference;
pub mod span;
pub mod unit;

pub use chips::{Chips, Command, Done, Event, Operation, Stamp};
pub use energy::{EnergyReport, Stage};
pub use geometry::{ChannelId, DieId, Geometry, PageId, PlaneBlock, RowBlockId};
pub use interface::Interface;
pub use latency::{Latency, LatencyModel};
pub use pairing::Pairing;
pub use part::Part;
pub use pipeline::Pipeline;
pub use reference::Reference;
pub use span::Span;
pub use unit::LogicalUnit;
