//! ONFI: what a LUN does with the commands, addresses and data that a bus latches into it.

pub mod cells;
pub mod condition;
pub mod contents;
pub mod limits;
pub mod lun;
mod registers;
pub mod row;

pub use cells::{CellMode, LunTimes};
pub use condition::Condition;
pub use limits::Limit;
pub use lun::{Busy, InjectedFailure, Lun, LunOptions, ProgramKind, ReadKind};
pub use row::{Row, RowAddressing};
