//! The host's times within a cycle: set-up and hold times of its signals around the latching edges.
//!
//! By default a host meets the requirements of its interface. Its own times can be set, in order to violate a
//! rule on purpose. Waits between cycles are in [`rules`](super::rules).

use wordline_kernel::{Bytes, Duration};

use super::rules::Edge;
use crate::interface::{BusTiming, Interface, Parameter, Timings};

const LATCHES: &[Edge] = &[Edge::Command, Edge::Address];
const INPUTS: &[Edge] = &[Edge::Command, Edge::Address, Edge::DataIn];
const OUTPUTS: &[Edge] = &[Edge::DataOut, Edge::RegisterOut];
const ALL: &[Edge] = &[Edge::Command, Edge::Address, Edge::DataIn, Edge::DataOut, Edge::RegisterOut];

/// Each parameter, and the cycles that it applies to or the fall of chip enable that it precedes. Parameters
/// that an interface does not have are ignored. Sources: the tables of [`interface`](crate::interface), and
/// the diagrams of ONFI from memory of the public specification.
#[rustfmt::skip]
pub static HOST_TIME_RULES: [(Parameter, &[Edge]); 24] = {
    use {Edge as E, Parameter as P};
    [
        (P::Cls,   &[E::Command]),
        (P::Clh,   &[E::Command]),
        (P::Als,   &[E::Address]),
        (P::Alh,   &[E::Address]),
        (P::Wp,    INPUTS),
        (P::Wh,    INPUTS),
        (P::Wc,    INPUTS),
        (P::Ds,    INPUTS),
        (P::Dh,    INPUTS),
        (P::Cals,  INPUTS),
        (P::Calh,  INPUTS),
        (P::Cas,   LATCHES),
        (P::Cah,   LATCHES),
        (P::Ck,    LATCHES),
        (P::Ch,    ALL),
        (P::Dsc,   &[E::DataIn]),
        (P::Wpre,  &[E::DataIn]),
        (P::Wpst,  &[E::DataIn]),
        (P::Wpsth, &[E::DataIn]),
        (P::Rp,    OUTPUTS),
        (P::Reh,   OUTPUTS),
        (P::Rc,    OUTPUTS),
        (P::Rpre,  OUTPUTS),
        (P::Ceh,   &[E::Select]),
    ]
};

/// A parameter that is too short, with the host's time and the minimum of the interface.
pub type TooShort = (Parameter, Duration, Duration);

/// The host's own times; empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostTimes(Vec<(Parameter, Duration)>);

impl HostTimes {
    /// Sets or resets a time. Returns false if no cycle has the parameter.
    pub fn set(&mut self, parameter: Parameter, time: Option<Duration>) -> bool {
        self.0.retain(|(other, _)| *other != parameter);
        self.0.extend(time.map(|time| (parameter, time)));
        HOST_TIME_RULES.iter().any(|(known, _)| *known == parameter)
    }

    /// The first of the host's times that is too short for a cycle of this kind on `bus`.
    pub fn too_short(&self, edge: Edge, bus: &BusTiming) -> Option<TooShort> {
        let timings = Timings::of(bus.interface, bus.mode)?;
        let broken = |(parameter, found): &(Parameter, Duration)| {
            let (_, edges) = HOST_TIME_RULES.iter().find(|(known, _)| known == parameter)?;
            let least = match parameter {
                // The part may override these cycles.
                Parameter::Wc => bus.t_wc,
                Parameter::Rc if bus.interface == Interface::Sdr => bus.data_out.time(1),
                _ => timings.min(*parameter)?,
            };
            // With a strobe, the data rate determines the time of data.
            let paced =
                *parameter == Parameter::Wc && edge == Edge::DataIn && bus.interface != Interface::Sdr;
            let binds = edges.contains(&edge) && timings.min(*parameter).is_some() && !paced;
            (binds && *found < least).then_some((*parameter, *found, least))
        };
        self.0.iter().find_map(broken)
    }

    /// The host's own command and address cycle time.
    pub fn latch(&self) -> Option<Duration> {
        self.get(Parameter::Wc)
    }

    fn get(&self, parameter: Parameter) -> Option<Duration> {
        self.0.iter().find(|(other, _)| *other == parameter).map(|(_, time)| *time)
    }

    /// The time of a burst, with the host's own cycle time if that is longer.
    pub fn burst(&self, size: Bytes, cycle: Parameter, bus: &BusTiming) -> Duration {
        let usual = if cycle == Parameter::Rc { bus.burst_out(size) } else { bus.burst_in(size) };
        match self.get(cycle).filter(|_| bus.interface == Interface::Sdr) {
            Some(own) => usual.max(own * size.0.div_ceil(bus.bytes_per_transfer())),
            None => usual,
        }
    }
}
