//! The run over simulated time.

use serde_json::{Value, json};
use wordline_ssd::lifetime::write_amplification;

use super::chart::{Chart, Runs, chart, latency_channel, latency_text, shown};
use crate::report::quantity::Quantity;
use crate::summary::{Summary, Window};

/// One value of a window, by kind; `None` where the window has none.
type Values = Vec<(&'static str, Option<f64>)>;

/// Bytes read and written a second.
pub fn throughput(runs: &Runs<'_>) -> Option<Chart> {
    let rows = rows(runs, |run, window, seconds| {
        let rate = |total: u64, bytes: u64| (total > 0).then(|| bytes as f64 / 1e6 / seconds);
        vec![
            ("reads", rate(run.host.read_bytes, window.read_bytes)),
            ("writes", rate(run.host.written_bytes, window.written_bytes)),
        ]
    });
    line(
        runs,
        "throughput",
        "Throughput over time",
        "Bytes read and written for the host in each window of simulated time.",
        rows,
        &Axis { title: "Throughput (MB/s)", kinds: &["reads", "writes"], latency: false },
    )
}

/// Requests a second.
pub fn requests(runs: &Runs<'_>) -> Option<Chart> {
    let rows = rows(runs, |_, window, seconds| vec![("requests", Some(window.requests as f64 / seconds))]);
    line(
        runs,
        "requests",
        "Requests answered over time",
        "Requests of all kinds answered in each window of simulated time.",
        rows,
        &Axis { title: "Requests a second (IOPS)", kinds: &["requests"], latency: false },
    )
}

/// Mean latency.
pub fn latency(runs: &Runs<'_>) -> Option<Chart> {
    let rows = rows(runs, |_, window, _| {
        vec![
            ("reads", (window.read_latency_us > 0.0).then_some(window.read_latency_us)),
            ("writes", (window.write_latency_us > 0.0).then_some(window.write_latency_us)),
        ]
    });
    line(
        runs,
        "latency-mean",
        "Mean latency over time",
        "Mean latency of the requests answered in each window; a gap is a window without any.",
        rows,
        &Axis { title: "Mean latency", kinds: &["reads", "writes"], latency: true },
    )
}

/// Greatest latency.
pub fn worst(runs: &Runs<'_>) -> Option<Chart> {
    let rows = rows(runs, |_, window, _| {
        vec![("any request", (window.max_latency_us > 0.0).then_some(window.max_latency_us))]
    });
    line(
        runs,
        "latency-max",
        "Greatest latency over time",
        "The slowest request of any kind answered in each window.",
        rows,
        &Axis { title: "Greatest latency", kinds: &["any request"], latency: true },
    )
}

/// Write amplification by window, and of the whole run.
pub fn amplification(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 2] = ["in each window", "whole run"];
    let rows = rows(runs, |run, window, _| {
        let here = write_amplification(window.programmed_bytes, window.written_bytes);
        vec![(KINDS[0], here), (KINDS[1], run.write_amplification)]
    });
    line(
        runs,
        "write-amplification",
        "Write amplification over time",
        "Bytes programmed for each byte that the host wrote. What is written waits in the buffer, so that a window may have \
         programs of writes before it. A gap is a window without writes.",
        rows,
        &Axis { title: "Write amplification", kinds: &KINDS, latency: false },
    )
}

pub(super) struct Axis<'a> {
    pub title: &'a str,
    pub kinds: &'a [&'a str],
    pub latency: bool,
}

pub(super) fn line(
    runs: &Runs<'_>,
    name: &str,
    title: &str,
    caption: &str,
    rows: Vec<Value>,
    axis: &Axis<'_>,
) -> Option<Chart> {
    let clock = Clock::of(runs);
    let y = if axis.latency {
        latency_channel(&rows, "value", axis.title)
    } else {
        json!({ "field": "value", "type": "quantitative", "title": axis.title, "scale": { "zero": true } })
    };
    let value = if axis.latency {
        json!({ "field": "text", "type": "nominal", "title": axis.title })
    } else {
        json!({ "field": "value", "type": "quantitative", "title": axis.title, "format": ",.4~g" })
    };
    let mut encoding = json!({
        "x": { "field": "time", "type": "quantitative", "title": clock.title(),
            "scale": { "domain": [0, shown(clock.end(runs))], "nice": false },
            "axis": { "tickCount": 8, "labelOverlap": true } },
        "y": y,
        "tooltip": [{ "field": "run" }, { "field": "kind", "title": "of" },
            { "field": "time", "type": "quantitative", "title": clock.unit(), "format": ",.4~g" }, value],
    });
    runs.add_series(&mut encoding, axis.kinds, &rows);
    let few = runs.all.iter().all(|run| run.windows.windows.len() <= 48);
    let mut mark = json!({ "type": "line", "strokeWidth": 1.5 });
    if few {
        mark["point"] = json!({ "size": 30 });
    }
    let mut parts = json!({ "mark": mark, "encoding": encoding });
    if axis.latency {
        parts["transform"] = json!([{ "calculate": latency_text("value"), "as": "text" }]);
    }
    if axis.kinds.len() == 1 && !runs.are_several() {
        parts["encoding"]["color"]["legend"] = Value::Null;
    }
    chart(name, title, &(caption.to_owned() + &clock.caption(runs)), rows, parts)
}

