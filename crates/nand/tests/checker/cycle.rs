//! Cycles on the pins, and the encoding of a setup and its cycles as bytes.
//!
//! The first two bytes are the setup. Each cycle is a byte with its kind, followed by its arguments, least
//! significant byte first. Bytes that are missing at the end are 0.

use std::fmt;

/// An action of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    Command(u8),
    Address(u8),
    /// Number of bytes, and the first byte.
    DataIn(u16, u8),
    DataOut(u16),
    WaitReady,
    WaitArray,
    /// Wait in nanoseconds.
    Wait(u32),
    Select(u8),
    Protect(bool),
    /// The next cycle is a picosecond too early.
    Early,
    /// Status and reset, if a cycle was rejected.
    Recover,
    /// In the next cycle the host's time with this number is a picosecond too short, if the cycle has it.
    Short(u8),
}

/// The targets and LUNs on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Number of the part.
    pub part: u8,
    pub targets: u8,
    pub luns: u8,
    /// Whether operations that exceed limits are rejected.
    pub fatal: bool,
    /// Whether some programs and erases fail, and a block is bad.
    pub faulty: bool,
    /// Whether the power rises before the first cycle. Otherwise a host has already set up the targets.
    pub power_on: bool,
}

impl Setup {
    pub fn decode(bytes: [u8; 2]) -> Self {
        let [part, flags] = bytes;
        Self {
            part: part % super::facts::PARTS,
            targets: 1 + (flags & 1),
            luns: 1 + (flags >> 1 & 1),
            fatal: flags & 4 == 0,
            faulty: flags & 8 != 0,
            power_on: flags & 16 != 0,
        }
    }

    pub fn encode(self) -> [u8; 2] {
        let bit = |set, mask: u8| if set { mask } else { 0 };
        let wiring = bit(self.targets == 2, 1) | bit(self.luns == 2, 2);
        [self.part, wiring | bit(!self.fatal, 4) | bit(self.faulty, 8) | bit(self.power_on, 16)]
    }
}

/// Encodes a setup and cycles as bytes, which [`decode`] decodes.
pub fn encode(setup: Setup, cycles: &[Cycle]) -> Vec<u8> {
    let mut bytes = setup.encode().to_vec();
    for cycle in cycles {
        match *cycle {
            Cycle::Command(code) => bytes.extend([0, code]),
            Cycle::Address(byte) => bytes.extend([1, byte]),
            Cycle::DataIn(len, first) => bytes.extend([2, len as u8, (len >> 8) as u8, first]),
            Cycle::DataOut(len) => bytes.extend([3, len as u8, (len >> 8) as u8]),
            Cycle::WaitReady => bytes.push(4),
            Cycle::WaitArray => bytes.push(5),
            Cycle::Wait(ns) => {
                bytes.push(6);
                bytes.extend(&ns.to_le_bytes()[..3]);
            }
            Cycle::Select(target) => bytes.extend([7, target]),
            Cycle::Protect(on) => bytes.extend([8, u8::from(on)]),
            Cycle::Early => bytes.push(9),
            Cycle::Recover => bytes.push(10),
            Cycle::Short(which) => bytes.extend([11, which]),
        }
    }
    bytes
}

/// Decodes a setup and cycles from `bytes`. Any bytes are valid.
pub fn decode(bytes: &[u8]) -> (Setup, Vec<Cycle>) {
    let mut rest = bytes.iter().copied();
    let mut next = || rest.next();
    let setup = Setup::decode([next().unwrap_or(0), next().unwrap_or(0)]);
    let mut cycles = Vec::new();
    while let Some(kind) = next() {
        let mut byte = || next().unwrap_or(0);
        let mut word = || u16::from(byte()) | u16::from(byte()) << 8;
        cycles.push(match kind % 12 {
            0 => Cycle::Command(byte()),
            1 => Cycle::Address(byte()),
            2 => Cycle::DataIn(word() % 1_024, byte()),
            3 => Cycle::DataOut(word() % 1_024),
            4 => Cycle::WaitReady,
            5 => Cycle::WaitArray,
            6 => Cycle::Wait(u32::from(word()) | u32::from(byte()) << 16),
            7 => Cycle::Select(byte()),
            8 => Cycle::Protect(byte() & 1 == 1),
            9 => Cycle::Early,
            10 => Cycle::Recover,
            _ => Cycle::Short(byte()),
        });
    }
    (setup, cycles)
}

/// The bytes of a burst of data in.
pub fn burst(len: u16, first: u8) -> Vec<u8> {
    (0..len).map(|n| first.wrapping_add((n as u8).wrapping_mul(7))).collect()
}

/// Formats a cycle as in the scripts of the tests.
impl fmt::Display for Cycle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(code) => write!(out, "c{code:02x}"),
            Self::Address(byte) => write!(out, "a{byte:02x}"),
            Self::DataIn(len, first) => write!(out, "i{len}x{first:02x}"),
            Self::DataOut(len) => write!(out, "o{len}"),
            Self::WaitReady => write!(out, "rb"),
            Self::WaitArray => write!(out, "arb"),
            Self::Wait(ns) => write!(out, "wait{ns}ns"),
            Self::Select(target) => write!(out, "ce{target}"),
            Self::Protect(on) => write!(out, "wp{}", u8::from(*on)),
            Self::Early => write!(out, "early"),
            Self::Recover => write!(out, "recover"),
            Self::Short(which) => write!(out, "short{which}"),
        }
    }
}
