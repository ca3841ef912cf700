//! Charts of block wear.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, shown};
use super::die_grid::{GridColumns, GridShade, die_grid};
use super::parts::part_of;
use super::sums::{Counter, DIGITS, Sum, Weights};
use crate::summary::{PoolUse, Summary};

/// Chart of the distribution of erases over blocks.
pub fn distribution(runs: &Runs<'_>) -> Option<Chart> {
    let most = runs.all.iter().map(greatest).fold(0.0, f64::max);
    let width = bar_width(most);
    let mut rows = Vec::new();
    for (run, label) in runs.iter().filter(|(run, _)| !run.wear.erases.is_empty()) {
        let mut counts = vec![0_u64; (most / width) as usize + 1];
        run.wear.erases.iter().for_each(|erases| counts[(erases / width) as usize] += 1);
        let blocks = run.wear.erases.len() as f64;
        rows.extend(counts.iter().enumerate().map(|(bar, count)| {
            let start = bar as f64 * width;
            json!({ "run": label, "from": start, "to": start + width, "share": shown(*count as f64 / blocks) })
        }));
        if runs.are_several() {
            // A step has a width only if another follows.
            let end = counts.len() as f64 * width;
            rows.push(json!({ "run": label, "from": end, "to": end, "share": 0.0 }));
        }
    }
    let mut encoding = json!({
        "x": { "field": "from", "type": "quantitative", "bin": { "binned": true, "step": width },
            "title": "Erases of a block", "axis": { "tickMinStep": 1, "format": ",d" } },
        "y": { "field": "share", "type": "quantitative", "title": "Blocks", "axis": { "format": ".3~p" },
            "stack": null },
        "tooltip": [{ "field": "run" }, { "field": "from", "title": "erases, from" },
            { "field": "to", "title": "to below" },
            { "field": "share", "type": "quantitative", "title": "blocks", "format": ".3~p" }],
    });
    let mut mark = json!("bar");
    if runs.are_several() {
        // Lines, because bars of several runs would hide each other.
        encoding["color"] = runs.colour();
        encoding["x"]["bin"] = Value::Null;
        mark = json!({ "type": "line", "interpolate": "step-after" });
    } else {
        encoding["x2"] = json!({ "field": "to" });
    }
    chart(
        "wear-distribution",
        "Wear: how many blocks were erased how often",
        "Share of the blocks by their erases. A narrow hill is even wear.",
        rows,
        json!({ "mark": mark, "encoding": encoding }),
    )
    .map(|chart| chart.with_sums(shares(runs)))
}

/// The shares of all blocks add up to one.
fn shares(runs: &Runs<'_>) -> Vec<Sum> {
    let has_blocks = runs.iter().enumerate().filter(|(_, (run, _))| !run.wear.erases.is_empty());
    let of_run =
        |(n, (_, label))| Sum { counted: Counter::Exactly(1.0), ..Sum::of(n, "share", &[("run", label)]) };
    has_blocks.map(of_run).collect()
}

/// Greatest number of columns of a map. Chosen: the resolution of a screen.
const MOST_COLUMNS: usize = 192;
const MOST_ROWS: usize = 64;

/// Maps of the erases of each block. Each pool has a map, because pools differ in their blocks per die.
pub fn maps(runs: &Runs<'_>, index: usize) -> Vec<Chart> {
    let run = &runs.all[index];
    let mut values = &run.wear.erases[..];
    let mut of_pool = |(n, pool): (usize, &PoolUse)| {
        let (own, others) = values.split_at(values.len().min(pool.wear_values as usize));
        values = others;
        map(runs, index, Some(part_of(run, n)), own, pool.dies as usize)
    };
    let maps: Vec<Chart> = run.pools.iter().enumerate().filter_map(&mut of_pool).collect();
    if maps.is_empty() {
        return map(runs, index, None, values, run.die_utilisation.len()).into_iter().collect();
    }
    maps
}

