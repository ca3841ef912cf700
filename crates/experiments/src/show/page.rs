//! The report page of an experiment. It lists and draws each value of the paper with ours.

use crate::experiment::Experiment;
use crate::judge::class::Class;
use crate::judge::counts::{VerdictCounts, list_counts};
use crate::judge::outcome::{Outcome, Row, Value, Verdict};
use crate::show::chart::{Chart, charts};
use crate::show::record::FOLDED;
use crate::show::table::shown;
use wordline_lab::error::Result;
use wordline_lab::output::ReportFolder;
use wordline_lab::report::{
    Report, Reproduction, Section, add, chart_files, escaped, list, list_of_hardware, made_by, of_tables,
    pretty,
};

/// Style sheet of the rows.
const STYLE: &str = include_str!("../../assets/rows.css");

/// Writes a report to a folder, and replaces an existing report: `report.html`, which needs no network,
/// `outcome.json` and `charts/NAME.vl.json`.
pub fn write_report(folder: ReportFolder, experiment: &Experiment, outcome: &Outcome) -> Result<()> {
    let charts = charts(experiment, outcome);
    let mut files = chart_files(&charts);
    files.push(("outcome.json".into(), pretty(outcome).into_bytes()));
    files.push(("report.html".into(), html(experiment, outcome, &charts).into_bytes()));
    folder.write(&files)
}

/// Builds the page.
pub(crate) fn html(experiment: &Experiment, outcome: &Outcome, charts: &[Chart]) -> String {
    let command = outcome.provenance.command_line();
    let seeds = match outcome.seeds {
        0 | 1 => format!("Seed {}.", outcome.seed),
        seeds => format!("{seeds} seeds from {} on.", outcome.seed),
    };
    let report = Report {
        title: &experiment.title,
        about: format!(
            "<p><code>{}</code> <span class=\"soft\">{}</span></p>\n{}",
            escaped(&experiment.id),
            escaped(&experiment.source),
            list_of_hardware(outcome.devices.iter().cloned()),
        ),
        verdict: verdict(outcome),
        notes: outcome.notes.clone(),
        more: left_open(experiment),
        charts,
        tables: vec![Section::new("rows", "The paper's values beside ours", rows(&outcome.rows))],
        again: Reproduction {
            sentences: vec![made_by(&outcome.provenance), seeds],
            command: &command,
            configuration: &experiment.text,
        },
        style: STYLE,
        key: None,
    };
    report.html()
}

/// Maximum number of rows that the verdict names. Chosen: the verdict is a sentence, not the table.
const MAX_NAMED_ROWS: usize = 4;

/// For each class that tests the model, the number of rows that agree with the paper, and the rows outside. Without
/// such a class, those of the others.
fn verdict(outcome: &Outcome) -> Vec<String> {
    let is_tested = outcome.counts.has_judged();
    if !is_tested && outcome.counts.by_class().next().is_none() {
        return vec!["Nothing is compared here: the values are only shown.".to_owned()];
    }
    let is_told = |class: Class| class.is_judged() || !is_tested;
    let judged = outcome.counts.by_class().filter(|(class, _)| is_told(*class));
    let sentence = |(class, stand): (Class, VerdictCounts)| {
        let VerdictCounts { judged, within, direction, outside, explained, contradicted, unsure } = stand;
        let how = list_counts(&[
            (within, "within the band"),
            (direction, "in sign or order, or in a band too wide for more"),
            (outside, "outside"),
            (explained, "of these for a reason that a change of the model shows"),
            (contradicted, "of these contradicted by other numbers of the paper"),
            (unsure, "with seeds that do not agree on it"),
        ]);
        let class = if class == Class::Fitted { "fitted values".to_owned() } else { class.to_string() };
        format!("Of {judged} {class}: {how}.")
    };
    let untested = (!is_tested)
        .then(|| "No row tests the model: the values are fitted, or hold by construction.".to_owned());
    let mut all: Vec<String> = untested.into_iter().chain(judged.map(sentence)).collect();
    let is_missed = |row: &&Row| row.verdict == Verdict::Outside && row.under.is_none() && is_told(row.class);
    let names: Vec<String> = outcome.rows.iter().filter(is_missed).map(Row::shown_what).collect();
    if !names.is_empty() {
        let more = names.len().saturating_sub(MAX_NAMED_ROWS);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        all.push(format!("Outside: {}{more}.", names[..names.len().min(MAX_NAMED_ROWS)].join("; ")));
    }
    all
}

