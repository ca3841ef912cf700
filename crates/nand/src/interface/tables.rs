//! The timing tables: rates, and one row for each bound of a parameter with its value in every mode.

use super::Interface;
use super::parameter::{Bound, Parameter};

/// A bound of a parameter: one value for all modes, or one for each.
pub struct Row {
    /// The parameter.
    pub parameter: Parameter,
    /// The side that is bounded.
    pub bound: Bound,
    /// The values, in picoseconds.
    pub ps: &'static [u64],
}

/// Transfer rates of SDR by mode, in MT/s: SimpleSSD's names of the modes. The exact rate is the inverse of
/// tRC.
pub const SDR_RATES: [u32; 6] = [10, 20, 29, 33, 40, 50];
/// Transfer rates of NV-DDR by mode, in MT/s.
pub const NV_DDR_RATES: [u32; 6] = [40, 67, 100, 133, 167, 200];
/// Transfer rates of NV-DDR2 and NV-DDR3, which number their modes alike, in MT/s. Rates up to 533 (NV-DDR2)
/// and 800 (NV-DDR3) are from SimpleSSD. The faster ones (ONFI 4.0 to 4.2) are from memory of the public ONFI
/// specification.
pub const STROBED_RATES: [u32; 16] =
    [67, 80, 133, 167, 200, 267, 333, 400, 533, 667, 800, 1066, 1200, 1333, 1466, 1600];
/// Number of these modes that NV-DDR2 has.
pub const NV_DDR2_MODES: usize = 11;
/// Transfer rates of NV-LPDDR4 by mode, in MT/s. The numbers of its modes are not public. Chosen: mode 0 is
/// the fastest of ONFI 5.0 (2400), mode 1 the fastest of ONFI 5.1 (3600, from memory of the public
/// specification).
pub const NV_LPDDR4_RATES: [u32; 2] = [2_400, 3_600];

/// Converts nanoseconds, as written in a table, to picoseconds.
const fn picoseconds(text: &str) -> u64 {
    let (digits, mut at, mut value, mut places) = (text.as_bytes(), 0, 0, 0);
    while at < digits.len() {
        match digits[at] {
            b'.' => places = digits.len() - 1 - at,
            b'_' => {}
            digit => value = 10 * value + (digit - b'0') as u64,
        }
        at += 1;
    }
    assert!(places <= 3, "a table has no parts of a picosecond");
    value * 10_u64.pow(3 - places as u32)
}

macro_rules! rows {
    ($($parameter:ident $bound:ident $($ns:literal)+;)*) => {
        &[$(Row {
            parameter: Parameter::$parameter,
            bound: Bound::$bound,
            ps: &[$(picoseconds(stringify!($ns))),+],
        }),*]
    };
}

/// SDR, modes 0 to 5, in nanoseconds, from barebox and Linux `nand_timings.c`. Exceptions: tRST, tCR, tCR2
/// and tCS3 are from phoenix-rtos plo, and tCR2 of Read ID is from riot-driver-mtd-nand. For tRST barebox and
/// Linux give the value of EZ NAND in mode 0 (250 ms).
const SDR: &[Row] = rows! {
    Adl Min 400;
    Alh Min 20 10 10 5 5 5;
    Als Min 50 25 15 10 10 10;
    Ar Min 25 10 10 10 10 10;
    Ccs Min 500;
    Cea Max 100 45 30 25 25 25;
    Ceh Min 20;
    Ch Min 20 10 10 5 5 5;
    Chz Max 100 50 50 50 30 30;
    Clh Min 20 10 10 5 5 5;
    Clr Min 20 10 10 10 10 10;
    Cls Min 50 25 15 10 10 10;
    Coh Min 0 15 15 15 15 15;
    Cr Min 10;
    Cr2 Min 100;
    Cr2Id Min 150;
    Cs Min 70 35 25 25 20 15;
    Cs3 Min 100;
    Dh Min 20 10 5 5 5 5;
    Ds Min 40 20 15 10 10 7;
    Feat Max 1_000;
    Ir Min 10 0 0 0 0 0;
    Itc Max 1_000;
    R Max 200_000;
    Rc Min 100 50 35 30 25 20;
    Rea Max 40 30 25 20 20 16;
    Reh Min 30 15 15 10 10 7;
    Rhoh Min 0 15 15 15 15 15;
    Rhw Min 200 100 100 100 100 100;
    Rhz Max 200 100 100 100 100 100;
    Rloh Min 0 0 0 0 5 5;
    Rp Min 50 25 17 15 12 10;
    Rr Min 40 20 20 20 20 20;
    Rst Max 5_000_000 500_000 500_000 500_000 500_000 500_000;
    RstEz Max 250_000_000;
    Wb Max 200 100 100 100 100 100;
    Wc Min 100 45 35 30 25 20;
    Wh Min 30 15 15 10 10 7;
    Whr Min 120 80 80 80 80 80;
    Wp Min 50 25 17 15 12 10;
    Ww Min 100;
};

