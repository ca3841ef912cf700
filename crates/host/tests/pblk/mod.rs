//! The host FTL gives back what it took, through collection, failures, power cuts and snapshots; and it costs what theory says.

mod amplification;
mod closed_form;
mod cuts;
mod random;
mod rig;
