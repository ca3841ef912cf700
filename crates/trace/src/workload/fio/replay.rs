//! Replay of a trace by a job, as with fio's `read_iolog`. Any trace that this crate reads will do.

use std::path::Path;
use std::sync::Arc;

use wordline_kernel::{Bytes, Instant};

use super::clock::later;
use super::cursor::Span;
use crate::options::Devices;
use crate::{Error, Fit, Fitter, Format, MAX_HELD_REQUESTS, Options, Request, prepare};

/// Most requests of a trace in a job. Chosen: they take 1 GiB of memory.
const MOST: usize = 16 * MAX_HELD_REQUESTS;

/// A trace to replay, and the notes on it.
#[derive(Default)]
pub(super) struct Replay {
    pub requests: Vec<Request>,
    pub notes: Vec<String>,
}

/// Reads the trace at `path`. On failure returns what was found and what was expected.
pub(super) fn read(path: &str) -> Result<Replay, (String, String)> {
    let (format, replay) = read_as(path, Devices::Stack)?;
    let has_devices = replay.requests.iter().any(|request| request.device != replay.requests[0].device);
    if format == Format::Mqsim && has_devices {
        // MQSim, whose flows are such jobs, ignores the devices of its traces.
        return read_as(path, Devices::Keep).map(|(_, replay)| replay);
    }
    Ok(replay)
}

fn read_as(path: &str, devices: Devices) -> Result<(Format, Replay), (String, String)> {
    let failed = |error: Error| match error {
        Error::Content { path, found, wanted } => (format!("{}: {found}", path.display()), wanted),
        Error::Line { path, line, found, wanted } => (format!("{}:{line}: {found}", path.display()), wanted),
        other => (other.to_string(), "a trace that Wordline reads (docs/traces.md)".to_owned()),
    };
    let options = Options { devices, ..Options::default() };
    let trace = prepare(Path::new(path), &options, Some(MOST as u64 + 1), &mut |_| {}).map_err(failed)?;
    let requests = trace.requests.collect::<crate::Result<Vec<_>>>().map_err(failed)?;
    if requests.len() > MOST {
        return Err((format!("more than {MOST} requests in {path}"), "a shorter trace".into()));
    }
    let notes = trace.notes.into_iter().chain(trace.late_notes.take());
    let notes = notes.map(|note| format!("{}: {note}", trace.name)).collect();
    Ok((trace.format, Replay { requests, notes }))
}

/// The requests of a trace in the region of a job, and the next of them.
#[derive(Clone, Debug)]
pub struct ReplayedTrace {
    /// Shared with the clones of the job in the same region.
    requests: Arc<[Request]>,
    at: usize,
    /// Passes left after this one.
    loops: u64,
    /// Start of this pass.
    since: Instant,
}

impl ReplayedTrace {
    /// The trace in `span`: addresses count from its start, and those beyond it are wrapped.
    pub fn new(trace: &[Request], span: &Span, loops: u64) -> Self {
        let mut fitter = Fitter::new(Fit::Wrap, Bytes(span.length), None);
        let moved = trace.iter().filter_map(|request| {
            let mut request = *request;
            fitter.apply(&mut request).ok()?;
            request.offset.0 += span.begin + span.offset;
            Some(request)
        });
        Self { requests: moved.collect(), at: 0, loops: loops - 1, since: Instant::ZERO }
    }

    /// Starts the first pass.
    pub fn begin(&mut self, now: Instant) {
        self.since = now;
    }

    /// The next request and the time at which it is due. A pass begins when the last request of the pass
    /// before it is due, at `now` or earlier. `None` after the last pass.
    pub fn next(&mut self, now: Instant) -> Option<(Instant, Request)> {
        if self.at == self.requests.len() && self.loops > 0 && !self.requests.is_empty() {
            (self.at, self.loops, self.since) = (0, self.loops - 1, now);
        }
        let request = *self.requests.get(self.at)?;
        Some((later(self.since, request.arrival - Instant::ZERO), request))
    }

    /// Goes on to the request after the next one.
    pub fn advance(&mut self) {
        self.at += 1;
    }
}
