//! The twin: a device whose parameters are fitted to a drive.

use libm::{exp, round};
use wordline_lab::{Device, Error, Registry};

use crate::load::Load;
use crate::zones::Zones;

/// Page size of every twin, and layers of a block of a drive. Chosen, as in the part `tlc-512g`: with three bits a
/// cell a block has 1,536 pages.
pub(crate) const PAGE: f64 = 16384.0;
const LAYERS: u32 = 128;

/// Word lines of a layer (chosen, as in the part `tlc-512g`).
pub(crate) const LINES_PER_LAYER: u32 = 4;

/// Blocks of each plane that garbage collection keeps free and open, beside the space that was measured.
pub(crate) const RESERVED_BLOCKS: u32 = 5;

/// Most units whose planes read together. Chosen: drives of 1 to 4 TB have 16 to 32 dies; what reads beside
/// one another in greater number are planes.
const MOST_DIES: u32 = 40;

/// Modes of the flash bus that are tried, each with its rate in bytes a microsecond, the usual one first: 1200,
/// 800 and 1600 MT/s of NV-DDR3. Chosen: those of parts from 2018 on.
pub const BUSES: [(u8, f64); 3] = [(12, 1200.0), (10, 800.0), (15, 1600.0)];

/// The rate of a mode of the bus that is tried, in bytes a microsecond.
pub fn bus_rate(mode: u8) -> f64 {
    BUSES.iter().find(|(bus, _)| *bus == mode).map_or(BUSES[0].1, |(_, rate)| *rate)
}

/// The parameters of a twin. Times are in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// Name of the device.
    pub name: String,
    /// Model of the drive.
    pub model: String,
    /// Capacity that the host sees, in bytes.
    pub capacity: f64,
    /// Flash that can be written before garbage collection begins, in bytes.
    pub space: f64,
    /// Units that read independently: dies, or planes if there are more than drives have dies.
    pub units: u32,
    /// Read times of the three pages of a word line, the fastest first.
    pub read: [f64; 3],
    /// Whether the search keeps the ratio of the fastest page's read time to the middle page's.
    pub tied: bool,
    /// Program time of a word line.
    pub program: f64,
    /// Time to suspend a program or an erase.
    pub suspend: f64,
    /// Firmware time of each command.
    pub command: f64,
    /// Least time between two commands in the firmware; `None` without a limit of commands a second.
    pub interval: Option<f64>,
    /// The link.
    pub link: Link,
    /// Mode of the flash bus (NV-DDR3).
    pub bus: u8,
    /// Bits that a cell stores.
    pub bits: u32,
    /// Divisor of the planes of a die that program together, and of the program time, at equal rates.
    pub split: u32,
    /// Whether programs and erases are suspended for reads.
    pub suspends: bool,
    /// The write buffer in bytes; `None` if it is not known.
    pub buffer: Option<f64>,
    /// The SLC cache, if there is one.
    pub cache: Option<SlcCache>,
    /// Bytes that the drive makes ready for writes at full speed while it is idle; `None` if that is not known.
    pub idle_gain: Option<f64>,
    /// The zones, if the drive is zoned.
    pub zones: Option<Zones>,
    /// Factor by which blocks are shorter than those of the drive.
    pub scale: u32,
}

/// A link to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// PCI Express.
    Express {
        /// Generation.
        generation: u32,
        /// Lanes.
        lanes: u32,
        /// Largest payload of a packet, in bytes.
        payload: u32,
    },
    /// Serial ATA.
    Sata {
        /// Generation.
        generation: u32,
    },
}

/// The SLC cache of a twin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcCache {
    /// Data that it holds on an erased drive, in bytes.
    pub size: f64,
    /// Program time of a page in SLC mode, in microseconds.
    pub program: f64,
}

