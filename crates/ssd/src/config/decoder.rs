//! The decoders of the error correction, as a configuration names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The decoders that the error correction has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decoder {
    /// None: decoding takes no time.
    #[default]
    None,
    /// One for each channel, which decodes what comes over its bus in the order in which it comes.
    Channel,
    /// One for each die.
    Die,
}
