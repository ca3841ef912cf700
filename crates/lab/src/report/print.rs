//! Charts for print. They are as wide as a page or a column of a paper, have text in the size of captions,
//! and have no title or caption.

use serde_json::{Value, json};

use super::charts::Chart;
use super::style::colour;

/// The width of a printed chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A column of a two-column paper: 84 mm, as Springer requires. Columns of ACM (85 mm) and IEEE (89 mm)
    /// are wider.
    Column,
    /// A page of a two-column paper: 174 mm, as Springer requires. ACM has 178 mm and IEEE 182 mm.
    Page,
}

impl Width {
    /// The width in points (1/72 inch).
    pub fn points(self) -> f64 {
        let millimetres = match self {
            Self::Column => 84.0,
            Self::Page => 174.0,
        };
        millimetres / 25.4 * 72.0
    }
}

/// Size of text in points. Chosen: captions in such papers have eight points.
const TEXT: f64 = 8.0;

/// Mean width of a character in points. Chosen: about half of the height in sans-serif type.
const CHARACTER: f64 = 4.4;

/// Width of a legend symbol and the spaces around it, in points. Chosen: the value of Vega for this text
/// size.
const SYMBOL: f64 = 22.0;

/// Fraction of the width for the plot. Legends are above the plot. Chosen: the rest is for the axis.
const PLOT: f64 = 0.7;

/// Height divided by width, for charts without a height of their own. Chosen: close to the golden section.
const RATIO: f64 = 0.6;

/// Height of a bar or row in points, for charts whose height depends on the number of rows. Chosen: a line of
/// text.
const STEP: f64 = 11.0;

/// Space beside the plot of a panel for its axis, in points.
const BESIDE: f64 = 60.0;

/// The specification of a chart with this total width in points. `height` is the height of the plots; the
/// default depends on the width. The total width of a chart with panels differs a little, because the width
/// of an axis is estimated.
pub fn for_a_page(spec: &Value, width: f64, height: Option<f64>) -> Value {
    let mut whole = spec.clone();
    let Some(object) = whole.as_object_mut() else { return whole };
    ["title", "description", "width"].iter().for_each(|key| {
        object.remove(*key);
    });
    object.insert("padding".into(), 2.into());
    let is_of_panels = object.get("spec").is_some_and(Value::is_object);
    if is_of_panels && object.get("facet").is_some_and(|facet| facet["field"].is_string()) {
        object.insert("columns".into(), 1.into());
    }
    let plot = if is_of_panels { &mut whole["spec"] } else { &mut whole };
    let is_stepped = plot["height"].is_object();
    plot["width"] = (if is_of_panels { width - BESIDE } else { width }).into();
    plot["height"] = match (height, is_stepped) {
        (Some(height), _) => height.into(),
        (None, true) => json!({ "step": if has_two_lines(plot) { 2.0 * STEP } else { STEP } }),
        (None, false) => (RATIO * width * if is_of_panels { 0.5 } else { 1.0 }).round().into(),
    };
    legends(&mut whole, width);
    if !is_of_panels {
        let kind = if is_stepped && height.is_none() { "fit-x" } else { "fit" };
        whole["autosize"] = json!({ "type": kind, "contains": "padding" });
    }
    config(&mut whole, width);
    whole
}

/// Whether row labels have two lines each.
fn has_two_lines(plot: &Value) -> bool {
    plot["encoding"]["y"]["axis"]["labelExpr"].as_str().is_some_and(|text| text.starts_with("split("))
}

/// Width in points below which legends are stacked. Chosen: two names of runs do not fit side by side.
const STACKED: f64 = 400.0;

/// Number of series colours in the style sheet.
pub(super) const COLOURS: usize = 33;

