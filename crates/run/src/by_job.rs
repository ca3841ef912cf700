//! Measurements for each job of a job file.

use wordline_device::{Completion, SECTOR};
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
        let kind = completion.command.operation as usize;
        if let Some(histogram) = job.latency.get_mut(kind) {
            histogram.record(completion.latency);
            job.bytes[kind] += if completion.failed { 0 } else { completion.command.sectors * SECTOR.0 };
        }
    }

    /// The results of each job for the summary, and Jain's index of their IOPS if there are several jobs.
    pub fn usage(&self) -> (Vec<JobUse>, Option<f64>) {
        let all: Vec<JobUse> = self.0.iter().map(of).collect();
        let sum: f64 = all.iter().map(|job| job.iops).sum();
        let squares: f64 = all.iter().map(|job| job.iops * job.iops).sum();
        let fairness = (all.len() > 1 && squares > 0.0).then(|| sum * sum / (all.len() as f64 * squares));
        (all, fairness)
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
