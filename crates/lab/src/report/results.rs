//! The results of a run, in the order that all tables use.

use wordline_kernel::{Metric, Metrics, counted};
use wordline_run::quantity::Quantity;
use wordline_run::stage::stage;

use super::group::{Group, unite};
use super::told;
use crate::percentiles::{PERCENTILES, Percentile};
use crate::summary::{CommandTime, JobUse, Latency, MemberUse, Outcome, PoolUse, Summary, WriteBack};

/// All results of each run. Every run has the same groups and rows. Results that a run does not have are absent.
pub fn results(runs: &[Summary]) -> Vec<Vec<Group>> {
    let pools = runs.iter().map(|run| run.pools.len()).max().unwrap_or_default();
    let members = runs.iter().map(|run| run.members.len()).max().unwrap_or_default();
    let jobs = runs.iter().map(|run| run.jobs.len()).max().unwrap_or_default();
    let sends =
        runs.iter().any(|run| metrics(run, SUB_REQUESTS).iter().any(|(_, sent)| *sent != Quantity::Absent));
    let (own, others): (Vec<_>, Vec<_>) = other_metrics(runs).into_iter().partition(|metric| is_own(metric));
    let of_run = |run: &Summary| {
        let list = |metrics: &[&Metric]| {
            metrics.iter().map(|metric| (metric.name, measured(run, metric.name))).collect()
        };
        let pool = |n: usize| Group::new(format!("Pool {}", n + 1), pool(run.pools.get(n)));
        let sent = (pools > 0 && sends).then(|| Group::new(SENT, metrics(run, SUB_REQUESTS)));
        let member = |n: usize| Group::new(format!("Device {n} of the array"), member(run.members.get(n)));
        let job = |n: usize| Group::new(format!("Job {}", n + 1), job(run.jobs.get(n)));
        let array = (members > 0).then(|| Group::new(ARRAY, array(run)));
        let written_back = (0..pools.max(1)).map(|n| match pools {
            0 => Group::new("Destaging to flash", write_back(run.write_back.first())),
            _ => Group::new(format!("Destaging to pool {}", n + 1), write_back(run.write_back.get(n))),
        });
        let zones = runs.iter().any(|run| run.host.zones.is_some()).then(|| zones(run));
        common(run, runs)
            .into_iter()
            .chain(zones.into_iter().flatten())
            .chain(written_back)
            .chain((0..pools).map(pool))
            .chain(sent)
            .chain((0..members).map(member))
            .chain(array)
            .chain((0..jobs).map(job))
            .chain((!own.is_empty()).then(|| Group::new(OWN, list(&own))))
            .chain([Group::new(OTHER, list(&others))])
            .collect()
    };
    let mut all: Vec<Vec<Group>> = runs.iter().map(of_run).collect();
    unite(&mut all);
    all
}

/// The groups that every run has.
fn common(run: &Summary, runs: &[Summary]) -> [Group; 15] {
    let host = &run.host;
    [
        Group::new("Run", identity(run, runs)),
        Group::new("Host", traffic(run)),
        Group::new("Read latency", latency(host.reads, &host.read_latency_us)),
        Group::new("Write latency", latency(host.writes, &host.write_latency_us)),
        Group::new("Flush latency", rare(host.flushes, &host.flush_latency_us)),
        Group::new("Discard latency", rare(host.discards, &host.discard_latency_us)),
        Group::new("Write zeroes latency", rare(host.write_zeroes, &host.write_zeroes_latency_us)),
        Group::new("Compare latency", rare(host.compares, &host.compare_latency_us)),
        Group::new("Flash", flash(run)),
        Group { title: "Mean time of a read".into(), rows: time(run, host.reads, |share| share.read_us) },
        Group { title: "Mean time of a write".into(), rows: time(run, host.writes, |share| share.write_us) },
        Group::new("Channels busy", spread(&run.channel_utilisation)),
        Group::new("Die arrays busy", spread(&run.die_utilisation)),
        Group::new("Wear", wear(run)),
        Group::new("Faults", metrics(run, FAULTS)),
    ]
}