/// A property of a twin that measurements can identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Read times of the pages of a word line.
    Read,
    /// Program time.
    Program,
    /// Program time in SLC mode.
    SlcProgram,
    /// Suspend time.
    Suspend,
    /// Units that read independently.
    Units,
    /// Mode of the flash bus.
    Bus,
    /// Firmware time of a command.
    Command,
    /// Least time between two commands in the firmware.
    Interval,
    /// The link.
    Link,
    /// Flash behind the capacity.
    Space,
    /// Size of the SLC cache.
    SlcCache,
    /// Bits a cell.
    Bits,
    /// Planes that program together.
    Split,
    /// Whether reads suspend programs.
    Suspends,
    /// Size of the write buffer.
    Buffer,
    /// Work of the drive while it is idle.
    Idle,
    /// Sizes and numbers of the zones.
    Zones,
    /// Time of the reset of a zone.
    ZoneReset,
    /// Whether the finish of a zone writes its rest.
    ZoneFinish,
}

/// A parameter that the search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The read times of all pages, by one factor.
    Read,
    /// Read time of the fastest page of a word line.
    FastRead,
    /// Read time of the page between.
    MiddleRead,
    /// Read time of the slowest page.
    SlowRead,
    /// Program time of a word line.
    Program,
    /// Program time of a page in SLC mode.
    SlcProgram,
    /// Suspend time.
    Suspend,
    /// Least time between two commands in the firmware.
    Interval,
}

impl Parameter {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "tR",
            Self::FastRead => "tR of the fastest page",
            Self::MiddleRead => "tR of the middle page",
            Self::SlowRead => "tR of the slowest page",
            Self::Program => "tPROG",
            Self::SlcProgram => "tPROG in SLC mode",
            Self::Suspend => "suspend",
            Self::Interval => "time between commands",
        }
    }

    /// The least and the greatest value, in microseconds. Chosen, well beyond those of any part.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Read | Self::FastRead | Self::MiddleRead | Self::SlowRead => (2.0, 500.0),
            Self::Program => (50.0, 30_000.0),
            Self::SlcProgram => (20.0, 5_000.0),
            Self::Suspend => (1.0, 1_000.0),
            Self::Interval => (0.05, 100.0),
        }
    }

    /// The value in a twin.
    pub fn get(self, twin: &Twin) -> f64 {
        match self {
            Self::FastRead => twin.read[0],
            Self::Read | Self::MiddleRead => twin.read[1],
            Self::SlowRead => twin.read[2],
            Self::Program => twin.program,
            Self::SlcProgram => twin.cache.map_or(0.0, |cache| cache.program),
            Self::Suspend => twin.suspend,
            Self::Interval => twin.interval.unwrap_or(0.0),
        }
    }

    /// Sets the value in a twin, within its bounds.
    pub fn set(self, twin: &mut Twin, value: f64) {
        let (least, most) = self.bounds();
        let value = value.clamp(least, most);
        match self {
            Self::Read => {
                let factor = value / twin.read[1];
                twin.read = twin.read.map(|time| time * factor);
            }
            Self::FastRead => twin.read[0] = value,
            Self::MiddleRead => {
                if twin.tied {
                    twin.read[0] *= value / twin.read[1];
                }
                twin.read[1] = value;
            }
            Self::SlowRead => twin.read[2] = value,
            Self::Program => twin.program = value,
            Self::SlcProgram => twin.cache = twin.cache.map(|cache| SlcCache { program: value, ..cache }),
            Self::Suspend => twin.suspend = value,
            Self::Interval => twin.interval = twin.interval.map(|_| value),
        }
    }
}

impl Twin {
    /// The twin with other values of these parameters, the logarithms `at`. Read times are in their order, the fastest
    /// first, when all are set.
    pub(crate) fn moved(&self, parameters: &[Parameter], at: &[f64]) -> Self {
        let mut twin = self.clone();
        for (parameter, at) in parameters.iter().zip(at) {
            parameter.set(&mut twin, exp(*at));
        }
        twin.read.sort_by(f64::total_cmp);
        twin
    }

    /// Planes of a die.
    pub const fn planes(&self) -> u32 {
        if self.units > MOST_DIES { 1 } else { 4 / self.split }
    }

