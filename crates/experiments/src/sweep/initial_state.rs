//! Initial state of the devices of a sweep.

use serde::Deserialize;
use wordline_kernel::Complaints;
use wordline_lab::Precondition;

/// State of a device before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InitialState {
    /// Nothing was ever written.
    Empty {},
    /// A fraction of the logical pages was written once, in ascending order.
    Filled {
        /// The fraction.
        fraction: f64,
    },
    /// The device was overwritten at random until write amplification was steady.
    Steady {
        /// Fraction of the logical pages that contain data, from the first on. Default: all.
        fraction: Option<f64>,
        /// Whether all addresses of the volume contain data, even if they exceed the fraction, so that reads
        /// find data.
        #[serde(default)]
        covers_volume: bool,
    },
    /// All logical pages were written once, then the workload itself aged the device.
    Workload {
        /// Drive writes of the workload. Default: until write amplification was steady.
        drive_writes: Option<f64>,
    },
}

impl From<InitialState> for Precondition {
    fn from(state: InitialState) -> Self {
        match state {
            InitialState::Empty {} => Self::Empty,
            InitialState::Filled { fraction } => Self::Filled(fraction),
            InitialState::Steady { fraction: None, .. } => Self::Steady,
            InitialState::Steady { fraction: Some(fraction), .. } => Self::SteadyTo(fraction),
            InitialState::Workload { drive_writes } => Self::Workload(drive_writes),
        }
    }
}

/// The forms of a precondition.
pub const INITIAL_STATES: &str =
    "empty, filled, filled:0.5 or 0.5, steady-state, steady-state:0.5, workload or workload:3";

/// Converts a precondition to the form of an experiment. The form of the command line is accepted too.
pub fn initial_state_of(value: toml::Value) -> toml::Value {
    let table = |kind: &str, amount: Option<f64>| {
        let key = if kind == "workload" { "drive_writes" } else { "fraction" };
        let inner = amount.map(|amount| (key.to_owned(), amount.into()));
        toml::Table::from_iter([(kind.to_owned(), toml::Table::from_iter(inner).into())]).into()
    };
    let text = match &value {
        toml::Value::Integer(_) | toml::Value::Float(_) => Some(value.to_string()),
        _ => value.as_str().map(str::to_owned),
    };
    let state = text.as_deref().and_then(|text| match text.split_once(':') {
        None => Some((text, None)),
        Some((kind, amount)) => Some((kind, Some(amount.parse().ok()?))),
    });
    match state {
        Some(("empty", None)) => table("empty", None),
        Some(("filled", part)) => table("filled", Some(part.unwrap_or(1.0))),
        Some((fraction, None)) if fraction.parse::<f64>().is_ok() => table("filled", fraction.parse().ok()),
        Some(("steady-state", part)) => table("steady", part),
        Some(("workload", drives)) => table("workload", drives),
        _ => value,
    }
}

/// Checks the amounts of a state.
pub(super) fn check(before: Option<InitialState>, wrong: &mut Complaints) {
    match before {
        Some(InitialState::Filled { fraction }) => {
            let holds = (0.0..=1.0).contains(&fraction);
            wrong.require(holds, "precondition.filled.fraction", fraction, "a fraction from 0 to 1");
        }
        Some(InitialState::Steady { fraction: Some(fraction), .. }) => {
            let holds = fraction > 0.0 && fraction <= 1.0;
            wrong.require(holds, "precondition.steady.fraction", fraction, "a fraction above 0, up to 1");
        }
        Some(InitialState::Workload { drive_writes: Some(writes) }) => {
            let holds = writes > 0.0 && writes <= 1e6;
            wrong.require(holds, "precondition.workload.drive_writes", writes, "above 0, up to 1e6");
        }
        Some(
            InitialState::Empty {}
            | InitialState::Steady { fraction: None, .. }
            | InitialState::Workload { drive_writes: None },
        )
        | None => {}
    }
}
