//! The targets of a bus, and the target that cycles go to: the selected volume of the chip enable that is low.

use super::Wiring;
use super::target::{Port, Target};
use crate::DieId;
use crate::onfi::failure::FailureKind;

/// All targets of a bus.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    wiring: Wiring,
    /// By chip enable, then by volume.
    all: Vec<Target>,
    /// The chip enable that is low.
    enabled: usize,
    /// The selected volume of each chip enable.
    volumes: Vec<usize>,
}

impl Targets {
    /// Targets made from their numbers. Volume 0 of chip enable 0 is selected.
    pub fn new(wiring: Wiring, target: impl Fn(u32) -> Target) -> Self {
        Self {
            wiring,
            all: (0..wiring.targets * wiring.volumes).map(target).collect(),
            enabled: 0,
            volumes: vec![0; wiring.targets as usize],
        }
    }

    /// The topology of the bus.
    pub fn wiring(&self) -> Wiring {
        self.wiring
    }

    /// Number of the selected target.
    pub fn current(&self) -> usize {
        self.enabled * self.wiring.volumes as usize + self.volumes[self.enabled]
    }

    /// The selected target.
    pub fn selected(&self) -> &Target {
        &self.all[self.current()]
    }

    /// The selected target.
    pub fn selected_mut(&mut self) -> &mut Target {
        let current = self.current();
        &mut self.all[current]
    }

    /// The target with a number.
    pub fn get_mut(&mut self, number: usize) -> &mut Target {
        &mut self.all[number]
    }

    /// All targets.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        self.all.iter_mut()
    }

    /// The volumes of the chip enable that is low. They have a common R/B# pin.
    pub fn enabled(&self) -> &[Target] {
        let volumes = self.wiring.volumes as usize;
        &self.all[self.enabled * volumes..][..volumes]
    }

    /// Pulls a chip enable low.
    pub fn enable(&mut self, chip_enable: u32) {
        self.enabled = chip_enable as usize;
    }

    /// Selects the volume with an address. The address of a volume is the value of feature 58h, or by default
    /// its number within the chip enable.
    pub fn select_volume(&mut self, address: u8) -> Result<(), FailureKind> {
        let address_of = |n: usize, target: &Target| match target.ports[0].features.volume() {
            0 => n as u8,
            volume => volume,
        };
        let volume =
            self.enabled().iter().enumerate().position(|(n, target)| address_of(n, target) == address);
        let unknown = FailureKind::Unsupported { what: format!("volume {address}") };
        self.volumes[self.enabled] = volume.ok_or(unknown)?;
        Ok(())
    }

    /// The LUNs of all targets.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        self.all.iter().flat_map(|target| &target.ports)
    }

    /// The LUNs of all targets.
    pub fn ports_mut(&mut self) -> impl Iterator<Item = &mut Port> {
        self.all.iter_mut().flat_map(|target| &mut target.ports)
    }

    /// A LUN, counted over the bus.
    ///
    /// # Panics
    /// If the bus has no such LUN.
    pub fn port(&self, die: DieId) -> &Port {
        let luns = self.wiring.luns;
        &self.all[(die.0 / luns) as usize].ports[(die.0 % luns) as usize]
    }
}
