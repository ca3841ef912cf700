//! The interfaces that ONFI defines, and the rates of their timing modes.

use wordline_kernel::MegaTransfers;

/// A kind of interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Asynchronous, single data rate.
    Sdr,
    /// Synchronous to a clock, double data rate (ONFI 2).
    NvDdr,
    /// Double data rate with a strobe, 1.8 V (ONFI 3).
    NvDdr2,
    /// The same at 1.2 V (ONFI 4).
    NvDdr3,
    /// Low-swing terminated logic (ONFI 5).
    NvLpddr4,
}

impl Interface {
    /// All kinds, in the order in which the standard brought them.
    pub const ALL: [Self; 5] = [Self::Sdr, Self::NvDdr, Self::NvDdr2, Self::NvDdr3, Self::NvLpddr4];

    /// Its name in ONFI and in part files.
    pub fn name(self) -> &'static str {
        ["SDR", "NV-DDR", "NV-DDR2", "NV-DDR3", "NV-LPDDR4"][self as usize]
    }

    /// How many timing modes it has, numbered from 0.
    pub fn modes(self) -> u8 {
        self.rates().len() as u8
    }

    /// The slowest mode that reaches `rate`, or the fastest mode if none does.
    pub fn mode_for(self, rate: MegaTransfers) -> u8 {
        let enough = self.rates().iter().position(|mode| *mode >= rate.0);
        enough.map_or(self.modes() - 1, |mode| mode as u8)
    }

    /// SimpleSSD, `sample.cfg`; the faster modes of ONFI 4 and 5 from memory of the public specification. The numbers
    /// of NV-LPDDR4's modes are chosen.
    fn rates(self) -> &'static [u32] {
        const STROBED: [u32; 16] =
            [67, 80, 133, 167, 200, 267, 333, 400, 533, 667, 800, 1066, 1200, 1333, 1466, 1600];
        match self {
            Self::Sdr => &[10, 20, 29, 33, 40, 50],
            Self::NvDdr => &[40, 67, 100, 133, 167, 200],
            Self::NvDdr2 => &STROBED[..11],
            Self::NvDdr3 => &STROBED,
            Self::NvLpddr4 => &[2_400, 3_600],
        }
    }
}
