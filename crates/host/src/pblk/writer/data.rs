//! Writes of ring entries to the open line.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::Completion;
use wordline_kernel::Schedule;
use wordline_nand::DataTag;

use super::Writer;
use crate::pblk::buffer::Buffer;
use crate::pblk::flash::Flash;
use crate::pblk::flush::FlushTracker;
use crate::pblk::frontend::HostFrontend;
use crate::pblk::l2p::PageLocation;
use crate::pblk::layout::{Layout, Ppa};
use crate::pblk::port::{Event, PADDING, Purpose, Sent};
use crate::pblk::ring::{Origin, Progress, Ring, page_of};

impl Writer {
    /// Number of entries to write now: a full stripe, else full strips, else a padded strip if a command
    /// waits for it.
    fn entries_due(&self, layout: &Layout, ring: &Ring, front: &HostFrontend) -> u32 {
        let (waiting, strip, most) = (ring.waiting(), layout.strip, layout.most_write());
        let position = ring.submitted();
        match waiting {
            _ if waiting >= most => most,
            _ if waiting >= strip => waiting - waiting % strip,
            0 => 0,
            _ if front.flush_point() > position || self.forced > position => strip,
            _ => 0,
        }
    }

    /// Sends one data write. Returns whether it sent one.
    pub(super) fn write_data<D: PhysicalDevice>(
        &mut self,
        flash: &mut Flash<D>,
        buffer: &mut Buffer,
        front: &mut HostFrontend,
        durable: &FlushTracker,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        self.drop_superseded(buffer, front);
        let is_again = !self.again.is_empty();
        let due = match is_again {
            true => (self.again.len() as u32).min(flash.layout.most_write()),
            false => self.entries_due(&flash.layout, &buffer.ring, front),
        };
        if due == 0 {
            return false;
        }
        let mut sent = flash.port.new_command(Purpose::Data);
        let last = self.take_strips(due, &flash.lines, &flash.layout, &mut sent.places);
        if last.is_none() {
            flash.port.recycle(sent);
            return false;
        }
        for at in 0..sent.places.len() {
            let position = match is_again {
                true => self.again.pop_front(),
                false => buffer.ring.submit(),
            };
            let stamp = assign_location(position, sent.places[at], flash, buffer);
            sent.positions.push(position.unwrap_or(PADDING));
            sent.stamps.push(stamp);
        }
        flash.send(sent, calendar);
        if let Some((line, unit)) = self.take_reset(last) {
            flash.reset(line, unit, calendar);
        }
        self.write_emeta(last, flash, durable, calendar);
        true
    }

    /// Drops failed entries that are not the newest version of their page: a repeated write could reach flash
    /// after the newer version. Commands that waited for a dropped entry wait for the newer version.
    fn drop_superseded(&mut self, buffer: &mut Buffer, front: &mut HostFrontend) {
        for at in (0..self.again.len()).rev() {
            let position = self.again[at];
            let index = buffer.ring.index(position);
            let newest = buffer.map.get(page_of(buffer.ring.at(index).stamp));
            if newest == PageLocation::Ring(index) {
                continue;
            }
            self.again.remove(at);
            buffer.ring.at_mut(index).progress = Progress::Dropped;
            if let PageLocation::Ring(newest) = newest {
                front.retarget_flushes(position, buffer.ring.position(newest));
            }
        }
    }

    pub(in crate::pblk) fn complete_data_write<D: PhysicalDevice>(
        &mut self,
        completion: &Completion,
        sent: &Sent,
        flash: &mut Flash<D>,
        ring: &mut Ring,
    ) {
        for (at, (place, position)) in sent.places.iter().zip(&sent.positions).enumerate() {
            let has_failed = completion.has_failed(at);
            if has_failed {
                flash.lines.mark_closed_early(*place);
            }
            if *position == PADDING {
                continue;
            }
            if has_failed {
                flash.lines.drop_pending(*place);
                ring.get_mut(*position).progress = Progress::Waits;
                self.again.push_back(*position);
                flash.counts.resubmitted += 1;
            } else {
                ring.get_mut(*position).progress = Progress::Written;
            }
        }
        self.mark_units_idle(&sent.places, &flash.layout);
    }

    /// Marks the parallel units of a write as idle.
    pub(super) fn mark_units_idle(&mut self, places: &[Ppa], layout: &Layout) {
        for place in places.iter().step_by(layout.strip as usize) {
            let unit = layout.unit_of(layout.strip_of(*place));
            self.busy[unit as usize] = false;
        }
    }
}

/// Assigns an entry, or padding, to a location. Returns its data tag.
fn assign_location<D>(
    position: Option<u64>,
    place: Ppa,
    flash: &mut Flash<D>,
    buffer: &mut Buffer,
) -> DataTag {
    let Some(position) = position else {
        flash.counts.padding += 1;
        return DataTag::PADDING;
    };
    let entry = buffer.ring.get_mut(position);
    (entry.progress, entry.place) = (Progress::Sent, place);
    match entry.origin {
        Origin::Host => flash.counts.host_pages += 1,
        Origin::Collector => flash.counts.moved_pages += 1,
    }
    let stamp = entry.stamp;
    flash.lines.add_pending(place);
    stamp
}
