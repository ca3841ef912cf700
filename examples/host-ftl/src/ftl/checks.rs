//! Invariants of the FTL, the check of a restored state, and the report of waiting commands.

use wordline_device::PhysicalDevice;

use super::{Ftl, NONE};

impl<D: PhysicalDevice> Ftl<D> {
    /// Checks the L2P map against valid pages and commands in flight.
    pub(crate) fn audit(&self) {
        let mapped = self.map.iter().filter(|place| **place != NONE);
        assert!(mapped.clone().all(|place| self.map[self.owners[*place as usize] as usize] == *place));
        assert_eq!(self.valid.iter().sum::<u32>() as usize, mapped.count(), "what is mapped is valid");
        let in_flight: usize = self.sent.values().map(|sent| sent.places.len()).sum();
        assert_eq!(
            self.busy.iter().sum::<u32>() as usize,
            in_flight,
            "lines are busy with what is in flight"
        );
        let waiting = self.buffer.values().filter(|page| page.waits).count();
        assert_eq!(waiting, self.queue.len(), "what waits is queued");
    }

    /// Checks that a restored state is consistent.
    pub(crate) fn check_loaded(&self) -> Result<(), String> {
        let (places, pages) = (self.owners.len() as u32, self.map.len() as u32);
        let is_there = self.map.iter().all(|place| *place == NONE || *place < places)
            && self.owners.iter().all(|page| *page == NONE || *page < pages)
            && self.sent.values().flat_map(|sent| &sent.places).all(|place| *place < places)
            && self.queue.iter().all(|page| self.buffer.contains_key(page))
            && self
                .free
                .iter()
                .chain(self.open.iter().chain(&self.victim).map(|(line, _)| line))
                .all(|line| (*line as usize) < self.valid.len());
        if is_there { Ok(()) } else { Err("pages, locations or lines that do not exist".into()) }
    }

    /// The operations in progress, for a stall report.
    pub(crate) fn describe(&self) -> String {
        format!(
            "buffer: {} pages, {} of them wait; {} free lines; {:?} is cleaned; {} commands under way\n",
            self.buffer.len(),
            self.queue.len(),
            self.free.len(),
            self.victim.map(|(line, _)| line),
            self.sent.len()
        )
    }
}
