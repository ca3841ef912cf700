//! Relocation of tables out of a zone that has deleted data and no room, as by the garbage collection of ZenFS.

use super::super::block_requests::RequestQueue;
use super::Store;
use super::space::Space;

/// A relocation in progress.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Blocks that are read, and the extents to which they are written, in order.
    moved: Vec<((u32, u32), Vec<(u32, u32)>)>,
}

impl Store {
    /// Begins to relocate the tables of the zone with the least data. Returns whether there is such a zone.
    pub(super) fn begin_relocation(&mut self, asks: &mut RequestQueue) -> bool {
        let Space::Zones(zones) = &mut self.space else { return false };
        let Some((class, blocks)) = zones.victim() else { return false };
        let runs = self.levels[1..].iter().flatten().flat_map(|table| &table.runs);
        let here: Vec<(u32, u32)> = runs.filter(|run| blocks.contains(&run.0)).copied().collect();
        let count = here.iter().map(|run| run.1).sum();
        if count == 0 || !zones.has_room(class, count, 0) {
            return false;
        }
        let (mut reads, mut writes) = (RequestQueue::default(), RequestQueue::default());
        let mut moved = Vec::new();
        for run in here {
            reads.read(run.0, run.1);
            let extents = zones.allocate(class, run.1);
            extents.iter().for_each(|(block, blocks)| writes.write(*block, *blocks));
            moved.push((run, extents));
        }
        asks.interleave(reads, writes);
        self.space.install(asks);
        self.relocation = Some(Relocation { moved });
        true
    }

    /// Ends a relocation: tables have their new extents, and the zone is reset.
    pub(super) fn finish_relocation(&mut self, relocation: Relocation, asks: &mut RequestQueue) {
        for table in self.levels[1..].iter_mut().flatten() {
            if table.runs.iter().any(|run| relocation.moved.iter().any(|(from, _)| from == run)) {
                let found = |run: &(u32, u32)| relocation.moved.iter().find(|(from, _)| from == run);
                let runs = table.runs.iter().flat_map(|run| match found(run) {
                    Some((_, to)) => to.clone(),
                    None => vec![*run],
                });
                table.runs = runs.collect();
            }
        }
        for (run, _) in relocation.moved {
            self.space.free_later(run, self.discard, asks);
        }
        asks.wakes = true;
    }
}

#[cfg(test)]
impl Relocation {
    /// Extents to which tables are being written.
    pub fn extents(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.moved.iter().flat_map(|(_, to)| to)
    }
}
