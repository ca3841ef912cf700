//! Charts of a study: each column over the varied keys, with confidence intervals, and with signs for unknown
//! values.
//!
//! A key with numeric values has a numeric axis. Two numeric keys with enough values make a heat map. With
//! another second key there is one panel for each of its values. With three keys, the second key makes lines
//! and the third key makes panels.

use serde_json::{Value as Json, json};
use wordline_experiments::{KeyAxis, Value, label, settings};
use wordline_lab::report::{Chart, LATENCY_LABELS, SCHEMA, latency_channel};

use crate::charts::labels::{ChartContext, Column, key_in_words};
use crate::file::Study;
use crate::table::{Cell, Row, Table};

mod labels;

/// Minimum number of values of each of the two keys of a heat map. Chosen: with fewer values, panels of lines
/// can show the intervals too.
const MIN_HEAT_MAP_VALUES: usize = 4;

/// Maximum number of values along an axis with error bars. With more values a band is drawn. Chosen: in a
/// column of a paper the bars are still separate.
const MAX_ERROR_BARS: usize = 24;

/// Width of a character of a number, as a fraction of the side of a heat map. Chosen for eight-point text in
/// the plot of a column of a paper, which is about 170 points wide.
const CHARACTER_WIDTH: f64 = 0.027;

/// An axis is logarithmic if the greatest value exceeds this many times the least. Chosen: the least value
/// then has a twentieth of the height.
const LOGARITHMIC_RATIO: f64 = 20.0;

/// Fraction of the range of a heat map above which numbers are light, for the colours of a light page. A dark
/// page has its own fraction.
const LIGHT_TEXT_FROM: f64 = 0.65;

/// Returns the charts of a study; empty for more than three varied keys.
pub fn charts(study: &Study, table: &Table) -> Vec<Chart> {
    let about = ChartContext::of(study, table);
    let keys: Vec<Key> = table.axes.iter().map(|axis| Key::of(axis, table)).collect();
    if !(1..=3).contains(&keys.len()) {
        return Vec::new();
    }
    table.columns.iter().filter_map(|column| chart(&keys, table, column, &about)).collect()
}

/// A varied key.
struct Key<'a> {
    name: &'a str,
    words: String,
    /// The different values of the key, in order.
    values: Vec<Value>,
    labels: Vec<String>,
    /// The numeric axis of the key; `None` if its values are not numeric.
    axis: Option<KeyAxis>,
}

impl<'a> Key<'a> {
    fn of(name: &'a str, table: &Table) -> Self {
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for row in &table.rows {
            let (Some(own), Some(at)) = (row.at.get(name), value_of(row, name)) else { continue };
            if !values.contains(&at) {
                values.push(at);
                labels.push(label(own));
            }
        }
        Self { name, words: key_in_words(name), axis: KeyAxis::of(&values), values, labels }
    }

    /// Position of a row along this key: its number or its label.
    fn place(&self, row: &Row) -> Json {
        let value = value_of(row, self.name);
        match self.axis.as_ref().zip(value).and_then(|(axis, value)| axis.place(&value)) {
            Some(amount) => json!(amount),
            None => json!(self.label(row)),
        }
    }

    fn label(&self, row: &Row) -> String {
        row.at.get(self.name).map_or_else(String::new, label)
    }

    /// Encoding of the positions, which are in `field`.
    fn channel(&self, field: &str) -> Json {
        let long = self.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) > 6;
        match &self.axis {
            Some(axis) => axis.channel(field, &self.words),
            None => json!({ "field": field, "type": "ordinal", "title": self.words, "sort": self.labels,
                "axis": { "labelAngle": if long { -30 } else { 0 }, "labelLimit": 200 } }),
        }
    }
}

