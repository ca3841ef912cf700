//! The questions that a design can answer.

use std::fmt;
use std::ops::BitOr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question that a design can answer. The one that answers it is settled once, when the device is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seam {
    /// Which pool what leaves the buffer goes to. Asked of one design of the device.
    Pool,
    /// Which waiting pages an idle row or pool takes over from others. Asked of one design of the device.
    Balance,
    /// How far blocks are cleaned while the host is idle. Asked of one design of the device.
    Background,
    /// Which pages leave the buffer together, and when, and which are programmed with them. Asked of one design of the device.
    Coalesce,
    /// Which stream of its pool a page goes to.
    Stream,
    /// Which word line of an open block is programmed next.
    Frontier,
    /// Which row of planes a program goes to.
    Place,
    /// Which block is cleaned.
    Victim,
    /// Where the valid pages of a victim go.
    Relocate,
    /// The parameters of a read or a program.
    Tune,
    /// How a block is treated after a failure in it.
    Fail,
}

impl Seam {
    /// All of them: those of the device, then those of each pool.
    pub const ALL: [Self; 11] = [
        Self::Pool,
        Self::Balance,
        Self::Background,
        Self::Coalesce,
        Self::Stream,
        Self::Frontier,
        Self::Place,
        Self::Victim,
        Self::Relocate,
        Self::Tune,
        Self::Fail,
    ];

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Balance => "balance",
            Self::Background => "background",
            Self::Coalesce => "coalesce",
            Self::Stream => "stream",
            Self::Frontier => "frontier",
            Self::Place => "place",
            Self::Victim => "victim",
            Self::Relocate => "relocate",
            Self::Tune => "tune",
            Self::Fail => "fail",
        }
    }

    /// Whether it is asked of the device, and not of each pool by itself.
    pub const fn is_of_device(self) -> bool {
        matches!(self, Self::Pool | Self::Balance | Self::Background | Self::Coalesce)
    }
}

impl fmt::Display for Seam {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Some of the seams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seams(u16);

impl Seams {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// These.
    pub const fn of(seams: &[Seam]) -> Self {
        let (mut bits, mut n) = (0, 0);
        while n < seams.len() {
            bits |= 1 << seams[n] as u16;
            n += 1;
        }
        Self(bits)
    }

    /// Whether `seam` is among them.
    #[inline]
    pub const fn has(self, seam: Seam) -> bool {
        self.0 >> seam as u16 & 1 != 0
    }

    /// Whether any of `others` is among them.
    #[inline]
    pub const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// These but for `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = Seam> {
        Seam::ALL.into_iter().filter(move |seam| self.has(*seam))
    }
}

impl BitOr for Seams {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
