//! The bounds of timing parameters by interface and mode.

use wordline_kernel::Duration;

use super::parameter::{Bound, Parameter};
use super::{Interface, tables};

/// The bounds of timing parameters of an interface in one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    interface: Interface,
    mode: u8,
}

impl Timings {
    /// The parameters of `interface` in `mode`; `None` if there is no such mode.
    pub fn of(interface: Interface, mode: u8) -> Option<Self> {
        (mode < interface.modes()).then_some(Self { interface, mode })
    }

    /// The minimum of `parameter`; `None` if the interface has no such bound.
    pub fn min(&self, parameter: Parameter) -> Option<Duration> {
        self.find(parameter, Bound::Min)
    }

    /// The maximum of `parameter`; `None` if the interface has no such bound.
    pub fn max(&self, parameter: Parameter) -> Option<Duration> {
        self.find(parameter, Bound::Max)
    }

    /// The wait for `parameter` of a host that does not poll the chip: the maximum, or the minimum if there
    /// is no maximum. `None` if the interface does not have the parameter.
    pub fn wait(&self, parameter: Parameter) -> Option<Duration> {
        self.max(parameter).or(self.min(parameter))
    }

    /// Every bound of the mode, in the order of the tables.
    pub fn iter(&self) -> impl Iterator<Item = (Parameter, Bound, Duration)> + use<> {
        let mode = usize::from(self.mode);
        tables::of(self.interface).flat_map(|rows| rows.iter()).map(move |row| {
            // A row with one value applies to all modes.
            (row.parameter, row.bound, Duration::from_ps(row.ps[if row.ps.len() == 1 { 0 } else { mode }]))
        })
    }

    fn find(&self, parameter: Parameter, bound: Bound) -> Option<Duration> {
        self.iter().find(|(name, side, _)| (*name, *side) == (parameter, bound)).map(|(.., value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ps(interface: Interface, mode: u8, parameter: Parameter) -> [Option<u64>; 2] {
        let timings = Timings::of(interface, mode).expect("the mode exists");
        [timings.min(parameter), timings.max(parameter)].map(|value| value.map(Duration::ps))
    }

    #[test]
    fn the_tables_say_what_their_sources_say() {
        use Interface::*;
        assert_eq!(ps(Sdr, 2, Parameter::Wc), [Some(35_000), None]);
        assert_eq!(ps(Sdr, 0, Parameter::Rst), [None, Some(5_000_000_000)]);
        assert_eq!(ps(Sdr, 5, Parameter::Ds), [Some(7_000), None]);
        assert_eq!(ps(NvDdr, 4, Parameter::Ac), [Some(3_000), Some(25_000)]);
        assert_eq!(ps(NvDdr, 5, Parameter::Dqsq), [None, Some(850)]);
        assert_eq!(ps(NvDdr2, 6, Parameter::Rc), [Some(6_000), None]);
        assert_eq!(ps(NvDdr3, 15, Parameter::Wpsth), [Some(15_000), None]);
        assert_eq!(ps(Sdr, 0, Parameter::Dqsre), [None, None]);
        assert_eq!(Timings::of(Sdr, 6), None);
    }

    #[test]
    fn no_bound_is_said_twice() {
        for interface in Interface::ALL {
            for mode in 0..interface.modes() {
                let timings = Timings::of(interface, mode).expect("the mode exists");
                for (parameter, bound, value) in timings.iter() {
                    let symbol = parameter.symbol();
                    assert_eq!(timings.find(parameter, bound), Some(value), "{symbol} of {interface}");
                }
            }
        }
    }

    #[test]
    fn a_range_has_its_least_value_below_its_greatest() {
        for (interface, parameter) in
            Interface::ALL.iter().flat_map(|i| Parameter::ALL.iter().map(move |p| (i, p)))
        {
            if let [Some(min), Some(max)] = ps(*interface, 0, *parameter) {
                assert!(min < max, "{} of {interface}", parameter.symbol());
            }
        }
    }

    #[test]
    fn data_cycles_and_rates_agree() {
        for interface in Interface::ALL {
            let name = if interface == Interface::NvDdr { Parameter::Dsc } else { Parameter::Rc };
            let transfers = if interface.is_double_rate() { 2.0 } else { 1.0 };
            for mode in 0..interface.modes() {
                let [cycle, _] = ps(interface, mode, name);
                let rate = 1e6 * transfers / cycle.expect("every interface has a data cycle") as f64;
                let called = f64::from(interface.rate(mode).expect("the mode exists").0);
                // The modes have rates rounded to whole numbers, such as 29 for 28.6.
                assert!((rate / called - 1.0).abs() < 0.02, "{interface} mode {mode}: {rate} and {called}");
            }
        }
    }
}
