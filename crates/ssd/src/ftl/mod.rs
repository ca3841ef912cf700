//! The flash translation layer's mechanisms: where logical pages are, which blocks are free, open, closed or being
//! cleaned, and what is done about it.

pub mod block_map;
pub mod blocks;
pub mod candidates;
pub mod checkpoint;
pub mod collector;
pub mod discards;
pub mod gc_config;
pub mod lost;
pub mod map_config;
pub mod mapping;
pub mod slc_cache;
pub mod translation;
pub mod unit_writes;
pub mod wear;

pub use block_map::BlockMap;
pub use blocks::Blocks;
pub use collector::Collector;
pub use discards::Discards;
pub use lost::Lost;
pub use mapping::Mapping;
pub use translation::Translation;
pub use unit_writes::UnitWrites;
