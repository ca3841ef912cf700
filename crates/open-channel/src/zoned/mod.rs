//! Zoned device (NVMe Zoned Namespace Command Set): zones over the chunks of any [physical
//! device](wordline_device::physical_device).
//!
//! A zone is striped over chunks of several parallel units, one chunk each. The zone table enforces the rules
//! of NVMe and changes at once. The device below does all flash work, with its own write buffer, failure
//! handling and recovery. The zoned device itself keeps only *gathered* blocks, which do not fill a program
//! yet, and pads programs for flushes and after power losses.
//!
//! A rejected or failed command has an NVMe [`Status`]. The zoned device is a physical device too: to a host
//! of that interface, each zone is a chunk. See `docs/zoned.md`.

mod audit;
mod command;
mod config;
mod in_flight;
mod layout;
mod metrics;
mod physical_device;
mod power_cut;
mod resets;
mod table;
mod time_recorder;
mod writes;
mod zone_data;

use wordline_device::physical_device::{
    ChunkState, Geometry, LogicalBlock, MOST_BLOCKS, Notice, Notification,
};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Column, Digest, Schedule, state};
use wordline_nand::DataTag;

use in_flight::{InFlight, InFlightTable, Interface, Losses, Outbox, Piece, Work};
use table::Table;
use zone_data::ZoneData;

pub use command::{Action, Command, Completion, Operation, Status};
pub use config::{ZonesConfig, ZonesFile, check_device};
pub use layout::Layout;
pub use metrics::{Counts, Mark, own as own_metrics};
pub use table::{Attributes, Limits, ZoneId, ZoneState};

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

/// Zoned device over a physical device.
pub struct Zoned<D> {
    config: ZonesConfig,
    /// Geometry of the device to a host that sees zones as chunks.
    geometry: Geometry,
    device: D,
    table: Table,
    bodies: Column<ZoneId, ZoneData>,
    commands: InFlightTable<InFlight>,
    pieces: InFlightTable<Piece>,
    sent: InFlightTable<Work>,
    outbox: Outbox,
    counts: Counts,
    losses: Losses,
    is_recovering: bool,
    digest: Digest,
}

state!(Zoned<D: State> {
    values { bodies, commands, pieces, sent, outbox, counts, losses, is_recovering, digest }
    parts { device, table }
    fixed { config, geometry }
});

impl<D: PhysicalDevice> Zoned<D> {
    /// Zoned device with empty zones, over an empty device.
    pub fn new(config: ZonesConfig, device: D) -> Self {
        let layout = config.layout;
        let geometry = config.geometry(device.geometry());
        let mut table = Table::new(layout.zones, layout.capacity, config.limits);
        for zone in table.ids() {
            if layout.chunks(zone).any(|chunk| device.report(chunk).state == ChunkState::Offline) {
                table.retire(zone, ZoneState::Offline);
            }
        }
        Self {
            geometry,
            table,
            bodies: Column::filled(layout.zones as usize, ZoneData::default()),
            config,
            device,
            commands: InFlightTable::default(),
            pieces: InFlightTable::default(),
            sent: InFlightTable::default(),
            outbox: Outbox::default(),
            counts: Counts::default(),
            losses: Losses::default(),
            is_recovering: false,
            digest: Digest::default(),
        }
    }

    /// Device below.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Configuration of the zones.
    pub fn config(&self) -> &ZonesConfig {
        &self.config
    }

    /// Counts of events since the device was created.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Number of active zones, and of open zones.
    pub fn in_use(&self) -> [u32; 2] {
        [self.table.active(), self.table.open()]
    }

    /// Whether a write may complete before its data would survive a power loss (VWC). This is true for writes
    /// that do not fill a program, unless the buffer is protected.
    pub fn has_volatile_writes(&self) -> bool {
        let below = self.device.geometry();
        below.capabilities.volatile_writes || below.ws_min > 1 && !self.config.is_protected
    }

    /// Descriptor of a zone.
    pub fn zone(&self, zone: ZoneId) -> Zone {
        let entry = self.table.get(zone);
        let start = self.config.layout.start(zone);
        let is_writable = entry.state == ZoneState::Empty || entry.state.is_active();
        Zone {
            state: entry.state,
            attributes: entry.attributes,
            capacity: self.config.layout.capacity,
            start,
            write_pointer: if is_writable { start + u64::from(entry.next) } else { u64::MAX },
        }
    }

    /// Zone Management Receive (7Ah): descriptors of at most `most` zones, from the zone with logical block
    /// `first` on, whose state passes the filter. Also returns the total number of such zones.
    ///
    /// # Errors
    /// An invalid filter or logical block.
    pub fn report_zones(&self, first: u64, filter: u8, most: usize) -> Result<(u64, Vec<Zone>), Status> {
        if usize::from(filter) > ZoneState::ALL.len() {
            return Err(Status::InvalidField);
        }
        let (first, _) = self.config.layout.locate(first).ok_or(Status::OutOfRange)?;
        let all = self.table.ids().skip(first.0 as usize).map(|zone| self.zone(zone));
        let found: Vec<Zone> = all.filter(|zone| zone.state.is_in(filter)).collect();
        let count = found.len() as u64;
        Ok((count, found.into_iter().take(most).collect()))
    }

