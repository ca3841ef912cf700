//! What dies do for the manager of failures: copies of pages, erases of reserve blocks, records of the tables.
//!
//! In the background a die does one thing at a time, begun only while no command of the host is in the device and nothing is in the
//! buffer of the die; a command waits for the one that has begun, and no more. Without shifts a failed write waits for the copies, and so does everything
//! behind it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Schedule, state};
use wordline_nand::{BlockSetId, Location, Operation as Work, Stamp};

use super::chunks::ChunkId;
use super::failures::{Before, Manager, NoBlock, Place, Shape, Step};
use super::journal::{Journal, pages_of_record};
use super::{Event, OpenChannel, OpenChannelConfig};
use crate::flash::{Class, Task, Ticket};

/// What a die works on for the manager.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Action {
    /// It reads a page that is copied; so many reads are left, and these logical blocks of it could not be read.
    Read { chunk: ChunkId, step: Step, left: u32, unread: u64 },
    /// It programs a page of a copy or of padding.
    Program { chunk: ChunkId, step: Step, unread: u64 },
    /// It erases a block of the reserve.
    Erase,
    /// It erases the block of the journal that is written next.
    EraseJournal,
}

/// The change of the tables that is tried again when another one is recorded, or a reserve block is erased.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Again {
    Program(ChunkId, bool),
    Step(ChunkId, Step, bool),
    Reset(ChunkId),
}

/// The work of a die for the manager.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Hand {
    action: Option<Action>,
    /// In the order in which they came up.
    again: VecDeque<Again>,
    /// What the tables said before the change that is being recorded, and pages of the record that are not programmed yet.
    recorded: Option<Before>,
    records: u32,
    journal: Option<Journal>,
}

/// The manager of failures, and the work of the dies for it.
#[derive(Clone, Debug)]
pub(super) struct Repairs {
    manager: Manager,
    hands: Vec<Hand>,
    pages_of_record: u32,
}

state!(Repairs {
    values { manager, hands }
    fixed { pages_of_record }
});

impl Hand {
    /// Whether a change of the tables is under way.
    fn is_changing(&self) -> bool {
        !self.again.is_empty() || self.recorded.is_some()
    }
}

impl Repairs {
    /// Those of a device, if it has a manager, and the chunks that are out of use because of bad blocks.
    pub(super) fn of(config: &OpenChannelConfig, bad: &[BlockSetId]) -> (Option<Self>, Vec<ChunkId>) {
        let (Some(file), Some(shape)) = (&config.file.failures, config.shape()) else {
            return (None, bad.iter().map(|block| ChunkId(block.0)).collect());
        };
        let (mut manager, offline) = Manager::new(shape, file.shift, file.early_close, bad);
        let hand = |unit| {
            let blocks = (!file.volatile_tables).then(|| manager.take_for_journal(unit)).flatten();
            Hand { journal: blocks.map(Journal::new), ..Hand::default() }
        };
        let hands = (0..shape.units).map(hand).collect();
        let Shape { units, blocks_per_unit, pages, .. } = shape;
        let bytes = config.geometry.block_size.0 * u64::from(config.geometry.ws_min);
        let pages_of_record = pages_of_record(units * blocks_per_unit, pages, bytes).min(pages);
        (Some(Self { manager, hands, pages_of_record }), offline)
    }

    pub(super) fn manager(&self) -> &Manager {
        &self.manager
    }

    pub(super) fn wrote(&mut self, chunk: ChunkId) {
        self.manager.wrote(chunk);
    }

    pub(super) fn closed(&mut self, chunk: ChunkId) {
        self.manager.closed(chunk);
    }

    pub(super) fn stepped(&mut self, chunk: ChunkId, step: Step) {
        self.manager.stepped(chunk, step);
    }

    /// Whether the host's programs of a die wait for the manager.
    fn holds(&self, unit: u32) -> bool {
        self.hands[unit as usize].is_changing() || self.manager.copies_first(unit)
    }

    /// Whether the die of a parallel unit works for the manager, or a change of the tables is under way.
    pub(super) fn is_busy(&self, unit: u32) -> bool {
        let hand = &self.hands[unit as usize];
        hand.action.is_some() || hand.is_changing()
    }

    /// Tasks of dies for the manager.
    pub(super) fn at_dies(&self) -> usize {
        let of_hand = |hand: &Hand| {
            let of_action = match hand.action {
                Some(Action::Read { left, .. }) => left as usize,
                Some(Action::Program { .. } | Action::Erase | Action::EraseJournal) => 1,
                None => 0,
            };
            of_action + usize::from(hand.records > 0)
        };
        self.hands.iter().map(of_hand).sum()
    }

