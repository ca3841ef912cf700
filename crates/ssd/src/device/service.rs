//! The service of the dies: what they do next, and what follows from what they did.

use wordline_kernel::{Bytes, Duration, Instant, Schedule};
use wordline_nand::{BlockSetId, Command, DieId, Done, Geometry, Operation, PageId, SlotId, Stamp};

use super::totals::{Component, Spent};
use super::{ChipCalendar, Device, Event};
use crate::command::RequestId;
use crate::ftl::Blocks;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;
use crate::queue::{Purpose, Transaction};

impl Device {
    /// Gives an idle die its next command.
    #[inline]
    pub(super) fn kick(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.chips.is_idle(die) {
            if self.queues.has_work(die) || self.chips.is_suspended(die) {
                self.start_next(die, calendar);
            }
        } else if self.queues.wants_suspend(die, calendar.now()) {
            self.suspend(die, calendar);
        }
    }

    #[inline(never)]
    fn start_next(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let Self { config, tuning, chips, queues, .. } = self;
        let mergeable = |before: &Transaction, next: &Transaction| {
            next.page.0.wrapping_sub(before.page.0) <= 1
                && are_side_by_side(&config.pools.of_die(die).geometry, before.page, next.page)
                && tuning.as_ref().is_none_or(|tuning| tuning.are_alike(before, next, chips))
        };
        let Some(first) = queues.next(die, calendar.now(), mergeable) else {
            return self.resume(die, calendar);
        };
        let (purpose, owner, page, slot) = (first.purpose, first.owner, first.page, first.slot);
        let (mut planes, mut bytes) = (first.planes, u64::from(first.bytes));
        if first.following().is_some() {
            let page_size = self.config.pools.of_die(die).geometry.page_size;
            (planes, bytes) = self.queues.current_reads(die, page_size);
        }
        let read = Command { operation: Operation::Read, page, planes, bytes: Bytes(bytes) };
        if purpose.is_read() {
            self.begin_command(die, read, calendar);
        } else {
            self.start_change(die, (purpose, owner, slot), read, calendar);
        }
    }

    /// A die begins a command.
    #[inline(always)]
    fn begin_command(&mut self, die: DieId, command: Command, calendar: &mut impl Schedule<Event>) {
        if self.tuning.is_some() {
            self.set_read_level(die, command.operation);
        }
        self.chips.begin(die, command, &mut ChipCalendar(calendar));
    }

    /// The same for a transaction that changes pages, in all planes: what it is for, whose and where to, and the command as
    /// if it were a read.
    #[inline(never)]
    fn start_change(
        &mut self,
        die: DieId,
        (purpose, owner, slot): (Purpose, u32, SlotId),
        read: Command,
        calendar: &mut impl Schedule<Event>,
    ) {
        let operation = self.set_up(die, purpose, owner, slot);
        let planes = self.config.pools.of_die(die).geometry.planes_per_row;
        self.begin_command(die, Command { operation, planes, ..read }, calendar);
    }

    /// Fills the registers of a die with what a transaction writes; its operation.
    #[inline]
    fn set_up(&mut self, die: DieId, purpose: Purpose, owner: u32, slot: SlotId) -> Operation {
        match purpose {
            Purpose::HostProgram | Purpose::TranslationProgram => {
                let stamps = &self.units[owner as usize].stamps;
                self.chips.registers(die)[..stamps.len()].copy_from_slice(stamps);
                Operation::Program
            }
            Purpose::GcProgram => {
                let registers = self.chips.registers(die);
                registers.fill(Stamp::PADDING);
                let unit = match &self.block_map {
                    Some(map) => map.held(owner),
                    None => self.collector.unit(owner),
                };
                let place = places(&self.blocks, owner);
                for (n, moved) in unit.iter().enumerate() {
                    registers[place(n, moved.from)] = moved.stamp;
                }
                Operation::Program
            }
            Purpose::GcCopyback => Operation::Copyback { to: self.config.pools.page_of(slot) },
            Purpose::GcErase => Operation::Erase,
            read => unreachable!("{read:?} changes no pages"),
        }
    }

    /// What a die was suspended in goes on, as nothing else waits that it takes.
    #[inline(never)]
    fn resume(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        if self.chips.is_suspended(die) {
            self.queues.unpark(die, calendar.now());
            self.chips.resume(die, &mut ChipCalendar(calendar));
        }
    }

