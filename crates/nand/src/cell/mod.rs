//! The cells: threshold voltages, what moves them, and what a program and a read make of them.
//!
//! One model under all designs. A parameter set ([`CellSet`], TOML in `data/cells`) says where new cells lie ([`Levels`]), what cycles,
//! time, reads and neighbours do to them (one term an effect, each of which can be left out), how cells differ by place
//! ([`Variation`]), how programs go, loop by loop ([`Ispp`]), and how reads are tried again ([`Reading`]). Program time and errors of
//! skipped verifies come out of the same loops. Two bits of a cell of eight states can be rewritten in place ([`TwoBits`]).
//!
//! There are two forms: the analytic one, and [`Population`], which draws single cells from the same parameters.

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
mod passing;
mod pooled;
mod rates;
mod read;
mod reprogram;
mod set;
mod terms;
mod variation;
mod ways;

pub use aged::{AgeShare, AgedCells, AgedCellsFile, Surge};
pub use ages::Ages;
pub use arrays::CellArrays;
pub use coding::{Coding, CodingError};
pub use condition::{Condition, Effect, Effects, acceleration};
pub use factors::{Factors, Tried};
pub use file::CellsFile;
pub use ispp::{How, Ispp, Loops, Programmed, Speed};
pub use levels::{LeftTail, Level, Levels};
pub use math::{Shape, count as drawn_count, normal as drawn_deviate};
pub use mode::{Held, Used};
pub use monte_carlo::Population;
pub use pooled::PooledArrays;
pub use read::{Ecc, ReadOutcome, Reading, Retries, Retry, Tries};
pub use reprogram::{Bit, TwoBits};
pub use set::{Base, CellSet, Margins, Written};
pub use terms::{Background, Cycles, Disturb, Interference, Retention, Term};
pub use variation::{Anchor, Draws, Place, Role, Strength, Variation};
