//! Latency breakdown of flash commands.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

/// Number of components.
pub const FLASH_COMPONENTS: usize = 7;

/// Components of the time of a flash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FlashComponent {
    /// Waiting before the task was queued, until the location of its page was known.
    Mapping,
    /// Waiting for a die that is busy with garbage collection.
    GcWait,
    /// Waiting for a die that is busy with other work.
    DieWait,
    /// Waiting for the channel's bus, and using it.
    Bus,
    /// Array time of a sense or program.
    Array,
    /// Waiting for the ECC decoder, and using it.
    Decoding,
    /// Earlier tries of a read retry: bus and array time.
    Retries,
}

/// Time that a command spent on flash or waiting for it, by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashTime([u64; FLASH_COMPONENTS]);

impl FlashTime {
    /// Sets a component.
    #[inline]
    pub fn set(&mut self, component: FlashComponent, time: Duration) {
        self.0[component as usize] = time.ps();
    }

    /// Sum of all components.
    #[inline]
    pub fn total(&self) -> Duration {
        Duration::from_ps(self.0.iter().sum())
    }

    /// The components in their order, in picoseconds.
    #[inline]
    pub fn ps(&self) -> &[u64; FLASH_COMPONENTS] {
        &self.0
    }
}
