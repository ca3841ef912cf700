//! The work on a row: reads its blocks, computes unreadable ones, and applies host writes.

use wordline_device::{BlockDevice, Command};
use wordline_kernel::{Instant, Schedule};

use super::array::Array;
use super::contents::ParityUpdate;
use super::event::Event;
use super::host::Host;
use super::intervals::{Intervals, Of};
use super::layout::Striping;
use super::members::{CompletedCommand, Purpose};
use super::plan::{NextStep, Row};
use super::requests::Requests;
use super::settings::{Parity, Settings, Writes};
use super::stripe_cache::{HeadId, Job, SectorSet, Step, StripeCache, sectors};
use super::sync::Task;
use super::write_method::{MemberSet, WriteMethod, each};

/// The rows that the array works on: their blocks in memory, the batch of full stripes, and the rows that wait
/// for the log. It is handed the array, which it reads and writes, and the host, whose commands it completes.
pub(super) struct Stripes {
    pub(super) heads: StripeCache,
    /// Consecutive full stripes that are stored in one batch. Empty between events.
    pub(super) batch: Vec<HeadId>,
    /// Rows that wait for space in the partial parity log.
    pub(super) wait_for_log: Vec<HeadId>,
    /// `None` unless the intervals between writes are measured.
    pub(super) intervals: Option<Box<Intervals>>,
}

impl Stripes {
    /// The rows of an array without data in memory.
    pub(super) fn new(settings: &Settings) -> Self {
        let striping = settings.striping;
        let intervals = || Box::new(Intervals::new(striping.rows() * striping.members));
        Self {
            heads: StripeCache::new(settings.file.stripe_cache, striping.members),
            batch: Vec::new(),
            wait_for_log: Vec::new(),
            intervals: settings.file.intervals.then(intervals),
        }
    }

    /// Drops the data in memory after a power cut.
    pub(super) fn forget(&mut self, members: u64) {
        self.heads = StripeCache::new(self.heads.count(), members);
        self.batch.clear();
        self.wait_for_log.clear();
    }

    /// The row of a head that has work.
    pub(super) fn row_of<D: BlockDevice>(&self, id: HeadId, array: &Array<D>) -> Row {
        array.row(self.heads.get(id).row.expect("a head with work has a row"))
    }

    /// Notes writes to the blocks of these members in a row. `members`: how many members the array has.
    pub(super) fn note_block_writes(
        &mut self,
        row: u64,
        blocks: MemberSet,
        of: Of,
        now: Instant,
        members: u64,
    ) {
        let Some(intervals) = &mut self.intervals else { return };
        each(blocks).for_each(|member| intervals.written(row * members + u64::from(member), of, now));
    }

    /// Continues the work of a head that was queued.
    pub(super) fn handle_head<D: BlockDevice>(
        &mut self,
        id: HeadId,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let row = self.row_of(id, array);
        if row.missing.count_ones() > 1 && !self.can_serve_reads(id, &row) {
            self.fail_row(id, array, host, calendar);
            return self.release(id, array);
        }
        self.drop_stale(id, &row, array, host);
        self.revise_job(id, &row, calendar.now(), array, host);
        if self.heads.get(id).job == Job::None {
            if !self.begin_job(id, &row, array, host) {
                return self.release(id, array);
            }
            host.attribution.begin(id, calendar.now());
        }
        let task = array.sync.as_ref().map(|sync| sync.task);
        loop {
            match row.next_step(self.heads.get(id), array.settings.file.read_modify_write, task) {
                NextStep::Fetch(blocks) => return self.fetch(id, &row, blocks, array, calendar),
                NextStep::Recover(unknown) => self.recover_blocks(id, &row, unknown, array),
                NextStep::Act => return self.act(id, &row, array, host, calendar),
            }
        }
    }

    /// Whether the work on a row only reads blocks on members that are present.
    fn can_serve_reads(&self, id: HeadId, row: &Row) -> bool {
        let head = self.heads.get(id);
        let is_there = |(_, member): &(u32, u16)| row.missing >> member & 1 == 0;
        matches!(head.job, Job::None | Job::Read)
            && !head.reads.is_empty()
            && head.reads.iter().all(is_there)
            && head.pending.is_empty()
            && head.stale == 0
            && !head.turns.sync
    }

