//! Which rows take a program unit, of which streams.

use wordline_kernel::Schedule;

use crate::base::Base;
use crate::engines::Core;
use crate::event::Event;
use crate::policy::placement::Row;
use crate::space::StreamId;
use crate::writer::Writer;
use crate::writer::units::pool_of;

impl Writer {
    /// Whether any row takes a program unit of a stream of the host. Pages of a row that is full of valid ones may become
    /// invalid without anything happening to the row itself, so that such rows are looked at again when nothing else goes
    /// on.
    pub(in crate::writer) fn look_for_row(
        &mut self,
        stream: usize,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let accepts = !self.accepting[stream].is_empty();
        // Where pages have homes, a row that accepts is of no use to the pages of another.
        if self.programming > 0 || (accepts && !core.base.has_homes) {
            return accepts;
        }
        if std::mem::take(&mut self.some_row_full) || core.reclaim.collector().is_idle() {
            self.collect_everywhere(core, calendar);
        }
        !self.accepting[stream].is_empty()
    }

    /// Looks at every row again, which nothing may have happened to that would make the collector begin there.
    #[inline(never)]
    pub(crate) fn collect_everywhere(&mut self, core: &mut Core, calendar: &mut impl Schedule<Event>) {
        for row in 0..core.base.config.pools.rows() {
            self.collect(row, core, calendar);
            self.note_row(row, core);
        }
    }

    /// Works out whether `row` takes a program unit of the host, of each of its streams. Where it takes one of a stream that it
    /// did not take before, or is lost, pages may wait for that.
    #[inline]
    pub(crate) fn note_row(&mut self, row: Row, core: &mut Core) {
        let before = if self.slc.is_some() { self.accepted_of(row) } else { 0 };
        let is_full = core.base.space.is_full(row, core.base.config.pools.per_program(row));
        self.some_row_full |= is_full;
        if is_full || self.units[row as usize].busy || !self.note_streams(row, core) {
            self.accepting.iter_mut().for_each(|accepting| _ = accepting.set(row, false));
        }
        if self.slc.is_some() {
            self.note_slc(row, core);
            self.row_opened |= self.accepted_of(row) & !before != 0;
        }
    }

    /// Works out of which streams of the host `row` takes a program unit; false where the host may neither open a block nor
    /// does the collector let it write into what is open.
    #[inline(never)]
    fn note_streams(&mut self, row: Row, core: &Core) -> bool {
        let may_open = core.base.space.may_open(row, false);
        if !may_open && !core.reclaim.collector().affords(row, core.base.space.dearest(row)) {
            return false;
        }
        // While blocks are being gained, streams wait for blocks of their own instead of mixing.
        let may_share = !may_open && !core.reclaim.collector().gains(row);
        for n in 0..self.accepting.len() {
            let has_place =
                may_open || core.base.space.takes(row, core.base.space.streams().host(n as u8), may_share);
            let here = self.subs.is_none() || self.goes_to_pool_of(row, n, core);
            let opens = self.accepting[n].set(row, has_place && here);
            // What an SLC cache takes is known only when that was asked too.
            self.row_opened |= opens && self.slc.is_none();
        }
        true
    }

    /// The streams of the host that `row` takes a program unit of, one bit each.
    #[inline]
    pub(crate) fn accepted_of(&self, row: Row) -> u32 {
        let streams = self.accepting.iter().enumerate();
        streams.fold(0, |bits, (n, accepting)| bits | u32::from(accepting.contains(row)) << n)
    }

    /// The same for all rows.
    pub(crate) fn note_all_rows(&mut self, core: &mut Core) {
        for row in 0..core.base.config.pools.rows() {
            self.note_row(row, core);
        }
    }

    /// Works out whether `row` takes a program in SLC mode.
    #[inline(never)]
    fn note_slc(&mut self, row: Row, core: &mut Core) {
        let Self { slc, accepting, .. } = self;
        let Base { space, .. } = &mut core.base;
        if let Some(slc) = slc {
            let is_slc = space.writes_slc(row, StreamId(slc.stream as u8));
            slc.rows.set(row, is_slc && accepting[slc.stream].contains(row));
        }
    }

    /// Whether a stream of the host goes to the pool that `row` is of, where there are several.
    #[inline(never)]
    pub(super) fn goes_to_pool_of(&self, row: Row, stream: usize, core: &Core) -> bool {
        core.base.config.pools.number_of_row(row) == pool_of(&self.subs, stream)
    }
}
