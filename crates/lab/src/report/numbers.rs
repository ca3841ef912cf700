//! The data of a chart as a table, for readers who cannot see the chart or who need the values.

use serde_json::Value;
use wordline_run::quantity::three_digits;

use super::markup::{add, escaped};

/// Greatest number of values of a series that are all shown. Chosen: easy to take in.
const MOST_OF_A_SERIES: usize = 12;

/// Number of equal steps at which a longer series is shown, in addition to its least and its greatest value.
const STEPS: usize = 8;

/// A channel of a chart: its field and its title.
struct Channel<'a> {
    field: &'a str,
    title: String,
    /// Whether the axis shows fractions as percentages.
    is_percent: bool,
}

impl<'a> Channel<'a> {
    fn of(channel: &'a Value) -> Option<Self> {
        let field = channel["field"].as_str()?;
        let axis = ["axis", "legend"].map(|guide| &channel[guide]);
        let own = channel["title"].as_str().or_else(|| axis.iter().find_map(|axis| axis["title"].as_str()));
        let is_time =
            axis.iter().any(|axis| axis["labelExpr"].as_str().is_some_and(|expr| expr.contains("µs")));
        let is_size =
            axis.iter().any(|axis| axis["labelExpr"].as_str().is_some_and(|expr| expr.contains("KiB")));
        let unit = match (is_time, is_size) {
            (true, _) => " (µs)",
            (_, true) => " (B)",
            _ => "",
        };
        let is_percent =
            axis.iter().any(|axis| axis["format"].as_str().is_some_and(|format| format.ends_with('p')));
        Some(Self { field, title: own.unwrap_or(field).to_owned() + unit, is_percent })
    }

    fn text(&self, row: &Value) -> String {
        match &row[self.field] {
            Value::Number(number) => match number.as_f64().unwrap_or(f64::NAN) {
                share if self.is_percent => format!("{} %", three_digits(100.0 * share)),
                // Whole numbers are mostly numbers of dies and windows.
                whole if whole.fract() == 0.0 && whole.abs() < 1_000.0 => format!("{whole:.0}"),
                number => three_digits(number),
            },
            Value::String(text) => text.clone(),
            // A cell without a value shows its state.
            Value::Null => row["state"].as_str().unwrap_or("–").to_owned(),
            other => other.to_string(),
        }
    }
}

/// Channels of a chart's rows: series, position, and value.
struct Layout<'a> {
    series: Vec<Channel<'a>>,
    place: Option<Channel<'a>>,
    value: Channel<'a>,
    /// Half-width of the confidence interval of the value, if the rows have one.
    half: Option<Channel<'a>>,
}

impl<'a> Layout<'a> {
    fn of(spec: &'a Value) -> Option<Self> {
        let plot = if spec["spec"].is_object() { &spec["spec"] } else { spec };
        let encoding = &plot["encoding"];
        // In a map, both axes are quantities and the colour is the value.
        let shade = &plot["layer"][0]["encoding"]["color"];
        let is_amount = |name: &&str| encoding[*name]["type"] == "quantitative";
        let valued = match shade["type"] == "quantitative" {
            true => "color",
            false => ["y", "x", "color"].into_iter().find(is_amount)?,
        };
        let places: &[&str] = match valued {
            "y" => &["x"],
            "x" => &["y"],
            _ => &["x", "y"],
        };
        let place = places.first().and_then(|name| Channel::of(&encoding[*name]));
        let others = places.iter().skip(1).chain(&["color", "strokeDash", "shape", "xOffset"]);
        // Some channels belong to one layer only: dashes belong to lines.
        let channel = |name: &str| {
            if encoding[name].is_object() { &encoding[name] } else { &plot["layer"][0]["encoding"][name] }
        };
        let others = others.filter(|name| **name != valued).map(|name| channel(name));
        let mut series: Vec<Channel> = Vec::new();
        for channel in std::iter::once(&spec["facet"]).chain(others).filter_map(Channel::of) {
            let is_new = place.as_ref().is_none_or(|place| place.field != channel.field)
                && series.iter().all(|known| known.field != channel.field);
            if is_new {
                series.push(channel);
            }
        }
        let value = Channel::of(&encoding[valued]).or_else(|| Channel::of(shade))?;
        let rows = spec["data"]["values"].as_array().map_or(&[][..], Vec::as_slice);
        let has_half = rows.iter().any(|row| row["half"].is_number());
        let half = has_half.then(|| Channel {
            field: "half",
            title: format!("± {} (95 %)", value.title),
            is_percent: value.is_percent,
        });
        Some(Self { series, place, value, half })
    }