/// Sets the Vega configuration: text size, and the colours of pages.
fn config(spec: &mut Value, width: f64) {
    let text = json!({ "labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal" });
    let with = |more: Value| {
        let mut all = text.clone();
        all.as_object_mut()
            .expect("it was just made one")
            .extend(more.as_object().cloned().unwrap_or_default());
        all
    };
    let ramp = [colour("ramp-low"), colour("ramp-high")];
    let all = json!({
        "font": "sans-serif",
        "axis": with(json!({ "titleLimit": width })),
        "axisX": { "labelOverlap": true, "labelSeparation": 4 },
        "axisY": { "labelLimit": (0.42 * width).round() },
        "header": text,
        "legend": with(json!({ "orient": "top", "symbolSize": 40, "labelLimit": width - SYMBOL, "titleLimit": width,
            "gradientLength": 0.5 * width, "gradientThickness": 6,
            "layout": { "direction": if width < STACKED { "vertical" } else { "horizontal" }, "margin": 4 } })),
        "mark": { "color": colour("series-1") },
        "rule": { "color": colour("series-1") },
        "text": { "color": colour("ink"), "fontSize": TEXT },
        "range": { "category": (1..=COLOURS).map(|n| colour(&format!("series-{n}"))).collect::<Vec<_>>(), "heatmap": ramp, "ramp": ramp },
    });
    let own = spec["config"].as_object().cloned().unwrap_or_default();
    spec["config"] = all;
    spec["config"].as_object_mut().expect("it was just made one").extend(own);
}

/// Sets the columns of each legend to as many as fit side by side.
fn legends(spec: &mut Value, width: f64) {
    let values = spec["data"]["values"].as_array().cloned().unwrap_or_default();
    let encoding = match spec["encoding"].is_object() {
        true => &mut spec["encoding"],
        false => &mut spec["spec"]["encoding"],
    };
    for channel in ["color", "strokeDash", "shape"] {
        let Some(own) = encoding.get_mut(channel).filter(|own| own["field"].is_string()) else { continue };
        if own["type"] == "quantitative"
            || own.as_object().is_some_and(|own| own.get("legend") == Some(&Value::Null))
        {
            continue;
        }
        let field = own["field"].as_str().unwrap_or_default().to_owned();
        let length = |label: &Value| label.as_str().map_or(4, |label| label.chars().count());
        let domain = own["scale"]["domain"].as_array().map(|labels| labels.iter().map(length).max());
        let of_rows = || values.iter().map(|row| length(&row[&field])).max();
        let longest = domain.unwrap_or_else(of_rows).unwrap_or(0);
        let columns = (PLOT * width / (CHARACTER * longest as f64 + SYMBOL)).floor().clamp(1.0, 6.0);
        if !own["legend"].is_object() {
            own["legend"] = json!({});
        }
        own["legend"]["columns"] = columns.into();
        if own["title"].as_str().is_some_and(|title| !title.is_empty()) {
            own["legend"]["titleOrient"] = "top".into();
        }
    }
}

/// The specifications of charts for print, each with its name, as input of the program that draws them.
pub fn printed(charts: &[Chart], width: Width) -> Value {
    let width = width.points();
    let one = |chart: &Chart| json!({ "name": chart.name, "width": width, "spec": for_a_page(&chart.spec, width, None) });
    charts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widths_are_those_of_papers() {
        assert!((Width::Column.points() - 238.11).abs() < 0.01);
        assert!((Width::Page.points() - 493.23).abs() < 0.01);
    }

    #[test]
    fn a_chart_for_a_page_has_its_width_and_no_title() {
        let spec = json!({ "title": "a", "description": "b", "width": 560, "height": { "step": 30 },
            "data": { "values": [{ "kind": "a label of thirty characters..", "us": 1 }] },
            "encoding": { "color": { "field": "kind", "type": "nominal" } }, "config": { "view": { "stroke": null } } });
        let made = for_a_page(&spec, 238.0, None);
        assert!(made.get("title").is_none() && made.get("description").is_none());
        assert_eq!((&made["width"], &made["height"]["step"]), (&json!(238.0), &json!(STEP)));
        assert_eq!(made["encoding"]["color"]["legend"]["columns"], 1.0);
        assert_eq!(made["config"]["view"]["stroke"], Value::Null);
        assert_eq!(made["config"]["range"]["category"][0], "#0072b2");
        assert_eq!(for_a_page(&spec, 238.0, Some(90.0))["height"], 90.0);
    }

    #[test]
    fn panels_have_the_width_that_an_axis_leaves() {
        let spec = json!({ "facet": { "field": "panel" }, "columns": 2, "spec": { "width": 460, "mark": "bar", "encoding": {} } });
        let made = for_a_page(&spec, 238.0, None);
        assert_eq!((&made["columns"], &made["spec"]["width"]), (&json!(1), &json!(178.0)));
        assert!(made.get("width").is_none() && made.get("autosize").is_none());
    }
}