fn value_of(row: &Row, key: &str) -> Option<Value> {
    settings(&row.at).into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn chart(keys: &[Key<'_>], table: &Table, column: &str, about: &ChartContext) -> Option<Chart> {
    let of_column = Column::of(column);
    let cells: Vec<(&Row, Cell)> = table.rows.iter().map(|row| (row, row.cell(column))).collect();
    if cells.iter().all(|(_, cell)| cell.mean.is_none()) {
        return None;
    }
    let mut spec = match keys {
        [one, other] if is_heat_map(one, other) => heat_map([one, other], &cells, &of_column),
        [one] => lines(one, None, None, &cells, &of_column),
        // A numeric key is on the axis if there is one.
        [one, other] if one.axis.is_none() && other.axis.is_some() => {
            lines(other, None, Some(one), &cells, &of_column)
        }
        [one, other] => lines(one, None, Some(other), &cells, &of_column),
        [one, other, third, ..] => lines(one, Some(other), Some(third), &cells, &of_column),
        [] => return None,
    };
    let by: Vec<&str> = keys.iter().map(|key| key.words.as_str()).collect();
    let title = format!("{} by {}", of_column.words, by.join(" and "));
    let caption = caption(&cells) + &about.varied(column);
    spec["title"] = json!({ "text": title, "subtitle": about.runs, "anchor": "start" });
    spec["description"] = caption.as_str().into();
    let title = format!("{title}: {}", about.runs);
    Some(Chart { name: column.replace('.', "-"), title, caption, spec, sums: Vec::new() })
}

/// Sentences of the caption about intervals and unknown values.
fn caption(cells: &[(&Row, Cell)]) -> String {
    let seeds = cells.iter().map(|(row, _)| row.seeds()).max().unwrap_or(0);
    let mut text = match seeds {
        0 | 1 => "One seed: no interval. ".to_owned(),
        seeds => format!("Means over {seeds} seeds with the 95 % interval of the mean. "),
    };
    let is = |wanted: &str| cells.iter().any(|(row, cell)| state(row, cell) == wanted);
    if is(UNKNOWN) {
        text += "A question mark marks unknown values: the notes say why. ";
    }
    if is(FAILED) {
        text += "A cross marks missing values. ";
    }
    text
}

const KNOWN: &str = "known";
const UNKNOWN: &str = "unknown";
const FAILED: &str = "no value";

/// State of a cell: known, unknown or failed.
fn state(_: &Row, cell: &Cell) -> &'static str {
    match cell.mean {
        Some(_) => KNOWN,
        None if cell.is_unknown() => UNKNOWN,
        None => FAILED,
    }
}

fn sign(state: &str) -> &'static str {
    match state {
        UNKNOWN => "?",
        FAILED => "×",
        _ => "",
    }
}

/// Data of a cell, without its position.
fn data(row: &Row, cell: &Cell) -> Json {
    let state = state(row, cell);
    let end = |way: f64| cell.mean.zip(cell.half).map(|(mean, half)| mean + way * half);
    json!({ "value": cell.mean, "low": end(-1.0), "high": end(1.0), "half": cell.half, "state": state,
        "sign": sign(state), "text": if state == KNOWN { cell.text() } else { state.to_owned() } })
}

/// Tooltip with the values of the keys, and with the value and its interval.
fn tooltip(keys: &[(&str, &str)], column: &Column) -> Json {
    let keys = keys.iter().map(|(field, title)| json!({ "field": field, "title": title, "type": "nominal" }));
    keys.chain([json!({ "field": "text", "title": column.title(), "type": "nominal" })]).collect()
}

/// Lines over a numeric key, or bars over another key. Each value of `by` has a colour, each value of `panel`
/// a panel.
fn lines(
    along: &Key<'_>,
    by: Option<&Key<'_>>,
    panel: Option<&Key<'_>>,
    cells: &[(&Row, Cell)],
    column: &Column,
) -> Json {
    let row = |(row, cell): &(&Row, Cell)| {
        let mut data = data(row, cell);
        (data["x"], data["at"]) = (along.place(row), json!(along.label(row)));
        if let Some(by) = by {
            let lane = by.labels.iter().position(|label| *label == by.label(row)).unwrap_or(0);
            (data["by"], data["lane"]) = (json!(by.label(row)), json!(lane));
        }
        if let Some(panel) = panel {
            data["panel"] = json!(panel.label(row));
        }
        data
    };
    let mut rows: Vec<Json> = cells.iter().map(row).collect();
    if along.axis.is_some() {
        rows.sort_by(|a, b| a["x"].as_f64().unwrap_or(0.0).total_cmp(&b["x"].as_f64().unwrap_or(0.0)));
    }
    let (y, lowest) = value_channel(&rows, column, along.axis.is_some());
    let own = [Some(("at", along)), by.map(|by| ("by", by)), panel.map(|panel| ("panel", panel))];
    let told: Vec<(&str, &str)> =
        own.into_iter().flatten().map(|(field, key)| (field, key.words.as_str())).collect();
    let mut encoding = json!({ "x": along.channel("x"), "y": y, "tooltip": tooltip(&told, column) });
    if let Some(by) = by {
        encoding["color"] =
            json!({ "field": "by", "type": "nominal", "title": by.words, "scale": { "domain": by.labels } });
        if along.axis.is_none() {
            encoding["xOffset"] = json!({ "field": "by", "sort": by.labels });
        }
    }
    let mark = match along.axis {
        Some(_) => json!({ "type": "line", "point": { "size": 36 }, "strokeWidth": 1.5 }),
        None => json!({ "type": "bar" }),
    };
    let mut layer = vec![json!({ "mark": mark })];
    if rows.iter().any(|row| row["half"].is_number()) {
        layer.insert(usize::from(along.axis.is_none()), interval(along, column));
    }
    let without = rows.iter_mut().filter(|row| row["state"] != KNOWN);
    if without.map(|row| row["base"] = json!(lowest)).count() > 0 {
        layer.push(signs(column));
    }
    panels(json!({ "encoding": encoding, "layer": layer }), panel, rows)
}