/// The latencies of requests to zones, by kind.
fn zones(run: &Summary) -> Vec<Group> {
    let of = run.host.zones.clone();
    let mut all = of.unwrap_or_default();
    let group = |(_, words, requests, times): (_, &str, _, &mut Latency)| {
        let (first, rest) = words.split_at(1);
        Group::new(format!("{}{rest}", first.to_uppercase()), rare(requests, times))
    };
    all.kinds().map(group).into()
}

/// The kind of a workload, in words.
pub fn kind(run: &Summary) -> &'static str {
    run.workload.kind.words()
}

/// The outcome of a run, in words.
pub fn outcome(run: &Summary) -> &'static str {
    match run.outcome {
        Outcome::Complete => "complete",
        Outcome::Interrupted => "interrupted",
        Outcome::ReadOnly => "device became read-only",
    }
}

/// The bottleneck of a run as a word.
pub fn bound(run: &Summary) -> &'static str {
    run.verdict.as_ref().map_or("–", |verdict| verdict.bound.in_words())
}

fn identity(run: &Summary, runs: &[Summary]) -> Vec<(&'static str, Quantity)> {
    let text = |words: &str| Quantity::Text(words.to_owned());
    let recovering =
        if run.power_cuts.is_empty() { Quantity::Absent } else { Quantity::Seconds(run.recovery_seconds) };
    let mut rows = vec![
        ("device", text(&run.device)),
        ("workload", text(&run.workload.name)),
        ("kind of workload", text(kind(run))),
        ("seed", Quantity::Text(run.seed.to_string())),
        ("digest", text(&run.digest)),
        ("outcome", text(outcome(run))),
        ("bound by", text(bound(run))),
        ("simulated time", Quantity::Seconds(run.simulated_seconds)),
        ("  of it recovering", recovering),
        ("time to prepare", Quantity::Seconds(run.simulator.precondition_seconds)),
        ("time to simulate", Quantity::Seconds(run.simulator.wall_seconds)),
        ("simulated requests", Quantity::PerSecond(run.simulator.requests_per_second)),
    ];
    let or_absent = |words: Option<String>| words.map_or(Quantity::Absent, Quantity::Text);
    if runs.iter().any(|run| run.warm_up.is_some()) {
        let left_out = run.warm_up.as_ref().map(|left_out| counted(left_out.requests, "request"));
        rows.insert(7, ("left out before", or_absent(left_out)));
    }
    if runs.iter().any(|run| run.precision.is_some()) {
        rows.push(("precision", or_absent(run.precision.as_ref().map(told::precision))));
    }
    if runs.iter().any(|run| run.rebuild.is_some()) {
        rows.push(("rebuilt", or_absent(run.rebuild.as_ref().map(told::rebuilt))));
    }
    rows
}

fn traffic(run: &Summary) -> Vec<(&'static str, Quantity)> {
    let host = &run.host;
    let throughput = |bytes: u64| match run.seconds_in_service() {
        seconds if seconds > 0.0 => Quantity::Throughput(bytes as f64 / seconds),
        _ => Quantity::Absent,
    };
    let mut rows = vec![
        ("requests", Quantity::Count(host.requests)),
        ("reads", Quantity::Count(host.reads)),
        ("writes", Quantity::Count(host.writes)),
        ("discards", Quantity::Count(host.discards)),
        ("flushes", Quantity::Count(host.flushes)),
    ];
    // Commands that few workloads have.
    let rare = [("write zeroes", host.write_zeroes), ("compares", host.compares)];
    let mut zones = host.zones.clone().unwrap_or_default();
    let of_zones = zones.kinds().map(|(_, words, count, _)| (words, count));
    let rare = rare.into_iter().chain(of_zones).filter(|(_, count)| *count > 0);
    rows.extend(rare.map(|(name, count)| (name, Quantity::Count(count))));
    rows.extend([
        ("failed", Quantity::Count(host.failed)),
        ("IOPS", Quantity::Number(host.iops)),
        ("read throughput", throughput(host.read_bytes)),
        ("write throughput", throughput(host.written_bytes)),
    ]);
    let links: &[&str] = match run.link_utilisation.len() {
        1 => &["link busy"],
        _ => &["link to device busy", "link to host busy"],
    };
    rows.extend(links.iter().copied().zip(run.link_utilisation.iter().copied().map(Quantity::Fraction)));
    rows
}

