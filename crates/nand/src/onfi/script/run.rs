//! Execution of the statements of a script on a bus.

use wordline_kernel::Instant;

use super::data::Data;
use super::expect::rule;
use super::statement::{Action, Address, Begin, PageByte, Script, Statement};
use super::transcript::{Entry, Mismatch, Transcript};
use crate::DieId;
use crate::onfi::{Bus, Failure, Pace, Row, RowAddressing, Status};

/// Whether the script continues after a statement.
type Continues = bool;

struct Runner<'a> {
    bus: &'a mut Bus,
    addressing: RowAddressing,
    pace: Pace,
    transcript: Transcript,
    /// The expected rejection of the next statement.
    refusal: Option<&'a str>,
}

/// The results of a statement, except its time.
#[derive(Default)]
struct Found {
    data: Vec<u8>,
    status: Option<Status>,
    mismatch: Option<Mismatch>,
}

pub(super) fn run(script: &Script, bus: &mut Bus) -> Transcript {
    let addressing = RowAddressing::of(bus.part(), script.setup.wiring.luns);
    let pace = if script.setup.exact { Pace::Exact } else { Pace::Earliest };
    let mut runner = Runner { bus, addressing, pace, transcript: Transcript::default(), refusal: None };
    let complete = runner.all(&script.statements);
    runner.check_pending_expectation(script);
    let Runner { bus, mut transcript, .. } = runner;
    // The time line includes array operations after the last statement.
    let luns = (0..bus.dies()).map(|die| bus.lun(DieId(die)).pipeline().array_ready_at);
    let rest = luns.max().unwrap_or_default();
    bus.wait_until(rest);
    transcript.spans = bus.spans();
    transcript.busy = bus.busy_periods();
    transcript.energy = bus.energy();
    transcript.complete = complete;
    transcript
}

impl<'a> Runner<'a> {
    fn all(&mut self, statements: &'a [Statement]) -> Continues {
        statements.iter().all(|statement| match &statement.action {
            Action::Repeat(count, body) => (0..*count).all(|_| self.all(body)),
            Action::ExpectFailure(name) => {
                self.refusal = Some(name);
                true
            }
            _ => self.one(statement),
        })
    }

    /// Reports an `expect failure` on the last line, which has no statement to reject.
    fn check_pending_expectation(&mut self, script: &Script) {
        let (Some(name), Some(last)) = (self.refusal.take(), script.statements.last()) else { return };
        let now = self.bus.now();
        let mut entry = entry(last, now, self.bus.cycles());
        entry.cycles = 0;
        entry.mismatch =
            Some(Mismatch::new(format!("a statement refused for `{name}`"), "the end of the script"));
        self.transcript.entries.push(entry);
    }

    fn one(&mut self, statement: &Statement) -> Continues {
        match statement.begin {
            Some(Begin::After(time)) => self.bus.wait(time),
            Some(Begin::At(time)) => self.bus.wait_until(Instant::ZERO + time),
            None => {}
        }
        let mut entry = entry(statement, self.bus.now(), self.bus.cycles());
        let late = match statement.begin {
            Some(Begin::At(time)) if self.bus.now() > Instant::ZERO + time => {
                Some(Mismatch::new(time, self.bus.now().since(Instant::ZERO)))
            }
            _ => None,
        };
        self.bus.set_pace(if statement.begin.is_some() { Pace::Exact } else { self.pace });
        let done = self.act(&statement.action);
        (entry.end, entry.cycles) = (self.bus.now(), self.bus.cycles() - entry.cycles);
        let refusal = self.refusal.take();
        let goes_on = match done {
            Ok(found) => {
                (entry.data, entry.status) = (found.data, found.status);
                let missed = refusal.map(|name| Mismatch::new(format!("a refusal for `{name}`"), "none"));
                entry.mismatch = missed.or(late).or(found.mismatch);
                true
            }
            Err(failure) => {
                let met = refusal == Some(rule(&failure));
                let expected = refusal.map_or("no refusal".into(), |name| format!("a refusal for `{name}`"));
                let wrong = || Mismatch::new(expected, format!("one for `{}`", rule(&failure)));
                entry.mismatch = (!met).then(wrong);
                entry.failure = Some(failure);
                met
            }
        };
        self.transcript.entries.push(entry);
        goes_on
    }

