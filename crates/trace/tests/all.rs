//! External tests of traces, as one program: each file is a module, and linked once.

mod bursts;
mod caches;
mod columns;
mod formats;
mod malformed;
mod parquet;
mod recorded;
mod recorders;
mod statistics;
mod twins;
mod units;
mod writing;
