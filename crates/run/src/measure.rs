//! Measurements during a run, and the summary that they are condensed to.

use wordline_device::block_device::Programmed;
use wordline_device::detail::PoolDetail;
use wordline_device::lifetime::write_amplification;
use wordline_device::tail::Interval;
use wordline_device::times::{Component, Times};
use wordline_device::{BlockDevice, Completion, Gauges, Operation, SECTOR};
use wordline_kernel::{Bytes, Duration, Histogram, Instant, Metrics, Series, counted};
use wordline_nand::Stage;

use crate::buffered::BufferBalance;
use crate::by_job::JobMeasurements;
use crate::course::{Course, Readings};
use crate::drift::{self, ByteCounts, Drift};
use crate::effects::Effects;
use crate::error::Result;
use crate::load::Load;
use crate::percentiles::latency;
use crate::provenance::TraceFile;
use crate::quantity::Quantity;
use crate::record::Record;
use crate::summary::{
    DesignChart, Host, Outcome, Share, Simulator, Summary, TimeShare, Window, Windows, ZoneRequests,
};
use crate::tail::{Tail, time_of_sample};
use crate::unknown::{self, FlashActivity};
use crate::{members, pools, verdict, wear};

/// The measurements of a run in progress.
pub struct Measurements<D: BlockDevice> {
    /// Latency histogram of each operation.
    latency: [Histogram; Operation::ALL.len()],
    failed: u64,
    effects: Effects,
    jobs: JobMeasurements,
    windows: Series<Sums>,
    readings: Readings,
    /// Programmed pages that are already counted in a window.
    seen: Programmed,
    /// The record of completions, if any.
    record: Option<Record>,
    /// The current batch, if the measurement is divided into batches.
    batch: Option<Box<Self>>,
    /// The beginning of the run, and the device counters at that time.
    begin: Instant,
    before: D::Mark,
    /// The device's [room](BlockDevice::room) at that time.
    room: Option<u64>,
}

/// The end of a run, or its state so far.
pub struct RunEnd {
    /// Time of the end, or the present time.
    pub end: Instant,
    /// The reason for the end.
    pub outcome: Outcome,
    /// The trace file that was read.
    pub trace_file: Option<TraceFile>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Wall time of preconditioning and of the run, in seconds.
    pub seconds: [f64; 2],
}

/// Sums over a window of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    counts: [u64; Operation::ALL.len()],
    bytes: [u64; 2],
    latency_ps: [u128; 2],
    longest_ps: u64,
    host_programs: u64,
    other_programs: u64,
}

impl Sums {
    fn merge(&mut self, later: &Self) {
        self.counts.iter_mut().zip(later.counts).for_each(|(sum, next)| *sum += next);
        self.bytes.iter_mut().zip(later.bytes).for_each(|(sum, next)| *sum += next);
        self.latency_ps.iter_mut().zip(later.latency_ps).for_each(|(sum, next)| *sum += next);
        self.longest_ps = self.longest_ps.max(later.longest_ps);
        self.host_programs += later.host_programs;
        self.other_programs += later.other_programs;
    }

    /// Counts the programs since `seen`. A power cut takes back programs that had not reached the chips, so
    /// the counters of the device fall. No program is counted here until the counters exceed `seen` again.
    fn count_programs(&mut self, now: Programmed, seen: &mut Programmed) {
        self.host_programs += now.host.saturating_sub(seen.host);
        self.other_programs += now.other.saturating_sub(seen.other);
        *seen = Programmed { host: seen.host.max(now.host), other: seen.other.max(now.other) };
    }