    /// Starts the next job of a stripe head. The order is: deferred parity that has to be written, reads,
    /// writes, synchronisation. Returns false if there is no work.
    fn begin_job<D: BlockDevice>(&mut self, id: HeadId, row: &Row, array: &Array<D>, host: &Host) -> bool {
        let stays_behind = array.settings.file.parity == Parity::Cache && row.missing == 0;
        let head = self.heads.get_mut(id);
        (head.fetched, head.computed, head.way) = (0, 0, None);
        if std::mem::take(&mut head.turns.raw) {
            head.known &= !row.parity;
        }
        head.job = if head.stale != 0 && (row.missing != 0 || head.turns.settle || head.turns.sync) {
            Job::Settle
        } else if !head.reads.is_empty() {
            Job::Read
        } else if !head.pending.is_empty() {
            if stays_behind { Job::WriteData } else { Job::Write }
        } else if head.turns.sync {
            Job::Sync
        } else {
            return false;
        };
        match head.job {
            Job::Write | Job::WriteData => self.take_writes(id, row, array.settings.striping, &host.requests),
            Job::Sync if matches!(array.sync.as_ref().map(|sync| sync.task), Some(Task::Scrub)) => {
                self.heads.get_mut(id).known = 0;
            }
            _ => {}
        }
        let head = self.heads.get_mut(id);
        let blocks = row.blocks(head);
        let reconstruct =
            row.untrusted || head.job == Job::Settle && !head.has_delta && head.known & row.parity == 0;
        head.way = Some(blocks.way(array.settings.file.read_modify_write, reconstruct));
        true
    }

