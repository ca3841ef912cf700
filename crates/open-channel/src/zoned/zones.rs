//! The zones: their table, their data, and the pieces of writes. They are handed the device below, to which
//! they send commands, and the host, whose commands they end.

use wordline_device::physical_device::{ChunkState, LogicalBlock, MOST_BLOCKS, Notice, Notification};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::{Column, Schedule};
use wordline_nand::DataTag;

use super::below::{Below, Context};
use super::command::{Command, Operation, Status};
use super::config::ZonesConfig;
use super::host::Host;
use super::in_flight::{Losses, Piece, Work};
use super::metrics::Counts;
use super::table::{Attributes, Table, ZoneId};
use super::zone_data::ZoneData;
use crate::in_flight_table::InFlightTable;
use wordline_device::ZoneState;

/// Zone descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// State (ZS).
    pub state: ZoneState,
    /// Attributes (ZA).
    pub attributes: Attributes,
    /// Number of writable logical blocks (ZCAP).
    pub capacity: u32,
    /// First logical block (ZSLBA).
    pub start: u64,
    /// Write pointer (WP); all ones if the zone cannot be written.
    pub write_pointer: u64,
}

/// All zones.
pub(super) struct Zones {
    pub(super) config: ZonesConfig,
    pub(super) table: Table,
    pub(super) bodies: Column<ZoneId, ZoneData>,
    pub(super) pieces: InFlightTable<Piece>,
    pub(super) counts: Counts,
    pub(super) losses: Losses,
    /// Logical blocks of completed writes that the last power loss destroyed.
    pub(super) lost_at_cut: u64,
    /// Whether commands take no time, as in preconditioning.
    pub(super) is_untimed: bool,
}

impl Zones {
    /// Empty zones over an empty device. Zones with an offline chunk are offline.
    pub(super) fn new<D: PhysicalDevice>(config: ZonesConfig, device: &D) -> Self {
        let layout = config.layout;
        let mut table = Table::new(layout.zones, layout.capacity, config.limits);
        for zone in table.ids() {
            if layout.chunks(zone).any(|chunk| device.report(chunk).state == ChunkState::Offline) {
                table.retire(zone, ZoneState::Offline);
            }
        }
        Self {
            table,
            bodies: Column::filled(layout.zones as usize, ZoneData::default()),
            config,
            pieces: InFlightTable::default(),
            counts: Counts::default(),
            losses: Losses::default(),
            lost_at_cut: 0,
            is_untimed: false,
        }
    }

    /// Descriptor of a zone.
    pub(super) fn zone(&self, zone: ZoneId) -> Zone {
        let entry = self.table.get(zone);
        let start = self.config.layout.start(zone);
        Zone {
            state: entry.state,
            attributes: entry.attributes,
            capacity: self.config.layout.capacity,
            start,
            write_pointer: if entry.state.is_writable() { start + u64::from(entry.next) } else { u64::MAX },
        }
    }

    /// Number of logical blocks of a zone that the host can read as a chunk: the blocks of completed writes.
    pub(super) fn completed_blocks(&self, zone: ZoneId) -> u32 {
        let body = &self.bodies[zone];
        let is_there = self.table.get(zone).state != ZoneState::Offline && !body.has_pending_reset();
        if is_there { body.completed } else { 0 }
    }

    /// Checks a command and returns its zone and the offset in it. For zone management of one zone, the table
    /// is changed at once.
    pub(super) fn check(&mut self, command: &Command<'_>) -> Result<Option<(ZoneId, u64)>, Status> {
        let is_for_all = command.all && matches!(command.operation, Operation::Manage(_));
        if command.operation == Operation::Flush {
            return Ok(None);
        }
        if is_for_all {
            // Limits are checked on a copy of the table.
            let Operation::Manage(action) = command.operation else { unreachable!("it is one") };
            return self.table.clone().manage_all(action).map(|_| None);
        }
        let (zone, place) = self.config.layout.locate(command.first).ok_or(Status::OutOfRange)?;
        let count = match command.operation {
            Operation::Read => u64::from(command.blocks),
            _ => command.stamps.len() as u64,
        };
        let end = u64::from(self.config.layout.zones) * self.config.layout.size;
        if command.first + count > end {
            return Err(Status::OutOfRange);
        }
        let is_written = |stamp: &DataTag| stamp.is_data() || *stamp == DataTag::PADDING;
        match command.operation {
            Operation::Read | Operation::Write | Operation::Append if count == 0 => {
                return Err(Status::InvalidField);
            }
            Operation::Read if place + count > self.config.layout.size => return Err(Status::Boundary),
            Operation::Read if self.table.get(zone).state == ZoneState::Offline => {
                return Err(Status::Offline);
            }
            Operation::Write | Operation::Append if !command.stamps.iter().all(is_written) => {
                return Err(Status::InvalidField);
            }
            Operation::Write => {
                let place = place.min(u64::from(u32::MAX)) as u32;
                self.table.check_write(zone, Some(place), count, true)?;
            }
            Operation::Append => {
                let limit = self.config.append_limit.map_or(u64::MAX, u64::from);
                self.table.check_write(zone, None, count, place == 0 && count <= limit)?;
            }
            Operation::Manage(_) if place != 0 => return Err(Status::InvalidField),
            Operation::Manage(action) => self.table.manage(action, zone)?,
            Operation::Read | Operation::Flush => {}
        }
        Ok(Some((zone, place)))
    }

