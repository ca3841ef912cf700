//! The power is cut, and comes back: what each engine forgets, and in which order they are rebuilt ([`recovery`](crate::recovery)).

use wordline_kernel::{Instant, Schedule};
use wordline_nand::{AtCut, DieId, Operation, TornBy};

use super::Device;
use crate::base::Base;
use crate::command::Command;
use crate::design::{Observes, Seen};
use crate::engines::Core;
use crate::event::Event;
use crate::flash::{Task, Ticket};
use crate::recovery::{Recovered, Scan};

/// What a power cut found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Commands that were not answered and never will be.
    pub unanswered: Vec<Command>,
    /// Programs and erases that it stopped.
    pub torn: TornBy,
}

/// Whether a task programs pages.
fn programs(task: &Task) -> bool {
    matches!(task.operation, Operation::Program | Operation::Copyback { .. })
}

impl Device {
    /// Cuts the power at `now`. The caller forgets all events of this device; it takes no command until it has
    /// [recovered](Self::begin_recovery).
    pub(super) fn cut_power(&mut self, now: Instant) -> PowerCut {
        let at_cut = match self.core.base.is_protected() {
            true => AtCut::Finished,
            false => self.core.base.config.file.ftl.recovery.programs_at_cut.into(),
        };
        let unanswered = self.front.forget(&self.core.base.config);
        let cut = PowerCut { unanswered, torn: self.cut_flash(now, at_cut) };
        self.core.base.digest.add(now.ps());
        self.core.cache.save_buffer(&self.core.base);
        let is_protected = self.core.base.is_protected();
        if let Some(contents) = &mut self.core.base.contents {
            contents.forget(is_protected);
        }
        if self.core.base.flash.asks_tuner() {
            self.core.base.policies.tuner.forget();
        }
        self.core.base.policies.designs.note_time(now);
        self.core.base.observe(Observes::POWER_LOST, |_| Seen::PowerLost);
        self.core.map.forget();
        self.core.cache.forget(&self.core.base.config);
        self.core.reclaim.forget();
        self.writer.forget();
        self.recovery.cut(&self.core.base.config.pools);
        cut
    }

    /// Cuts the power of the flash. Programs that were counted when their unit was formed and have not happened count no more; those
    /// of a die that has failed would have, and count.
    fn cut_flash(&mut self, now: Instant, at_cut: AtCut) -> TornBy {
        let Core { base, map, reclaim, .. } = &mut self.core;
        let (Base { flash, totals, config, .. }, writer) = (base, &self.writer);
        flash.cut_power(now, at_cut, |task, chips| {
            let locations = &config.pools.of_location(task.location).locations;
            let mut carried = 0;
            let (count, filled) = match task.ticket {
                Ticket::HostUnit(row) => {
                    let counted = writer.counted(row);
                    carried = counted.carried;
                    (&mut totals.host_programs, counted.host)
                }
                Ticket::Reclaim(row) if programs(task) => {
                    let unit = match map.by_block() {
                        Some(map) => map.held(row),
                        None => reclaim.unit(row),
                    };
                    (&mut totals.gc_programs, unit.len() as u64)
                }
                Ticket::TableUnit(row) => (&mut totals.translation_programs, writer.counted(row).data),
                _ => return,
            };
            let die = config.pools.die_of(task.location);
            if !chips.is_programmed(task.location) && !chips.is_dead(die) {
                if matches!(task.operation, Operation::Copyback { .. }) {
                    totals.gc_copied -= filled;
                }
                let is_slc = chips.is_slc(locations.block_of(task.location));
                let planes = config.pools.of_location(task.location).geometry.planes_per_row;
                let slc_unit = locations.of_pages_side_by_side(planes);
                let unit = u64::from(if is_slc { slc_unit } else { locations.per_program });
                *count -= filled;
                let of_host = matches!(task.ticket, Ticket::HostUnit(_));
                totals.slc_programs -= if is_slc && of_host { filled } else { 0 };
                totals.unit_programs -= carried;
                totals.padding -= unit - filled - carried;
            }
        })
    }

    /// What the last recovery took and found.
    pub fn recovery(&self) -> Option<&Recovered> {
        self.recovery.last()
    }

    /// The power is back: reads the stamps of all pages, the dies side by side, and puts the tables together. The
    /// device is ready when that is over.
    pub(super) fn begin_recovery(&mut self, calendar: &mut impl Schedule<Event>) {
        self.recovery.begin(&mut self.core, &mut self.writer, calendar.now());
        for die in self.core.base.config.pools.all_dies() {
            self.scan_on(die, calendar);
        }
    }

    /// The scan of a die goes on; when that of all is over, the device does.
    pub(super) fn scan_on(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if let Some(scan) = self.recovery.scan_on(die, &mut self.core, calendar) {
            self.recovered(&scan, calendar);
        }
    }

    /// The scan is over: the device goes on.
    pub(super) fn recovered(&mut self, scan: &Scan, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.recovery.end(scan, now);
        self.core.base.digest.add(now.ps());
        self.writer.note_all_rows(&self.core);
        for row in self.core.base.config.pools.all_rows() {
            self.writer.collect_unless(false, row, &mut self.core, calendar);
        }
        self.front.note_rest(&mut self.core, calendar);
        // What was kept of the buffer goes to flash at once.
        while let Some(id) = self.core.cache.oldest() {
            self.writer.urge(id, &mut self.core, calendar);
        }
        self.front.set_timer(&self.core, calendar);
        self.front.pump(&mut self.core, &mut self.writer, calendar);
    }
}