    /// Pages of a layer, and of a block of the drive.
    pub(crate) const fn pages_per_layer(&self) -> u32 {
        LINES_PER_LAYER * self.bits
    }

    pub(crate) const fn pages_per_block(&self) -> u32 {
        LAYERS * self.pages_per_layer()
    }

    /// The same twin whose dies program a part of the planes in a part of the time.
    pub fn with_split(&self, split: u32) -> Self {
        let mut other = Self { split, ..self.clone() };
        other.program = other.program_of_rate(self.program_rate());
        let per_unit = self.all_planes() / other.all_planes();
        other.cache = self.cache.map(|cache| SlcCache { program: cache.program / per_unit, ..cache });
        other
    }

    /// Time of a reset of a zone of which `blocks` of 4 KiB were written, and of its finish, in microseconds.
    pub fn zone_time(&self, load: Load) -> Option<f64> {
        let zones = self.zones?;
        let written = |blocks: u32| f64::from(blocks) * 4096.0;
        match load {
            Load::ZoneReset { blocks } => {
                let [empty, full] = zones.reset?;
                Some(empty + (full - empty) * (written(blocks) / zones.capacity).min(1.0))
            }
            Load::ZoneFinish { blocks } if zones.finish_pads => {
                Some((zones.capacity - written(blocks)).max(0.0) / self.program_rate() * 1e6)
            }
            _ => None,
        }
    }

    /// Channels: eight, or the most below that divide the units. Chosen, as client and data-centre controllers
    /// have them.
    pub fn channels(&self) -> u32 {
        (1..=8).rev().find(|channels| self.units.is_multiple_of(*channels)).unwrap_or(1)
    }

    /// All planes of the drive.
    fn all_planes(&self) -> f64 {
        f64::from(self.units * self.planes())
    }

    /// Blocks of each plane, without those that garbage collection keeps.
    pub fn blocks(&self) -> u32 {
        let block = PAGE * f64::from(self.pages_per_block());
        (round(self.space / self.all_planes() / block) as u32).max(2 * RESERVED_BLOCKS)
    }

    /// Fraction of the blocks beyond the reserved ones that is hidden from the host.
    pub fn over_provisioning(&self) -> f64 {
        let flash = f64::from(self.blocks()) * self.all_planes() * PAGE * f64::from(self.pages_per_block());
        1.0 - self.capacity / flash
    }

    /// Host bytes a second at which one-shot programs of all units write, without transfers and GC.
    pub fn program_rate(&self) -> f64 {
        self.all_planes() * f64::from(self.bits) * PAGE / (self.program * 1e-6)
    }

    /// The program time at which all units write `rate` bytes a second.
    pub fn program_of_rate(&self, rate: f64) -> f64 {
        self.all_planes() * f64::from(self.bits) * PAGE / rate * 1e6
    }

    /// The program time in SLC mode at which all units write `rate` bytes a second.
    pub fn slc_program_of_rate(&self, rate: f64) -> f64 {
        self.all_planes() * PAGE / rate * 1e6
    }

    /// The same twin with another number of units, at equal rates of programs.
    pub fn with_units(&self, units: u32) -> Self {
        let mut other = Self { units, ..self.clone() };
        other.program = other.program_of_rate(self.program_rate());
        let per_unit = self.all_planes() / other.all_planes();
        other.cache = self.cache.map(|cache| SlcCache { program: cache.program / per_unit, ..cache });
        other
    }

    /// The scales that there are: divisors of the layers of a block.
    pub fn scales() -> impl Iterator<Item = u32> {
        (1..=LAYERS).filter(|scale| LAYERS.is_multiple_of(*scale))
    }

    /// The device that is simulated: without zones.
    ///
    /// # Errors
    /// [`Error::Config`] if the parameters make no device.
    pub fn device(&self) -> Result<Device, Error> {
        let text = self.document("a step of a search", |_| None);
        let table =
            text.parse().map_err(|fault| Error::Invariant(format!("a twin is no TOML: {fault}\n{text}")))?;
        Device::of_keys(&Registry::default(), &self.name, table)
    }
}
