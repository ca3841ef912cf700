//! The record of completions: a log file, a list kept for a session, or both.

use wordline_device::{Completion, Operation, SECTOR};
use wordline_kernel::{Bytes, Duration, Instant};

use crate::error::Result;
use crate::log::Log;
use crate::summary::Summary;

/// A completed request as a session returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Number of the request, as `Session::submit` returned it. Numbers count from
    /// 0 in order of submission, and begin at 0 again after 2^32 requests.
    pub number: u32,
    /// Operation.
    pub operation: Operation,
    /// First byte.
    pub offset: Bytes,
    /// Size.
    pub size: Bytes,
    /// Time of completion, from the beginning of the session.
    pub time: Instant,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Whether the request failed. This happens for a write to a device at the end of its life, a read of
    /// lost data, and a compare that found a difference.
    pub failed: bool,
}

/// The record of completions.
#[derive(Default)]
pub struct Record {
    log: Option<Log>,
    kept: Option<Vec<CompletedRequest>>,
}

impl Record {
    /// A record that only writes a `log`; `None` without a log.
    pub fn of(log: Option<Log>) -> Option<Self> {
        log.map(|log| Self { log: Some(log), kept: None })
    }

    /// Adds a completion at `now`, which counts from the beginning of the run.
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
            // A log that begins with the measurement leaves out requests that were submitted before.
            Some(log) if latency <= now - Instant::ZERO => log.add(completion, now),
            _ => Ok(()),
        }
    }

    /// Begins to keep completions for [`take`](Self::take).
    pub fn keep(record: &mut Option<Self>) {
        record.get_or_insert_default().kept.get_or_insert_default();
    }

    /// Stops keeping completions. Without a log the record ends.
    pub fn stop_keeping(record: &mut Option<Self>) {
        *record = record.take().and_then(|record| Self::of(record.log));
    }

    /// Returns and removes the kept completions.
    pub fn take(&mut self) -> Vec<CompletedRequest> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Finishes the log, with facts about the run.
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
