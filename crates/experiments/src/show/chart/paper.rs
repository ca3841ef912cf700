//! Charts of the paper's values and ours, as lines or bars. The band of our value is drawn too.

use serde_json::{Value as Json, json};

use super::{numbers, place};
use crate::judge::outcome::{Row, Value, Verdict};
use crate::show::chart::label::of_text;
use wordline_lab::report::{Chart, SCHEMA};

/// Encoding that distinguishes the paper's values from ours by colour, dash and shape. Dash and shape suffice
/// without colour.
fn source_encoding(range: Option<Json>) -> Json {
    let mut channel = json!({ "field": "whose", "type": "nominal", "title": null,
        "scale": { "domain": ["paper", "ours"] } });
    if let Some(range) = range {
        channel["scale"]["range"] = range;
    }
    channel
}

/// Two rows of chart data for a row of the outcome, with its band: the paper's value and ours.
fn data(row: &Row, x: &Json, at: &str) -> Vec<Json> {
    let Some((paper, ours)) = numbers(row) else { return Vec::new() };
    let one = |(value, whose): (f64, &str)| {
        let mut one = json!({ "x": x, "value": value, "whose": whose, "at": at });
        if let Some([low, high]) = row.limits {
            (one["low"], one["high"]) = (low.into(), high.into());
        }
        one
    };
    [(paper, "paper"), (ours, "ours")].into_iter().map(one).collect()
}

/// Values over a varied key: lines if the key is numeric, otherwise bars.
pub(super) fn along(rows: &[Row], along: &str) -> Json {
    let (mut all, mut unit, mut are_numbers) = (Vec::new(), "", true);
    // Each combination of the other varied keys is a line.
    let mut several = false;
    for row in rows {
        let Some(x) = place(row, along) else { continue };
        let others = row.at.iter().filter(|(key, _)| key != along);
        let series: Vec<String> = others.map(|(_, value)| of_text(&value.to_string())).collect();
        let more = data(row, &shown(x), &series.join(", "));
        if !more.is_empty() {
            unit = &row.unit;
            several |= !series.is_empty();
            are_numbers &= matches!(x, Value::Number(_));
        }
        all.extend(more);
    }
    if are_numbers { lines(all, along, unit, several) } else { bars(all, along, unit) }
}

fn shown(value: &Value) -> Json {
    match value {
        Value::Number(number) => (*number).into(),
        Value::Text(text) => of_text(text).into(),
    }
}

/// Band of our value, from its least to its greatest value. `width` is in pixels.
fn band(axis: &str, unit: &str, width: u32) -> Json {
    let mut encoding = json!({ "color": { "value": "#888888" }, "strokeDash": { "value": [1, 0] } });
    encoding[axis] = json!({ "field": "low", "type": "quantitative", "title": unit });
    encoding[format!("{axis}2")] = json!({ "field": "high" });
    json!({
        "transform": [{ "filter": "datum.whose == 'paper' && isValid(datum.low)" }],
        "mark": { "type": "rule", "strokeWidth": width, "opacity": 0.35 },
        "encoding": encoding,
    })
}

/// The points of the paper or of ours.
fn points(of: &str, size: u32) -> Json {
    json!({
        "transform": [{ "filter": format!("datum.whose == '{of}'") }],
        "mark": { "type": "point", "filled": true, "opacity": 1, "size": size, "tooltip": true },
        "encoding": { "shape": source_encoding(Some(json!(["diamond", "circle"]))) },
    })
}

fn lines(data: Vec<Json>, along: &str, unit: &str, several: bool) -> Json {
    let colour = if several {
        json!({ "field": "at", "type": "nominal", "title": null })
    } else {
        source_encoding(None)
    };
    let line = json!({ "mark": { "type": "line", "strokeWidth": 2 } });
    json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "width": "container",
        "encoding": {
            "x": { "field": "x", "type": "quantitative", "title": along, "scale": { "zero": false } },
            "y": { "field": "value", "type": "quantitative", "title": unit },
            "color": colour,
            "strokeDash": source_encoding(Some(json!([[1, 0], [6, 4]]))),
        },
        "layer": [band("y", unit, 12), line, points("paper", 130), points("ours", 45)],
    })
}

