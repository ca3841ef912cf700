//! Gauges of a device, for the time series of a run.

use wordline_kernel::Duration;

/// Gauges of a device at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Busy time of each die's array.
    pub arrays: Vec<Duration>,
    /// Erased multi-plane blocks not in use, and good ones. Both 0 if a device does not report them.
    pub free_blocks: u64,
    /// See [`free_blocks`](Self::free_blocks).
    pub good_blocks: u64,
    /// Bytes that can be programmed before another victim is needed: in free blocks, in open blocks, and in
    /// the processed part of victims. 0 if a device does not report them.
    pub room: u64,
    /// Logical host pages in the write buffer, including those on their way to flash.
    pub buffered_pages: u64,
    /// Logical pages of the victims erased.
    pub victim_pages: u64,
    /// Pages among them that were valid when the victim was selected.
    pub victim_valid_pages: u64,
}

impl Gauges {
    /// Combined gauges of several devices; empty if one of them reports none.
    pub fn join(devices: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for device in devices {
            if device.good_blocks == 0 {
                return Self::default();
            }
            all.arrays.extend(device.arrays);
            all.free_blocks += device.free_blocks;
            all.good_blocks += device.good_blocks;
            all.room += device.room;
            all.buffered_pages += device.buffered_pages;
            all.victim_pages += device.victim_pages;
            all.victim_valid_pages += device.victim_valid_pages;
        }
        all
    }
}
