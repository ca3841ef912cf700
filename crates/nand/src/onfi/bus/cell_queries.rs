//! The cell model of a bus, and the parameter sets that feature 92h selects.

use super::Bus;
use crate::onfi::features::address;
use crate::{Parameters, Physics};

impl Bus {
    /// Uses a copy of `physics` in each LUN as the cell model for array times and outcomes from now on.
    pub fn set_physics(&mut self, physics: &dyn Physics) {
        let ports = self.targets.iter_mut().flat_map(|target| &mut target.ports);
        ports.for_each(|port| port.lun.set_physics(physics.copied()));
    }

    /// Stores `parameters` as set `number` of every LUN, for selection by feature 92h.
    pub fn set_parameters(&mut self, number: u16, parameters: &Parameters) {
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            port.lun.set_parameters(number, *parameters);
            port.features.enable_parameter_sets();
        }
    }

    /// Selects a parameter set in every LUN, as by feature 92h, in no time. Panics if no parameter set was
    /// stored.
    pub fn select_parameters(&mut self, number: u16) {
        let [low, high] = number.to_le_bytes();
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            let set = port.features.set(address::PARAMETER_SET, [low, high, 0, 0]);
            set.expect("there are sets of parameters");
        }
    }
}
