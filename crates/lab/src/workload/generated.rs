//! Generators of requests. Their files are read like configurations.

use wordline_kernel::Complaints;

use crate::config::read::read;
use crate::trace::workload::{Application, Workload, application, names};

/// The generators of requests.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Generated {
    /// A pattern: requests are drawn independently.
    Pattern(Box<Workload>),
    /// An application: requests follow from the work of its threads.
    Application(Box<Application>),
}

impl Generated {
    /// The embedded pattern or application with this name.
    pub fn named(name: &str) -> Option<Self> {
        let application =
            Application::named(name).map(|application| Self::Application(Box::new(application)));
        application.or_else(|| Workload::named(name).ok().map(|pattern| Self::Pattern(Box::new(pattern))))
    }

    /// The names of all embedded patterns and applications.
    pub fn names() -> Vec<String> {
        [names(), application::names()].concat()
    }

    /// Description for lists, and kind of generator in words.
    pub fn description(&self) -> (&str, &'static str) {
        match self {
            Self::Pattern(pattern) => (&pattern.description, "synthetic"),
            Self::Application(application) => (&application.description, "application"),
        }
    }

    /// Reads a generator from the TOML text of the source `name`. A text with a model describes an
    /// application.
    ///
    /// # Errors
    /// Every fault, with source, line and key, the value found and the value wanted.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Complaints> {
        let has_model = text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("model"));
        if has_model {
            let application = read(name, text, Application::check)?;
            return Ok(Self::Application(Box::new(application)));
        }
        from_toml(name, text).map(|pattern| Self::Pattern(Box::new(pattern)))
    }
}

/// Reads a pattern from the TOML text of the source `name`.
///
/// # Errors
/// Every fault, with source, line and key, the value found and the value wanted.
pub fn from_toml(name: &str, text: &str) -> Result<Workload, Complaints> {
    read(name, text, Workload::check)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line has a malformed workload, and text that its error must contain.
    #[test]
    fn a_malformed_workload_is_one_error_that_names_line_or_key() {
        let good = [
            "description = \"a test\"",
            "requests = 10",
            "read_share = 0.5",
            "sizes = [{ size = \"4KiB\", weight = 1 }]",
            "pattern = { kind = \"uniform\" }",
            "arrival = { kind = \"closed\", queue_depth = 1 }",
            "precondition = \"empty\"",
        ];
        assert!(from_toml("w.toml", &good.join("\n")).is_ok());
        for (line, bad, wanted) in [
            (1, "requests = 0", "w.toml:2: requests: found 0"),
            (1, "requests = -3", "w.toml:2: requests: found -3"),
            (1, "reqests = 10", "w.toml:2: reqests: found an unknown key, wanted requests, or another of"),
            (1, "requests = 10\nrequests = 10", "w.toml:3:1: found duplicate key requests"),
            (2, "read_share = 1.5", "read_share: found 1.5"),
            (2, "read_share = 0.5\ndiscard_share = 0.6", "discard_share: found 0.6"),
            (2, "read_share = 0.5\ncompare_share = 0.6", "compare_share: found 0.6"),
            (2, "read_share = 0.5\nqueues = 0", "queues: found 0"),
            (3, "sizes = []", "sizes: found no size"),
            (3, "sizes = [{ size = \"4KiB\", weight = 0 }]", "sizes: found only weights of 0"),
            (3, "sizes = [{ size = \"4k\", weight = 1 }]", "w.toml:4: sizes[0].size: found \"4k\""),
            (3, "sizes = [{ size = \"1000B\", weight = 1 }]", "align (default): found 1000B"),
            (3, "sizes = [{ size = \"4KiB\", weight = 1 }]\nalign = \"16KiB\"", "sizes[0].size: found 4KiB"),
            (4, "pattern = { kind = \"unifrom\" }", "uniform, or another of"),
            (4, "pattern = { kind = \"uniform\", theta = 1.0 }", "theta"),
            (4, "pattern = { kind = \"zipf\", theta = 0.0 }", "pattern.theta: found 0"),
            (
                4,
                "pattern = { kind = \"hot-cold\", hot_accesses = 2.0, hot_addresses = 0.2 }",
                "pattern.hot_accesses",
            ),
            (5, "arrival = { kind = \"closed\", queue_depth = 0 }", "arrival.queue_depth: found 0"),
            (5, "arrival = { kind = \"fixed\", interval = \"0s\" }", "arrival.interval: found 0s"),
            (
                5,
                "arrival = { kind = \"bursts\", on = \"1ms\", off = \"1ms\", interval = \"0s\" }",
                "arrival.interval: found 0s",
            ),
            (
                5,
                "arrival = { kind = \"bursts\", on = \"0s\", off = \"1ms\", interval = \"1us\" }",
                "arrival.on: found 0s",
            ),
            (5, "arrival = { kind = \"fixed\", interval = \"100d\" }", "arrival.interval: found 8640000s"),
            (5, "arrival = { kind = \"fixed\", interval = \"107d\" }", "found \"107d\", wanted at most 106d"),
            (6, "precondition = \"full\"", "full"),
            (6, "precondition = \"empty\"\nregion = 0.0", "region: found 0"),
        ] {
            let mut lines = good.to_vec();
            lines[line] = bad;
            let error = from_toml("w.toml", &lines.join("\n")).expect_err(bad).to_string();
            assert!(error.contains(wanted), "{bad}: {error}");
        }
    }
}
