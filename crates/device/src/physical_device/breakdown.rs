//! Times of a command of a physical device, from which the layers above compute their own latency breakdowns.

use wordline_flash::{Behind, WorkTimes};
use wordline_kernel::{Duration, Instant};

use crate::times::{COMPONENTS, Component};

/// Times of a command, recorded by its device.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandBreakdown {
    /// Time of submission.
    pub submitted: Instant,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Time by [component](Component). The sum is the latency.
    pub parts: [Duration; COMPONENTS],
    /// Commands of the die for which its last task waited; `None` if it waited for no die.
    pub behind: Option<Behind>,
    /// Work of all dies while the command waited for the buffer; `None` if it did not wait.
    pub meanwhile: Option<WorkTimes>,
}

impl CommandBreakdown {
    /// Times of a command that spent its whole latency in `component`.
    pub fn waited(submitted: Instant, latency: Duration, component: Component) -> Self {
        let mut told =
            Self { submitted, latency, parts: [Duration::ZERO; COMPONENTS], behind: None, meanwhile: None };
        told.parts[component as usize] = latency;
        told
    }

    /// Times of a command of the layer above, which completed together with this command. Until this command
    /// was submitted, the command of the layer above waited in `component`.
    #[must_use]
    pub fn with_wait_above(mut self, submitted: Instant, latency: Duration, component: Component) -> Self {
        let before = latency.saturating_sub(self.latency);
        self.parts[component as usize] += before;
        (self.submitted, self.latency) = (submitted, self.latency + before);
        self
    }
}
