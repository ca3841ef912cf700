//! The front end: how commands reach the device, wait their turn, and get their answer back.
//!
//! With a direct interface a command is there when it is submitted. Else it goes over a [`Port`]: the host tells the
//! device of it, the device takes it from its submission queue when the arbitration says so and there is room, fetches
//! it and its data, and sends data and answer back, each over a [`link`] that others use as well.

mod answering;
mod commands;
pub mod config;
mod flush;
mod idle;
pub mod link;
pub mod namespaces;
mod over_link;
pub mod port;
mod pump;
pub mod queues;
mod read;
pub mod requests;
mod write;

use std::collections::VecDeque;

use wordline_kernel::{Instant, state};

use crate::cache::Round;
use crate::command::{Answer, Command, RequestId};
use crate::config::Config;
use crate::event::Event;
use crate::snapshot::ensure;

pub use link::{Link, Way};
pub use namespaces::Namespace;
pub use port::{Port, Stage};
pub use requests::{Request, Requests};

/// The front end: commands that wait, commands in flight, and answers.
#[derive(Clone, Debug)]
pub struct Front {
    /// All commands that are not answered.
    requests: Requests,
    /// Commands of a direct interface that wait until the device takes them up.
    waiting: VecDeque<RequestId>,
    /// Commands that the device has taken up and not answered.
    started: u32,
    /// The link, where there is one.
    port: Option<Box<Port>>,
    namespaces: Vec<Namespace>,
    /// Whether requests of which a part is done are being ended.
    waking: bool,
    answers: Vec<Answer>,
    /// Whether the timer of the write buffer is set.
    timer_set: bool,
    /// What the timer is writing out.
    round: Option<Round>,
}

state!(Front {
    values { requests, waiting, started, answers, timer_set, round }
    parts { port }
    fixed { namespaces, waking }
});

impl Front {
    /// A front end without commands.
    pub fn new(config: &Config) -> Self {
        Self {
            requests: Requests::default(),
            waiting: VecDeque::new(),
            started: 0,
            port: Port::of(&config.file.front).map(Box::new),
            namespaces: config.namespaces.clone(),
            waking: false,
            answers: Vec::new(),
            timer_set: false,
            round: None,
        }
    }

    /// Forgets all commands, as when the power is cut; which they were.
    pub fn forget(&mut self, config: &Config) -> Vec<Command> {
        let ids: Vec<RequestId> = self.requests.ids().collect();
        let mut command_of = |id| {
            let mut command = self.requests.get(id).command;
            self.as_submitted(&mut command);
            command
        };
        let commands = ids.into_iter().map(&mut command_of).collect();
        let answers = std::mem::take(&mut self.answers);
        *self = Self { answers, ..Self::new(config) };
        commands
    }

    /// The link to the host, if the interface has one.
    pub fn link(&self) -> Option<&Link> {
        self.port.as_deref().map(|port| port.link())
    }

    /// Whether a command is not answered yet.
    fn has(&self, id: RequestId) -> bool {
        self.requests.ids().any(|taken| taken == id)
    }

    /// Whether an event that was loaded can come to it.
    pub(crate) fn check_event(&self, event: Event) -> Result<(), String> {
        let is_known = match event {
            Event::Begin(id) | Event::Answer(id) | Event::Link(id) => self.has(id),
            Event::FlushTimer | Event::Idle | Event::Flash(_) => true,
        };
        ensure(is_known, || format!("{event:?} of a command that is not there"))
    }

    /// Commands that are not answered.
    pub fn outstanding(&self) -> usize {
        self.requests.outstanding()
    }

    /// The request of an id.
    #[inline]
    pub fn get(&mut self, id: RequestId) -> &mut Request {
        self.requests.get(id)
    }

    /// Takes in a command; its id. A bug if it goes beyond its namespace.
    #[inline]
    pub fn take_in(&mut self, command: Command, now: Instant) -> RequestId {
        let namespace = self.namespaces.get(usize::from(command.namespace));
        let Namespace { base, sectors } = *namespace.unwrap_or_else(|| out_of_place(&command));
        if command.sector > sectors || command.sectors > sectors - command.sector {
            out_of_place(&command);
        }
        let id = self.requests.add(command, now);
        self.requests.get(id).command.sector += base;
        id
    }

    /// Turns a command of a request into what the host submitted.
    #[inline]
    pub fn as_submitted(&self, command: &mut Command) {
        command.sector -= self.namespaces[usize::from(command.namespace)].base;
    }
}

/// The caller submitted a command to a namespace that is missing, or beyond the end of it.
#[cold]
#[inline(never)]
fn out_of_place(command: &Command) -> ! {
    panic!("a command beyond the capacity, or for a missing namespace: {command:?}")
}