/// NV-DDR, modes 0 to 5, from barebox `nand_timings.c`. Exceptions: tDQSS (0.75 to 1.25 tCK), tWPRE and tWPST
/// (1.5 tCK) are from memory of the public ONFI specification.
const NV_DDR: &[Row] = rows! {
    Ac Min 3;
    Ac Max 25;
    Adl Min 400;
    Cad Min 45;
    CadFast Min 25;
    Cah Min 10 5 4 3 2.5 2;
    Calh Min 10 5 4 3 2.5 2;
    Cals Min 10 5 4 3 2.5 2;
    Cas Min 10 5 4 3 2.5 2;
    Ccs Min 500;
    Ceh Min 20;
    Ch Min 10 5 4 3 2.5 2;
    Ck Min 50 30 20 15 12 10;
    Cs Min 35 25 15 15 15 15;
    Dh Min 5 2.5 1.7 1.3 1.1 0.9;
    Dqsck Min 3;
    Dqsck Max 25;
    Dqsd Min 0;
    Dqsd Max 18;
    Dqshz Max 20;
    Dqsq Max 5 2.5 1.7 1.3 1.0 0.85;
    Dqss Min 37.5 22.5 15 11.25 9 7.5;
    Dqss Max 62.5 37.5 25 18.75 15 12.5;
    Ds Min 5 3 2 1.5 1.1 0.9;
    Dsc Min 50 30 20 15 12 10;
    Feat Max 1_000;
    Itc Max 1_000;
    Qhs Max 6 3 2 1.5 1.2 1.0;
    R Max 200_000;
    Rhw Min 100;
    Rr Min 20;
    Rst Max 500_000;
    Wb Max 100;
    Whr Min 80;
    Wpre Min 75 45 30 22.5 18 15;
    Wpst Min 75 45 30 22.5 18 15;
    Wrck Min 20;
    Ww Min 100;
};

/// NV-DDR2 and later interfaces. The values are MQSim's defaults for NV-DDR2, in every mode: no other values
/// are public. MQSim does not have the last six rows. Chosen for them: the values of NV-DDR.
const STROBED: &[Row] = rows! {
    Adl Min 70;
    Cals Min 15;
    Ccs Min 300;
    Cs Min 20;
    Dbsy Max 500;
    Dqsre Max 15;
    Rhw Min 100;
    Rpre Min 15;
    Rr Min 20;
    Wb Max 100;
    Wc Min 25;
    Wpst Min 6;
    Wpsth Min 15;
    Feat Max 1_000;
    Itc Max 1_000;
    R Max 200_000;
    Rst Max 500_000;
    Whr Min 80;
    Ww Min 100;
};

/// The data cycle of NV-DDR2 and NV-DDR3: two transfers.
const STROBED_CYCLE: &[Row] = rows! {
    Rc Min 30 25 15 12 10 7.5 6 5 3.75 3 2.5 1.875 1.667 1.5 1.364 1.25;
};

/// The data cycle of NV-LPDDR4.
const NV_LPDDR4_CYCLE: &[Row] = rows! {
    Rc Min 0.833 0.556;
};

/// Parameters with the same values for every interface: volumes and calibration, from riot-driver-mtd-nand
/// (ONFI 5).
const COMMON: &[Row] = rows! {
    Cevdly Min 50;
    Eni Max 15;
    Eno Max 50;
    Vdly Min 50;
    Zqcl Max 1_000;
    Zqcs Max 400;
};

/// The tables of an interface, to be chained.
pub fn of(interface: Interface) -> impl Iterator<Item = &'static [Row]> {
    let own = match interface {
        Interface::Sdr => [SDR, &[]],
        Interface::NvDdr => [NV_DDR, &[]],
        Interface::NvDdr2 | Interface::NvDdr3 => [STROBED, STROBED_CYCLE],
        Interface::NvLpddr4 => [STROBED, NV_LPDDR4_CYCLE],
    };
    own.into_iter().chain([COMMON])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_one_value_or_one_for_each_mode() {
        for interface in Interface::ALL {
            for row in of(interface).flatten() {
                let modes = usize::from(interface.modes());
                // The data cycles of NV-DDR3 begin with the cycles of NV-DDR2.
                let enough =
                    row.ps.len() == modes || (interface == Interface::NvDdr2 && row.ps.len() > modes);
                assert!(row.ps.len() == 1 || enough, "{} of {interface}", row.parameter.symbol());
            }
        }
    }

    #[test]
    fn nanoseconds_with_a_fraction_are_exact() {
        assert_eq!(["0", "0.85", "1_000", "3.75", "1.0"].map(picoseconds), [0, 850, 1_000_000, 3_750, 1_000]);
    }
}
