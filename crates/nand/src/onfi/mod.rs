//! ONFI at cycle level: the host's view of a part through its pins, and the behaviour of LUNs.
//!
//! In comments, *from memory* marks facts that were not looked up in the text of a specification or data
//! sheet.

pub mod bus;
mod cells;
pub mod command;
pub mod condition;
pub mod contents;
pub mod crc;
pub mod failure;
pub mod features;
pub mod history;
pub mod host_times;
pub mod identity;
pub mod legacy;
pub mod limits;
pub mod lun;
pub mod lun_times;
pub mod modes;
pub mod parameter_page;
mod registers;
pub mod row;
pub mod rules;
pub mod script;
pub mod sequence;
pub mod status;
pub mod step;
pub mod support;

pub use crate::CellMode;
pub use bus::{Bus, BusOptions, BusyPeriod, Pace, Wiring};
pub use condition::Condition;
pub use failure::{Failure, FailureKind, Fault};
pub use features::{FeatureError, Features};
pub use identity::Identity;
pub use limits::Limit;
pub use lun::{Busy, InjectedFailure, Lun, LunOptions, ProgramKind, ReadKind};
pub use lun_times::LunTimes;
pub use modes::{Modes, TimingMode};
pub use parameter_page::ParameterPage;
pub use row::{Row, RowAddressing};
pub use status::Status;
