//! A conventional SSD: the engines of the controller put together, and the loop that carries events to them.
//!
//! `service` gives the tasks that the dies finish or fail to the engine that issued them. Each engine states its own invariants,
//! pending work, and the check of a state that was read; `block_device` asks them.

mod block_device;
mod service;

use wordline_kernel::{Schedule, Seed, state};
use wordline_nand::{Chips, DieId};

use crate::base::Base;
use crate::cache::Cache;
use crate::command::Answer;
use crate::config::Config;
use crate::engines::Core;
use crate::front::Front;
use crate::map::{LogicalPage, Map};
use crate::parts::Parts;
use crate::reclaim::Reclaim;
use crate::recovery::Recovery;
use crate::writer::Writer;

pub use crate::block_device::PowerCut;
pub use crate::content::{Content, FILLED, MARK, NOTHING, ZEROES, parity, parity_of};
pub use crate::contents::{Contents, Mutant};
pub use crate::event::Event;
pub use crate::flash::{Behind, ByWork, DieCommand, DieWork};
pub use crate::front::{ABOVE, Above, Explained, Interval, Tail};
pub use crate::precondition::{Look, Steady, Written};
pub use crate::recovery::Recovered;
pub use crate::times::{CommandTimes, Component, Spent, Times, WriteBack};
pub use crate::totals::Totals;
pub use crate::watchdog::Watchdog;
pub use crate::writer::queue::units::Counts as SubRequestCounts;

/// An SSD.
pub struct Device {
    pub(crate) core: Core,
    pub(crate) writer: Writer,
    recovery: Recovery,
    pub(crate) front: Front,
}

state!(Device { parts { core, writer, recovery, front } });

impl Device {
    /// A new device, with nothing written and the policies that its configuration names.
    pub fn new(config: Config, seed: Seed) -> Self {
        let parts = Parts::of(&config);
        Self::with(config, parts, seed)
    }

    /// A new device, with nothing written and these policies.
    pub fn with(config: Config, parts: Parts, seed: Seed) -> Self {
        let (policies, parts) = parts.with_homes(&config).split(&config, seed);
        let mut base = Base::new(config, policies, parts.victim.needs(), seed);
        let Base { config, policies, space, .. } = &base;
        let map = Map::new(config, parts.mapper, &*policies.placement);
        let cache = Cache::new(config, [parts.eviction, parts.read_eviction], parts.destage);
        let reclaim = Reclaim::new(config, space.streams(), parts.victim, parts.wear, seed);
        let front = Front::new(config);
        map.check_life(&mut base);
        let mut writer = Writer::new(&base);
        let core = Core { base, map, cache, reclaim };
        writer.note_all_rows(&core);
        Self { core, writer, recovery: Recovery::default(), front }
    }

    /// At the end of an event designs hear of what is left to be told.
    #[inline(always)]
    fn tell_designs(&mut self) {
        let level = self.core.cache.level();
        if self.core.base.has_rest(level) {
            self.core.base.tell_rest(level);
        }
    }

    /// An event other than one of the chips.
    #[inline(never)]
    fn handle_own(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        match event {
            Event::Flash(event) => {
                let Base { flash, policies, .. } = &mut self.core.base;
                let done = flash.handle_own(event, policies, &mut calendar.within(Event::Flash));
                done.iter().for_each(|done| self.command_done(done, calendar));
            }
            Event::Begin(id) => self.front.begin(id, &mut self.core, &mut self.writer, calendar),
            Event::Answer(id) => self.front.answer(id, &mut self.core, &mut self.writer, calendar),
            Event::Link(id) => self.front.link_free(id, &mut self.core, &mut self.writer, calendar),
            Event::FlushTimer => self.front.write_out_on_time(&mut self.core, &mut self.writer, calendar),
            Event::Idle => self.front.host_rests(&mut self.core, &mut self.writer, calendar),
        }
    }

    /// The scan of a die goes on; when that of all is over, the device does.
    fn scan_on(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.recovery.scan_on(die, &mut self.core, calendar) {
            self.front.resume(&mut self.core, &mut self.writer, calendar);
        }
    }
}

/// Questions to a device beyond those to every block device: most of them return an engine.
impl Device {
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.core.base.config
    }

    /// The chips.
    pub fn chips(&self) -> &Chips {
        self.core.base.flash.chips()
    }

    /// The counts of the device.
    pub fn totals(&self) -> &Totals {
        &self.core.base.totals
    }

    /// Flash, block table, and what follows from both.
    pub fn base(&self) -> &Base {
        &self.core.base
    }

    /// The map.
    pub fn map(&self) -> &Map {
        &self.core.map
    }

    /// The writer, which has the pages on their way to flash.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The front end.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// The version of a logical page that a read would find now, counted from 1 with each write of the host; `None`
    /// if there is nothing to be found.
    pub fn version(&self, page: LogicalPage) -> Option<u32> {
        self.core.cache.version(page, &self.core.base, &self.core.map)
    }

    /// The version of a logical page that is in flash.
    pub fn version_in_flash(&self, page: LogicalPage) -> Option<u32> {
        self.core.map.version_in_flash(page, &self.core.base)
    }

    /// The contents of a page, sector by sector, where none is lost: those that a read would find.
    pub fn contents_of(&self, page: LogicalPage) -> Vec<Content> {
        self.core.cache.contents_of(page, &self.core.base, &self.core.map)
    }

    /// From now on the device knows what its sectors hold.
    pub fn keep_contents(&mut self, contents: Contents) {
        self.core.base.keep_contents(contents);
        self.core.map.watch_tables();
    }

    /// The contents of its sectors, if the device follows them.
    pub fn contents(&mut self) -> Option<&mut Contents> {
        self.core.base.contents.as_deref_mut()
    }

    /// The answers that were neither taken nor forgotten, moved to the end of `into`.
    #[inline]
    pub fn take_answers(&mut self, into: &mut Vec<Answer>) {
        self.front.take_answers(into);
    }
}
