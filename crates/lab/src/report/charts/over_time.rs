//! Charts of the run over simulated time.

use serde_json::{Value, json};
use wordline_device::lifetime::write_amplification;
use wordline_run::quantity::Quantity;

use super::chart::{Chart, Runs, chart, latency_channel, latency_text, shown};
use super::sums::{Counter, Sum, Weights};
use crate::summary::{Summary, Window};

/// The values of a window: the kind, the value to draw (`None` if the window has none), and the weight of the
/// value in the sum.
type Values = Vec<(&'static str, Option<f64>, f64)>;

/// For each kind, the counters of the run whose product equals the sum of its values.
type Counters = &'static [(&'static str, &'static [&'static str])];

/// Chart of bytes read and written per second.
pub fn throughput(runs: &Runs<'_>) -> Option<Chart> {
    const COUNTERS: Counters = &[("reads", &["/host/read_bytes"]), ("writes", &["/host/written_bytes"])];
    let rate = |total: u64, bytes: u64, seconds: f64| (total > 0).then(|| bytes as f64 / 1e6 / seconds);
    let lines = lines(runs, COUNTERS, spans, |run, Span { window, seconds, .. }| {
        let [reads, writes] =
            [(run.host.read_bytes, window.read_bytes), (run.host.written_bytes, window.written_bytes)];
        vec![
            ("reads", rate(reads.0, reads.1, *seconds), 1e6 * seconds),
            ("writes", rate(writes.0, writes.1, *seconds), 1e6 * seconds),
        ]
    });
    line(
        runs,
        "throughput",
        "Throughput over time",
        "Bytes read and written for the host in each window of simulated time.",
        lines,
        &Axis { title: "Throughput (MB/s)", kinds: &["reads", "writes"], scale: Scale::Linear },
    )
}

/// Chart of requests per second.
pub fn requests(runs: &Runs<'_>) -> Option<Chart> {
    let lines =
        lines(runs, &[("requests", &["/host/requests"])], spans, |_, Span { window, seconds, .. }| {
            vec![("requests", Some(window.requests as f64 / seconds), *seconds)]
        });
    line(
        runs,
        "requests",
        "Requests completed over time",
        "Requests of all kinds completed in each window of simulated time.",
        lines,
        &Axis { title: "Requests a second (IOPS)", kinds: &["requests"], scale: Scale::Linear },
    )
}

/// Chart of mean latency.
pub fn latency(runs: &Runs<'_>) -> Option<Chart> {
    const COUNTERS: Counters = &[
        ("reads", &["/host/read_latency_us/mean", "/host/reads"]),
        ("writes", &["/host/write_latency_us/mean", "/host/writes"]),
    ];
    let lines = lines(runs, COUNTERS, spans, |_, Span { window, .. }| {
        let mean = |requests: u64, us: f64| (requests > 0).then_some(us);
        vec![
            ("reads", mean(window.reads, window.read_latency_us), window.reads as f64),
            ("writes", mean(window.writes, window.write_latency_us), window.writes as f64),
        ]
    });
    line(
        runs,
        "latency-mean",
        "Mean latency over time",
        "Mean latency of the requests completed in each window; a gap is a window without any.",
        lines,
        &Axis { title: "Mean latency", kinds: &["reads", "writes"], scale: Scale::Latency },
    )
}

/// Chart of the greatest latency.
pub fn worst(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 1] = ["any request"];
    let mut lines = lines(runs, &[], spans, |_, Span { window, .. }| {
        vec![(KINDS[0], (window.max_latency_us > 0.0).then_some(window.max_latency_us), 0.0)]
    });
    let greatest = [
        "read",
        "write",
        "flush",
        "discard",
        "write_zeroes",
        "compare",
        "zones/append",
        "zones/reset",
        "zones/finish",
        "zones/open",
        "zones/close",
    ];
    let greatest = greatest.map(|operation| format!("/host/{operation}_latency_us/max"));
    lines.sums = runs
        .iter()
        .enumerate()
        .map(|(n, (_, label))| Sum {
            counted: Counter::Greatest(greatest.to_vec()),
            ..Sum::of(n, "value", &[("run", label)]).with_weights(Weights::Greatest)
        })
        .collect();
    line(
        runs,
        "latency-max",
        "Greatest latency over time",
        "The slowest request of any kind completed in each window.",
        lines,
        &Axis { title: "Greatest latency", kinds: &KINDS, scale: Scale::Latency },
    )
}

/// Chart of write amplification, by window and for the whole run.
pub fn amplification(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 2] = ["in each window", "whole run"];
    const COUNTERS: Counters = &[
        (KINDS[0], &["/flash/programmed_bytes"]),
        (KINDS[1], &["/write_amplification", "/host/written_bytes"]),
    ];
    let lines = lines(runs, COUNTERS, written, |run, Span { window, .. }| {
        let here = write_amplification(window.programmed_bytes, window.written_bytes);
        let written = window.written_bytes as f64;
        vec![(KINDS[0], here, written), (KINDS[1], run.write_amplification, written)]
    });
    line(
        runs,
        "write-amplification",
        "Write amplification over time",
        "Bytes programmed for each byte that the host wrote. Written data wait in the buffer, so that a window may have \
         programs of writes before it. A gap is a window without writes: what was programmed there counts in the next one with writes.",
        lines,
        &Axis { title: "Write amplification", kinds: &KINDS, scale: Scale::Ratio },
    )
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic, in microseconds.
    Latency,
    /// From zero, and logarithmic above one if a few values are far above the others. The title of the axis
    /// then says so.
    Ratio,
}