fn latency(requests: u64, of: &Latency) -> Vec<(&'static str, Quantity)> {
    let exact = |us| Quantity::latency_of(requests, us);
    let percentile =
        |percentile: &Percentile| (percentile.name, Quantity::percentile_of(requests, (percentile.of)(of)));
    let ends = [("mean", exact(of.mean)), ("max", exact(of.max))];
    let mut rows: Vec<_> = ends.into();
    rows.splice(1..1, PERCENTILES.iter().map(percentile));
    rows
}

/// The latency of a command that few workloads have.
fn rare(requests: u64, of: &Latency) -> Vec<(&'static str, Quantity)> {
    if requests == 0 { Vec::new() } else { latency(requests, of) }
}

/// Results that are left out when they are zero. They belong to a map in flash, an SLC cache, or failures and
/// logs of an array.
pub const OPTIONAL: [&str; 17] = [
    IN_THE_BUFFER,
    "mapping-cache hits",
    "translation reads",
    "translation programs",
    "pages into the SLC cache",
    "pages folded out of it",
    "members that failed",
    "degraded reads",
    "blocks rebuilt",
    "blocks corrected",
    "rows dirty after a cut",
    "rows resynchronised",
    "rows scrubbed",
    "log entries written",
    "flushes for the log",
    "rows recovered from the log",
    "sectors lost",
];

/// Label of the share of host writes that is not in flash.
const IN_THE_BUFFER: &str = "  coalesced or still in buffer";

/// Heading of metrics that no other table has, on pages of reports.
pub const OTHER: &str = "Other metrics";

/// Heading of metrics that only this type of device, or its designs, have.
pub const OWN: &str = "Device and designs";

/// A label in tables, and the name of the metric.
pub type Row = (&'static str, &'static str);

/// Counts of flash operations.
const FLASH: &[Row] = &[
    ("page reads", "flash.reads"),
    ("page programs", "flash.programs"),
    ("block erases", "flash.erases"),
    ("GC reads", "flash.gc_reads"),
    ("GC writes (mapping units)", "flash.gc_programs"),
    ("RMW reads", "flash.rmw_reads"),
    ("padding (mapping units)", "flash.padding"),
    ("mapping-cache hits", "flash.map_hit_ratio"),
    ("translation reads", "flash.translation_reads"),
    ("translation programs", "flash.translation_programs"),
    ("pages into the SLC cache", "flash.slc_programs"),
    ("pages folded out of it", "flash.folded"),
    ("effective over-provisioning", "flash.effective_spare"),
];

/// Costs of flash operations. The programs are those for the host and for relocation. They are no part of the write
/// amplification, whose denominator is what the host wrote: the buffer coalesces some of it.
const COSTS: &[Row] =
    &[("programs per host program", "programs_per_host_program"), ("energy", "energy_joules")];

/// Counts of failures.
const FAULTS: &[Row] = &[
    ("failed programs", "faults.program_failures"),
    ("failed erases", "faults.erase_failures"),
    ("read retries", "faults.read_retries"),
    ("unreadable flash pages", "faults.unreadable_pages"),
    ("lost logical pages", "faults.lost_pages"),
    ("grown bad blocks", "faults.grown_bad_blocks"),
    ("failed dies", "faults.failed_dies"),
];

/// Counts of failures in a pool, for devices with several pools.
pub const POOL_FAULTS: &[Row] = &[
    ("failed programs", "faults.program_failures"),
    ("failed erases", "faults.erase_failures"),
    ("read retries", "faults.read_retries"),
    ("unreadable flash pages", "faults.unreadable_pages"),
    ("lost logical pages", "faults.lost_pages"),
];

