//! The host FTL gives back what it took, through collection, failures, power cuts and snapshots; and it costs what theory says.

mod amplification;
mod buffered;
mod closed_form;
mod cuts;
mod followed;
mod laid;
mod random;
pub mod rig;