    /// Submits a command, which may complete during the call.
    ///
    /// # Errors
    /// Status of the rejection. The device is unchanged.
    pub fn submit(
        &mut self,
        command: &Command<'_>,
        calendar: &mut impl Schedule<D::Event>,
    ) -> Result<(), Status> {
        let target = self.check(command)?;
        let face = Interface::Zones(command.operation);
        let number = self.commands.add(InFlight::new(face, command.tag, calendar.now()));
        self.commands.get_mut(number).first = command.first;
        match (command.operation, target) {
            (Operation::Read, Some((zone, block))) => {
                let blocks: Vec<(ZoneId, u64)> =
                    (block..block + u64::from(command.blocks)).map(|block| (zone, block)).collect();
                self.read(number, &blocks, calendar);
            }
            (Operation::Write | Operation::Append, Some((zone, _))) => {
                let first = self.config.layout.start(zone) + u64::from(self.table.get(zone).next);
                self.commands.get_mut(number).first = first;
                self.counts.appends += u64::from(command.operation == Operation::Append);
                self.write(number, 0, zone, command.stamps, calendar);
            }
            (Operation::Flush, _) => self.flush(number, calendar),
            (Operation::Manage(action), target) => {
                let zones = match target {
                    None => self.table.manage_all(action).expect("it was checked"),
                    Some((zone, _)) => vec![zone],
                };
                for (at, zone) in (0..).zip(zones) {
                    self.queue_job(action, (number, at), zone, calendar);
                }
            }
            (Operation::Read | Operation::Write | Operation::Append, None) => unreachable!("it was checked"),
        }
        self.finish_part(number, calendar);
        self.process_below(calendar);
        Ok(())
    }

    /// Executes a checked command of a host that sees zones as chunks.
    fn take_chunks(&mut self, command: &physical::Command<'_>, calendar: &mut impl Schedule<D::Event>) {
        let (face, layout) = (Interface::Chunks(command.operation), self.config.layout);
        let number = self.commands.add(InFlight::new(face, command.tag, calendar.now()));
        match command.operation {
            physical::Operation::Read => {
                let place =
                    |block: &LogicalBlock| (layout.zone_from_chunk(block.chunk), u64::from(block.block));
                let blocks: Vec<(ZoneId, u64)> = command.blocks.iter().map(place).collect();
                self.read(number, &blocks, calendar);
            }
            physical::Operation::Write => {
                let unit = self.geometry.ws_min;
                let limit = self.config.append_limit.unwrap_or(MOST_BLOCKS as u32);
                let most = (limit / unit * unit).max(unit) as usize;
                let mut at = 0;
                for run in physical_device::runs(command.blocks) {
                    let zone = layout.zone_from_chunk(run[0].chunk);
                    for part in run.chunks(most) {
                        let stamps = &command.stamps[at..at + part.len()];
                        self.counts.appends += 1;
                        self.write(number, at as u32, zone, stamps, calendar);
                        at += part.len();
                    }
                }
            }
            physical::Operation::Reset | physical::Operation::Close => {
                let is_reset = command.operation == physical::Operation::Reset;
                let action = if is_reset { Action::Reset } else { Action::Finish };
                for (at, block) in (0..).zip(command.blocks) {
                    let zone = layout.zone_from_chunk(block.chunk);
                    self.table.manage(action, zone).expect("it was checked");
                    self.queue_job(action, (number, at), zone, calendar);
                }
            }
            physical::Operation::Flush => self.flush(number, calendar),
            physical::Operation::Copy => unreachable!("it was refused"),
        }
        self.finish_part(number, calendar);
        self.process_below(calendar);
    }

