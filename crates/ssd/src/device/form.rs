//! Program units of the host's pages: formed of complete pages, programmed, and mapped.

use wordline_kernel::Schedule;
use wordline_nand::{SlotId, Stamp};

use super::{Device, Event, Unit};
use crate::buffer::{EntryId, EntryState};
use crate::command::RequestId;
use crate::flash::{Class, Ticket};
use crate::ftl::blocks::StreamId;
use crate::ftl::mapping::LogicalPage;
use crate::policy::placement::Row;

impl Device {
    /// Moves pages on towards flash as far as they can and must go.
    pub(super) fn pump(&mut self, calendar: &mut impl Schedule<Event>) {
        if self.left_at_work {
            self.left_at_work = false;
            self.collect_everywhere(calendar);
        }
        loop {
            self.row_opened = false;
            self.draw_from_list(calendar);
            self.write_tables(calendar);
            let mut formed = match (self.has_homes, &self.block_map) {
                (_, Some(_)) => self.form_mapped(calendar),
                (true, None) => self.form_at_home(calendar),
                (false, None) => self.form_anywhere(calendar),
            };
            if self.subs.is_some() {
                formed |= self.form_whole_units(calendar);
            }
            // A write that goes on may make room nowhere and still leave a page that must go at once, also one that it merged with.
            if self.is_any_awake() {
                self.wake_waiters(calendar);
            }
            let waits = |device: &Self| (device.buffer.in_use(), device.buffer.dirty(), device.stalled.len());
            let before = waits(self);
            self.admit_stalled(calendar);
            // Zeroes may have taken pages out of the buffer that others waited for.
            if !self.wake.is_empty() {
                self.wake_waiters(calendar);
            }
            let moved = formed || before != waits(self);
            if !moved && !self.row_opened {
                return;
            }
        }
    }

    /// Whether an unfilled program unit must be written of a list: somebody waits for a page of it and no other page is
    /// coming, or nothing else would ever make room.
    pub(super) fn must_pad(&self, list: usize) -> bool {
        self.filling == 0 && (self.ready[list].urgent > 0 || self.nothing_moves())
    }

    /// Whether writes wait for room and nothing is being programmed that would make some.
    fn nothing_moves(&self) -> bool {
        self.programming == 0 && !self.stalled.is_empty()
    }

    /// Whether any row takes a program unit of a stream of the host. Pages of a row that is full of valid ones may become
    /// invalid without anything happening to the row itself, so that such rows are looked at again when nothing else goes
    /// on.
    pub(super) fn some_row_accepts(&mut self, stream: usize, calendar: &mut impl Schedule<Event>) -> bool {
        let accepts = !self.accepting[stream].is_empty();
        // Where pages have homes, a row that accepts is of no use to the pages of another.
        if self.programming > 0 || (accepts && !self.has_homes) {
            return accepts;
        }
        if std::mem::take(&mut self.some_row_full) || self.collector.is_idle() {
            self.collect_everywhere(calendar);
        }
        !self.accepting[stream].is_empty()
    }

    /// Looks at every row again, which nothing may have happened to that would make the collector begin there.
    #[inline(never)]
    fn collect_everywhere(&mut self, calendar: &mut impl Schedule<Event>) {
        for row in 0..self.config.pools.rows() {
            self.collect(row, calendar);
            self.note_row(row);
        }
    }

    /// Works out whether `row` takes a program unit of the host, of each of its streams. Where it takes one of a stream that it
    /// did not take before, or is lost, pages may wait for that.
    #[inline]
    pub(super) fn note_row(&mut self, row: Row) {
        let before = if self.slc.is_some() { self.accepted_of(row) } else { 0 };
        let is_full = self.blocks.is_full(row, self.config.pools.per_program(row));
        self.some_row_full |= is_full;
        if is_full || self.units[row as usize].busy || !self.note_streams(row) {
            self.accepting.iter_mut().for_each(|accepting| _ = accepting.set(row, false));
        }
        if self.slc.is_some() {
            self.note_slc(row);
            self.row_opened |= self.accepted_of(row) & !before != 0;
        }
    }

