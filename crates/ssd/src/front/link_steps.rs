//! Steps of commands and data on the link, for interfaces with a link.

use wordline_device::Command;
use wordline_device::link::Direction;
use wordline_flash::RequestId;
use wordline_kernel::Schedule;

use crate::engines::Core;
use crate::event::Event;
use crate::front::commands::Commands;
use crate::front::{Port, Stage};

/// Port of the device. A command on the link must have come through it.
fn port_of(commands: &mut Commands) -> &mut Port {
    commands.port.as_deref_mut().expect("a command on the link has a port")
}

impl Commands {
    /// Submits a command of the host. The host rings the doorbell if the submission queue has a free entry.
    /// Otherwise the host holds the command.
    #[inline(never)]
    pub(super) fn enter_port(
        &mut self,
        id: RequestId,
        command: &Command,
        calendar: &mut impl Schedule<Event>,
    ) {
        if port_of(self).enter(id, command) {
            self.ring_doorbell(id, calendar);
        }
    }

    fn ring_doorbell(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let at = port_of(self).ring_doorbell(id, calendar.now());
        calendar.at(at, Event::Link(id));
    }

    /// Ends a step of a command on the link and starts the next one. Returns whether the work on the command
    /// begins now.
    #[inline(never)]
    pub fn finish_link_step(
        &mut self,
        id: RequestId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let port = port_of(self);
        match port.stage(id) {
            Stage::Submitting => {
                port.arrive(id);
                self.fetch_next(core, calendar);
            }
            Stage::Fetching => {
                let command = self.requests.get(id).command;
                if !port_of(self).has_data(id, &command) {
                    return true;
                }
                self.send(id, Direction::ToDevice, calendar);
            }
            Stage::Transferring(way) if port.left(id) > 0 => self.send(id, way, calendar),
            Stage::Transferring(_) => {
                port.execute(id);
                return true;
            }
            Stage::Completing => self.on_completion_delivered(id, core, calendar),
            stage @ (Stage::Waiting | Stage::Executing) => panic!("a command is on the link while {stage:?}"),
        }
        false
    }

    /// Fetches commands in the order of arbitration while the device accepts more.
    fn fetch_next(&mut self, core: &Core, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        while self.started < core.config.file.front.queue_depth {
            let Commands { port, requests, started, firmware, .. } = self;
            let port = port.as_deref_mut().expect("a command on the link has a port");
            let Some(id) = port.next(*started, |id| requests.get(id).command) else { return };
            *started += 1;
            let request = requests.get(id);
            request.queued = now - request.submitted - port.on_link(id);
            let at = port.fetch(id, now);
            let front = &core.config.file.front;
            let wait = firmware.take(at, front.command_interval);
            request.queued += wait;
            calendar.at(at + wait + front.command_time, Event::Link(id));
        }
    }

    fn send(&mut self, id: RequestId, way: Direction, calendar: &mut impl Schedule<Event>) {
        let at = port_of(self).send(id, way, calendar.now());
        calendar.at(at, Event::Link(id));
    }

    /// Sends the read data and the completion of a command to the host, after its work is done.
    pub(super) fn send_completion(&mut self, id: RequestId, calendar: &mut impl Schedule<Event>) {
        let request = *self.requests.get(id);
        let at = port_of(self).send_completion(id, &request.command, request.failed, calendar.now());
        calendar.at(at, Event::Link(id));
    }

    /// Called when a completion has reached the host. The queue entry is free for the next command, and the
    /// device accepts one more.
    fn on_completion_delivered(
        &mut self,
        id: RequestId,
        core: &mut Core,
        calendar: &mut impl Schedule<Event>,
    ) {
        let port = port_of(self);
        let (on_link, held) = (port.on_link(id), port.complete(id));
        self.deliver_completion(id, on_link, core, calendar);
        if let Some(next) = held {
            self.ring_doorbell(next, calendar);
        }
        self.fetch_next(core, calendar);
    }
}
