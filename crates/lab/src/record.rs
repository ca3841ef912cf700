//! The record of completions, beside the measurements: a log file, a list kept for a session, or both.

use wordline_kernel::{Bytes, Duration, Instant};
use wordline_ssd::{Completion, Operation, SECTOR};

use crate::error::Result;
use crate::log::Log;
use crate::summary::Summary;

/// A completion as a session returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// The number of the request, as [`Session::submit`](crate::Session::submit) returned it: counted from 0
    /// in order of submission, and from 0 again after 2^32.
    pub number: u32,
    /// Its operation.
    pub operation: Operation,
    /// Its first byte.
    pub offset: Bytes,
    /// Its size.
    pub size: Bytes,
    /// The time of completion, counted from the beginning of the session.
    pub time: Instant,
    /// The time from submission to completion.
    pub latency: Duration,
    /// Whether it failed: a write to a device at the end of its life, a read of lost data, or a compare that
    /// found a difference.
    pub failed: bool,
}

/// The record of completions.
#[derive(Default)]
pub struct Record {
    log: Option<Log>,
    kept: Option<Vec<CompletedRequest>>,
}

impl Record {
    /// A record with only a `log`; none without one.
    pub fn of(log: Option<Log>) -> Option<Self> {
        log.map(|log| Self { log: Some(log), kept: None })
    }

    /// Adds a completion at `now`, counted from the beginning of the run.
    pub fn add(&mut self, completion: &Completion, now: Instant) -> Result<()> {
        let Completion { command, latency, failed } = *completion;
        if let Some(kept) = &mut self.kept {
            kept.push(CompletedRequest {
                number: command.tag,
                operation: command.operation,
                offset: SECTOR * command.sector,
                size: SECTOR * command.sectors,
                time: now,
                latency,
                failed,
            });
        }
        match &mut self.log {
            // A request that was outstanding when the measurement began has no place in a log that begins
            // there.
            Some(log) if latency <= now - Instant::ZERO => log.add(completion, now),
            _ => Ok(()),
        }
    }

    /// Keeps completions from now on, until they are [taken](Self::take).
    pub fn keep(record: &mut Option<Self>) {
        record.get_or_insert_default().kept.get_or_insert_default();
    }

    /// Stops keeping completions; without a log there is no record then.
    pub fn stop_keeping(record: &mut Option<Self>) {
        *record = record.take().and_then(|record| Self::of(record.log));
    }

    /// Takes the completions that were kept.
    pub fn take(&mut self) -> Vec<CompletedRequest> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Completes the log with facts about the run.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if it cannot be written.
    pub fn finish(self, run: &Summary) -> Result<()> {
        let Some(log) = self.log else { return Ok(()) };
        log.finish([
            ("provenance", as_json(&run.provenance)),
            ("configuration", run.configuration.clone()),
            ("seed", run.seed.to_string()),
            ("workload", as_json(&run.workload)),
            ("trace_file", as_json(&run.trace_file)),
            ("metrics", as_json(&run.metrics)),
        ])
    }
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it has string keys")
}