fn left_open(experiment: &Experiment) -> String {
    if experiment.left_open.is_empty() {
        return String::new();
    }
    let summary = "<details><summary>What the source leaves open, and what was chosen</summary>";
    format!("{summary}{}</details>\n", list(&experiment.left_open))
}

/// Verdicts for the filter: CSS class, sign that works without colour, and text.
const CLASSES: [(&str, &str, &str); 4] = [
    ("within", "✓", "within"),
    ("direction", "↗", "direction"),
    ("outside", "✕", "outside"),
    ("own", "↺", "identity or fitted"),
];

fn class(row: &Row) -> &'static str {
    match row.verdict {
        Verdict::Shown => "shown",
        Verdict::Outside => "outside",
        _ if !row.class.is_judged() => "own",
        Verdict::Within => "within",
        Verdict::Direction => "direction",
    }
}

/// The compared rows, with a filter by verdict. Rows of interpretation B, rows under a change, and rows that
/// are only shown follow, folded.
fn rows(rows: &[Row]) -> String {
    let (shown, judged): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.verdict == Verdict::Shown);
    let mut out = String::new();
    let (first, behind): (Vec<&Row>, Vec<&Row>) = judged.iter().partition(|row| !row.is_folded());
    if !judged.is_empty() {
        let name = "Rows that are compared";
        out += &(filter(&judged) + KEY + &of_tables(name, &table(name, &first)));
    }
    let folded = |name: &str, summary: &str, rows: &[&Row]| match rows {
        [] => String::new(),
        rows => format!(
            "<details><summary>{summary}: {}</summary>\n{}</details>\n",
            rows.len(),
            of_tables(name, &table(name, rows)),
        ),
    };
    out += &folded(FOLDED, FOLDED, &behind);
    out += &folded("Rows that are only shown", "Only shown, for nothing is compared", &shown);
    out
}

/// Check boxes, one for each verdict that occurs. The style sheet hides the rows whose box is not checked.
fn filter(rows: &[&Row]) -> String {
    let mut out = "<fieldset class=\"filter\"><legend>Rows by verdict</legend>\n".to_owned();
    for (name, sign, words) in CLASSES {
        let count = rows.iter().filter(|row| class(row) == name).count();
        if count > 0 {
            add(
                &mut out,
                format_args!(
                    "<label class=\"verdict {name}\"><input type=\"checkbox\" id=\"only-{name}\" checked>\
                     <span><span aria-hidden=\"true\">{sign}</span> {words}: {count}</span></label>\n"
                ),
            );
        }
    }
    out + "</fieldset>\n"
}

/// Legend of the drawings in the rows.
const KEY: &str = "<p class=\"key beside\"><span><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><path class=\"paper\" d=\"M5 0 10 5 5 10 0 5z\"/></svg> the paper's value</span> \
     <span><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><circle class=\"ours\" cx=\"5\" cy=\"5\" r=\"4\"/></svg> ours</span> \
     <span><svg viewBox=\"0 0 16 10\" aria-hidden=\"true\"><rect class=\"band\" width=\"16\" height=\"10\"/></svg> the band that ours should lie in</span></p>\n";