/// Confidence intervals as error bars, or as a band if there are many values.
fn interval(along: &Key<'_>, column: &Column) -> Json {
    let many = along.axis.as_ref().is_some_and(|axis| axis.len() > MAX_ERROR_BARS);
    let mark = if many {
        json!({ "type": "errorband", "opacity": 0.25 })
    } else if along.axis.is_some() {
        json!({ "type": "errorbar", "ticks": { "size": 6 } })
    } else {
        // Error bars are dark, because they are drawn over bars of the data's colour.
        json!({ "type": "errorbar", "ticks": { "size": 6, "color": "#444444" }, "color": "#444444" })
    };
    let mut interval = json!({
        "transform": [{ "filter": "isValid(datum.half)" }],
        "mark": mark,
        "encoding": { "y": { "field": "low", "type": "quantitative", "title": column.title() }, "y2": { "field": "high" } },
    });
    if along.axis.is_none() {
        interval["encoding"]["color"] = json!({ "value": "#444444" });
    }
    interval
}

/// Signs above the axis at positions without a value. The signs of several lines are side by side.
fn signs(column: &Column) -> Json {
    json!({
        "transform": [{ "filter": "datum.state != 'known'" }],
        "mark": { "type": "text", "fontSize": 12, "fontWeight": "bold", "dy": -8, "dx": { "expr": "10 * (datum.lane || 0)" } },
        "encoding": { "y": { "field": "base", "type": "quantitative", "title": column.title() }, "text": { "field": "sign", "type": "nominal" } },
    })
}

/// Encoding of the values, and the least value on the axis.
fn value_channel(rows: &[Json], column: &Column, may_be_logarithmic: bool) -> (Json, f64) {
    let ends = rows.iter().flat_map(|row| ["value", "low", "high"].map(|field| row[field].as_f64()));
    let ends: Vec<f64> = ends.flatten().collect();
    let (least, most) =
        ends.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), end| (least.min(*end), most.max(*end)));
    let is_logarithmic = may_be_logarithmic && least > 0.0 && most > LOGARITHMIC_RATIO * least;
    if is_logarithmic && column.is_latency {
        let ends: Vec<Json> = [least, most].map(|us| json!({ "value": us })).into();
        let channel = latency_channel(&ends, "value", &column.title());
        let lowest = channel["scale"]["domain"][0].as_f64().unwrap_or(least);
        return (channel, lowest);
    }
    let mut axis = json!({ "labelOverlap": true });
    if column.is_latency {
        axis["labelExpr"] = LATENCY_LABELS.into();
    }
    if is_logarithmic {
        let lowest = libm::pow(10.0, libm::log10(least).floor());
        axis["format"] = ",~g".into();
        let title = format!("{} (logarithmic)", column.title());
        let scale = json!({ "type": "log", "domainMin": lowest });
        return (
            json!({ "field": "value", "type": "quantitative", "title": title, "scale": scale, "axis": axis }),
            lowest,
        );
    }
    let scale = json!({ "zero": true });
    let channel = json!({ "field": "value", "type": "quantitative", "title": column.title(), "scale": scale, "axis": axis });
    (channel, least.min(0.0))
}

/// The chart, or one panel for each value of a key. All panels have the same axis.
fn panels(spec: Json, panel: Option<&Key<'_>>, rows: Vec<Json>) -> Json {
    let mut whole = json!({ "$schema": SCHEMA, "data": { "values": rows } });
    let mut spec = spec;
    match panel {
        None => {
            (whole["width"], whole["height"]) = (json!(560), json!(260));
            for part in ["encoding", "layer"] {
                whole[part] = spec[part].take();
            }
        }
        Some(key) => {
            (spec["width"], spec["height"]) = (json!(260), json!(180));
            whole["facet"] =
                json!({ "field": "panel", "type": "nominal", "title": key.words, "sort": key.labels });
            whole["columns"] = json!(2);
            whole["spec"] = spec;
        }
    }
    whole
}

/// Whether two keys make a heat map.
fn is_heat_map(one: &Key<'_>, other: &Key<'_>) -> bool {
    [one, other].iter().all(|key| key.axis.as_ref().is_some_and(|axis| axis.len() >= MIN_HEAT_MAP_VALUES))
}

