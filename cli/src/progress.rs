//! A bar with rate and time left, on a terminal's standard error only.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts of requests known in advance.
const BAR: &str = "{msg} {wide_bar} {human_pos}/{human_len} requests, {per_sec}, {eta} left";
/// Counts of requests that nobody knows yet.
const SPINNER: &str = "{msg} {spinner} {human_pos} requests, {per_sec}";

/// How far a run is.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar called `name`, hidden where `quiet` or where standard error is no terminal.
    pub fn new(name: &str, quiet: bool) -> Self {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_message(name.to_string());
        bar.set_style(ProgressStyle::with_template(SPINNER).expect("the template is well formed"));
        Self(bar)
    }

    /// `done` requests of `total` are answered.
    pub fn show(&self, done: u64, total: Option<u64>) {
        if total != self.0.length() {
            let template = if total.is_some() { BAR } else { SPINNER };
            self.0.set_style(ProgressStyle::with_template(template).expect("the template is well formed"));
            total.inspect(|total| self.0.set_length(*total));
        }
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
