//! The lines around their data: resets of the next line, smeta of the line being opened, and emeta of closing
//! lines.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::Completion;
use wordline_kernel::Schedule;
use wordline_nand::DataTag;

use super::{CLOSING_LINES, Cursor, EMETA, Next, SMETA, Writer};
use crate::pblk::flash::Flash;
use crate::pblk::flush::FlushTracker;
use crate::pblk::layout::LineId;
use crate::pblk::port::{Event, Purpose, Sent};

impl Writer {
    /// Prepares the next line, and opens it if none is open. Returns whether anything was done.
    pub(super) fn prepare_next_line<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        durable: &FlushTracker,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        if self.next.is_none() {
            // If a chunk goes offline, no flush is sent until the data of its line are relocated. So lines for
            // them, and for the contents of the ring, are kept that can be opened without a flush.
            let kept = if flash.lines.has_stranded() { 0 } else { flash.layout.lines_to_relocate() };
            let Some(line) = flash.lines.take_free(kept, |point| durable.is_reached(point)) else {
                return false;
            };
            let to_reset = flash.plan_resets(line);
            let first = flash.lines.strips(line).next().map(|strip| flash.layout.unit_of(strip));
            let has_smeta = first.is_some() && to_reset.first().copied() == first;
            self.next = Some(Next { line, to_reset, resetting: 0, has_smeta });
        }
        // While some data exist only in the volatile cache, the writer does not wait for emeta: the
        // relocation of these data needs space.
        let is_full =
            self.closing.len() >= CLOSING_LINES && self.again.is_empty() && !flash.lines.has_stranded();
        if self.current.is_some() || self.opening.is_some() || is_full {
            return false;
        }
        let mut any = false;
        while let Some((line, unit)) = self.take_reset(None) {
            flash.reset(line, unit, calendar);
            any = true;
        }
        let Some(next) = self.next.take_if(|next| next.resetting == 0) else { return any };
        if flash.lines.chunks_of(next.line) < flash.layout.least_chunks {
            flash.lines.retire(next.line);
            flash.update_limiter();
        } else {
            self.open(next.line, flash, calendar);
        }
        true
    }

    /// Opens a line. Its smeta is written first.
    fn open<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        flash: &mut Flash<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let version = flash.lines.open(line);
        flash.update_limiter();
        let strips = flash.lines.smeta_of(line);
        self.opening = Some((line, strips.len() as u32));
        for strip in strips {
            flash.counts.smeta_blocks += u64::from(flash.layout.strip);
            let stamp = DataTag { logical: SMETA, version };
            flash.write_strip(Purpose::Smeta(line), (line, strip), stamp, calendar);
        }
    }

    /// Completes a smeta write. After a failure another line is opened.
    pub(in crate::pblk) fn complete_smeta_write<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        completion: &Completion,
        sent: &Sent,
        flash: &mut Flash<D>,
    ) {
        if completion.failure.is_some() {
            flash.lines.mark_closed_early(sent.places[0]);
        }
        let (_, in_flight) = self.opening.as_mut().expect("its smeta was being written");
        *in_flight -= 1;
        if *in_flight > 0 {
            return;
        }
        self.opening = None;
        if flash.lines.get(line).has_failed {
            flash.lines.abort_open(line);
            flash.update_limiter();
            return;
        }
        let data = flash.lines.data_range(line);
        self.current = Some(Cursor { line, strip: data.start, end: data.end });
    }

    /// Completes the reset of a chunk of the next line.
    pub(in crate::pblk) fn complete_chunk_reset<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        completion: &Completion,
        sent: &Sent,
        flash: &mut Flash<D>,
    ) {
        if completion.failure.is_some() {
            let unit = flash.layout.unit_of(flash.layout.strip_of(sent.places[0]));
            flash.lines.mark_offline(line, unit);
            flash.counts.chunks_lost += 1;
            flash.update_limiter();
        }
        let next = self.next.as_mut().expect("it waits for its resets");
        next.resetting -= 1;
        next.has_smeta = false;
    }

    /// Writes a strip of emeta, if possible. Returns whether it did.
    pub(in crate::pblk) fn write_emeta<D: PhysicalDevice>(
        &mut self,
        beside: Option<u32>,
        flash: &mut Flash<D>,
        durable: &FlushTracker,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let Some((line, strip)) = self.take_emeta(beside, &flash.lines, &flash.layout, durable) else {
            return false;
        };
        let entry = flash.lines.get_mut(line);
        entry.is_listed = true;
        let stamp = DataTag { logical: EMETA, version: entry.sequence };
        flash.counts.emeta_blocks += u64::from(flash.layout.strip);
        flash.write_strip(Purpose::Emeta(line), (line, strip), stamp, calendar);
        true
    }

    pub(in crate::pblk) fn complete_emeta_write<D: PhysicalDevice>(
        &mut self,
        line: LineId,
        completion: &Completion,
        sent: &Sent,
        flash: &mut Flash<D>,
    ) {
        let closing = self.closing.iter_mut().find(|closing| closing.line == line);
        let closing = closing.expect("its emeta was being written");
        closing.in_flight -= 1;
        if completion.failure.is_some() {
            closing.is_whole = false;
            flash.lines.mark_closed_early(sent.places[0]);
        }
        self.mark_units_idle(&sent.places, &flash.layout);
    }
}