    /// The rows of each series. Series are in the order of their first row.
    fn groups<'b>(&self, rows: &'b [Value]) -> Vec<(Vec<String>, Vec<&'b Value>)> {
        let mut groups: Vec<(Vec<String>, Vec<&Value>)> = Vec::new();
        for row in rows.iter().filter(|row| row[self.value.field].is_number() || row["state"].is_string()) {
            let name: Vec<String> = self.series.iter().map(|channel| channel.text(row)).collect();
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, members)) => members.push(row),
                None => groups.push((name, vec![row])),
            }
        }
        groups
    }

    /// The rows to show of a series. A short series is shown whole. A long one is shown at even steps, plus
    /// its least and its greatest value.
    fn chosen<'b>(&self, rows: &[&'b Value]) -> Vec<&'b Value> {
        if rows.len() <= MOST_OF_A_SERIES {
            return rows.to_vec();
        }
        let value = |n: &usize| rows[*n][self.value.field].as_f64().unwrap_or(f64::NAN);
        let by_value = |a: &usize, b: &usize| value(a).total_cmp(&value(b));
        let mut chosen: Vec<usize> = (0..=STEPS).map(|step| step * (rows.len() - 1) / STEPS).collect();
        chosen.extend((0..rows.len()).min_by(by_value));
        chosen.extend((0..rows.len()).max_by(by_value));
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|n| rows[n]).collect()
    }
}

/// The data of a chart as an HTML table.
pub fn table(spec: &Value) -> String {
    let rows = spec["data"]["values"].as_array().map_or(&[][..], Vec::as_slice);
    if !rows.is_empty() && rows.iter().all(Value::is_number) {
        return of_cells(rows, &spec["encoding"]);
    }
    let Some(layout) = Layout::of(spec) else { return "<p>There are none.</p>".to_owned() };
    let groups = layout.groups(rows);
    let all: usize = groups.iter().map(|(_, rows)| rows.len()).sum();
    let chosen: Vec<_> = groups.iter().map(|(name, rows)| (name, layout.chosen(rows))).collect();
    let shown: usize = chosen.iter().map(|(_, rows)| rows.len()).sum();
    let caption = match shown {
        _ if shown == all => "All values.".to_owned(),
        _ => {
            format!("{shown} of {all} values: at even steps, and the least and the greatest of each series.")
        }
    };
    let mut out = format!("<table><caption>{caption}</caption><thead><tr>");
    let channels = layout.series.iter().chain(&layout.place).chain([&layout.value]).chain(&layout.half);
    for channel in channels {
        add(&mut out, format_args!("<th scope=\"col\">{}</th>", escaped(&channel.title)));
    }
    out += "</tr></thead><tbody>\n";
    for (name, rows) in chosen {
        for row in rows {
            let rest = layout.place.iter().chain([&layout.value]).map(|channel| channel.text(row));
            let half = layout.half.iter().map(|half| match row["half"].is_number() {
                true => half.text(row),
                false => "–".to_owned(),
            });
            let cells = name.iter().cloned().chain(rest).chain(half);
            out += "<tr>";
            cells.for_each(|cell| add(&mut out, format_args!("<td>{}</td>", escaped(&cell))));
            out += "</tr>\n";
        }
    }
    out + "</tbody></table>"
}