    /// The window in the form of a summary. `unit` is the mapping unit in bytes.
    fn window(&self, unit: u64) -> Window {
        let [reads, writes] = [self.counts[0], self.counts[1] + self.counts[Operation::ZoneAppend as usize]];
        let mean = |latency_ps: u128, count: u64| latency_ps as f64 / 1e6 / count.max(1) as f64;
        Window {
            requests: self.counts.iter().sum(),
            reads,
            writes,
            read_bytes: self.bytes[0],
            written_bytes: self.bytes[1],
            read_latency_us: mean(self.latency_ps[0], reads),
            write_latency_us: mean(self.latency_ps[1], writes),
            max_latency_us: self.longest_ps as f64 / 1e6,
            host_programs: self.host_programs,
            other_programs: self.other_programs,
            programmed_bytes: (self.host_programs + self.other_programs) * unit,
        }
    }
}

impl<D: BlockDevice> Measurements<D> {
    /// Measurements of a run of `device` that begins at `begin`, still empty. `jobs` are the names of its
    /// jobs. Completions are added to `record`, if there is one.
    pub fn new(record: Option<Record>, device: &D, begin: Instant, jobs: &[String]) -> Self {
        let windows = Series::default();
        Self {
            latency: Default::default(),
            failed: 0,
            effects: Effects::new(&device.shape()),
            jobs: JobMeasurements::named(jobs),
            readings: Readings::begin(device, begin, windows.width()),
            windows,
            seen: device.programmed(),
            record,
            batch: None,
            begin,
            before: device.mark(begin),
            room: device.room(),
        }
    }

    /// Counts a completion, for its job too if it has one, and the programs of the device until now.
    #[inline]
    pub fn completed(
        &mut self,
        completion: &Completion,
        job: Option<u16>,
        now: Instant,
        programmed: Programmed,
    ) -> Result<()> {
        if let Some(batch) = &mut self.batch {
            batch.completed(completion, None, now, programmed)?;
        }
        let kind = completion.command.operation as usize;
        let now = Instant::ZERO + (now - self.begin);
        debug_assert_eq!([Operation::Read, Operation::Write].map(|op| op as usize), [0, 1]);
        self.failed += u64::from(completion.failed);
        let sums = self.windows.window(now, Sums::merge);
        sums.counts[kind] += 1;
        sums.longest_ps = sums.longest_ps.max(completion.latency.ps());
        if programmed != self.seen {
            sums.count_programs(programmed, &mut self.seen);
        }
        let data = if completion.command.operation == Operation::ZoneAppend { 1 } else { kind };
        if data < 2 {
            sums.bytes[data] += if completion.failed { 0 } else { completion.command.sectors * SECTOR.0 };
            sums.latency_ps[data] += u128::from(completion.latency.ps());
        } else if completion.command.operation == Operation::WriteZeroes && !completion.failed {
            sums.bytes[1] += self.effects.written_sectors(&completion.command) * SECTOR.0;
        }
        self.effects.add(&completion.command);
        self.latency[kind].record(completion.latency);
        if let Some(job) = job {
            self.jobs.completed(job, completion, now);
        }
        match &mut self.record {
            Some(record) => record.add(completion, now),
            None => Ok(()),
        }
    }

    /// Reads the device if a new window has begun.
    #[inline]
    pub fn look(&mut self, device: &D, now: Instant) {
        let (windows, width) = (self.windows.windows().len(), self.windows.width());
        if !self.readings.are_complete(windows, width) {
            self.readings.take(device, now, windows, width);
        }
    }

    /// The tail attribution's samples of reads and writes, scaled to the latencies of all.
    fn sample(&self, device: &D) -> Option<[Vec<Interval>; 2]> {
        device.tail().map(|tail| tail.scaled_sample([&self.latency[0], &self.latency[1]]))
    }

    /// Extends the windows to the end of the run, which may come long after its last completion.
    pub fn extend_to(&mut self, device: &D, end: Instant) {
        if end > self.begin {
            let last = end - self.begin - Duration::from_ps(1);
            self.windows.window(Instant::ZERO + last, Sums::merge);
            self.look(device, end);
        }
    }

    /// The record of completions.
    pub fn record(&mut self) -> &mut Option<Record> {
        &mut self.record
    }