    /// The power is cut: a change that was not recorded did not happen. The chunks that dies worked on, and the chunks of the changes that
    /// are taken back.
    pub(super) fn cut(&mut self) -> (Vec<ChunkId>, Vec<ChunkId>) {
        let (mut at_work, mut undone) = (Vec::new(), Vec::new());
        for hand in &mut self.hands {
            if let Some(Action::Program { chunk, .. }) = hand.action.take() {
                at_work.push(chunk);
            }
            // A failed copy for which a block was being erased is found torn.
            at_work.extend(hand.again.drain(..).filter_map(|again| match again {
                Again::Step(chunk, ..) => Some(chunk),
                Again::Program(..) | Again::Reset(_) => None,
            }));
            if let Some(before) = hand.recorded.take() {
                undone.push(before.chunk());
                self.manager.undo(before);
            }
            hand.records = 0;
        }
        (at_work, undone)
    }

    /// After a power cut: the pages of the journals that are programmed count.
    pub(super) fn settle_journals(&mut self, programmed: impl Fn(BlockSetId) -> u32) {
        for hand in &mut self.hands {
            if let Some(journal) = &mut hand.journal {
                journal.settle(programmed(journal.block()));
            }
        }
    }

    /// The last records of the journals; none where there is no journal.
    pub(super) fn last_records(&self) -> Option<Vec<Place>> {
        let journals: Option<Vec<&Journal>> = self.hands.iter().map(|hand| hand.journal.as_ref()).collect();
        Some(journals?.iter().filter_map(|journal| journal.last()).collect())
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + use<> {
        self.manager.lengths().into_iter().chain([self.hands.len()])
    }
}

impl OpenChannel {
    /// Whether the programs of a queue wait for the manager.
    pub(super) fn is_held(&self, queue: u32) -> bool {
        self.recovering.is_some() || self.repairs.as_ref().is_some_and(|repairs| repairs.holds(queue))
    }

    fn repairs(&mut self) -> &mut Repairs {
        self.repairs.as_mut().expect("a device without a manager repairs nothing")
    }

    fn hand(&mut self, queue: u32) -> &mut Hand {
        &mut self.repairs().hands[queue as usize]
    }

    /// A program of a chunk failed: it goes on in another block.
    pub(super) fn repair_program(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) {
        let queue = self.chunks.unit_of(chunk);
        if self.hand(queue).recorded.is_some() {
            return self.hand(queue).again.push_back(Again::Program(chunk, is_bad));
        }
        let pages = self.chunks.get(chunk).programmed / self.config.geometry.ws_min;
        let manager = &mut self.repairs().manager;
        let before = manager.before(chunk);
        match manager.failed(chunk, pages, is_bad) {
            Ok(()) => {
                self.counts.repaired += 1;
                self.record(queue, before, calendar);
            }
            Err(NoBlock::UsedUp) => {
                self.chunks.get_mut(chunk).is_bad |= is_bad;
                self.end_offline(chunk, calendar);
            }
            Err(NoBlock::NotErased(_)) => self.erase_first(queue, Again::Program(chunk, is_bad), calendar),
        }
    }

    /// The block that a chunk has after its reset, which is to be erased.
    pub(super) fn repair_reset(
        &mut self,
        chunk: ChunkId,
        is_bad: bool,
        calendar: &mut impl Schedule<Event>,
    ) -> Result<BlockSetId, NoBlock> {
        let queue = self.chunks.unit_of(chunk);
        if self.hand(queue).recorded.is_some() {
            self.hand(queue).again.push_back(Again::Reset(chunk));
            return Err(NoBlock::NotErased(self.block_of(chunk)));
        }
        let manager = &mut self.repairs().manager;
        let before = manager.before(chunk);
        let changes = is_bad || manager.shift(chunk) != Some(0);
        let block = manager.reset(chunk, is_bad);
        match block {
            Ok(_) if changes => {
                self.chunks.get_mut(chunk).is_void = true;
                self.chunks.get_mut(chunk).is_bad = false;
                self.record(queue, before, calendar);
            }
            Ok(_) | Err(NoBlock::UsedUp) => {}
            Err(NoBlock::NotErased(_)) => self.erase_first(queue, Again::Reset(chunk), calendar),
        }
        block
    }

