//! The interface of a configured device, for code that does not know its type.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use wordline_device::block_device::Shape;
use wordline_kernel::{Bytes, Complaints};
use wordline_run::prepare::pages_to_fill;
use wordline_run::running::{self, OutputFiles};
use wordline_run::steps::SteppedRun;

use super::device_type::{ChipsInfo, DeviceType};
use super::ssd::Ssd;
use crate::config::explain::Section;
use crate::config::read::Keys;
use crate::config::schema::DEVICE;
use crate::error::Result;
use crate::load::{Load, Start};
use crate::memory;
use crate::observer::{Observer, PRECONDITIONING};
use crate::prepare::{self, SnapshotRequest};

/// A configured device of any type.
pub trait Configured: fmt::Debug + Send + Sync {
    /// The name of its type.
    fn device_type(&self) -> &'static str;
    /// All its keys, including the key of its type.
    fn table(&self) -> toml::Table;
    /// The shape of the device: namespaces, sector size and limits, as a host sees them.
    fn shape(&self) -> Shape;
    /// Number of its submission queues.
    fn queues(&self) -> u16;
    /// The chips of each pool.
    fn chips(&self) -> Vec<ChipsInfo>;
    /// Memory that the simulator needs for its tables, about.
    fn memory(&self) -> Bytes;
    /// The values that follow from its configuration.
    fn explain(&self) -> Vec<Section>;
    /// The keys that a lower layer set and that are without effect.
    ///
    /// # Errors
    /// The keys that a user set without effect.
    fn ineffective_keys(&self, keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints>;
    /// Makes the device, prepares it as `start` describes, and begins a run with `load`.
    ///
    /// # Errors
    /// The errors of [`Session::of`](crate::Session::of).
    fn begin(&self, start: &Start, load: Load, observer: &mut dyn Observer) -> Result<Box<dyn SteppedRun>>;
    /// Makes the device, preconditions it, and saves it as a snapshot.
    ///
    /// # Errors
    /// The errors of [`run::make_snapshot`](crate::run::make_snapshot).
    fn make_snapshot(&self, making: SnapshotRequest<'_>, observer: &mut dyn Observer) -> Result<()>;
    /// The device as [`Any`], for callers that know its type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: DeviceType> Configured for T {
    fn device_type(&self) -> &'static str {
        T::NAME
    }

    fn table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self.file()).expect("keys of a device are TOML");
        table.insert(DEVICE.into(), T::NAME.into());
        table
    }

    fn shape(&self) -> Shape {
        DeviceType::shape(self)
    }

    fn queues(&self) -> u16 {
        DeviceType::queues(self)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        DeviceType::chips(self)
    }

    fn memory(&self) -> Bytes {
        DeviceType::memory(self)
    }

    fn explain(&self) -> Vec<Section> {
        DeviceType::explain(self)
    }

    fn ineffective_keys(&self, keys: &Keys<'_>) -> std::result::Result<Vec<String>, Complaints> {
        DeviceType::ineffective_keys(self, keys)
    }

    fn begin(&self, start: &Start, load: Load, observer: &mut dyn Observer) -> Result<Box<dyn SteppedRun>> {
        memory::check(DeviceType::memory(self), start)?;
        let opened = OutputFiles::of(&load)?;
        let began = Instant::now();
        observer.phase(PRECONDITIONING, pages_to_fill(start, &DeviceType::shape(self)));
        let mut load = load;
        let mut prepared = prepare::prepare(self, start, &mut load, observer)?;
        load.change.apply(&mut prepared.device, &mut load.pace)?;
        Ok(running::begin(prepared, load, opened, began, observer))
    }

    fn make_snapshot(&self, making: SnapshotRequest<'_>, observer: &mut dyn Observer) -> Result<()> {
        memory::check(DeviceType::memory(self), &Start::Preconditioned(making.precondition))?;
        prepare::make_snapshot_of(self, making, observer)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The SSD behind this interface; `None` for other device types.
pub fn as_ssd(device: &Arc<dyn Configured>) -> Option<&Ssd> {
    device.as_any().downcast_ref()
}