/// Heat map with one cell for each combination of two keys. The distances between cells are proportional to
/// those between the values.
fn heat_map([across, up]: [&Key<'_>; 2], cells: &[(&Row, Cell)], column: &Column) -> Json {
    let values = || cells.iter().filter_map(|(_, cell)| cell.mean);
    let (least, most) = values()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), one| (least.min(one), most.max(one)));
    let sides = [across, up].map(Side::of);
    let row = |(row, cell): &(&Row, Cell)| {
        let mut data = data(row, cell);
        for ((key, side), [at, from, to, text]) in
            [across, up].into_iter().zip(&sides).zip([["x", "x0", "x1", "at"], ["y", "y0", "y1", "by"]])
        {
            let place = key.place(row);
            let [begin, end] = side.cell(place.as_f64().unwrap_or(0.0));
            (data[from], data[to], data[at], data[text]) =
                (json!(begin), json!(end), place, json!(key.label(row)));
        }
        let shade = cell.mean.map(|mean| if most > least { (mean - least) / (most - least) } else { 0.0 });
        data["shade"] = json!(shade);
        data["number"] =
            json!(cell.mean.map_or_else(|| sign(state(row, cell)).to_owned(), |mean| column.short(mean)));
        data
    };
    let rows: Vec<Json> = cells.iter().map(row).collect();
    let [x, y] = [(across, "x"), (up, "y")].map(|(key, field)| {
        let mut channel = key.channel(field);
        channel["scale"].as_object_mut().expect("an axis has a scale").remove("padding");
        channel
    });
    let begin =
        |key: &Key<'_>, field: &str| json!({ "field": field, "type": "quantitative", "title": key.words });
    let ends = json!({ "x": begin(across, "x0"), "y": begin(up, "y0"), "x2": { "field": "x1" }, "y2": { "field": "y1" } });
    let mut of_known = ends.clone();
    let labels = match column.is_latency {
        true => LATENCY_LABELS.replace("'~g'", "'.3~g'").replace("',~g'", "',.3~g'"),
        false => "format(datum.value, ',.4~r')".to_owned(),
    };
    of_known["color"] = json!({ "field": "value", "type": "quantitative", "title": column.title(),
        "scale": { "domain": [least, most], "nice": false }, "legend": { "labelExpr": labels } });
    let longest =
        rows.iter().filter_map(|row| row["number"].as_str()).map(|number| number.chars().count()).max();
    let has_room = sides[0].axis.narrowest() >= CHARACTER_WIDTH * longest.unwrap_or(0) as f64;
    let numbers = |style: &str, filter: &str| {
        json!({ "transform": [{ "filter": filter }],
            "mark": { "type": "text", "style": style },
            "encoding": { "text": { "field": "number", "type": "nominal" } } })
    };
    let mut layer = vec![
        json!({ "transform": [{ "filter": "datum.state == 'known'" }], "mark": "rect", "encoding": of_known }),
        json!({ "transform": [{ "filter": "datum.state != 'known'" }],
            "mark": { "type": "rect", "color": "#888888", "fillOpacity": 0.12, "stroke": "#888888", "strokeDash": [3, 3] },
            "encoding": ends }),
        numbers("cell-without", "datum.state != 'known'"),
    ];
    if has_room {
        layer.push(numbers("cell-low", "datum.state == 'known' && datum.shade < dark_from"));
        layer.push(numbers("cell-high", "datum.state == 'known' && datum.shade >= dark_from"));
    }
    let told = [("at", across.words.as_str()), ("by", up.words.as_str())];
    json!({
        "$schema": SCHEMA, "width": 560, "height": 260,
        "params": [{ "name": "dark_from", "value": LIGHT_TEXT_FROM }],
        "data": { "values": rows },
        "encoding": { "x": x, "y": y, "tooltip": tooltip(&told, column) },
        "layer": layer,
        "config": { "view": { "stroke": null }, "style": { "cell-high": { "color": "#ffffff" } } },
    })
}

/// A side of a heat map: its axis, and the edges of its cells.
struct Side<'a> {
    axis: &'a KeyAxis,
    amounts: Vec<f64>,
    edges: Vec<f64>,
}

impl<'a> Side<'a> {
    fn of(key: &'a Key<'_>) -> Self {
        let axis = key.axis.as_ref().expect("a heat map is of amounts");
        let mut amounts: Vec<f64> = key.values.iter().filter_map(|value| axis.place(value)).collect();
        amounts.sort_by(f64::total_cmp);
        amounts.dedup();
        Self { axis, amounts, edges: axis.edges() }
    }

    /// Edges of the cell of a value.
    fn cell(&self, amount: f64) -> [f64; 2] {
        let n = self.amounts.iter().position(|other| *other == amount).unwrap_or(0);
        [self.edges[n], self.edges[n + 1]]
    }
}

#[cfg(test)]
mod tests;
