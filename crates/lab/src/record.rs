//! Where each answer of a run goes beside the measurements: to a log in a file, to a session that keeps it, or both.

use wordline_kernel::{Bytes, Duration, Instant};
use wordline_ssd::{Answer, Operation, SECTOR};

use crate::error::Result;
use crate::log::Log;
use crate::summary::Summary;

/// An answer that a session was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The number of the request, as [`Session::submit`](crate::Session::submit) gave it: counted from 0 in the order of submission,
    /// and from 0 again after 2^32.
    pub number: u32,
    /// Its operation.
    pub operation: Operation,
    /// Its first byte.
    pub offset: Bytes,
    /// How many bytes.
    pub size: Bytes,
    /// When the answer was given, counted from the beginning of the session.
    pub time: Instant,
    /// The time from submission to answer.
    pub latency: Duration,
    /// Whether it failed: a write to a device at the end of its life, a read of what is lost, or a comparison that found something
    /// else.
    pub failed: bool,
}

/// Where answers go.
#[derive(Default)]
pub struct Record {
    log: Option<Log>,
    kept: Option<Vec<Answered>>,
}

impl Record {
    /// A record in `log` alone; none where there is no log.
    pub fn of(log: Option<Log>) -> Option<Self> {
        log.map(|log| Self { log: Some(log), kept: None })
    }

    /// Adds an answer that was given at `now`, since the beginning of the run.
    pub fn add(&mut self, answer: &Answer, now: Instant) -> Result<()> {
        let Answer { command, latency, failed } = *answer;
        if let Some(kept) = &mut self.kept {
            kept.push(Answered {
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
            // A request that was outstanding when measuring began has no place in a log that begins there.
            Some(log) if latency <= now - Instant::ZERO => log.add(answer, now),
            _ => Ok(()),
        }
    }

    /// Keeps answers from now on, until they are [taken](Self::take).
    pub fn keep(record: &mut Option<Self>) {
        record.get_or_insert_default().kept.get_or_insert_default();
    }

    /// Keeps answers no longer; nothing is recorded any more where there is no log.
    pub fn keep_no_longer(record: &mut Option<Self>) {
        *record = record.take().and_then(|record| Self::of(record.log));
    }

    /// The answers that were kept.
    pub fn take(&mut self) -> Vec<Answered> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the log with what there is to say of the run.
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