    /// Begins a batch. It is measured in addition to the whole run.
    pub fn begin_batch(&mut self, device: &D, now: Instant) {
        self.batch = Some(Box::new(Self::new(None, device, now, &[])));
    }

    /// The measurements of the current batch.
    pub fn batch(&self) -> Option<&Self> {
        self.batch.as_deref()
    }

    /// Bytes that the host wrote.
    pub fn written(&self) -> u64 {
        self.windows.windows().iter().map(|window| window.bytes[1]).sum()
    }

    /// Time of the beginning of the run.
    pub fn begin(&self) -> Instant {
        self.begin
    }

    /// The metrics of the device from the beginning of the run to `now`.
    pub fn metrics(&self, device: &D, now: Instant) -> Metrics {
        device.metrics(&self.before, now)
    }

    /// Requests, throughput and latency at the host until `now`.
    pub fn host_until(&self, now: Instant) -> Host {
        self.host(&self.all(), now - self.begin)
    }

    /// The summary of a run of this load.
    pub fn summary(&self, load: &Load, device: &D, ending: RunEnd) -> Summary {
        let RunEnd { end, outcome, trace_file, notes, seconds: [precondition_seconds, wall_seconds] } =
            ending;
        let (elapsed, shape) = (end - self.begin, device.shape());
        let all = self.all();
        let requests: u64 = all.counts.iter().sum();
        let (metrics, detail) = (device.metrics(&self.before, end), device.detail(&self.before, end));
        let busy = |times: &[Duration]| times.iter().map(|time| share(time.ps(), elapsed)).collect();
        let die_utilisation: Vec<f64> = busy(&detail.arrays);
        let at_end = device.gauges(end);
        let buffered = (!load.as_counted).then(|| self.buffered(&at_end, &metrics, shape.logical_page));
        let programmed_of =
            buffered.map_or(all.bytes[1], |buffered| buffered.host_bytes_programmed(all.bytes[1]));
        let wear = wear::of(&detail.pools, [all.bytes[1], programmed_of], &shape);
        let course = self.readings.course((end, at_end));
        let windows = Windows { course, ..self.windows(shape.logical_page.0, device.programmed()) };
        let parts: Vec<ByteCounts> = windows.windows.iter().map(ByteCounts::from).collect();
        let of_end = self.end_note(outcome, requests, (all.bytes[1], &detail.pools));
        let of_course =
            [of_end, drift::note(&parts, shape.block_set.0), buffered.and_then(BufferBalance::note)];
        let of_units = self.unit_notes(&metrics, shape.logical_page).into_iter().chain(self.jobs.idle_note());
        let flash = (!load.as_counted).then(|| self.flash(&detail.pools, &metrics, device));
        let ((jobs, fairness), sample) = (self.jobs.usage(), self.sample(device));
        let summary = Summary {
            device: load.device_name.clone(),
            workload: load.source.clone(),
            trace_file,
            provenance: load.provenance.clone(),
            configuration: load.config_text.clone(),
            seed: load.seed,
            digest: device.digest().to_string(),
            outcome,
            simulated_seconds: elapsed.seconds(),
            verdict: None,
            recovery_seconds: 0.0,
            simulator: simulator(requests, [precondition_seconds, wall_seconds]),
            // A device without flash has no programs, so no write amplification.
            write_amplification: metrics
                .get("flash.programmed_bytes")
                .and_then(|_| write_amplification(metrics.count("flash.programmed_bytes"), programmed_of)),
            drift: Drift::of(&parts),
            energy_by_stage: Stage::ALL
                .map(|stage| Share { name: stage.name().into(), amount: detail.energy.of(stage).joules() })
                .into(),
            time: time(&all, detail.times.as_ref(), sample.as_ref()),
            tail: device.tail().zip(sample.as_ref()).map(|(tail, sample)| Tail::of(tail, sample, self.begin)),
            write_back: detail.written_back.iter().map(pools::write_back).collect(),
            link_utilisation: busy(&detail.links),
            channel_utilisation: busy(&detail.buses),
            pools: pools::usage(&detail.pools, &die_utilisation),
            members: members::usage(&detail, &die_utilisation),
            die_utilisation,
            wear,
            jobs,
            fairness,
            power_cuts: Vec::new(),
            warm_up: None,
            precision: None,
            rebuild: None,
            charts: device.charts(&self.before).into_iter().map(DesignChart::of).collect(),
            windows,
            host: self.host(&all, elapsed),
            metrics,
            notes: notes.into_iter().chain(of_course.into_iter().flatten()).chain(of_units).collect(),
            unknown: Vec::new(),
        };
        let mut summary = Summary { verdict: verdict::of(&summary, load.pace, &detail), ..summary };
        flash.into_iter().for_each(|flash| unknown::remove_unknown(&mut summary, flash));
        summary
    }

