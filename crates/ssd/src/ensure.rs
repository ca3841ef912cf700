//! The shape of a check of a state that was read, nothing or the contradiction in words, and a check that places come once.

/// `Err` with what is wrong unless something holds.
pub(crate) fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// Notes a place as seen; whether there is such a place and it was not seen before.
pub(crate) fn is_first(seen: &mut [bool], place: usize) -> bool {
    seen.get_mut(place).is_some_and(|seen| !std::mem::replace(seen, true))
}
