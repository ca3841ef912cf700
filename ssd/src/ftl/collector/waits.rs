//! What the collector waits for.

use wordline_nand::RowBlockId;

use super::Collector;
use crate::ftl::blocks::Blocks;
use crate::policy::placement::Row;

impl Collector {
    /// What it does in a row, in words.
    pub fn tell(&self, row: Row) -> String {
        let state = &self.rows[row as usize];
        let (active, stuck, lost) = (state.active, state.stuck, state.lost);
        format!(
            "collector active {active}, stuck {stuck}, row lost {lost}, {} commands under way, victim {:?}, waits to erase {:?}, \
             holds {} pages, gained {}, {} steps left",
            state.commands,
            state.victim.map(|(block, place)| (block.0, place)),
            state.read.iter().map(|block| block.0).collect::<Vec<_>>(),
            state.staged(),
            state.regained,
            state.steps_left,
        )
    }

    /// The victims of a row that only reads keep from being erased.
    pub fn waits_for_readers(&self, row: Row, blocks: &Blocks) -> impl Iterator<Item = RowBlockId> {
        let read = &self.rows[row as usize].read;
        read.iter().copied().filter(|block| blocks.valid(*block) == 0 && !blocks.is_clean(*block))
    }
}
