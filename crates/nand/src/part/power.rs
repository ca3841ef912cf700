//! The power that a die draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Power;

use crate::interface::BusTiming;

/// The power that a die draws in each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerDraw {
    /// While sensing.
    pub read: Power,
    /// While programming.
    pub program: Power,
    /// While erasing.
    pub erase: Power,
    /// While data are transferred. Default: computed from the data rate of the interface, after figure 24 of
    /// NANDFlashSim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Power>,
    /// While commands and addresses are latched: a few bytes into a latch, not the whole page register
    /// (NANDFlashSim, section 9.1). Default: as `interface`. If `interface` is left out, too: the power of
    /// one byte of the interface in each cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latch: Option<Power>,
    /// While idle.
    pub idle: Power,
    /// Whether each active plane draws the given power in read, program and erase. Default: the die draws it
    /// with any number of active planes, because data sheets give one current.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_plane: bool,
}

impl PowerDraw {
    /// The same draw in every state and with any number of active planes, for uses without power results.
    pub const fn even(power: Power) -> Self {
        Self {
            read: power,
            program: power,
            erase: power,
            interface: Some(power),
            latch: None,
            idle: power,
            per_plane: false,
        }
    }
}

/// The power that a die draws in each state, with the defaults of omitted keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// While sensing.
    pub read: Power,
    /// While programming.
    pub program: Power,
    /// While erasing.
    pub erase: Power,
    /// While data are transferred.
    pub interface: Power,
    /// While commands and addresses are latched.
    pub latch: Power,
    /// While idle.
    pub idle: Power,
    /// Whether each active plane draws the given power in read, program and erase.
    pub per_plane: bool,
}

impl Draw {
    pub(super) fn of(table: &PowerDraw, bus: &BusTiming) -> Self {
        let PowerDraw { read, program, erase, interface, latch, idle, per_plane } = *table;
        let latch = latch.or(interface).unwrap_or_else(|| bus.latch_power());
        let interface = interface.unwrap_or_else(|| bus.data_power());
        Self { read, program, erase, interface, latch, idle, per_plane }
    }
}
