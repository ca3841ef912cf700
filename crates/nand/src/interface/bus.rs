//! The bus of a part: the `[bus]` table of its file, and the times that follow from interface, mode and
//! overrides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration, MegaTransfers, Power};

use super::Interface;
use super::parameter::Parameter;
use super::timings::Timings;

/// The longest wait of a bus. Chosen: four times the longest wait of ONFI, the reset of EZ NAND.
const LONGEST_WAIT: Duration = Duration::from_ms(1_000);

/// A data rate: a number of transfers and the picoseconds that they take. The quotient is exact for a cycle
/// of 35 ns and for 1200 MT/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRate {
    ps: u64,
    transfers: u64,
}

impl DataRate {
    /// One transfer each `cycle`.
    pub const fn of_cycle(cycle: Duration) -> Self {
        Self { ps: cycle.ps(), transfers: 1 }
    }

    /// `rate` million transfers a second.
    pub const fn of_rate(rate: MegaTransfers) -> Self {
        Self { ps: 1_000_000, transfers: rate.0 as u64 }
    }

    /// The time of `transfers`, rounded up once, to a picosecond.
    #[inline]
    pub const fn time(self, transfers: u64) -> Duration {
        Duration::from_ps((transfers * self.ps).div_ceil(self.transfers))
    }

    /// Millions of transfers per second, for output.
    pub fn megatransfers(self) -> f64 {
        1e6 * self.transfers as f64 / self.ps as f64
    }
}

