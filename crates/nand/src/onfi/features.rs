//! Features: settings of a LUN. Each has an address of one byte and four parameters, which Set Features (EFh,
//! D5h) writes and Get Features (EEh, D4h) reads.

use std::fmt;

use ResetBehavior::{Kept, PowerOn};

use super::modes::{Modes, TimingMode};
use crate::Part;

/// The parameters P1 to P4 of a feature.
pub type Parameters = [u8; 4];

/// The addresses of the features.
pub mod address {
    /// Interface and timing mode (ONFI).
    pub const TIMING_MODE: u8 = 0x01;
    /// Configuration of NV-DDR2 and later: voltage reference, differential signals, termination, warm-up
    /// (ONFI).
    pub const NV_DDR2_CONFIGURATION: u8 = 0x02;
    /// Output drive strength (ONFI).
    pub const DRIVE_STRENGTH: u8 = 0x10;
    /// External programming voltage (ONFI).
    pub const EXTERNAL_VPP: u8 = 0x30;
    /// Volume address (ONFI).
    pub const VOLUME: u8 = 0x58;
    /// Read retry (Micron; Linux `nand_micron.c`).
    pub const READ_RETRY: u8 = 0x89;
    /// Array operation mode (Micron; Linux `nand_micron.c`).
    pub const ARRAY_MODE: u8 = 0x90;
    /// SLC mode. Chosen: the address after the array operation mode, among the addresses that ONFI leaves to
    /// vendors.
    pub const SLC_MODE: u8 = 0x91;
    /// The parameter set of operations. Chosen: the address after SLC mode.
    pub const PARAMETER_SET: u8 = 0x92;
}

/// Number of read retry options; 0 is the default. Chosen: as many as Micron's MLC parts have, from memory of
/// their data sheets.
pub const READ_RETRY_OPTIONS: u8 = 8;
const _: () =
    assert!(READ_RETRY_OPTIONS.is_power_of_two(), "the bits that may be set are those of the options");
/// Bit of P1 of the array operation mode that enables on-die ECC (Linux `nand_micron.c`).
const ON_DIE_ECC: u8 = 1 << 3;
/// Bit of P1 that enables SLC mode (chosen).
const SLC_ON: u8 = 1;

/// The value of a feature after Reset (FFh). Synchronous Reset (FCh) and Reset LUN (FAh) keep all features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetBehavior {
    /// Its previous value.
    Kept,
    /// Its power-on value.
    PowerOn,
}

/// The parts that have a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeatureScope {
    All,
    Strobed,
    Slc,
    Sets,
}

/// A row of the table of features.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Address of the feature.
    pub address: u8,
    /// Name of the feature.
    pub name: &'static str,
    /// Power-on value.
    pub power_on: Parameters,
    /// Mask of the bits that may be set.
    pub writable: Parameters,
    /// Value after Reset (FFh).
    pub after_reset: ResetBehavior,
    of: FeatureScope,
}

const fn row(
    address: u8,
    name: &'static str,
    power_on: u8,
    writable: Parameters,
    after_reset: ResetBehavior,
    of: FeatureScope,
) -> Feature {
    Feature { address, name, power_on: [power_on, 0, 0, 0], writable, after_reset, of }
}

