//! The smallest device: it answers each command after the same time, and holds nothing. For tests of what stands above a device,
//! and the least that a run can take.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::{Broken, Reader, Sink, Source, Writer};
use wordline_kernel::{Bytes, Digest, Duration, Instant, Metrics, Schedule, Seed};

use crate::block_device::{BlockDevice, Oldest, Programmed, Shape};
use crate::command::{Answer, Command, SECTOR};
use crate::device::{Look, PowerCut, Recovery, Steady};
use crate::metrics::Detail;
use crate::snapshot::Agenda;

/// A device that answers each command after the same time, however many there are.
pub struct FixedLatency {
    capacity: Bytes,
    latency: Duration,
    state: State,
    answers: Vec<Answer>,
}

/// What changes in a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Commands under way, and when they came, by their numbers.
    under_way: BTreeMap<u32, (Command, Instant)>,
    next: u32,
    digest: Digest,
    recovered: bool,
}

/// A command is done: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done(u32);

impl FixedLatency {
    /// A device of so many bytes, a multiple of a sector, that takes so long for a command.
    pub fn new(capacity: Bytes, latency: Duration) -> Self {
        assert!(capacity.0.is_multiple_of(SECTOR.0), "a device of whole sectors");
        Self { capacity, latency, state: State::default(), answers: Vec::new() }
    }
}

const AGENDA: &str = "agenda";
const STATE: &str = "state";

impl BlockDevice for FixedLatency {
    type Event = Done;
    type Mark = ();

    fn shape(&self) -> Shape {
        Shape {
            namespaces: vec![self.capacity.0 / SECTOR.0],
            capacity: self.capacity,
            sector_size: SECTOR,
            logical_page: SECTOR,
            block_set: Bytes(0),
        }
    }

    fn submit(&mut self, command: Command, calendar: &mut impl Schedule<Done>) {
        let number = self.state.next;
        self.state.next = number.wrapping_add(1);
        self.state.under_way.insert(number, (command, calendar.now()));
        calendar.after(self.latency, Done(number));
    }

    fn handle(&mut self, Done(number): Done, calendar: &mut impl Schedule<Done>) {
        let (command, submitted) = self.state.under_way.remove(&number).expect("it was submitted");
        let latency = calendar.now() - submitted;
        for word in [command.sector, command.sectors, latency.ps()] {
            self.state.digest.add(word);
        }
        self.answers.push(Answer { command, latency, failed: false });
    }

    fn answers(&self) -> &[Answer] {
        &self.answers
    }

    fn forget_answers(&mut self) {
        self.answers.clear();
    }

    fn outstanding(&self) -> usize {
        self.state.under_way.len()
    }

    fn power_cut(&mut self, _now: Instant) -> PowerCut {
        let unanswered = std::mem::take(&mut self.state.under_way).into_values();
        PowerCut { unanswered: unanswered.map(|(command, _)| command).collect(), ..PowerCut::default() }
    }

    fn recover(&mut self, _calendar: &mut impl Schedule<Done>) {
        self.state.recovered = true;
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn recovery(&self) -> Option<Recovery> {
        self.state.recovered.then(Recovery::default)
    }

    fn fill_while(&mut self, _fraction: f64, _look: Look<'_>) -> bool {
        true
    }

    fn fill_steady_while(&mut self, _seed: Seed, _fraction: Option<f64>, _look: Look<'_>) -> Option<Steady> {
        Some(Steady { overwritten: 0, amplification: 0.0 })
    }

    fn digest(&self) -> Digest {
        self.state.digest
    }

    fn audit(&self, _elapsed: Duration) {}

    fn oldest(&self) -> Option<Oldest> {
        let first = self.state.under_way.values().min_by_key(|(_, submitted)| *submitted);
        first.map(|(command, submitted)| Oldest { submitted: *submitted, tag: command.tag, done: 0 })
    }

    fn longest_wait(&self) -> Duration {
        self.latency * 2
    }

    fn what_waits(&self, _now: Instant) -> String {
        format!("{} commands wait for their time\n", self.outstanding())
    }

    fn mark(&self, _now: Instant) {}

    fn programmed(&self) -> Programmed {
        Programmed::default()
    }

    fn metrics(&self, _mark: &(), _now: Instant) -> Metrics {
        Metrics::default()
    }

    fn detail(&self, _mark: &(), _now: Instant) -> Detail {
        Detail::default()
    }

    fn save(&self, agenda: &Agenda<Done>, to: &mut dyn Sink) -> Result<(), Broken> {
        let mut to = Writer::new(to);
        to.value(AGENDA, agenda)?;
        to.value(STATE, &self.state)
    }

    fn load(&mut self, from: &mut dyn Source) -> Result<Agenda<Done>, Broken> {
        let mut from = Reader::new(from);
        let agenda: Agenda<Done> = from.value(AGENDA)?;
        self.state = from.value(STATE)?;
        let is_known = |Done(number): Done| self.state.under_way.contains_key(&number);
        let all = agenda.events.iter().all(|(_, done)| is_known(*done));
        if !agenda.is_in_order() || !all || agenda.events.len() != self.state.under_way.len() {
            return Err(Broken::State { why: "its events are not those of its commands".into() });
        }
        Ok(agenda)
    }
}
