//! Several clients, each at its own pace, as the workload of a point: for example rate-limited writers
//! together with readers in a closed loop.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed};

use wordline_host::Pace;
use wordline_lab::arrivals::RequestSource;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::fio::JobFile;

/// Value of a variable of a job file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Variable {
    /// A number, so that a chart can have it as an axis.
    Number(u64),
    /// A text, such as a size.
    Text(String),
}

impl fmt::Display for Variable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => text.fmt(out),
        }
    }
}

/// Clients, described by a fio job file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// Description.
    pub description: String,
    /// Text of a fio job file with a section for each client.
    pub jobs: String,
    /// Values of the variables in the text. As in fio, `${NAME}` is replaced by the value of `NAME`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Variable>,
    /// Number of requests of all clients together.
    pub requests: u64,
}

impl Clients {
    fn file(&self) -> std::result::Result<JobFile, Complaints> {
        // Clients send requests at their rates, whatever is outstanding.
        JobFile::parse("clients.jobs", &self.text()).map(JobFile::offloaded)
    }

    /// The text with the values of its variables.
    fn text(&self) -> String {
        let replace = |text: String, (name, value): (&String, &Variable)| {
            text.replace(&reference(name), &value.to_string())
        };
        self.variables.iter().fold(self.jobs.clone(), replace)
    }

    fn check_variables(&self, wrong: &mut Complaints) {
        for name in self.variables.keys().filter(|name| !self.jobs.contains(&reference(name))) {
            let wanted = format!("a variable of the jobs, which have `{}` in their text", reference(name));
            wrong.add("clients.variables", name, wanted);
        }
        let text = self.text();
        let unset =
            text.split_once("${").map(|(_, rest)| rest.split_once('}').map_or(rest, |(name, _)| name));
        if let Some(name) = unset {
            wrong.add("clients.variables", format!("no `{name}`"), "a value for each variable of the jobs");
        }
    }

    /// Returns the requests on a device of `capacity`, and their pace. `beside` is the number of additional
    /// requests for a warm-up.
    pub(crate) fn requests(&self, seed: Seed, capacity: Bytes, beside: u64) -> Result<(RequestSource, Pace)> {
        let file = self.file().map_err(Error::Config)?;
        let most = self.requests.saturating_add(beside);
        let jobs = file.jobs(seed, capacity, Some(most)).map_err(Error::Config)?;
        Ok((RequestSource::Jobs(Box::new(jobs)), Pace::SourcePaced { pauses: file.has_pauses() }))
    }

    pub(crate) fn check(&self, wrong: &mut Complaints) {
        wrong.require(self.requests > 0, "clients.requests", self.requests, "at least 1");
        let before = wrong.0.len();
        self.check_variables(wrong);
        if wrong.0.len() > before {
            return;
        }
        if let Err(inner) = self.file() {
            wrong.nest("clients", inner);
        }
    }
}

/// A variable as it stands in the text.
fn reference(name: &str) -> String {
    format!("${{{name}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(jobs: &str, requests: u64) -> Vec<String> {
        let clients =
            Clients { description: "C".into(), jobs: jobs.into(), variables: BTreeMap::new(), requests };
        let mut wrong = Complaints::default();
        clients.check(&mut wrong);
        wrong.0.into_iter().map(|complaint| complaint.key).collect()
    }

    #[test]
    fn what_is_wrong_with_clients_is_named_by_its_line() {
        let jobs = "[writers]\nfilename=drive\nrw=randwrite\nbs=48k\nsize=1m\n";
        assert!(complaints(jobs, 1).is_empty());
        assert_eq!(complaints(jobs, 0), ["clients.requests"]);
        let wrong = complaints(&jobs.replace("bs=48k", "bss=48k"), 1);
        assert!(wrong[0].starts_with("clients.") && wrong[0].contains(":4"), "{wrong:?}");
    }

    #[test]
    fn requests_of_all_clients_are_counted_together() {
        let jobs = "[global]\nfilename=drive\nsize=4m\n[writers]\nrw=randwrite\nbs=48k\nrate_iops=1000\n[readers]\nrw=randread\nbs=4k\n";
        let clients =
            Clients { description: "C".into(), jobs: jobs.into(), variables: BTreeMap::new(), requests: 50 };
        let (requests, pace) = clients.requests(Seed(1), Bytes::mib(16), 7).expect("sound clients");
        assert_eq!(pace, Pace::SourcePaced { pauses: false }, "readers never pause");
        let sizes: Vec<u64> = requests.in_order().map(|request| request.expect("generated").size.0).collect();
        assert_eq!(sizes.len(), 57);
        assert!([4 << 10, 48 << 10].iter().all(|size| sizes.contains(size)), "both are there");
    }

    #[test]
    fn a_variable_is_replaced_in_the_text_and_one_without_a_value_or_a_use_is_a_complaint() {
        let jobs = "[writers]\nfilename=drive\nrw=randwrite\nbs=${SIZE}\nsize=1m\n";
        let with = |variables: &[(&str, &str)]| {
            let one = |(name, value): &(&str, &str)| ((*name).into(), Variable::Text((*value).into()));
            let variables = variables.iter().map(one).collect();
            let clients = Clients { description: "C".into(), jobs: jobs.into(), variables, requests: 1 };
            let mut wrong = Complaints::default();
            clients.check(&mut wrong);
            wrong.0.into_iter().map(|wrong| format!("{}: {}", wrong.key, wrong.found)).collect::<Vec<_>>()
        };
        assert!(with(&[("SIZE", "48k")]).is_empty());
        assert_eq!(with(&[]), ["clients.variables: no `SIZE`"]);
        assert_eq!(with(&[("SIZE", "48k"), ("RATE", "1")]), ["clients.variables: RATE"]);
        assert!(with(&[("SIZE", "a lot")])[0].starts_with("clients.clients.jobs:4"), "the line of the text");
    }
}