/// Every feature, by address.
///
/// * Sources: the module `address` has the sources of 01h, 89h and 90h. The following are from memory of the
///   public ONFI specification: the other addresses, the bits within 02h, 10h, 30h and 58h, the nominal drive
///   strength (02h) at power-on, and the features that a Reset restores.
/// * Chosen: a Reset restores read retry, SLC mode and the parameter set, so that the part reads normally
///   afterwards. 02h has no warm-up cycles, as in the parameter page.
/// * 10h, 30h, 58h, 90h and the bits of 02h are stored without effect: the model has neither signal levels
///   nor bit errors.
#[rustfmt::skip]
pub const FEATURES: [Feature; 9] = [
    row(address::TIMING_MODE,           "timing mode",           0, [0x3f, 0x01, 0, 0],              PowerOn, FeatureScope::All),
    row(address::NV_DDR2_CONFIGURATION, "NV-DDR2 configuration", 0, [0xf7, 0, 0, 0],                 PowerOn, FeatureScope::Strobed),
    row(address::DRIVE_STRENGTH,        "drive strength",        2, [0x03, 0, 0, 0],                 Kept,    FeatureScope::All),
    row(address::EXTERNAL_VPP,          "external Vpp",          0, [0x01, 0, 0, 0],                 Kept,    FeatureScope::All),
    row(address::VOLUME,                "volume configuration",  0, [0x0f, 0, 0, 0],                 Kept,    FeatureScope::All),
    row(address::READ_RETRY,            "read retry",            0, [READ_RETRY_OPTIONS - 1, 0, 0, 0], PowerOn, FeatureScope::All),
    row(address::ARRAY_MODE,            "array operation mode",  0, [ON_DIE_ECC, 0, 0, 0],           Kept,    FeatureScope::All),
    row(address::SLC_MODE,              "SLC mode",              0, [SLC_ON, 0, 0, 0],               PowerOn, FeatureScope::Slc),
    row(address::PARAMETER_SET,         "parameter set",         0, [0xff, 0xff, 0, 0],              PowerOn, FeatureScope::Sets),
];

/// The reason why a feature access was rejected. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureError {
    /// No feature has this address.
    UnknownAddress {
        /// The address.
        address: u8,
    },
    /// This part does not have the feature.
    NotOfThisPart {
        /// The address.
        address: u8,
        /// The feature.
        name: &'static str,
    },
    /// A bit without a meaning is set.
    UnknownBits {
        /// The feature.
        name: &'static str,
        /// Number of the parameter: 1 for P1.
        parameter: u8,
        /// The requested value.
        found: u8,
        /// Mask of the bits that may be set.
        writable: u8,
    },
    /// The timing mode selects no interface.
    NoInterface {
        /// The requested value.
        found: Parameters,
    },
    /// The part does not have the timing mode.
    NoSuchMode {
        /// The mode.
        found: TimingMode,
        /// The fastest mode of that interface in the part, if any.
        fastest: Option<u8>,
    },
    /// A change from one interface to another is possible only through SDR, by Reset (FFh).
    NotThroughSdr {
        /// The mode in use.
        from: TimingMode,
        /// The requested mode.
        to: TimingMode,
    },
}

impl fmt::Display for FeatureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAddress { address } => {
                write!(out, "feature address: found {address:02X}h, wanted one of")?;
                FEATURES.iter().try_for_each(|feature| write!(out, " {:02X}h", feature.address))
            }
            Self::NotOfThisPart { address, name } => {
                write!(out, "feature address: found {address:02X}h ({name}), which this part does not have")
            }
            Self::UnknownBits { name, parameter, found, writable } => {
                write!(out, "{name}: found {found:02X}h in P{parameter}, wanted bits of {writable:02X}h")
            }
            Self::NoInterface { found } => {
                write!(out, "timing mode: found {found:02X?}, wanted the word of an interface")
            }
            Self::NoSuchMode { found, fastest: Some(fastest) } => {
                write!(out, "timing mode: found {found}, wanted at most mode {fastest}")
            }
            Self::NoSuchMode { found, fastest: None } => {
                write!(out, "timing mode: found {found}, wanted an interface of this part")
            }
            Self::NotThroughSdr { from, to } => {
                write!(out, "timing mode: found {to} while in {from}, wanted Reset (FFh) to SDR between them")
            }
        }
    }
}

impl std::error::Error for FeatureError {}

/// The features of a LUN. Set Features and Get Features apply to all LUNs of a target; LUN Set Features and
/// LUN Get Features apply to one LUN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    modes: Modes,
    slc: bool,
    /// Whether there are parameter sets.
    sets: bool,
    held: [Parameters; FEATURES.len()],
}

impl Features {
    /// The features of a LUN of `part` at power-on.
    pub fn of(part: &Part) -> Self {
        let held = FEATURES.map(|feature| feature.power_on);
        Self { modes: Modes::of(part), slc: part.timing.slc.is_some(), sets: false, held }
    }

