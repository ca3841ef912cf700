//! Host commands: their member commands and their work on rows, and their completion.

use std::ops::Range;

use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::Schedule;

use super::Raid5;
use super::event::Event;
use super::members::{CompletedCommand, Purpose};
use super::requests::{Discarding, Flush, Requester, RowRequest};
use super::settings::Parity;
use super::stripe_cache::{HeadId, Step};
use super::write_method::each;

impl<D: BlockDevice> Raid5<D> {
    /// Accepts a host command.
    pub(super) fn take(&mut self, command: Command, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.array.counts.commands += 1;
        let request = self.host.requests.add(command, calendar.now());
        if let Some(followed) = &mut self.array.followed {
            followed.note_submission(request, &command);
        }
        let sectors = command.sector..command.sector + command.sectors;
        match command.operation {
            Operation::Read | Operation::Compare => {
                for (member, part, at) in self.array.settings.striping.pieces(sectors) {
                    self.read_piece(request, member, part, at, calendar);
                }
            }
            Operation::Write | Operation::WriteZeroes => {
                for row in self.array.settings.striping.rows_of(sectors) {
                    self.host.requests.begin_part(request);
                    self.request_row(RowRequest { row, by: Requester::Write(request) }, calendar);
                }
            }
            Operation::Discard => self.discard(request, sectors, calendar),
            Operation::Flush => return self.begin_flush(request),
            of_zones => of_zones.is_not_executed(),
        }
        self.host.complete_part(request, false, calendar.now(), &mut self.array);
    }

    /// Reads a piece from its member, except rows whose block is missing there or has lost sectors, and rows of
    /// which the command also reads a missing block: the work on the row reads all other blocks once.
    fn read_piece(
        &mut self,
        request: u32,
        member: u16,
        part: Range<u64>,
        at: usize,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let block = self.array.settings.striping.block;
        let is_whole = self.array.durability.held.incomplete() == 0
            && !self.array.durability.lost.touches(member, &part, block);
        if is_whole {
            return self.read_directly(request, member, part, at, calendar);
        }
        let mut begin = part.start;
        for row in part.start / block..part.end.div_ceil(block) {
            let of_row = part.start.max(row * block)..part.end.min((row + 1) * block);
            if self.needs_row(request, member, row, &of_row) {
                let before = begin..of_row.start;
                self.read_directly(request, member, before, at + (begin - part.start) as usize, calendar);
                self.host.requests.begin_part(request);
                self.request_row(RowRequest { row, by: Requester::Read(request, member) }, calendar);
                begin = of_row.end;
            }
        }
        let at = at + (begin - part.start) as usize;
        self.read_directly(request, member, begin..part.end, at, calendar);
    }

    /// Whether a read of a part of a row on a member needs the work on the row.
    fn needs_row(&self, request: u32, member: u16, row: u64, part: &Range<u64>) -> bool {
        let (durability, striping) = (&self.array.durability, &self.array.settings.striping);
        let Command { sector, sectors, .. } = self.host.requests.get(request).command;
        let missing = durability.held.missing(row);
        let is_missing = |member: u16| missing >> member & 1 == 1;
        durability.lost.touches(member, part, striping.block)
            || missing != 0
                && striping.parts(row, sector..sector + sectors).any(|(member, ..)| is_missing(member))
    }

    /// Reads sectors of a member, if there are any.
    fn read_directly(
        &mut self,
        request: u32,
        member: u16,
        part: Range<u64>,
        at: usize,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if part.is_empty() {
            return;
        }
        self.host.requests.begin_part(request);
        let Command { queue, stream, .. } = self.host.requests.get(request).command;
        let read = Command {
            sector: part.start,
            sectors: part.end - part.start,
            queue,
            stream,
            ..Command::default()
        };
        self.array.send(member, Purpose::Read { request, at: at as u32 }, read, None, calendar);
    }

