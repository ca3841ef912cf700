//! What is measured during a run, and the summary that comes of it.

use wordline_kernel::{Duration, Histogram, Instant, Metrics, Series};
use wordline_nand::chips::Counts;
use wordline_nand::{DieId, EnergyReport, Pool, RowBlockId, Stage};
use wordline_ssd::device::{Component, Times, Totals, WriteBack};
use wordline_ssd::lifetime::{self, Worn, write_amplification};
use wordline_ssd::metrics::{self, Mark};
use wordline_ssd::{Answer, Device, Operation, SECTOR};

use crate::drift::{self, Drift, Written};
use crate::error::Result;
use crate::log::Log;
use crate::pools;
use crate::provenance::{Fingerprint, TraceFile};
use crate::report::Quantity;
use crate::run::Job;
use crate::summary::{DieWear, Host, Latency, Outcome, Share, Summary, TimeShare, Wear, Window, Windows};

/// Measurements under way.
pub struct Measurements {
    latency: [Histogram; 2],
    failed: u64,
    windows: Series<Sums>,
    /// Pages programmed, as far as they are in a window.
    seen: (u64, u64),
    log: Option<Log>,
    before: Before,
}

/// What a device had done when the run began.
struct Before {
    at: Instant,
    mark: Mark,
    energy: EnergyReport,
    link: Vec<u64>,
    buses: Vec<u64>,
    arrays: Vec<u64>,
    worn: Vec<Worn>,
    chips: Vec<Counts>,
    written_back: Vec<WriteBack>,
}

impl Before {
    fn of(device: &Device, at: Instant) -> Self {
        Self {
            at,
            mark: Mark::of(device, at),
            energy: device.chips().energy(at - Instant::ZERO),
            link: link_busy(device, at),
            buses: device.chips().bus_busy(at).collect(),
            arrays: device.chips().array_busy(at).collect(),
            worn: device.worn(),
            chips: device.chips().counts_of_pools().to_vec(),
            written_back: device.written_back().to_vec(),
        }
    }
}

/// Picoseconds for which each direction of the link was taken; none without a link.
fn link_busy(device: &Device, at: Instant) -> Vec<u64> {
    device.link().map_or_else(Vec::new, |link| link.busy(at).map(Duration::ps).collect())
}

/// Logical pages programmed for the host, and for others.
#[inline]
fn programs_in(totals: &Totals) -> (u64, u64) {
    let other = totals.gc_programs + totals.unit_programs + totals.translation_programs + totals.padding;
    (totals.host_programs, other)
}

/// What a window of the run adds up.
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

    /// Counts the programs since those that were `seen`. A power cut takes back programs that had not come to the chips;
    /// the next ones make up for them.
    fn count_programs(&mut self, (host, other): (u64, u64), seen: &mut (u64, u64)) {
        self.host_programs += host.saturating_sub(seen.0);
        self.other_programs += other.saturating_sub(seen.1);
        *seen = (seen.0.max(host), seen.1.max(other));
    }

    /// The window, on a device that is mapped by pages of `unit` bytes.
    fn window(&self, unit: u64) -> Window {
        let mean = |kind: usize| self.latency_ps[kind] as f64 / 1e6 / self.counts[kind].max(1) as f64;
        Window {
            requests: self.counts.iter().sum(),
            read_bytes: self.bytes[0],
            written_bytes: self.bytes[1],
            read_latency_us: mean(0),
            write_latency_us: mean(1),
            max_latency_us: self.longest_ps as f64 / 1e6,
            host_programs: self.host_programs,
            other_programs: self.other_programs,
            programmed_bytes: (self.host_programs + self.other_programs) * unit,
        }
    }
}

impl Measurements {
    /// Nothing measured yet of a run of `device` that begins at `begin`; every answer goes to `log` if that is given.
    pub fn new(log: Option<Log>, device: &Device, begin: Instant) -> Self {
        let before = Before::of(device, begin);
        Self {
            latency: Default::default(),
            failed: 0,
            windows: Series::default(),
            seen: programs_in(before.mark.totals()),
            log,
            before,
        }
    }

