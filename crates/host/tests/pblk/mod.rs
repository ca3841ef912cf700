//! The host FTL: it returns the data that were written, through GC, failures, power cuts and snapshots. Its
//! costs match theory.

mod amplification;
mod buffered;
mod closed_form;
mod cuts;
mod followed;
mod laid;
mod random;
pub mod rig;