    /// Checks a command and returns its zone and the offset in it. For zone management of one zone, the table
    /// is changed at once.
    fn check(&mut self, command: &Command<'_>) -> Result<Option<(ZoneId, u64)>, Status> {
        if !self.accepts_commands() {
            return Err(Status::NotReady);
        }
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

    /// Completions since the last [`clear_zone_completions`](Self::clear_zone_completions).
    pub fn zone_completions(&self) -> &[Completion] {
        &self.outbox.completions
    }

    /// Clears the list of completions.
    pub fn clear_zone_completions(&mut self) {
        self.outbox.completions.clear();
    }

    /// Starts the read of logical blocks of zones for a command.
    fn read(&mut self, number: u32, blocks: &[(ZoneId, u64)], calendar: &mut impl Schedule<D::Event>) {
        self.counts.reads += 1;
        self.commands.get_mut(number).found = vec![DataTag::ERASED; blocks.len()];
        let mut at = 0;
        for run in blocks.chunk_by(|(one, _), (next, _)| one == next) {
            let zone = run[0].0;
            let (mut places, mut below) = (Vec::new(), Vec::new());
            for (_, block) in run {
                if let Some(block) = self.find(number, at, zone, *block) {
                    places.push(at);
                    below.push(block);
                }
                at += 1;
            }
            for (places, blocks) in places.chunks(MOST_BLOCKS).zip(below.chunks(MOST_BLOCKS)) {
                let work = Work::Read { zone, command: number, places: places.to_vec() };
                let read = |tag| physical::Command::read(tag, blocks);
                assert!(self.send(work, read, calendar), "all of it can be read");
                self.bodies[zone].reads += 1;
                self.commands.get_mut(number).parts += 1;
            }
        }
    }

    /// Location in the device below of a logical block to be read. `None` if the data are known without a
    /// read.
    fn find(&mut self, number: u32, at: u32, zone: ZoneId, block: u64) -> Option<LogicalBlock> {
        let body = &self.bodies[zone];
        if block >= u64::from(body.taken) || body.has_pending_reset() {
            return None;
        }
        let block = block as u32;
        if let Some(stamp) = body.buffered_tag(block) {
            self.commands.get_mut(number).found[at as usize] = stamp;
            return None;
        }
        let place = self.config.layout.block(zone, body.runs.position(block));
        if place.block < self.device.report(place.chunk).readable {
            return Some(place);
        }
        // Blocks that are being written read as unwritten.
        if block < body.completed {
            self.unread(number, at);
        }
        None
    }

    /// Records that a logical block of a command is unreadable.
    fn unread(&mut self, number: u32, at: u32) {
        let command = self.commands.get_mut(number);
        command.record_failure(at as usize, 1, Status::Unrecovered);
        command.found[at as usize] = DataTag::UNREADABLE;
    }

    /// Sends a command to the device below. Returns whether the device accepted it.
    fn send<'a>(
        &mut self,
        work: Work,
        command: impl FnOnce(u32) -> physical::Command<'a>,
        calendar: &mut impl Schedule<D::Event>,
    ) -> bool {
        let tag = self.sent.next();
        if self.device.submit(&command(tag), calendar).is_err() {
            return false;
        }
        self.sent.add(work);
        true
    }

    /// Handles completions and notifications of the device below.
    fn process_below(&mut self, calendar: &mut impl Schedule<D::Event>) {
        loop {
            let notifications = self.device.notifications().to_vec();
            let completions = self.device.completions().to_vec();
            if notifications.is_empty() && completions.is_empty() {
                return;
            }
            self.device.clear_notifications();
            self.device.clear_completions();
            notifications.iter().for_each(|notification| self.on_notification(notification, calendar));
            completions.iter().for_each(|completion| self.completed(completion, calendar));
        }
    }

    fn on_notification(&mut self, notification: &Notification, calendar: &mut impl Schedule<D::Event>) {
        let chunk = notification.first.chunk;
        let zone = self.config.layout.zone_of(chunk);
        let state = self.table.get(zone).state;
        if self.bodies[zone].has_pending_reset() {
            // The completion of the reset reports a failure.
            return;
        }
        match notification.notice {
            Notice::EarlyClose if state.is_active() => self.end(zone, calendar),
            Notice::EarlyClose => {}
            Notice::Offline => self.retire(zone, calendar),
            Notice::HighErrorRate | Notice::Unrecovered => {
                let is_full = state == ZoneState::Full;
                let attributes = self.table.attributes_mut(zone);
                attributes.reset_recommended |= is_full;
                attributes.finish_recommended |= state.is_active();
                self.notify(zone, notification.notice);
            }
        }
    }

    /// Notifies the host about a zone.
    fn notify(&mut self, zone: ZoneId, notice: Notice) {
        let (next, capacity) = (self.table.get(zone).next, self.config.layout.capacity);
        let first = self.config.layout.as_chunk(zone).at(next.min(capacity - 1));
        self.outbox.notifications.push(Notification { first, blocks: capacity - next, notice });
    }

    /// Ends a part of a command. After its last part the command completes.
    fn finish_part(&mut self, number: u32, calendar: &mut impl Schedule<D::Event>) {
        let command = self.commands.get_mut(number);
        command.parts -= 1;
        if command.parts > 0 {
            return;
        }
        let (now, command) = (calendar.now(), self.commands.remove(number));
        self.digest.add(u64::from(command.tag));
        self.digest.add((now - command.submitted).ps());
        self.outbox.add(command, now);
    }

    /// Whether the device accepts commands.
    fn accepts_commands(&self) -> bool {
        self.device.is_ready() && !self.is_recovering
    }
}
