//! The changes that test possible bottlenecks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::TimeFactors;
use wordline_kernel::Factor;

use crate::change::Change;

/// The factor on a time: a tenth less.
const LESS: Factor = Factor::percent(90);

/// A possible bottleneck of a run; each has a change that tests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Sensing (tR).
    ReadTime,
    /// Programming (tPROG).
    ProgramTime,
    /// Erasing (tBERS).
    EraseTime,
    /// The buses of the channels: commands, addresses, waits and data.
    Buses,
    /// The link to the host.
    Link,
    /// The controller: firmware, buffer access, decoding.
    Controller,
    /// The commands of garbage collection, in the array and on the bus.
    GarbageCollection,
    /// The host: outstanding requests, or requests per second in an open loop.
    Host,
    /// Twice the demand of the host.
    HostTwice,
    /// Sensing, programming and erasing together.
    Arrays,
    /// All times of the device together.
    AllTimes,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 11] = [
        Self::ReadTime,
        Self::ProgramTime,
        Self::EraseTime,
        Self::Buses,
        Self::Link,
        Self::Controller,
        Self::GarbageCollection,
        Self::Host,
        Self::HostTwice,
        Self::Arrays,
        Self::AllTimes,
    ];

    /// Whether it can be named as a bottleneck. The other causes are for comparison.
    pub fn is_candidate(self) -> bool {
        !matches!(self, Self::HostTwice | Self::Arrays | Self::AllTimes)
    }

    /// Name in tables and sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadTime => "sensing (tR)",
            Self::ProgramTime => "programming (tPROG)",
            Self::EraseTime => "erasing (tBERS)",
            Self::Buses => "buses of the channels",
            Self::Link => "link to the host",
            Self::Controller => "controller",
            Self::GarbageCollection => "garbage collection",
            Self::Host => "host",
            Self::HostTwice => "host, twice",
            Self::Arrays => "arrays (tR, tPROG, tBERS)",
            Self::AllTimes => "all times of the device",
        }
    }

    /// The change that tests it.
    pub fn change(self) -> Change {
        let none = TimeFactors::default();
        let times = match self {
            Self::ReadTime => TimeFactors { read: LESS, ..none },
            Self::ProgramTime => TimeFactors { program: LESS, ..none },
            Self::EraseTime => TimeFactors { erase: LESS, ..none },
            Self::Buses => TimeFactors { bus: LESS, ..none },
            Self::Link => TimeFactors { link: LESS, ..none },
            Self::Controller => TimeFactors { controller: LESS, ..none },
            Self::GarbageCollection => TimeFactors { gc: LESS, ..none },
            Self::Host => return Change::of_demand(1.1),
            Self::HostTwice => return Change::of_demand(2.0),
            Self::Arrays => TimeFactors { read: LESS, program: LESS, erase: LESS, ..none },
            Self::AllTimes => TimeFactors {
                read: LESS,
                program: LESS,
                erase: LESS,
                bus: LESS,
                link: LESS,
                controller: LESS,
                ..none
            },
        };
        Change::of_times(times)
    }
}
