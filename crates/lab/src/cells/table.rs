//! Tables of evaluations for a terminal.

use wordline_kernel::counted;

use super::answer::Evaluation;

/// Aligns rows in columns: the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded = cells.map(|(n, (cell, width))| match n {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn rate(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.2e}") }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table of one evaluation: states, references, pages, programs and reads.
pub fn table(answer: &Evaluation) -> String {
    let mut text = format!("{}, {}\n\n", answer.set, counted(answer.places, "place"));
    let mut states = vec![row(&["state", "mean", "deviation", "reference above", "best"])];
    for (n, state) in answer.states.iter().enumerate() {
        let at = |all: &[f64]| all.get(n).map_or_else(String::new, |at| format!("{at:.1}"));
        let (mean, deviation) = (format!("{:.1}", state.mean), format!("{:.2}", state.deviation));
        let (default, best) = (at(&answer.references), at(&answer.best_references));
        states.push(vec![state.name.clone(), mean, deviation, default, best]);
    }
    let mut pages = vec![row(&["page", "senses", "bit errors", "at best references"])];
    for page in &answer.pages {
        let senses = page.senses.to_string();
        pages.push(vec![page.name.clone(), senses, rate(page.error_rate), rate(page.best_error_rate)]);
    }
    pages.push(vec!["mean".into(), String::new(), rate(answer.error_rate), rate(answer.best_error_rate)]);
    text += &format!("{}\n{}\n{}", aligned(&states), aligned(&pages), aligned(&facts(answer)));
    text
}

/// The results of programs, reads and layers, one per row.
fn facts(answer: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["errors between ER and P1".to_owned(), rate(answer.erased_to_p1.mean)]];
    let mut say = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    say(
        "worst layer by best",
        format!("{:.2} ({}, {})", answer.layer_ratio, answer.worst_layer, answer.best_layer),
    );
    let program = &answer.program;
    if program.loops > 0.0 {
        say("program", format!("{:.1} us", program.time_us));
        say("loops", format!("{:.2}", program.loops));
        say("verifies, skipped", format!("{:.1}, {:.1}", program.verifies, program.skipped));
        say("cells over-programmed", rate(program.over_programmed));
        say(
            "safe margins",
            format!("VStart +{} mV, VFinal -{} mV", answer.safe_start_mv, answer.safe_final_mv),
        );
    }
    let (plain, aware) = (answer.retries, answer.aware_retries);
    if answer.program.loops > 0.0 || plain.share > 0.0 {
        say("retried reads", percent(plain.share));
        say("retries of those", format!("{:.1}", plain.mean));
        say("decoding of a read", format!("{:.1} us", plain.decoding_us));
        say("the same, references kept by layer", format!("{}, {:.1}", percent(aware.share), aware.mean));
        say("not corrected", percent(plain.uncorrectable));
    }
    rows
}

/// Column titles of a curve, after the column of the key.
pub(super) const CURVE: [&str; 6] =
    ["bit errors", "at best references", "ER to P1", "retried", "retries per read", "program"];

/// The text of each column, and its number.
pub(super) fn curve_numbers(answer: &Evaluation) -> [(String, f64); 6] {
    let Evaluation { retries, program, .. } = answer;
    let rates = [answer.error_rate, answer.best_error_rate, answer.erased_to_p1.mean];
    let [errors, at_best, erased] = rates.map(|value| (rate(value), value));
    let again = (percent(retries.share), retries.share);
    let per_read = (format!("{:.2}", retries.mean_of_all), retries.mean_of_all);
    let program = (format!("{:.1} us", program.time_us), program.time_us);
    [errors, at_best, erased, again, per_read, program]
}

/// A table with one line for each value of the key.
pub fn curve(key: &str, answers: &[(String, Evaluation)]) -> String {
    let heads: Vec<&str> = std::iter::once(key).chain(CURVE).collect();
    let mut rows = vec![row(&heads)];
    for (value, answer) in answers {
        let numbers = curve_numbers(answer).map(|(text, _)| text);
        rows.push(std::iter::once(value.clone()).chain(numbers).collect());
    }
    aligned(&rows)
}
