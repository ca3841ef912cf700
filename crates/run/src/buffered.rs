//! Corrects the host's written bytes for a change in write-buffer occupancy during a run.

use wordline_device::Gauges;
use wordline_kernel::Bytes;

use crate::quantity::Quantity;

/// A note reports the change in buffer occupancy above this fraction of the pages programmed for the host.
/// Chosen: smaller than the variation of write amplification between seeds.
const REPORTED_CHANGE: f64 = 0.02;

/// Logical pages in the write buffer at the beginning and at the end of a run, and the pages programmed for
/// the host in between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferBalance {
    held: [u64; 2],
    programmed: u64,
}

impl BufferBalance {
    /// The balance between two readings of a device. `page` is the page size; `host_bytes` were programmed
    /// for the host between the readings.
    pub fn between(readings: [&Gauges; 2], page: Bytes, host_bytes: u64) -> Self {
        Self { held: readings.map(|gauges| gauges.buffered_pages), programmed: host_bytes / page.0.max(1) }
    }

    /// Pages that entered the buffer and were not overwritten there: the programmed pages plus the growth of
    /// occupancy.
    fn accepted_pages(self) -> u64 {
        let [before, after] = self.held;
        (self.programmed + after).saturating_sub(before)
    }

    /// The part of the host's `written` bytes that the programmed pages account for. Every page that entered
    /// the buffer counts the same. Returns all of `written` if nothing was programmed for the host.
    pub fn host_bytes_programmed(self, written: u64) -> u64 {
        let taken_in = self.accepted_pages();
        if self.programmed == 0 || taken_in == 0 {
            return written;
        }
        (u128::from(written) * u128::from(self.programmed) / u128::from(taken_in)) as u64
    }

    /// A note for the user, if the occupancy changed by more than `REPORTED_CHANGE`.
    pub fn note(self) -> Option<String> {
        let [before, after] = self.held;
        let change = before.abs_diff(after);
        (self.programmed > 0 && change as f64 > REPORTED_CHANGE * self.programmed as f64).then(|| {
            format!(
                "the write buffer ended with {} {} pages than it began with: write amplification and lifetime refer to the data programmed",
                Quantity::Count(change),
                if after > before { "more" } else { "fewer" }
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffered(held: [u64; 2], programmed: u64) -> BufferBalance {
        let readings = held.map(|buffered_pages| Gauges { buffered_pages, ..Gauges::default() });
        BufferBalance::between([&readings[0], &readings[1]], Bytes(4096), programmed * 4096)
    }

    #[test]
    fn what_a_buffer_took_in_is_not_held_against_the_flash() {
        assert_eq!(buffered([100, 100], 1000).host_bytes_programmed(8_000), 8_000);
        assert_eq!(buffered([0, 1000], 1000).host_bytes_programmed(8_000), 4_000);
        assert_eq!(buffered([500, 0], 1000).host_bytes_programmed(8_000), 16_000);
    }

    #[test]
    fn where_nothing_was_programmed_all_counts() {
        assert_eq!(buffered([0, 1000], 0).host_bytes_programmed(8_000), 8_000);
        assert_eq!(buffered([1000, 0], 0).note(), None);
    }

    #[test]
    fn a_change_of_the_buffer_that_matters_is_told() {
        assert_eq!(buffered([0, 20], 1000).note(), None);
        let note = buffered([0, 21], 1000).note().expect("more than two hundredths");
        assert!(note.contains("21 more pages"), "{note}");
        assert!(buffered([50, 0], 1000).note().is_some_and(|note| note.contains("50 fewer pages")));
    }
}
