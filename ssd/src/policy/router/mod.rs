//! Which of the host's write streams a page goes to when it leaves the buffer.

mod host;
mod single;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use host::Host;
pub use single::Single;

/// A page that leaves the buffer, as a router sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its number.
    pub logical: u32,
    /// The stream that the host named when it wrote the page last; 0 for none.
    pub tag: u8,
    /// Sectors that the host wrote, of those of the page.
    pub sectors: u32,
}

/// Says which of the host's write streams a page goes to. It looks and answers; the mechanism checks the answer and
/// acts. Each stream fills blocks of its own.
pub trait Router: Send {
    /// How many streams it tells apart, from 1 to 16.
    fn streams(&self) -> u8;
    /// The stream of a page, from 0 to one below [`streams`](Self::streams).
    fn route(&mut self, page: &Outgoing) -> u8;
}

/// The routers that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RouterKind {
    /// One stream for everything.
    Single {},
    /// The stream that the host names in its command.
    Host {
        /// Streams that the device offers.
        streams: u8,
    },
}

impl Default for RouterKind {
    fn default() -> Self {
        Self::Single {}
    }
}

impl RouterKind {
    /// How many streams it tells apart.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Single {} => 1,
            Self::Host { streams } => *streams,
        }
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Router> {
        match self {
            Self::Single {} => Box::new(Single),
            Self::Host { streams } => Box::new(Host { streams: *streams }),
        }
    }
}
