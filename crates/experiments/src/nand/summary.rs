//! Results of a run of a logical unit. The field names are the column names of experiments.

use serde::Serialize;
use wordline_kernel::{Duration, Energy};
use wordline_nand::unit::UnitReport;
use wordline_nand::{Span, Stage};

/// One number for each stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ByStage<T> {
    /// Command latch cycles.
    pub cle: T,
    /// Address latch cycles.
    pub ale: T,
    /// Data in.
    pub tir: T,
    /// Data out.
    pub tor: T,
    /// Programming.
    pub tin: T,
    /// Sensing.
    pub ton: T,
    /// Erasing.
    pub ber: T,
    /// No stage.
    pub idle: T,
}

impl<T> ByStage<T> {
    fn of(value: impl Fn(Stage) -> T) -> Self {
        Self {
            cle: value(Stage::Cle),
            ale: value(Stage::Ale),
            tir: value(Stage::Tir),
            tor: value(Stage::Tor),
            tin: value(Stage::Tin),
            ton: value(Stage::Ton),
            ber: value(Stage::Ber),
            idle: value(Stage::Idle),
        }
    }
}

/// Durations of the spans of a stage, in nanoseconds, which are the cycles of NANDFlashSim.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cycles {
    /// Number of spans.
    pub count: u64,
    /// Shortest.
    pub least: f64,
    /// Longest.
    pub most: f64,
    /// Sum.
    pub total: f64,
}

/// Results of a run of a logical unit. All fields except the last two are functions of the point and the
/// seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NandSummary {
    /// Completed accesses.
    pub accesses: u64,
    /// Simulated time, in microseconds.
    pub elapsed_us: f64,
    /// Data that the host read and wrote, in 10^6 bytes per second, counted in whole pages.
    pub megabytes_per_second: f64,
    /// Accesses per second of simulated time.
    pub accesses_per_second: f64,
    /// Number of dies with a busy array, averaged over simulated time.
    pub dies_busy: f64,
    /// Mean latency from entering the queue to completion, in microseconds.
    pub mean_latency_us: f64,
    /// Share of CLE, ALE, TIR and TOR in the total time of all stages except idle, in percent.
    pub bus_percent: f64,
    /// Share of the data transfers TIR and TOR in the total time of all stages except idle, in percent.
    pub data_percent: f64,
    /// Share of the array stages TIN, TON and BER in the total time of all stages except idle, in percent.
    pub array_percent: f64,
    /// Share of each stage in the total time of all stages except idle, in percent; 0 for idle.
    pub share_percent: ByStage<f64>,
    /// Share of waits for the bus in the total time of the commands, in percent. The total time is waits plus
    /// work.
    pub contention_percent: f64,
    /// Mean pages per read command; 0 without reads.
    pub pages_per_read: f64,
    /// Mean pages per program command; 0 without programs.
    pub pages_per_program: f64,
    /// Energy of all stages, in microjoules.
    pub energy_uj: f64,
    /// Energy of each stage, in microjoules.
    pub energy_by_stage_uj: ByStage<f64>,
    /// Share of each stage in the energy, in percent.
    pub energy_percent: ByStage<f64>,
    /// Power of the data transfers on the interface, in milliwatts.
    pub interface_mw: f64,
    /// Number of violated limits of the part. Without an FTL, the addresses of the unit determine the pages.
    pub broken_limits: u64,
    /// Stages of the first command in order; empty unless stages are recorded.
    pub chain: String,
    /// Spans of each stage; zeros unless stages are recorded.
    pub cycles: ByStage<Cycles>,
    /// Spans in order of their beginnings.
    #[serde(skip)]
    pub spans: Vec<Span>,
    /// Wall-clock time of the run, in seconds.
    pub wall_seconds: f64,
    /// Simulated accesses per second of wall-clock time.
    pub requests_per_second: f64,
}

fn percent(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 0.0 }
}

fn each(pages: u64, commands: u64) -> f64 {
    if commands > 0 { pages as f64 / commands as f64 } else { 0.0 }
}

fn microjoules(energy: Energy) -> f64 {
    energy.joules() * 1e6
}

impl NandSummary {
    /// Builds the summary from `report`, and from `spans` if stages are recorded.
    pub(crate) fn of(report: &UnitReport, spans: Vec<Span>) -> Self {
        let stages = &report.stages;
        let active = stages.active_ps() as f64;
        let share = |some: &[Stage]| percent(some.iter().map(|s| stages.ps(*s) as f64).sum(), active);
        let per = |value: f64| if report.elapsed > Duration::ZERO { value } else { 0.0 };
        let total = microjoules(report.energy.total());
        let energy = |stage: Stage| microjoules(report.energy.of(stage));
        let counts = report.counts;
        Self {
            accesses: report.accesses,
            elapsed_us: report.elapsed.us(),
            megabytes_per_second: per(report.megabytes_per_second()),
            accesses_per_second: per(report.accesses_per_second()),
            dies_busy: per(report.array_busy.iter().map(|busy| busy.us()).sum::<f64>() / report.elapsed.us()),
            mean_latency_us: report.latency.mean().us(),
            bus_percent: share(&[Stage::Cle, Stage::Ale, Stage::Tir, Stage::Tor]),
            data_percent: share(&[Stage::Tir, Stage::Tor]),
            array_percent: share(&[Stage::Tin, Stage::Ton, Stage::Ber]),
            share_percent: ByStage::of(|s| if s == Stage::Idle { 0.0 } else { share(&[s]) }),
            contention_percent: if active > 0.0 { 100.0 * report.bus_contention() } else { 0.0 },
            pages_per_read: each(counts.pages_read, counts.read_commands),
            pages_per_program: each(counts.pages_programmed, counts.program_commands),
            energy_uj: total,
            energy_by_stage_uj: ByStage::of(energy),
            energy_percent: ByStage::of(|stage| percent(energy(stage), total)),
            broken_limits: report.violations.total(),
            chain: chain(&spans),
            cycles: ByStage::of(|stage| cycles(&spans, stage)),
            spans,
            ..Self::default()
        }
    }
}

/// Stages of the first command, in order.
fn chain(spans: &[Span]) -> String {
    let first = spans.iter().map(|span| span.command).min();
    let names: Vec<&str> =
        spans.iter().filter(|span| Some(span.command) == first).map(|span| span.stage.name()).collect();
    names.join(" ")
}

fn cycles(spans: &[Span], stage: Stage) -> Cycles {
    let lengths =
        || spans.iter().filter(|span| span.stage == stage).map(|span| span.length.ps() as f64 / 1e3);
    Cycles {
        count: lengths().count() as u64,
        least: lengths().reduce(f64::min).unwrap_or_default(),
        most: lengths().reduce(f64::max).unwrap_or_default(),
        total: lengths().fold(0.0, |sum, length| sum + length),
    }
}
