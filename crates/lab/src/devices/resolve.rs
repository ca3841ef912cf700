//! Makes a device of a known type from a tree of keys.

use serde::Deserialize;
use wordline_designs::Designs;
use wordline_kernel::Complaints;

use super::device_type::DeviceType;
use super::ssd::Ssd;
use crate::config::read::{Keys, fallback_error, file_keys, with_origins};
use crate::config::schema::{self, DEVICE};
use crate::config::tree::{self, Node, Value};
use crate::error::{Error, Result};

/// The type that a tree names, or the default type.
pub(crate) fn type_of(tree: &Node) -> &str {
    match tree.at(DEVICE).map(|node| &node.value) {
        Some(Value::Text(name)) => name,
        Some(_) => "",
        None => Ssd::NAME,
    }
}

/// The device of a tree from which the key of the type is already removed. Removes keys without effect from
/// the tree. The error lists every fault.
pub(super) fn resolve<T: DeviceType>(tree: &mut Node, designs: &Designs) -> Result<T> {
    schema::complaints(&schema::of::<T::File>(designs), tree).into_result(()).map_err(Error::Config)?;
    loop {
        let device: T = read(tree, designs)?;
        let idle = device.ineffective_keys(&Keys(tree)).map_err(Error::Config)?;
        if idle.is_empty() {
            return Ok(device);
        }
        idle.iter().for_each(|key| tree.remove(key));
    }
}

/// The device of a tree, without removing keys that have no effect.
pub(super) fn read<T: DeviceType>(tree: &Node, designs: &Designs) -> Result<T> {
    let mut file =
        T::File::deserialize(tree.value.to_toml()).map_err(|error| fallback_error(error.message()))?;
    T::fill_in(&mut file, &|key| tree.origin_of(key).1);
    T::check(file, designs).map_err(|wrong| Error::Config(with_origins(wrong, tree)))
}

/// The device of a document with all keys, such as [`Device::text`](crate::Device::text). Complaints call it
/// `label`.
pub(crate) fn of_document<T: DeviceType>(label: &str, text: &str, designs: &Designs) -> Result<T> {
    let mut tree = tree::parse(label, text).map_err(Error::Config)?;
    file_keys(&mut tree)?;
    let name = type_of(&tree);
    if name != T::NAME {
        let mut wrong = Complaints::default();
        wrong.add(tree.origin.label(DEVICE), name, T::NAME);
        return Err(Error::Config(wrong));
    }
    tree.remove(DEVICE);
    resolve(&mut tree, designs)
}
