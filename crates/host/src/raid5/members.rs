//! The devices of an array, what each is to it, and the commands to them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Instant, Schedule, state};
use wordline_ssd::ageing::Ages;
use wordline_ssd::device::{Content, Explained, Tail};
use wordline_ssd::{BlockDevice, Command, Gauges, Operation};

use super::Event;
use super::durability::held::Held;
use super::heads::HeadId;
use super::way::Set;
use crate::numbered::Numbered;

/// The reason of a command to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// A read of the host, of so many sectors from this one of its range on.
    Read {
        /// The number of the host's command.
        request: u32,
        /// See above.
        at: u32,
    },
    /// A flush or a discard of the host.
    Pass {
        /// The number of the host's command.
        request: u32,
    },
    /// A block of a row is read.
    Fetch {
        /// The head that holds the row.
        head: HeadId,
    },
    /// Blocks of a row are written, and of those after it that are stored together.
    Store {
        /// The head that holds the row.
        head: HeadId,
    },
    /// The entry of a row in the partial parity log is written.
    Log {
        /// The head that holds the row.
        head: HeadId,
    },
    /// The array flushes all members on its own account.
    Flush,
    /// A member that was rebuilt makes durable what it holds.
    Rebuilt,
}

/// A command to a member that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The member.
    pub member: u16,
    /// Its device when the command was sent.
    device: u16,
    /// The reason.
    pub why: Why,
    /// The command.
    pub command: Command,
}

/// A command that a member has answered.
#[derive(Clone, Debug)]
pub struct Over {
    /// The command.
    pub sent: Sent,
    /// Whether it failed, on a device that is still that of its member.
    pub failed: bool,
    /// Whether its device is no longer that of its member, so that nothing it says counts.
    pub gone: bool,
    /// The contents that a read found, where contents are followed.
    pub found: Option<Vec<Content>>,
    /// Where its time went, where that is asked for.
    pub explained: Option<Box<Explained>>,
}

/// The work that a device of an array was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Reads.
    pub reads: u64,
    /// Their sectors.
    pub read_sectors: u64,
    /// Writes.
    pub writes: u64,
    /// Their sectors.
    pub written_sectors: u64,
    /// Sectors of parity among those written.
    pub parity_sectors: u64,
}

impl Work {
    /// The work since an earlier time.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            read_sectors: self.read_sectors - before.read_sectors,
            writes: self.writes - before.writes,
            written_sectors: self.written_sectors - before.written_sectors,
            parity_sectors: self.parity_sectors - before.parity_sectors,
        }
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
    work: Vec<Work>,
    /// The device of each member.
    members: Vec<u16>,
    /// Devices that can take the place of one that fails, the first being taken first.
    spares: VecDeque<u16>,
    /// Commands by their tags.
    sent: Numbered<Sent>,
    /// Answered commands of which nothing was made yet. Between two events there are none.
    over: VecDeque<Over>,
    follows: bool,
}

state!(Members<D: State> {
    values { work, members, spares, sent }
    lists { devices }
    fixed { over, follows }
});

impl<D: BlockDevice> Members<D> {
    /// The first `count` devices are members, and the others spares.
    pub fn new(devices: Vec<D>, count: usize) -> Self {
        let all = devices.len() as u16;
        let count = count as u16;
        Self {
            work: vec![Work::default(); devices.len()],
            devices,
            members: (0..count).collect(),
            spares: (count..all).collect(),
            sent: Numbered::default(),
            over: VecDeque::new(),
            follows: false,
        }
    }

    /// The devices, spares and those that failed among them.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }

    /// The readings of all of them together.
    pub fn gauges(&self, now: Instant) -> Gauges {
        Gauges::join(self.devices.iter().map(|device| device.gauges(now)))
    }

    /// The devices, to be changed.
    pub fn devices_mut(&mut self) -> &mut [D] {
        &mut self.devices
    }

    /// The work of each device.
    pub fn work(&self) -> &[Work] {
        &self.work
    }

    /// Sectors of those that a member is sent are parity.
    pub fn note_parity(&mut self, member: u16, sectors: u64) {
        let device = self.members[usize::from(member)];
        self.work[usize::from(device)].parity_sectors += sectors;
    }

    /// The part of a device in the array, in words, where the members hold this.
    pub fn role(&self, device: u16, held: &Held) -> String {
        let Some(member) = self.members.iter().position(|of| *of == device) else {
            return if self.spares.contains(&device) { "spare" } else { "failed" }.into();
        };
        match (held.failed() >> member & 1, held.lacking() >> member & 1) {
            (0, 0) => format!("member {member}"),
            (0, _) => format!("member {member}, being rebuilt"),
            _ => format!("member {member}, failed"),
        }
    }

    /// Asks the devices to follow contents.
    pub fn follow_contents(&mut self) {
        self.devices.iter_mut().for_each(D::follow_contents);
        self.follows = true;
    }

