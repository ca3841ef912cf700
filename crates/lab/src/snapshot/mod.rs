//! The configuration of a saved device. Its state is in the same [file](wordline_run::snapshot).

#[cfg(test)]
mod tests;

pub use wordline_run::snapshot::{Head, Size, Snapshot, SnapshotState};

use wordline_kernel::Seed;
use wordline_run::prepare::Prepared;

use crate::devices::{DEVICE, DeviceType, Ssd, of_document};
use crate::error::{Error, Result};

/// The name of the configuration of a snapshot in messages.
pub(crate) fn label(snapshot: &Snapshot) -> String {
    format!("{} (configuration)", snapshot.path().display())
}

/// The type of the saved device.
pub fn device_type(snapshot: &Snapshot) -> String {
    let table: Option<toml::Table> = snapshot.head().configuration.parse().ok();
    let named = table.as_ref().and_then(|table| table.get(DEVICE)?.as_str());
    named.unwrap_or(Ssd::NAME).to_owned()
}

/// Checks that the saved device has the same configuration as `device`.
///
/// # Errors
/// [`Error::Content`] with the first key that differs.
pub fn check<T: DeviceType>(snapshot: &Snapshot, device: &T) -> Result<()> {
    let differs = |found: String, wanted: String| {
        Err(Error::Content { path: snapshot.path().to_owned(), found, wanted })
    };
    let name = device_type(snapshot);
    if name != T::NAME {
        return differs(
            format!("a device of the type {name}"),
            format!("the type {} as the device to run, or no device beside a snapshot", T::NAME),
        );
    }
    let own: T = of_document(&label(snapshot), &snapshot.head().configuration, &device.designs())?;
    let keys = |device: &T| toml::Value::try_from(device.file()).expect("keys of a device are TOML");
    let (own, wanted) = (keys(&own), keys(device));
    first_difference("", &own, &wanted).map_or(Ok(()), |(key, found, wanted)| {
        differs(
            format!("a device with {key} = {found}"),
            format!("{wanted} as in the device to run, or no device beside a snapshot"),
        )
    })
}

/// Restores the saved device, which must have the same configuration as `device`.
///
/// # Errors
/// Those of [`check`] and [`Prepared::restored`].
pub fn restore<T: DeviceType>(snapshot: Snapshot, device: &T) -> Result<Prepared<T::Device>> {
    check(&snapshot, device)?;
    let made = device.build(Seed(snapshot.head().seed));
    Prepared::restored(snapshot, made)
}

/// The first key in which two configurations differ, with both values. A key that is left out has the value
/// "nothing".
fn first_difference(
    key: &str,
    found: &toml::Value,
    wanted: &toml::Value,
) -> Option<(String, String, String)> {
    let (toml::Value::Table(left), toml::Value::Table(right)) = (found, wanted) else {
        return (found != wanted).then(|| (key.to_string(), found.to_string(), wanted.to_string()));
    };
    let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter().find_map(|name| {
        let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        match (left.get(name), right.get(name)) {
            (Some(left), Some(right)) => first_difference(&inner, left, right),
            (left, right) => {
                let text = |value: Option<&toml::Value>| value.map_or("nothing".into(), ToString::to_string);
                Some((inner, text(left), text(right)))
            }
        }
    })
}
