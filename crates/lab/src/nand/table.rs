//! The cost of every operation of a part: latency, throughput, energy, and time in each stage.

use std::collections::BTreeMap;

use serde::Serialize;
use wordline_kernel::Duration;
use wordline_nand::Part;
use wordline_nand::chips::Wiring;
use wordline_nand::pairing::Pairing;
use wordline_run::quantity::Quantity;

use super::bench::{Bench, CompletedOperation, STAGES, Setup, Trace};
use super::operations::{Item, Kind};
use super::timeline::{Split, bus_text, fit_columns, percent, stage_names, stages};
use crate::error::Result;

/// Operations on each die before the measured ones, until buses and registers are busy. Chosen.
const BEFORE: u32 = 24;
/// Operations on each die after the measured ones, so that the load does not fall while they run. Chosen.
const AFTER: u32 = 12;
/// Number of measured operations on each die, if the pages of a word line are programmed in sequence. Chosen:
/// whole word lines of 1, 2, 3, 4 and 5 bits per cell.
const MEASURED: u32 = 60;

/// Number of measured operations on each die. For other page orders it is the number of pages of a block, so
/// that every page type is measured.
fn measured_count(part: &Part) -> u32 {
    let geometry = &part.geometry;
    if geometry.pairing == Pairing::WordLine { MEASURED } else { geometry.pages_per_block }
}

/// The cost of an operation in the steady state, with a long sequence on every die.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// The kind of operation.
    pub operation: Kind,
    /// Number of planes that work together.
    pub planes: u32,
    /// Number of dies that work in parallel, on one channel.
    pub dies: u32,
    /// Mean time from acceptance by the die to the end of the data output or of the array operation,
    /// including waits for the bus.
    pub latency_us: f64,
    /// Data bytes read, programmed or copied per second, over all dies; none for an erase.
    pub bytes_per_second: Option<f64>,
    /// Pages of data per second, over all dies; for an erase, blocks per second.
    pub units_per_second: f64,
    /// Energy of the stages per page of data, or per erased block, without idle power.
    pub energy_per_page_joules: f64,
    /// Share of each stage in the total time of all stages.
    pub stage_shares: BTreeMap<&'static str, f64>,
}

/// The cost of every operation of a part.
#[derive(Clone, Debug, Serialize)]
pub struct OperationTable {
    /// Name of the part.
    pub part: String,
    /// Source of its numbers.
    pub source: String,
    /// Interface, timing mode and data rate.
    pub bus: String,
    /// The operations.
    pub rows: Vec<OperationRow>,
    /// Operations that were left out, with reasons.
    pub notes: Vec<String>,
}

impl OperationTable {
    /// Measures every operation of `part`: on one die and on `dies` dies of a channel, each with one plane
    /// and with all planes.
    pub fn of(part: &Part, dies: u32, wiring: Wiring) -> Result<Self> {
        let planes = part.geometry.planes;
        let several = |number: u32| if number == 1 { vec![1] } else { vec![1, number] };
        let benches = several(dies).into_iter().map(|dies| {
            let setup = Setup::dies(dies);
            Bench::new(part, Setup { wiring, ..setup })
        });
        let benches: Vec<Bench> = benches.collect::<Result<_>>()?;
        let mut notes = Vec::new();
        if planes == 1 {
            notes.push("the part has one plane: no multi-plane operations".to_owned());
        }
        let mut rows = Vec::new();
        for kind in Kind::ALL {
            if let Some(why) = kind.unsupported_reason(part) {
                if !notes.iter().any(|note| note == why) {
                    notes.push(why.to_owned());
                }
                continue;
            }
            for planes in several(planes) {
                rows.extend(benches.iter().map(|bench| row(bench, kind, planes)));
            }
        }
        let (name, source) = (part.name.clone(), part.source.clone());
        Ok(Self { part: name, source, bus: bus_text(part), rows, notes })
    }

    /// Formats the rows as a table for a terminal with this many `columns`.
    pub fn table(&self, columns: u16) -> String {
        let names = ["operation", "planes", "dies", "latency", "throughput", "energy/page"];
        let head: Vec<String> = names.into_iter().map(str::to_owned).chain(stage_names()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(cells).collect();
        let table = fit_columns(&head, &rows, Split { named: 3, first: 6 }, columns);
        let mut text = format!("{} ({})\n{}\n\n{table}\n", self.part, self.bus, self.source);
        for note in &self.notes {
            text += &format!("Note: {note}\n");
        }
        text
    }
}

fn cells(row: &OperationRow) -> Vec<String> {
    let throughput = match row.bytes_per_second {
        Some(bytes) => Quantity::Throughput(bytes),
        None => Quantity::PerSecond(row.units_per_second),
    };
    let mut cells = vec![
        row.operation.name().to_owned(),
        row.planes.to_string(),
        row.dies.to_string(),
        Quantity::Latency(row.latency_us).to_string(),
        throughput.to_string(),
        Quantity::Joules(row.energy_per_page_joules).to_string(),
    ];
    cells.extend(STAGES.map(|stage| percent(row.stage_shares[stage.name()])));
    cells
}

fn row(bench: &Bench, kind: Kind, planes: u32) -> OperationRow {
    let dies = bench.dies();
    let count = measured_count(bench.part());
    let times = BEFORE + count + AFTER;
    let trace = bench.run(&[Item { dies: (0..dies).collect(), kind, planes, times }]);
    let (looked_at, time) = steady(&trace, BEFORE * dies, count * dies);
    let sum: Duration = looked_at.iter().map(|one| one.end - one.begin).sum();
    let bytes: u64 = looked_at.iter().map(|one| one.bytes.0).sum();
    let units: u32 = looked_at.iter().map(|one| one.units).sum();
    let (stage_shares, joules) = stages(bench.part(), &looked_at);
    OperationRow {
        operation: kind,
        planes,
        dies,
        latency_us: sum.us() / looked_at.len() as f64,
        bytes_per_second: (kind != Kind::Erase).then_some(bytes as f64 / time.seconds()),
        units_per_second: f64::from(units) / time.seconds(),
        energy_per_page_joules: joules / f64::from(units),
        stage_shares,
    }
}

/// The `count` operations that ended after the first `before` operations, and the time from the first to the
/// last of these ends.
fn steady(trace: &Trace, before: u32, count: u32) -> (Vec<&CompletedOperation>, Duration) {
    let mut ended: Vec<&CompletedOperation> = trace.operations.iter().collect();
    ended.sort_by_key(|one| (one.end, one.die));
    let (before, count) = (before as usize, count as usize);
    let time = ended[before + count - 1].end - ended[before - 1].end;
    (ended[before..][..count].to_vec(), time)
}
