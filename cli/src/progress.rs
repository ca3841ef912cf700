//! A bar with rate and time left, on a terminal's standard error only; and Ctrl-C.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wordline_lab::run::Observer;

use crate::interrupt::Interrupt;

/// The number of requests is known.
const BAR: &str = "{msg} {wide_bar} {human_pos}/{human_len} requests, {per_sec}, {eta} left";
/// It is not.
const COUNTER: &str = "{msg} {spinner} {human_pos} requests, {per_sec}";

/// Watches one run.
pub struct Watch<'a> {
    bar: ProgressBar,
    name: &'a str,
    interrupt: &'a Interrupt,
}

impl<'a> Watch<'a> {
    /// Watches the run called `name`, without a bar where `quiet` or where standard error is no terminal.
    pub fn new(name: &'a str, quiet: bool, interrupt: &'a Interrupt) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        Self { bar: ProgressBar::with_draw_target(None, target), name, interrupt }
    }
}

impl Observer for Watch<'_> {
    fn phase(&mut self, name: &'static str, total: Option<u64>) {
        let template = if total.is_some() { BAR } else { COUNTER };
        self.bar.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
        self.bar.set_message(format!("{}: {name}", self.name));
        self.bar.reset();
        total.inspect(|total| self.bar.set_length(*total));
    }

    fn progress(&mut self, answered: u64) -> bool {
        self.bar.set_position(answered);
        !self.interrupt.asked()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
