//! Layout of several traced devices in one address space.

use std::collections::BTreeMap;
use std::path::Path;

use wordline_kernel::Bytes;

use super::options::Devices;
use crate::{Error, error::Result};

/// Stacked devices begin at multiples of this size. Chosen so that the alignment of requests does not change.
const DEVICE_ALIGNMENT: u64 = 1 << 20;

/// Upper bound on distinct devices. Chosen: far above any recorded system, and the table stays small.
const MAX_DEVICES: usize = 1 << 16;

/// End of the highest request of each device of a trace.
pub(super) struct DeviceEnds {
    devices: Devices,
    ends: BTreeMap<u32, u64>,
    /// Device of the last request and its end, not yet in the table.
    last: Option<(u32, u64)>,
}

impl DeviceEnds {
    pub(super) const fn new(devices: Devices) -> Self {
        Self { devices, ends: BTreeMap::new(), last: None }
    }

    /// Adds a request that ends at `end`.
    #[inline]
    pub(super) fn add(&mut self, path: &Path, device: u32, end: u64) -> Result<()> {
        let key = if self.devices == Devices::Keep { 0 } else { device };
        match &mut self.last {
            Some((last, reaches)) if *last == key => {
                *reaches = (*reaches).max(end);
                Ok(())
            }
            _ => {
                self.store();
                self.last = Some((key, end));
                if self.ends.len() < MAX_DEVICES || self.ends.contains_key(&key) {
                    return Ok(());
                }
                Err(Error::Content {
                    path: path.into(),
                    found: format!("more than {MAX_DEVICES} devices"),
                    wanted: "less, or option devices=keep".into(),
                })
            }
        }
    }

    fn store(&mut self) {
        if let Some((device, end)) = self.last.take() {
            let stored = self.ends.entry(device).or_default();
            *stored = (*stored).max(end);
        }
    }

    /// Stacks the devices in order of their numbers, if the option requests it.
    pub(super) fn layout(&self, path: &Path) -> Result<DeviceLayout> {
        let mut ends = self.ends.clone();
        if let Some((device, end)) = self.last {
            let stored = ends.entry(device).or_default();
            *stored = (*stored).max(end);
        }
        let mut layout = DeviceLayout { devices: self.devices, places: BTreeMap::new(), extent: 0, all: 0 };
        for (device, end) in &ends {
            let length = end.next_multiple_of(DEVICE_ALIGNMENT);
            let next = layout.all.checked_add(length).filter(|next| *next <= 1 << 63);
            if *end > 0 {
                layout.extent = layout.all + end;
            }
            layout.places.insert(*device, (layout.all, *end));
            layout.all = next.ok_or_else(|| Error::Content {
                path: path.into(),
                found: format!("{} devices that together have more than 8 EiB", ends.len()),
                wanted: "less, or option devices=keep".into(),
            })?;
        }
        Ok(layout)
    }
}

/// First byte of each device in the shared address space.
#[derive(Clone)]
pub(super) struct DeviceLayout {
    devices: Devices,
    /// By device: its first byte, and the end of its requests.
    places: BTreeMap<u32, (u64, u64)>,
    extent: u64,
    all: u64,
}

impl DeviceLayout {
    /// Byte after the last that any request touches.
    pub(super) const fn extent(&self) -> Bytes {
        Bytes(self.extent)
    }

    /// Whether any request is relocated.
    pub(super) fn relocates(&self) -> bool {
        self.places.len() > 1
    }

    /// Translates `offset` of `device` into the shared address space. `None` for a device that was not
    /// surveyed, or a range beyond the surveyed requests.
    #[inline]
    pub(super) fn translate(&self, device: u32, offset: u64, size: u64) -> Option<u64> {
        if self.devices == Devices::Keep {
            return Some(offset);
        }
        let (begin, reaches) = self.places.get(&device)?;
        let within = !self.relocates() || offset + size <= reaches.next_multiple_of(DEVICE_ALIGNMENT);
        within.then_some(begin + offset)
    }

    /// Note for the user about devices that were relocated, if any.
    pub(super) fn note(&self) -> Option<String> {
        let count = self.places.len();
        self.relocates().then(|| format!("{count} devices were stacked, {} in all", Bytes(self.all)))
    }
}
