//! Research designs: each a folder that says only what it changes of a device, over public names of the crates below; and the
//! registry by whose names configurations ask for them, which a crate outside adds its own to. No files, no clocks.

pub mod centaur;
mod configured;
pub mod cubeftl;
mod registry;
pub mod ressd;

pub use configured::{Chosen, DesignsFile};
pub use registry::{DesignType, Designs, Entry, Settings};

/// The key of the designs of a device, a list of names.
pub const DESIGNS: &str = "designs";

/// The key of the settings of designs: a table with the name of one and its settings, or a table for each that is named elsewhere.
pub const DESIGN: &str = "design";

/// The key that names the design to answer where several could, by seam.
pub const DECIDES: &str = "decides";