    fn act(&mut self, action: &Action) -> Result<Found, Failure> {
        match action {
            Action::Select(target) => self.bus.select(*target)?,
            Action::Command(code) => self.bus.command(*code)?,
            Action::Address(address) => self.address(address)?,
            Action::In(data) => self.bus.data_in(&data.bytes())?,
            Action::Out(count, wanted) => {
                let data = self.bus.data_out(*count)?;
                let mismatch = wanted.as_ref().and_then(|wanted| wanted.check(&data));
                return Ok(Found { data, mismatch, ..Found::default() });
            }
            Action::Status(row, wanted) => {
                let status = self.status(*row)?;
                let mismatch = wanted.as_ref().and_then(|wanted| wanted.check(status));
                return Ok(Found { status: Some(status), mismatch, ..Found::default() });
            }
            Action::Wait(time) => self.bus.wait(*time),
            Action::WaitReady { array, expect } => {
                let from = self.bus.now();
                let until = if *array { self.bus.wait_array_ready() } else { self.bus.wait_ready() };
                let took = until.since(from);
                let mismatch = expect.filter(|time| *time != took).map(|time| Mismatch::new(time, took));
                return Ok(Found { mismatch, ..Found::default() });
            }
            Action::Host(parameter, time) => self.bus.set_host_time(*parameter, *time)?,
            Action::Protect(on) => self.bus.set_write_protect(*on),
            Action::ExpectReady(wanted) => {
                let word = |ready| if ready { "ready" } else { "busy" };
                let found = self.bus.ready();
                let mismatch = (found != *wanted).then(|| Mismatch::new(word(*wanted), word(found)));
                return Ok(Found { mismatch, ..Found::default() });
            }
            Action::Read(place, second) => self.sequence(0x00, Address::Full(*place), None, *second)?,
            Action::Program(place, data, second) => {
                self.sequence(0x80, Address::Full(*place), Some(data), *second)?;
            }
            Action::Erase(row, second) => self.sequence(0x60, Address::Row(*row), None, *second)?,
            Action::Repeat(..) | Action::ExpectFailure(_) => {}
        }
        Ok(Found::default())
    }

    fn address(&mut self, address: &Address) -> Result<(), Failure> {
        let bytes = match address {
            Address::Bytes(bytes) => bytes.clone(),
            Address::Column(column) => column.to_le_bytes()[..2].to_vec(),
            Address::Row(row) => self.addressing.encode(*row),
            Address::Full(PageByte { row, column }) => {
                [column.to_le_bytes()[..2].to_vec(), self.addressing.encode(*row)].concat()
            }
        };
        self.bus.address(&bytes)
    }

    fn status(&mut self, row: Option<Row>) -> Result<Status, Failure> {
        match row {
            None => self.bus.command(0x70)?,
            Some(row) => {
                self.bus.command(0x78)?;
                // Only the first cycle of a statement has a specified begin time.
                self.bus.set_pace(self.pace);
                self.address(&Address::Row(row))?;
            }
        }
        self.bus.set_pace(self.pace);
        Ok(Status(self.bus.data_out(1)?[0]))
    }

    /// Runs a whole operation, and waits until R/B# is high.
    fn sequence(
        &mut self,
        first: u8,
        address: Address,
        data: Option<&Data>,
        second: u8,
    ) -> Result<(), Failure> {
        self.bus.command(first)?;
        self.bus.set_pace(self.pace);
        self.address(&address)?;
        if let Some(data) = data {
            self.bus.data_in(&data.bytes())?;
        }
        self.bus.command(second)?;
        self.bus.wait_ready();
        Ok(())
    }
}

/// The entry of a statement that begins at `now`, after this number of cycles.
fn entry(statement: &Statement, now: Instant, cycles: u64) -> Entry {
    Entry {
        line: statement.line,
        text: statement.text.clone(),
        begin: now,
        end: now,
        cycles,
        data: Vec::new(),
        status: None,
        failure: None,
        mismatch: None,
    }
}
