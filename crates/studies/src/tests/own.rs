//! Tests of studies with designs that no configuration names.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wordline_lab::devices::Configured;
use wordline_lab::error::{Error, Result};

use super::{NEVER, Store, done, progress, study};
use crate::{
    CallerDesigns, DesignMonitor, Designs, DeviceWithDesign, Progress, RunExecutor, RunNames, RunOutcome,
    State, Study, Task, carry_out, plan, run,
};

const STUDY: &str = "\
preset = \"tiny\"
workload = { name = \"randwrite-4k-steady\", requests = 500 }
columns = [\"write_amplification\"]

[[vary]]
key = \"design\"
values = [\"none\", \"sound\", \"broken\"]
sets = { none = {}, sound = {}, broken = {} }
";

/// Designs without effect. One of them fails at once. The source of a design is this text and the name of the
/// design.
struct Named(&'static str);

struct Idle {
    fails: bool,
}

impl DesignMonitor for Idle {
    fn has_failed(&self) -> bool {
        self.fails
    }

    fn error(&self) -> Option<String> {
        self.fails.then(|| "the design broken raised an error".to_owned())
    }

    fn note(&self, _: f64) -> String {
        "the design was never called".into()
    }
}

fn name(at: &toml::Table) -> &str {
    at.get("design").and_then(toml::Value::as_str).expect("it is varied")
}

impl CallerDesigns for Named {
    fn source(&self, at: &toml::Table) -> Option<String> {
        (name(at) != "none").then(|| format!("{} {}", self.0, name(at)))
    }

    fn metrics(&self) -> Vec<&'static str> {
        vec!["idle.calls"]
    }

    fn placed(&self, at: &toml::Table, device: &Arc<dyn Configured>) -> Result<Option<DeviceWithDesign>> {
        let placed = |name: &str| DeviceWithDesign {
            device: Arc::clone(device),
            design: Box::new(Idle { fails: name == "broken" }),
        };
        Ok(Some(name(at)).filter(|name| *name != "none").map(placed))
    }
}

fn with(source: &'static str) -> Study {
    Study { own: Designs(Some(Arc::new(Named(source)))), ..study(STUDY) }
}

fn states(path: &Path) -> Vec<(State, Option<String>)> {
    let store = Store::open(path).expect("a store");
    let files = std::fs::read_dir(path.join("runs")).expect("a folder");
    let names = files
        .map(|file| file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned());
    let record = |name: String| store.get(&name).expect("it can be read").expect("it is there");
    let mut all: Vec<_> = names.map(record).map(|record| (record.state, record.error)).collect();
    all.sort_by_key(|(_, error)| error.clone());
    all
}

#[test]
fn a_run_is_named_by_the_source_of_its_design_and_one_that_raises_has_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs");
    let store = Store::open(&path).expect("a new folder");
    let table = done(&with("first"), &store);
    assert_eq!((table.runs(), table.failed()), (3, 1));
    let error = Some("the design broken raised an error".to_owned());
    assert_eq!(states(&path), [(State::Done, None), (State::Done, None), (State::Failed, error)]);
    // With the same source all three runs are finished. With another source only the run without a design is.
    // Without designs, all three combinations are that run.
    let planned = |study: &Study| plan(study, &store, "program").expect("a plan").done;
    assert_eq!((planned(&with("first")), planned(&with("second")), planned(&study(STUDY))), (3, 1, 3));
    done(&with("second"), &store);
    assert_eq!(states(&path).len(), 5);
}

/// An executor whose designs have this source.
struct Beside(&'static str);

impl RunExecutor for Beside {
    fn carry_out(&self, runs: Vec<Task>, over: &mut dyn FnMut(&str, RunOutcome) -> Result<()>) -> Result<()> {
        let (own, mut names) = (Named(self.0), RunNames::default());
        for task in runs {
            let files = carry_out(&task.text, "program", (None, Some(&own)), &mut names, &NEVER)?;
            over(&task.name, RunOutcome::Files(files))?;
        }
        Ok(())
    }
}

#[test]
fn a_worker_with_another_source_is_refused() {
    let stop = AtomicBool::new(false);
    let at = |source| {
        let elsewhere = Progress { elsewhere: Some(&Beside(source)), ..progress(&stop) };
        run(&with("first"), &Store::in_memory(), "program", &elsewhere)
    };
    let table = at("first").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((table.runs(), table.failed()), (3, 1));
    let refused = at("second").map(|table| table.runs());
    let Err(Error::Argument { what, .. }) = refused else { panic!("it ran: {refused:?}") };
    assert_eq!(what, "the design of a worker");
}