    /// Starts the read of logical blocks of zones for a command.
    pub(super) fn read<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        number: u32,
        blocks: &[(ZoneId, u64)],
        context: &mut Context<'_, D, C>,
    ) {
        self.counts.reads += 1;
        context.host.commands.get_mut(number).found = vec![DataTag::ERASED; blocks.len()];
        let mut at = 0;
        for run in blocks.chunk_by(|(one, _), (next, _)| one == next) {
            let zone = run[0].0;
            let (mut places, mut wanted) = (Vec::new(), Vec::new());
            for (_, block) in run {
                if let Some(block) = self.find((number, at), (zone, *block), context.below, context.host) {
                    places.push(at);
                    wanted.push(block);
                }
                at += 1;
            }
            for (places, blocks) in places.chunks(MOST_BLOCKS).zip(wanted.chunks(MOST_BLOCKS)) {
                let work = Work::Read { zone, command: number, places: places.to_vec() };
                let read = |tag| physical::Command::read(tag, blocks);
                assert!(context.below.send(work, read, context.calendar), "all of it can be read");
                self.bodies[zone].reads += 1;
                context.host.commands.get_mut(number).parts += 1;
            }
        }
    }

    /// Location in the device below of a logical block to be read. `None` if the data are known without a
    /// read.
    fn find<D: PhysicalDevice>(
        &self,
        (number, at): (u32, u32),
        (zone, block): (ZoneId, u64),
        below: &Below<D>,
        host: &mut Host,
    ) -> Option<LogicalBlock> {
        let body = &self.bodies[zone];
        if block >= u64::from(body.taken) || body.has_pending_reset() {
            return None;
        }
        let block = block as u32;
        if let Some(stamp) = body.buffered_tag(block) {
            host.commands.get_mut(number).found[at as usize] = stamp;
            return None;
        }
        let place = self.config.layout.block(zone, body.runs.position(block));
        if place.block < below.device.report(place.chunk).readable {
            return Some(place);
        }
        // Blocks that are being written read as unwritten.
        if block < body.completed {
            host.unread(number, at);
        }
        None
    }

    /// Handles a notification of the device below.
    pub(super) fn on_notification<D: PhysicalDevice, C: Schedule<D::Event>>(
        &mut self,
        notification: &Notification,
        context: &mut Context<'_, D, C>,
    ) {
        let chunk = notification.first.chunk;
        let zone = self.config.layout.zone_of(chunk);
        let state = self.table.get(zone).state;
        if self.bodies[zone].has_pending_reset() {
            // The completion of the reset reports a failure.
            return;
        }
        match notification.notice {
            Notice::EarlyClose if state.is_active() => self.end(zone, context),
            Notice::EarlyClose => {}
            Notice::Offline => self.retire(zone, context),
            Notice::HighErrorRate | Notice::Unrecovered => {
                let is_full = state == ZoneState::Full;
                let attributes = self.table.attributes_mut(zone);
                attributes.reset_recommended |= is_full;
                attributes.finish_recommended |= state.is_active();
                self.notify(zone, notification.notice, context.host);
            }
        }
    }

    /// Notifies the host about a zone.
    pub(super) fn notify(&self, zone: ZoneId, notice: Notice, host: &mut Host) {
        let layout = &self.config.layout;
        host.notify(layout.as_chunk(zone), (self.table.get(zone).next, layout.capacity), notice);
    }
}