    /// Works out of which streams of the host `row` takes a program unit; false where the host may neither open a block nor
    /// does the collector let it write into what is open.
    #[inline(never)]
    fn note_streams(&mut self, row: Row) -> bool {
        let may_open = self.blocks.may_open(row, false);
        if !may_open && !self.collector.affords(row, self.blocks.dearest(row)) {
            return false;
        }
        // While blocks are being gained, streams wait for blocks of their own instead of mixing.
        let may_share = !may_open && !self.collector.gains(row);
        for n in 0..self.accepting.len() {
            let has_place = may_open || self.blocks.takes(row, self.streams.host(n as u8), may_share);
            let here = self.subs.is_none() || self.goes_to_pool_of(row, n);
            let opens = self.accepting[n].set(row, has_place && here);
            // What an SLC cache takes is known only when that was asked too.
            self.row_opened |= opens && self.slc.is_none();
        }
        true
    }

    /// The streams of the host that `row` takes a program unit of, one bit each.
    #[inline]
    pub(super) fn accepted_of(&self, row: Row) -> u32 {
        let streams = self.accepting.iter().enumerate();
        streams.fold(0, |bits, (n, accepting)| bits | u32::from(accepting.contains(row)) << n)
    }

    /// The same for all rows.
    pub(super) fn note_all_rows(&mut self) {
        for row in 0..self.config.pools.rows() {
            self.note_row(row);
        }
    }

    /// Forms program units of pages that may go anywhere.
    fn form_anywhere(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        for list in 0..self.ready.len() {
            while !self.ready[list].pages.is_empty() {
                if !self.some_row_accepts(list, calendar) {
                    formed |= self.subs.is_some() && self.looks_elsewhere(list, calendar);
                    break;
                }
                let unit = self.unit_of(list);
                if (self.ready[list].pages.len() as u32) < unit {
                    if !self.must_pad(list) {
                        break;
                    }
                    self.top_up(list, unit);
                }
                let row = self.next_row_of(list);
                if self.is_outgrown(row, list, unit) {
                    continue;
                }
                self.form(row, list, calendar);
                formed = true;
            }
        }
        formed
    }

    /// Fills a program unit that must go with dirty pages that are complete, instead of padding. The router may send
    /// them elsewhere.
    #[inline(never)]
    fn top_up(&mut self, list: usize, unit: u32) {
        while (self.ready[list].pages.len() as u32) < unit {
            if self.buffer.dirty() == 0 || self.subs.is_some() {
                return;
            }
            let id = self.buffer.next_out();
            if !self.is_complete(id) {
                return;
            }
            self.buffer.unlink(id);
            self.make_ready(id);
        }
    }

    /// Forms program units of pages that have homes.
    #[inline(never)]
    fn form_at_home(&mut self, calendar: &mut impl Schedule<Event>) -> bool {
        let mut formed = false;
        let streams = usize::from(self.streams.host);
        for stream in 0..streams {
            self.some_row_accepts(stream, calendar);
        }
        // Where nothing moves a unit is padded, whatever there is of it.
        let pads = self.nothing_moves();
        let mut next = 0;
        while let Some(list) = self.ready.ripe_from(next, pads, &self.accepting) {
            next = list + 1;
            let waiting = self.ready[list].pages.len() as u32;
            let row = (list / streams) as Row;
            let complete = waiting >= self.blocks.unit(row, self.streams.host((list % streams) as u8));
            if (complete || (waiting > 0 && self.must_pad(list)))
                && self.accepting[list % streams].contains(row)
            {
                self.form(row, list, calendar);
                formed = true;
            }
        }
        if self.policies.balancer.is_some() {
            formed |= self.balance(calendar);
        }
        formed
    }

