//! A progress bar with rate and remaining time, shown only if standard error is a terminal. Progress also
//! checks for Ctrl-C.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use wordline_lab::observer::{
    OVERWRITING, Observer, PRECONDITIONING, READING, REBUILDING, RECOVERING, RUNNING, SAVING, SETTLING,
    WARMING_UP,
};
use wordline_lab::report::Quantity;

use crate::failure::print_message;
use crate::interrupt;
use crate::screen::{self, Verbosity};

/// Style of the bar if the amount of work is known.
fn bar_of(unit: &str) -> String {
    format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{rate}}, {{left}} left")
}

/// Style of the bar if the amount of work is not known.
fn counter_of(unit: &str) -> String {
    format!("{{msg}} {{spinner}} {{elapsed}} {{human_pos}} {unit}, {{rate}}")
}

/// Unit of the counter of a phase.
fn unit_of(phase: &str) -> &'static str {
    match phase {
        PRECONDITIONING | OVERWRITING | WARMING_UP | RECOVERING => "pages",
        READING | SAVING => "bytes",
        REBUILDING => "rows",
        _ => "requests",
    }
}

/// Style of the bar of a phase whose work is known in advance: of a rebuild, the share comes first.
fn known(unit: &str) -> String {
    let share = if unit == unit_of(REBUILDING) { "{percent} %, " } else { "" };
    bar_of(unit).replacen("{human_pos}", &format!("{share}{{human_pos}}"), 1)
}

/// The phase in which requests are written to a file.
pub const WRITING: &str = "writing";

/// Time between two steps of the spinner while the counter does not change. Chosen: ten steps per second look
/// like motion.
const SPINNER_INTERVAL: Duration = Duration::from_millis(100);
/// Style of the bar for the parts of an experiment.
const STEPS: &str = "{msg} {wide_bar} {pos}/{len} parts, {eta} left";

/// Shows the progress of one run.
pub struct RunProgress<'a> {
    bar: ProgressBar,
    name: &'a str,
    /// Current phase, and the time of its begin.
    phase: Option<(&'static str, Instant)>,
    /// Amount of work of the phase, if known.
    total: Option<u64>,
    /// Phase that a recovery interrupted, and its amount of work.
    interrupted: (&'static str, Option<u64>),
}

impl RunProgress<'_> {
    /// Prints the time of the phase, in verbose mode.
    fn end_phase(&mut self) {
        if let Some((name, since)) = self.phase.take().filter(|_| screen::is_at_least(Verbosity::Verbose)) {
            let seconds = Quantity::Seconds(since.elapsed().as_secs_f64());
            self.bar.suspend(|| print_message(&format!("{}: {name} took {seconds}", self.name)));
        }
    }
}

impl<'a> RunProgress<'a> {
    /// Creates the progress display of the run `name`. It has no bar if `quiet` is set, or if standard error
    /// is not a terminal.
    pub fn new(name: &'a str, quiet: bool) -> Self {
        Self { bar: bar(quiet), name, phase: None, total: None, interrupted: (RUNNING, None) }
    }
}

/// Steps per second. If `before` steps were done when the bar began, it is the mean since then, because the
/// bar itself would count these steps as done at once.
fn rate(state: &ProgressState, before: u64) -> f64 {
    match before {
        0 => state.per_sec(),
        _ => state.pos().saturating_sub(before) as f64 / state.elapsed().as_secs_f64().max(1e-3),
    }
}

fn left(state: &ProgressState, before: u64) -> Duration {
    let steps = state.len().unwrap_or(0).saturating_sub(state.pos()) as f64;
    match before {
        0 => state.eta(),
        _ => Duration::try_from_secs_f64(steps / rate(state, before)).unwrap_or_default(),
    }
}

