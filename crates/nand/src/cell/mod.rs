//! The cell model: threshold voltages, the effects that shift them, programs and reads.
//!
//! All designs use one model. A parameter set ([`CellSet`], TOML in `data/cells`) has:
//!
//! * the threshold voltages of new cells ([`Levels`]);
//! * the effects of cycles, time, reads and neighbours, one optional term for each effect;
//! * the variation by layer, block and chip ([`Variation`]);
//! * the loops of programs ([`Ispp`]);
//! * ECC and read retry ([`Reading`]).
//!
//! Program times and the errors of skipped verifies follow from the same loops. Two bits of a cell of eight
//! states can be rewritten in place ([`TwoBitCoding`]).
//!
//! The model has two forms with the same parameters: an analytic one, and [`Population`], a Monte Carlo
//! simulation of single cells.

mod aged;
mod ages;
mod arrays;
mod check;
mod coding;
mod condition;
mod deviate;
mod factors;
mod file;
mod ispp;
mod levels;
mod limits;
mod math;
mod mode;
mod monte_carlo;
mod pooled;
mod rate_classes;
mod rates;
mod read;
mod reprogram;
mod retention_clock;
mod set;
mod terms;
mod variants;
mod variation;

pub use aged::{AgeShare, AgedCells, AgedCellsFile, Surge};
pub use ages::MeasuredAges;
pub use arrays::CellArrays;
pub use coding::{Coding, CodingError};
pub use condition::{Condition, Effect, Effects, acceleration};
pub use factors::{Factors, Tried};
pub use file::CellsFile;
pub use ispp::{Ispp, Loops, ProgramParameters, Programmed, Speed};
pub use levels::{LeftTail, Level, Levels};
pub use math::{Shape, count as drawn_count, normal as drawn_deviate};
pub use mode::{StoredBits, UsedStates};
pub use monte_carlo::Population;
pub use pooled::PooledArrays;
pub use read::{Ecc, ReadOutcome, Reading, Retries, Retry, RetryLimits};
pub use reprogram::{Bit, TwoBitCoding};
pub use set::{Base, CellSet, Margins, ProgramEffect};
pub use terms::{Background, Cycles, Disturb, Interference, Retention, Term};
pub use variation::{Anchor, CellLocation, CellProperties, Draws, Role, Variation};
