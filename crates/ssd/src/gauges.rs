//! Readings of a device, of which the course of a run is made.

use wordline_kernel::Duration;

/// Readings of a device at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Time that the array of each die has worked.
    pub arrays: Vec<Duration>,
    /// Block sets that are erased and not in use, and those that are not out of use. None of these where a device does not tell.
    pub free_blocks: u64,
    /// See [`free_blocks`](Self::free_blocks).
    pub good_blocks: u64,
    /// Bytes that can be programmed before another victim is needed: in free blocks, in open ones, and in place of what the
    /// collector has gone through of its victims. None where a device does not tell.
    pub room: u64,
    /// Logical pages of the host in the write buffer, those on their way to flash among them.
    pub buffered_pages: u64,
    /// Logical pages of the victims that were erased.
    pub victim_pages: u64,
    /// Those of them that were valid when the victim was selected.
    pub victim_valid_pages: u64,
}

impl Gauges {
    /// Those of devices side by side; none where one of them does not tell.
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
