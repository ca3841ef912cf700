//! The device below the zones, and the commands that were sent to it.

use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::{Instant, Schedule};
use wordline_nand::CutLosses;

use super::host::Host;
use super::in_flight::Work;
use crate::in_flight_table::InFlightTable;

/// Surroundings of the zones: the device below, to which they send commands, and the host, whose commands they
/// end.
pub(super) struct Context<'a, D, C> {
    pub(super) below: &'a mut Below<D>,
    pub(super) host: &'a mut Host,
    pub(super) calendar: &'a mut C,
}

/// The device below, and what its outstanding commands are for.
pub(super) struct Below<D> {
    pub(super) device: D,
    pub(super) sent: InFlightTable<Work>,
}

impl<D: PhysicalDevice> Below<D> {
    /// An idle device.
    pub(super) fn new(device: D) -> Self {
        Self { device, sent: InFlightTable::default() }
    }

    /// Sends a command to the device. Returns whether the device accepted it.
    pub(super) fn send<'a>(
        &mut self,
        work: Work,
        command: impl FnOnce(u32) -> physical::Command<'a>,
        calendar: &mut impl Schedule<D::Event>,
    ) -> bool {
        let tag = self.sent.next();
        if self.device.submit(&command(tag), calendar).is_err() {
            return false;
        }
        self.sent.add(work);
        true
    }

    /// Cuts the power. Returns the interrupted programs and erases.
    pub(super) fn cut(&mut self, now: Instant) -> CutLosses {
        let torn = self.device.power_cut(now).torn;
        self.device.clear_completions();
        drop(self.sent.forget());
        torn
    }
}