    /// Takes up to a program unit of pages from a list and queues their program in `row`.
    pub(super) fn form(&mut self, row: Row, list: usize, calendar: &mut impl Schedule<Event>) {
        let stream = self.streams.host((list % usize::from(self.streams.host)) as u8);
        let pages = self.blocks.unit(row, stream) as usize;
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        let mut over = self.list_of_pages();
        while unit.entries.len() < pages {
            let Some(id) = self.ready.pop(list) else { break };
            let entry = self.buffer.get_mut(id);
            if std::mem::take(&mut entry.urgent) {
                self.ready.urge(list, false);
            }
            if entry.discarded {
                if self.subs.is_some() {
                    over.push(entry.logical);
                }
                self.buffer.drop_entry(id, &mut self.wake);
                continue;
            }
            entry.state = EntryState::Programming;
            entry.void = false;
            unit.stamps.push(Stamp { logical: entry.logical.0, version: entry.version });
            unit.entries.push(id);
        }
        if unit.entries.is_empty() {
            self.units[row as usize] = unit;
            self.pages_over(over, calendar);
            return;
        }
        self.programming += unit.entries.len() as u32;
        self.totals.host_programs += unit.entries.len() as u64;
        self.totals.padding += (pages - unit.entries.len()) as u64;
        if self.slc.is_some() && self.blocks.writes_slc(row, stream) {
            self.totals.slc_programs += unit.entries.len() as u64;
        }
        unit.stamps.resize(pages, Stamp::PADDING);
        unit.busy = true;
        self.units[row as usize] = unit;
        if let Some(translation) = &mut self.translation {
            translation.turn_over(row);
        }
        self.queue_unit(row, stream, Ticket::HostUnit(row), calendar);
        self.pages_over(over, calendar);
    }

    /// A list for pages of sub-requests that are over; one without room where there are no sub-requests.
    #[inline]
    fn list_of_pages(&mut self) -> Vec<LogicalPage> {
        self.subs.as_mut().map_or_else(Vec::new, |subs| std::mem::take(&mut subs.over))
    }

    /// Pages of sub-requests need not come to flash any more, or are there.
    #[inline]
    fn pages_over(&mut self, mut pages: Vec<LogicalPage>, calendar: &mut impl Schedule<Event>) {
        if self.subs.is_some() {
            pages.drain(..).for_each(|page| self.page_of_sub_request_over(page, calendar));
            self.subs().over = pages;
        }
    }

    /// Where nothing goes on any more in the pool of a list, and no row of it will take the pages that wait, they go to
    /// the first pool; whether they do.
    #[inline(never)]
    fn looks_elsewhere(&mut self, list: usize, calendar: &mut impl Schedule<Event>) -> bool {
        let leaves = super::sub_requests::pool_of(&self.subs, list) > 0
            && self.programming == 0
            && self.collector.is_idle();
        if leaves {
            self.leave_full_pool(list, calendar);
        }
        leaves
    }

    /// Queues the program of the unit of `row`.
    pub(super) fn queue_unit(
        &mut self,
        row: Row,
        stream: StreamId,
        ticket: Ticket,
        calendar: &mut impl Schedule<Event>,
    ) {
        if self.contents.is_some() && ticket == Ticket::HostUnit(row) {
            self.note_sent(row);
        }
        let (pages, cost) = (self.blocks.unit(row, stream), self.blocks.cost(row, stream));
        let first = self.take_place(row, stream, pages);
        if let Some(writes) = &mut self.unit_writes
            && self.subs.as_ref().is_some_and(|subs| subs.programs_whole_unit(row))
        {
            writes.write(first);
        }
        self.collector.spend(row, cost);
        self.note_row(row);
        self.set_mode(self.config.pools.page_of(first));
        let Self { flash, units, .. } = self;
        let unit = &units[row as usize].stamps;
        let (die, stamps) = flash.program(calendar.now(), (ticket, Class::Write), first, unit.len() as u32);
        stamps.copy_from_slice(unit);
        self.kick(die, calendar);
        self.collect(row, calendar);
    }

