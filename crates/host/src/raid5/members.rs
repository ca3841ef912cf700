//! The devices of an array, their roles, and the commands to them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::ageing::Ages;
use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Completion, Gauges, Operation};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Instant, Schedule, state};

use super::durability::member_state::MemberState;
use super::event::Event;
use super::stripe_cache::HeadId;
use super::write_method::MemberSet;
use crate::slab::Slab;

/// Purpose of a member command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Reads a piece for the host.
    Read {
        /// Number of the host command.
        request: u32,
        /// Offset in the host's range, in sectors.
        at: u32,
    },
    /// Flushes or discards for the host.
    Pass {
        /// Number of the host command.
        request: u32,
    },
    /// Reads a block of a row.
    Fetch {
        /// The stripe head of the row.
        head: HeadId,
    },
    /// Writes blocks of a row and of the rows in its batch.
    Store {
        /// The stripe head of the row.
        head: HeadId,
    },
    /// Writes the entry of a row to the partial parity log.
    Log {
        /// The stripe head of the row.
        head: HeadId,
    },
    /// The array's own flush of all members.
    Flush,
    /// Flushes the member at the end of its rebuild.
    Rebuilt,
}

/// An outstanding member command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberCommand {
    /// The member.
    pub member: u16,
    /// The device of the member when the command was submitted.
    pub device: u16,
    /// The purpose.
    pub why: Purpose,
    /// The command.
    pub command: Command,
}

/// A completed member command.
#[derive(Clone, Debug)]
pub struct CompletedCommand {
    /// The command.
    pub sent: MemberCommand,
    /// Whether the command failed on a device that still serves the member.
    pub failed: bool,
    /// Whether the device has been replaced. The result does not count then.
    pub gone: bool,
    /// Contents that a read found, for data verification.
    pub found: Option<Vec<Content>>,
}

/// Work of a device of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTraffic {
    /// Reads.
    pub reads: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Writes.
    pub writes: u64,
    /// Sectors written.
    pub written_sectors: u64,
    /// Sectors of parity among the written ones.
    pub parity_sectors: u64,
    /// Sectors that a rebuild, a resync or a scrub read or wrote.
    pub sync_sectors: u64,
}

impl DeviceTraffic {
    /// The difference from an earlier value.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            read_sectors: self.read_sectors - before.read_sectors,
            writes: self.writes - before.writes,
            written_sectors: self.written_sectors - before.written_sectors,
            parity_sectors: self.parity_sectors - before.parity_sectors,
            sync_sectors: self.sync_sectors - before.sync_sectors,
        }
    }

    /// Sectors of everything but synchronisations.
    pub fn other_sectors(&self) -> u64 {
        (self.read_sectors + self.written_sectors).saturating_sub(self.sync_sectors)
    }

    fn count(&mut self, command: &Command) {
        match command.operation {
            Operation::Read => {
                self.reads += 1;
                self.read_sectors += command.sectors;
            }
            Operation::Write => {
                self.writes += 1;
                self.written_sectors += command.sectors;
            }
            _ => {}
        }
    }
}

/// The members of an array.
pub struct Members<D> {
    devices: Vec<D>,
    /// The work of each device.
    work: Vec<DeviceTraffic>,
    /// The device of each member.
    members: Vec<u16>,
    /// Spare devices, in the order of use.
    spares: VecDeque<u16>,
    /// Outstanding commands by tag.
    sent: Slab<MemberCommand>,
    /// Completed commands not yet processed. Empty between events.
    over: VecDeque<CompletedCommand>,
    follows: bool,
}

state!(Members<D: State> {
    values { work, members, spares, sent }
    lists { devices }
    fixed { over, follows }
});

impl<D: BlockDevice> Members<D> {
    /// Members from the first `count` devices. The other devices are spares.
    pub fn new(devices: Vec<D>, count: usize) -> Self {
        let all = devices.len() as u16;
        let count = count as u16;
        Self {
            work: vec![DeviceTraffic::default(); devices.len()],
            devices,
            members: (0..count).collect(),
            spares: (count..all).collect(),
            sent: Slab::default(),
            over: VecDeque::new(),
            follows: false,
        }
    }

    /// The devices, including spares and failed ones.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }

    /// The joint room of all devices; `None` if one does not report it.
    pub fn room(&self) -> Option<u64> {
        self.devices.iter().map(|device| device.room()).sum()
    }

    /// The joint gauges of all devices.
    pub fn gauges(&self, now: Instant) -> Gauges {
        Gauges::join(self.devices.iter().map(|device| device.gauges(now)))
    }

    /// The devices, mutable.
    pub fn devices_mut(&mut self) -> &mut [D] {
        &mut self.devices
    }

    /// The work of each device.
    pub fn work(&self) -> &[DeviceTraffic] {
        &self.work
    }

    /// Notes that this number of sectors sent to a member is parity.
    pub fn note_parity(&mut self, member: u16, sectors: u64) {
        let device = self.members[usize::from(member)];
        self.work[usize::from(device)].parity_sectors += sectors;
    }

    /// Notes that this number of sectors, which a member reads or writes next, is for a synchronisation.
    pub fn note_sync(&mut self, member: u16, sectors: u64) {
        let device = self.members[usize::from(member)];
        self.work[usize::from(device)].sync_sectors += sectors;
    }

    /// The role of a device in the array, as text. `held`: the state of the members.
    pub fn role(&self, device: u16, held: &MemberState) -> String {
        let Some(member) = self.members.iter().position(|of| *of == device) else {
            return if self.spares.contains(&device) { "spare" } else { "failed" }.into();
        };
        match (held.failed() >> member & 1, held.incomplete() >> member & 1) {
            (0, 0) => format!("member {member}"),
            (0, _) => format!("member {member}, being rebuilt"),
            _ => format!("member {member}, failed"),
        }
    }

