//! State of the dies, and of the blocks of a plane group, as text.

use std::fmt::{self, Write};

use wordline_kernel::Instant;
use wordline_nand::{DieId, PlaneGroupId};

use super::Base;

impl Base {
    /// Writes the tasks queued for the dies. `dies` limits the number of dies.
    pub(crate) fn describe(&self, now: Instant, dies: usize, out: &mut String) -> fmt::Result {
        let state = if self.life.read_only { "read-only" } else { "takes writes" };
        writeln!(out, "the device {state}")?;
        let busy = |die: &DieId| !self.flash.is_idle(*die);
        self.config
            .pools
            .all_dies()
            .filter(busy)
            .take(dies)
            .try_for_each(|die| self.describe_die(die, now, out))
    }

    fn describe_die(&self, die: DieId, now: Instant, out: &mut String) -> fmt::Result {
        let state = if self.flash.chips().is_idle(die) { "idle" } else { "busy" };
        writeln!(out, "die {}: {state}", die.0)?;
        for (class, number, first) in self.flash.waiting(die) {
            let block = self.config.pools.block_of_page(first.page);
            writeln!(
                out,
                "  {class}: {number}, the first is a {:?} ({:?}) of block {} ({:?}, {} valid, {} readers), {} old",
                first.operation,
                first.ticket,
                block.0,
                self.blocks.table().state(block),
                self.blocks.table().valid(block),
                self.blocks.table().readers(block),
                now - first.queued(),
            )?;
        }
        Ok(())
    }

    /// Free blocks and valid pages of a plane group, as text.
    pub(crate) fn describe_group(&self, row: PlaneGroupId) -> String {
        let Self { blocks, .. } = self;
        format!(
            "plane group {row}: {} free of {} good blocks, {} valid of at most {} pages",
            blocks.space().free(row),
            blocks.space().good(row),
            blocks.space().valid_in(row),
            blocks.space().limit(row),
        )
    }
}
