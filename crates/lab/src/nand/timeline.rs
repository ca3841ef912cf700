//! Time lines: their input, their tracks, and a summary of the operations.

use std::collections::BTreeMap;

use serde::Serialize;
use wordline_kernel::Duration;
use wordline_nand::geometry::Layout;
use wordline_nand::onfi::BusyPeriod;
use wordline_nand::{Part, Span};
use wordline_run::quantity::Quantity;
use wordline_run::trace_event::{decimal, is_on_bus};

use super::bench::{Bench, CompletedOperation, STAGES, Trace};
use crate::report::{align_right, underlined};

/// The input of a time line: spans from [`Chips`](wordline_nand::Chips), or from the pins.
#[derive(Clone, Copy, Debug)]
pub struct TimelineInput<'a> {
    /// The stages, in order of their beginnings.
    pub spans: &'a [Span],
    /// The times in which dies are busy; `None` to derive them from the spans.
    pub busy: Option<&'a [BusyPeriod]>,
    /// The package and channel of each die.
    pub layout: Layout,
    /// Names of the operations, by serial number. Operations beyond the list have no name.
    pub names: &'a [String],
}

/// The position of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DieLocation {
    pub channel: u32,
    /// Number of the package on its channel.
    pub package: u32,
    pub die: u32,
}

impl<'a> TimelineInput<'a> {
    /// The position of a die.
    pub(super) fn place(&self, die: u32) -> DieLocation {
        let Layout { packages_per_channel, dies_per_package, .. } = self.layout;
        let package = die / dies_per_package.max(1);
        let packages = packages_per_channel.max(1);
        DieLocation { channel: package / packages, package: package % packages, die }
    }

    /// The spans on each bus.
    pub(super) fn buses(&self) -> BTreeMap<u32, Vec<&'a Span>> {
        let mut buses = BTreeMap::<u32, Vec<&Span>>::new();
        for span in self.spans.iter().filter(|span| is_on_bus(span.stage)) {
            buses.entry(self.place(span.die.0).channel).or_default().push(span);
        }
        buses
    }

    /// The spans of each die.
    pub(super) fn dies(&self) -> BTreeMap<DieLocation, Vec<Span>> {
        let mut dies = BTreeMap::<DieLocation, Vec<Span>>::new();
        for span in self.spans {
            dies.entry(self.place(span.die.0)).or_default().push(*span);
        }
        dies
    }

    /// The name of an operation; empty if it has none.
    pub(super) fn name(&self, command: u32) -> &'a str {
        self.names.get(command as usize).map_or("", String::as_str)
    }

    /// An operation with its serial number: `read@2 7`, or `command 7` if it has no name.
    pub(super) fn label(&self, command: u32) -> String {
        match self.name(command) {
            "" => format!("command {command}"),
            name => format!("{name} {command}"),
        }
    }
}

/// Distributes the spans of a die's array over lanes, so that spans in a lane do not overlap. One lane
/// suffices unless planes read independently.
pub(super) fn lanes(spans: &[Span]) -> Vec<Vec<&Span>> {
    let mut lanes = Vec::<Vec<&Span>>::new();
    for span in spans.iter().filter(|span| !is_on_bus(span.stage)) {
        let free = lanes.iter_mut().find(|lane| lane.last().is_none_or(|last| last.end() <= span.begin));
        match free {
            Some(lane) => lane.push(span),
            None => lanes.push(vec![span]),
        }
    }
    lanes
}

/// The plane numbers of a span.
pub(super) fn planes(span: &Span) -> Vec<u32> {
    (0..u16::BITS).filter(|plane| span.planes >> plane & 1 == 1).collect()
}

/// A time in nanoseconds, with picoseconds as decimals: `1500`, or `0.833`.
pub(super) fn nanoseconds(ps: u64) -> String {
    decimal(ps, 1_000)
}

/// Times and energy of all operations with one name.
#[derive(Clone, Debug, Serialize)]
pub struct OperationSummary {
    /// Name of the operation, with `@` and the number of planes if there are several.
    pub operation: String,
    /// Number of operations.
    pub count: usize,
    /// Mean time from acceptance by the die to the end of the data output or of the array operation.
    pub mean_latency_us: f64,
    /// Shortest time of these.
    pub least_latency_us: f64,
    /// Longest time of these.
    pub most_latency_us: f64,
    /// Bytes of data moved.
    pub bytes: u64,
    /// Energy of the stages, without idle power.
    pub energy_joules: f64,
    /// Share of each stage in the total time of all stages.
    pub stage_shares: BTreeMap<&'static str, f64>,
}

/// Times and energy of a list of operations.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Name of the part.
    pub part: String,
    /// Interface, timing mode and data rate.
    pub bus: String,
    /// Total number of dies.
    pub dies: u32,
    /// Time from the first command to the end of the last operation.
    pub elapsed_us: f64,
    /// Bytes of data read, programmed or copied.
    pub bytes: u64,
    /// Bytes of data per second.
    pub throughput_bytes_per_second: f64,
    /// Share of time in which buses are occupied, over the channels that were used.
    pub bus_busy: f64,
    /// Number of recorded stages.
    pub spans: usize,
    /// The operations by name.
    pub operations: Vec<OperationSummary>,
}

/// The bus in words, such as `NV-DDR2 mode 8, 533 MT/s`.
pub(super) fn bus_text(part: &Part) -> String {
    let bus = &part.bus;
    let rate = wordline_run::quantity::three_digits(bus.data_out.megatransfers());
    format!("{} mode {}, {rate} MT/s", bus.interface, bus.mode)
}

fn seconds_of(length: Duration) -> f64 {
    length.seconds().max(f64::MIN_POSITIVE)
}

