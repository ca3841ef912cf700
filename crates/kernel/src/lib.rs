//! The foundation of the simulator:
//!
//! * instants and durations in picoseconds, bytes and energy;
//! * typed ids and the columns that they index;
//! * the calendar of events;
//! * named random streams;
//! * counters, histograms and snapshots;
//! * errors with the key of the invalid value.
//!
//! Nothing here depends on flash.

pub mod calendar;
pub mod chart;
pub mod column;
pub mod complaint;
mod counted;
pub mod digest;
mod divisor;
pub mod ensure;
mod factor;
pub mod histogram;
pub mod metrics;
pub mod pairs;
pub mod parse;
mod prefetch;
pub mod random;
pub mod series;
mod shell;
pub mod snapshot;
pub mod table;
pub mod time;
pub mod units;

pub use calendar::{Calendar, MappedSchedule, Schedule};
pub use chart::Chart;
pub use column::{Column, Id};
pub use complaint::{Complaint, Complaints, nearest, one_of};
pub use counted::{counted, grouped};
pub use digest::Digest;
pub use divisor::gcd;
pub use factor::Factor;
pub use histogram::Histogram;
pub use metrics::{Metric, Metrics};
pub use pairs::Pairs;
pub use prefetch::prefetch;
pub use random::{Seed, Stream, Streams};
pub use series::Series;
pub use shell::quoted;
pub use table::LookupTable;
pub use time::{Duration, Instant};
pub use units::{Bytes, Energy, MegaTransfers, Power};
