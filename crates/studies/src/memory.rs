//! Memory of runs, and a memory budget that concurrent runs share.

use std::sync::{Condvar, Mutex, PoisonError};

use wordline_experiments::Point;
use wordline_kernel::Bytes;

/// Bytes per logical page: its entry in the L2P map, and its entry for data verification. Same values as in
/// `wordline config explain`.
const BYTES_PER_LOGICAL_PAGE: u64 = 8;

/// Bytes per physical page that can hold a logical page: its data tag.
const BYTES_PER_PHYSICAL_PAGE: u64 = 8;

/// Bytes of a run in addition to its tables. Chosen: whole programs need 20 to 46 MiB more than their tables,
/// of which 20 MiB are the program itself.
const BYTES_PER_RUN: u64 = 16 << 20;

/// Memory that a run needs, computed from the tables of its device.
pub(crate) fn memory(point: &Point) -> Bytes {
    let shape = point.device.shape();
    let page = shape.logical_page.0.max(1);
    let flash: u64 = point.device.chips().iter().map(|chips| chips.bytes).sum();
    let tables = shape.capacity.0 / page * BYTES_PER_LOGICAL_PAGE + flash / page * BYTES_PER_PHYSICAL_PAGE;
    Bytes((BYTES_PER_RUN + tables).next_multiple_of(1 << 20))
}

/// A memory budget, from which runs reserve memory.
pub(crate) struct MemoryBudget {
    /// Bytes that are not reserved; `None` if the budget is unlimited.
    left: Option<Mutex<u64>>,
    freed: Condvar,
}

/// A reservation. It ends when it is dropped.
pub(crate) struct MemoryReservation<'a> {
    room: &'a MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    pub(crate) fn of(budget: Option<Bytes>) -> Self {
        Self { left: budget.map(|budget| Mutex::new(budget.0)), freed: Condvar::new() }
    }

    /// Reserves memory, and blocks until it is available. A request for more than the whole budget reserves
    /// the whole budget.
    pub(crate) fn take(&self, size: Bytes) -> MemoryReservation<'_> {
        if let Some(left) = &self.left {
            let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
            while *left < size.0 {
                left = self.freed.wait(left).unwrap_or_else(PoisonError::into_inner);
            }
            *left -= size.0;
        }
        MemoryReservation { room: self, bytes: size.0 }
    }
}

impl Drop for MemoryReservation<'_> {
    fn drop(&mut self) {
        if let Some(left) = &self.room.left {
            *left.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
            self.room.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn no_more_is_taken_at_once_than_there_is() {
        let room = MemoryBudget::of(Some(Bytes(10)));
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for size in [6, 4, 3, 7, 10, 1] {
                let (room, now, most) = (&room, &now, &most);
                scope.spawn(move || {
                    let _held = room.take(Bytes(size));
                    most.fetch_max(now.fetch_add(size, Ordering::SeqCst) + size, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    now.fetch_sub(size, Ordering::SeqCst);
                });
            }
        });
        assert!((1..=10).contains(&most.into_inner()));
        drop(MemoryBudget::of(None).take(Bytes(u64::MAX)));
    }
}