macro_rules! bus {
    ($($(#[$doc:meta])+ $name:ident from $($parameter:ident)+;)*) => {
        /// The interface to the channel in a part file. Interface and mode determine all times; a key
        /// overrides one time.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct BusFile {
            /// Kind of the interface.
            pub interface: Interface,
            /// Timing mode. Default: the slowest one that reaches `rate`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mode: Option<u8>,
            /// Data lines, 8 or 16. Default: 8.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub width: Option<u8>,
            /// Transfers per second in both directions. Default: the rate of the mode.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub rate: Option<MegaTransfers>,
            /// Length of one cycle of data out (tRC, SDR only). Default: the value of the mode.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub t_rc: Option<Duration>,
            $($(#[$doc])+ #[serde(default, skip_serializing_if = "Option::is_none")] pub $name: Option<Duration>,)*
        }

        /// The bus of a part: its data rate, and the waits around command, address and data cycles with their
        /// ONFI names. A wait that the interface does not have is zero.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct BusTiming {
            /// Kind of the interface.
            pub interface: Interface,
            /// Timing mode.
            pub mode: u8,
            /// Data lines: 8 or 16.
            pub width: u8,
            /// Data rate of data out.
            pub data_out: DataRate,
            /// Data rate of data in.
            pub data_in: DataRate,
            $($(#[$doc])+ pub $name: Duration,)*
        }

        impl BusFile {
            /// An interface with the times of one of its modes.
            pub const fn new(interface: Interface, mode: u8) -> Self {
                Self { interface, mode: Some(mode), width: None, rate: None, t_rc: None, $($name: None),* }
            }

            /// The waits in the file, with their keys.
            fn overrides(&self) -> impl Iterator<Item = (&'static str, Duration)> + use<> {
                let all = [("t_rc", self.t_rc), $((stringify!($name), self.$name)),*];
                all.into_iter().filter_map(|(key, time)| Some((key, time?)))
            }

            /// The times of `timings`, overridden by the times of the file.
            fn overriding(&self, timings: &Timings, mode: u8) -> BusTiming {
                let first = |from: &[Parameter]| from.iter().find_map(|p| timings.wait(*p)).unwrap_or_default();
                let cycle = |own: Option<Duration>, parameter| match (self.rate, own) {
                    (Some(rate), None) => DataRate::of_rate(rate),
                    (_, Some(own)) => DataRate::of_cycle(own),
                    (None, None) => DataRate::of_cycle(first(&[parameter])),
                };
                let (data_out, data_in) = if self.interface.is_double_rate() {
                    let of_mode = self.interface.rate(mode).expect("the mode was checked");
                    let both = DataRate::of_rate(self.rate.unwrap_or(of_mode));
                    (both, both)
                } else {
                    (cycle(self.t_rc, Parameter::Rc), cycle(self.t_wc, Parameter::Wc))
                };
                BusTiming {
                    interface: self.interface,
                    mode,
                    width: self.width.unwrap_or(8),
                    data_out,
                    data_in,
                    $($name: self.$name.unwrap_or_else(|| first(&[$(Parameter::$parameter),+])),)*
                }
            }
        }
    };
}

// Each wait with its parameters. The first parameter that the interface has applies.
bus! {
    /// Chip-enable set-up (tCS).
    t_cs from Cs;
    /// One command or address cycle (tWC; tCAD in NV-DDR). In SDR also one cycle of data in.
    t_wc from Wc Cad;
    /// End of the command to busy (tWB).
    t_wb from Wb;
    /// Ready to the first data cycle (tRR).
    t_rr from Rr;
    /// Last address cycle to the first data-in cycle (tADL).
    t_adl from Adl;
    /// Change-column set-up (tCCS).
    t_ccs from Ccs;
    /// Data out to the next command (tRHW).
    t_rhw from Rhw;
    /// Command to the data out of status or ID (tWHR).
    t_whr from Whr;
    /// Control set-up after data (tCALS; tCLS in SDR).
    t_cals from Cals Cls;
    /// Read preamble (tRPRE; tWRCK in NV-DDR).
    t_rpre from Rpre Wrck;
    /// Read enable to data strobe (tDQSRE; tDQSCK in NV-DDR).
    t_dqsre from Dqsre Dqsck;
    /// Write postamble (tWPST).
    t_wpst from Wpst;
    /// Hold after the write postamble (tWPSTH).
    t_wpsth from Wpsth;
    /// Write protect changed to the next command (tWW).
    t_ww from Ww;
    /// Busy time of get and set features (tFEAT).
    t_feat from Feat;
    /// Change of interface or timing mode (tITC).
    t_itc from Itc;
    /// Volume select to the next command (tVDLY).
    t_vdly from Vdly;
    /// Long calibration of the output drivers (tZQCL).
    t_zqcl from Zqcl;
    /// Short calibration of the output drivers (tZQCS).
    t_zqcs from Zqcs;
}

impl BusFile {
    /// The bus, or all complaints, with keys relative to the table.
    pub fn check(&self) -> Result<BusTiming, Complaints> {
        let mut wrong = Complaints::default();
        let interface = self.interface;
        let modes = format!("from 0 to {} for {interface}", interface.modes() - 1);
        let mode = match (self.mode, self.rate) {
            (Some(mode), _) => Some(mode),
            (None, Some(rate)) => Some(interface.mode_for(rate)),
            (None, None) => None,
        };
        let timings = mode.and_then(|mode| Timings::of(interface, mode));
        match mode {
            None => wrong.add("mode", "nothing", format!("{modes}, or a rate")),
            Some(mode) => wrong.require(timings.is_some(), "mode", mode, modes),
        }
        let width = self.width.unwrap_or(8);
        // From memory of the public ONFI specification: only SDR has sixteen data lines.
        let widths = if interface.is_double_rate() { "8" } else { "8 or 16" };
        let fits = width == 8 || (width == 16 && !interface.is_double_rate());
        wrong.require(fits, "width", width, format!("{widths} for {interface}"));
        if let Some(cycle) = self.t_rc.filter(|_| interface.is_double_rate()) {
            wrong.add("t_rc", cycle, format!("no such key: {interface} moves data at a rate"));
        }
        for (key, time) in self.overrides() {
            let least = Duration::from_ps(u64::from(matches!(key, "t_wc" | "t_rc")));
            let fits = (least..=LONGEST_WAIT).contains(&time);
            wrong.require(fits, key, time, format!("a time from {least} to {LONGEST_WAIT}"));
        }
        wrong.into_result(())?;
        let (mode, timings) = mode.zip(timings).expect("a bus without a mode was complained about");
        Ok(self.overriding(&timings, mode))
    }
}

impl BusTiming {
    /// Time of data out of `size` in one burst, rounded up once, to a picosecond.
    #[inline]
    pub fn burst_out(&self, size: Bytes) -> Duration {
        self.data_out.time(self.transfers(size))
    }

    /// Time of data in of `size` in one burst, rounded up once, to a picosecond.
    #[inline]
    pub fn burst_in(&self, size: Bytes) -> Duration {
        self.data_in.time(self.transfers(size))
    }

    /// The power of data on the bus, from the energy of its bytes.
    pub fn data_power(&self) -> Power {
        const BYTES: Bytes = Bytes::mib(1);
        self.power(BYTES, self.burst_out(BYTES))
    }

    /// The power of commands and addresses: one byte per cycle.
    pub fn latch_power(&self) -> Power {
        self.power(Bytes(1), self.t_wc)
    }

    /// The power of transferring `bytes` in `time`. A femtojoule per picosecond is a milliwatt.
    fn power(&self, bytes: Bytes, time: Duration) -> Power {
        let energy = self.interface.byte_energy().0 * u128::from(bytes.0);
        Power((energy * 1_000 / u128::from(time.ps().max(1))) as u64)
    }

    /// The bytes that are transferred for `size` bytes of a register: a status, an identity, a feature or a
    /// parameter page. Each byte is transferred twice on a double data rate interface (Linux, `nand_base.c`).
    /// The upper eight of sixteen lines are unused (ONFI, from memory of the public specification).
    #[inline]
    pub fn register_transfer_size(&self, size: Bytes) -> Bytes {
        size * if self.interface.is_double_rate() { 2 } else { self.bytes_per_transfer() }
    }

    /// Bytes of a transfer: one or two.
    #[inline]
    pub fn bytes_per_transfer(&self) -> u64 {
        u64::from(self.width >> 3)
    }

    /// Number of transfers for `size`; the last one may be half used.
    #[inline]
    fn transfers(&self, size: Bytes) -> u64 {
        let shift = self.width >> 4;
        (size.0 + u64::from(shift)) >> shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sdr(mode: u8) -> BusFile {
        BusFile::new(Interface::Sdr, mode)
    }

    fn bus(file: &BusFile) -> BusTiming {
        file.check().expect("the bus is sound")
    }

    fn complaints(file: &BusFile) -> String {
        file.check().expect_err("the bus is unsound").to_string()
    }

    #[test]
    fn every_mode_of_every_interface_is_a_bus() {
        for interface in Interface::ALL {
            for mode in 0..interface.modes() {
                let bus = bus(&BusFile::new(interface, mode));
                assert!(bus.t_wc > Duration::ZERO && bus.t_wb > Duration::ZERO, "{interface} mode {mode}");
                assert_eq!(bus.t_dqsre > Duration::ZERO, interface.is_double_rate(), "{interface}");
            }
        }
    }

    #[test]
    fn a_burst_of_sdr_counts_cycles() {
        let bus = bus(&sdr(2));
        assert_eq!(bus.burst_out(Bytes(2_048)), Duration::from_ns(35 * 2_048));
        let wide = self::bus(&BusFile { width: Some(16), ..sdr(1) });
        assert_eq!(wide.burst_out(Bytes(3)), Duration::from_ns(2 * 50));
        assert_eq!(wide.burst_in(Bytes(4)), Duration::from_ns(2 * 45));
    }

    #[test]
    fn a_burst_of_ddr_is_rounded_up_once() {
        let bus = bus(&BusFile::new(Interface::NvDdr3, 12));
        assert_eq!(bus.burst_out(Bytes(1)), Duration::from_ps(834));
        assert_eq!(bus.burst_in(Bytes(12)), Duration::from_ns(10));
    }

    #[test]
    fn a_key_that_is_given_replaces_that_of_the_mode() {
        let file =
            BusFile { t_wc: Some(Duration::from_ns(30)), t_adl: Some(Duration::from_ns(70)), ..sdr(5) };
        let bus = bus(&file);
        assert_eq!([bus.t_wc.ns(), bus.t_adl.ns(), bus.t_cs.ns()], [30, 70, 15]);
        // The command cycle is also the cycle of data in, but not of data out.
        assert_eq!([bus.burst_in(Bytes(1)).ns(), bus.burst_out(Bytes(1)).ns()], [30, 20]);
    }

    #[test]
    fn a_rate_finds_its_mode() {
        let file =
            BusFile { mode: None, rate: Some(MegaTransfers(500)), ..BusFile::new(Interface::NvDdr2, 0) };
        let bus = bus(&file);
        assert_eq!((bus.mode, bus.burst_out(Bytes(500))), (8, Duration::from_us(1)));
    }

    #[test]
    fn everything_wrong_with_a_bus_is_said_at_once() {
        let file = BusFile {
            width: Some(16),
            t_rc: Some(Duration::from_ns(5)),
            ..BusFile::new(Interface::NvDdr, 9)
        };
        assert_eq!(
            complaints(&file),
            "mode: found 9, wanted from 0 to 5 for NV-DDR\nwidth: found 16, wanted 8 for NV-DDR\n\
             t_rc: found 5ns, wanted no such key: NV-DDR moves data at a rate"
        );
        let file = BusFile { mode: None, t_wc: Some(Duration::ZERO), ..sdr(0) };
        assert_eq!(
            complaints(&file),
            "mode: found nothing, wanted from 0 to 5 for SDR, or a rate\n\
             t_wc: found 0s, wanted a time from 1ps to 1s"
        );
    }
}