    /// The value of the feature at `address`.
    ///
    /// # Errors
    /// No feature of this part has the address.
    pub fn get(&self, address: u8) -> Result<Parameters, FeatureError> {
        Ok(self.held[self.place(address)?])
    }

    /// Sets the feature at `address`.
    ///
    /// # Errors
    /// No feature of this part has the address, or a bit without a meaning is set. For the timing mode: the
    /// part does not have the mode, or cannot change to it from the current one.
    pub fn set(&mut self, address: u8, parameters: Parameters) -> Result<(), FeatureError> {
        let place = self.place(address)?;
        let Feature { name, writable, .. } = FEATURES[place];
        for (parameter, (found, writable)) in (1..).zip(parameters.into_iter().zip(writable)) {
            if found & !writable != 0 {
                return Err(FeatureError::UnknownBits { name, parameter, found, writable });
            }
        }
        if address == address::TIMING_MODE {
            self.check_mode(parameters)?;
        }
        self.held[place] = parameters;
        Ok(())
    }

    /// Applies Reset (FFh): the interface returns to SDR mode 0, and the features that a Reset restores
    /// return to their power-on values. Synchronous Reset (FCh) and Reset LUN (FAh) need no function: they
    /// keep the interface and every feature (from memory of the public ONFI specification).
    pub fn reset(&mut self) {
        for (feature, held) in FEATURES.iter().zip(&mut self.held) {
            if feature.after_reset == PowerOn {
                *held = feature.power_on;
            }
        }
    }

    /// The interface and its timing mode.
    pub fn timing_mode(&self) -> TimingMode {
        TimingMode::decode(self.held(address::TIMING_MODE)).expect("only words of a mode are set")
    }

    /// The read retry option; 0 is the default.
    pub fn read_retry(&self) -> u8 {
        self.held(address::READ_RETRY)[0]
    }

    /// Whether blocks are used in SLC mode.
    pub fn slc_mode(&self) -> bool {
        self.held(address::SLC_MODE)[0] & SLC_ON != 0
    }

    /// Enables the parameter set feature from now on.
    pub fn enable_parameter_sets(&mut self) {
        self.sets = true;
    }

    /// The parameter set of operations.
    pub fn parameter_set(&self) -> u16 {
        let [low, high, ..] = self.held(address::PARAMETER_SET);
        u16::from_le_bytes([low, high])
    }

    /// The volume address of the target.
    pub fn volume(&self) -> u8 {
        self.held(address::VOLUME)[0]
    }

    /// The value of the feature at `address`, which must be in the table. If the part does not have the
    /// feature: its power-on value.
    fn held(&self, address: u8) -> Parameters {
        let place = FEATURES.iter().position(|feature| feature.address == address);
        self.held[place.expect("the address is one of the table's")]
    }

    fn place(&self, address: u8) -> Result<usize, FeatureError> {
        let place = FEATURES.iter().position(|feature| feature.address == address);
        let place = place.ok_or(FeatureError::UnknownAddress { address })?;
        let Feature { name, of, .. } = FEATURES[place];
        let has = match of {
            FeatureScope::All => true,
            FeatureScope::Strobed => self.modes.has_strobe(),
            FeatureScope::Slc => self.slc,
            FeatureScope::Sets => self.sets,
        };
        if has { Ok(place) } else { Err(FeatureError::NotOfThisPart { address, name }) }
    }

