//! Watchdog against a device that makes no progress.

use wordline_kernel::{Duration, Instant};

use crate::BlockDevice;
use crate::block_device::OldestCommand;

/// Detects a command that makes no progress while simulated time advances.
#[derive(Clone, Copy, Debug)]
pub struct Watchdog {
    limit: Duration,
    looked: Instant,
    oldest: Option<OldestCommand>,
}

impl Watchdog {
    /// Watchdog with the device's own [limit](BlockDevice::stall_limit).
    pub fn of(device: &impl BlockDevice, now: Instant) -> Self {
        Self::with_limit(device.stall_limit(), now)
    }

    /// Watchdog that allows a command to make no progress for `limit`.
    pub fn with_limit(limit: Duration, now: Instant) -> Self {
        Self { limit, looked: now, oldest: None }
    }

    /// Checks a device. It may be called at any time and any number of times.
    ///
    /// # Errors
    /// Text of [`BlockDevice::describe_outstanding`], if the oldest command has made no progress for the
    /// limit.
    pub fn look(&mut self, device: &impl BlockDevice, now: Instant) -> Result<(), String> {
        if now - self.looked < self.limit {
            return Ok(());
        }
        let oldest = device.oldest();
        if oldest.is_some() && oldest == self.oldest {
            let since = now - self.looked;
            return Err(format!(
                "no progress in {since} of simulated time\n{}",
                device.describe_outstanding(now)
            ));
        }
        (self.looked, self.oldest) = (now, oldest);
        Ok(())
    }
}
