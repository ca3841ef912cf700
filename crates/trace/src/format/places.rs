//! Addresses of objects that a trace names without an address.

use std::collections::BTreeMap;

use wordline_kernel::counted;

use super::super::input::ParseError;

/// Alignment of objects in bytes. Chosen: the mapping unit of most drives, so that objects share none.
const ALIGNMENT: u64 = 4096;

/// Upper bound on objects. Chosen: their table takes about 3 GB.
const MAX_OBJECTS: usize = 1 << 26;

/// Number of an object that a trace names with text: the 64-bit hash FNV-1a (Fowler, Noll and Vo). Among 2^26 objects,
/// the probability that any two share a number is 0.01 %.
pub(super) fn object_id(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Objects one after another in the order of their first appearance.
#[derive(Default)]
pub(super) struct Places {
    /// Address and space of each object.
    objects: BTreeMap<u64, (u64, u64)>,
    end: u64,
    moved: u64,
}

impl Places {
    /// Returns the address of an object, and whether it is new there. An object that has grown beyond its space moves to
    /// the end.
    pub(super) fn find(&mut self, id: u64, size: u64) -> Result<(u64, bool), ParseError> {
        let known = self.objects.get(&id).copied();
        if let Some((address, _)) = known.filter(|(_, space)| size <= *space) {
            return Ok((address, false));
        }
        if known.is_none() && self.objects.len() >= MAX_OBJECTS {
            return Err(ParseError {
                found: format!("object {id} after {MAX_OBJECTS} others"),
                wanted: "at most so many objects: their addresses are kept in memory".into(),
            });
        }
        let space = size.max(1).next_multiple_of(ALIGNMENT);
        let address = self.end;
        self.end =
            self.end.checked_add(space).filter(|end| *end <= i64::MAX as u64).ok_or_else(|| ParseError {
                found: format!("an object of {size} bytes after {address} bytes of others"),
                wanted: "less than 8 EiB in all objects".into(),
            })?;
        self.moved += u64::from(known.is_some());
        self.objects.insert(id, (address, space));
        Ok((address, true))
    }

    /// Number of objects.
    pub(super) fn count(&self) -> u64 {
        self.objects.len() as u64
    }

    /// Note on the objects that moved because they grew, if any did.
    pub(super) fn note(&self) -> Option<String> {
        let moved = self.moved;
        (moved > 0).then(|| format!("{} moved to a new place because it grew", counted(moved, "object")))
    }
}