    /// Records a change of the tables, if they are to outlive the power.
    fn record(&mut self, queue: u32, before: Before, calendar: &mut impl Schedule<Event>) {
        let is_recorded = self.hand(queue).journal.is_some();
        if !is_recorded {
            return self.go_on(queue, calendar);
        }
        let records = self.repairs().pages_of_record;
        let hand = self.hand(queue);
        (hand.recorded, hand.records) = (Some(before), records);
        self.program_record(queue, calendar);
    }

    /// Programs the next page of a record; a full block of the journal leads to the other one, which is erased before if it is not.
    fn program_record(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let unit = self.config.geometry.ws_min;
        let pages = self.config.geometry.blocks_per_chunk / unit;
        let Self { repairs, flash, config, .. } = self;
        let hand = &mut repairs.as_mut().expect("it has a journal").hands[queue as usize];
        let journal = hand.journal.as_mut().expect("only what has a journal is recorded");
        if journal.is_full(pages) {
            journal.turn();
        }
        let first = config.pools.at(journal.block(), 0);
        let asked = (Ticket::TableUnit(config.pools.row_of(first)), Class::Write);
        let programmed = flash.chips().programmed(journal.block());
        let die = if journal.is_new() && programmed > 0 {
            flash.erase(calendar.now(), asked, journal.block())
        } else {
            let Place { block, page } = journal.take_page();
            // The stamps of padding stand for the tables.
            flash.program(calendar.now(), asked, config.pools.at(block, page * unit), unit).0
        };
        self.start(die, calendar);
    }

    /// A page of a record is programmed, or a block of the journal erased for it.
    fn record_over(&mut self, queue: u32, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        if task.operation == Work::Erase {
            self.counts.journal_erases += 1;
            if failed && !self.replace_in_journal(queue, true) {
                (self.hand(queue).recorded, self.hand(queue).records) = (None, 0);
                return self.go_on(queue, calendar);
            }
            return self.program_record(queue, calendar);
        }
        self.counts.journal_programs += 1;
        self.hand(queue).records -= u32::from(!failed);
        if self.hand(queue).records > 0 {
            return self.program_record(queue, calendar);
        }
        self.hand(queue).recorded = None;
        self.go_on(queue, calendar);
    }

    /// A block of a journal could not be erased: another one takes its place, if there is one. Else nothing is recorded any more.
    fn replace_in_journal(&mut self, queue: u32, is_current: bool) -> bool {
        let block = self.repairs().manager.take_of(queue);
        let hand = self.hand(queue);
        match (block, &mut hand.journal) {
            (Some(block), Some(journal)) => {
                if is_current {
                    journal.replace(block);
                } else {
                    journal.replace_other(block);
                }
                hand.recorded.iter_mut().for_each(|before| before.without(block));
            }
            _ => hand.journal = None,
        }
        block.is_some()
    }

    /// Erases a block of the reserve at once, because something waits for it.
    fn erase_first(&mut self, queue: u32, again: Again, calendar: &mut impl Schedule<Event>) {
        self.hand(queue).again.push_back(again);
        if self.hand(queue).action.is_none() {
            self.erase_reserve(queue, calendar);
        }
    }

    fn erase_reserve(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let block = self.repairs().manager.to_erase(queue).expect("a block is to be erased");
        self.erase_for(queue, (block, Action::Erase), calendar);
    }

    fn erase_for(
        &mut self,
        queue: u32,
        (block, action): (BlockSetId, Action),
        calendar: &mut impl Schedule<Event>,
    ) {
        self.hand(queue).action = Some(action);
        let ticket = Ticket::Reclaim(self.config.pools.row_of_block(block));
        let die = self.flash.erase(calendar.now(), (ticket, Class::Write), block);
        self.start(die, calendar);
    }

