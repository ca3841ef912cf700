//! The design that suspends blocks, as a configuration names it.

#[path = "../../../ssd/tests/common/sets_aside.rs"]
mod sets_aside;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::DesignType;
use wordline_ftl::{Config, Design};

pub use sets_aside::{SetsAside, Settings};

/// Settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    limit: u16,
    open_blocks: u8,
    streams: u8,
    slc: bool,
    again: u8,
    chances: [u8; 3],
}

impl Default for File {
    fn default() -> Self {
        let Settings { limit, open_blocks, streams, slc, again, chances, .. } = Settings::suspending(1);
        Self { limit, open_blocks, streams, slc, again, chances }
    }
}

impl DesignType for SetsAside {
    const NAME: &'static str = "sets-aside";
    const DESCRIPTION: &'static str = "Some blocks are set aside before they are full.";

    type File = File;

    fn build(file: &File, config: &Config) -> Box<dyn Design> {
        let File { limit, open_blocks, streams, slc, again, chances } = *file;
        let pools = config.pools.count() as u8;
        Settings { limit, open_blocks, streams, pools, slc, again, chances }.design()
    }
}
