//! Where the time of a command of a physical device went, for the layers above that explain their own.

use wordline_kernel::{Duration, Instant};

use crate::flash::{Behind, ByWork};
use crate::times::{COMPONENTS, Component};

/// The time of a command, as its device tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When it was submitted.
    pub submitted: Instant,
    /// From then to its answer.
    pub latency: Duration,
    /// Its time by [component](Component), which together is its latency.
    pub parts: [Duration; COMPONENTS],
    /// The commands of the die that its last part waited behind; none where it waited for no die.
    pub behind: Option<Behind>,
    /// The work of all dies while it waited for the buffer; none where it did not.
    pub meanwhile: Option<ByWork>,
}

impl Told {
    /// A command of whose time nothing is known but that it waited, as `component` says.
    pub fn waited(submitted: Instant, latency: Duration, component: Component) -> Self {
        let mut told =
            Self { submitted, latency, parts: [Duration::ZERO; COMPONENTS], behind: None, meanwhile: None };
        told.parts[component as usize] = latency;
        told
    }

    /// Adds the wait of a command of a layer above that completed with this one: until this one was submitted it waited, as `component` says.
    #[must_use]
    pub fn of_above(mut self, submitted: Instant, latency: Duration, component: Component) -> Self {
        let before = latency.saturating_sub(self.latency);
        self.parts[component as usize] += before;
        (self.submitted, self.latency) = (submitted, self.latency + before);
        self
    }
}