    /// Suspends the program or erase that a die works on, if it can be and was not too often.
    #[cold]
    #[inline(never)]
    fn suspend(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        let most = self.config.file.ftl.scheduling.max_suspends;
        if self.chips.suspends(die) < most && self.chips.can_suspend(die, calendar.now()) {
            self.chips.suspend(die, &mut ChipCalendar(calendar));
        }
    }

    /// A die takes reads, because what it worked on is suspended.
    #[cold]
    #[inline(never)]
    pub(super) fn rested(&mut self, die: DieId, calendar: &mut impl Schedule<Event>) {
        self.queues.park(die, calendar.now());
        self.kick(die, calendar);
    }

    /// A die has finished a command.
    pub(super) fn command_done(&mut self, done: &Done, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        self.digest.add(now.ps() ^ u64::from(done.die.0) << 48);
        self.digest.add(u64::from(done.command.page.0) << 3 | done.command.operation.kind() as u64);
        self.totals.times.served_ps += u128::from((done.bus + done.array).ps());
        let mut next = self.queues.finish(done.die, now);
        let mut makes_room = false;
        while let Some(id) = next {
            let transaction = self.queues.release(id);
            next = transaction.following();
            makes_room |= transaction.purpose.moves_writes_on();
            self.transaction_over(&transaction, done, calendar);
            if transaction.purpose.is_gc() {
                self.note_row(transaction.owner);
                makes_room |= self.block_map.is_some();
            }
        }
        self.kick(done.die, calendar);
        // What waits for a pool that takes nothing any more goes elsewhere once nothing goes on there.
        makes_room |= self.subs.is_some() && self.programming == 0 && self.collector.is_idle();
        if makes_room || self.row_opened {
            self.pump(calendar);
        }
        if self.preemptible {
            self.resume_rows(done.die, calendar);
        }
    }

    #[inline(always)]
    fn transaction_over(
        &mut self,
        transaction: &Transaction,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.tuning.is_some() && done.command.operation == Operation::Read {
            self.learn(transaction, done);
        }
        if done.failed {
            self.transaction_failed(transaction, done, calendar);
        } else {
            self.transaction_done(transaction, done, calendar);
        }
    }

    #[inline(always)]
    pub(super) fn transaction_done(
        &mut self,
        transaction: &Transaction,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Transaction { owner, page, slot, .. } = *transaction;
        match transaction.purpose {
            Purpose::HostRead => {
                self.check_read(transaction);
                self.host_read_done(transaction, done, calendar);
            }
            Purpose::ReadAhead => {
                self.check_read(transaction);
                self.read_over(page, calendar);
                self.fetched_ahead(owner, calendar);
            }
            Purpose::Fill => {
                if !self.buffer.get(owner).discarded && !self.buffer.get(owner).void {
                    self.check_read(transaction);
                }
                if self.contents.is_some() {
                    self.note_filled(LogicalPage(transaction.logical), transaction.version);
                }
                self.note_fill_time(transaction, done, calendar.now());
                self.fill_done(transaction, calendar);
            }
            Purpose::HostProgram => {
                let spent = self.spent_on(transaction, done, calendar.now());
                self.written_back[self.config.pools.number_of_row(owner)].programs.add(&spent);
                self.note_program_time(owner, &spent);
                self.host_programmed(owner, slot, calendar);
                self.collect(owner, calendar);
            }
            Purpose::UnitFill => {
                self.note_fill_time(transaction, done, calendar.now());
                self.unit_fill_done(transaction, calendar);
            }
            Purpose::TranslationRead => {
                self.check_read(transaction);
                self.table_read(transaction, calendar);
                self.read_over(page, calendar);
            }
            Purpose::TranslationProgram => {
                self.tables_programmed(owner, slot, calendar);
                self.collect(owner, calendar);
            }
            Purpose::GcRead if self.block_map.is_some() => self.copy_read(transaction),
            Purpose::GcProgram if self.block_map.is_some() => self.copied(owner, slot),
            Purpose::GcRead => self.gc_read(owner, slot, transaction.planes, transaction.slots, calendar),
            Purpose::GcProgram | Purpose::GcCopyback => self.gc_programmed(owner, slot),
            Purpose::GcErase => self.gc_erased(page),
            Purpose::Scan => self.scan_on(done.die, calendar),
        }
        if transaction.purpose.is_gc() {
            if self.block_map.is_some() {
                self.step_done(owner, calendar);
            } else if self.collector.command_done(owner) {
                self.collect(owner, calendar);
            }
        }
    }