    /// Completes a member read. Rows that the member could not read are computed from the other members.
    pub(super) fn complete_read(
        &mut self,
        over: CompletedCommand,
        (request, at): (u32, u32),
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.gone || over.failed {
            let Command { sector, sectors, .. } = over.sent.command;
            let block = self.array.settings.striping.block;
            for row in sector / block..(sector + sectors).div_ceil(block) {
                self.host.requests.begin_part(request);
                self.request_row(
                    RowRequest { row, by: Requester::Read(request, over.sent.member) },
                    calendar,
                );
            }
        } else if let (Some(followed), Some(found)) = (&mut self.array.followed, &over.found) {
            followed.read(request, at as usize, found);
        }
        self.host.complete_part(request, false, calendar.now(), &mut self.array);
    }

    /// Discards the whole stripes of a range on all members, except stripes with a row in use. The rest is
    /// ignored, as in md: a discard is only a hint.
    fn discard(&mut self, request: u32, sectors: Range<u64>, calendar: &mut impl Schedule<Event<D::Event>>) {
        let striping = self.array.settings.striping;
        let rows_of_stripe = striping.chunk / striping.block;
        let whole = sectors.start.div_ceil(striping.stripe())..sectors.end / striping.stripe();
        let mut run: Option<Range<u64>> = None;
        for stripe in whole.start..=whole.end.max(whole.start) {
            let rows = stripe * rows_of_stripe..(stripe + 1) * rows_of_stripe;
            if stripe < whole.end && rows.clone().all(|row| self.is_row_idle(row)) {
                rows.for_each(|row| self.drop_row(row));
                run = Some(run.map_or(stripe, |run| run.start)..stripe + 1);
            } else if let Some(run) = run.take() {
                self.discard_stripes(request, run, calendar);
            }
        }
    }

    fn is_row_idle(&self, row: u64) -> bool {
        let is_idle = |id| self.stripes.heads.get(id).step == Step::Idle;
        self.stripes.heads.find(row).is_none_or(is_idle)
            && !self.host.requests.is_discarding(row)
            && self.host.requests.waiting.iter().all(|want| want.row != row)
    }

    /// Drops the cached data and the lost sectors of a discarded row.
    fn drop_row(&mut self, row: u64) {
        if let Some(id) = self.stripes.heads.find(row) {
            self.stripes.clear_stale(id, &self.array.settings.striping, &mut self.host.requests);
            self.stripes.heads.forget(id);
        }
        self.array.durability.discard(row);
    }

    fn discard_stripes(
        &mut self,
        request: u32,
        stripes: Range<u64>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let striping = self.array.settings.striping;
        let rows = striping.chunk / striping.block;
        let (from, to) = (stripes.start * rows, stripes.end * rows);
        self.host.requests.discarding.push(Discarding { request, from, to });
        let (sector, sectors) = (from * striping.block, (to - from) * striping.block);
        let discard = Command { operation: Operation::Discard, sector, sectors, ..Command::default() };
        for member in each(self.array.durability.held.writable()) {
            self.host.requests.begin_part(request);
            self.array.send(member, Purpose::Pass { request }, discard, None, calendar);
        }
    }

    /// Starts a flush. It waits for deferred parity, and then goes to the members.
    fn begin_flush(&mut self, request: u32) {
        let mut rows = 0;
        if self.array.settings.file.parity == Parity::Cache {
            for id in (0..self.stripes.heads.count()).map(HeadId) {
                if self.stripes.heads.get(id).stale != 0 {
                    rows += 1;
                    self.stripes.schedule_parity(id);
                }
            }
        }
        let epoch = self.host.requests.epoch;
        self.host.requests.epoch += 1;
        self.host.requests.flushes.push(Flush { request, epoch, rows, sent: false });
    }

