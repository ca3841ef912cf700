//! Steps of GC: the command of the next step of a plane group, for which GC, the map, blocks, flash and policies
//! work together.

use wordline_flash::Event;
use wordline_kernel::{Instant, Schedule};
use wordline_nand::PlaneGroupId;

use super::Ftl;
use crate::design::WordLineQueries;
use crate::gc::{Fold, GcLimits, Step};

impl Ftl {
    /// Queues the next GC step of a plane group. If `waits` is true, only a step that cannot wait for the host
    /// is queued. Returns whether the plane group may now accept other host programs than before.
    pub fn queue_gc_step(
        &mut self,
        waits: bool,
        row: PlaneGroupId,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let now = calendar.now();
        let Some(waits) = self.gc.must_wait(waits) else { return false };
        // An idle collector does not make the host wait.
        let Some(step) = self.next_gc_step(waits, row, now) else { return true };
        let Self { gc, map, totals, blocks, flash, policies, .. } = self;
        let die = match step {
            Step::Read { first, end, valid } => gc.queue_reads(row, first..end, valid, blocks, flash, now),
            Step::Program { stream } => {
                let unit = blocks.unit(row, stream);
                gc.count_program(row, unit, blocks, totals);
                let first = blocks.take(row, stream, unit, &mut WordLineQueries { flash, policies });
                if let Some((block, mode)) = blocks.mode_of_program(row, first) {
                    flash.set_mode(block, mode);
                }
                map.note_copy(row, gc.first_source(row), first, (&*blocks, &*flash));
                gc.queue_program(row, first, unit, blocks, flash, now)
            }
            Step::Copyback { from } => {
                let unit = blocks.pools().per_program(row);
                let stream = gc.stage_unit(row, from, unit, blocks, flash, policies);
                totals.gc_programs += u64::from(unit);
                totals.gc_copied += u64::from(unit);
                let stream = blocks.streams().gc(stream);
                let to = blocks.take(row, stream, unit, &mut WordLineQueries { flash, policies });
                map.note_copy(row, from, to, (&*blocks, &*flash));
                flash.copyback(now, gc.ticket(row), from, to)
            }
            Step::Erase { block } => {
                totals.gc_empty_victims += gc.take_empty_victims();
                flash.erase(now, gc.ticket(row), block)
            }
            Step::QueryRelocator | Step::Retire { .. } => unreachable!("{step:?} takes no time"),
        };
        flash.start(die, policies, calendar);
        matches!(step, Step::Program { .. } | Step::Copyback { .. })
    }

    /// Next GC step of a plane group; `None` if there is nothing to do or a step is in progress. If GC has no
    /// space for the pages of a victim, the device becomes read-only.
    #[inline(always)]
    fn next_gc_step(&mut self, waits: bool, row: PlaneGroupId, now: Instant) -> Option<Step> {
        let Self { gc, health, blocks, flash, policies, .. } = self;
        if flash.gc_passes_reads() {
            gc.inherit_priority(row, blocks, flash);
        }
        let leave = match policies.has_background() || Fold::is_in(row, blocks) {
            true => {
                let rests = !health.read_only && gc.is_host_idle(now, policies);
                gc.limits(row, waits, rests, blocks, flash, policies)
            }
            false => GcLimits { waits, ..GcLimits::REQUIRED },
        };
        if blocks.pool_of(row).is_over_limit() {
            gc.migrate_emptiest(row, blocks, flash);
        }
        let step = gc.next_step(row, leave, blocks, flash, policies);
        if step.is_none() {
            health.read_only |= gc.is_stuck(row);
        }
        step
    }
}
