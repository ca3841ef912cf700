//! Measurements for each job of a job file.

use wordline_device::{Completion, Operation, SECTOR};
use wordline_kernel::{Duration, Histogram, Instant};

use crate::percentiles::latency;
use crate::summary::JobUse;

/// Completions of a job so far.
#[derive(Default)]
struct Job {
    name: String,
    requests: u64,
    failed: u64,
    bytes: [u64; 2],
    latency: [Histogram; 2],
    /// Time of the earliest submission among completed requests, and of the last completion.
    span: Option<[Instant; 2]>,
}

/// The jobs of a run; empty if the requests do not come from a job file.
pub(crate) struct JobMeasurements(Vec<Job>);

impl JobMeasurements {
    /// Jobs with these names, without completions yet.
    pub fn named(names: &[String]) -> Self {
        Self(names.iter().map(|name| Job { name: name.clone(), ..Job::default() }).collect())
    }

    /// Counts a completed request of a job. `now` counts from the beginning of the run.
    pub fn completed(&mut self, job: u16, completion: &Completion, now: Instant) {
        let job = &mut self.0[usize::from(job)];
        job.requests += 1;
        job.failed += u64::from(completion.failed);
        let submitted = Instant::ZERO + (now - Instant::ZERO).saturating_sub(completion.latency);
        let [first, _] = job.span.unwrap_or([submitted, now]);
        job.span = Some([first.min(submitted), now]);
        // Reads and writes are the first two variants of `Operation`.
        let kind = match completion.command.operation {
            Operation::ZoneAppend => Operation::Write,
            operation => operation,
        } as usize;
        if let Some(histogram) = job.latency.get_mut(kind) {
            histogram.record(completion.latency);
            job.bytes[kind] += if completion.failed { 0 } else { completion.command.sectors * SECTOR.0 };
        }
    }

    /// The results of each job for the summary, and Jain's index of the IOPS of jobs with requests if there are
    /// several.
    pub fn usage(&self) -> (Vec<JobUse>, Option<f64>) {
        let all: Vec<JobUse> = self.0.iter().map(of).collect();
        let ran = all.iter().filter(|job| job.requests > 0).count();
        let sum: f64 = all.iter().map(|job| job.iops).sum();
        let squares: f64 = all.iter().map(|job| job.iops * job.iops).sum();
        let fairness = (ran > 1 && squares > 0.0).then(|| sum * sum / (ran as f64 * squares));
        (all, fairness)
    }

    /// Names the jobs without a completed request; `None` if there are none.
    pub fn idle_note(&self) -> Option<String> {
        let idle: Vec<&str> =
            self.0.iter().filter(|job| job.requests == 0).map(|job| job.name.as_str()).collect();
        let jobs = if idle.len() == 1 { "job" } else { "jobs" };
        (!idle.is_empty()).then(|| {
            format!(
                "{jobs} {}: no request was completed before the end of the run; fairness covers the other jobs only",
                idle.join(", ")
            )
        })
    }
}

fn of(job: &Job) -> JobUse {
    let [first, last] = job.span.unwrap_or_default();
    let time = last - first;
    JobUse {
        name: job.name.clone(),
        requests: job.requests,
        reads: job.latency[0].count(),
        writes: job.latency[1].count(),
        failed: job.failed,
        read_bytes: job.bytes[0],
        written_bytes: job.bytes[1],
        from_seconds: first.seconds(),
        seconds: time.seconds(),
        iops: if time == Duration::ZERO { 0.0 } else { job.requests as f64 / time.seconds() },
        read_latency_us: latency(&job.latency[0]),
        write_latency_us: latency(&job.latency[1]),
    }
}

#[cfg(test)]
mod tests {
    use wordline_device::Command;

    use super::*;

    #[test]
    fn jobs_that_did_not_begin_are_named_and_not_unfair() {
        let mut jobs = JobMeasurements::named(&["a", "b", "late"].map(str::to_owned));
        assert_eq!(jobs.usage().1, None);
        for job in [0, 1] {
            let command = Command { operation: Operation::ZoneAppend, sectors: 8, ..Command::default() };
            let completion = Completion { command, latency: Duration::from_us(2), failed: false };
            jobs.completed(job, &completion, Instant::ZERO + Duration::from_us(9));
        }
        let (all, fairness) = jobs.usage();
        assert_eq!(fairness, Some(1.0));
        assert_eq!((all[0].writes, all[0].written_bytes, all[2].writes), (1, 4096, 0));
        assert!(jobs.idle_note().is_some_and(|note| note.starts_with("job late: no request")));
    }
}
