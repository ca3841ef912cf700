//! Which channel, package, die and row of planes a write goes to.

mod dynamic;
mod fixed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_nand::Geometry;

pub use dynamic::Dynamic;
pub use fixed::Fixed;

/// A row of planes of the device, where a program unit can go.
pub type Row = u32;

/// What a placement may look at when a program unit is to be written.
pub trait Rows {
    /// How many rows there are.
    fn count(&self) -> u32;
    /// Whether the row takes a program unit now: its die is not busy with another write and it has free pages.
    fn accepts(&self, row: Row) -> bool;
}

/// Says where a page goes. It looks and answers; the mechanism checks the answer and acts.
pub trait Placement: Send {
    /// The only row that logical page `page` may go to, if that is fixed by its number.
    fn home(&self, page: u32) -> Option<Row>;
    /// For pages without a home: a row that accepts a program unit, or `None` when none does.
    fn next(&mut self, rows: &dyn Rows) -> Option<Row>;
}

/// The placements that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlacementKind {
    /// The next row in turn whose die is free.
    Dynamic {},
    /// A row fixed by the logical page number.
    Fixed {
        /// Which coordinate changes first from one logical page to the next: the letters of channel, way (package),
        /// die and plane in some order.
        #[serde(default = "cwdp")]
        order: String,
    },
}

fn cwdp() -> String {
    "CWDP".into()
}

impl Default for PlacementKind {
    fn default() -> Self {
        Self::Dynamic {}
    }
}

impl PlacementKind {
    /// What is wrong with the settings: what was found and what was wanted.
    pub fn complaint(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Fixed { order } if !fixed::is_order(order) => {
                Some((order.clone(), "the letters C, W, D and P, each once, such as \"CWDP\""))
            }
            _ => None,
        }
    }

    /// The policy for a device of this geometry, with `packages` packages on a channel.
    pub fn build(&self, geometry: &Geometry, packages: u32) -> Box<dyn Placement> {
        match self {
            Self::Dynamic {} => Box::new(Dynamic::new(geometry)),
            Self::Fixed { order } => Box::new(Fixed::new(geometry, packages, order)),
        }
    }
}
