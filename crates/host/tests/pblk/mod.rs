//! The host FTL returns the data that it took, through GC, failures, power cuts and snapshots; and its costs
//! match theory.

mod amplification;
mod buffered;
mod closed_form;
mod cuts;
mod followed;
mod laid;
mod random;
pub mod rig;