    /// Ends parts of the requests whose pages are in flash, or need not be any more. An answer lets the next command begin,
    /// which may wake others: the outermost call ends them all, so that they do not pile up on the stack.
    pub(super) fn wake_waiters(&mut self, calendar: &mut impl Schedule<Event>) {
        if std::mem::replace(&mut self.waking, true) {
            return;
        }
        while let Some(slot) = self.next_awake() {
            self.part_done(slot, calendar);
        }
        self.waking = false;
    }

    /// Whether there may be a request that waits no longer.
    #[inline]
    pub(super) fn is_any_awake(&self) -> bool {
        !self.wake.is_empty() || !self.flushes.is_empty()
    }

    /// A request that waits no longer.
    fn next_awake(&mut self) -> Option<RequestId> {
        if let Some(slot) = self.wake.pop() {
            return Some(slot);
        }
        let (epoch, slot) = *self.flushes.front()?;
        self.buffer.is_flushed(epoch).then(|| {
            self.flushes.pop_front();
            slot
        })
    }

    /// The program of the host's unit of `row` is done: its pages are where they were written.
    pub(super) fn host_programmed(&mut self, row: Row, first: SlotId, calendar: &mut impl Schedule<Event>) {
        if self.programs_whole_unit(row) {
            return self.whole_unit_programmed(row, first, calendar);
        }
        let mut unit = std::mem::take(&mut self.units[row as usize]);
        self.foresee_installs(&unit);
        for (n, id) in unit.entries.iter().copied().enumerate() {
            self.page_programmed(id, unit.stamps[n], SlotId(first.0 + n as u32), calendar);
        }
        self.programming -= unit.entries.len() as u32;
        if let Some(map) = &mut self.block_map {
            map.page_written(row);
        }
        let mut over = self.list_of_pages();
        if self.subs.is_some() {
            let data = unit.stamps.iter().filter(|stamp| stamp.is_data());
            over.extend(data.map(|stamp| LogicalPage(stamp.logical)));
        }
        unit.clear();
        self.units[row as usize] = unit;
        self.blocks.program_done(first);
        self.note_row(row);
        self.note_checkpoint();
        self.pages_over(over, calendar);
    }

    /// A page of the buffer was programmed to `slot`: it is there, unless it is void.
    #[inline]
    pub(super) fn page_programmed(
        &mut self,
        id: EntryId,
        stamp: Stamp,
        slot: SlotId,
        calendar: &mut impl Schedule<Event>,
    ) {
        let Stamp { logical, version } = stamp;
        let page = LogicalPage(logical);
        let entry = self.buffer.get_mut(id);
        if !entry.void {
            entry.flash_version = version;
            let old = self.install(page, slot);
            self.note_update(page, old, slot);
            if !self.lost.is_empty() {
                self.lost.in_flash(page, version);
            }
        }
        if self.buffer.programmed(id, version, &mut self.wake) {
            self.dirty_again(id, calendar);
        } else if self.cache.is_on() {
            self.keep_programmed(page, version);
        }
    }

    /// Asks for what the end of a program looks up, for all its pages at once: they lie far apart in large tables.
    fn foresee_installs(&self, unit: &Unit) {
        let pages = || unit.stamps[..unit.entries.len()].iter().map(|stamp| LogicalPage(stamp.logical));
        for page in pages() {
            self.mapping.prefetch(page);
            self.buffer.prefetch(page);
        }
        for old in pages().filter_map(|page| self.mapping.get(page)) {
            self.blocks.prefetch(old);
        }
    }

    /// A page that was written again while it was programmed goes round once more.
    pub(super) fn dirty_again(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let entry = self.buffer.get(id);
        if entry.discarded {
            self.buffer.unlink(id);
            self.buffer.drop_entry(id, &mut self.wake);
        } else if entry.urgent || self.is_drained(id) {
            self.urge(id, calendar);
        }
    }

    /// Maps `logical` to `slot`. Returns where it was.
    #[inline]
    pub(super) fn install(&mut self, logical: LogicalPage, slot: SlotId) -> Option<SlotId> {
        let old = self.mapping.set(logical, slot);
        if let Some(old) = old {
            self.blocks.invalidate(old);
        }
        self.blocks.validate(slot);
        old
    }
}