    /// Takes in an answer.
    #[inline]
    pub fn answered(&mut self, answer: &Answer, now: Instant, totals: &Totals) -> Result<()> {
        let kind = answer.command.operation as usize;
        let now = Instant::ZERO + (now - self.before.at);
        debug_assert_eq!([Operation::Read, Operation::Write].map(|op| op as usize), [0, 1]);
        self.failed += u64::from(answer.failed);
        let sums = self.windows.window(now, Sums::merge);
        sums.counts[kind] += 1;
        sums.longest_ps = sums.longest_ps.max(answer.latency.ps());
        let programs = programs_in(totals);
        if programs != self.seen {
            sums.count_programs(programs, &mut self.seen);
        }
        if kind < 2 {
            sums.bytes[kind] += if answer.failed { 0 } else { answer.command.sectors * SECTOR.0 };
            sums.latency_ps[kind] += u128::from(answer.latency.ps());
            self.latency[kind].record(answer.latency);
        }
        match &mut self.log {
            Some(log) => log.add(answer, now),
            None => Ok(()),
        }
    }

    /// The summary of a run that ended at `end`, with the seconds on this machine that preconditioning and run took.
    pub fn summary(
        mut self,
        mut job: Job,
        device: &Device,
        end: Instant,
        outcome: Outcome,
        [precondition_seconds, wall_seconds]: [f64; 2],
    ) -> Result<Summary> {
        // Who stopped a run does not want to wait for the rest of a hash.
        let ready = |file: &Fingerprint| outcome != Outcome::Interrupted || file.is_finished();
        let trace_file = job.trace_file.take().filter(ready).and_then(Fingerprint::finish);
        let before = &self.before;
        let Before { at: begin, ref energy, ref link, ref buses, ref arrays, ref worn, .. } = *before;
        let elapsed = end - begin;
        let all = self.all();
        let requests: u64 = all.counts.iter().sum();
        let energy = device.chips().energy(end - Instant::ZERO).since(energy);
        let times = device.totals().times.since(&before.mark.totals().times);
        let metrics = metrics::since(device, &before.mark, end);
        let shares = |now: Vec<u64>, before: &[u64]| {
            now.into_iter().zip(before).map(|(now, before)| share(now - before, elapsed)).collect()
        };
        if let Some(log) = self.log.take() {
            end_log(log, &job, &trace_file, &metrics)?;
        }
        let windows = self.windows(device.config().unit.0);
        let parts: Vec<Written> = windows.windows.iter().map(Written::from).collect();
        let worn_out = (outcome == Outcome::ReadOnly).then(|| self.end_of_life(all.bytes[1], device));
        let drifting = drift::note(&parts, block_bytes(device));
        Ok(Summary {
            device: job.device_name,
            workload: job.source,
            trace_file,
            provenance: job.provenance,
            configuration: job.config_text,
            seed: job.seed,
            digest: device.digest().to_string(),
            outcome,
            simulated_seconds: elapsed.seconds(),
            wall_seconds,
            precondition_seconds,
            requests_per_second: requests as f64 / wall_seconds.max(1e-9),
            write_amplification: write_amplification(metrics.count("flash.programmed_bytes"), all.bytes[1]),
            drift: Drift::of(&parts),
            energy_by_stage: Stage::ALL
                .map(|stage| Share { name: stage.name().into(), amount: energy.of(stage).joules() })
                .into(),
            time: time_shares(&all, &times),
            write_back: pools::write_back(device, &before.written_back),
            link_utilisation: shares(link_busy(device, end), link),
            channel_utilisation: shares(device.chips().bus_busy(end).collect(), buses),
            die_utilisation: shares(device.chips().array_busy(end).collect(), arrays),
            wear: wear(device, all.bytes[1], worn),
            pools: pools::used(device, worn, &before.chips),
            power_cuts: Vec::new(),
            windows,
            host: self.host(&all, elapsed),
            metrics,
            notes: job.notes.into_iter().chain(worn_out).chain(drifting).collect(),
        })
    }

    /// What to tell of a device that refuses writes.
    fn end_of_life(&self, written: u64, device: &Device) -> String {
        format!(
            "the device reached the end of its life and refuses writes: the host wrote {}, {} row blocks are bad, {} requests failed",
            Quantity::Terabytes(written as f64 / TERABYTE),
            device.bad_blocks(),
            self.failed
        )
    }

    fn host(&self, all: &Sums, elapsed: Duration) -> Host {
        let [reads, writes, discards, flushes, write_zeroes, compares] = all.counts;
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
        }
    }

    /// The sum of all windows.
    fn all(&self) -> Sums {
        let mut all = Sums::default();
        self.windows.windows().iter().for_each(|window| all.merge(window));
        all
    }

    fn windows(&self, unit: u64) -> Windows {
        Windows {
            width_seconds: self.windows.width().seconds(),
            windows: self.windows.windows().iter().map(|sums| sums.window(unit)).collect(),
        }
    }
}

