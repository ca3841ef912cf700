//! Research designs. Each design has a folder with only its changes to a device, written against public names
//! of the crates below. The registry maps the names in configurations to designs. Other crates can add
//! designs. This crate uses no files and no clocks.

pub mod centaur;
mod configured;
pub mod cubeftl;
mod design_type;
mod registry;
pub mod ressd;

pub use configured::{DesignsFile, SelectedDesigns};
pub use design_type::DesignType;
pub use registry::{Designs, Entry, Settings};

/// Key of the designs of a device: a list of names.
pub const DESIGNS: &str = "designs";

/// Key of design settings: a table with the name and the settings of one design, or a table for each design
/// that is named elsewhere.
pub const DESIGN: &str = "design";

/// Key of the precedence between designs: by extension point, the design that decides.
pub const DECIDES: &str = "decides";
