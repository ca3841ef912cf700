//! Ranges of host writes.

use serde::{Deserialize, Serialize};
use wordline_device::Command;

/// Range of a host write, as buffered pages and designs see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWrite {
    /// First sector, counted within the device.
    pub sector: u64,
    /// Number of sectors; 0 for a page that no host command wrote.
    pub sectors: u32,
}

impl HostWrite {
    /// Host write of a command.
    #[inline]
    pub fn of(command: &Command) -> Self {
        Self { sector: command.sector, sectors: u32::try_from(command.sectors).unwrap_or(u32::MAX) }
    }
}
