//! Gauges of a device, for the time series of a run.

use wordline_kernel::Duration;

/// Gauges of a device at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Busy time of each die's array, with the elapsed part of an operation in progress.
    pub arrays: Vec<Duration>,
    /// Free multi-plane blocks: erased and not open. 0 if a device does not report it.
    pub free_blocks: u64,
    /// Multi-plane blocks that are not bad. 0 if a device does not report it.
    pub good_blocks: u64,
    /// Host pages in the write buffer, including those whose program is in progress.
    pub buffered_pages: u64,
    /// Logical pages of all victims erased so far.
    pub victim_pages: u64,
    /// Pages of these victims that were valid when the victim was selected.
    pub victim_valid_pages: u64,
}

impl Gauges {
    /// Sum of the gauges of several devices; empty if a device has none.
    pub fn join(devices: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for device in devices {
            if device.good_blocks == 0 {
                return Self::default();
            }
            all.arrays.extend(device.arrays);
            all.free_blocks += device.free_blocks;
            all.good_blocks += device.good_blocks;
            all.buffered_pages += device.buffered_pages;
            all.victim_pages += device.victim_pages;
            all.victim_valid_pages += device.victim_valid_pages;
        }
        all
    }
}
