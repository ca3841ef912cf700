//! The work on a row: reads its blocks, computes unreadable ones, and applies host writes.

use wordline_device::{BlockDevice, Command};
use wordline_kernel::{Instant, Schedule};

use super::contents::ParityUpdate;
use super::intervals::Of;
use super::members::{CompletedCommand, Purpose};
use super::plan::{NextStep, Row};
use super::stripe_cache::{HeadId, Job, SectorSet, Step, sectors};
use super::sync::Task;
use super::write_method::{MemberSet, WriteMethod, each};
use super::{Event, Parity, Raid5};

impl<D: BlockDevice> Raid5<D> {
    pub(super) fn row_of(&self, id: HeadId) -> Row {
        let row = self.heads.get(id).row.expect("a head with work has a row");
        let parity_member = self.settings.striping.parity(row);
        Row {
            row,
            parity_member,
            parity: 1 << parity_member,
            all: MemberSet::MAX >> (64 - self.settings.striping.members),
            missing: self.durability.held.missing(row),
            untrusted: self.durability.rows.is_dirty(row),
            logged: self.durability.log.replays(row),
        }
    }

    /// Continues the work of a head that was queued.
    pub(super) fn handle_head(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        let row = self.row_of(id);
        if row.missing.count_ones() > 1 && !self.can_serve_reads(id, &row) {
            self.fail_row(id, calendar);
            return self.release(id);
        }
        self.drop_stale(id, &row);
        self.revise_job(id, &row, calendar.now());
        if self.heads.get(id).job == Job::None {
            if !self.begin_job(id, &row) {
                return self.release(id);
            }
            if let Some(explainer) = &mut self.explainer {
                explainer.begin(id, calendar.now());
            }
        }
        let task = self.sync.as_ref().map(|sync| sync.task);
        loop {
            match row.next_step(self.heads.get(id), self.settings.file.read_modify_write, task) {
                NextStep::Fetch(blocks) => return self.fetch(id, &row, blocks, calendar),
                NextStep::Recover(unknown) => self.recover_blocks(id, &row, unknown),
                NextStep::Act => return self.act(id, &row, calendar),
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
    fn begin_job(&mut self, id: HeadId, row: &Row) -> bool {
        let stays_behind = self.settings.file.parity == Parity::Cache && row.missing == 0;
        let head = self.heads.get_mut(id);
        head.fetched = 0;
        head.way = None;
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
            Job::Write | Job::WriteData => self.take_writes(id, row),
            Job::Sync if matches!(self.sync.as_ref().map(|sync| sync.task), Some(Task::Scrub)) => {
                self.heads.get_mut(id).known = 0;
            }
            _ => {}
        }
        let head = self.heads.get_mut(id);
        let blocks = row.blocks(head);
        let reconstruct =
            row.untrusted || head.job == Job::Settle && !head.has_delta && head.known & row.parity == 0;
        head.way = Some(blocks.way(self.settings.file.read_modify_write, reconstruct));
        true
    }

    /// Revises a job that began before a member failed.
    fn revise_job(&mut self, id: HeadId, row: &Row, now: Instant) {
        let head = self.heads.get_mut(id);
        match head.job {
            Job::WriteData if row.missing != 0 => {
                let mut writes = std::mem::take(&mut head.current);
                writes.append(&mut head.pending);
                (head.pending, head.job) = (writes, Job::None);
            }
            Job::Settle if head.stale == 0 => {
                head.job = Job::None;
                self.complete_writes(id, row, now);
            }
            _ => {}
        }
    }

    /// Makes the waiting writes of a row its current writes.
    fn take_writes(&mut self, id: HeadId, row: &Row) {
        let striping = self.settings.striping;
        let Self { heads, requests, .. } = self;
        let head = heads.get_mut(id);
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

    /// Reads blocks. A write first waits for the end of other pre-reads.
    fn fetch(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let head = self.heads.get_mut(id);
        let is_write = matches!(head.job, Job::Write | Job::WriteData);
        if is_write && !head.turns.preread {
            return self.heads.delay(id);
        }
        head.step = Step::Fetching;
        head.left = blocks.count_ones();
        head.fetched += blocks.count_ones();
        if is_write || head.job == Job::Settle {
            self.counts.pre_reads += u64::from(blocks.count_ones());
        }
        let block = self.settings.striping.block;
        let read = Command { sector: row.row * block, sectors: block, ..Command::default() };
        for member in each(blocks) {
            self.send(member, Purpose::Fetch { head: id }, read, None, calendar);
        }
    }

    /// Completes a read of a block.
    pub(super) fn complete_fetch(&mut self, id: HeadId, over: CompletedCommand) {
        let row = self.row_of(id);
        let (member, bit) = (over.sent.member, 1 << over.sent.member);
        let head = self.heads.get_mut(id);
        head.left -= 1;
        if over.failed {
            head.bad |= bit;
        } else if !over.gone {
            head.known |= bit;
            if let (Some(followed), Some(found)) = (&mut self.followed, over.found) {
                followed.fetched(id, member, found, bit == row.parity);
            }
            if bit == row.parity && head.stale != 0 {
                head.turns.raw = !head.has_delta;
                if let (Some(followed), true) = (&mut self.followed, head.has_delta) {
                    followed.apply_delta(id, member);
                }
                head.has_delta = false;
            }
        }
        if self.heads.get(id).left == 0 {
            self.end_step(id, over.sent.why);
            self.heads.queue(id);
        }
    }

    /// Recovers unreadable blocks. A single one is computed from the other blocks. Several are lost, and
    /// count as zeroes from then on.
    fn recover_blocks(&mut self, id: HeadId, row: &Row, unknown: MemberSet) {
        let block = sectors(&(0..self.settings.striping.block));
        let one = unknown.count_ones() == 1;
        let head = self.heads.get_mut(id);
        let lost: SectorSet = match (one, row.untrusted, head.turns.raw) {
            (false, ..) | (true, true, _) => block,
            (true, false, true) => head.stale,
            (true, false, false) => 0,
        };
        let data = unknown & row.data();
        for member in each(data) {
            if let Some(followed) = &mut self.followed {
                if one { followed.compute(id, member, row.all) } else { followed.zero(id, member) }
            }
            let lost = self.durability.lost.add(row.row, member, lost);
            self.counts.lost += lost;
            let of_reason = match (one, row.untrusted) {
                (false, _) => &mut self.counts.lost_unreadable,
                (true, true) => &mut self.counts.lost_in_doubt,
                (true, false) => &mut self.counts.lost_deferred_parity,
            };
            *of_reason += lost;
        }
        if lost != 0 || !one {
            self.durability.log.forget(row.row);
            self.heads.get_mut(id).turns.lost = true;
        }
        if row.untrusted {
            // From now on the other blocks and the parity define the content of the block, or the parity is
            // computed again.
            self.durability.rows.is_right(row.row);
        }
        let head = self.heads.get_mut(id);
        head.known |= data;
        // Parity that was read is invalid if its update was deferred, or if blocks of the row are zeroes now.
        if head.turns.raw || !one {
            head.known &= !row.parity;
            head.turns.raw = false;
        }
        let needs_parity = !one || unknown & row.parity != 0;
        if needs_parity && row.data() & !head.known == 0 {
            head.known |= row.parity;
            head.rewrite |= row.parity;
            if let Some(followed) = &mut self.followed {
                followed.compute(id, row.parity_member, row.all);
            }
        }
        let repaired = unknown & head.bad;
        head.rewrite |= repaired;
        head.bad &= !repaired;
        if lost == 0 {
            self.counts.corrected += u64::from(repaired.count_ones());
        }
    }

    /// Executes the job: computes parity and writes. All needed blocks are in memory.
    fn act(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.heads.end_preread(id);
        let writes = match self.heads.get(id).job {
            Job::Write => return self.write(id, row, calendar),
            Job::WriteData => return self.write_data(id, row, calendar),
            Job::Settle => self.compute_parity(id, row),
            Job::Read => {
                self.complete_reads(id, row, calendar.now());
                0
            }
            Job::Sync => self.sync_row(id, row),
            Job::None => 0,
        };
        self.store(id, row, writes, calendar);
    }

    /// Computes the parity of a row whose data changed, and counts the write method.
    fn compute_parity(&mut self, id: HeadId, row: &Row) -> MemberSet {
        let head = self.heads.get_mut(id);
        if head.known & row.parity == 0 {
            head.known |= row.parity;
            let counter = if head.fetched == 0 {
                &mut self.counts.full_stripe_writes
            } else {
                &mut self.counts.reconstruct_writes
            };
            *counter += 1;
            if let Some(followed) = &mut self.followed {
                followed.compute(id, row.parity_member, row.all);
            }
        } else {
            self.counts.read_modify_writes += 1;
        }
        row.parity
    }

    /// Applies the current writes to the blocks in memory.
    fn apply(&mut self, id: HeadId, row: &Row, with: ParityUpdate) {
        let Self { followed: Some(followed), heads, requests, settings, .. } = self else { return };
        for request in &heads.get(id).current {
            let command = &requests.get(*request).command;
            let range = command.sector..command.sector + command.sectors;
            for (member, part, at) in settings.striping.parts(row.row, range) {
                followed.write(id, member, part, (*request, command, at), with);
            }
        }
    }

    /// Writes blocks together with their parity.
    fn write(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        let way = row.way(self.heads.get(id), self.settings.file.read_modify_write);
        let modifies = way == WriteMethod::Modify && row.has_parity();
        self.log_row(id, row, modifies);
        self.apply(
            id,
            row,
            if modifies { ParityUpdate::Parity(row.parity_member) } else { ParityUpdate::None },
        );
        let head = self.heads.get_mut(id);
        head.way = row.has_parity().then_some(way);
        head.known = (head.known | head.written) & !if modifies { 0 } else { row.parity };
        let writes = head.written;
        self.counts.data_writes += u64::from(writes.count_ones());
        self.note_block_writes(row.row, writes, Of::Data, calendar.now());
        let head = self.heads.get_mut(id);
        let is_full = head.whole == row.data() && head.rewrite == 0 && row.missing == 0;
        let parity = if row.has_parity() { self.compute_parity(id, row) } else { 0 };
        if is_full && !self.heads.get(id).turns.fua {
            self.heads.full(id, true);
            return self.add_to_batch(id, row, calendar);
        }
        self.log_and_store(id, row, writes | parity, calendar);
    }

    /// Writes the sectors of the current writes, and records what the deferred parity update needs.
    fn write_data(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        let epoch = self.requests.epoch;
        let head = self.heads.get_mut(id);
        let can_follow = head.written & !head.known == 0 && !row.untrusted;
        let with = if !can_follow {
            head.has_delta = false;
            head.known &= !row.parity;
            ParityUpdate::None
        } else if head.known & row.parity != 0 {
            ParityUpdate::Parity(row.parity_member)
        } else if head.has_delta || head.stale == 0 {
            if let (Some(followed), false) = (&mut self.followed, head.has_delta) {
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
        self.counts.data_writes += u64::from(written.count_ones());
        self.note_block_writes(row.row, written, Of::Data, calendar.now());
        self.apply(id, row, with);
        self.store_parts(id, row, calendar);
    }
}