    /// Checks whether the interface may change to the mode in `parameters`. Changes within an interface, from
    /// SDR and to SDR are allowed; any other change must go through SDR (ONFI, from memory of the public
    /// specification).
    fn check_mode(&self, parameters: Parameters) -> Result<(), FeatureError> {
        let to = TimingMode::decode(parameters).ok_or(FeatureError::NoInterface { found: parameters })?;
        if !self.modes.has(to) {
            return Err(FeatureError::NoSuchMode { found: to, fastest: self.modes.fastest(to.interface) });
        }
        let from = self.timing_mode();
        let sdr = TimingMode::POWER_ON.interface;
        if from.interface == to.interface || [from.interface, to.interface].contains(&sdr) {
            return Ok(());
        }
        Err(FeatureError::NotThroughSdr { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;
    use crate::part::SlcTiming;
    use crate::part::tests::{mqsim, mqsim_file};
    use wordline_kernel::Duration;

    fn with_slc() -> Features {
        let us = Duration::from_us;
        let mut file = mqsim_file();
        file.timing.slc = Some(SlcTiming { read: us(25), program: us(200), erase: us(1_500) });
        let mut features = Features::of(&file.check().expect("the part is sound"));
        features.enable_parameter_sets();
        features
    }

    #[test]
    fn every_feature_keeps_its_bits_and_refuses_all_others() {
        for feature in FEATURES {
            for bit in 0..32 {
                let word = (1u32 << bit).to_le_bytes();
                let mut features = with_slc();
                let meant = feature.writable[bit / 8] >> (bit % 8) & 1 == 1;
                let set = features.set(feature.address, word);
                let timing = feature.address == address::TIMING_MODE;
                assert!(timing || set.is_ok() == meant, "{} {word:02X?}: {set:?}", feature.name);
                let wanted = if set.is_ok() { word } else { feature.power_on };
                assert_eq!(features.get(feature.address), Ok(wanted), "{}", feature.name);
            }
        }
    }

    #[test]
    fn addresses_are_refused_by_name_or_as_unknown() {
        let mut features = Features::of(&mqsim());
        let unknown = features.get(0x03).expect_err("there is no feature 03h").to_string();
        assert_eq!(unknown, "feature address: found 03h, wanted one of 01h 02h 10h 30h 58h 89h 90h 91h 92h");
        let wrong = features.set(0x91, [1, 0, 0, 0]).expect_err("the part has no SLC mode").to_string();
        assert_eq!(wrong, "feature address: found 91h (SLC mode), which this part does not have");
        let wrong = features.set(0x89, [8, 0, 0, 0]).expect_err("eight options are 0 to 7").to_string();
        assert_eq!(wrong, "read retry: found 08h in P1, wanted bits of 07h");
    }

    #[test]
    fn a_timing_mode_that_the_part_lacks_is_refused_and_changes_nothing() {
        let mut features = Features::of(&mqsim());
        assert_eq!(features.set(0x01, [0x26, 0, 0, 0]), Ok(()));
        let before = TimingMode { interface: Interface::NvDdr2, mode: 6 };
        assert_eq!(features.timing_mode(), before);
        let wrong =
            |features: &mut Features, word| features.set(0x01, word).expect_err("refused").to_string();
        let fast = wrong(&mut features, [0x27, 0, 0, 0]);
        assert_eq!(fast, "timing mode: found NV-DDR2 mode 7, wanted at most mode 6");
        let other = wrong(&mut features, [0x14, 0, 0, 0]);
        assert_eq!(other, "timing mode: found NV-DDR mode 4, wanted an interface of this part");
        assert!(wrong(&mut features, [0x14, 1, 0, 0]).ends_with("wanted the word of an interface"));
        assert_eq!(features.timing_mode(), before);
        assert_eq!(features.set(0x01, [0x05, 0, 0, 0]), Ok(()));
    }

    #[test]
    fn a_reset_returns_to_sdr_mode_0_and_keeps_what_it_should() {
        let mut features = with_slc();
        let set = [(0x01, 0x26), (0x02, 0x01), (0x10, 0x03), (0x58, 0x05), (0x89, 3), (0x90, 8), (0x91, 1)];
        for (address, p1) in set {
            assert_eq!(features.set(address, [p1, 0, 0, 0]), Ok(()));
        }
        assert!(features.slc_mode() && features.read_retry() == 3);
        features.reset();
        assert_eq!(features.timing_mode(), TimingMode::POWER_ON);
        let held = set.map(|(address, _)| features.get(address).expect("the part has it")[0]);
        assert_eq!(held, [0, 0, 3, 5, 0, 8, 0]);
        assert!(!features.slc_mode() && features.read_retry() == 0 && features.volume() == 5);
    }
}
