//! Ageing of a device by the workload itself before a run, without flash times. It lasts a number of drive
//! writes, or until write amplification is steady.

use wordline_device::block_device::Programmed;
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, SECTOR};
use wordline_host::Pace;
use wordline_kernel::{Duration, Instant};

use crate::admission::Admission;
use crate::arrivals::{PassSource, rejected};
use crate::effects::Effects;
use crate::error::{Error, Result, check_decisions};
use crate::load::Load;
use crate::observer::{Observer, WARMING_UP};
use wordline_trace::{Request, Requests};

/// Length in drive writes of a span whose write amplification is compared with the span before it. Chosen:
/// cold pages separate from hot ones over many drive writes, so single drive writes hardly differ.
const SPAN: f64 = 2.0;

/// Greatest relative change between two spans that counts as steady. Chosen: as for the steady state of
/// uniform writes.
const STEADY_WITHIN: f64 = 0.01;

/// Readings of the counters in a span. Chosen.
const LOOKS_A_SPAN: f64 = 20.0;

/// Drive writes after which the ageing ends even if write amplification still changes. Chosen: ten spans.
const MOST_DRIVE_WRITES: f64 = 20.0;

/// Commands between two calls of the observer. Chosen: a few milliseconds of work.
const CHECK_INTERVAL: u64 = 1 << 12;

/// The progress of the ageing.
struct Progress {
    /// The drive writes that the user asked for; `None` to continue until write amplification is steady.
    wanted: Option<f64>,
    begun: Programmed,
    /// Programs counted at each reading.
    looks: Vec<Programmed>,
    was_steady: bool,
}

impl Progress {
    fn new(wanted: Option<f64>, begun: Programmed) -> Self {
        Self { wanted, begun, looks: vec![begun], was_steady: false }
    }

    /// Whether the ageing ends after this many drive writes.
    fn is_over(&mut self, now: Programmed, drives: f64) -> bool {
        if let Some(wanted) = self.wanted {
            return drives >= wanted;
        }
        if drives < self.looks.len() as f64 * SPAN / LOOKS_A_SPAN {
            return false;
        }
        self.looks.push(now);
        self.was_steady |= self.is_steady();
        self.was_steady || drives >= MOST_DRIVE_WRITES
    }

    /// Write amplification of the span that ended `spans` spans ago; `None` if there are too few readings.
    fn amplification(&self, spans: usize) -> Option<f64> {
        let (looks, span) = (&self.looks, LOOKS_A_SPAN as usize);
        let last = looks.len().checked_sub(1 + spans * span)?;
        let (from, to) = (looks[last.checked_sub(span)?], looks[last]);
        let host = to.host - from.host;
        (host > 0).then(|| 1.0 + (to.other - from.other) as f64 / host as f64)
    }

    fn is_steady(&self) -> bool {
        let spans = self.amplification(0).zip(self.amplification(1));
        spans.is_some_and(|(now, before)| (now / before - 1.0).abs() < STEADY_WITHIN)
    }

    /// A sentence about the ageing, for the history of the device.
    fn describe(&mut self, now: Programmed, drives: f64) -> String {
        if drives == 0.0 {
            return "filled: the workload that should age the device does not write".into();
        }
        if now.host == self.begun.host {
            return format!(
                "aged with the workload itself: {drives:.2} drive writes, all of them absorbed by the buffer"
            );
        }
        let end = match (self.wanted, self.was_steady) {
            (None, false) => "; its write amplification still drifts",
            _ => "",
        };
        self.looks.push(now);
        let host = (now.host - self.begun.host) as f64;
        let all = 1.0 + (now.other - self.begun.other) as f64 / host;
        let last = if self.wanted.is_none() { self.amplification(0) } else { None };
        let (over, amplification) = match last {
            Some(last) => ("over the last two", last),
            None => ("in all", all),
        };
        format!(
            "aged with the workload itself: {drives:.2} drive writes, with a write amplification of {amplification:.3} {over}{end}"
        )
    }
}

/// The commands of a workload. Its passes follow each other without end.
struct CommandSource<'a> {
    passes: &'a PassSource,
    pass: u64,
    requests: Requests,
    admission: Admission,
    time_scale: f64,
    /// Begin of the current pass, and arrival of the last command.
    begun: Instant,
    last: Instant,
    /// Tells which sectors of a command are written.
    effects: Effects,
    /// Sectors written so far.
    written: u64,
    /// Number of the last request in its pass, from 1.
    number: u64,
    load: &'a Load,
}