    /// Flash activity since the beginning of the run, for values that depend on GC victims.
    fn flash(&self, pools: &[PoolDetail], metrics: &Metrics, device: &D) -> FlashActivity {
        FlashActivity {
            erased: (!pools.is_empty()).then(|| pools.iter().map(|pool| pool.worn.erases).sum()),
            room: self.room.zip(device.room()).map(<[u64; 2]>::from),
            host: metrics.count("flash.host_bytes"),
            programmed: metrics.count("flash.programmed_bytes"),
        }
    }

    /// The balance of the write buffer over the run.
    fn buffered(&self, at_end: &Gauges, metrics: &Metrics, page: Bytes) -> BufferBalance {
        BufferBalance::between([self.readings.first(), at_end], page, metrics.count("flash.host_bytes"))
    }

    /// A note if the device rejects writes, or if requests failed.
    fn end_note(
        &self,
        outcome: Outcome,
        requests: u64,
        (written, pools): (u64, &[PoolDetail]),
    ) -> Option<String> {
        let of_failures = (self.failed > 0).then(|| self.failure_note(requests));
        match outcome {
            Outcome::ReadOnly => {
                let of_life = self.end_of_life_note(written, pools);
                Some(match of_failures {
                    Some(failures) => format!("{of_life}; {failures}"),
                    None => of_life,
                })
            }
            _ => of_failures,
        }
    }

    /// Notes on the effect of requests, which depends on the mapping unit. Its size is `unit`.
    fn unit_notes(&self, metrics: &Metrics, unit: Bytes) -> Vec<String> {
        let mut notes = self.effects.notes();
        let filled = metrics.count("flash.rmw_reads");
        if filled > 0 {
            notes.push(format!(
                "{} (RMW): writes that cover a mapping unit of {unit} in part have the rest of it read and programmed with them",
                counted(filled, "read-modify-write"),
            ));
        }
        let in_gap = metrics.count("zone_host.gap_blocks_read");
        if in_gap > 0 {
            notes.push(format!(
                "{} between the capacity and the end of a zone: nothing can be written there, so they took no time of the flash",
                counted(in_gap, "block read"),
            ));
        }
        notes
    }

    /// A note that the device rejects writes.
    fn end_of_life_note(&self, written: u64, pools: &[PoolDetail]) -> String {
        let blocks = pools.iter().flat_map(|pool| &pool.dies).flat_map(|die| &die.blocks);
        format!(
            "the device reached the end of its life and refuses writes: the host wrote {}, {} bad",
            Quantity::Terabytes(written as f64 / wear::TERABYTE),
            counted(blocks.filter(|(_, is_bad)| *is_bad).count() as u64, "multi-plane block"),
        )
    }

    /// A note on failed requests.
    fn failure_note(&self, requests: u64) -> String {
        format!(
            "{} of {} failed: they count in IOPS and latencies, not in throughput",
            Quantity::Count(self.failed),
            counted(requests, "request")
        )
    }

