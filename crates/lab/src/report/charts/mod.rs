//! The charts of a report as Vega-Lite specifications, for the page and for other programs that draw
//! Vega-Lite. Charts contain their data but no colours, so that a page or a paper can apply a theme.

mod chart;
mod course;
mod designs;
mod die_grid;
mod latency;
mod members;
mod over_time;
mod parts;
mod stages;
mod sums;
mod tail;
mod wear;

use crate::summary::Summary;
use chart::Runs;

pub use chart::{Chart, LATENCY_LABELS, SCHEMA, latency_channel};
pub use stages::stage_scale;

/// All charts that have data for these runs, in the order of a report.
pub fn charts(runs: &[Summary]) -> Vec<Chart> {
    let runs = Runs::new(runs);
    let mut all = vec![
        latency::distribution(&runs),
        latency::tail(&runs),
        over_time::throughput(&runs),
        over_time::requests(&runs),
        over_time::latency(&runs),
        over_time::worst(&runs),
        over_time::amplification(&runs),
        course::free(&runs),
        course::victims(&runs),
        parts::time(&runs),
        tail::by_percentile(&runs),
        parts::channels(&runs),
        parts::dies(&runs),
        wear::distribution(&runs),
        members::written(&runs),
        members::worn(&runs),
    ];
    all.extend((0..runs.all.len()).map(|index| course::dies(&runs, index)));
    all.extend((0..runs.all.len()).flat_map(|index| wear::maps(&runs, index)).map(Some));
    all.extend(designs::all(&runs).into_iter().map(Some));
    all.into_iter().flatten().collect()
}