/// Costs of a pool, for devices with several pools.
const POOL_COSTS: &[Row] = &[("energy", "energy_joules")];

/// Heading of sub-requests to pools.
pub const SENT: &str = "Sub-requests";

/// Heading of the counts of an array.
pub const ARRAY: &str = "Array";

/// Section of SSDs whose map guesses.
const GUESSES: &str = "map_guesses";

/// Counts of an array.
const ARRAY_COUNTS: &[Row] = &[
    ("members", "raid5.members"),
    ("commands of the host", "raid5.commands"),
    ("commands to members", "raid5.member_commands"),
    ("data blocks written", "raid5.data_writes"),
    ("parity blocks written", "raid5.parity_writes"),
    ("full-stripe writes", "raid5.full_stripe_writes"),
    ("reconstruct-writes", "raid5.reconstruct_writes"),
    ("read-modify-writes", "raid5.read_modify_writes"),
    ("blocks read before", "raid5.pre_reads"),
    ("part of time degraded", "raid5.degraded"),
    ("members that failed", "raid5.failures"),
    ("degraded reads", "raid5.degraded_reads"),
    ("blocks rebuilt", "raid5.rebuilt"),
    ("blocks corrected", "raid5.corrected"),
    ("rows dirty after a cut", "raid5.dirty_rows"),
    ("rows resynchronised", "raid5.resynced"),
    ("rows scrubbed", "raid5.scrubbed"),
    ("log entries written", "raid5.ppl_writes"),
    ("flushes for the log", "raid5.ppl_flushes"),
    ("rows recovered from the log", "raid5.ppl_recovered"),
    ("sectors lost", "raid5.lost"),
];

/// Sub-requests to a pool, for devices with several pools.
const SUB_REQUESTS: &[Row] = &[
    ("sent to pool 1", "sub_requests.to_first"),
    ("  their mean size", "sub_requests.to_first_mean_bytes"),
    ("sent to others", "sub_requests.to_others"),
    ("  mean size of these", "sub_requests.to_others_mean_bytes"),
    ("dispatch condition", "sub_requests.condition_bytes"),
    ("redirected to pool 1", "sub_requests.redirected"),
    ("stolen from pool 1", "sub_requests.stolen"),
    ("units moved to pool 1", "sub_requests.migrated_units"),
    ("  pages of these", "sub_requests.migrated_pages"),
];

/// The metrics of `runs` that no other table has, in order.
fn other_metrics(runs: &[Summary]) -> Vec<&Metric> {
    let tables = [FLASH, COSTS, FAULTS, SUB_REQUESTS, ARRAY_COUNTS];
    let mut others: Vec<&Metric> = Vec::new();
    for metric in runs.iter().flat_map(|run| run.metrics.iter()).map(|(metric, _)| metric) {
        let is_shown = tables.into_iter().flatten().any(|(_, name)| *name == metric.name);
        if !is_shown && others.iter().all(|other| other.name != metric.name) {
            others.push(metric);
        }
    }
    others
}

/// Whether a metric belongs to a section that not every SSD has.
fn is_own(metric: &Metric) -> bool {
    let of_ssds = || wordline_ssd::metrics::all().filter_map(Metric::section);
    metric.section().is_some_and(|own| own == GUESSES || of_ssds().all(|section| section != own))
}

/// Rows of a table: each label with the value of its metric.
fn metrics(run: &Summary, rows: &[Row]) -> Vec<(&'static str, Quantity)> {
    rows.iter().map(|(label, name)| (*label, measured(run, name))).collect()
}

/// The value of the metric `name`, in its unit.
fn measured(run: &Summary, name: &str) -> Quantity {
    or_unknown(run, name, value_of(&run.metrics, name))
}

/// `result`, or `Unknown` if the run cannot answer `name`.
fn or_unknown(run: &Summary, name: &str, result: Quantity) -> Quantity {
    if run.why_unknown(name).is_some() { Quantity::Unknown } else { result }
}