/// Bars of both, side by side.
fn pairs(offset: &str) -> Json {
    let mut encoding = json!({});
    encoding[offset] = json!({ "field": "whose", "sort": ["paper", "ours"] });
    json!({ "mark": { "type": "bar", "tooltip": true }, "encoding": encoding })
}

fn bars(data: Vec<Json>, along: &str, unit: &str) -> Json {
    json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "width": "container",
        "encoding": {
            "x": { "field": "x", "type": "nominal", "title": along, "sort": null },
            "y": { "field": "value", "type": "quantitative", "title": unit },
            "color": source_encoding(None),
        },
        "layer": [pairs("xOffset"), band("y", unit, 20)],
    })
}

/// Greatest number of characters in a line of a label. Chosen: longer lines are cut off on a narrow screen and in a
/// column of a paper.
const LINE: usize = 24;

/// A label as it is drawn, in its lines.
const LINES_OF_LABEL: &str = "split(datum.label, '\\n')";

/// Height of a line of a label in pixels. Chosen: the size of the text, so that rows need little height.
const LINE_HEIGHT: f64 = 11.0;

/// The axis of labels of up to this many lines. The middle of the lines is beside the row.
fn axis_of_lines(lines: usize) -> Json {
    let of = |count: usize| {
        let test = format!("length({LINES_OF_LABEL}) == {count}");
        json!({ "test": test, "value": (count - 1) as f64 * LINE_HEIGHT / -2.0 })
    };
    let offset = json!({ "condition": (2..=lines).map(of).collect::<Vec<_>>(), "value": 0 });
    json!({ "title": null, "labelExpr": LINES_OF_LABEL, "labelLineHeight": LINE_HEIGHT, "labelOffset": offset })
}

/// A label in lines that are not cut off. A part in parentheses, such as "(second reading)", begins a line.
fn folded(label: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in label.split(' ') {
        let with_word = length + 1 + word.chars().count();
        let is_begun = !out.is_empty();
        let fits = is_begun && with_word <= LINE && !word.starts_with('(');
        if is_begun {
            out.push(if fits { ' ' } else { '\n' });
        }
        out += word;
        length = if fits { with_word } else { word.chars().count() };
    }
    out
}

/// Minimum and maximum number of rows of one unit for a chart. Chosen: the table compares a single row, and
/// more rows do not fit on a screen.
const CHART_ROWS: std::ops::RangeInclusive<usize> = 2..=40;

/// Charts of the compared rows with bars side by side. There is a chart for each unit.
pub(super) fn beside(rows: &[Row]) -> Vec<Chart> {
    let is_drawn =
        |row: &&Row| row.verdict != Verdict::Shown && row.under.is_none() && numbers(row).is_some();
    let drawn: Vec<&Row> = rows.iter().filter(is_drawn).collect();
    let mut units: Vec<&str> = Vec::new();
    for row in &drawn {
        if !units.contains(&row.unit.as_str()) {
            units.push(&row.unit);
        }
    }
    let of_unit = |unit: &&str| drawn.iter().copied().filter(|row| row.unit == **unit).collect::<Vec<_>>();
    let groups = units.iter().map(of_unit).filter(|rows| CHART_ROWS.contains(&rows.len()));
    groups.enumerate().map(|(n, rows)| beside_of(n, &rows)).collect()
}