fn map(runs: &Runs<'_>, index: usize, part: Option<String>, erases: &[f64], dies: usize) -> Option<Chart> {
    let label = &runs.labels[index];
    let grid = Grid::of(erases.len(), dies);
    let cells: Vec<Value> = grid.cells(erases).into_iter().map(shown).collect();
    let sum = Sum {
        run: index,
        rows: Vec::new(),
        field: None,
        weights: Weights::Rows(grid.blocks().into_iter().map(f64::from).collect()),
        // With several pools, the map of one pool covers a part of the list.
        counted: match &part {
            None => Counter::Product(vec!["/wear/erases".into()]),
            Some(_) => Counter::Exactly(erases.iter().sum()),
        },
        within: DIGITS,
    };
    let of_run = if runs.are_several() { format!("-{}", index + 1) } else { String::new() };
    let of_part = part.as_ref().map_or_else(String::new, |part| format!("-{}", part.replace(' ', "-")));
    let name = format!("wear-map{of_run}{of_part}");
    let of = part.map_or_else(String::new, |part| format!(" of {part}"))
        + &if runs.are_several() { format!(" of {label}") } else { String::new() };
    let title = format!("Wear map{of}: erases of each block");
    let most = runs.all.iter().map(greatest).fold(0.0, f64::max);
    let caption = format!(
        "A row is {}, and a cell {}, in the order of dies and blocks.",
        counted(grid.dies_a_row, "die", "dies"),
        counted(grid.blocks_a_cell, "block", "blocks (their mean)"),
    );
    let across = GridColumns {
        field: "block",
        step: grid.blocks_a_cell as f64,
        title: "Block of the die",
        tooltip: json!({ "field": "block", "title": "block, from" }),
    };
    let shade = GridShade {
        title: "Erases",
        most: json!(most.max(1.0)),
        tooltip: json!({ "field": "data", "type": "quantitative", "title": "erases", "format": ",.4~g" }),
    };
    chart(
        &name,
        &title,
        &caption,
        cells,
        die_grid(grid.columns, grid.rows, grid.dies_a_row as u64, across, shade),
    )
    .map(|chart| chart.with_sums(vec![sum]))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("a {one}") } else { format!("{count} {many}") }
}

/// The layout of a device's blocks on the map.
struct Grid {
    columns: usize,
    rows: usize,
    /// Number of neighbouring blocks in a cell, which shows their mean.
    blocks_a_cell: usize,
    /// Number of neighbouring dies in a row.
    dies_a_row: usize,
    blocks_a_die: usize,
    /// Number of blocks of all dies.
    all: usize,
}

impl Grid {
    fn of(blocks: usize, dies: usize) -> Self {
        let dies = if dies > 0 && blocks.is_multiple_of(dies) { dies } else { 1 };
        let blocks_a_die = blocks / dies;
        let blocks_a_cell = blocks_a_die.div_ceil(MOST_COLUMNS).max(1);
        let dies_a_row = dies.div_ceil(MOST_ROWS);
        let (columns, rows) = (blocks_a_die.div_ceil(blocks_a_cell).max(1), dies.div_ceil(dies_a_row));
        Self { columns, rows, blocks_a_cell, dies_a_row, blocks_a_die, all: blocks }
    }

    /// Number of blocks in each cell, row by row.
    fn blocks(&self) -> Vec<u32> {
        let mut counts = vec![0; self.columns * self.rows];
        for block in 0..self.all {
            counts[self.cell(block)] += 1;
        }
        counts.retain(|blocks| *blocks > 0);
        counts
    }

    /// Index of the cell of a block.
    fn cell(&self, block: usize) -> usize {
        let (die, block) = (block / self.blocks_a_die, block % self.blocks_a_die);
        die / self.dies_a_row * self.columns + block / self.blocks_a_cell
    }

    /// Mean erases of each cell, row by row.
    fn cells(&self, erases: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u32); self.columns * self.rows];
        for (block, erases) in erases.iter().enumerate() {
            let cell = &mut sums[self.cell(block)];
            *cell = (cell.0 + erases, cell.1 + 1);
        }
        sums.retain(|(_, blocks)| *blocks > 0);
        sums.into_iter().map(|(sum, blocks)| sum / f64::from(blocks)).collect()
    }
}

fn greatest(run: &Summary) -> f64 {
    run.wear.erases.iter().copied().fold(0.0, f64::max)
}

/// The width of a bar, about 1, 2 or 5 times a power of ten, for at most forty bars.
fn bar_width(most: f64) -> f64 {
    let mut width = 1.0;
    for step in [2.0, 2.5, 2.0].into_iter().cycle() {
        if most / width < 40.0 {
            break;
        }
        width *= step;
    }
    width
}
