//! The timing modes of a part, and the feature value that selects one.

use std::fmt;

use crate::Part;
use crate::interface::Interface;

/// A timing mode of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingMode {
    /// The interface.
    pub interface: Interface,
    /// The number of the mode.
    pub mode: u8,
}

impl fmt::Display for TimingMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} mode {}", self.interface.name(), self.mode)
    }
}

impl TimingMode {
    /// The mode at power-on and after Reset (FFh). ONFI 4 lets parts with data lines of 1.2 V start in
    /// NV-DDR3 instead (from memory of the public specification). Chosen: here they start in SDR, too, so
    /// that one sequence initializes every part.
    pub const POWER_ON: Self = Self { interface: Interface::Sdr, mode: 0 };

    /// The parameters of feature 01h that select the mode. P1 contains the mode in its low four bits and the
    /// interface in bits 4 and 5: 14h is NV-DDR mode 4. Two bits cannot distinguish NV-LPDDR4 from NV-DDR3,
    /// and no public source gives the code of NV-LPDDR4. Chosen: the code of NV-DDR3 and bit 0 of P2.
    pub fn encode(self) -> [u8; 4] {
        let (code, beside) = match self.interface {
            Interface::Sdr => (0, 0),
            Interface::NvDdr => (1, 0),
            Interface::NvDdr2 => (2, 0),
            Interface::NvDdr3 => (3, 0),
            Interface::NvLpddr4 => (3, 1),
        };
        [code << 4 | (self.mode & 0xf), beside, 0, 0]
    }

    /// The mode that the parameters of feature 01h select. `None` if they set an unsupported bit, such as the
    /// page register clear (P1 bit 6), which no part here supports.
    pub fn decode(parameters: [u8; 4]) -> Option<Self> {
        let mode = parameters[0] & 0xf;
        let found = Interface::ALL.into_iter().map(|interface| Self { interface, mode });
        found.into_iter().find(|mode| mode.encode() == parameters)
    }
}

/// The timing modes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The fastest mode of each interface, indexed as [`Interface::ALL`]; `None` if the part does not have
    /// the interface. The part has all slower modes, too.
    fastest: [Option<u8>; Interface::ALL.len()],
}

impl Modes {
    /// The modes of `part`: the modes of its interface up to the mode in its file. A part with an interface
    /// other than SDR also has all modes of SDR (chosen, as for parts with NV-DDR).
    pub fn of(part: &Part) -> Self {
        let operated = timing_mode_of(part);
        let fastest = Interface::ALL.map(|interface| match interface {
            _ if interface == operated.interface => Some(operated.mode),
            Interface::Sdr => Some(interface.modes() - 1),
            _ => None,
        });
        Self { fastest }
    }

    /// The fastest mode of `interface`.
    pub fn fastest(&self, interface: Interface) -> Option<u8> {
        self.fastest[interface as usize]
    }

    /// Whether the part has `mode`.
    pub fn has(&self, mode: TimingMode) -> bool {
        self.fastest(mode.interface).is_some_and(|fastest| mode.mode <= fastest)
    }

    /// The modes of `interface`, bit n for mode n.
    pub fn mask(&self, interface: Interface) -> u32 {
        self.fastest(interface).map_or(0, |fastest| (2u32 << fastest) - 1)
    }

    /// Whether the part has an interface with a data strobe instead of a clock (NV-DDR2 and later).
    pub fn has_strobe(&self) -> bool {
        [Interface::NvDdr2, Interface::NvDdr3, Interface::NvLpddr4].iter().any(|i| self.mask(*i) != 0)
    }
}

/// The interface and mode of `part`.
fn timing_mode_of(part: &Part) -> TimingMode {
    TimingMode { interface: part.bus.interface, mode: part.bus.mode }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::mqsim;

    #[test]
    fn the_timing_word_is_that_of_a_controller_for_mt29f64g() {
        // The README of cjhonlyone/NandFlashController: 14h is NV-DDR mode 4, 15h is mode 5.
        let nv_ddr = |mode| TimingMode { interface: Interface::NvDdr, mode };
        assert_eq!(nv_ddr(4).encode(), [0x14, 0, 0, 0]);
        assert_eq!(TimingMode::decode([0x15, 0, 0, 0]), Some(nv_ddr(5)));
        assert_eq!(TimingMode::POWER_ON.encode(), [0; 4]);
    }

    #[test]
    fn every_mode_has_a_word_of_its_own() {
        for interface in Interface::ALL {
            for mode in 0..interface.modes() {
                let mode = TimingMode { interface, mode };
                assert_eq!(TimingMode::decode(mode.encode()), Some(mode), "{mode}");
            }
        }
    }

    #[test]
    fn a_word_with_other_bits_chooses_nothing() {
        for word in [[0x40, 0, 0, 0], [0x04, 2, 0, 0], [0x14, 1, 0, 0], [0x04, 0, 1, 0], [0x04, 0, 0, 1]] {
            assert_eq!(TimingMode::decode(word), None, "{word:02X?}");
        }
    }

    #[test]
    fn a_part_has_the_modes_of_its_interface_and_those_of_sdr() {
        let modes = Modes::of(&mqsim());
        let masks = Interface::ALL.map(|interface| modes.mask(interface));
        assert_eq!(masks, [0x3f, 0, 0x7f, 0, 0]); // 333 MT/s is NV-DDR2 mode 6.
        let nv_ddr2 = |mode| TimingMode { interface: Interface::NvDdr2, mode };
        assert!(modes.has(nv_ddr2(6)) && !modes.has(nv_ddr2(7)));
        assert!(!modes.has(TimingMode { interface: Interface::NvDdr, mode: 0 }));
    }
}
