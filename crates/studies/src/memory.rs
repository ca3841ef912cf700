//! The memory that runs take, and a budget of it that those that go at once share.

use std::sync::{Condvar, Mutex, PoisonError};

use wordline_experiments::Point;
use wordline_kernel::Bytes;

/// Bytes for each logical page: its place in the map, and the shadow that reads are checked against; as `wordline config explain` has them.
const A_LOGICAL_PAGE: u64 = 8;

/// Bytes for each place of flash that a logical page can be in: its stamp.
const A_PLACE: u64 = 8;

/// Bytes of a run beside its tables. Chosen: whole programs take 20 to 46 MiB more than their tables, 20 of which are the program itself.
const A_RUN: u64 = 16 << 20;

/// The memory that a run may take, by the tables of its device.
pub(crate) fn memory(point: &Point) -> Bytes {
    let shape = point.device.shape();
    let page = shape.logical_page.0.max(1);
    let flash: u64 = point.device.chips().iter().map(|chips| chips.bytes).sum();
    let tables = shape.capacity.0 / page * A_LOGICAL_PAGE + flash / page * A_PLACE;
    Bytes((A_RUN + tables).next_multiple_of(1 << 20))
}

/// A budget of memory, of which runs take their parts.
pub(crate) struct Room {
    /// None where it has no end.
    left: Option<Mutex<u64>>,
    freed: Condvar,
}

/// A part of the budget, until it is dropped.
pub(crate) struct Held<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    pub(crate) fn of(budget: Option<Bytes>) -> Self {
        Self { left: budget.map(|budget| Mutex::new(budget.0)), freed: Condvar::new() }
    }

    /// Takes a part, and waits until it is free. It is at most the whole.
    pub(crate) fn take(&self, size: Bytes) -> Held<'_> {
        if let Some(left) = &self.left {
            let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
            while *left < size.0 {
                left = self.freed.wait(left).unwrap_or_else(PoisonError::into_inner);
            }
            *left -= size.0;
        }
        Held { room: self, bytes: size.0 }
    }
}

impl Drop for Held<'_> {
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
        let room = Room::of(Some(Bytes(10)));
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
        drop(Room::of(None).take(Bytes(u64::MAX)));
    }
}
