//! The stamp of a write: [`durability`](super) says what it means.

/// Number of the covering flush that makes a write or a log entry non-volatile.
pub type Stamp = u64;
