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
mod below;
mod command;
mod config;
mod host;
mod in_flight;
mod layout;
mod metrics;
mod physical_device;
mod power_cut;
mod resets;
mod rules;
mod state;
mod table;
mod time_recorder;
mod writes;
mod zone_data;
mod zones;

use serde::{Deserialize, Serialize};
use wordline_device::physical_device::{Geometry, LogicalBlock, MOST_BLOCKS};
use wordline_device::{PhysicalDevice, physical_device as physical};
use wordline_kernel::Schedule;

use below::{Below, Context};
use host::Host;
use in_flight::Interface;
use zones::Zones;

pub use command::{Action, Command, Completion, Operation, Status};
pub use config::{ResetTimes, ZonesConfig, ZonesFile, check_device};
pub use layout::Layout;
pub use metrics::{Counts, Mark, own as own_metrics};
pub use table::{Attributes, Limits, ZoneId};
pub use wordline_device::ZoneState;
pub use zones::Zone;

/// Events of a zoned device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of the device below.
    Device(E),
    /// The firmware ends a part of the command with this number.
    Firmware(u32),
}

/// Zoned device over a physical device.
pub struct Zoned<D> {
    /// Geometry of the device to a host that sees zones as chunks.
    geometry: Geometry,
    zones: Zones,
    below: Below<D>,
    host: Host,
    is_recovering: bool,
}

impl<D: PhysicalDevice> Zoned<D> {
    /// Zoned device with empty zones, over an empty device.
    pub fn new(config: ZonesConfig, device: D) -> Self {
        Self {
            geometry: config.geometry(device.geometry()),
            zones: Zones::new(config, &device),
            below: Below::new(device),
            host: Host::default(),
            is_recovering: false,
        }
    }

    /// Device below.
    pub fn device(&self) -> &D {
        &self.below.device
    }

    /// Configuration of the zones.
    pub fn config(&self) -> &ZonesConfig {
        &self.zones.config
    }

    /// Counts of events since the device was created.
    pub fn counts(&self) -> &Counts {
        &self.zones.counts
    }

    /// Number of active zones, and of open zones.
    pub fn in_use(&self) -> [u32; 2] {
        [self.zones.table.active(), self.zones.table.open()]
    }

    /// Whether a write may complete before its data would survive a power loss (VWC). This is true for writes
    /// that do not fill a program, unless the buffer is protected.
    pub fn has_volatile_writes(&self) -> bool {
        let below = self.below.device.geometry();
        below.capabilities.volatile_writes || below.ws_min > 1 && !self.zones.config.is_protected
    }