fn value_of(metrics: &Metrics, name: &str) -> Quantity {
    let found = metrics.iter().find(|(metric, _)| metric.name == name);
    found.map_or(Quantity::Absent, |(metric, value)| Quantity::of(metric.unit, value))
}

fn flash(run: &Summary) -> Vec<(&'static str, Quantity)> {
    let amplification = run.write_amplification.map_or(Quantity::Absent, Quantity::Number);
    let amplification = or_unknown(run, "write_amplification", amplification);
    let mut rows = metrics(run, FLASH);
    rows.push(("write amplification", amplification));
    rows.push((IN_THE_BUFFER, never_programmed_share(run)));
    rows.extend(metrics(run, COSTS));
    rows
}

/// The share of host writes that was not programmed, because the buffer coalesced them or still holds them at
/// the end. Given only if it makes write amplification fall below 1.
fn never_programmed_share(run: &Summary) -> Quantity {
    let amplification = run.write_amplification.filter(|amplification| *amplification < 1.0);
    let of_host = run.metrics.count("flash.host_bytes") as f64 / run.host.written_bytes.max(1) as f64;
    amplification.map_or(Quantity::Absent, |_| Quantity::Fraction((1.0 - of_host).max(0.0)))
}

fn time(
    run: &Summary,
    requests: u64,
    of: impl Fn(&crate::summary::TimeShare) -> f64,
) -> Vec<(String, Quantity)> {
    run.time.iter().map(|share| (stage(&share.name), Quantity::latency_of(requests, of(share)))).collect()
}

fn write_back(times: Option<&WriteBack>) -> Vec<(&'static str, Quantity)> {
    type Kind = fn(&WriteBack) -> &CommandTime;
    let (program, fill): (Kind, Kind) = (|times| &times.program, |times| &times.fill);
    let of = |kind: Kind, mean: fn(&CommandTime) -> f64| {
        let time = times.map(kind);
        time.map_or(Quantity::Absent, |time| Quantity::latency_of(time.commands, mean(time)))
    };
    let count = |kind: Kind| times.map_or(Quantity::Absent, |times| Quantity::Count(kind(times).commands));
    vec![
        ("programs", count(program)),
        ("  wait for GC", of(program, |time| time.gc_wait_us)),
        ("  wait for die", of(program, |time| time.die_wait_us)),
        ("  bus", of(program, |time| time.bus_us)),
        ("  flash array", of(program, |time| time.array_us)),
        ("RMW reads", count(fill)),
        ("  their wait for GC", of(fill, |time| time.gc_wait_us)),
        ("  their wait for die", of(fill, |time| time.die_wait_us)),
        ("  their time on the bus", of(fill, |time| time.bus_us)),
        ("  their time in the array", of(fill, |time| time.array_us)),
    ]
}

fn spread(parts: &[f64]) -> Vec<(&'static str, Quantity)> {
    let fraction = |value: f64| if parts.is_empty() { Quantity::Absent } else { Quantity::Fraction(value) };
    let sum: f64 = parts.iter().sum();
    vec![
        ("least", fraction(parts.iter().copied().fold(f64::INFINITY, f64::min))),
        ("mean", fraction(sum / parts.len() as f64)),
        ("most", fraction(parts.iter().copied().fold(0.0, f64::max))),
    ]
}

