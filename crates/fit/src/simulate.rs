//! The loads of measurements, simulated on a twin.

use std::fs;
use std::path::{Path, PathBuf};

use wordline_lab::summary::{Latency, Summary};
use wordline_lab::{Error, Observer, Precondition, RunOptions, WarmUp, Workload, run};

use crate::load::Load;
use crate::measurement::{Quantity, Statistic};
use crate::twin::Twin;

/// Requests of the probe beside writes. Chosen: its 99th percentile then has 320 reads above it. With 40 it differs by
/// a fifth from seed to seed, since delayed reads come in groups, and a search ends in the minimum of one seed.
const PROBED: u64 = 64_000;

/// Most requests of the probe and of the writes beside it. Chosen: a second of wall time.
const MOST_BESIDE: u64 = 400_000;

/// Requests of a load of reads. Chosen: 60 reads above the 99th percentile, which no program delays.
const READS: u64 = 6_000;

/// Saturating writes: those of the warm-up, in which the buffer fills, and the measured ones. Chosen: some ten
/// word lines of each of 16 dies.
const WARM_UP: u64 = 20_000;
const WRITES: u64 = 100_000;

/// Sequential writes of 1 MiB. Chosen: 1 GiB.
const SEQUENTIAL: u64 = 1024;

/// Bytes of sequential writes of other sizes: those of the warm-up, in which the buffer fills, and the measured
/// ones. Chosen: four buffers, and some ten word lines of each of 32 dies.
const WARM_UP_BYTES: u64 = 64 << 20;
const WRITTEN_BYTES: u64 = 256 << 20;

/// Bytes of sequential writes beside reads. Chosen: they go round all dies several times.
const BESIDE_BYTES: u64 = 128 << 20;

/// Reads a second of one outstanding read beside writes: those of 100 us, twice as long as tR.
const READS_EACH_SECOND: f64 = 10_000.0;

/// Most requests of a load of reads beside sequential writes. Chosen: a second of wall time.
const MOST_REQUESTS: u64 = 200_000;

/// How a load is simulated.
struct Simulated {
    /// The job file, in the form of fio.
    jobs: String,
    precondition: Precondition,
    requests: u64,
    warm_up: WarmUp,
}

const GLOBAL: &str = "[global]\nfilename=drive\nioengine=io_uring\nnorandommap\ntime_based\nruntime=3600\n";

/// The queues of saturating writes.
const SATURATING: &str = "iodepth=128\nnumjobs=4\n";

impl Simulated {
    /// `None` for a load that is not simulated.
    fn of(load: Load, twin: &Twin) -> Option<Self> {
        Self::with_reads(load).or_else(|| Self::of_writes(load, twin))
    }

    /// Loads in which reads are measured.
    fn with_reads(load: Load) -> Option<Self> {
        Some(match load {
            Load::RandomReads { size, depth, jobs } => Self {
                jobs: format!("{GLOBAL}[load]\nrw=randread\nbs={size}\niodepth={depth}\nnumjobs={jobs}\n"),
                precondition: Precondition::Filled(1.0),
                requests: READS.max(8 * load.outstanding()),
                warm_up: WarmUp::Requests(load.outstanding()),
            },
            Load::TrimmedReads { depth } => Self {
                jobs: format!("{GLOBAL}[load]\nrw=randread\nbs=4k\niodepth={depth}\n"),
                precondition: Precondition::Empty,
                requests: READS,
                warm_up: WarmUp::Requests(load.outstanding()),
            },
            Load::Beside { rate } => Self {
                jobs: format!(
                    "{GLOBAL}bs=4k\n[probe]\nrw=randrw\nrwmixread=50\nrate_iops=5000,5000\niodepth=64\n\
                     [load]\nrw=randwrite\niodepth=64\nnumjobs=6\nrate_iops=,{}\nrate_process=poisson\n",
                    (rate.saturating_sub(5000) / 6).max(1),
                ),
                precondition: Precondition::Steady,
                requests: (PROBED * (u64::from(rate) + 5_000) / 10_000).min(MOST_BESIDE),
                warm_up: WarmUp::None,
            },
            Load::Mixed { reads, depth, jobs } => Self {
                jobs: format!(
                    "{GLOBAL}[load]\nrw=randrw\nrwmixread={reads}\nbs=4k\niodepth={depth}\nnumjobs={jobs}\n"
                ),
                precondition: Precondition::Steady,
                requests: WRITES,
                warm_up: WarmUp::Requests(WARM_UP),
            },
            Load::BesideSequential { depth, size, rate } => Self {
                jobs: format!(
                    "{GLOBAL}[reads]\nrw=randread\nbs=4k\niodepth={depth}\n\
                     [writes]\nrw=write\nbs={size}\niodepth=1\nrate={rate}m\n"
                ),
                precondition: Precondition::Filled(1.0),
                requests: beside_requests(depth, size, rate),
                warm_up: WarmUp::Requests(READS),
            },
            _ => return None,
        })
    }

