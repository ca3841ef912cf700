//! NAND flash: parts, geometry, buses and dies, energy, and what was written into every page.
//!
//! A transaction  walks a chain of stages: CLE, ALE, TIR and TOR hold the channel's bus, TON, TIN and
//! BER hold the planes.

pub mod geometry;
pub mod part;
pub mod timing;

pub use geometry::{ChannelId, DieId, Geometry, PageId, RowBlockId};
pub use part::Part;
