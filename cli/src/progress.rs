//! A bar with rate and time left, on a terminal's standard error only; and Ctrl-C.

use std::fmt::Write;
use std::io::IsTerminal;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use wordline_lab::run::{Observer, RUNNING, SAVING};

use crate::interrupt;

/// The number of requests is known.
const BAR: &str = "{msg} {wide_bar} {human_pos}/{human_len} requests, {rate}, {eta} left";
/// It is not.
const COUNTER: &str = "{msg} {spinner} {elapsed} {answered}";
/// Parts of an experiment.
const STEPS: &str = "{msg} {wide_bar} {pos}/{len} parts, {eta} left";

/// Watches one run.
pub struct Watch<'a> {
    bar: ProgressBar,
    name: &'a str,
}

impl<'a> Watch<'a> {
    /// Watches the run called `name`, without a bar where `quiet` or where standard error is no terminal.
    pub fn new(name: &'a str, quiet: bool) -> Self {
        Self { bar: bar(quiet), name }
    }
}

fn write_rate(state: &ProgressState, out: &mut dyn Write) {
    // A terminal that takes no text gets none: there is nobody to tell.
    let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
}

/// Nothing before the first request, as in a phase that answers none.
fn write_answered(state: &ProgressState, out: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(out, "{} requests, ", HumanCount(state.pos()));
        write_rate(state, out);
    }
}

/// The parts of an experiment that are done.
pub struct Steps(ProgressBar);

impl Steps {
    /// A bar for the experiment `name`, hidden as that of a [`Watch`].
    pub fn new(name: &str, quiet: bool) -> Self {
        let bar = bar(quiet);
        bar.set_style(ProgressStyle::with_template(STEPS).expect("the template is well formed"));
        bar.set_message(name.to_string());
        Self(bar)
    }

    /// `done` of `total` parts are done.
    pub fn show(&self, done: usize, total: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn bar(quiet: bool) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target)
}

impl Observer for Watch<'_> {
    fn phase(&mut self, name: &'static str, total: Option<u64>) {
        // Before the first request there is nothing to show.
        interrupt::looks(name == RUNNING || name == SAVING);
        let template = if total.is_some() { BAR } else { COUNTER };
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        self.bar.set_style(style.with_key("rate", write_rate).with_key("answered", write_answered));
        self.bar.set_message(format!("{}: {name}", self.name));
        self.bar.reset();
        total.inspect(|total| self.bar.set_length(*total));
    }

    fn progress(&mut self, answered: u64) -> bool {
        self.bar.set_position(answered);
        !interrupt::asked()
    }

    fn goes_on(&mut self, _: u64) -> bool {
        !interrupt::asked()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
