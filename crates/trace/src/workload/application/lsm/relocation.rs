//! Relocation of tables out of a zone that has deleted data and no room, as by the garbage collection of ZenFS.

use super::super::block_requests::RequestQueue;
use super::Store;
use super::space::Space;

/// A relocation in progress.
#[derive(Clone, Debug)]
pub struct Relocation {
    moved: Vec<MovedExtent>,
}

/// An extent that is read, and the extents to which it is written, in order.
#[derive(Clone, Debug)]
struct MovedExtent {
    from: (u32, u32),
    to: Vec<(u32, u32)>,
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
        for from in here {
            reads.read(from.0, from.1);
            let to = zones.allocate(class, from.1);
            to.iter().for_each(|(block, blocks)| writes.write(*block, *blocks));
            moved.push(MovedExtent { from, to });
        }
        asks.interleave(reads, writes);
        self.space.install(asks);
        self.relocation = Some(Relocation { moved });
        true
    }

    /// Ends a relocation: tables have their new extents, and the zone is reset.
    pub(super) fn finish_relocation(&mut self, relocation: Relocation, asks: &mut RequestQueue) {
        let found = |run: &(u32, u32)| relocation.moved.iter().find(|moved| moved.from == *run);
        for table in self.levels[1..].iter_mut().flatten() {
            if table.runs.iter().any(|run| found(run).is_some()) {
                let runs = table.runs.iter();
                table.runs =
                    runs.flat_map(|run| found(run).map_or(vec![*run], |moved| moved.to.clone())).collect();
            }
        }
        for MovedExtent { from, .. } in relocation.moved {
            self.space.free_later(from, self.discard, asks);
        }
        asks.wakes = true;
    }
}

#[cfg(test)]
impl Relocation {
    /// Extents to which tables are being written.
    pub fn extents(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.moved.iter().flat_map(|moved| &moved.to)
    }
}
