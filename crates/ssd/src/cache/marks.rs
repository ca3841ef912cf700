//! How full the write buffer may be.

use wordline_kernel::state;

use crate::config::Config;

/// How full the buffer may be before pages leave it: in pages, or in written sectors where these are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    high: u32,
    low: u32,
    /// Pages that may be on their way to a program unit.
    pub(crate) most: u32,
    /// Writing out has begun and did not come to the low mark yet.
    begun: bool,
}

state!(Marks { values { begun } fixed { high, low, most } });

impl Marks {
    pub fn new(config: &Config) -> Self {
        let file = &config.file.buffer;
        let room = f64::from(file.room().unwrap_or(config.buffer_pages));
        let (high, low) = (file.flush_above, file.flush_to.unwrap_or(file.flush_above));
        let (high, low) = ((room * high) as u32, (room * low) as u32);
        // Two program units a row keep every die busy while the next pages are read and gathered.
        let rows = config.pools.all_rows();
        let most = 2 * rows.map(|row| config.pools.per_program(row)).sum::<u32>();
        Self { high, low, most, begun: false }
    }

    /// Whether pages leave when this much of the buffer is not being programmed.
    #[inline]
    pub fn are_passed(&mut self, full: u32) -> bool {
        self.begun = full > if self.begun { self.low } else { self.high };
        self.begun
    }
}