    fn host(&self, all: &Sums, elapsed: Duration) -> Host {
        let [reads, writes, discards, flushes, write_zeroes, compares, ..] = all.counts;
        let requests: u64 = all.counts.iter().sum();
        Host {
            requests,
            reads,
            writes,
            discards,
            flushes,
            write_zeroes,
            compares,
            failed: self.failed,
            read_bytes: all.bytes[0],
            written_bytes: all.bytes[1],
            iops: if elapsed == Duration::ZERO { 0.0 } else { requests as f64 / elapsed.seconds() },
            read_latency_us: latency(&self.latency[0]),
            write_latency_us: latency(&self.latency[1]),
            discard_latency_us: latency(&self.latency[2]),
            flush_latency_us: latency(&self.latency[3]),
            write_zeroes_latency_us: latency(&self.latency[4]),
            compare_latency_us: latency(&self.latency[5]),
            zones: self.zones(all),
        }
    }

    /// Requests to zones; `None` if there were none.
    fn zones(&self, all: &Sums) -> Option<ZoneRequests> {
        let first = Operation::ZoneAppend as usize;
        let [appends, resets, finishes, opens, closes] = all.counts[first..] else { unreachable!() };
        let latency_of = |operation: Operation| latency(&self.latency[operation as usize]);
        (appends + resets + finishes + opens + closes > 0).then(|| ZoneRequests {
            appends,
            resets,
            finishes,
            opens,
            closes,
            append_latency_us: latency_of(Operation::ZoneAppend),
            reset_latency_us: latency_of(Operation::ZoneReset),
            finish_latency_us: latency_of(Operation::ZoneFinish),
            open_latency_us: latency_of(Operation::ZoneOpen),
            close_latency_us: latency_of(Operation::ZoneClose),
        })
    }

    /// The sum of all windows.
    fn all(&self) -> Sums {
        let mut all = Sums::default();
        self.windows.windows().iter().for_each(|window| all.merge(window));
        all
    }

    /// The windows of a summary. Programs after the last completion count in the last window.
    fn windows(&self, unit: u64, programmed: Programmed) -> Windows {
        let mut all = self.windows.windows().to_vec();
        if let Some(last) = all.last_mut() {
            last.count_programs(programmed, &mut self.seen.clone());
        }
        Windows {
            width_seconds: self.windows.width().seconds(),
            windows: all.iter().map(|sums| sums.window(unit)).collect(),
            course: Course::default(),
        }
    }
}

/// Speed of the simulator for this many requests, from the wall times of preparation and run.
fn simulator(requests: u64, [precondition_seconds, wall_seconds]: [f64; 2]) -> Simulator {
    let requests_per_second = requests as f64 / wall_seconds.max(1e-9);
    Simulator { wall_seconds, precondition_seconds, requests_per_second }
}

/// The latency breakdown of all requests, or of a sample; empty if neither was recorded.
fn time(all: &Sums, times: Option<&Times>, sample: Option<&[Vec<Interval>; 2]>) -> Vec<TimeShare> {
    let share =
        |(name, [read_us, write_us]): (&str, [f64; 2])| TimeShare { name: name.into(), read_us, write_us };
    match (times, sample) {
        (Some(times), _) => time_shares(all, times),
        (None, Some(sample)) => time_of_sample(sample).into_iter().map(share).collect(),
        (None, None) => Vec::new(),
    }
}

fn time_shares(all: &Sums, times: &Times) -> Vec<TimeShare> {
    let mean = |kind: usize, component: Component| {
        times.spent[kind][component as usize] as f64 / 1e6 / all.counts[kind].max(1) as f64
    };
    let share = |component: Component| TimeShare {
        name: component.name().into(),
        read_us: mean(0, component),
        write_us: mean(1, component),
    };
    Component::ALL.map(share).into()
}

fn share(ps: u64, elapsed: Duration) -> f64 {
    ps as f64 / elapsed.ps().max(1) as f64
}
