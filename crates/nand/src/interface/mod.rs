//! The interface between a channel and its chips: the kinds that ONFI defines, their timing modes, every
//! timing parameter of each mode, and the bus of a part that follows from them.
//!
//! Sources:
//!
//! * The parameters of SDR and NV-DDR are from barebox (dd1d839c) and Linux, `nand_timings.c`, with resets
//!   and latencies of phoenix-rtos plo (507e3632) and the constants of ONFI 5 in riot-driver-mtd-nand
//!   (abd21671).
//! * The rates are from SimpleSSD's `sample.cfg` (2be37161).
//! * The tables of NV-DDR2, NV-DDR3 and NV-LPDDR4 are not public except for their rates. Their waits are
//!   MQSim's defaults for NV-DDR2 (7ec40e3b, `ONFI_Channel_NVDDR2`) in every mode.
//!
//! ```
//! use wordline_kernel::{Bytes, Duration};
//! use wordline_nand::interface::{BusFile, Interface, Parameter, Timings};
//!
//! // SDR in mode 2 moves a byte in 35 ns, and waits 400 ns between address and data in.
//! let bus = BusFile::new(Interface::Sdr, 2).check().expect("SDR has a mode 2");
//! assert_eq!(bus.burst_out(Bytes(2_048)), Duration::from_ns(35 * 2_048));
//! assert_eq!(bus.t_adl, Duration::from_ns(400));
//! // The chip guarantees to be busy at most 100 ns after a command.
//! let timings = Timings::of(Interface::Sdr, 2).expect("SDR has a mode 2");
//! assert_eq!(timings.max(Parameter::Wb), Some(Duration::from_ns(100)));
//! ```

mod bus;
mod parameter;
mod tables;
mod timings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Energy, MegaTransfers};

pub use bus::{BusFile, BusTiming, DataRate};
pub use parameter::{Bound, Parameter};
pub use timings::Timings;

/// A kind of interface, by its name in ONFI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Interface {
    /// Asynchronous, single data rate: one transfer a cycle of read or write enable.
    #[serde(rename = "SDR")]
    Sdr,
    /// Synchronous to a clock, double data rate (ONFI 2).
    #[serde(rename = "NV-DDR")]
    NvDdr,
    /// Double data rate with a strobe, 1.8 V (ONFI 3).
    #[serde(rename = "NV-DDR2")]
    NvDdr2,
    /// Double data rate with a strobe, 1.2 V (ONFI 4).
    #[serde(rename = "NV-DDR3")]
    NvDdr3,
    /// Low-swing terminated logic (ONFI 5).
    #[serde(rename = "NV-LPDDR4")]
    NvLpddr4,
}

impl Interface {
    /// All kinds, in the order in which the standard introduced them.
    pub const ALL: [Self; 5] = [Self::Sdr, Self::NvDdr, Self::NvDdr2, Self::NvDdr3, Self::NvLpddr4];

    /// Name in ONFI and in part files.
    pub fn name(self) -> &'static str {
        ["SDR", "NV-DDR", "NV-DDR2", "NV-DDR3", "NV-LPDDR4"][self as usize]
    }

    /// Number of timing modes, numbered from 0.
    pub fn modes(self) -> u8 {
        self.rates().len() as u8
    }

    /// Nominal transfer rate of `mode`; `None` if there is no such mode. An SDR bus makes one transfer in tRC
    /// or tWC, which is not always a whole number of megatransfers per second.
    pub fn rate(self, mode: u8) -> Option<MegaTransfers> {
        self.rates().get(usize::from(mode)).map(|&rate| MegaTransfers(rate))
    }

    /// The slowest mode that reaches `rate`. If no mode does, the fastest mode.
    pub fn mode_for(self, rate: MegaTransfers) -> u8 {
        let enough = self.rates().iter().position(|&mode| mode >= rate.0);
        enough.map_or(self.modes() - 1, |mode| mode as u8)
    }

    /// Whether data are accompanied by a strobe (DQS), with two transfers a cycle.
    pub fn is_double_rate(self) -> bool {
        self != Self::Sdr
    }

    /// Voltage of the data lines in millivolts: the higher one where the standard allows two (from memory of
    /// the public ONFI specification).
    pub fn millivolts(self) -> u32 {
        [3_300, 3_300, 1_800, 1_200, 1_200][self as usize]
    }

    /// Energy of a byte on the data lines, for parts without a source for their power; the power grows with
    /// the rate.
    ///
    /// * SDR: NANDFlashSim, table III (3.3 V x 5 mA, a byte each 25 ns).
    /// * NV-DDR, NV-DDR2 and NV-DDR3: the DRAM interfaces in NANDFlashSim, figure 24, at a byte each tRC.
    ///   Their power is VDD x IDD4R of devices in DRAMSim2 and DRAMPower, as in experiment
    ///   `nandflashsim/fig24`. Chosen for each interface: a DRAM of its generation, the middle one in the
    ///   figure. These are LPDDR-333 for NV-DDR (207 mW, 6 ns), DDR2-800 for NV-DDR2 (270 mW, 2.5 ns) and
    ///   DDR3-1066 for NV-DDR3 (157.5 mW, 1.876 ns).
    /// * NV-LPDDR4: the figure does not have it. Chosen: as NV-DDR3.
    pub fn byte_energy(self) -> Energy {
        Energy([412_500, 1_242_000, 675_000, 295_470, 295_470][self as usize])
    }

    fn rates(self) -> &'static [u32] {
        match self {
            Self::Sdr => &tables::SDR_RATES,
            Self::NvDdr => &tables::NV_DDR_RATES,
            Self::NvDdr2 => &tables::STROBED_RATES[..tables::NV_DDR2_MODES],
            Self::NvDdr3 => &tables::STROBED_RATES,
            Self::NvLpddr4 => &tables::NV_LPDDR4_RATES,
        }
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_has_its_modes_and_no_more() {
        assert_eq!(Interface::ALL.map(Interface::modes), [6, 6, 11, 16, 2]);
        assert_eq!(Interface::Sdr.rate(6), None);
        assert_eq!(Interface::NvDdr2.rate(8), Some(MegaTransfers(533)));
        assert_eq!(Interface::NvDdr3.rate(15), Some(MegaTransfers(1600)));
    }

    #[test]
    fn a_rate_finds_the_slowest_mode_that_reaches_it() {
        assert_eq!(Interface::NvDdr2.mode_for(MegaTransfers(333)), 6);
        assert_eq!(Interface::NvDdr2.mode_for(MegaTransfers(334)), 7);
        assert_eq!(Interface::NvDdr2.mode_for(MegaTransfers(5_000)), 10);
    }

    #[test]
    fn a_later_mode_is_faster() {
        for interface in Interface::ALL {
            assert!(interface.rates().is_sorted(), "{interface}");
        }
    }
}