    /// Puts a spare in the place of a member; false if there is none.
    pub fn replace(&mut self, member: u16) -> bool {
        let spare = self.spares.pop_front();
        spare.inspect(|device| self.members[usize::from(member)] = *device).is_some()
    }

    /// The number of commands for some reasons that are not answered.
    pub fn sent_for(&self, is_for: impl Fn(Why) -> bool) -> u64 {
        self.sent.values().filter(|sent| is_for(sent.why)).count() as u64
    }

    /// Whether a state that was loaded can be one of these devices.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_loaded(&self) -> Result<(), String> {
        let count = self.devices.len();
        let devices = self.members.iter().chain(&self.spares);
        let sent = self.sent.values();
        let sent_to = sent.clone().map(|sent| usize::from(sent.member) < self.members.len());
        let known = devices.map(|device| usize::from(*device) < count).chain(sent_to);
        if !known.chain([self.sent.is_sound()]).all(|holds| holds) {
            return Err("a device that is not there".into());
        }
        let outstanding: usize = self.devices.iter().map(D::outstanding).sum();
        if outstanding != sent.count() {
            return Err("its devices work on other commands than it sent".into());
        }
        Ok(())
    }

    /// Sends a command to a member. The tag of the command is set here.
    pub fn send(
        &mut self,
        member: u16,
        why: Why,
        command: Command,
        contents: Option<&[Content]>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let device = self.members[usize::from(member)];
        let to = &mut self.devices[usize::from(device)];
        if to.wrong_answer().is_some() {
            // The run ends with it, and the device takes no more commands.
            return;
        }
        self.work[usize::from(device)].count(&command);
        let tag = self.sent.next();
        let command = Command { tag, expected: 0, namespace: 0, ..command };
        self.sent.add(Sent { member, device, why, command });
        if let Some(contents) = contents {
            to.carry(tag, contents);
        }
        to.submit(command, &mut calendar.within(|event| Event::Of { device, event }));
        self.collect(device);
    }

    /// Lets a device serve an event.
    pub fn handle(&mut self, device: u16, event: D::Event, calendar: &mut impl Schedule<Event<D::Event>>) {
        let mut own = calendar.within(|event| Event::Of { device, event });
        self.devices[usize::from(device)].handle(event, &mut own);
        self.collect(device);
    }

    /// Takes what a device has answered.
    pub fn collect(&mut self, device: u16) {
        let Self { devices, sent, over, follows, .. } = self;
        let from = &mut devices[usize::from(device)];
        if from.answers().is_empty() {
            return;
        }
        let first = over.len();
        let mut explained = from.tail().map_or(&[][..], Tail::each).iter();
        for answer in from.answers() {
            let sent = sent.remove(answer.command.tag);
            let explained = explained.next().map(|one| Box::new(one.clone().of_device(device)));
            over.push_back(Over { sent, failed: answer.failed, gone: false, found: None, explained });
        }
        from.forget_answers();
        if *follows {
            for over in over.iter_mut().skip(first) {
                if over.sent.command.operation == Operation::Read {
                    over.found = from.take_contents(over.sent.command.tag);
                }
            }
        }
    }

    /// The next answered command, when these members have `failed`. The answer before it may have been the one by which its member did.
    pub fn next_over(&mut self, failed: Set) -> Option<Over> {
        let over = self.over.front_mut()?;
        let Sent { member, device, .. } = over.sent;
        over.gone = failed >> member & 1 == 1 || self.members[usize::from(member)] != device;
        over.failed &= !over.gone;
        self.over.pop_front()
    }

    /// Switches the devices on again.
    pub fn recover(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        for device in 0..self.devices.len() as u16 {
            let mut own = calendar.within(|event| Event::Of { device, event });
            self.devices[usize::from(device)].recover(&mut own);
            self.collect(device);
        }
    }

    /// Lets the devices give up what can never be done; whether one did.
    pub fn give_up(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let mut any = false;
        for device in 0..self.devices.len() as u16 {
            let mut own = calendar.within(|event| Event::Of { device, event });
            any |= self.devices[usize::from(device)].give_up(&mut own);
            self.collect(device);
        }
        any
    }

    /// The power was cut: commands will never be answered.
    pub fn lose_power(&mut self) {
        self.sent = Numbered::default();
        self.over.clear();
    }
}

impl<D: Ages> Members<D> {
    /// The next command of the flash of a device that is over, with the clock off; false if there is none.
    pub fn next_of_flash(&mut self, clock: &mut impl Schedule<Event<D::Event>>) -> bool {
        (0..self.devices.len() as u16).any(|device| {
            let mut own = clock.within(|event| Event::Of { device, event });
            let is_over = self.devices[usize::from(device)].next_over(&mut own);
            self.collect(device);
            is_over
        })
    }
}
