//! The dispatcher between the two kinds of chips (Centaur, section 5.1 and algorithm 1).

use wordline_device::SECTOR;
use wordline_ftl::policy::router::HostPage;
use wordline_kernel::{Bytes, state};

use super::configured::CentaurFile;
use super::pools::{LARGE, SMALL, spent};

/// Sends the host data of a unit to one of two pools by their size. The size limit is called the *dispatch
/// condition*. It is adjusted so that the pools wear equally.
pub struct Dispatcher {
    /// The current dispatch condition in bytes (the paper's DC).
    condition: u64,
    /// Pieces dispatched since the last adjustment.
    dispatched: u32,
    least: u64,
    most: u64,
    step: u64,
    adjust_every: u32,
}

state!(Dispatcher { values { condition, dispatched } fixed { least, most, step, adjust_every } });

impl Dispatcher {
    /// A dispatcher in its initial state. Expects a checked `file`.
    pub fn new(file: &CentaurFile) -> Self {
        let CentaurFile { condition, least, most, step, adjust_every, .. } = *file;
        Self {
            condition: condition.0,
            dispatched: 0,
            least: least.0,
            most: most.0,
            step: step.0,
            adjust_every,
        }
    }

    /// The dispatch condition: pieces of at least this many bytes go to the first pool.
    pub fn condition(&self) -> Bytes {
        Bytes(self.condition)
    }

    /// Adjusts the condition towards equal wear.
    fn adjust(&mut self, [of_2d, of_3d]: [f64; 2]) {
        // The condition stays in its range, also if the step does not divide the range.
        self.condition = if of_2d < of_3d {
            (self.condition + self.step).min(self.most)
        } else {
            self.condition.saturating_sub(self.step).max(self.least)
        };
    }
}

impl Dispatcher {
    /// The pool that a piece of a unit goes to (algorithm 1).
    pub fn pool(&mut self, piece: &HostPage<'_>) -> u8 {
        self.dispatched += 1;
        if self.adjust_every <= self.dispatched {
            self.adjust(spent(piece.pools));
            self.dispatched = 0;
        }
        if self.condition <= SECTOR.0 * u64::from(piece.sectors) { LARGE } else { SMALL }
    }
}
