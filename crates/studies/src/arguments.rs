//! A study without a file, from command-line arguments.

use std::path::{Path, PathBuf};

use wordline_experiments::{
    Axis, DeviceCache, INITIAL_STATES, InitialState, Sweep, Workload, initial_state_of,
};
use wordline_kernel::Duration;
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::Options;
use wordline_lab::{Until, WarmUp};

use crate::file::{Designs, KeyOrigin, Repeat, Study, workload_of};

/// Parts of a study without a file.
#[derive(Clone, Debug)]
pub struct StudyArguments<'a> {
    /// Preset that the device builds on.
    pub preset: Option<String>,
    /// The requests and their pace.
    pub load: LoadArguments<'a>,
    /// Precondition, in the form of the command line.
    pub precondition: Option<&'a str>,
    /// Warm-up; `None` for the default of a run.
    pub warm_up: Option<WarmUp>,
    /// Condition at which each run ends, in place of the last request.
    pub until: Option<Until>,
    /// Varied keys.
    pub vary: Vec<Axis>,
    /// Seeds.
    pub repeat: Repeat,
    /// Columns of the table; empty for the default columns.
    pub columns: Vec<String>,
    /// The configuration file of the device and its text, for messages.
    pub config: Option<(PathBuf, String)>,
}

/// The requests of a study without a file. A field that is `None` gets its value from the workload.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadArguments<'a> {
    /// Name of a built-in workload, or path of a workload file or a fio job file.
    pub workload: &'a str,
    /// A trace, in place of the workload.
    pub trace: Option<&'a Path>,
    /// Number of requests.
    pub requests: Option<u64>,
    /// Number of outstanding requests.
    pub queue_depth: Option<u32>,
    /// Factor on the times between requests of a trace or a file.
    pub time_scale: Option<f64>,
    /// Time between a completion and the next request of a trace or a file.
    pub think_time: Option<Duration>,
    /// Options for reading the trace.
    pub trace_options: Option<&'a Options>,
}

impl<'a> LoadArguments<'a> {
    /// A workload by its name, as it is.
    pub fn named(workload: &'a str) -> Self {
        Self { workload, ..Self::default() }
    }

    /// The workload as a study file has it.
    fn table(&self) -> toml::Table {
        let whole = |number: u64| toml::Value::from(i64::try_from(number).unwrap_or(i64::MAX));
        let text = |path: &Path| toml::Value::from(path.display().to_string());
        let (key, value) = match self.trace {
            Some(path) => ("trace", text(path)),
            None => ("name", self.workload.into()),
        };
        let mut table = toml::Table::from_iter([(key.to_owned(), value)]);
        table.extend(self.requests.map(|count| ("requests".to_owned(), whole(count))));
        table.extend(self.queue_depth.map(|depth| ("queue_depth".to_owned(), whole(depth.into()))));
        table.extend(self.time_scale.map(|scale| ("time_scale".to_owned(), scale.into())));
        table.extend(self.think_time.map(|time| ("think_time".to_owned(), time.to_string().into())));
        let options = self
            .trace_options
            .map(|options| toml::Value::try_from(options).expect("options are texts and numbers"));
        table.extend(options.map(|options| ("trace_options".to_owned(), options)));
        table
    }

    fn workload(&self) -> Result<Workload> {
        let refused = |what: &str, wanted: &str| Error::Argument {
            what: what.into(),
            found: format!("it with the workload {}", self.workload),
            wanted: wanted.into(),
        };
        let workload = workload_of(self.table().into()).try_into().map_err(|_: toml::de::Error| {
            match self.trace_options {
                Some(_) => refused("--format or --trace-option", "--trace FILE as well"),
                None => refused("--think-time", "a workload with another pace than that of a profile"),
            }
        });
        match workload? {
            Workload::Named(_) if self.time_scale.is_some() => {
                let wanted = "requests with times as well: --trace FILE, --workload FILE.toml";
                Err(refused("--time-scale", wanted))
            }
            workload => Ok(workload),
        }
    }
}

impl Study {
    /// Creates a study without a file, from a device, a workload, varied keys and seeds.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn from_arguments(
        registry: &Registry,
        device: toml::Table,
        asked: StudyArguments<'_>,
    ) -> Result<Self> {
        let text = asked.text(&device);
        let StudyArguments { preset, load, precondition, warm_up, until, vary, repeat, columns, config } =
            asked;
        let before =
            precondition.map(|text| initial_state_of(text.into()).try_into::<InitialState>()).transpose();
        let precondition = before.map_err(|_| Error::Argument {
            what: "--precondition".into(),
            found: format!("`{}`", precondition.unwrap_or_default()),
            wanted: INITIAL_STATES.into(),
        })?;
        let sweep = Sweep {
            preset,
            device,
            workload: load.workload()?,
            precondition,
            from_snapshot: None,
            power_cut_after: None,
            warm_up,
            until,
            as_counted: false,
            vary,
            quick: None,
            registry: registry.clone(),
            place: "",
            devices: DeviceCache::default(),
        };
        let made = Self {
            path: PathBuf::from("sweep"),
            written: KeyOrigin::Arguments,
            text,
            title: "Sweep".to_owned(),
            sweep,
            repeat,
            columns,
            budget: None,
            against: toml::Table::new(),
            traces: None,
            own: Designs::default(),
            config,
        };
        made.checked()
    }
}

impl StudyArguments<'_> {
    /// Text of an equivalent file.
    fn text(&self, device: &toml::Table) -> String {
        let whole = |number: u64| toml::Value::from(i64::try_from(number).unwrap_or(i64::MAX));
        let axis = |axis: &Axis| {
            let values = toml::Value::Array(axis.values.clone());
            toml::Value::from(toml::Table::from_iter([
                ("key".to_owned(), axis.key.as_str().into()),
                ("values".to_owned(), values),
            ]))
        };
        let repeat = [("first", self.repeat.first), ("seeds", self.repeat.seeds.into())];
        let repeat = repeat.map(|(key, number)| (key.to_owned(), whole(number)));
        let text = |text: &str| toml::Value::from(text);
        let mut all = toml::Table::new();
        all.extend(self.preset.as_deref().map(|preset| ("preset".to_owned(), text(preset))));
        all.extend(self.precondition.map(|state| ("precondition".to_owned(), text(state))));
        all.extend(self.warm_up.map(|warm_up| ("warm_up".to_owned(), String::from(warm_up).into())));
        all.extend(self.until.as_ref().map(|until| ("until".to_owned(), until.to_string().into())));
        if !self.columns.is_empty() {
            all.insert("columns".to_owned(), self.columns.clone().into());
        }
        all.insert("workload".to_owned(), self.load.table().into());
        all.insert("repeat".to_owned(), toml::Table::from_iter(repeat).into());
        if !device.is_empty() {
            all.insert("device".to_owned(), device.clone().into());
        }
        all.insert("vary".to_owned(), toml::Value::Array(self.vary.iter().map(axis).collect()));
        all.to_string()
    }
}