    /// What a die worked on for the manager is over.
    pub(super) fn repair_over(&mut self, task: &Task, failed: bool, calendar: &mut impl Schedule<Event>) {
        let block = self.config.pools.block_of_page(task.page);
        let queue = self.config.pools.die_of_block(block).0;
        if matches!(task.ticket, Ticket::TableUnit(_)) {
            return self.record_over(queue, task, failed, calendar);
        }
        match self.hand(queue).action.take().expect("its die worked for the manager") {
            Action::Read { chunk, step, left, mut unread } => {
                unread |= self.unread_of(step, task, failed);
                if left > 1 {
                    let action = Action::Read { chunk, step, left: left - 1, unread };
                    self.hand(queue).action = Some(action);
                    return;
                }
                // A command of the host came meanwhile: the page is read again when it is over.
                if self.commands.len() > 0 && !self.repairs().manager.copies_first(queue) {
                    return self.go_on(queue, calendar);
                }
                self.program_step(queue, chunk, step, unread, calendar);
            }
            Action::Program { chunk, step, unread } => {
                self.step_over(queue, chunk, step, (unread, failed), calendar);
            }
            Action::Erase => {
                self.counts.reserve_erases += 1;
                self.repairs().manager.erased(queue, failed);
                self.go_on(queue, calendar);
            }
            Action::EraseJournal => {
                self.counts.journal_erases += 1;
                if failed {
                    self.replace_in_journal(queue, false);
                }
                self.go_on(queue, calendar);
            }
        }
    }

    /// Which logical blocks of a page that is copied a read of it could not read.
    fn unread_of(&self, step: Step, task: &Task, failed: bool) -> u64 {
        let Step::Copy { from, .. } = step else { return 0 };
        let first = self.first_of(from).0;
        let of_task = task.location.0..task.location.0 + task.locations;
        let is_unread = |location: &u32| failed || self.flash.stamp(Location(*location)) == Stamp::TORN;
        of_task.filter(is_unread).map(|location| 1 << (location - first)).fold(0, |all, one: u64| all | one)
    }

    fn first_of(&self, place: Place) -> Location {
        self.config.pools.at(place.block, place.page * self.config.geometry.ws_min)
    }

    /// Takes the next step for a chunk.
    fn step(&mut self, queue: u32, chunk: ChunkId, calendar: &mut impl Schedule<Event>) {
        let step = self.repairs().manager.step(chunk);
        match step {
            Step::Finish => {
                let manager = &mut self.repairs().manager;
                let before = manager.before(chunk);
                manager.finish(chunk);
                self.counts.migrated += 1;
                self.record(queue, before, calendar);
            }
            Step::Pad { .. } => self.program_step(queue, chunk, step, 0, calendar),
            Step::Copy { from, .. } => self.read_step(queue, chunk, (step, from), calendar),
        }
    }

    fn read_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        (step, from): (Step, Place),
        calendar: &mut impl Schedule<Event>,
    ) {
        let first = self.first_of(from).0;
        let Self { flash, config, .. } = self;
        let pools = &config.pools;
        let locations: Vec<Location> = (first..first + config.geometry.ws_min).map(Location).collect();
        let ticket = Ticket::Reclaim(pools.row_of(locations[0]));
        let mut left = 0;
        for of_page in locations.chunk_by(|one, other| pools.page_of(*one) == pools.page_of(*other)) {
            let (die, page) = pools.die_and_page_of(of_page[0]);
            let task = flash.read(die, calendar.now(), (ticket, Class::Read), page);
            (task.location, task.locations) = (of_page[0], of_page.len() as u32);
            task.bytes = (config.geometry.block_size.0 * of_page.len() as u64) as u32;
            left += 1;
        }
        self.hand(queue).action = Some(Action::Read { chunk, step, left, unread: 0 });
        self.start(wordline_nand::DieId(queue), calendar);
    }

