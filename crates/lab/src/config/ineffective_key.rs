//! A key without effect on a device.

use super::tree::{Node, Origin};

/// A key without effect on a device.
pub(super) struct IneffectiveKey {
    /// The key, including all keys below it.
    pub key: String,
    /// The keys that the condition depends on.
    pub gates: &'static [&'static str],
    /// The condition as the message writes it.
    pub wanted: String,
    /// Whether the key is refused even with its default value, if an argument or a layer above the gates set
    /// it.
    pub even_default: bool,
}

impl IneffectiveKey {
    /// Whether the key counts as set at `origin`. A default value usually does not count: a file may list all
    /// keys of a device.
    pub fn is_set(&self, tree: &Node, origin: &Origin, is_usual: bool) -> bool {
        let mut gates = self.gates.iter().filter_map(|key| tree.highest_origin(key));
        let mut on_top = || matches!(origin, Origin::Set(_)) || gates.all(|gate| origin.can_override(gate));
        !is_usual || self.even_default && on_top()
    }
}