impl Summary {
    /// The summary of `trace` on `bench`.
    pub fn of(bench: &Bench, trace: &Trace) -> Self {
        let elapsed = trace.elapsed();
        let mut named = BTreeMap::<&str, Vec<&CompletedOperation>>::new();
        trace.operations.iter().for_each(|one| named.entry(&one.name).or_default().push(one));
        let bytes = trace.operations.iter().map(|one| one.bytes.0).sum();
        let channels = bench.channels_of(trace).max(1);
        let on_bus: Duration =
            trace.spans.iter().filter(|span| is_on_bus(span.stage)).map(|span| span.length).sum();
        Self {
            part: bench.part().name.clone(),
            bus: bus_text(bench.part()),
            dies: bench.dies(),
            elapsed_us: elapsed.us(),
            bytes,
            throughput_bytes_per_second: bytes as f64 / seconds_of(elapsed),
            bus_busy: on_bus.seconds() / seconds_of(elapsed) / f64::from(channels),
            spans: trace.spans.len(),
            operations: named.into_iter().map(|(name, all)| summary(bench.part(), name, &all)).collect(),
        }
    }

    /// Formats the rows as a table for a terminal with this many `columns`.
    pub fn table(&self, columns: u16) -> String {
        let names = ["operation", "count", "latency", "least", "most", "energy"];
        let head: Vec<String> = names.into_iter().map(str::to_owned).chain(stage_names()).collect();
        let cells_of = |one: &OperationSummary| {
            let latencies = [one.mean_latency_us, one.least_latency_us, one.most_latency_us];
            let mut cells = vec![one.operation.clone(), Quantity::Count(one.count as u64).to_string()];
            cells.extend(latencies.map(|us| Quantity::Latency(us).to_string()));
            cells.push(Quantity::Joules(one.energy_joules).to_string());
            cells.extend(STAGES.map(|stage| percent(one.stage_shares[stage.name()])));
            cells
        };
        let rows: Vec<Vec<String>> = self.operations.iter().map(cells_of).collect();
        format!(
            "{} ({}), {} dies: {} in {}, {}, buses busy {}\n\n{}\n",
            self.part,
            self.bus,
            self.dies,
            Quantity::Bytes(self.bytes as f64),
            Quantity::Latency(self.elapsed_us),
            Quantity::Throughput(self.throughput_bytes_per_second),
            Quantity::Fraction(self.bus_busy),
            fit_columns(&head, &rows, Split { named: 1, first: 6 }, columns),
        )
    }
}

/// The columns at which a table that is too wide is split.
#[derive(Clone, Copy)]
pub(super) struct Split {
    /// Number of leading columns that name a row. Both tables have them.
    pub(super) named: usize,
    /// Number of columns of the first table.
    pub(super) first: usize,
}

/// Formats a table for a terminal with this many `columns`. If the table is too wide, the last columns follow
/// in a second table.
pub(super) fn fit_columns(head: &[String], rows: &[Vec<String>], split: Split, columns: u16) -> String {
    let whole = columns_of(head, rows, |_| true);
    if whole.lines().all(|line| line.chars().count() <= usize::from(columns)) {
        return whole;
    }
    let first = columns_of(head, rows, |column| column < split.first);
    let rest = columns_of(head, rows, |column| column < split.named || column >= split.first);
    format!("{first}\n\n{rest}")
}

/// A table with only those columns for which `shown` is true.
fn columns_of(head: &[String], rows: &[Vec<String>], shown: impl Fn(usize) -> bool) -> String {
    let some = |cells: &[String]| {
        let kept = cells.iter().enumerate().filter(|(column, _)| shown(*column));
        kept.map(|(_, cell)| cell.clone()).collect::<Vec<_>>()
    };
    let mut table = underlined();
    table.set_header(some(head));
    table.add_rows(rows.iter().map(|row| some(row)));
    // Columns are set close together: the rule below the head parts them.
    table.column_iter_mut().for_each(|column| _ = column.set_padding((0, 0)));
    let columns = 1..table.column_count();
    align_right(&mut table, columns);
    table.trim_fmt()
}

/// Column titles of the shares of stages.
pub(super) fn stage_names() -> impl Iterator<Item = String> {
    STAGES.into_iter().map(|stage| format!("{} %", stage.name()))
}

/// A share in percent with one decimal; a dash for zero.
pub(super) fn percent(share: f64) -> String {
    if share == 0.0 { "–".into() } else { format!("{:.1}", share * 100.0) }
}

fn summary(part: &Part, name: &str, all: &[&CompletedOperation]) -> OperationSummary {
    let latencies: Vec<Duration> = all.iter().map(|one| one.end - one.begin).collect();
    let (stage_shares, energy_joules) = stages(part, all);
    OperationSummary {
        operation: name.to_owned(),
        count: all.len(),
        mean_latency_us: latencies.iter().copied().sum::<Duration>().us() / all.len() as f64,
        least_latency_us: latencies.iter().min().map_or(0.0, |length| length.us()),
        most_latency_us: latencies.iter().max().map_or(0.0, |length| length.us()),
        bytes: all.iter().map(|one| one.bytes.0).sum(),
        energy_joules,
        stage_shares,
    }
}

/// The share of each stage in the total time of all stages, and the total energy.
pub(super) fn stages(part: &Part, all: &[&CompletedOperation]) -> (BTreeMap<&'static str, f64>, f64) {
    let sum = all.iter().map(|one| one.stages).sum::<wordline_nand::energy::StageTimes>();
    let active = sum.active_ps().max(1) as f64;
    let shares = STAGES.into_iter().map(|stage| (stage.name(), sum.ps(stage) as f64 / active)).collect();
    (shares, sum.price(&part.power).total().joules())
}
