//! The way of commands and data over the link, where the interface has one.

use wordline_kernel::Schedule;

use super::{Device, Event};
use crate::command::Command;
use crate::front::{Front, Port, Stage, Way};

/// The port, which a command on the link came through.
fn port_of(front: &mut Front) -> &mut Port {
    front.port.as_deref_mut().expect("a command on the link has a port")
}

impl Device {
    /// The host has a command. It tells the device if the submission queue has an entry, else it holds the command.
    #[inline(never)]
    pub(super) fn enter_port(&mut self, slot: u32, command: &Command, calendar: &mut impl Schedule<Event>) {
        if port_of(&mut self.front).enter(slot, command) {
            self.ring(slot, calendar);
        }
    }

    fn ring(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let at = port_of(&mut self.front).ring(slot, calendar.now());
        calendar.at(at, Event::Link(slot));
    }

    /// A step of a command on the link is over: the next one.
    #[inline(never)]
    pub(super) fn link_free(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let port = port_of(&mut self.front);
        match port.stage(slot) {
            Stage::Ringing => {
                port.arrive(slot);
                self.fetch_next(calendar);
            }
            Stage::Fetching => {
                let command = self.front.get(slot).command;
                if port_of(&mut self.front).brings_data(slot, &command) {
                    self.send(slot, Way::ToDevice, calendar);
                } else {
                    self.begin(slot, calendar);
                }
            }
            Stage::Moving(way) if port.left(slot) > 0 => self.send(slot, way, calendar),
            Stage::Moving(_) => {
                port.work(slot);
                self.begin(slot, calendar);
            }
            Stage::Reporting => self.answered(slot, calendar),
            stage @ (Stage::Waiting | Stage::Working) => panic!("a command is on the link while {stage:?}"),
        }
    }

    /// Takes up commands in the order of the arbitration, while there is room for them.
    fn fetch_next(&mut self, calendar: &mut impl Schedule<Event>) {
        let now = calendar.now();
        while self.front.started < self.config.file.front.queue_depth {
            let Front { port, requests, started, .. } = &mut self.front;
            let port = port.as_deref_mut().expect("a command on the link has a port");
            let Some(slot) = port.next(*started, |slot| requests.get(slot).command) else { return };
            *started += 1;
            let request = requests.get(slot);
            request.queued = now - request.submitted - port.on_link(slot);
            let at = port.fetch(slot, now);
            calendar.at(at + self.config.file.front.command_time, Event::Link(slot));
        }
    }

    fn send(&mut self, slot: u32, way: Way, calendar: &mut impl Schedule<Event>) {
        let at = port_of(&mut self.front).send(slot, way, calendar.now());
        calendar.at(at, Event::Link(slot));
    }

    /// The work on a command is done: what it read goes to the host, and its answer.
    pub(super) fn report(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let request = *self.front.get(slot);
        let at = port_of(&mut self.front).report(slot, &request.command, request.failed, calendar.now());
        calendar.at(at, Event::Link(slot));
    }

    /// The host has the answer: the queue has an entry for the next command, and the device room.
    fn answered(&mut self, slot: u32, calendar: &mut impl Schedule<Event>) {
        let port = port_of(&mut self.front);
        let (on_link, held) = (port.on_link(slot), port.leave(slot));
        self.give_answer(slot, on_link, calendar);
        if let Some(next) = held {
            self.ring(next, calendar);
        }
        self.fetch_next(calendar);
    }
}
