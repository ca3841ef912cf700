//! The work on a row: which blocks it needs, how those that cannot be read are had, what is computed and written.

use std::ops::Range;

use wordline_kernel::{Instant, Schedule};
use wordline_ssd::device::Content;
use wordline_ssd::{BlockDevice, Command, Operation};

use super::contents::With;
use super::heads::{HeadId, Job, Sectors, Step, sectors};
use super::members::{Over, Why};
use super::sync::Task;
use super::way::{Blocks, Set, Way, each};
use super::{Event, Parity, Raid5};

/// The most rows that are stored together: `MAX_STRIPE_BATCH` of md.
const MOST_IN_BATCH: usize = 8;

/// A row that is worked on.
#[derive(Clone, Copy, Debug)]
struct Row {
    row: u64,
    /// The member of the parity, and it as a set.
    parity_member: u16,
    parity: Set,
    all: Set,
    /// Members of which the block cannot be read because they do not hold it.
    missing: Set,
    /// Whether parity may be wrong.
    untrusted: bool,
}

impl Row {
    fn data(&self) -> Set {
        self.all & !self.parity
    }

    fn has_parity(&self) -> bool {
        self.missing & self.parity == 0
    }
}

/// The next step of the work on a row.
enum Next {
    /// Blocks are to be read.
    Fetch(Set),
    /// Blocks that cannot be read are to be had from the others, which are in memory.
    Recover(Set),
    /// All that is needed is in memory.
    Act,
}

impl<D: BlockDevice> Raid5<D> {
    fn row_of(&self, id: HeadId) -> Row {
        let row = self.heads.get(id).row.expect("a head with work has a row");
        let parity_member = self.settings.striping.parity(row);
        Row {
            row,
            parity_member,
            parity: 1 << parity_member,
            all: Set::MAX >> (64 - self.settings.striping.members),
            missing: self.members.missing(row),
            untrusted: self.intent.is_untrusted(row),
        }
    }

    /// Goes on with the work of a head whose turn it is.
    pub(super) fn handle_head(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        let row = self.row_of(id);
        if row.missing.count_ones() > 1 {
            self.give_row_up(id, calendar);
            return self.release(id);
        }
        self.give_stale_up(id, &row);
        self.think_again(id, &row, calendar.now());
        if self.heads.get(id).job == Job::None && !self.begin_job(id, &row) {
            return self.release(id);
        }
        loop {
            match self.next_step(id, &row) {
                Next::Fetch(blocks) => return self.fetch(id, &row, blocks, calendar),
                Next::Recover(unknown) => self.recover_blocks(id, &row, unknown),
                Next::Act => return self.act(id, &row, calendar),
            }
        }
    }

    /// Takes up the work that comes first: parity that has to be written, reads, writes, and the row's turn in a synchronisation.
    fn begin_job(&mut self, id: HeadId, row: &Row) -> bool {
        let stays_behind = self.settings.file.parity == Parity::Cache && row.missing == 0;
        let head = self.heads.get_mut(id);
        head.fetched = 0;
        head.way = None;
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
        let blocks = self.blocks(id, row);
        let head = self.heads.get_mut(id);
        let reconstruct =
            row.untrusted || head.job == Job::Settle && !head.has_delta && head.known & row.parity == 0;
        head.way = Some(blocks.way(self.settings.file.read_modify_write, reconstruct));
        true
    }

    /// A job that began before a member failed may be another one now.
    fn think_again(&mut self, id: HeadId, row: &Row, now: Instant) {
        let head = self.heads.get_mut(id);
        match head.job {
            Job::WriteData if row.missing != 0 => {
                let mut writes = std::mem::take(&mut head.current);
                writes.append(&mut head.pending);
                (head.pending, head.job) = (writes, Job::None);
            }
            Job::Settle if head.stale == 0 => {
                head.job = Job::None;
                self.end_writes(id, row, now);
            }
            _ => {}
        }
    }

