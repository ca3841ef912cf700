//! The answer as an HTML page with a chart.

use serde_json::{Value, json};

use super::text::{self, HEADS};
use super::{Effect, Elasticity, Why};
use crate::error::Result;
use crate::output::ReportFolder;
use crate::provenance::Provenance;
use crate::report::{Chart, Origin, Report, Reproduction, SCHEMA, Section, Sheet, SheetCell};
use crate::report::{chart_files, escaped, hardware_of, made_by};

/// The quantities whose elasticities are drawn.
const QUANTITIES: [&str; 3] = ["IOPS", "p99 of reads", "p99 of writes"];

/// Name and title of the chart.
const NAME: &str = "elasticities";
const TITLE: &str = "What each change brings";

const CAPTION: &str = "Elasticities: the relative gain for a relative change, 1 where a tenth less time brings as much as if nothing else took \
                       time, 0 where it brings nothing. Bars are 95 % intervals; what is not known has no point.";

impl Effect {
    /// The elasticities in the order of `QUANTITIES`.
    fn elasticities(&self) -> [Option<Elasticity>; 3] {
        [self.elasticity, self.read_p99, self.write_p99]
    }
}

/// The elasticities of all changes as a chart.
pub fn chart(why: &Why) -> Chart {
    let causes: Vec<&str> = why.effects.iter().map(|effect| effect.cause.name()).collect();
    let row = |effect: &Effect| {
        let cause = effect.cause.name();
        let of = move |(quantity, elasticity): (&str, Option<Elasticity>)| {
            let Elasticity { value, half } = elasticity?;
            let [low, high] = half.map_or([value; 2], |half| [value - half, value + half]);
            Some(json!({ "cause": cause, "quantity": quantity, "value": value, "low": low, "high": high }))
        };
        QUANTITIES.into_iter().zip(effect.elasticities()).filter_map(of).collect::<Vec<Value>>()
    };
    let rows: Vec<Value> = why.effects.iter().flat_map(row).collect();
    let known: Vec<&str> =
        QUANTITIES.into_iter().filter(|name| rows.iter().any(|row| row["quantity"] == **name)).collect();
    let x = |field: &str| json!({ "field": field, "type": "quantitative", "title": "Elasticity" });
    let tooltip = json!([
        { "field": "cause", "title": "changed" }, { "field": "quantity", "title": "of" },
        { "field": "value", "title": "elasticity", "format": ".2f" },
        { "field": "low", "title": "from", "format": ".2f" }, { "field": "high", "title": "to", "format": ".2f" },
    ]);
    let spec = json!({
        "$schema": SCHEMA, "title": TITLE, "description": CAPTION, "width": 560, "height": { "step": 30 },
        "data": { "values": rows },
        "encoding": {
            "y": { "field": "cause", "type": "nominal", "sort": causes, "title": null, "axis": { "labelLimit": 200 } },
            "yOffset": { "field": "quantity", "type": "nominal", "sort": known },
            "color": { "field": "quantity", "type": "nominal", "title": null, "scale": { "domain": known } },
            "tooltip": tooltip,
        },
        "layer": [
            { "mark": { "type": "rule", "strokeWidth": 1.5 }, "encoding": { "x": x("low"), "x2": { "field": "high" } } },
            { "mark": { "type": "point", "filled": true, "size": 40, "opacity": 1 }, "encoding": { "x": x("value") } },
        ],
    });
    Chart { name: NAME.into(), title: TITLE.into(), caption: CAPTION.into(), spec, sums: Vec::new() }
}

/// Writes a report to a folder, and replaces the report there: `report.html`, `why.json` and the
/// specification of the chart. `json` is the answer as JSON.
///
/// # Errors
/// The errors of [`ReportFolder::write`].
pub fn write(
    folder: ReportFolder,
    why: &Why,
    json: String,
    origin: Origin<'_>,
    provenance: &Provenance,
) -> Result<()> {
    let charts = [chart(why)];
    let mut files = chart_files(&charts);
    files.push(("why.json".into(), json.into_bytes()));
    files.push(("report.html".into(), html(why, &charts, origin, provenance).into_bytes()));
    folder.write(&files)
}

fn html(why: &Why, charts: &[Chart], origin: Origin<'_>, provenance: &Provenance) -> String {
    let bound = if why.bound.is_some() { "Bound by" } else { "What bounds it is" };
    let line = why.verdict.as_ref().map(|verdict| format!("The run alone says: {}.", verdict.text));
    let unknown = why.effects.iter().filter_map(|effect| {
        effect.unknown.as_ref().map(|reason| format!("{} is not known: {reason}", effect.cause.name()))
    });
    let hardware = hardware_of(&why.device, origin.config);
    let without_change = format!("without a change {}; {}", text::unchanged(why), text::measured(why));
    Report {
        title: &format!("What bounds {} on {}", why.workload.name, why.device),
        about: hardware.map_or_else(String::new, |text| {
            format!(
                "<p><span class=\"soft hardware\">{}: {}.</span></p>\n",
                escaped(&why.device),
                escaped(&text)
            )
        }),
        verdict: [format!("{bound} {}.", why.text)].into_iter().chain(line).collect(),
        notes: [without_change].into_iter().chain(unknown).collect(),
        charts,
        tables: vec![Section::new("effects", "All changes", sheet(why).html())],
        again: Reproduction {
            sentences: vec![made_by(provenance), format!("Seed {}.", why.seed)],
            command: origin.command,
            configuration: origin.config,
        },
        ..Report::default()
    }
    .html()
}

fn sheet(why: &Why) -> Sheet {
    let row = |effect: &Effect| {
        let number = |text: String, value: Option<f64>, half| SheetCell { text, value, half };
        let factor = number(text::factor(effect), Some(effect.factor), None);
        let iops = number(text::gain(effect), effect.iops, None);
        let elasticities = effect.elasticities().map(|known| {
            let half = known.and_then(|known| known.half);
            number(text::shown(known), known.map(|known| known.value), half)
        });
        let cause = SheetCell::of_text(effect.cause.name().into());
        [cause, factor, iops].into_iter().chain(elasticities).collect()
    };
    Sheet {
        name: "Elasticities".into(),
        heads: HEADS.map(String::from).into(),
        rows: why.effects.iter().map(row).collect(),
    }
}