    /// Programs the page of a step; what could not be read of it is padding, which is spoilt afterwards.
    fn program_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        step: Step,
        unread: u64,
        calendar: &mut impl Schedule<Event>,
    ) {
        let (from, to) = match step {
            Step::Copy { from, to } => (Some(self.first_of(from)), self.first_of(to)),
            Step::Pad { to } => (None, self.first_of(to)),
            Step::Finish => unreachable!("finishing programs nothing"),
        };
        let found = |n: u32| from.map(|from| self.flash.stamp(Location(from.0 + n)));
        let is_read = |n: u32| unread >> n & 1 == 0;
        let data = |n: u32| found(n).filter(|_| is_read(n)).unwrap_or(Stamp::PADDING);
        let data: Vec<Stamp> = (0..self.config.geometry.ws_min).map(data).collect();
        let asked = (Ticket::Reclaim(self.config.pools.row_of(to)), Class::Write);
        let (die, stamps) = self.flash.program(calendar.now(), asked, to, data.len() as u32);
        stamps.copy_from_slice(&data);
        self.hand(queue).action = Some(Action::Program { chunk, step, unread });
        self.start(die, calendar);
    }

    fn step_over(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        step: Step,
        (unread, failed): (u64, bool),
        calendar: &mut impl Schedule<Event>,
    ) {
        self.counts.repair_programs += 1;
        if failed {
            self.counts.program_failures += 1;
            return self.repair_step(queue, chunk, (step, true), calendar);
        }
        if let Step::Copy { to, .. } = step {
            let first = self.first_of(to).0;
            let spoilt = (0..self.config.geometry.ws_min).filter(|n| unread >> n & 1 != 0);
            spoilt.for_each(|n| self.flash.spoil(Location(first + n)));
        }
        self.repairs().manager.stepped(chunk, step);
        self.go_on(queue, calendar);
    }

    /// The program of a step failed, or was torn.
    pub(super) fn repair_step(
        &mut self,
        queue: u32,
        chunk: ChunkId,
        (step, is_bad): (Step, bool),
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.hand(queue).recorded.is_some() {
            return self.hand(queue).again.push_back(Again::Step(chunk, step, is_bad));
        }
        let manager = &mut self.repairs().manager;
        let (before, copied_first) = (manager.before(chunk), manager.copies_first(queue));
        match manager.step_failed(chunk, step, is_bad) {
            Ok(()) => self.record(queue, before, calendar),
            // A full chunk stays as it is; one that the host was writing cannot go on.
            Err(NoBlock::UsedUp) if copied_first => self.end_offline(chunk, calendar),
            Err(NoBlock::UsedUp) => self.record(queue, before, calendar),
            Err(NoBlock::NotErased(_)) => {
                self.erase_first(queue, Again::Step(chunk, step, is_bad), calendar);
            }
        }
    }

    /// Tries the first change of the tables again that waits, with an erased block in reserve if there is one to be had.
    fn try_again(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        if self.repairs().manager.is_waiting_for_erase(queue) {
            return self.erase_reserve(queue, calendar);
        }
        match self.hand(queue).again.pop_front() {
            None => {}
            Some(Again::Program(chunk, is_bad)) => self.repair_program(chunk, is_bad, calendar),
            Some(Again::Step(chunk, step, is_bad)) => {
                self.repair_step(queue, chunk, (step, is_bad), calendar)
            }
            Some(Again::Reset(chunk)) => self.go_on_with_reset(chunk, calendar),
        }
        self.go_on(queue, calendar);
    }

    /// Goes on with what a die is to do at once: changes of the tables that wait, resets, copies that a failed write waits for, then
    /// programs of the host.
    pub(super) fn go_on(&mut self, queue: u32, calendar: &mut impl Schedule<Event>) {
        let is_recovering = self.recovering.is_some();
        let hand = self.hand(queue);
        if is_recovering || hand.action.is_some() || hand.recorded.is_some() {
            return;
        }
        if !hand.again.is_empty() {
            return self.try_again(queue, calendar);
        }
        let chunks = self.config.geometry.chunks_per_unit;
        for reset in self.resets.take_all(|chunk| chunk.0 / chunks == queue) {
            self.begin_reset(reset, calendar);
        }
        if self.repairs().is_busy(queue) {
            return;
        }
        let manager = &self.repairs().manager;
        if manager.copies_first(queue)
            && let Some(chunk) = manager.next_to_migrate(queue)
        {
            return self.step(queue, chunk, calendar);
        }
        self.admit(queue, calendar);
    }

    /// Goes on with what dies do while nobody waits for them.
    pub(super) fn serve_idle(&mut self, calendar: &mut impl Schedule<Event>) {
        let is_idle = self.commands.len() == 0 && self.recovering.is_none() && self.flash.takes_time();
        if self.repairs.is_none() || !is_idle {
            return;
        }
        for queue in 0..self.config.geometry.units() {
            let is_free = !self.repairs().is_busy(queue);
            let die = wordline_nand::DieId(queue);
            if !is_free || !self.buffers.is_empty(queue) || !self.flash.is_at_rest(die) {
                continue;
            }
            let repairs = self.repairs.as_ref().expect("it has a manager");
            let manager = &repairs.manager;
            let journal = repairs.hands[queue as usize].journal.as_ref();
            let old = journal.map(Journal::other).filter(|block| self.chips().programmed(*block) > 0);
            if let Some(block) = old {
                self.erase_for(queue, (block, Action::EraseJournal), calendar);
            } else if manager.to_erase(queue).is_some() {
                self.erase_reserve(queue, calendar);
            } else if let Some(chunk) = manager.next_to_migrate(queue) {
                self.step(queue, chunk, calendar);
            }
        }
    }
}
