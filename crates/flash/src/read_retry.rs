//! Configuration of read retry and of the ECC decoders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

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

/// Read retry: sensing unreadable pages again with other read reference voltages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadRetryFile {
    /// Most retries of a page: the number of sets of read reference voltages besides the nominal set.
    pub levels: u8,
    /// Time to set the read levels before each retry. If fault rules or cells determine the levels of a page,
    /// the time is spent before each sense at levels other than the nominal ones.
    pub time: Duration,
    /// The ECC decoders. Decoding takes the time that the part's cells require.
    pub decoder: Decoder,
}

impl Default for ReadRetryFile {
    /// Set Features takes less than 1 us (cubeFTL, section 5.1). Chosen: seven non-nominal sets.
    fn default() -> Self {
        Self { levels: 7, time: Duration::from_us(1), decoder: Decoder::default() }
    }
}