/// A table of rows. On a narrow page its cells are stacked. ARIA roles tell screen readers that it is a
/// table.
fn table(name: &str, rows: &[&Row]) -> String {
    let mut out = format!(
        "<table class=\"rows\" role=\"table\" aria-label=\"{name}\"><thead role=\"rowgroup\"><tr role=\"row\">"
    );
    for head in ["verdict", "what", "paper", "ours", "band"] {
        let class = if matches!(head, "paper" | "ours") { " class=\"number\"" } else { "" };
        add(&mut out, format_args!("<th scope=\"col\" role=\"columnheader\"{class}>{head}</th>"));
    }
    out += "</tr></thead><tbody role=\"rowgroup\">\n";
    rows.iter().for_each(|row| out += &line(row));
    out + "</tbody></table>\n"
}

fn line(row: &Row) -> String {
    let class = class(row);
    let of_paper = if row.own_expectation { "expected here" } else { "paper" };
    let sign = CLASSES.iter().find(|(name, ..)| *name == class).map_or("○", |(_, sign, _)| sign);
    let [paper, ours] = shown(row);
    let half = row.interval.map(|[least, greatest]| format!(" data-half=\"{}\"", (greatest - least) / 2.0));
    let unit = format!(" data-unit=\"{}\"", escaped(&row.unit));
    let of_ours = half.unwrap_or_default();
    let [paper, ours] =
        [(&row.paper, paper, &unit), (&row.ours, ours, &of_ours)].map(|(value, text, more)| match value {
            Value::Number(number) => (
                format!("{text} {}", row.unit).trim_end().to_owned(),
                format!(" class=\"number\" data-value=\"{number}\"{more}"),
            ),
            Value::Text(_) => (text, " class=\"words\"".to_owned()),
        });
    let cell = |name: &str, (text, class): &(String, String)| {
        let name = if text.is_empty() { String::new() } else { format!(" data-name=\"{name}\"") };
        format!("<td role=\"cell\"{class}{name}>{}</td>", escaped(text))
    };
    format!(
        "<tr role=\"row\" class=\"{class}\"><td role=\"cell\"><span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span></td>\
         <td role=\"cell\" class=\"what\">{}</td>{}{}<td role=\"cell\" class=\"beside\" data-csv=\"{}\">{}</td></tr>\n",
        escaped(&row.shown_verdict().to_lowercase()),
        what(row),
        cell(of_paper, &paper),
        cell("ours", &ours),
        escaped(&row.band),
        drawing(row),
    )
}

/// Description of a row. Below it, folded, are the remarks: why the value is outside, how the band is
/// derived, and the source.
fn what(row: &Row) -> String {
    let claim = row.claim.as_ref().map(|claim| format!("<span class=\"claim\">{}</span> ", escaped(claim)));
    let outside = row.verdict == Verdict::Outside && !row.note.is_empty();
    let open = if outside { " open" } else { "" };
    let remarks = row.remarks();
    let remarks = if remarks.is_empty() { String::new() } else { format!("<p>{}</p>", escaped(&remarks)) };
    format!(
        "{}{}<details{open}><summary>More<span class=\"unseen\"> of {}</span></summary>{remarks}<p>Source: {}</p></details>",
        claim.unwrap_or_default(),
        escaped(&row.shown_what()),
        escaped(&row.what),
        escaped(&row.source),
    )
}

/// Length of the axis of a drawing, in the units of the drawing.
const LENGTH: f64 = 160.0;