fn wear(run: &Summary) -> Vec<(&'static str, Quantity)> {
    // A device without flash has no blocks, so its results are absent.
    let of_flash = |result| if run.wear.erases.is_empty() { Quantity::Absent } else { result };
    let expected = run.wear.terabytes_expected.map_or(Quantity::Absent, Quantity::Terabytes);
    let number = |value: Option<f64>| value.map_or(Quantity::Absent, Quantity::Number);
    vec![
        ("least erases of a block", of_flash(Quantity::Count(u64::from(run.wear.min)))),
        ("mean erases of a block", of_flash(Quantity::Number(run.wear.mean))),
        ("most erases of a block", of_flash(Quantity::Count(u64::from(run.wear.max)))),
        ("variation of erases", run.wear.variation.map_or(Quantity::Absent, Quantity::Fraction)),
        ("bad blocks", of_flash(Quantity::Count(run.wear.bad_blocks))),
        ("spare space left", of_flash(Quantity::Fraction(run.wear.spare))),
        ("written by the host", Quantity::Terabytes(run.wear.terabytes_written)),
        ("drive writes", Quantity::Number(run.wear.drive_writes)),
        ("endurance used", of_flash(Quantity::Fraction(run.wear.endurance_used))),
        ("expected TBW", or_unknown(run, "wear.terabytes_expected", expected)),
        ("  years at this rate", or_unknown(run, "wear.years_expected", number(run.wear.years_expected))),
        ("drive writes a day (DWPD)", number(run.wear.drive_writes_per_day)),
    ]
}

/// Row with the NAND part of a pool, in tables with a column for each pool.
pub const PART: &str = "part";

fn pool(pool: Option<&PoolUse>) -> Vec<(&'static str, Quantity)> {
    let of = |result: fn(&PoolUse) -> Quantity| pool.map_or(Quantity::Absent, result);
    let mut rows = vec![
        (PART, of(|pool| Quantity::Text(pool.part.clone()))),
        ("dies", of(|pool| Quantity::Count(u64::from(pool.dies)))),
        ("capacity", of(|pool| Quantity::Bytes(pool.bytes as f64))),
        ("page programs", of(|pool| Quantity::Count(pool.programs))),
        ("programmed", of(|pool| Quantity::Bytes(pool.programmed_bytes as f64))),
        ("block erases", of(|pool| Quantity::Count(pool.erases))),
        ("erases of a block", of(|pool| Quantity::Number(pool.erases_per_block))),
        ("endurance used", of(|pool| Quantity::Fraction(pool.endurance_used))),
        ("valid share", of(|pool| Quantity::Fraction(pool.valid_share))),
        ("die arrays busy", of(|pool| Quantity::Fraction(pool.dies_busy))),
        ("least worn block", of(|pool| Quantity::Count(pool.least_worn.into()))),
        ("most worn block", of(|pool| Quantity::Count(pool.most_worn.into()))),
        ("bad blocks", of(|pool| Quantity::Count(pool.bad_blocks))),
    ];
    let metrics = POOL_FAULTS.iter().chain(POOL_COSTS).copied();
    rows.extend(
        metrics.map(|(label, name)| {
            (label, pool.map_or(Quantity::Absent, |pool| value_of(&pool.metrics, name)))
        }),
    );
    rows
}

/// The counts of an array, and its parity relative to its data.
fn array(run: &Summary) -> Vec<(&'static str, Quantity)> {
    let mut rows = metrics(run, ARRAY_COUNTS);
    let [data, parity] =
        ["raid5.data_writes", "raid5.parity_writes"].map(|name| measured(run, name).number());
    let share = data.zip(parity).filter(|(data, _)| *data > 0.0);
    let share = share.map_or(Quantity::Absent, |(data, parity)| Quantity::Fraction(parity / data));
    rows.insert(5, ("  as a part of data", share));
    rows
}

/// Row with the name of a job, in tables with a column for each job.
pub const JOB: &str = "name";

