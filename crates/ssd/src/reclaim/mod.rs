//! Garbage collection: the steps of the collector as commands, and what it may do while the host is idle.

pub mod collector;
pub mod config;
mod idle;
mod job;
mod row;
mod sources;
mod steps;
mod victims;

use wordline_kernel::state;
use wordline_nand::Stamp;

use crate::config::Config;
use crate::reclaim::collector::Collector;
use idle::Rest;

/// Garbage collection: it moves valid pages out of blocks and erases these.
pub(crate) struct Reclaim {
    collector: Collector,
    /// Whether the collector waits while the host wants the die.
    preemptible: bool,
    /// Blocks in SLC mode that stay in a row while the host is at work.
    keep_cached: u32,
    /// Whether preconditioning left victims half cleaned; the collector goes on with them at the first write of the host.
    left_at_work: bool,
    /// Whether the collector begins no step, because ageing is coming to its end.
    is_paused: bool,
    rest: Rest,
    /// Pages that were read from victims whose pages go to another pool; the writer takes them.
    leaving: Vec<Stamp>,
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

    /// What plans the steps.
    #[inline]
    pub(crate) fn collector(&self) -> &Collector {
        &self.collector
    }

    /// The same, to be told of what became of a step.
    #[inline]
    pub(crate) fn collector_mut(&mut self) -> &mut Collector {
        &mut self.collector
    }

    /// Whether the collector steps aside for the host.
    #[inline]
    pub(crate) fn steps_aside(&self) -> bool {
        self.preemptible
    }

    /// Begins no step from now on; what is left of the victims at work is for when the host writes.
    pub(crate) fn pause(&mut self) {
        (self.is_paused, self.left_at_work) = (true, true);
    }

    /// Begins steps again.
    pub(crate) fn go_on(&mut self) {
        self.is_paused = false;
    }

    /// Victims are left half cleaned, for when the host writes.
    pub(crate) fn leave_at_work(&mut self) {
        self.left_at_work = true;
    }

    /// Whether victims were left half cleaned; told once.
    #[inline]
    pub(crate) fn take_work_left(&mut self) -> bool {
        std::mem::take(&mut self.left_at_work)
    }

    /// The pages that were read of victims that leave their pool; the list comes [back](Self::take_back) for its room.
    #[inline]
    pub(crate) fn take_leaving(&mut self) -> Option<Vec<Stamp>> {
        (!self.leaving.is_empty()).then(|| std::mem::take(&mut self.leaving))
    }

    /// The list of pages that left their pool comes back, empty.
    pub(crate) fn take_back(&mut self, leaving: Vec<Stamp>) {
        self.leaving = leaving;
    }
}
