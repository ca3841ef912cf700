//! Cache of the presets and devices of a sweep. Points share them, because each takes milliseconds to create.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wordline_lab::devices::Configured;

/// A device, and its configuration as text.
type DeviceAndText = (Arc<dyn Configured>, String);

/// Maximum number of cached devices. Chosen: most experiments have fewer, and a study of a million devices
/// must not keep all of them.
const MAX_CACHED_DEVICES: usize = 256;

/// The devices of a sweep, by the keys from which they were created. A clone of the cache is empty, and all
/// caches compare equal, because the cache is not part of the sweep.
#[derive(Debug, Default)]
pub struct DeviceCache {
    presets: Mutex<BTreeMap<String, toml::Table>>,
    made: Mutex<BTreeMap<String, DeviceAndText>>,
}

impl DeviceCache {
    /// Returns the keys of the preset `name`, from the cache or from `read`.
    ///
    /// # Errors
    /// The errors of `read`.
    pub(crate) fn preset<E>(
        &self,
        name: &str,
        read: impl FnOnce() -> Result<toml::Table, E>,
    ) -> Result<toml::Table, E> {
        let mut all = self.presets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = all.get(name) {
            return Ok(table.clone());
        }
        let table = read()?;
        all.insert(name.to_owned(), table.clone());
        Ok(table)
    }

    /// Returns the device with these keys, from the cache or from `make`.
    ///
    /// # Errors
    /// The errors of `make`.
    pub(crate) fn of<E>(
        &self,
        keys: String,
        make: impl FnOnce() -> Result<DeviceAndText, E>,
    ) -> Result<DeviceAndText, E> {
        if let Some(made) = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(&keys) {
            return Ok(made.clone());
        }
        let made = make()?;
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_CACHED_DEVICES {
            all.clear();
        }
        all.insert(keys, made.clone());
        Ok(made)
    }
}

impl Clone for DeviceCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for DeviceCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_lab::Device;

    #[test]
    fn a_device_is_made_once_for_the_same_keys() {
        let (devices, mut times) = (DeviceCache::default(), 0);
        let mut ask = |keys: &str| {
            let made = devices.of(keys.to_owned(), || {
                times += 1;
                let device = Device::preset("tiny").expect("it is embedded");
                Ok::<_, ()>((device.configured, device.text))
            });
            made.expect("it is made")
        };
        let (one, same, other) = (ask("a"), ask("a"), ask("b"));
        assert!(Arc::ptr_eq(&one.0, &same.0) && !Arc::ptr_eq(&one.0, &other.0));
        (0..MAX_CACHED_DEVICES).for_each(|n| drop(ask(&n.to_string())));
        assert_eq!((one.1 == other.1, times), (true, 2 + MAX_CACHED_DEVICES));
        assert!(devices.made.lock().expect("no test failed").len() <= MAX_CACHED_DEVICES);
    }
}