/// The rows of a chart over time, and their sums.
pub(super) struct LineData {
    pub rows: Vec<Value>,
    pub sums: Vec<Sum>,
}

pub(super) struct Axis<'a> {
    pub title: &'a str,
    pub kinds: &'a [&'a str],
    pub scale: Scale,
}

pub(super) fn line(
    runs: &Runs<'_>,
    name: &str,
    title: &str,
    caption: &str,
    lines: LineData,
    axis: &Axis<'_>,
) -> Option<Chart> {
    let LineData { mut rows, sums } = lines;
    let clock = Clock::of(runs);
    let is_latency = axis.scale == Scale::Latency;
    let y = match axis.scale {
        Scale::Latency => latency_channel(&rows, "value", axis.title),
        Scale::Ratio if has_peaks(&rows) => ratio_channel(&rows, axis.title),
        _ => {
            json!({ "field": "value", "type": "quantitative", "title": axis.title, "scale": { "zero": true } })
        }
    };
    let value = if is_latency {
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
    if axis.kinds.len() == 1 && !runs.are_several() {
        encoding["color"]["legend"] = Value::Null;
    }
    let few = runs.all.iter().all(|run| run.windows.windows.len() <= 48);
    let mut mark = json!({ "type": "line", "strokeWidth": 1.5 });
    if few {
        mark["point"] = json!({ "size": 30 });
    }
    let has_isolated = !few && mark_isolated(&mut rows);
    let mut parts = json!({ "encoding": encoding });
    if has_isolated {
        // A line between two gaps has no length and is invisible.
        let dash = encoding_of_line(&mut parts["encoding"]);
        let point = json!({ "mark": { "type": "point", "filled": true, "size": 20 }, "transform": [{ "filter": "datum.isolated" }] });
        parts["layer"] = json!([{ "mark": mark, "encoding": dash }, point]);
    } else {
        parts["mark"] = mark;
    }
    if is_latency {
        parts["transform"] = json!([{ "calculate": latency_text("value"), "as": "text" }]);
    }
    let drawn = chart(name, title, &(caption.to_owned() + &clock.caption(runs)), rows, parts)?;
    Some(drawn.with_sums(sums))
}

/// Removes the dashes from an encoding and returns them, because a legend of dashes fits lines but not
/// points.
fn encoding_of_line(encoding: &mut Value) -> Value {
    let dash = encoding.as_object_mut().and_then(|encoding| encoding.remove("strokeDash"));
    dash.map_or_else(|| json!({}), |dash| json!({ "strokeDash": dash, "detail": { "field": "kind" } }))
}

/// Marks the rows whose neighbours in the same line have no value. Returns whether there are any.
fn mark_isolated(rows: &mut [Value]) -> bool {
    let has_value = |row: Option<&Value>, of: &Value| {
        row.is_some_and(|row| {
            row["value"].is_number() && row["run"] == of["run"] && row["kind"] == of["kind"]
        })
    };
    let isolated: Vec<usize> = (0..rows.len())
        .filter(|n| {
            let neighbours = [n.checked_sub(1).and_then(|before| rows.get(before)), rows.get(n + 1)];
            rows[*n]["value"].is_number() && !neighbours.into_iter().any(|row| has_value(row, &rows[*n]))
        })
        .collect();
    isolated.iter().for_each(|n| rows[*n]["isolated"] = json!(true));
    !isolated.is_empty()
}

/// If the greatest value is more than this many times the median, it flattens the other values. Chosen: at
/// this ratio, the other values have a tenth of the height.
const PEAK: f64 = 10.0;

/// Whether the greatest value is more than `PEAK` times the median.
fn has_peaks(rows: &[Value]) -> bool {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| row["value"].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    values.last().is_some_and(|greatest| *greatest > PEAK * middle.max(1.0))
}

/// The encoding of a ratio on an axis that begins at zero and is logarithmic above one. Zero belongs to
/// windows without programs.
fn ratio_channel(rows: &[Value], title: &str) -> Value {
    let most = rows.iter().filter_map(|row| row["value"].as_f64()).fold(1.0, f64::max);
    let steps: &[f64] = if most < 200.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all =
        (0..12).flat_map(|decade| steps.iter().map(move |step| step * libm::pow(10.0, f64::from(decade))));
    let mut ticks = vec![0.0];
    for tick in all {
        ticks.push(tick);
        if tick >= most {
            break;
        }
    }
    json!({
        "field": "value", "type": "quantitative",
        "scale": { "type": "symlog", "constant": 1, "domain": [0, ticks.last()], "nice": false },
        "axis": { "title": format!("{title} (logarithmic)"), "values": ticks, "labelExpr": "format(datum.value, ',')", "labelOverlap": "parity" },
    })
}

/// A row for each value of each window, and the sum over each kind that has a counter. Kinds without values
/// have no rows.
fn lines(
    runs: &Runs<'_>,
    counters: Counters,
    spans: impl Fn(&Summary) -> Vec<Span>,
    values: impl Fn(&Summary, &Span) -> Values,
) -> LineData {
    let clock = Clock::of(runs);
    let (mut rows, mut sums) = (Vec::new(), Vec::new());
    for (n, (run, label)) in runs.iter().enumerate() {
        let windows: Vec<(f64, Values)> = spans(run)
            .iter()
            .map(|span| (clock.place(run, span.start + span.seconds / 2.0), values(run, span)))
            .collect();
        let kinds = windows.first().map_or(0, |(_, values)| values.len());
        for kind in (0..kinds).filter(|kind| windows.iter().any(|(_, values)| values[*kind].1.is_some())) {
            let name = windows[0].1[kind].0;
            rows.extend(windows.iter().map(|(time, values)| {
                json!({ "run": label, "kind": name, "time": shown(*time),
                    "value": values[kind].1.map_or(Value::Null, shown) })
            }));
            if let Some((_, counted)) = counters.iter().find(|(of, _)| *of == name) {
                let weights = windows.iter().map(|(_, values)| values[kind].2).collect();
                let sum = Sum::of(n, "value", &[("run", label), ("kind", name)])
                    .with_weights(Weights::Rows(weights));
                let counted = counted.iter().map(|pointer| (*pointer).to_owned()).collect();
                sums.push(Sum { counted: Counter::Product(counted), ..sum });
            }
        }
    }
    LineData { rows, sums }
}

/// A window, and its position in the run.
pub(super) struct Span {
    pub window: Window,
    /// Begin in seconds since the run began.
    pub start: f64,
    /// Width in seconds.
    pub seconds: f64,
}

/// Least part of a window that is drawn separately at the end of a run. A smaller part joins the previous
/// window, because a rate over a very short time looks like a peak. Chosen.
const LEAST_PART: f64 = 0.1;

/// The windows of a run. The last one ends with the run.
pub(super) fn spans(run: &Summary) -> Vec<Span> {
    let width = run.windows.width_seconds;
    let last = run.windows.windows.len().saturating_sub(1);
    let rest = run.simulated_seconds - last as f64 * width;
    let ends_early = rest > 0.0 && rest < width;
    let mut spans: Vec<Span> = Vec::new();
    for (index, window) in run.windows.windows.iter().enumerate() {
        let seconds = if index == last && ends_early { rest } else { width };
        match spans.last_mut() {
            Some(before) if seconds < LEAST_PART * width => {
                before.window = before.window.joined(window);
                before.seconds += seconds;
            }
            _ => spans.push(Span { window: window.clone(), start: index as f64 * width, seconds }),
        }
    }
    spans.retain(|span| span.seconds > 0.0);
    spans
}

/// The windows of a run for write amplification. Programs in a window without writes count in the next window
/// with writes, or in the last window with writes.
fn written(run: &Summary) -> Vec<Span> {
    let mut spans = spans(run);
    let mut waiting = 0;
    for span in &mut spans {
        waiting += std::mem::take(&mut span.window.programmed_bytes);
        if span.window.written_bytes > 0 {
            span.window.programmed_bytes = std::mem::take(&mut waiting);
        }
    }
    if let Some(last) = spans.iter_mut().rfind(|span| span.window.written_bytes > 0) {
        last.window.programmed_bytes += waiting;
    }
    spans
}

/// Seconds that the windows cover: up to the end of the run, which lies in the last window.
pub(super) fn length(run: &Summary) -> f64 {
    spans(run).last().map_or(0.0, |span| span.start + span.seconds)
}

/// Each run is drawn over its own length if the longest run takes more than this many times the shortest.
/// Chosen: on a common axis, the shortest run has at least half of the width.
const SHARED: f64 = 2.0;

/// The time axis.
pub(super) enum Clock {
    /// Time in a unit: its seconds, and its name.
    Unit(f64, &'static str),
    /// Percent of each run, if run lengths differ too much for a common axis.
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

    /// The position on the axis, for a time of a run in seconds.
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

    /// A sentence with the lengths of the runs, if the axis does not show them.
    fn caption(&self, runs: &Runs<'_>) -> String {
        let Self::Part = self else { return String::new() };
        let lengths = runs.iter().filter(|(run, _)| length(run) > 0.0);
        let lengths: Vec<String> =
            lengths.map(|(run, label)| format!("{label} {}", Quantity::Seconds(length(run)))).collect();
        format!(" Each run is drawn over its own length: {}.", lengths.join(", "))
    }
}

/// A suitable unit for an axis of this many seconds: its seconds, and its name.
pub(super) fn time_unit(longest: f64) -> (f64, &'static str) {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "s"), (1e-3, "ms")];
    // The axis covers at least two units, so that it has more than one whole number.
    units.into_iter().find(|(size, _)| longest >= 2.0 * size).unwrap_or((1e-6, "µs"))
}
