//! Extension points: the decisions that a design can make.

use std::fmt;
use std::ops::BitOr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A decision that a design can make. The design that makes it is determined when the device is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExtensionPoint {
    /// Pool for a page or unit that is destaged. One design decides for the whole device.
    Pool,
    /// Waiting pages that an idle plane group or pool steals from another. One design decides for the whole
    /// device.
    Balance,
    /// Goals of background GC. One design decides for the whole device.
    Background,
    /// Which pages of a unit are destaged together, when, and which other pages are programmed with them. One
    /// design decides for the whole device.
    Coalesce,
    /// Stream of a page within its pool.
    Stream,
    /// Word line of an open block that is programmed next.
    Frontier,
    /// Plane group of a program.
    Place,
    /// Block that GC collects.
    Victim,
    /// Where the valid pages of a victim are programmed.
    Relocate,
    /// Parameters of a read, program or erase command.
    Tune,
    /// Action for a block after a failure in it.
    Fail,
    /// Part of the map that is in memory, and guesses of locations. One design decides for the whole device.
    Map,
    /// Blocks and pages that are relocated now. One design decides for the whole device.
    Maintain,
}

impl ExtensionPoint {
    /// All extension points: first those of the whole device, then those of each pool.
    pub const ALL: [Self; 13] = [
        Self::Pool,
        Self::Balance,
        Self::Background,
        Self::Coalesce,
        Self::Map,
        Self::Maintain,
        Self::Stream,
        Self::Frontier,
        Self::Place,
        Self::Victim,
        Self::Relocate,
        Self::Tune,
        Self::Fail,
    ];

    /// Name in a configuration.
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
            Self::Map => "map",
            Self::Maintain => "maintain",
        }
    }

    /// Whether one design decides it for the whole device. Otherwise each pool may have another design.
    pub const fn is_of_device(self) -> bool {
        matches!(
            self,
            Self::Pool | Self::Balance | Self::Background | Self::Coalesce | Self::Map | Self::Maintain
        )
    }
}

impl fmt::Display for ExtensionPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A set of extension points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionPoints(u16);

impl ExtensionPoints {
    /// Empty set.
    pub const NONE: Self = Self(0);

    /// Set of these extension points.
    pub const fn of(seams: &[ExtensionPoint]) -> Self {
        let (mut bits, mut n) = (0, 0);
        while n < seams.len() {
            bits |= 1 << seams[n] as u16;
            n += 1;
        }
        Self(bits)
    }

    /// Whether `seam` is in the set.
    #[inline]
    pub const fn has(self, seam: ExtensionPoint) -> bool {
        self.0 >> seam as u16 & 1 != 0
    }

    /// Whether any of `others` is in the set.
    #[inline]
    pub const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// The set without `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Members of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = ExtensionPoint> {
        ExtensionPoint::ALL.into_iter().filter(move |seam| self.has(*seam))
    }
}

impl BitOr for ExtensionPoints {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
