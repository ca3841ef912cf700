//! Cleaning: the steps of the collector as commands, and what it may do while the host rests.

pub mod collector;
pub mod config;
mod idle;
mod steps;

use wordline_kernel::state;
use wordline_nand::Stamp;

use crate::config::Config;
use crate::reclaim::collector::Collector;
use idle::Rest;

/// Who empties blocks.
pub(crate) struct Reclaim {
    pub(crate) collector: Collector,
    /// Whether the collector steps aside for the host.
    pub(crate) preemptible: bool,
    /// Blocks in SLC mode that stay in a row while the host is at work.
    pub(crate) keep_cached: u32,
    /// Whether preconditioning has left victims half cleaned: the collector goes on with them when the host writes.
    pub(crate) left_at_work: bool,
    /// Whether the collector begins no step, because preconditioning is over.
    pub(crate) is_paused: bool,
    pub(crate) rest: Rest,
    /// Pages that were read of victims that leave their pool.
    pub(crate) leaving: Vec<Stamp>,
}

state!(Reclaim {
    values { left_at_work, rest }
    parts { collector }
    fixed { preemptible, keep_cached, is_paused, leaving }
});

impl Reclaim {
    /// Nothing is being cleaned.
    pub(crate) fn new(config: &Config, collector: Collector) -> Self {
        Self {
            collector,
            preemptible: config.file.ftl.gc.preemptible,
            keep_cached: config.file.ftl.slc_cache.and_then(|cache| cache.fold_above).unwrap_or(u32::MAX),
            left_at_work: false,
            is_paused: false,
            rest: Rest::default(),
            leaving: Vec::new(),
        }
    }

    /// Forgets what it was doing, as when the power is cut.
    pub(crate) fn forget(&mut self) {
        self.collector.forget();
        self.rest = Rest::default();
    }
}
