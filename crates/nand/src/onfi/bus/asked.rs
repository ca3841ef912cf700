//! The cells behind the pins, and the sets of parameters that feature 92h chooses.

use super::Bus;
use crate::onfi::features::address;
use crate::{Parameters, Physics};

impl Bus {
    /// Lets copies of `physics`, one for each LUN, say how long arrays work, and how that went, from now on.
    pub fn set_physics(&mut self, physics: &dyn Physics) {
        let ports = self.targets.iter_mut().flat_map(|target| &mut target.ports);
        ports.for_each(|port| port.lun.set_physics(physics.copied()));
    }

    /// Puts `parameters` into the set `number` of every LUN, which feature 92h chooses.
    pub fn set_parameters(&mut self, number: u16, parameters: &Parameters) {
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            port.lun.set_parameters(number, *parameters);
            port.features.offer_sets();
        }
    }

    /// Lets every LUN go by a set of parameters, as a host does that set feature 92h before: in no time. A bug if no one has set it.
    pub fn use_parameters(&mut self, number: u16) {
        let [low, high] = number.to_le_bytes();
        for port in self.targets.iter_mut().flat_map(|target| &mut target.ports) {
            let set = port.features.set(address::PARAMETER_SET, [low, high, 0, 0]);
            set.expect("there are sets of parameters");
        }
    }
}
