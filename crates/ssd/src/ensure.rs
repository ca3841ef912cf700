//! The shape of a check: nothing, or the contradiction in words.

/// `Err` with what is wrong unless something holds.
pub(crate) fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}
