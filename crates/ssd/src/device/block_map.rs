//! The steps of a block map in no time, for preconditioning.

use wordline_kernel::Stream;
use wordline_nand::Stamp;

use super::Device;
use crate::base::Base;
use crate::config::Config;
use crate::device::precondition::{Steady, Watched};
use crate::map::block_map::{ByBlock, Step};
use crate::map::{LogicalPage, Moved};
use crate::parts::Parts;
use crate::reclaim::erase_untimed;

/// Pages that are overwritten for each replacement block before the device counts as steady, and again while its write
/// amplification is taken. Chosen: one would do where no two writes meet in a logical block.
const ROUNDS: u64 = 8;

/// Where there is a block map, all pages of a logical block have the home that the placement gives it.
pub(super) fn with_homes(parts: Parts, config: &Config) -> Parts {
    match config.file.ftl.mapping.block {
        Some(_) => Parts { placement: Box::new(ByBlock::new(parts.placement, config)), ..parts },
        None => parts,
    }
}

impl Device {
    /// Writes a whole page in no time, and what must be copied for it. Returns how many locations were programmed.
    pub(super) fn write_mapped_untimed(&mut self, page: LogicalPage) -> u64 {
        let row = self.core.base.policies.placement.home(page.0).unwrap_or(0);
        let mut programmed = 0;
        loop {
            let step = self.core.map.next_step(row, Some(page), &mut self.core.base);
            let Base { space, flash, .. } = &mut self.core.base;
            match step.expect("a device that was checked has room for its pages") {
                Step::Write { to } => {
                    let version = self.core.map.written(page);
                    self.core.base.flash.put(to, Stamp { logical: page.0, version });
                    self.core.map.install(page, to, &mut self.core.base);
                    self.core.base.space.program_done(to);
                    return programmed + 1;
                }
                Step::Read { from } => self.core.map.hold(row, Moved { stamp: flash.stamp(from), from }),
                Step::Program { to } => {
                    let held = self.core.map.by_block().and_then(|map| map.held(row).first());
                    let stamp = held.map_or(Stamp::PADDING, |moved| moved.stamp);
                    self.core.base.flash.put(to, stamp);
                    self.core.map.copied(row, to, &mut self.core.base);
                    programmed += 1;
                }
                Step::Erase { block } => erase_untimed(block, space, flash),
                Step::Retire { .. } => unreachable!("nothing fails before the run"),
            }
        }
    }

    /// Fills the device and overwrites pages of it at random, until the replacement blocks are what they are under such
    /// writes.
    pub(super) fn fill_steady_mapped(
        &mut self,
        mut random: Stream,
        watched: &mut Watched<'_>,
    ) -> Option<Steady> {
        self.fill_watched(1.0, watched).then_some(())?;
        let replacements = self.core.base.config.file.ftl.mapping.block.map_or(0, |block| block.replacements);
        let writes = ROUNDS * u64::from(replacements) * u64::from(self.core.base.config.pools.rows());
        watched.overwrites(2 * writes);
        let mut write = |_| {
            let page = LogicalPage(random.below(self.core.base.config.logical_pages.into()) as u32);
            let programmed = self.write_mapped_untimed(page);
            watched.wrote(1).then_some(programmed)
        };
        (0..writes).map(&mut write).sum::<Option<u64>>()?;
        let programmed = (0..writes).map(write).sum::<Option<u64>>()?;
        let amplification = programmed as f64 / writes.max(1) as f64;
        Some(Steady { overwritten: 2 * writes, amplification })
    }
}