fn beside_of(n: usize, rows: &[&Row]) -> Chart {
    let unit = rows[0].unit.as_str();
    let names: Vec<String> = rows.iter().map(|row| row.shown_what()).collect();
    let kept = beginning(&names);
    let names: Vec<String> = names.iter().map(|name| folded(&name[kept.len()..])).collect();
    let lines = names.iter().map(|name| name.lines().count()).max().unwrap_or(1);
    let data: Vec<Json> =
        rows.iter().zip(&names).flat_map(|(row, name)| data(row, &name.as_str().into(), "")).collect();
    let of = kept.trim_end_matches([',', ' ']);
    let of = if of.is_empty() { String::new() } else { format!(": {of}") };
    let title = format!("The paper's values and ours{of}");
    let caption = "Bars are the values of the rows that are compared; the grey field is the band that ours should lie in.";
    let mut spec = json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "width": "container",
        // A row has two bars, which together are as high as the lines of its label.
        "height": { "step": 12.max(5 * lines) },
        "encoding": {
            "y": { "field": "x", "type": "nominal", "title": "row", "axis": axis_of_lines(lines), "sort": names },
            "x": { "field": "value", "type": "quantitative", "title": unit },
            "color": source_encoding(None),
        },
        "layer": [pairs("yOffset"), band("x", unit, 20)],
    });
    spec["title"] = title.as_str().into();
    spec["description"] = caption.into();
    let name = if n == 0 { "paper-and-ours".to_owned() } else { format!("paper-and-ours-{}", n + 1) };
    Chart { name, title, caption: caption.into(), spec, sums: Vec::new() }
}

/// Beginning that all names share, up to a comma.
fn beginning(names: &[String]) -> &str {
    let Some((first, others)) = names.split_first() else { return "" };
    let ends = first.match_indices(", ").map(|(at, comma)| at + comma.len());
    let is_common = |end: &usize| others.iter().all(|name| name.starts_with(&first[..*end]));
    &first[..ends.filter(is_common).max().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, x: Value, limits: Option<[f64; 2]>) -> Row {
        Row {
            paper: Value::Number(2.0),
            ours: Value::Number(3.0),
            unit: "ms".into(),
            limits,
            verdict: Verdict::Within,
            at: vec![("x".into(), x)],
            ..Row::named(what.into())
        }
    }

    #[test]
    fn paper_and_ours_differ_in_shape_and_dash_and_have_the_band() {
        let rows = [row("a", Value::Number(1.0), Some([1.0, 4.0])), row("b", Value::Number(2.0), None)];
        let spec = along(&rows, "x");
        let dashes = &spec["encoding"]["strokeDash"]["scale"]["range"];
        assert_ne!(dashes[0], dashes[1]);
        let shape = &spec["layer"][2]["encoding"]["shape"]["scale"];
        assert_eq!(shape, &json!({ "domain": ["paper", "ours"], "range": ["diamond", "circle"] }));
        assert_eq!(spec["data"]["values"][0]["low"], 1.0);
        assert_eq!(spec["data"]["values"][2]["low"], Json::Null);
        assert_eq!(spec["layer"].as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn values_that_are_no_numbers_have_bars_beside_each_other() {
        let text = |text: &str| Value::Text(text.to_owned());
        let spec = along(&[row("a", text("{ greedy = {} }"), None), row("b", text("fifo"), None)], "x");
        assert_eq!(spec["layer"][0]["mark"]["type"], "bar");
        assert_eq!(spec["data"]["values"][0]["x"], "greedy");
    }

    #[test]
    fn rows_of_a_unit_stand_in_a_chart_without_the_words_they_share() {
        let named = |name: &str| row(name, Value::Number(1.0), None);
        let mut rows = vec![named("gain, tiny, 4KiB"), named("gain, tiny, 8KiB")];
        rows.push(Row { unit: "%".into(), ..named("alone") });
        rows.push(Row { verdict: Verdict::Shown, ..named("gain, tiny, 16KiB") });
        let charts = beside(&rows);
        let [chart] = &charts[..] else { panic!("one unit has two rows: {}", charts.len()) };
        assert_eq!(chart.title, "The paper's values and ours: gain, tiny");
        assert_eq!(chart.spec["encoding"]["y"]["sort"], json!(["4KiB", "8KiB"]));
    }

    #[test]
    fn long_labels_stand_in_lines_that_differ() {
        let long = "throughput of sequential reads with eight dies (second reading)";
        assert_eq!(folded(long), "throughput of sequential\nreads with eight dies\n(second reading)");
        let rows = [row(long, Value::Number(1.0), None), row("short", Value::Number(1.0), None)];
        let spec = &beside(&rows)[0].spec;
        assert_eq!(
            (&spec["height"]["step"], &spec["encoding"]["y"]["sort"][0]),
            (&json!(15), &json!(folded(long)))
        );
    }
}
