//! Energy accounting: each stage has a power, which is multiplied by the time spent in the stage.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Energy, Power};

use crate::part::Draw;

/// A stage of the command chain (NANDFlashSim, section 4): the activity of a die or its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Stage {
    /// Command latch cycles and their waits, on the bus.
    Cle,
    /// Address latch cycles, on the bus.
    Ale,
    /// Data into the register, on the bus.
    Tir,
    /// Data out of the register, on the bus.
    Tor,
    /// From the register into the array: programming.
    Tin,
    /// From the array into the register: sensing.
    Ton,
    /// Block erase.
    Ber,
    /// No activity.
    Idle,
}

impl Stage {
    /// All stages in the order of their declaration.
    pub const ALL: [Self; 8] =
        [Self::Cle, Self::Ale, Self::Tir, Self::Tor, Self::Tin, Self::Ton, Self::Ber, Self::Idle];

    /// Name in the papers.
    pub fn name(self) -> &'static str {
        ["CLE", "ALE", "TIR", "TOR", "TIN", "TON", "BER", "idle"][self as usize]
    }

    /// The power that a die draws in the stage.
    fn power(self, draw: &Draw) -> Power {
        match self {
            Self::Cle | Self::Ale => draw.latch,
            Self::Tir | Self::Tor => draw.interface,
            Self::Tin => draw.program,
            Self::Ton => draw.read,
            Self::Ber => draw.erase,
            Self::Idle => draw.idle,
        }
    }
}

/// Time spent in each stage, summed over dies. The sum can exceed the range of the clock, so it has 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    ps: [u128; 8],
    /// Time spent in each stage, counted once for each active plane.
    plane_ps: [u128; 8],
}

impl StageTimes {
    /// Adds time to a stage with this many active planes; 1 on the bus.
    pub fn add(&mut self, stage: Stage, time: Duration, planes: u32) {
        self.ps[stage as usize] += u128::from(time.ps());
        self.plane_ps[stage as usize] += u128::from(time.ps()) * u128::from(planes);
    }

    /// Adds picoseconds of further active planes to a stage.
    pub(crate) fn add_more_planes(&mut self, stage: Stage, ps: u128) {
        self.plane_ps[stage as usize] += ps;
    }

    /// Picoseconds in `stage`.
    pub fn ps(&self, stage: Stage) -> u128 {
        self.ps[stage as usize]
    }

    /// Picoseconds in all stages but idle.
    pub fn active_ps(&self) -> u128 {
        self.ps[..Stage::Idle as usize].iter().sum()
    }

    /// Sets the idle time of `dies` dies: the part of `elapsed` in which a die neither uses the bus nor works
    /// in its array. `overlap` is the time, in picoseconds, in which dies did both. Panics if the dies were
    /// busy for longer than `elapsed`.
    pub fn set_idle(&mut self, dies: u32, elapsed: Duration, overlap: u128) {
        let all = u128::from(elapsed.ps()) * u128::from(dies) + overlap;
        let idle = all.checked_sub(self.active_ps()).expect("a die is in one stage at a time");
        self.ps[Stage::Idle as usize] = idle;
        self.plane_ps[Stage::Idle as usize] = idle;
    }

    /// The energy of each stage with this power draw.
    pub fn price(&self, draw: &Draw) -> EnergyReport {
        let ps = if draw.per_plane { &self.plane_ps } else { &self.ps };
        // A microwatt for a picosecond is 10^-18 J, a thousandth of a femtojoule.
        let energy = |stage: Stage| Energy(u128::from(stage.power(draw).0) * ps[stage as usize] / 1_000);
        EnergyReport { by_stage: Stage::ALL.map(energy) }
    }
}

impl std::iter::Sum for StageTimes {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        let add = |a: [u128; 8], b: [u128; 8]| std::array::from_fn(|n| a[n] + b[n]);
        times.fold(Self::default(), |sum, next| Self {
            ps: add(sum.ps, next.ps),
            plane_ps: add(sum.plane_ps, next.plane_ps),
        })
    }
}

/// The energy of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnergyReport {
    by_stage: [Energy; 8],
}

impl std::iter::Sum for EnergyReport {
    fn sum<I: Iterator<Item = Self>>(reports: I) -> Self {
        let none = Self { by_stage: [Energy(0); 8] };
        let add = |a: Self, b: Self| Self {
            by_stage: std::array::from_fn(|n| Energy(a.by_stage[n].0 + b.by_stage[n].0)),
        };
        reports.fold(none, add)
    }
}

impl EnergyReport {
    /// The energy since an `earlier` report. Operations that were in progress then were counted as idle, and
    /// count in their own stages now. The difference of idle energy can therefore be slightly negative: it is
    /// clamped to zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let stage = |stage: usize| match (self.by_stage[stage], earlier.by_stage[stage]) {
            (now, then) if stage == Stage::Idle as usize => Energy(now.0.saturating_sub(then.0)),
            (now, then) => Energy(now.0 - then.0),
        };
        Self { by_stage: std::array::from_fn(stage) }
    }

    /// The energy of a stage.
    pub fn of(&self, stage: Stage) -> Energy {
        self.by_stage[stage as usize]
    }

    /// The energy of all stages.
    pub fn total(&self) -> Energy {
        self.by_stage.into_iter().sum()
    }
}
