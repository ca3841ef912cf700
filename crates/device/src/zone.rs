//! Zones of a zoned namespace as a host sees them: states and descriptors.

use serde::{Deserialize, Serialize};

/// State of a zone (NVMe Zoned Namespace Command Set, ZS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write. The device may close the zone to open another one.
    ImplicitlyOpen,
    /// Opened by the host.
    ExplicitlyOpen,
    /// Partly written and not open.
    Closed,
    /// Accepts no more writes until it is reset.
    Full,
    /// Readable, but never writable again.
    ReadOnly,
    /// Neither readable nor writable again.
    Offline,
}

impl ZoneState {
    /// All states, in the order of the report filter.
    pub const ALL: [Self; 7] = [
        Self::Empty,
        Self::ImplicitlyOpen,
        Self::ExplicitlyOpen,
        Self::Closed,
        Self::Full,
        Self::ReadOnly,
        Self::Offline,
    ];

    /// NVMe code (ZS).
    pub fn code(self) -> u8 {
        [0x1, 0x2, 0x3, 0x4, 0xe, 0xd, 0xf][self as usize]
    }

    /// Name in lower case, with underscores.
    pub fn name(self) -> &'static str {
        ["empty", "implicitly_open", "explicitly_open", "closed", "full", "read_only", "offline"]
            [self as usize]
    }

    /// Whether a report with this filter includes the state: 0 includes all, 1 to 7 one state.
    pub fn is_in(self, filter: u8) -> bool {
        filter == 0 || filter == self as u8 + 1
    }

    /// Whether the state uses an open resource.
    pub fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether the state uses an active resource.
    pub fn is_active(self) -> bool {
        self.is_open() || self == Self::Closed
    }

    /// Whether a zone in this state has a write pointer.
    pub fn is_writable(self) -> bool {
        self == Self::Empty || self.is_active()
    }
}

/// Descriptor of a zone, as Zone Management Receive (Report Zones) returns it, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneDescriptor {
    /// First sector of the zone.
    pub start: u64,
    /// Writable sectors, from the first one on.
    pub capacity: u64,
    /// Sector that the next write must begin at; `None` in a zone that accepts no write (full, read only or
    /// offline), where NVMe does not define it.
    pub write_pointer: Option<u64>,
    /// State.
    pub state: ZoneState,
}