/// The paper's value, ours and the band on one axis, if both values are numbers. Each row has its own scale,
/// because units differ.
fn drawing(row: &Row) -> String {
    let (Value::Number(paper), Value::Number(ours)) = (&row.paper, &row.ours) else { return String::new() };
    let marks = [Some([*paper, *ours]), row.limits, row.interval].into_iter().flatten().flatten();
    let (least, most) = marks.fold((*paper, *paper), |(least, most), mark| (mark.min(least), mark.max(most)));
    if !(most - least).is_finite() {
        return String::new();
    }
    let spread = if most > least { most - least } else { 1.0 };
    // A tenth of the axis is left free at both ends.
    let place = |value: f64| LENGTH * (0.1 + 0.8 * (value - (least + most) / 2.0) / spread + 0.4);
    let band = row.limits.map(|[from, to]| {
        let (x, width) = (place(from), (place(to) - place(from)).max(1.0));
        format!("<rect class=\"band\" x=\"{x:.1}\" y=\"2\" width=\"{width:.1}\" height=\"16\" rx=\"2\"/>")
    });
    let interval = row.interval.map(|[from, to]| {
        let (from, to) = (place(from), place(to));
        format!("<path class=\"interval\" d=\"M{from:.1} 10H{to:.1}M{from:.1} 7v6M{to:.1} 7v6\"/>")
    });
    let [shown_paper, shown_ours] = shown(row);
    let said_band = if row.band.is_empty() { String::new() } else { format!(", band {}", row.band) };
    let whose = if row.own_expectation { "expected here" } else { "paper" };
    let name = format!("{whose} {shown_paper}, ours {shown_ours}{said_band}");
    let (x, y) = (place(*paper), place(*ours));
    let said = if row.band.is_empty() {
        String::new()
    } else {
        format!("<span class=\"soft\">{}</span>", escaped(&row.band))
    };
    format!(
        "<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {LENGTH} 20\">{}<path class=\"axis\" d=\"M0 10H{LENGTH}\"/>\
         <path class=\"paper\" d=\"M{x:.1} 3l7 7-7 7-7-7z\"/>{}<circle class=\"ours\" cx=\"{y:.1}\" cy=\"10\" r=\"4\"/></svg>{said}",
        escaped(&name),
        band.unwrap_or_default(),
        interval.unwrap_or_default(),
    )
}

#[cfg(test)]
#[path = "../../../lab/src/report/colours.rs"]
mod colours;
#[cfg(test)]
#[path = "../../../lab/src/report/structure.rs"]
mod structure;

#[cfg(test)]
mod tests {
    use super::colours::{contrast, palettes};
    use super::structure::assert_sound;
    use super::*;
    use crate::Library;

    fn row(verdict: Verdict, paper: Value, ours: Value) -> Row {
        Row {
            claim: Some("A-1".into()),
            paper,
            ours,
            unit: "%".into(),
            band: "from 1 to 4".into(),
            limits: Some([1.0, 4.0]),
            derivation: "as printed".into(),
            verdict,
            source: "figure 1".into(),
            note: "because".into(),
            ..Row::named("gain < \"others\"".into())
        }
    }

    /// A page with a row of each verdict.
    fn page() -> String {
        let number = Value::Number;
        let text = |text: &str| Value::Text(text.to_owned());
        let own = Row { class: Class::Fitted, ..row(Verdict::Within, number(2.0), number(2.0)) };
        let mut outcome = Outcome::new("paper/name");
        outcome.set_rows(vec![
            row(Verdict::Within, number(2.0), number(3.0)),
            row(Verdict::Direction, text("rises with n"), text("1, 2, 3")),
            row(Verdict::Outside, number(2.0), number(8.5)),
            row(Verdict::Shown, number(2.0), text("no value")),
            row(Verdict::Shown, text(""), number(1.0)),
            own,
        ]);
        outcome.notes.push("scaled down: <half>".into());
        let library = Library::open(None).expect("well formed");
        let experiment = library.find("validation/waf-uniform").expect("embedded")[0];
        html(experiment, &outcome, &charts(experiment, &outcome))
    }

    #[test]
    fn a_page_of_rows_can_be_read_and_operated_without_eyes_and_mouse() {
        assert_sound(&page());
    }

    #[test]
    fn each_verdict_can_be_hidden_and_is_told_by_a_word_and_a_sign() {
        let page = page();
        for (name, sign, words) in CLASSES {
            assert_eq!(page.matches(&format!("<tr role=\"row\" class=\"{name}\">")).count(), 1, "{name}");
            assert!(page.contains(&format!("id=\"only-{name}\" checked")), "{name}");
            assert!(page.contains(&format!("<span aria-hidden=\"true\">{sign}</span> {words}: 1")), "{name}");
            assert!(
                STYLE.contains(&format!("main:has(#only-{name}:not(:checked)) .rows tr.{name}")),
                "{name}"
            );
        }
    }