/// Ends a log with what there is to say of its run.
fn end_log(log: Log, job: &Job, trace_file: &Option<TraceFile>, metrics: &Metrics) -> Result<()> {
    log.finish([
        ("provenance", as_json(&job.provenance)),
        ("configuration", job.config_text.clone()),
        ("seed", job.seed.to_string()),
        ("workload", as_json(&job.source)),
        ("trace_file", as_json(trace_file)),
        ("metrics", as_json(metrics)),
    ])
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it has string keys")
}

/// Bytes of the blocks that the planes of a row erase together, in the first pool.
fn block_bytes(device: &Device) -> u64 {
    let config = device.config();
    u64::from(config.slots().per_block()) * config.unit.0
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

fn latency(histogram: &Histogram) -> Latency {
    Latency {
        mean: histogram.total_ps() as f64 / 1e6 / histogram.count().max(1) as f64,
        min: histogram.min().us(),
        p50: histogram.quantile(0.5).us(),
        p90: histogram.quantile(0.9).us(),
        p99: histogram.quantile(0.99).us(),
        p999: histogram.quantile(0.999).us(),
        max: histogram.max().us(),
        cumulative: histogram.cumulative().into_iter().map(|(value, part)| (value.us(), part)).collect(),
    }
}

/// Values of a wear map at the most: a chart of 256 by 256.
const MOST_WEAR_VALUES: usize = 65_536;

/// The blocks after a run in which the host wrote so many bytes, with pools that were so worn `before`.
fn wear(device: &Device, written: u64, before: &[Worn]) -> Wear {
    let pools = device.worn().into_iter().zip(before).map(|(now, before)| now.since(*before));
    let pools: Vec<Worn> = pools.collect();
    let spent = lifetime::spent(pools.iter().copied());
    let erased: u64 = pools.iter().map(|pool| pool.erases).sum();
    let erases: Vec<u32> = device.erases().map(|(_, erases)| erases).collect();
    let group = erases.len().div_ceil(MOST_WEAR_VALUES).max(1);
    let config = device.config();
    let (mut bad_blocks, mut good) = (0, 0.0);
    for Pool { geometry, .. } in config.pools.iter() {
        let bad = geometry.all_blocks().filter(|block| device.is_bad(*block)).count() as u64;
        bad_blocks += bad * u64::from(geometry.planes_per_row);
        good += geometry.capacity().0 as f64 * (1.0 - bad as f64 / f64::from(geometry.row_blocks()));
    }
    let capacity = config.capacity().0 as f64;
    Wear {
        min: erases.iter().copied().min().unwrap_or(0),
        max: erases.iter().copied().max().unwrap_or(0),
        mean: mean(&erases),
        variation: variation(device),
        bad_blocks,
        spare: if good > 0.0 { 1.0 - capacity / good } else { -1.0 },
        terabytes_written: written as f64 / TERABYTE,
        drive_writes: written as f64 / capacity,
        terabytes_expected: (spent > 0.0 && written > 0).then(|| written as f64 / TERABYTE / spent),
        spent_lifetime: spent,
        run_erases: erased as f64 / erases.len().max(1) as f64,
        dies: dies(device, &erases),
        erases: erases.chunks(group).map(mean).collect(),
    }
}

/// Bytes, as the endurance of drives is sold.
const TERABYTE: f64 = 1e12;

fn mean(values: &[u32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len().max(1) as f64
}

/// The coefficient of variation of the erases of all blocks that were ever of use.
fn variation(device: &Device) -> Option<f64> {
    let used = device.erases().filter(|(block, erases)| *erases > 0 || !device.is_bad(*block));
    let used: Vec<u32> = used.map(|(_, erases)| erases).collect();
    let mean = mean(&used);
    let squares: f64 =
        used.iter().map(|erases| (f64::from(*erases) - mean) * (f64::from(*erases) - mean)).sum();
    (mean > 0.0).then(|| libm::sqrt(squares / used.len() as f64) / mean)
}

fn dies(device: &Device, erases: &[u32]) -> Vec<DieWear> {
    let die = |(Pool { geometry, .. }, die): (&Pool, DieId)| {
        let rows = geometry.rows_of(die);
        let blocks = geometry.first_block(rows.start).0..geometry.first_block(rows.end).0;
        let bad = blocks.clone().filter(|block| device.is_bad(RowBlockId(*block))).count() as u64;
        DieWear {
            erases: mean(&erases[blocks.start as usize..blocks.end as usize]),
            bad_blocks: bad * u64::from(geometry.planes_per_row),
        }
    };
    let pools = device.config().pools.iter();
    pools.flat_map(|pool| pool.geometry.all_dies().map(move |die| (pool, die))).map(die).collect()
}