    /// The waiting writes of a row become its current ones.
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
                head.whole |= Set::from(*covered == block) << member;
            }
        }
    }

    fn blocks(&self, id: HeadId, row: &Row) -> Blocks {
        let head = self.heads.get(id);
        let is_write = matches!(head.job, Job::Write | Job::WriteData);
        let of_writes = |set: Set| if is_write { set } else { 0 };
        Blocks {
            all: row.all,
            parity: row.parity,
            written: of_writes(head.written),
            whole: of_writes(head.whole),
            known: head.known,
            readable: !(row.missing | head.bad),
        }
    }

    /// The blocks that the work needs in memory.
    fn needs(&self, id: HeadId, row: &Row) -> Set {
        let head = self.heads.get(id);
        let needs = |way: Way| self.blocks(id, row).needs(way);
        match (head.job, head.way) {
            (Job::None, _) => 0,
            (Job::Write, _) if !row.has_parity() => head.written & !head.whole,
            (Job::Write, _) => {
                let level = self.settings.file.read_modify_write;
                needs(self.blocks(id, row).way(level, row.untrusted))
            }
            (Job::WriteData, Some(Way::Modify)) => head.written,
            (Job::WriteData, _) => 0,
            (Job::Settle, Some(way)) => needs(way),
            (Job::Settle, None) => needs(Way::Reconstruct),
            (Job::Read, _) => head.reads.iter().fold(0, |set, (_, member)| set | 1 << member),
            (Job::Sync, _) => match self.sync.as_ref().map(|sync| sync.task) {
                Some(Task::Rebuild { member }) => 1 << member,
                Some(_) => row.all & !row.missing,
                None => 0,
            },
        }
    }

    fn next_step(&self, id: HeadId, row: &Row) -> Next {
        let head = self.heads.get(id);
        let wanted = self.needs(id, row) & !head.known;
        let unreadable = row.missing | head.bad;
        let cannot = wanted & unreadable;
        let others = if cannot == 0 { wanted } else { row.all & !head.known };
        match (others & !unreadable, cannot) {
            (0, 0) => Next::Act,
            (0, _) => Next::Recover(row.all & !head.known),
            (fetch, _) => Next::Fetch(fetch),
        }
    }

    /// Reads blocks, for a write once the pre-reads of others are over.
    fn fetch(&mut self, id: HeadId, row: &Row, blocks: Set, calendar: &mut impl Schedule<Event<D::Event>>) {
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
            self.send(member, Why::Fetch { head: id }, read, None, calendar);
        }
    }

    /// A block was read, or could not be.
    pub(super) fn fetch_over(&mut self, id: HeadId, over: Over) {
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
            self.heads.queue(id);
        }
    }

    /// Has blocks that cannot be read: one is computed from the others; more are lost, and count as zeroes from then on.
    fn recover_blocks(&mut self, id: HeadId, row: &Row, unknown: Set) {
        let block = sectors(&(0..self.settings.striping.block));
        let one = unknown.count_ones() == 1;
        let head = self.heads.get_mut(id);
        let lost: Sectors = match (one, row.untrusted, head.turns.raw) {
            (false, ..) | (true, true, _) => block,
            (true, false, true) => head.stale,
            (true, false, false) => 0,
        };
        let data = unknown & row.data();
        for member in each(data) {
            if let Some(followed) = &mut self.followed {
                if one { followed.compute(id, member, row.all) } else { followed.zero(id, member) }
            }
            self.counts.lost += self.lost.add(row.row, member, lost);
        }
        if row.untrusted {
            // From now on the block is what the others and the parity say, or the parity is computed anew.
            self.intent.is_right(row.row);
        }
        let head = self.heads.get_mut(id);
        head.known |= data;
        // Parity that was read does not count where it stayed behind, or where blocks of the row are zeroes now.
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
            self.counts.repaired += u64::from(repaired.count_ones());
        }
    }

    /// All that the work needs is in memory: computes, and writes.
    fn act(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.heads.preread_over(id);
        let writes = match self.heads.get(id).job {
            Job::Write => return self.write(id, row, calendar),
            Job::WriteData => return self.write_data(id, row, calendar),
            Job::Settle => self.compute_parity(id, row),
            Job::Read => {
                self.answer_reads(id, row, calendar.now());
                0
            }
            Job::Sync => self.sync_row(id, row),
            Job::None => 0,
        };
        self.store(id, row, writes, calendar);
    }

    /// Computes the parity of a row whose data changed, and counts how.
    fn compute_parity(&mut self, id: HeadId, row: &Row) -> Set {
        let head = self.heads.get_mut(id);
        if head.known & row.parity == 0 {
            head.known |= row.parity;
            let counter = if head.fetched == 0 {
                &mut self.counts.full_stripes
            } else {
                &mut self.counts.reconstructed
            };
            *counter += 1;
            if let Some(followed) = &mut self.followed {
                followed.compute(id, row.parity_member, row.all);
            }
        } else {
            self.counts.modified += 1;
        }
        row.parity
    }

    /// Applies the current writes to the blocks in memory.
    fn apply(&mut self, id: HeadId, row: &Row, with: With) {
        let Self { followed: Some(followed), heads, requests, settings, .. } = self else { return };
        for request in &heads.get(id).current {
            let command = &requests.get(*request).command;
            let range = command.sector..command.sector + command.sectors;
            for (member, part, at) in settings.striping.parts(row.row, range) {
                followed.write(id, member, part, (*request, command, at), with);
            }
        }
    }

    /// Writes whole blocks and their parity.
    fn write(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        let way = self.blocks(id, row).way(self.settings.file.read_modify_write, row.untrusted);
        let modifies = way == Way::Modify && row.has_parity();
        self.apply(id, row, if modifies { With::Parity(row.parity_member) } else { With::Nothing });
        let head = self.heads.get_mut(id);
        head.way = row.has_parity().then_some(way);
        head.known = (head.known | head.written) & !if modifies { 0 } else { row.parity };
        let writes = head.written;
        self.counts.data_writes += u64::from(writes.count_ones());
        let is_full = head.whole == row.data() && head.rewrite == 0 && row.missing == 0;
        let parity = if row.has_parity() { self.compute_parity(id, row) } else { 0 };
        if is_full && !self.heads.get(id).turns.fua {
            self.heads.full(id, true);
            return self.add_to_batch(id, row, calendar);
        }
        self.store(id, row, writes | parity, calendar);
    }

    /// A full stripe goes to the members together with those just before it in the same chunk.
    fn add_to_batch(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        let of_chunk = self.settings.striping.stripe_of(row.row);
        let goes_on = self.batch.last().is_some_and(|last| {
            let last = self.heads.get(*last).row.expect("it has work");
            last + 1 == row.row && self.settings.striping.stripe_of(last) == of_chunk
        });
        if !goes_on || self.batch.len() == MOST_IN_BATCH {
            self.store_batch(calendar);
        }
        self.batch.push(id);
    }

    /// Stores the rows that are stored together; whether there were any.
    pub(super) fn store_batch(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut batch = std::mem::take(&mut self.batch).into_iter();
        let Some(first) = batch.next() else { return false };
        let row = self.row_of(first);
        for id in batch {
            self.heads.get_mut(id).step = Step::Storing;
            let row = self.row_of(id).row;
            self.intent.mark(row);
            self.heads.get_mut(first).batch.push(id);
        }
        self.store(first, &row, row.all, calendar);
        true
    }

    /// Writes what the current writes cover, and notes what parity needs to come after.
    fn write_data(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        let epoch = self.requests.epoch;
        let head = self.heads.get_mut(id);
        let can_follow = head.written & !head.known == 0 && !row.untrusted;
        let with = if !can_follow {
            head.has_delta = false;
            head.known &= !row.parity;
            With::Nothing
        } else if head.known & row.parity != 0 {
            With::Parity(row.parity_member)
        } else if head.has_delta || head.stale == 0 {
            if let (Some(followed), false) = (&mut self.followed, head.has_delta) {
                followed.begin_delta(id);
            }
            head.has_delta = true;
            With::Delta
        } else {
            With::Nothing
        };
        head.known |= head.whole;
        if head.stale == 0 {
            head.since = (calendar.now(), epoch);
        }
        head.stale |= head.covered.iter().fold(0, |all, covered| all | covered);
        self.counts.data_writes += u64::from(head.written.count_ones());
        self.apply(id, row, with);
        self.store_parts(id, row, calendar);
    }

    /// Writes the sectors that the current writes cover, run by run, and whole blocks that could not be read.
    fn store_parts(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.intent.mark(row.row);
        let whole = 0..self.settings.striping.block;
        let head = self.heads.get_mut(id);
        head.step = Step::Storing;
        let rewrite = std::mem::take(&mut head.rewrite) & !row.missing;
        let written = head.written;
        let mut parts: Vec<(u16, Range<u64>)> = each(rewrite).map(|member| (member, whole.clone())).collect();
        for member in each(written & !rewrite) {
            let mut covered = head.covered[usize::from(member)];
            let mut from = 0;
            while covered != 0 {
                let skip = u64::from(covered.trailing_zeros());
                let run = u64::from((covered >> skip).trailing_ones());
                parts.push((member, from + skip..from + skip + run));
                from += skip + run;
                covered = covered.checked_shr((skip + run) as u32).unwrap_or(0);
            }
        }
        head.left = parts.len() as u32;
        for (member, part) in parts {
            let contents = self
                .followed
                .as_ref()
                .map(|followed| followed.to_member(id, member, &part, 1 << member == row.parity));
            self.store_on(id, member, row.row, part, contents, calendar);
        }
    }

    /// Writes whole blocks of a row and of those that are stored together with it; the work is over where there is nothing to write.
    fn store(&mut self, id: HeadId, row: &Row, blocks: Set, calendar: &mut impl Schedule<Event<D::Event>>) {
        let head = self.heads.get_mut(id);
        let blocks = (blocks | std::mem::take(&mut head.rewrite)) & self.members.writable();
        if blocks == 0 {
            return self.job_over(id, calendar);
        }
        self.intent.mark(row.row);
        head.step = Step::Storing;
        head.left = blocks.count_ones();
        let rows = 1 + head.batch.len() as u64;
        self.counts.parity_writes += rows * u64::from(blocks & row.parity != 0);
        let block = self.settings.striping.block;
        for member in each(blocks) {
            let contents = self.followed.as_ref().map(|followed| {
                let all = std::iter::once(&id).chain(&self.heads.get(id).batch);
                let of =
                    |id: &HeadId| followed.to_member(*id, member, &(0..block), 1 << member == row.parity);
                all.flat_map(of).collect()
            });
            self.store_on(id, member, row.row, 0..rows * block, contents, calendar);
        }
    }

    fn store_on(
        &mut self,
        id: HeadId,
        member: u16,
        row: u64,
        part: Range<u64>,
        contents: Option<Vec<Content>>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let head = self.heads.get(id);
        let first = head.current.first().map(|request| self.requests.get(*request).command);
        let Command { stream, queue, .. } = first.unwrap_or_default();
        let write = Command {
            operation: Operation::Write,
            fua: head.turns.fua,
            sector: row * self.settings.striping.block + part.start,
            sectors: part.end - part.start,
            stream,
            queue,
            ..Command::default()
        };
        self.send(member, Why::Store { head: id }, write, contents.as_deref(), calendar);
    }

    /// Blocks were written.
    pub(super) fn store_over(
        &mut self,
        id: HeadId,
        over: &Over,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.failed {
            self.drop_member(over.sent.member, calendar.now());
        }
        let head = self.heads.get_mut(id);
        head.left -= 1;
        if head.left == 0 {
            let batch = std::mem::take(&mut head.batch);
            self.job_over(id, calendar);
            batch.into_iter().for_each(|id| self.job_over(id, calendar));
        }
    }

    /// The work is over, but for parity that has to follow before the host is answered.
    fn job_over(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        let row = self.row_of(id);
        self.heads.full(id, false);
        let head = self.heads.get_mut(id);
        let (job, way) = (head.job, head.way);
        head.job = Job::None;
        let is_right = way == Some(Way::Reconstruct) && row.has_parity();
        match job {
            Job::WriteData => {
                for member in each(head.written) {
                    self.lost.written(row.row, member, head.covered[usize::from(member)]);
                }
                if row.missing & head.written != 0 || head.turns.fua {
                    // The host is answered once parity stands in for what a member that failed should hold.
                    self.give_stale_up(id, &row);
                    let is_behind = self.heads.get(id).stale != 0;
                    self.heads.get_mut(id).turns.settle = is_behind;
                    if is_behind {
                        return self.heads.queue(id);
                    }
                }
                self.end_writes(id, &row, calendar.now());
            }
            Job::Write => {
                for member in each(head.written) {
                    self.lost.written(row.row, member, head.covered[usize::from(member)]);
                }
                if is_right {
                    self.intent.is_right(row.row);
                }
                self.end_writes(id, &row, calendar.now());
            }
            Job::Settle => {
                self.clear_stale(id);
                if is_right {
                    self.intent.is_right(row.row);
                }
                self.end_writes(id, &row, calendar.now());
            }
            Job::Sync => self.row_synced(id, &row),
            Job::Read | Job::None => {}
        }
        self.release(id);
        self.note_parity_delay(calendar);
    }

    /// Answers the current writes of a row. They failed if a block of them is on no member, nor in parity.
    fn end_writes(&mut self, id: HeadId, row: &Row, now: Instant) {
        let head = self.heads.get_mut(id);
        head.turns.fua = false;
        let is_lost = |member: u16| {
            row.missing >> member & 1 == 1
                && self.lost.of(row.row, member) & head.covered[usize::from(member)] != 0
        };
        let failed = row.missing.count_ones() > 1 || each(head.written & row.missing).any(is_lost);
        for request in std::mem::take(&mut head.current) {
            self.part_over(request, failed, now);
        }
    }

    /// Answers the reads of a row. They fail where something of them is lost.
    fn answer_reads(&mut self, id: HeadId, row: &Row, now: Instant) {
        let block = self.settings.striping.block;
        for (request, member) in std::mem::take(&mut self.heads.get_mut(id).reads) {
            let Command { sector, sectors: count, .. } = self.requests.get(request).command;
            let mut parts = self.settings.striping.parts(row.row, sector..sector + count);
            let Some((_, part, at)) = parts.find(|(of, ..)| *of == member) else { continue };
            debug_assert!(part.end <= block, "a part lies in its block");
            let failed = self.lost.of(row.row, member) & sectors(&part) != 0;
            self.counts.degraded_reads += u64::from(row.missing >> member & 1);
            if let (Some(followed), false) = (&mut self.followed, failed) {
                followed.read_block(request, at, id, member, part);
            }
            self.part_over(request, failed, now);
        }
    }

    /// A row of which two members are missing: what is asked of it fails.
    fn give_row_up(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.heads.preread_over(id);
        self.heads.full(id, false);
        self.clear_stale(id);
        let row = self.row_of(id);
        let head = self.heads.get_mut(id);
        (head.job, head.rewrite, head.bad) = (Job::None, 0, 0);
        let mut writes = std::mem::take(&mut head.current);
        writes.append(&mut head.pending);
        let reads = std::mem::take(&mut head.reads);
        for request in writes.into_iter().chain(reads.into_iter().map(|(request, _)| request)) {
            self.part_over(request, true, calendar.now());
        }
        if self.heads.get(id).turns.sync {
            self.row_synced(id, &row);
        }
    }

    /// The block of a member that failed is lost where parity stayed behind for want of its old contents.
    fn give_stale_up(&mut self, id: HeadId, row: &Row) {
        let head = self.heads.get(id);
        if head.stale == 0 || row.missing == 0 {
            return;
        }
        let follows = head.has_delta || head.known & row.parity != 0 && !head.turns.raw;
        if !row.has_parity() {
            return self.clear_stale(id);
        }
        if !follows && row.missing & head.known == 0 {
            let (member, stale) = (row.missing.trailing_zeros() as u16, head.stale);
            self.counts.lost += self.lost.add(row.row, member, stale);
            self.clear_stale(id);
        }
    }

    /// Parity of a row stays behind no more.
    pub(super) fn clear_stale(&mut self, id: HeadId) {
        let head = self.heads.get_mut(id);
        if head.stale == 0 {
            return;
        }
        (head.stale, head.has_delta, head.turns.settle, head.turns.raw) = (0, false, false, false);
        let epoch = head.since.1;
        let waiting = self.requests.flushes.iter_mut().filter(|flush| !flush.sent && epoch <= flush.epoch);
        waiting.for_each(|flush| flush.rows -= 1);
    }

    /// Parity of a row is to be written as soon as possible.
    pub(super) fn settle_soon(&mut self, id: HeadId) {
        let head = self.heads.get_mut(id);
        head.turns.settle = true;
        if head.step == Step::Idle {
            self.heads.take(id);
            self.heads.queue(id);
        }
    }

    /// A head goes on with what waits for it, or has no more work.
    fn release(&mut self, id: HeadId) {
        let missing = self.heads.get(id).row.map_or(0, |row| self.members.missing(row));
        let head = self.heads.get_mut(id);
        head.bad = 0;
        let has_work = !head.pending.is_empty() || !head.reads.is_empty() || head.turns.sync;
        let settles = head.stale != 0 && (head.turns.settle || missing != 0);
        if has_work || settles { self.heads.queue(id) } else { self.heads.rest(id) }
    }

    /// The row's turn in a synchronisation: what is to be written.
    fn sync_row(&mut self, id: HeadId, row: &Row) -> Set {
        let Some(task) = self.sync.as_ref().map(|sync| sync.task) else { return 0 };
        match task {
            Task::Rebuild { member } => {
                self.counts.rebuilt += 1;
                1 << member
            }
            Task::Resync | Task::Scrub if row.missing != 0 => 0,
            Task::Resync | Task::Scrub if row.untrusted => {
                self.counts.resynced += 1;
                let head = self.heads.get_mut(id);
                head.way = Some(Way::Reconstruct);
                if let Some(followed) = &mut self.followed {
                    followed.compute(id, row.parity_member, row.all);
                }
                row.parity
            }
            Task::Resync => 0,
            Task::Scrub => {
                self.counts.scrubbed += 1;
                let is_right = self.followed.as_ref().is_none_or(|followed| followed.is_right(id, row.all));
                assert!(is_right, "the parity of row {} is not that of its data", row.row);
                0
            }
        }
    }

    fn row_synced(&mut self, id: HeadId, row: &Row) {
        self.heads.get_mut(id).turns.sync = false;
        if let Some(sync) = &mut self.sync {
            if !matches!(sync.task, Task::Rebuild { .. }) && row.missing == 0 {
                self.intent.is_right(row.row);
            }
            sync.row_over(row.row);
            let below = sync.over_below();
            if let Task::Rebuild { member } = sync.task {
                self.members.rebuilt_below(member, below);
            }
        }
    }
}