fn job(job: Option<&JobUse>) -> Vec<(&'static str, Quantity)> {
    let of = |result: &dyn Fn(&JobUse) -> Quantity| job.map_or(Quantity::Absent, result);
    let rate = |bytes: u64, seconds: f64| {
        if seconds > 0.0 { Quantity::Throughput(bytes as f64 / seconds) } else { Quantity::Absent }
    };
    let exact = |reads: bool, us: fn(&Latency) -> f64| {
        of(&|job| {
            let (requests, latency) = job.requests_of(reads);
            Quantity::latency_of(requests, us(latency))
        })
    };
    let p99 = |reads: bool| {
        of(&|job| {
            let (requests, latency) = job.requests_of(reads);
            Quantity::percentile_of(requests, latency.p99)
        })
    };
    vec![
        (JOB, of(&|job| Quantity::Text(job.name.clone()))),
        ("requests", of(&|job| Quantity::Count(job.requests))),
        ("failed", of(&|job| Quantity::Count(job.failed))),
        ("from", of(&|job| Quantity::Seconds(job.from_seconds))),
        ("time", of(&|job| Quantity::Seconds(job.seconds))),
        ("IOPS", of(&|job| Quantity::Number(job.iops))),
        ("read throughput", of(&|job| rate(job.read_bytes, job.seconds))),
        ("write throughput", of(&|job| rate(job.written_bytes, job.seconds))),
        ("mean read", exact(true, |latency| latency.mean)),
        ("p99 read", p99(true)),
        ("max read", exact(true, |latency| latency.max)),
        ("mean write", exact(false, |latency| latency.mean)),
        ("p99 write", p99(false)),
        ("max write", exact(false, |latency| latency.max)),
    ]
}

/// Row with the role of a device, in tables with a column for each device of an array.
pub const ROLE: &str = "role";

fn member(member: Option<&MemberUse>) -> Vec<(&'static str, Quantity)> {
    let of = |result: fn(&MemberUse) -> Quantity| member.map_or(Quantity::Absent, result);
    vec![
        (ROLE, of(|member| Quantity::Text(member.role.clone()))),
        (PART, of(|member| Quantity::Text(member.part.clone()))),
        ("reads", of(|member| Quantity::Count(member.reads))),
        ("writes", of(|member| Quantity::Count(member.writes))),
        ("read", of(|member| Quantity::Bytes(member.read_bytes as f64))),
        ("written", of(|member| Quantity::Bytes(member.written_bytes as f64))),
        ("  parity of that", of(|member| Quantity::Bytes(member.parity_bytes as f64))),
        ("page programs", of(|member| Quantity::Count(member.programs))),
        ("block erases", of(|member| Quantity::Count(member.erases))),
        ("erases of a block", of(|member| Quantity::Number(member.erases_per_block))),
        ("endurance used", of(|member| Quantity::Fraction(member.endurance_used))),
        ("least worn block", of(|member| Quantity::Count(member.least_worn.into()))),
        ("most worn block", of(|member| Quantity::Count(member.most_worn.into()))),
        ("bad blocks", of(|member| Quantity::Count(member.bad_blocks))),
        ("die arrays busy", of(|member| Quantity::Fraction(member.dies_busy))),
    ]
}

/// Greatest number of characters in a label.
const LABEL: usize = 40; // chosen: two of them fit on a line

/// A distinct label for each run. It is the device or the workload, whichever differs between the runs, or
/// else a number.
pub fn labels(runs: &[Summary]) -> Vec<String> {
    let one_device = runs.iter().all(|run| run.device == runs[0].device);
    let one_workload = runs.iter().all(|run| run.workload.name == runs[0].workload.name);
    let plain: Vec<String> = runs
        .iter()
        .map(|run| match (one_device, one_workload) {
            (false, true) => run.device.clone(),
            (true, false) => run.workload.name.clone(),
            _ => format!("{}, {}", run.device, run.workload.name),
        })
        .map(|label| shortened(&label, LABEL))
        .collect();
    let repeated = |label: &String| plain.iter().filter(|other| *other == label).count() > 1;
    let numbered = plain.iter().enumerate().map(|(index, label)| {
        if repeated(label) { format!("{}: {label}", index + 1) } else { label.clone() }
    });
    numbered.collect()
}

/// The text with at most this many characters. In a longer text the middle is replaced.
pub fn shortened(text: &str, most: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (front, back) = (kept.div_ceil(2), kept / 2);
    let head = &characters[..front];
    let tail = &characters[characters.len() - back..];
    head.iter().chain(['…'].iter()).chain(tail).collect()
}
