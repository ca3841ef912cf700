//! The flash of the device with what steers it: its configuration, its policies, and counts of what happened.

use wordline_device::physical_device::Chunk;
use wordline_flash::policy::failure::{
    FailedOperation, Failure as FailureEvent, FailureAction, FailurePolicy, MOST_FAILURES,
};
use wordline_flash::policy::tuner::Tuner;
use wordline_flash::{Class, Flash, Ticket};
use wordline_kernel::{Instant, Schedule, Seed, state};
use wordline_nand::{BlockSetId, Chips, CutLosses, DataTag, DieId, InFlightFate, Layers, Location};

use super::chunks::ChunkId;
use super::config::OpenChannelConfig;
use super::counts::Counts;
use super::event::Event;
use super::failures::PageLocation;
use super::in_flight::NO_LOCATION;

/// Policies of an open-channel device.
pub struct Policies {
    /// Array parameters of commands.
    pub tuner: Box<dyn Tuner>,
    /// Decides what happens to a chunk or block after a program or erase failure.
    pub failure: Box<dyn FailurePolicy>,
    /// Whether the tuner selects the parameters of programs.
    pub tunes_programs: bool,
}

state!(Policies {
    parts { tuner, failure }
    fixed { tunes_programs }
});

impl Policies {
    /// Policies of a configuration.
    pub fn of(config: &OpenChannelConfig) -> Self {
        Self {
            tuner: config.file.tuner.build(|| Layers::of(&config.pools)),
            failure: config.file.failure.build(),
            tunes_programs: false,
        }
    }
}

/// Flash of a device. It knows locations and pages, and nothing of chunks or commands.
pub(super) struct Media {
    pub(super) config: OpenChannelConfig,
    pub(super) flash: Flash,
    pub(super) policies: Policies,
    pub(super) counts: Counts,
    /// Program commands that power losses interrupted.
    pub(super) cut_programs: u64,
}

impl Media {
    /// Erased flash.
    pub(super) fn new(config: OpenChannelConfig, seed: Seed, policies: Policies) -> Self {
        let mut flash = Flash::new(&config.setup(), seed);
        if policies.tunes_programs {
            flash.tune(true);
        }
        Self { config, flash, policies, counts: Counts::default(), cut_programs: 0 }
    }

    #[inline]
    pub(super) fn chips(&self) -> &Chips {
        self.flash.chips()
    }

    #[inline]
    pub(super) fn id_of(&self, chunk: Chunk) -> ChunkId {
        ChunkId(self.config.geometry.number(chunk))
    }

    /// Whether the contents of the buffer survive a power loss.
    pub(super) fn is_buffer_protected(&self) -> bool {
        self.config.file.buffer.as_ref().is_some_and(|buffer| buffer.protected)
    }

    /// Number of logical blocks of a program.
    #[inline]
    pub(super) fn unit(&self) -> u32 {
        self.config.geometry.ws_min
    }

    /// Location of the first logical block of a page of the failure manager.
    pub(super) fn first_location(&self, place: PageLocation) -> Location {
        self.config.pools.at(place.block, place.page * self.unit())
    }

    /// Starts the next command of a die that is idle.
    pub(super) fn start(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.flash.start(die, &*self.policies.tuner, &mut calendar.within(Event::Flash));
    }

    /// Queues the reads of logical blocks, one for each page, and appends their dies, which are not started.
    /// [`NO_LOCATION`] is skipped. Returns the number of reads.
    pub(super) fn queue_reads(
        &mut self,
        locations: &[Location],
        ticket: Ticket,
        now: Instant,
        dies: &mut Vec<DieId>,
    ) -> u32 {
        let Self { config: OpenChannelConfig { pools, geometry, .. }, flash, .. } = self;
        let is_beside = |location: &Location, next: &Location| {
            *location != NO_LOCATION
                && next.0 == location.0 + 1
                && pools.page_of(*location) == pools.page_of(*next)
        };
        let mut reads = 0;
        for locations in locations.chunk_by(is_beside) {
            if locations[0] == NO_LOCATION {
                continue;
            }
            let (die, page) = pools.die_and_page_of(locations[0]);
            let task = flash.read(die, now, (ticket, Class::Read), page);
            (task.location, task.locations) = (locations[0], locations.len() as u32);
            task.bytes = (geometry.block_size.0 * locations.len() as u64) as u32;
            reads += 1;
            dies.push(die);
        }
        reads
    }

    /// Queues the read of a page for the recovery. Returns its die, which is not started.
    pub(super) fn scan(&mut self, location: Location, now: Instant) -> DieId {
        let (die, page) = self.config.pools.die_and_page_of(location);
        let task = self.flash.read(die, now, (Ticket::Scan(die), Class::Read), page);
        task.location = location;
        // A retry of an interrupted program would not help.
        task.retried = false;
        task.bytes = self.config.geometry.block_size.0 as u32;
        die
    }

    /// Programs a unit with these data tags.
    pub(super) fn program(
        &mut self,
        ticket: Ticket,
        first: Location,
        stamps: &[DataTag],
        calendar: &mut impl Schedule<Event>,
    ) {
        let asked = (ticket, Class::Write);
        let (die, queued) = self.flash.program(calendar.now(), asked, first, stamps.len() as u32);
        queued.copy_from_slice(stamps);
        self.start(die, calendar);
    }

    /// Erases a block.
    pub(super) fn erase(&mut self, ticket: Ticket, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        let die = self.flash.erase(calendar.now(), (ticket, Class::Write), block);
        self.start(die, calendar);
    }

    /// Whether a unit has unreadable logical blocks, as after an interrupted program.
    pub(super) fn is_torn(&self, first: Location) -> bool {
        (first.0..first.0 + self.unit()).any(|n| self.flash.stamp(Location(n)) == DataTag::UNREADABLE)
    }

    /// Corrupts those logical blocks of a copied page whose originals were unreadable: a bitmap.
    pub(super) fn corrupt(&mut self, to: PageLocation, unread: u64) {
        let first = self.first_location(to).0;
        let spoilt = (0..self.unit()).filter(|n| unread >> n & 1 != 0);
        spoilt.for_each(|n| self.flash.corrupt(Location(first + n)));
    }

    /// Asks the failure policy about a block in which a program or erase failed for the `times`-th time.
    pub(super) fn query_failure_policy(
        &mut self,
        block: BlockSetId,
        failed: FailedOperation,
        times: u32,
    ) -> FailureAction {
        let seen = FailureEvent { failed, block, times, erases: self.chips().erases()[block] };
        let after = self.policies.failure.after(&seen);
        if times >= u32::from(MOST_FAILURES) { FailureAction::Retire } else { after }
    }

    /// Notifies the tuner of the erase of a block.
    pub(super) fn note_erased(&mut self, block: BlockSetId) {
        self.policies.tuner.erased(block);
    }

    /// Cuts the power. Returns the interrupted programs and erases.
    pub(super) fn cut(&mut self, now: Instant) -> CutLosses {
        let at_cut = InFlightFate::from(self.config.file.programs_at_cut);
        let before = self.chips().counts().program_commands;
        let torn = self.flash.cut_power(now, at_cut, |_, _| {});
        self.cut_programs += self.chips().counts().program_commands - before;
        if self.flash.needs_tuner() {
            self.policies.tuner.forget();
        }
        torn
    }
}