impl CommandSource<'_> {
    /// The next command; `None` if a pass has no requests.
    fn next(&mut self) -> Result<Option<(Instant, Command)>> {
        for _ in 0..2 {
            if let Some(request) = self.requests.next() {
                self.number += 1;
                return self.command(&request?).map(Some);
            }
            (self.pass, self.number) = (self.pass + 1, 0);
            (self.requests, self.begun) = ((self.passes)(self.pass)?, self.last);
        }
        Ok(None)
    }

    fn command(&mut self, request: &Request) -> Result<(Instant, Command)> {
        let arrival = self.admission.arrival(request, 0);
        if !self.admission.accepts(&arrival) {
            let Load { source, locator, .. } = self.load;
            let why = self.admission.rejection(request, &arrival);
            return Err(rejected(self.number, &source.name, locator.as_ref(), why));
        }
        let since = Duration::from_ps((arrival.time.ps() as f64 * self.time_scale) as u64);
        let time = self.begun + since;
        if time > Instant::LIMIT {
            let (what, found) = ("precondition".into(), "workload, longer than 106 days of its time".into());
            let wanted = "fewer drive writes, or a queue depth in place of times".into();
            return Err(Error::Argument { what, found, wanted });
        }
        self.last = self.last.max(time);
        self.written += self.effects.written_sectors(&arrival.command);
        Ok((time, arrival.command))
    }
}

/// The pace of a load while it ages a device: its queue depth, `None` for arrival times, and their scale.
fn pace(load: &Load) -> (Option<u32>, f64) {
    match load.pace {
        Pace::Closed { depth, .. } | Pace::Bursts { depth, .. } => {
            (Some(depth * u32::from(load.spread.queues)), 0.0)
        }
        Pace::Open { time_scale } | Pace::Bounded { time_scale, .. } => (None, time_scale),
        // Jobs have the times of a run on a device with constant latency.
        Pace::SourcePaced { .. } => (None, 1.0),
    }
}

/// Ages a filled device. `kind` names the device in messages. Returns its time and pending events, and a
/// sentence for the history.
pub(crate) fn warm_up<D: BlockDevice>(
    device: &mut D,
    wanted: Option<f64>,
    load: &Load,
    kind: &str,
    observer: &mut dyn Observer,
) -> Result<(Agenda<D::Event>, String)> {
    let refuse = |found: &str, wanted: &str| {
        Err(Error::Argument { what: "precondition".into(), found: found.into(), wanted: wanted.into() })
    };
    let Some(passes) = &load.passes else {
        return refuse("workload, whose requests can be read only once", "requests that can be read again");
    };
    let shape = device.shape();
    let sectors = (shape.capacity.0 / SECTOR.0) as f64;
    let (depth, time_scale) = pace(load);
    let mut source = CommandSource {
        passes,
        pass: 1,
        requests: passes(1)?,
        admission: Admission::new(&shape, load.namespace, load.stream, load.pace),
        time_scale,
        begun: Instant::ZERO,
        last: Instant::ZERO,
        effects: Effects::new(&shape),
        written: 0,
        number: 0,
        load,
    };
    let most = wanted.unwrap_or(MOST_DRIVE_WRITES);
    let pages =
        |drives: f64| (drives.min(most) * shape.capacity.0 as f64 / shape.logical_page.0 as f64) as u64;
    observer.phase(WARMING_UP, Some(pages(most)));
    let mut progress = Progress::new(wanted, device.programmed());
    let (mut given, mut stopped, mut failed) = (0u64, false, None);
    let agenda = device.age(
        &mut |now| {
            given += 1;
            let drives = source.written as f64 / sectors;
            if given % CHECK_INTERVAL == 0 {
                stopped |= !observer.phase_progress(pages(drives));
            }
            // A workload without writes would otherwise continue for ever.
            if stopped || progress.is_over(now, drives) || source.written == 0 && source.pass > 1 {
                return None;
            }
            source.next().unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        },
        depth,
    );
    check_decisions(device)?;
    match (agenda, failed) {
        (_, Some(error)) => Err(error),
        _ if stopped => Err(Error::Stopped),
        (None, _) => refuse(&format!("workload, on {kind}, which does not age"), "empty or filled"),
        (Some(agenda), _) => {
            let told = progress.describe(device.programmed(), source.written as f64 / sectors);
            Ok((agenda, told))
        }
    }
}
