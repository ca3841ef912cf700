//! Watermarks of the write buffer.

use wordline_kernel::state;

use crate::config::Config;

/// Watermarks of the buffer, in pages, or in written sectors if sectors are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watermarks {
    high: u32,
    low: u32,
    /// Limit of pages that wait for a program unit.
    pub(crate) most: u32,
    /// Whether destaging has begun and the low watermark is not reached yet.
    begun: bool,
}

state!(Watermarks { values { begun } fixed { high, low, most } });

impl Watermarks {
    pub fn new(config: &Config) -> Self {
        let file = &config.file.buffer;
        let room = f64::from(file.room().unwrap_or(config.buffer_pages));
        let (high, low) = (file.flush_above, file.flush_to.unwrap_or(file.flush_above));
        let (high, low) = ((room * high) as u32, (room * low) as u32);
        // Two program units for each plane group keep every die busy while the next pages are read and
        // collected.
        let rows = config.ftl.pools.all_groups();
        let most = 2 * rows.map(|row| config.ftl.pools.per_program(row)).sum::<u32>();
        Self { high, low, most, begun: false }
    }

    /// Whether pages must be destaged. `full` is the occupancy of the buffer, without pages that are being
    /// programmed.
    #[inline]
    pub fn is_exceeded(&mut self, full: u32) -> bool {
        self.begun = full > if self.begun { self.low } else { self.high };
        self.begun
    }
}