    #[test]
    fn verdicts_have_a_contrast_of_four_and_a_half_and_drawings_one_of_three_in_light_and_dark() {
        let pages = palettes(include_str!("../../../lab/assets/report.css"));
        for (page, verdicts) in pages.into_iter().zip(palettes(STYLE)) {
            for verdict in ["within", "direction", "outside", "shown", "own"] {
                let ink = verdicts[format!("{verdict}-ink").as_str()];
                assert!(contrast(ink, verdicts[verdict]) >= 4.5, "{verdict}");
                // The dot of our value must be visible on the paper and on the band.
                for ground in ["paper", "line"] {
                    assert!(contrast(ink, page[ground]) >= 3.0, "{verdict} on {ground}");
                }
            }
        }
    }

    #[test]
    fn rows_that_do_not_test_the_model_are_counted_where_there_are_no_others() {
        let fitted =
            |verdict| Row { class: Class::Fitted, ..row(verdict, Value::Number(2.0), Value::Number(9.0)) };
        let of = |rows: Vec<Row>| {
            let mut outcome = Outcome::new("paper/name");
            outcome.set_rows(rows);
            verdict(&outcome)
        };
        let told = of(vec![fitted(Verdict::Within), fitted(Verdict::Outside)]);
        assert_eq!(told[1], "Of 2 fitted values: 1 within the band, 1 outside.");
        assert!(
            told[0].starts_with("No row tests the model") && told[2].starts_with("Outside: "),
            "{told:?}"
        );
        let shown = of(vec![row(Verdict::Shown, Value::Number(2.0), Value::Number(9.0))]);
        assert_eq!(shown, ["Nothing is compared here: the values are only shown."]);
        let printed =
            of(vec![row(Verdict::Within, Value::Number(2.0), Value::Number(2.0)), fitted(Verdict::Outside)]);
        assert_eq!(printed, ["Of 1 printed numbers: 1 within the band."]);
    }

    #[test]
    fn rows_that_are_only_shown_are_folded() {
        let page = page();
        let folded = page.split("Only shown, for nothing is compared: 2").nth(1).expect("they are there");
        let folded = folded.split("</section>").next().expect("a section ends");
        assert_eq!(folded.matches("class=\"shown\"").count(), 2);
        assert_eq!(page.matches("<tr role=\"row\" class=\"shown\">").count(), 2, "nowhere else");
    }

    #[test]
    fn the_papers_value_is_drawn_beside_ours_on_one_axis_with_the_band() {
        let drawn = drawing(&row(Verdict::Outside, Value::Number(2.0), Value::Number(11.0)));
        assert!(drawn.contains("aria-label=\"paper 2.00, ours 11.0, band from 1 to 4\""), "{drawn}");
        // The values 1 to 11 span 128 units; a tenth of 160 is left free at both ends.
        for mark in ["x=\"16.0\" y=\"2\" width=\"38.4\"", "M28.8 3l", "cx=\"144.0\""] {
            assert!(drawn.contains(mark), "{mark}: {drawn}");
        }
        let over_seeds = Row {
            interval: Some([2.5, 3.5]),
            own_expectation: true,
            ..row(Verdict::Within, Value::Number(2.0), Value::Number(3.0))
        };
        let drawn = drawing(&over_seeds);
        let name = "aria-label=\"expected here 2.00, ours 3.00 ± 0.50, band from 1 to 4\"";
        assert!(drawn.contains(name) && drawn.contains("class=\"interval\""), "{drawn}");
        assert_eq!(
            drawing(&row(Verdict::Direction, Value::Text("rises".into()), Value::Text("1, 2".into()))),
            ""
        );
        let equal = Row {
            limits: None,
            band: String::new(),
            ..row(Verdict::Shown, Value::Number(0.0), Value::Number(0.0))
        };
        assert!(drawing(&equal).contains("cx=\"80.0\""));
    }
}