    /// Loads of writes alone.
    fn of_writes(load: Load, twin: &Twin) -> Option<Self> {
        Some(match load {
            Load::Writes { size, depth } => Self {
                jobs: writes("write", &size.to_string()) + &format!("iodepth={depth}\n"),
                precondition: Precondition::Empty,
                requests: (WRITTEN_BYTES / size).max(1),
                warm_up: WarmUp::Requests(WARM_UP_BYTES / size),
            },
            Load::IdleWrites => Self {
                jobs: writes("randwrite", "4k") + "iodepth=1\nthinktime=1000\n",
                precondition: Precondition::Filled(1.0),
                requests: READS,
                warm_up: WarmUp::None,
            },
            Load::FreshWrites => {
                // Half of what can be written before garbage collection begins.
                let free = (twin.space - twin.capacity).max(0.0) / f64::from(twin.scale) / 4096.0;
                let requests = WRITES.min((free / 2.0) as u64).max(100);
                Self {
                    jobs: writes("randwrite", "4k") + SATURATING,
                    precondition: Precondition::Filled(1.0),
                    requests,
                    warm_up: WarmUp::Requests(WARM_UP.min(requests / 3)),
                }
            }
            Load::SteadyWrites => Self {
                jobs: writes("randwrite", "4k") + SATURATING,
                precondition: Precondition::Steady,
                requests: WRITES,
                warm_up: WarmUp::Requests(WARM_UP),
            },
            Load::SteadyPart { used } => {
                let part = (f64::from(used) * 1e9 / twin.capacity).min(1.0);
                Self {
                    jobs: writes("randwrite", "4k")
                        + SATURATING
                        + &format!("size={:.0}%\n", (part * 100.0).max(1.0)),
                    precondition: Precondition::SteadyTo(part),
                    requests: WRITES,
                    warm_up: WarmUp::Requests(WARM_UP),
                }
            }
            Load::CacheWrites | Load::NativeWrites => Self {
                jobs: writes("write", "1m") + "iodepth=8\n",
                precondition: Precondition::Empty,
                requests: SEQUENTIAL,
                warm_up: WarmUp::Requests(SEQUENTIAL / 8),
            },
            _ => return None,
        })
    }
}

/// A job of writes.
fn writes(kind: &str, size: &str) -> String {
    format!("{GLOBAL}[load]\nrw={kind}\nbs={size}\n")
}

/// Reads in a closed loop, with the writes beside them, while `BESIDE_BYTES` are written, or for a second.
fn beside_requests(depth: u32, size: u64, rate: u32) -> u64 {
    let rate = u64::from(rate) << 20;
    let seconds = (BESIDE_BYTES as f64 / rate as f64).min(1.0);
    let each_second = f64::from(depth) * READS_EACH_SECOND + rate as f64 / size as f64;
    ((seconds * each_second) as u64).clamp(2 * READS, MOST_REQUESTS)
}

/// The job file of a load in a folder.
fn path_of(load: Load, folder: &Path) -> PathBuf {
    folder.join(format!("{load}.fio").replace([' ', '='], "-"))
}

/// Writes the job files of loads into a folder, for [`simulate`].
///
/// # Errors
/// [`Error::File`].
pub fn write_jobs(twin: &Twin, loads: &[Load], folder: &Path) -> Result<(), Error> {
    for load in loads {
        let path = path_of(*load, folder);
        let text = Simulated::of(*load, twin).map_or_else(String::new, |simulated| simulated.jobs);
        fs::write(&path, text).map_err(|reason| Error::File { path, action: "write", reason })?;
    }
    Ok(())
}

/// Simulates a load on a twin. `folder` has its job file.
///
/// # Errors
/// The errors of a run.
pub fn simulate(
    twin: &Twin,
    load: Load,
    folder: &Path,
    observer: &mut dyn Observer,
) -> Result<Summary, Error> {
    let simulated =
        Simulated::of(load, twin).ok_or(Error::CannotChange("a property of a drive is no load"))?;
    let twin = if load == Load::NativeWrites { &Twin { cache: None, ..twin.clone() } } else { twin };
    let path = path_of(load, folder);
    let workload =
        Workload { requests: Some(simulated.requests), ..Workload::named(&path.to_string_lossy()) };
    let options = RunOptions {
        precondition: Some(simulated.precondition),
        warm_up: Some(simulated.warm_up),
        as_counted: true,
        slowest: Some(0),
        ..RunOptions::default()
    };
    run(&twin.device()?, &workload, &options, observer)
}

/// The value of a quantity in the result of a load; `None` if the load does not show it.
pub fn value(summary: &Summary, load: Load, quantity: Quantity) -> Option<f64> {
    let job = summary.jobs.first()?;
    let of_probe = matches!(load, Load::Beside { .. } | Load::BesideSequential { .. });
    let (read, write) = match of_probe {
        true => (&job.read_latency_us, &job.write_latency_us),
        false => (&summary.host.read_latency_us, &summary.host.write_latency_us),
    };
    match quantity {
        Quantity::Iops if matches!(load, Load::BesideSequential { .. }) => None,
        Quantity::Iops => Some(summary.host.iops),
        Quantity::Throughput => Some(
            (summary.host.read_bytes + summary.host.written_bytes) as f64 / summary.simulated_seconds / 1e6,
        ),
        Quantity::WriteAmplification => summary.write_amplification,
        Quantity::Read(statistic) => statistic_of(read, statistic),
        Quantity::Write(statistic) => statistic_of(write, statistic),
        _ => None,
    }
    .filter(|value| *value > 0.0)
}

fn statistic_of(latency: &Latency, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::Mean => Some(latency.mean),
        Statistic::Percentile(rank) => {
            latency.cumulative.iter().find(|(_, share)| *share >= rank / 100.0).map(|(us, _)| *us)
        }
    }
}
