//! A conventional SSD. It assembles the engines of the controller and dispatches events to them.
//!
//! `service` passes each task that a die finished, or failed, to the engine that issued it. `block_device`
//! calls the engines' checks of invariants and of loaded states, and their reports of pending work.

mod block_device;
mod service;

use wordline_device::Completion;
use wordline_device::content::Content;
use wordline_ftl::contents::Contents;
use wordline_ftl::map::{LogicalPage, Map};
use wordline_ftl::recovery::Recovery;
use wordline_ftl::totals::Totals;
use wordline_ftl::{Ftl, Policies};
use wordline_kernel::{Schedule, Seed, state};
use wordline_nand::{Chips, DieId};

use crate::config::Config;
use crate::engines::Core;
use crate::front::Front;
use crate::policies::BufferPolicies;
use crate::writer::Writer;

pub use crate::event::Event;
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
    /// An empty device with the policies of its configuration.
    pub fn new(config: Config, seed: Seed) -> Self {
        let policies = Policies::of(&config.ftl);
        Self::with(config, policies, seed)
    }

    /// An empty device with these policies and designs of the FTL.
    pub fn with(config: Config, policies: Policies, seed: Seed) -> Self {
        let buffer = BufferPolicies::of(&config);
        Self::with_buffer(config, policies, buffer, seed)
    }

    /// An empty device with these policies and designs of the FTL, and these policies of the buffer.
    pub fn with_buffer(config: Config, policies: Policies, buffer: BufferPolicies, seed: Seed) -> Self {
        let front = Front::new(&config);
        let core = Core::new(config, policies, buffer, seed);
        let mut writer = Writer::new(&core.ftl);
        writer.update_all_groups(&core);
        Self { core, writer, recovery: Recovery::default(), front }
    }

    /// Notifies designs of pending events at the end of an event.
    #[inline(always)]
    fn notify_designs(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.core.has_notifications() {
            self.core.notify_end_of_event();
            if self.core.ftl.policies.designs.is_maintenance_due() && self.recovery.is_ready() {
                self.front.maintain(&mut self.core, &mut self.writer, calendar);
                self.core.start_dies(calendar);
            }
        }
    }

    /// Handles an event that is not an event of the chips.
    #[inline(never)]
    fn handle_own(&mut self, event: Event, calendar: &mut impl Schedule<Event>) {
        match event {
            Event::Flash(event) => {
                let done = self.core.ftl.flash.handle_own(event, calendar.now());
                done.iter().for_each(|done| self.command_done(done, calendar));
            }
            Event::Begin(id) => self.front.begin(id, &mut self.core, &mut self.writer, calendar),
            Event::Completion(id) => self.front.complete(id, &mut self.core, &mut self.writer, calendar),
            Event::Link(id) => self.front.finish_link_step(id, &mut self.core, &mut self.writer, calendar),
            Event::FlushTimer => self.front.flush_on_timer(&mut self.core, &mut self.writer, calendar),
            Event::Idle => self.front.on_host_idle(&mut self.core, &mut self.writer, calendar),
        }
        self.core.start_dies(calendar);
    }

    /// Continues the recovery scan of a die. After the last die the device accepts commands.
    fn continue_scan(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.recovery.continue_scan(die, &mut self.core.ftl, &mut calendar.within(Event::Flash)) {
            self.front.resume(&mut self.core, &mut self.writer, calendar);
        }
    }
}

/// Accessors for the engines, in addition to the interface of every block device.
impl Device {
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// The chips.
    pub fn chips(&self) -> &Chips {
        self.core.ftl.flash.chips()
    }

    /// Counts of the device.
    pub fn totals(&self) -> &Totals {
        &self.core.ftl.totals
    }

    /// The FTL.
    pub fn ftl(&self) -> &Ftl {
        &self.core.ftl
    }

    /// The L2P map.
    pub fn map(&self) -> &Map {
        &self.core.ftl.map
    }

    /// The writer, which has the pages whose program is in progress.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The front end.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// Version of a logical page that a read would find now, counted from 1 with each host write. `None` if
    /// the page has no data.
    pub fn version(&self, page: LogicalPage) -> Option<u32> {
        self.core.cache.version(page, &self.core.ftl.map, &self.core.ftl.flash)
    }

    /// Version of a logical page in flash; `None` if it has none there.
    pub fn version_in_flash(&self, page: LogicalPage) -> Option<u32> {
        self.core.ftl.map.version_in_flash(page, &self.core.ftl.flash)
    }

    /// Contents of a page that a read would find, one for each sector, unless one is lost.
    pub fn contents_of(&self, page: LogicalPage) -> Vec<Content> {
        self.core.contents_of(page)
    }

    /// Tracks the contents of sectors from now on, for data verification.
    pub fn keep_contents(&mut self, contents: Contents) {
        self.core.ftl.keep_contents(contents);
        self.core.ftl.record_tables();
    }

    /// The contents of sectors; `None` if the device does not track them.
    pub fn contents(&mut self) -> Option<&mut Contents> {
        self.core.ftl.contents.as_deref_mut()
    }

    /// Moves the completions that were not taken or cleared to the end of `into`.
    #[inline]
    pub fn take_completions(&mut self, into: &mut Vec<Completion>) {
        self.front.take_completions(into);
    }
}