/// A row for each value of each window. Kinds that never have a value have no rows.
fn rows(runs: &Runs<'_>, values: impl Fn(&Summary, &Window, f64) -> Values) -> Vec<Value> {
    let clock = Clock::of(runs);
    let mut all = Vec::new();
    for (run, label) in runs.iter() {
        let windows: Vec<(f64, Values)> = spans(run)
            .map(|(window, start, seconds)| {
                (clock.place(run, start + seconds / 2.0), values(run, window, seconds))
            })
            .collect();
        let kinds = windows.first().map_or(0, |(_, values)| values.len());
        for kind in (0..kinds).filter(|kind| windows.iter().any(|(_, values)| values[*kind].1.is_some())) {
            all.extend(windows.iter().map(|(time, values)| {
                let (kind, value) = values[kind];
                json!({ "run": label, "kind": kind, "time": shown(*time),
                    "value": value.map_or(Value::Null, shown) })
            }));
        }
    }
    all
}

/// The least part of a window that is drawn at the end of a run: chosen, so that a rate over a sliver of time does
/// not look like a peak.
const LEAST_PART: f64 = 0.1;

/// Each window with its start and width in seconds. The last ends with the run, and is left out if it is a sliver.
fn spans(run: &Summary) -> impl Iterator<Item = (&Window, f64, f64)> {
    let width = run.windows.width_seconds;
    let last = run.windows.windows.len().saturating_sub(1);
    let rest = run.simulated_seconds - last as f64 * width;
    let ends_early = rest > 0.0 && rest < width;
    let spans = run.windows.windows.iter().enumerate().map(move |(index, window)| {
        let seconds = if index == last && ends_early { rest } else { width };
        (window, index as f64 * width, seconds)
    });
    spans.filter(move |(_, start, seconds)| {
        *seconds > 0.0 && (*start == 0.0 || *seconds >= LEAST_PART * width)
    })
}

/// Seconds that the windows cover: to the end of the run, which is within the last one.
pub(super) fn length(run: &Summary) -> f64 {
    spans(run).map(|(_, start, seconds)| start + seconds).fold(0.0, f64::max)
}

/// Runs of which the longest takes more than this many times the shortest are drawn over their own lengths. Chosen: the shorter one still
/// has half of the axis.
const SHARED: f64 = 2.0;

/// How time is drawn.
pub(super) enum Clock {
    /// In a unit of so many seconds, with its name.
    Unit(f64, &'static str),
    /// As a part of each run: their lengths differ too much for one axis.
    Part,
}

impl Clock {
    pub(super) fn of(runs: &Runs<'_>) -> Self {
        let lengths = || runs.all.iter().map(length).filter(|length| *length > 0.0);
        let (least, most) = lengths().fold((f64::INFINITY, 0.0_f64), |(a, b), one| (a.min(one), b.max(one)));
        if most > SHARED * least {
            return Self::Part;
        }
        let (seconds, name) = time_unit(most);
        Self::Unit(seconds, name)
    }

    /// The place of a time of a run on the axis.
    pub(super) fn place(&self, run: &Summary, seconds: f64) -> f64 {
        match self {
            Self::Unit(unit, _) => seconds / unit,
            Self::Part => 100.0 * seconds / length(run),
        }
    }

    fn end(&self, runs: &Runs<'_>) -> f64 {
        match self {
            Self::Unit(unit, _) => runs.all.iter().map(length).fold(0.0, f64::max) / unit,
            Self::Part => 100.0,
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::Unit(_, name) => name,
            Self::Part => "% of the run",
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Unit(_, name) => format!("Simulated time ({name})"),
            Self::Part => "Part of the run (%)".to_owned(),
        }
    }

    /// The lengths of the runs, where the axis does not tell them.
    fn caption(&self, runs: &Runs<'_>) -> String {
        let Self::Part = self else { return String::new() };
        let lengths = runs.iter().filter(|(run, _)| length(run) > 0.0);
        let lengths: Vec<String> =
            lengths.map(|(run, label)| format!("{label} {}", Quantity::Seconds(length(run)))).collect();
        format!(" Each run is drawn over its own length: {}.", lengths.join(", "))
    }
}

/// The unit that suits so many seconds, in seconds, and its name.
pub(super) fn time_unit(longest: f64) -> (f64, &'static str) {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "s"), (1e-3, "ms")];
    // Two of a unit at least, so that an axis has more than one whole number on it.
    units.into_iter().find(|(size, _)| longest >= 2.0 * size).unwrap_or((1e-6, "µs"))
}