    /// Revises a job that began before a member failed.
    fn revise_job<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        now: Instant,
        array: &mut Array<D>,
        host: &mut Host,
    ) {
        let head = self.heads.get_mut(id);
        match head.job {
            Job::WriteData if row.missing != 0 => {
                let mut writes = std::mem::take(&mut head.current);
                writes.append(&mut head.pending);
                (head.pending, head.job) = (writes, Job::None);
            }
            Job::Settle if head.stale == 0 => {
                head.job = Job::None;
                self.complete_writes(id, row, now, array, host);
            }
            _ => {}
        }
    }

    /// Makes the waiting writes of a row its current writes.
    fn take_writes(&mut self, id: HeadId, row: &Row, striping: Striping, requests: &Requests) {
        let head = self.heads.get_mut(id);
        head.current.append(&mut head.pending);
        head.covered.fill(0);
        (head.written, head.whole) = (0, 0);
        let block = sectors(&(0..striping.block));
        for request in &head.current {
            let command = requests.get(*request).command;
            head.turns.fua |= command.fua;
            for (member, part, _) in striping.parts(row.row, command.sector..command.sector + command.sectors)
            {
                let covered = &mut head.covered[usize::from(member)];
                *covered |= sectors(&part);
                head.written |= 1 << member;
                head.whole |= MemberSet::from(*covered == block) << member;
            }
        }
    }

    /// Reads blocks. A background write first waits for the end of other pre-reads.
    fn fetch<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        array: &mut Array<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let head = self.heads.get_mut(id);
        let is_write = matches!(head.job, Job::Write | Job::WriteData);
        if is_write && !head.turns.preread && array.settings.file.writes == Writes::Background {
            return self.heads.delay(id);
        }
        head.step = Step::Fetching;
        head.left = blocks.count_ones();
        head.fetched += blocks.count_ones();
        if is_write || head.job == Job::Settle {
            array.counts.pre_reads += u64::from(blocks.count_ones());
        }
        let block = array.settings.striping.block;
        let read = Command { sector: row.row * block, sectors: block, ..Command::default() };
        for member in each(blocks) {
            self.send_fetch(id, member, read, array, calendar);
        }
    }

    fn send_fetch<D: BlockDevice>(
        &self,
        id: HeadId,
        member: u16,
        read: Command,
        array: &mut Array<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if self.heads.get(id).job == Job::Sync {
            array.members.note_sync(member, read.sectors);
        }
        array.send(member, Purpose::Fetch { head: id }, read, None, calendar);
    }

    /// Completes a read of a block, or of a part of it. A block that could not be read is read again in parts.
    pub(super) fn complete_fetch<D: BlockDevice>(
        &mut self,
        id: HeadId,
        over: CompletedCommand,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let row = self.row_of(id, array);
        let (member, bit) = (over.sent.member, 1 << over.sent.member);
        let Striping { block, .. } = array.settings.striping;
        let Command { sector, sectors: count, .. } = over.sent.command;
        let first = sector - row.row * block;
        let head = self.heads.get_mut(id);
        head.left -= 1;
        if over.failed && count > array.settings.part {
            let part = array.settings.part;
            head.split |= bit;
            head.unread[usize::from(member)] = 0;
            head.left += (block / part) as u32;
            for sector in (sector..sector + block).step_by(part as usize) {
                let read = Command { sector, sectors: part, ..Command::default() };
                self.send_fetch(id, member, read, array, calendar);
            }
        } else if over.failed {
            let before = if count == block { 0 } else { head.unread[usize::from(member)] };
            head.unread[usize::from(member)] = before | sectors(&(first..first + count));
            head.bad |= bit;
        } else if !over.gone {
            if let (Some(followed), Some(found)) = (&mut array.followed, over.found) {
                followed.fetched(id, (member, first as usize), &found, bit == row.parity);
            }
            if count == block {
                self.note_fetched(id, &row, bit, array);
            }
        }
        let head = self.heads.get_mut(id);
        if head.left == 0 {
            let whole = std::mem::take(&mut head.split) & !head.bad & !row.missing;
            self.note_fetched(id, &row, whole, array);
            host.attribution.end_step(id, over.sent.why);
            self.heads.queue(id);
        }
    }

    /// Notes blocks that were read as a whole.
    fn note_fetched<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        array: &mut Array<D>,
    ) {
        let head = self.heads.get_mut(id);
        head.known |= blocks;
        if blocks & row.parity != 0 && head.stale != 0 {
            head.turns.raw = !head.has_delta;
            if let (Some(followed), true) = (&mut array.followed, head.has_delta) {
                followed.apply_delta(id, row.parity_member);
            }
            head.has_delta = false;
        }
    }

    /// Recovers unreadable sectors. Those that one block of the row lacks are computed from the other blocks.
    /// Those that several blocks lack are lost, and count as zeroes from then on.
    fn recover_blocks<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        unknown: MemberSet,
        array: &mut Array<D>,
    ) {
        let block = sectors(&(0..array.settings.striping.block));
        let head = self.heads.get(id);
        let lacks = |member: u16| match row.missing >> member & 1 {
            1 => block,
            _ => head.unread[usize::from(member)],
        };
        let (mut any, mut several): (SectorSet, SectorSet) = (0, 0);
        for member in each(unknown) {
            several |= any & lacks(member);
            any |= lacks(member);
        }
        // Parity of which parts were read is without the deferred update.
        let is_behind = head.turns.raw || unknown & row.parity != 0;
        let doubtful = match (row.untrusted, is_behind) {
            (true, _) => block,
            (false, true) => head.stale,
            (false, false) => 0,
        };
        let data = unknown & row.data();
        let lost = several | doubtful & each(data).fold(0, |all, member| all | lacks(member));
        let is_intact = |member: u16| lacks(member) & lost == 0;
        let repaired = unknown & head.bad;
        let corrected = each(repaired).filter(|member| is_intact(*member)).count() as u64;
        // The parity of the other sectors is in doubt too.
        let is_partial = row.untrusted && each(data).any(|member| lacks(member) != block);
        for member in each(data) {
            let lacks = lacks(member);
            if let Some(followed) = &mut array.followed {
                followed.compute(id, member, row.all, lacks & !several);
                followed.zero(id, member, lacks & several);
            }
            array.note_lost(row, member, (lacks & several, lacks & lost & !several));
        }
        array.counts.corrected += corrected;
        if lost != 0 {
            array.durability.log.forget(row.row);
            self.heads.get_mut(id).turns.lost = true;
        }
        if row.untrusted {
            // From now on the other blocks and the parity define the content of the block, or the parity is
            // computed again.
            array.durability.rows.is_right(row.row);
        }
        let head = self.heads.get_mut(id);
        head.known |= data;
        head.computed |= data;
        // Parity that was read is invalid if its update was deferred, or if sectors of the row are zeroes now.
        let replaces_parity = several != 0 || is_partial;
        if head.turns.raw || replaces_parity {
            head.known &= !row.parity;
            head.turns.raw = false;
        }
        if (replaces_parity || unknown & row.parity != 0) && row.data() & !head.known == 0 {
            head.known |= row.parity;
            head.rewrite |= row.parity;
            if let Some(followed) = &mut array.followed {
                followed.compute(id, row.parity_member, row.all, block);
            }
        }
        head.rewrite |= repaired;
        head.bad &= !repaired;
    }

    /// Executes the job: computes parity and writes. All needed blocks are in memory.
    fn act<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        self.heads.end_preread(id);
        let writes = match self.heads.get(id).job {
            Job::Write => return self.write(id, row, array, host, calendar),
            Job::WriteData => return self.write_data(id, row, array, host, calendar),
            Job::Settle => self.compute_parity(id, row, array),
            Job::Read => {
                self.complete_reads(id, row, calendar.now(), array, host);
                0
            }
            Job::Sync => self.sync_row(id, row, array),
            Job::None => 0,
        };
        self.store(id, row, writes, array, host, calendar);
    }

    /// Computes the parity of a row whose data changed, and counts the write method.
    fn compute_parity<D: BlockDevice>(&mut self, id: HeadId, row: &Row, array: &mut Array<D>) -> MemberSet {
        let head = self.heads.get_mut(id);
        if head.known & row.parity == 0 {
            head.known |= row.parity;
            let counter = if head.fetched == 0 {
                &mut array.counts.full_stripe_writes
            } else {
                &mut array.counts.reconstruct_writes
            };
            *counter += 1;
            if let Some(followed) = &mut array.followed {
                followed.compute(id, row.parity_member, row.all, SectorSet::MAX);
            }
        } else {
            array.counts.read_modify_writes += 1;
        }
        row.parity
    }

    /// Applies the current writes to the blocks in memory.
    fn apply<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        with: ParityUpdate,
        array: &mut Array<D>,
        host: &Host,
    ) {
        let Array { followed: Some(followed), settings, .. } = array else { return };
        for request in &self.heads.get(id).current {
            let command = &host.requests.get(*request).command;
            let range = command.sector..command.sector + command.sectors;
            for (member, part, at) in settings.striping.parts(row.row, range) {
                followed.write(id, member, part, (*request, command, at), with);
            }
        }
    }

    /// Writes blocks together with their parity.
    fn write<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let way = row.way(self.heads.get(id), array.settings.file.read_modify_write);
        let modifies = way == WriteMethod::Modify && row.has_parity();
        self.log_row(id, row, modifies, array);
        self.apply(
            id,
            row,
            if modifies { ParityUpdate::Parity(row.parity_member) } else { ParityUpdate::None },
            array,
            host,
        );
        let head = self.heads.get_mut(id);
        head.way = row.has_parity().then_some(way);
        head.known = (head.known | head.written) & !if modifies { 0 } else { row.parity };
        let writes = head.written;
        let sent = writes & array.durability.held.writable();
        array.counts.data_writes += u64::from(sent.count_ones());
        self.note_block_writes(row.row, sent, Of::Data, calendar.now(), array.settings.striping.members);
        let head = self.heads.get_mut(id);
        let is_full = head.whole == row.data() && head.rewrite == 0 && row.missing == 0;
        let parity = if row.has_parity() { self.compute_parity(id, row, array) } else { 0 };
        if is_full && !self.heads.get(id).turns.fua {
            self.heads.full(id, true);
            return self.add_to_batch(id, row, array, host, calendar);
        }
        self.log_and_store(id, row, writes | parity, array, host, calendar);
    }

    /// Writes the sectors of the current writes, and records what the deferred parity update needs.
    fn write_data<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let epoch = host.requests.epoch;
        let head = self.heads.get_mut(id);
        let can_follow = head.written & !head.known == 0 && !row.untrusted;
        let with = if !can_follow {
            head.has_delta = false;
            head.known &= !row.parity;
            ParityUpdate::None
        } else if head.known & row.parity != 0 {
            ParityUpdate::Parity(row.parity_member)
        } else if head.has_delta || head.stale == 0 {
            if let (Some(followed), false) = (&mut array.followed, head.has_delta) {
                followed.begin_delta(id);
            }
            head.has_delta = true;
            ParityUpdate::Delta
        } else {
            ParityUpdate::None
        };
        head.known |= head.whole;
        if head.stale == 0 {
            head.since = (calendar.now(), epoch);
        }
        head.stale |= head.covered.iter().fold(0, |all, covered| all | covered);
        let written = head.written;
        let sent = written & array.durability.held.writable();
        array.counts.data_writes += u64::from(sent.count_ones());
        self.note_block_writes(row.row, sent, Of::Data, calendar.now(), array.settings.striping.members);
        self.apply(id, row, with, array, host);
        self.store_parts(id, row, array, host, calendar);
    }
}
