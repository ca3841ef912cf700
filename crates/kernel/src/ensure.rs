//! Helpers for checks of loaded states: an assertion that returns the inconsistency as text, and a check for
//! indices that must occur once.

/// Returns `Err` with the inconsistency unless `holds`.
pub fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// Marks an index as seen. Returns whether the index exists and was not seen before.
pub fn is_first(seen: &mut [bool], place: usize) -> bool {
    seen.get_mut(place).is_some_and(|seen| !std::mem::replace(seen, true))
}
