//! Where the devices of a trace lie in one address space.

use std::collections::BTreeMap;
use std::path::Path;

use wordline_kernel::Bytes;

use super::options::Devices;
use crate::{Error, error::Result};

/// Stacked devices begin at multiples of this; chosen so that no request's alignment changes.
const DEVICE_ALIGNMENT: u64 = 1 << 20;

/// Devices that are told apart. Chosen: far above any recorded system's, and their table stays small.
const MOST_DEVICES: usize = 1 << 16;

/// How far each device of a trace reaches.
pub(super) struct Ends {
    devices: Devices,
    ends: BTreeMap<u32, u64>,
    /// The device of the last request and how far it reaches, which are not in the table yet.
    last: Option<(u32, u64)>,
}

impl Ends {
    pub(super) const fn new(devices: Devices) -> Self {
        Self { devices, ends: BTreeMap::new(), last: None }
    }

    /// Takes in a request that ends there.
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
                if self.ends.len() < MOST_DEVICES || self.ends.contains_key(&key) {
                    return Ok(());
                }
                Err(Error::Content {
                    path: path.into(),
                    found: format!("more than {MOST_DEVICES} devices"),
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

    /// Lays the devices one behind another in the order of their numbers, if they are to be.
    pub(super) fn layout(&self, path: &Path) -> Result<Layout> {
        let mut ends = self.ends.clone();
        if let Some((device, end)) = self.last {
            let stored = ends.entry(device).or_default();
            *stored = (*stored).max(end);
        }
        let mut layout = Layout { devices: self.devices, places: BTreeMap::new(), extent: 0, all: 0 };
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

/// Where each device begins.
#[derive(Clone)]
pub(super) struct Layout {
    devices: Devices,
    /// By device: its first byte, and how far its requests reach.
    places: BTreeMap<u32, (u64, u64)>,
    extent: u64,
    all: u64,
}

impl Layout {
    /// The byte after the last that any request touches.
    pub(super) const fn extent(&self) -> Bytes {
        Bytes(self.extent)
    }

    /// Whether requests move at all.
    pub(super) fn moves(&self) -> bool {
        self.places.len() > 1
    }

    /// Where a request goes that is at `offset` of `device`; `None` for a device that was not looked at, or a range beyond
    /// what was.
    #[inline]
    pub(super) fn place(&self, device: u32, offset: u64, size: u64) -> Option<u64> {
        if self.devices == Devices::Keep {
            return Some(offset);
        }
        let (begin, reaches) = self.places.get(&device)?;
        let within = !self.moves() || offset + size <= reaches.next_multiple_of(DEVICE_ALIGNMENT);
        within.then_some(begin + offset)
    }

    /// A note for the user about devices that were moved, if any were.
    pub(super) fn note(&self) -> Option<String> {
        let count = self.places.len();
        self.moves()
            .then(|| format!("{count} devices were laid one behind another, {} in all", Bytes(self.all)))
    }
}
