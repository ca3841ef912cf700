//! Turns panics into errors. A check of the simulation panics if the input is damaged.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be caught, so that its message must not be printed.
pub fn is_panic_caught() -> bool {
    IS_CAUGHT.get()
}

/// Calls `f`, which catches its own panics, without printing their messages.
pub fn without_panic_message<T>(f: impl FnOnce() -> T) -> T {
    let before = IS_CAUGHT.replace(true);
    let result = f();
    IS_CAUGHT.set(before);
    result
}

/// Calls `f`. Returns its result, or the message of its panic.
///
/// # Errors
/// The message.
pub fn catch_panic<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    without_panic_message(|| catch_unwind(AssertUnwindSafe(f))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text").to_owned()
    })
}