/// The cells of a map without names, in one row.
fn of_cells(cells: &[Value], encoding: &Value) -> String {
    let values: Vec<f64> = cells.iter().filter_map(Value::as_f64).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let what = encoding["color"]["title"].as_str().unwrap_or("value");
    format!(
        "<table><caption>{} of {} cells.</caption><thead><tr><th scope=\"col\">least</th><th scope=\"col\">mean</th>\
         <th scope=\"col\">greatest</th></tr></thead><tbody><tr><td>{}</td><td>{}</td><td>{}</td></tr></tbody></table>",
        escaped(what),
        cells.len(),
        three_digits(least),
        three_digits(mean),
        three_digits(greatest),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells(table: &str) -> Vec<Vec<&str>> {
        let rows = table.split("<tr>").skip(2);
        rows.map(|row| row.split("<td>").skip(1).filter_map(|cell| cell.split("</td>").next()).collect())
            .collect()
    }

    #[test]
    fn a_short_series_stands_in_full_with_its_name_and_place() {
        let spec = json!({ "data": { "values": [{ "x": "4KiB", "by": "a<b", "value": 1.5 }, { "x": "8KiB", "by": "c", "value": 2.0 }] },
            "encoding": { "x": { "field": "x", "type": "ordinal", "title": "size" },
                "y": { "field": "value", "type": "quantitative", "title": "MB/s" }, "color": { "field": "by", "type": "nominal", "title": null } } });
        let table = table(&spec);
        assert_eq!(cells(&table), [["a&lt;b", "4KiB", "1.50"], ["c", "8KiB", "2"]]);
        assert!(table.contains("All values.") && table.contains("<th scope=\"col\">MB/s</th>"), "{table}");
    }

    #[test]
    fn a_long_series_keeps_its_ends_its_least_and_its_greatest() {
        let value = |n: usize| match n {
            33 => -5.0,
            61 => 99.0,
            n => n as f64 / 100.0,
        };
        let values: Vec<Value> = (0..100).map(|n| json!({ "t": n, "value": value(n) })).collect();
        let spec = json!({ "data": { "values": values }, "encoding": {
            "x": { "field": "t", "type": "quantitative" }, "y": { "field": "value", "type": "quantitative" } } });
        let table = table(&spec);
        let places: Vec<&str> = cells(&table).iter().map(|row| row[0]).collect();
        assert_eq!(places, ["0", "12", "24", "33", "37", "49", "61", "74", "86", "99"]);
        assert!(table.contains("10 of 100 values"), "{table}");
    }

    #[test]
    fn panels_are_series_and_fractions_are_percentages() {
        let spec = json!({ "data": { "values": [{ "x": 1, "panel": "reads", "value": 0.25 }] },
            "facet": { "field": "panel", "title": "operation" }, "spec": { "encoding": { "x": { "field": "x", "type": "ordinal" },
                "y": { "field": "value", "type": "quantitative", "axis": { "format": ".3~p" } } } } });
        assert_eq!(cells(&table(&spec)), [["reads", "1", "25.0 %"]]);
    }

    #[test]
    fn a_cell_without_a_value_says_why_and_intervals_have_a_column() {
        let row = |x: u32, value: Option<f64>, half: Option<f64>, state: &str| json!({ "x": x, "y": 4, "value": value, "half": half, "state": state });
        let spec = json!({ "data": { "values": [row(1, Some(1.5), Some(0.25), "known"), row(2, None, None, "unknown")] },
            "encoding": { "x": { "field": "x", "type": "quantitative" }, "y": { "field": "y", "type": "quantitative" } },
            "layer": [{ "encoding": { "color": { "field": "value", "type": "quantitative", "title": "IOPS" } } }] });
        let table = table(&spec);
        assert_eq!(cells(&table), [["4", "1", "1.50", "0.250"], ["4", "2", "unknown", "–"]]);
        assert!(table.contains("± IOPS (95 %)"), "{table}");
    }

    #[test]
    fn a_map_without_names_has_its_least_mean_and_greatest() {
        let spec = json!({ "data": { "values": [1, 2, 6] }, "encoding": { "color": { "title": "Erases" } } });
        assert_eq!(cells(&table(&spec)), [["1.00", "3.00", "6.00"]]);
    }
}
