//! Engines that the writer and the front end use, borrowed together as one argument.

use wordline_device::TimeFactors;
use wordline_ftl::Ftl;
use wordline_kernel::{Schedule, Seed, state};
use wordline_nand::DieId;

use crate::cache::Cache;
use crate::config::{Config, DeviceFile};
use crate::event::Event;
use crate::parts::Parts;

/// Engines below the writer and the front end.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) ftl: Ftl,
    pub(crate) cache: Cache,
}

state!(Core { parts { ftl, cache } fixed { config } });

impl Core {
    /// Engines of an empty device.
    pub fn new(config: Config, parts: Parts, seed: Seed) -> Self {
        let Parts { mut destage, eviction, read_eviction, ftl } = parts;
        destage.set_random(seed.stream("ssd.destage", 0));
        Self {
            cache: Cache::new(&config, [eviction, read_eviction], destage),
            ftl: Ftl::new(config.ftl.clone(), ftl, seed),
            config,
        }
    }

    /// Starts the next command of an idle die.
    #[inline]
    pub(crate) fn start_die(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.ftl.base.start_die(die, &mut calendar.within(Event::Flash));
    }

    /// Scales the times of flash and firmware by these factors, from the next commands on.
    pub(crate) fn change_times(&mut self, factors: &TimeFactors) {
        self.ftl.base.change_times(factors);
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
