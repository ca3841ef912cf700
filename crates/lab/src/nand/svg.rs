//! A picture of a time line: rows for buses and dies, colours for stages, and an axis with units.

use std::fmt::Write;

use wordline_kernel::Instant;
use wordline_nand::{Span, Stage};
use wordline_run::trace_event::decimal;

use super::bench::STAGES;
use super::timeline::{TimelineInput, lanes, nanoseconds, planes};

// Sizes in pixels. Chosen for a page of text.
const WIDTH: u64 = 1_000;
const LEFT: u64 = 110;
const RIGHT: u64 = 24;
const TOP: u64 = 58;
const ROW: u64 = 22;
const GAP: u64 = 6;
const AXIS: u64 = 40;
const PLOT: u64 = WIDTH - LEFT - RIGHT;
/// Least width of a stage that shows its name, in thousandths of a pixel.
const NAMED: u64 = 34_000;
/// Greatest number of ticks on the axis.
const TICKS: u64 = 10;

/// The colour of a stage, from the colour-blind-safe palette of Okabe and Ito.
fn colour(stage: Stage) -> &'static str {
    match stage {
        Stage::Cle => "#56b4e9",
        Stage::Ale => "#0072b2",
        Stage::Tir => "#009e73",
        Stage::Tor => "#f0e442",
        Stage::Tin => "#d55e00",
        Stage::Ton => "#e69f00",
        Stage::Ber => "#cc79a7",
        Stage::Idle => "#999999",
    }
}

/// The time line of `scene` as an SVG document with this `title`.
pub fn svg(scene: &TimelineInput<'_>, title: &str) -> String {
    let rows = rows(scene);
    let height = TOP + rows.len() as u64 * (ROW + GAP) + AXIS;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n",
        title = escaped(title),
    );
    legend(&mut out, scene.spans);
    let axis = Axis::over(scene.spans);
    ticks(&mut out, &axis, height - AXIS);
    for (n, (name, spans)) in (0..).zip(&rows) {
        let y = TOP + n * (ROW + GAP);
        let middle = y + ROW / 2 + 4;
        let end = LEFT - 8;
        line(&mut out, &format!("<text x=\"{end}\" y=\"{middle}\" text-anchor=\"end\">{name}</text>"));
        spans.iter().for_each(|span| stage(&mut out, scene, &axis, span, y));
    }
    out + "</svg>\n"
}

/// The rows with their names. Each bus is followed by its dies.
fn rows(scene: &TimelineInput<'_>) -> Vec<(String, Vec<Span>)> {
    let (mut buses, dies) = (scene.buses(), scene.dies());
    let mut rows = Vec::new();
    let mut bus_row = |channel: u32, rows: &mut Vec<_>| {
        let held = buses.remove(&channel).into_iter().flatten().copied().collect::<Vec<Span>>();
        if !held.is_empty() {
            rows.push((format!("bus {channel}"), held));
        }
    };
    for (place, spans) in &dies {
        bus_row(place.channel, &mut rows);
        for lane in lanes(spans) {
            rows.push((format!("die {}", place.die), lane.into_iter().copied().collect()));
        }
    }
    rows
}

/// The time range of the picture.
struct Axis {
    begin: u64,
    length: u64,
}

impl Axis {
    fn over(spans: &[Span]) -> Self {
        let begin = spans.iter().map(|span| span.begin).min().unwrap_or_default();
        let end = spans.iter().map(Span::end).max().unwrap_or_default();
        Self { begin: begin.ps(), length: end.since(begin).ps().max(1) }
    }

    /// The position of an instant in thousandths of a pixel. Adjacent stages have the same position at their
    /// common edge.
    fn at(&self, instant: Instant) -> u64 {
        let since = u128::from(instant.ps() - self.begin);
        let along = since * u128::from(PLOT * 1_000) / u128::from(self.length);
        LEFT * 1_000 + along as u64
    }