/// Style of a bar for work of which `before` steps were done when it began.
fn style(unit: &str, total: Option<u64>, before: u64) -> ProgressStyle {
    let template = if total.is_some() { known(unit) } else { counter_of(unit) };
    let style = ProgressStyle::with_template(&template).expect("the template is well formed");
    // If printing fails, nothing can report it, so the failure is ignored.
    style
        .with_key("rate", move |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}/s", HumanCount(rate(state, before) as u64));
        })
        .with_key("left", move |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{:#}", HumanDuration(left(state, before)));
        })
}

/// Progress of an experiment, in parts.
pub struct ExperimentProgress(ProgressBar);

impl ExperimentProgress {
    /// Creates a bar for the experiment `name`. It is hidden under the same conditions as the bar of a
    /// [`RunProgress`].
    pub fn new(name: &str, quiet: bool) -> Self {
        let bar = bar(quiet);
        bar.set_style(ProgressStyle::with_template(STEPS).expect("the template is well formed"));
        bar.set_message(screen::visible(name).into_owned());
        Self(bar)
    }

    /// Shows that `done` of `total` parts are finished.
    pub fn show(&self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }
}

impl Drop for ExperimentProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn bar(quiet: bool) -> ProgressBar {
    let hidden = quiet || !screen::is_at_least(Verbosity::Normal) || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target)
}

impl RunProgress<'_> {
    /// Begins a phase in which `done` steps are already done.
    fn begin(&mut self, name: &'static str, total: Option<u64>, done: u64) {
        self.end_phase();
        (self.phase, self.total) = (Some((name, Instant::now())), total);
        // Before the first request there are no results to print.
        interrupt::set_polling(matches!(name, SETTLING | RUNNING | REBUILDING | RECOVERING | SAVING));
        self.bar.set_style(style(unit_of(name), total, done));
        self.bar.set_message(screen::visible(&format!("{}: {name}", self.name)).into_owned());
        self.bar.reset();
        self.bar.set_position(done);
        total.inspect(|total| self.bar.set_length(*total));
        if !self.bar.is_hidden() {
            self.bar.enable_steady_tick(SPINNER_INTERVAL);
        }
    }
}

impl Observer for RunProgress<'_> {
    fn phase(&mut self, name: &'static str, total: Option<u64>) {
        self.begin(name, total, 0);
    }

    fn set_total(&mut self, total: u64) {
        if self.total.is_none() {
            let unit = self.phase.map_or("requests", |(name, _)| unit_of(name));
            self.bar.set_style(style(unit, Some(total), 0));
        }
        if self.total.replace(total) != Some(total) {
            self.bar.set_length(total);
        }
    }

    fn recovery_began(&mut self, pages: u64) {
        self.interrupted = (self.phase.map_or(RUNNING, |(name, _)| name), self.total);
        self.begin(RECOVERING, Some(pages), 0);
    }

    fn recovery_ended(&mut self, completed: u64) {
        let (name, total) = self.interrupted;
        self.begin(name, total, completed);
    }

    fn progress(&mut self, completed: u64) -> bool {
        self.bar.set_position(completed);
        !interrupt::asked()
    }

    fn phase_progress(&mut self, done: u64) -> bool {
        self.bar.set_position(done);
        !interrupt::asked()
    }
}

impl Drop for RunProgress<'_> {
    fn drop(&mut self) {
        self.end_phase();
        self.bar.finish_and_clear();
    }
}

#[test]
fn every_phase_says_what_it_counts() {
    let phases = [
        READING,
        PRECONDITIONING,
        OVERWRITING,
        WARMING_UP,
        SETTLING,
        RUNNING,
        REBUILDING,
        RECOVERING,
        SAVING,
        WRITING,
    ];
    let unit = phases.map(unit_of);
    assert_eq!(
        unit,
        ["bytes", "pages", "pages", "pages", "requests", "requests", "rows", "pages", "bytes", "requests"]
    );
    for unit in unit {
        assert!(bar_of(unit).contains(&format!("{{human_len}} {unit}, {{rate}}, {{left}} left")));
        for template in [known(unit), counter_of(unit)] {
            assert!(ProgressStyle::with_template(&template).is_ok(), "{template}");
        }
    }
}