    /// Makes the devices track contents for data verification.
    pub fn follow_contents(&mut self) {
        self.devices.iter_mut().for_each(D::follow_contents);
        self.follows = true;
    }

    /// Replaces the device of a member by a spare. Returns false if there is none.
    pub fn replace(&mut self, member: u16) -> bool {
        let spare = self.spares.pop_front();
        spare.inspect(|device| self.members[usize::from(member)] = *device).is_some()
    }

    /// Number of outstanding commands whose purpose matches `is_for`.
    pub fn count_outstanding(&self, is_for: impl Fn(Purpose) -> bool) -> u64 {
        self.sent.values().filter(|sent| is_for(sent.why)).count() as u64
    }

    /// Checks a restored state.
    ///
    /// # Errors
    /// A description of the contradiction.
    pub fn check_loaded(&self) -> Result<(), String> {
        let count = self.devices.len();
        let devices = self.members.iter().chain(&self.spares);
        let sent = self.sent.values();
        let sent_to = sent.clone().map(|sent| usize::from(sent.member) < self.members.len());
        let known = devices.map(|device| usize::from(*device) < count).chain(sent_to);
        if !known.chain([self.sent.is_sound()]).all(|holds| holds) {
            return Err("a device that does not exist".into());
        }
        let outstanding: usize = self.devices.iter().map(D::outstanding).sum();
        if outstanding != sent.count() {
            return Err("commands outstanding on its devices that it did not send".into());
        }
        Ok(())
    }

    /// Sends a command to a member, with a tag that this function sets.
    pub fn send(
        &mut self,
        member: u16,
        why: Purpose,
        command: Command,
        contents: Option<&[Content]>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let device = self.members[usize::from(member)];
        let to = &mut self.devices[usize::from(device)];
        if to.invalid_decision().is_some() {
            // The run ends with the invalid decision. The device accepts no more commands.
            return;
        }
        self.work[usize::from(device)].count(&command);
        let tag = self.sent.next();
        let command = Command { tag, expected: 0, namespace: 0, ..command };
        self.sent.add(MemberCommand { member, device, why, command });
        if let Some(contents) = contents {
            to.carry(tag, contents);
        }
        to.submit(command, &mut calendar_of(device, calendar));
        self.collect(device);
    }

    /// Handles an event of a device.
    pub fn handle(&mut self, device: u16, event: D::Event, calendar: &mut impl Schedule<Event<D::Event>>) {
        let mut own = calendar_of(device, calendar);
        self.devices[usize::from(device)].handle(event, &mut own);
        self.collect(device);
    }

    /// Takes the completions of a device.
    pub fn collect(&mut self, device: u16) {
        let Self { devices, sent, over, follows, .. } = self;
        let from = &mut devices[usize::from(device)];
        if from.completions().is_empty() {
            return;
        }
        let first = over.len();
        for Completion { command, failed, .. } in from.completions() {
            let sent = sent.remove(command.tag);
            over.push_back(CompletedCommand { sent, failed: *failed, gone: false, found: None });
        }
        from.clear_completions();
        if *follows {
            for over in over.iter_mut().skip(first) {
                if over.sent.command.operation == Operation::Read {
                    over.found = from.take_contents(over.sent.command.tag);
                }
            }
        }
    }

    /// Whether a completed command was not processed yet.
    #[inline]
    pub fn has_completed(&self) -> bool {
        !self.over.is_empty()
    }

    /// The next completed command. `failed`: the failed members, which may include one that failed at the
    /// previous completion.
    pub fn next_untimed_completion(&mut self, failed: MemberSet) -> Option<CompletedCommand> {
        let over = self.over.front_mut()?;
        let MemberCommand { member, device, .. } = over.sent;
        over.gone = failed >> member & 1 == 1 || self.members[usize::from(member)] != device;
        over.failed &= !over.gone;
        self.over.pop_front()
    }

    /// Powers the devices on again.
    pub fn recover(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        for device in 0..self.devices.len() as u16 {
            let mut own = calendar_of(device, calendar);
            self.devices[usize::from(device)].recover(&mut own);
            self.collect(device);
        }
    }

    /// Makes the devices fail commands that can never complete. Returns whether one did.
    pub fn give_up(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        for device in 0..self.devices.len() as u16 {
            let mut own = calendar_of(device, calendar);
            any |= self.devices[usize::from(device)].give_up(&mut own);
            self.collect(device);
        }
        any
    }

    /// Drops all outstanding commands after a power cut.
    pub fn drop_outstanding(&mut self) {
        self.sent = Slab::default();
        self.over.clear();
    }
}

impl<D: Ages> Members<D> {
    /// Completes the next flash command of a device, with the clock off. Returns false if there is none.
    pub fn complete_next_flash_command(&mut self, clock: &mut impl Schedule<Event<D::Event>>) -> bool {
        (0..self.devices.len() as u16).any(|device| {
            let mut own = calendar_of(device, clock);
            let is_over = self.devices[usize::from(device)].next_untimed_completion(&mut own);
            self.collect(device);
            is_over
        })
    }
}

/// The calendar of a device. Its type is the same for all calls, so that devices are compiled for it once.
fn calendar_of<E>(device: u16, calendar: &mut impl Schedule<Event<E>>) -> impl Schedule<E> {
    calendar.within(move |event| Event::Device { device, event })
}