    /// Time between two ticks: 1, 2 or 5 times a power of ten.
    fn step(&self) -> u64 {
        let steps = (0..19).flat_map(|power| [1, 2, 5].map(|n| n * 10_u64.pow(power)));
        steps.into_iter().find(|step| self.length / step < TICKS).unwrap_or(self.length)
    }

    /// The unit of the labels in picoseconds, and its name: the smallest unit in which the last label has at
    /// most four digits before the point. Chosen.
    fn unit(&self) -> (u64, &'static str) {
        let units = [(1, "ps"), (1_000, "ns"), (1_000_000, "µs"), (1_000_000_000, "ms")];
        let end = self.begin + self.length;
        let fits = units.into_iter().find(|(size, _)| end / size < 10_000);
        fits.unwrap_or((1_000_000_000_000, "s"))
    }
}

fn ticks(out: &mut String, axis: &Axis, bottom: u64) {
    let (step, (unit, name)) = (axis.step(), axis.unit());
    line(out, &format!("<g stroke=\"#cccccc\"><path d=\"M{LEFT} {bottom}H{}\"/>", LEFT + PLOT));
    let first = axis.begin.div_ceil(step) * step;
    let marks = || (0..).map(|n| first + n * step).take_while(|at| *at <= axis.begin + axis.length);
    for at in marks() {
        let x = pixels(axis.at(Instant::from_ps(at)));
        line(out, &format!("<path d=\"M{x} {TOP}V{}\"/>", bottom + 4));
    }
    line(out, "</g>");
    for at in marks() {
        let x = pixels(axis.at(Instant::from_ps(at)));
        let (y, label) = (bottom + 18, decimal(at, unit));
        line(out, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"));
    }
    let (x, y) = (LEFT - 24, bottom + 18);
    line(out, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{name}</text>"));
}

/// Draws the legend: the stages that occur, and their colours.
fn legend(out: &mut String, spans: &[Span]) {
    let shown = STAGES.into_iter().filter(|stage| spans.iter().any(|span| span.stage == *stage));
    for (n, stage) in (0..).zip(shown) {
        let x = LEFT + n * 64;
        let (fill, name, text) = (colour(stage), stage.name(), x + 16);
        line(out, &format!("<rect x=\"{x}\" y=\"32\" width=\"12\" height=\"12\" fill=\"{fill}\"/>"));
        line(out, &format!("<text x=\"{text}\" y=\"42\">{name}</text>"));
    }
}

fn stage(out: &mut String, scene: &TimelineInput<'_>, axis: &Axis, span: &Span, y: u64) {
    let (from, to) = (axis.at(span.begin), axis.at(span.end()));
    let (x, width, fill) = (pixels(from), pixels(to - from), colour(span.stage));
    let about = escaped(&about(scene, span));
    line(
        out,
        &format!(
            "<rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\" fill=\"{fill}\">\
             <title>{about}</title></rect>",
            span.stage.name(),
        ),
    );
    if to - from >= NAMED {
        let (x, y, name) = (pixels((from + to) / 2), y + ROW / 2 + 4, span.stage.name());
        line(out, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>"));
    }
}

/// The tooltip of a stage.
fn about(scene: &TimelineInput<'_>, span: &Span) -> String {
    let mut text = format!("{} of {}", span.stage.name(), scene.label(span.command));
    text += &format!(", die {}", span.die.0);
    if span.planes != 0 {
        let planes: Vec<String> = planes(span).iter().map(u32::to_string).collect();
        text += &format!(", planes {}", planes.join(" "));
    }
    let (begin, length) = (nanoseconds(span.begin.ps()), nanoseconds(span.length.ps()));
    text + &format!(": {length} ns from {begin} ns on")
}

/// A number of thousandths of a pixel, in pixels.
fn pixels(thousandths: u64) -> String {
    decimal(thousandths, 1_000)
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("a string takes any text");
}

/// Escapes text for an XML element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
