//! The pages of the write buffer that survive a power cut.

use serde::{Deserialize, Serialize};

use crate::base::Base;
use crate::cache::Cache;
use crate::map::{LogicalPage, Map};
use crate::sectors::Sectors;

/// A page of the buffer that outlived a power cut.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    logical: LogicalPage,
    version: u32,
    sectors: Sectors,
}

impl Cache {
    /// With protection from power loss, what the host wrote into the buffer is kept.
    pub(crate) fn save_buffer(&mut self, base: &Base) {
        if base.is_protected() {
            let written = self.buffer.used().filter(|entry| !entry.discarded);
            self.saved.extend(written.map(|entry| Saved {
                logical: entry.logical,
                version: entry.version,
                sectors: entry.sectors,
            }));
        }
    }

    /// What was kept of the buffer is there again, unless it had come to flash; how many pages.
    pub(crate) fn restore_buffer(&mut self, base: &Base, map: &mut Map) -> u64 {
        let mut restored = 0;
        for Saved { logical, version, sectors } in std::mem::take(&mut self.saved) {
            let in_flash = map.get(logical).map_or(0, |slot| base.flash.stamp(slot).version);
            if in_flash < version {
                self.buffer.add(logical, version, in_flash, sectors);
                map.take_as_written(logical, version, true);
                restored += 1;
            }
        }
        restored
    }
}