    /// Descriptor of a zone.
    pub fn zone(&self, zone: ZoneId) -> Zone {
        self.zones.zone(zone)
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
        let (first, _) = self.zones.config.layout.locate(first).ok_or(Status::OutOfRange)?;
        let all = self.zones.table.ids().skip(first.0 as usize).map(|zone| self.zone(zone));
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
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> Result<(), Status> {
        if !self.accepts_commands() {
            return Err(Status::NotReady);
        }
        let target = self.zones.check(command)?;
        let face = Interface::Zones(command.operation);
        let number = self.host.add(face, command.tag, calendar.now());
        let Self { zones, below, host, .. } = self;
        let context = &mut Context { below, host, calendar: &mut calendar.within(Event::Device) };
        context.host.commands.get_mut(number).first = command.first;
        match (command.operation, target) {
            (Operation::Read, Some((zone, block))) => {
                let blocks: Vec<(ZoneId, u64)> =
                    (block..block + u64::from(command.blocks)).map(|block| (zone, block)).collect();
                zones.read(number, &blocks, context);
            }
            (Operation::Write | Operation::Append, Some((zone, _))) => {
                let first = zones.config.layout.start(zone) + u64::from(zones.table.get(zone).next);
                context.host.commands.get_mut(number).first = first;
                zones.counts.appends += u64::from(command.operation == Operation::Append);
                zones.write((number, 0), zone, command.stamps, context);
            }
            (Operation::Flush, _) => zones.flush(number, context),
            (Operation::Manage(action), target) => {
                let managed = match target {
                    None => zones.table.manage_all(action).expect("it was checked"),
                    Some((zone, _)) => vec![zone],
                };
                for (at, zone) in (0..).zip(managed) {
                    zones.queue_job(action, (number, at), zone, context);
                }
            }
            (Operation::Read | Operation::Write | Operation::Append, None) => unreachable!("it was checked"),
        }
        context.host.finish_part(number, context.calendar.now());
        self.process_below(calendar);
        Ok(())
    }

    /// Executes a checked command of a host that sees zones as chunks.
    fn take_chunks(
        &mut self,
        command: &physical::Command<'_>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let (face, layout) = (Interface::Chunks(command.operation), self.zones.config.layout);
        let number = self.host.add(face, command.tag, calendar.now());
        let Self { geometry, zones, below, host, .. } = self;
        let context = &mut Context { below, host, calendar: &mut calendar.within(Event::Device) };
        match command.operation {
            physical::Operation::Read => {
                let place =
                    |block: &LogicalBlock| (layout.zone_from_chunk(block.chunk), u64::from(block.block));
                let blocks: Vec<(ZoneId, u64)> = command.blocks.iter().map(place).collect();
                zones.read(number, &blocks, context);
            }
            physical::Operation::Write => {
                let unit = geometry.ws_min;
                let limit = zones.config.append_limit.unwrap_or(MOST_BLOCKS as u32);
                let most = (limit / unit * unit).max(unit) as usize;
                let mut at = 0;
                for run in rules::runs(command.blocks) {
                    let zone = layout.zone_from_chunk(run[0].chunk);
                    for part in run.chunks(most) {
                        let stamps = &command.stamps[at..at + part.len()];
                        zones.counts.appends += 1;
                        zones.write((number, at as u32), zone, stamps, context);
                        at += part.len();
                    }
                }
            }
            physical::Operation::Reset | physical::Operation::Close => {
                let is_reset = command.operation == physical::Operation::Reset;
                let action = if is_reset { Action::Reset } else { Action::Finish };
                for (at, block) in (0..).zip(command.blocks) {
                    let zone = layout.zone_from_chunk(block.chunk);
                    zones.table.manage(action, zone).expect("it was checked");
                    zones.queue_job(action, (number, at), zone, context);
                }
            }
            physical::Operation::Flush => zones.flush(number, context),
            physical::Operation::Copy => unreachable!("it was refused"),
        }
        context.host.finish_part(number, context.calendar.now());
        self.process_below(calendar);
    }

    /// Completions since the last [`clear_zone_completions`](Self::clear_zone_completions).
    pub fn zone_completions(&self) -> &[Completion] {
        &self.host.outbox.completions
    }

    /// Clears the list of completions.
    pub fn clear_zone_completions(&mut self) {
        self.host.outbox.completions.clear();
    }

    /// Handles completions and notifications of the device below.
    fn process_below(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Self { zones, below, host, .. } = self;
        let context = &mut Context { below, host, calendar: &mut calendar.within(Event::Device) };
        loop {
            let notifications = context.below.device.notifications().to_vec();
            let completions = context.below.device.completions().to_vec();
            if notifications.is_empty() && completions.is_empty() {
                break;
            }
            context.below.device.clear_notifications();
            context.below.device.clear_completions();
            for notification in &notifications {
                zones.on_notification(notification, context);
            }
            for completion in &completions {
                zones.completed(completion, context);
            }
        }
        for (number, time) in self.host.later.drain(..) {
            calendar.after(time, Event::Firmware(number));
        }
    }

    /// Whether the device accepts commands.
    fn accepts_commands(&self) -> bool {
        self.below.device.is_ready() && !self.is_recovering
    }
}
