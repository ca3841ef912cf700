//! Configuration of the ECC decoders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ECC decoders of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decoder {
    /// None: decoding takes no time.
    #[default]
    None,
    /// One decoder for each channel. It decodes data in the order of their transfer over the bus.
    Channel,
    /// One decoder for each die.
    Die,
}