    #[inline(always)]
    pub(super) fn host_read_done(
        &mut self,
        transaction: &Transaction,
        done: &Done,
        calendar: &mut impl Schedule<Event>,
    ) {
        self.totals.host_reads += 1;
        let id = RequestId(transaction.owner);
        let spent = self.spent_on(transaction, done, calendar.now());
        self.front.get(id).spent = spent;
        self.read_over(transaction.page, calendar);
        if self.cache.is_on() && !done.failed {
            self.keep_read(transaction);
        }
        self.part_done(id, calendar);
    }

    #[inline]
    pub(super) fn fill_done(&mut self, transaction: &Transaction, calendar: &mut impl Schedule<Event>) {
        self.totals.fill_reads += 1;
        self.filled(transaction.owner);
        self.read_over(transaction.page, calendar);
    }

    /// A page that is programmed with its unit was read, or could not be.
    #[inline(never)]
    pub(super) fn unit_fill_done(&mut self, transaction: &Transaction, calendar: &mut impl Schedule<Event>) {
        let Transaction { owner, page, logical, version, .. } = *transaction;
        self.unit_filled(owner, LogicalPage(logical), version);
        self.read_over(page, calendar);
    }

    /// A read found what the host wrote last, or the run stops.
    #[inline]
    fn check_read(&self, transaction: &Transaction) {
        let Transaction { logical, version, slot, .. } = *transaction;
        let found = self.chips.stamp(slot);
        assert!(
            found == Stamp { logical, version },
            "a read of logical page {logical} wanted version {version} and found {found:?} in {slot:?}"
        );
    }

    /// Where the time of a transaction went since it was queued.
    #[inline]
    fn spent_on(&self, transaction: &Transaction, done: &Done, now: Instant) -> Spent {
        let mut spent = Spent::default();
        let elapsed = now - transaction.queued;
        let on_bus = done.bus + done.bus_wait;
        // The array works while a suspend is latched: time that is counted once.
        let array = done.array.min(elapsed.saturating_sub(on_bus));
        let waited = elapsed.saturating_sub(on_bus + array);
        let gc = self.queues.gc_time(done.die, now) - transaction.gc_before;
        let gc = Duration::from_ps(gc.min(waited.ps()));
        spent.set(Component::Mapping, transaction.mapping);
        spent.set(Component::GcWait, gc);
        spent.set(Component::DieWait, waited - gc);
        spent.set(Component::Bus, on_bus);
        spent.set(Component::Array, array);
        spent
    }

    /// Something that is not in the buffer was read, to be written with what is.
    fn note_fill_time(&mut self, transaction: &Transaction, done: &Done, now: Instant) {
        let spent = self.spent_on(transaction, done, now);
        self.written_back[self.config.pools.number_of(done.die)].fills.add(&spent);
    }

    /// The requests that wait for a page of the unit waited for this program.
    fn note_program_time(&mut self, row: Row, spent: &Spent) {
        for n in 0..self.units[row as usize].entries.len() {
            let id = self.units[row as usize].entries[n];
            let version = self.units[row as usize].stamps[self.place_in_unit(row, n)].version;
            let Self { buffer, front, .. } = self;
            buffer.each_waiter(id, version, |slot| front.get(slot).spent = *spent);
        }
    }

    #[inline]
    pub(super) fn read_over(&mut self, page: PageId, calendar: &mut impl Schedule<Event>) {
        let block = self.config.pools.block_of_page(page);
        if self.blocks.read_done(block) {
            self.collect_in_victim(block, calendar);
        }
    }

    /// Nobody reads a victim any more.
    #[inline(never)]
    fn collect_in_victim(&mut self, block: BlockSetId, calendar: &mut impl Schedule<Event>) {
        let row = self.blocks.row_of(block);
        self.collect(row, calendar);
    }
}

/// Whether a page and the same or the next one are read by one command: parts of a page, or pages side by side in the planes.
#[inline(never)]
fn are_side_by_side(geometry: &Geometry, page: PageId, next: PageId) -> bool {
    let (block, offset) = geometry.split(page);
    let (next_block, next_offset) = geometry.split(next);
    block == next_block && geometry.page_in_block(offset) == geometry.page_in_block(next_offset)
}

/// Where in a program unit of a row the collector's page goes that is its `n`-th and comes from this slot: in a pool of whole
/// units to its place.
pub(super) fn places(blocks: &Blocks, row: Row) -> impl Fn(usize, SlotId) -> usize + use<> {
    let (first, unit) = {
        let slots = &blocks.pools().of_row(row).slots;
        (slots.first(), slots.per_program)
    };
    let whole = blocks.has_whole_units(row);
    move |n, from| if whole { ((from.0 - first) % unit) as usize } else { n }
}