    /// Sends the flushes that wait for no more parity to the members. Returns whether it sent one.
    pub(super) fn send_flushes(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        // Flushes run one at a time, as in md. Each covers the writes before it.
        if self.array.durability.is_flushing() {
            return false;
        }
        let is_ready = |flush: &Flush| !flush.sent && flush.rows == 0;
        let Some(at) = self.host.requests.flushes.iter().position(is_ready) else { return false };
        self.stripes.start_covering_flush(&mut self.array);
        let flush = &mut self.host.requests.flushes[at];
        flush.sent = true;
        let request = flush.request;
        let Command { operation, queue, .. } = self.host.requests.get(request).command;
        let flush = Command { operation, queue, ..Command::default() };
        for member in each(self.array.durability.held.writable()) {
            self.host.requests.begin_part(request);
            self.array.send(member, Purpose::Pass { request }, flush, None, calendar);
        }
        self.host.complete_part(request, false, calendar.now(), &mut self.array);
        true
    }

    /// Requests work on a row. The work starts as soon as a stripe head is available.
    pub(super) fn request_row(&mut self, want: RowRequest, calendar: &mut impl Schedule<Event<D::Event>>) {
        if !self.host.requests.is_discarding(want.row) {
            let found = self.stripes.heads.find(want.row);
            let room = || self.host.requests.waiting.is_empty() && self.stripes.heads.has_room();
            if found.is_some() || room() {
                let id = found.or_else(|| self.find_head(want.row, 1));
                if let Some(id) = id {
                    return self.attach(id, want, calendar);
                }
            }
        }
        self.host.requests.waiting.push_back(want);
    }

    /// Assigns a stripe head to the first waiting row. Returns whether anything was done.
    pub(super) fn serve_waiting(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(want) = self.host.requests.waiting.front().copied() else { return false };
        if self.host.requests.is_discarding(want.row) {
            return false;
        }
        let found = self.stripes.heads.find(want.row);
        if found.is_none() && !self.stripes.heads.has_room() {
            self.stripes.heads.blocked = true;
            return false;
        }
        let leaving = self.stripes.heads.leaving;
        let Some(id) = found.or_else(|| self.find_head(want.row, self.host.requests.waiting.len())) else {
            return self.stripes.heads.leaving > leaving;
        };
        self.stripes.heads.blocked = false;
        self.host.requests.waiting.pop_front();
        self.attach(id, want, calendar);
        true
    }

    /// A stripe head for a row that is not cached: the next one to evict. If its parity is deferred, the
    /// parity is written first and the result is `None`. `waiting`: rows that wait for a head, including this
    /// one. Up to `waiting` heads are evicted this way.
    fn find_head(&mut self, row: u64, waiting: usize) -> Option<HeadId> {
        let id = self.stripes.heads.next_to_evict()?;
        if self.stripes.heads.get(id).stale == 0 {
            self.stripes.heads.assign(id, row);
            return Some(id);
        }
        if (self.stripes.heads.leaving as usize) < waiting {
            self.stripes.heads.leaving += 1;
            self.stripes.heads.get_mut(id).turns.leave = true;
            self.stripes.schedule_parity(id);
        }
        None
    }

    /// Adds work to a head.
    fn attach(&mut self, id: HeadId, want: RowRequest, calendar: &mut impl Schedule<Event<D::Event>>) {
        let is_new = self.stripes.heads.get(id).step == Step::Idle;
        if is_new {
            self.stripes.heads.take(id);
        }
        let head = self.stripes.heads.get_mut(id);
        match want.by {
            Requester::Write(request) => head.pending.push(request),
            Requester::Read(request, member) => head.reads.push((request, member)),
            Requester::Sync => head.turns.sync = true,
        }
        if is_new && matches!(want.by, Requester::Write(_)) {
            head.step = Step::Plugged;
            if self.array.timers.plugged.is_empty() {
                calendar.at(calendar.now(), Event::Unplug);
            }
            self.array.timers.plugged.push(id);
        } else if is_new {
            self.stripes.heads.queue(id);
        }
    }

    /// Unplugs: queues the stripe heads that were written at this instant.
    pub(super) fn unplug(&mut self) {
        for id in std::mem::take(&mut self.array.timers.plugged) {
            self.stripes.heads.queue(id);
        }
    }
}
