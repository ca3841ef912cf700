//! Engines that the writer and the front end use, borrowed together as one argument.

use wordline_device::TimeFactors;
use wordline_device::content::Content;
use wordline_device::times::WriteBack;
use wordline_flash::{FlashTime, Task};
use wordline_ftl::design::DesignContext;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{Ftl, Policies};
use wordline_kernel::{Instant, Schedule, Seed, state};
use wordline_nand::{CommandCompletion, DieId, PlaneGroupId};

use crate::cache::Cache;
use crate::config::{Config, DeviceFile};
use crate::event::Event;
use crate::policies::BufferPolicies;

/// Engines below the writer and the front end.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) ftl: Ftl,
    pub(crate) cache: Cache,
    /// Latency breakdown of the reads and programs that destaged the buffer, for each pool.
    pub(crate) written_back: Vec<WriteBack>,
}

state!(Core { values { written_back } parts { ftl, cache } fixed { config } });

impl Core {
    /// Engines of an empty device.
    pub fn new(config: Config, policies: Policies, buffer: BufferPolicies, seed: Seed) -> Self {
        let BufferPolicies { mut destage, eviction, read_eviction } = buffer;
        destage.set_random(seed.stream("ssd.destage", 0));
        Self {
            cache: Cache::new(&config, [eviction, read_eviction], destage),
            ftl: Ftl::new(config.ftl.clone(), policies, seed),
            written_back: vec![WriteBack::default(); config.ftl.pools.count()],
            config,
        }
    }

    /// Starts the next command of an idle die.
    #[inline]
    pub(crate) fn start_die(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.ftl.flash.start(die, &self.ftl.policies, &mut calendar.within(Event::Flash));
    }

    /// Starts the dies that were left to the end of the event.
    #[inline(always)]
    pub(crate) fn start_dies(&mut self, calendar: &mut impl Schedule<Event>) {
        self.ftl.flash.start_waiting(&self.ftl.policies, &mut calendar.within(Event::Flash));
    }

    /// Notifies designs of a completed program.
    #[inline]
    pub(crate) fn notify_programmed(&mut self, task: &Task, done: &CommandCompletion, failed: bool) {
        let Ftl { policies, flash, blocks, .. } = &mut self.ftl;
        policies.designs.notify_programmed(task, done, failed, DesignContext { flash, blocks });
    }

    /// Whether designs must be notified at the end of an event.
    #[inline(always)]
    pub(crate) fn has_notifications(&self) -> bool {
        self.ftl.policies.designs.has_notifications(self.cache.level(), &self.ftl.blocks)
    }

    /// Notifies designs at the end of an event.
    #[inline(never)]
    pub(crate) fn notify_end_of_event(&mut self) {
        let Ftl { policies, flash, blocks, .. } = &mut self.ftl;
        policies.designs.notify_end_of_event(self.cache.level(), DesignContext { flash, blocks });
    }

    /// Contents of a page that a read would find, one for each sector, unless one is lost.
    pub(crate) fn contents_of(&self, page: LogicalPage) -> Vec<Content> {
        let Ftl { page_size, contents, map, flash, .. } = &self.ftl;
        let at = |sector| self.cache.content_at(page, sector, contents.as_deref(), map, flash);
        (0..page_size.sectors() as u32).map(at).collect()
    }

    /// Records the latency breakdown of a read-modify-write read.
    pub(crate) fn note_rmw_time(&mut self, task: &Task, done: &CommandCompletion, now: Instant) {
        let spent = self.ftl.flash.spent(task, done, now);
        self.written_back[self.config.ftl.pools.number_of(done.die)].fills.add(&spent);
    }

    /// Records and returns the latency breakdown of a host program.
    pub(crate) fn note_program_time(
        &mut self,
        row: PlaneGroupId,
        task: &Task,
        done: &CommandCompletion,
        now: Instant,
    ) -> FlashTime {
        let spent = self.ftl.flash.spent(task, done, now);
        self.written_back[self.config.ftl.pools.number_of_group(row)].programs.add(&spent);
        spent
    }

    /// Scales the times of flash and firmware by these factors, from the next commands on.
    pub(crate) fn change_times(&mut self, factors: &TimeFactors) {
        self.ftl.flash.change_times(&factors.of_chips(), factors.controller);
        let DeviceFile { front, buffer, .. } = &mut self.config.file;
        for time in [&mut front.command_time, &mut front.command_interval, &mut buffer.access_time] {
            *time = factors.controller.of(*time);
        }
    }

    /// Checks the map against the flash, and the cache against the map; panics if they differ.
    pub fn audit_map(&self) {
        self.ftl.audit_map();
        self.cache.audit(&self.ftl.map);
    }
}
