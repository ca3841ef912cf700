//! The timing parameters of ONFI by name, and their bounds by interface and mode.

use wordline_kernel::Duration;

use super::{Interface, tables};

macro_rules! parameters {
    ($($(#[$doc:meta])+ $name:ident $symbol:literal;)*) => {
        /// A timing parameter of ONFI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Parameter {
            $($(#[$doc])+ $name,)*
        }

        impl Parameter {
            /// All parameters.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Symbol in data sheets, such as `tADL`.
            pub fn symbol(self) -> &'static str {
                [$($symbol),*][self as usize]
            }
        }
    };
}

parameters! {
    /// Access of data from the clock (NV-DDR).
    Ac "tAC";
    /// Last address cycle to the first data-in cycle.
    Adl "tADL";
    /// Hold of the address latch enable.
    Alh "tALH";
    /// Set-up of the address latch enable.
    Als "tALS";
    /// Address latch enable low to read enable low.
    Ar "tAR";
    /// One command or address to the next (NV-DDR).
    Cad "tCAD";
    /// One command or address to the next, for a part with this bit in its parameter page (byte 143, bit 0).
    CadFast "tCAD (fast)";
    /// Hold of command, address and data-line levels at the clock (NV-DDR).
    Cah "tCAH";
    /// Hold of the latch enables and of write/read (NV-DDR).
    Calh "tCALH";
    /// Set-up of the latch enables and of write/read.
    Cals "tCALS";
    /// Set-up of command and address at the clock (NV-DDR).
    Cas "tCAS";
    /// Change of column or plane to data.
    Ccs "tCCS";
    /// Chip enable to data.
    Cea "tCEA";
    /// Chip enable high between two uses.
    Ceh "tCEH";
    /// Volume select to the next chip enable low.
    Cevdly "tCEVDLY";
    /// Hold of chip enable.
    Ch "tCH";
    /// Chip enable high to released data lines.
    Chz "tCHZ";
    /// Period of the clock (NV-DDR).
    Ck "tCK";
    /// Hold of the command latch enable.
    Clh "tCLH";
    /// Command latch enable low to read enable low.
    Clr "tCLR";
    /// Set-up of the command latch enable.
    Cls "tCLS";
    /// Data hold after chip enable high.
    Coh "tCOH";
    /// Chip enable low to read enable low.
    Cr "tCR";
    /// Chip enable low to read enable low, where chip enable was high for long.
    Cr2 "tCR2";
    /// Chip enable low to read enable low before the data of Read ID, where chip enable was high for long.
    Cr2Id "tCR2 (Read ID)";
    /// Set-up of chip enable.
    Cs "tCS";
    /// Set-up of chip enable, where chip enable was high for long.
    Cs3 "tCS3";
    /// Short busy time between the planes of a multi-plane command.
    Dbsy "tDBSY";
    /// Hold of data at the edge that takes them in.
    Dh "tDH";
    /// Clock to data strobe in output (NV-DDR).
    Dqsck "tDQSCK";
    /// Write/read low to a driven data strobe (NV-DDR).
    Dqsd "tDQSD";
    /// Write/read high to a released data strobe (NV-DDR).
    Dqshz "tDQSHZ";
    /// Skew of data after their strobe.
    Dqsq "tDQSQ";
    /// Read enable to data strobe in output.
    Dqsre "tDQSRE";
    /// Data in: command to the first edge of the strobe (NV-DDR).
    Dqss "tDQSS";
    /// Set-up of data at the edge that takes them in.
    Ds "tDS";
    /// Period of the data strobe (NV-DDR).
    Dsc "tDSC";
    /// ENi low to commands that are ignored.
    Eni "tENi";
    /// Volume appointed to ENo.
    Eno "tENo";
    /// Busy time of get and set features.
    Feat "tFEAT";
    /// Released data lines to read enable low.
    Ir "tIR";
    /// Change of interface or timing mode.
    Itc "tITC";
    /// Uncertainty of data hold after the strobe.
    Qhs "tQHS";
    /// Read busy time without a value from the parameter page.
    R "tR";
    /// Cycle of data out: of read enable, two transfers where there is a strobe.
    Rc "tRC";
    /// Read enable to data.
    Rea "tREA";
    /// Read enable high.
    Reh "tREH";
    /// Data hold after read enable high.
    Rhoh "tRHOH";
    /// Data out to the next command, address or data-in cycle.
    Rhw "tRHW";
    /// Read enable high to released data lines.
    Rhz "tRHZ";
    /// Data hold after read enable low, for data out without a pause (EDO).
    Rloh "tRLOH";
    /// Read enable low.
    Rp "tRP";
    /// Preamble of data out.
    Rpre "tRPRE";
    /// Ready to the first data-out cycle.
    Rr "tRR";
    /// Busy time of a reset of raw NAND.
    Rst "tRST";
    /// Busy time of a reset of EZ NAND.
    RstEz "tRST (EZ NAND)";
    /// Volume select to the next command.
    Vdly "tVDLY";
    /// Last cycle of a command to busy.
    Wb "tWB";
    /// Cycle of commands, addresses and, in SDR, data in.
    Wc "tWC";
    /// Write enable high.
    Wh "tWH";
    /// Command, address or data in to data out (of status, ID).
    Whr "tWHR";
    /// Write enable low.
    Wp "tWP";
    /// Preamble of data in.
    Wpre "tWPRE";
    /// Postamble of data in.
    Wpst "tWPST";
    /// Hold after the postamble of data in.
    Wpsth "tWPSTH";
    /// Write/read low to data out (NV-DDR).
    Wrck "tWRCK";
    /// A change of write protect to the next command.
    Ww "tWW";
    /// Long calibration of the output drivers.
    Zqcl "tZQCL";
    /// Short calibration of the output drivers.
    Zqcs "tZQCS";
}

/// The side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Minimum: a wait of the host.
    Min,
    /// Maximum: a guarantee of the chip.
    Max,
}

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
