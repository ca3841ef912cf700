//! The switch between code and its faults. `tests/mutants` puts it into the copy of the sources.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::sync::{LazyLock, Mutex};

/// Number of the active fault, from `WORDLINE_MUTANT`.
static CHOSEN: LazyLock<Option<u32>> =
    LazyLock::new(|| std::env::var("WORDLINE_MUTANT").ok()?.parse().ok());

/// File with the faults that each test reaches, from `WORDLINE_MUTANTS_REACHED`.
static REACHED: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
    let path = std::env::var_os("WORDLINE_MUTANTS_REACHED")?;
    Some(Mutex::new(File::options().create(true).append(true).open(path).ok()?))
});

thread_local! {
    /// The faults that this thread has reached.
    static SEEN: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

/// Whether the fault with this number is active.
#[inline]
pub fn is(number: u32) -> bool {
    match *CHOSEN {
        Some(chosen) => chosen == number,
        None => {
            note(number);
            false
        }
    }
}

/// Notes that this thread reached a fault. Test threads are named after their test.
fn note(number: u32) {
    let Some(file) = &*REACHED else { return };
    let is_new = SEEN.try_with(|seen| {
        let mut seen = seen.borrow_mut();
        if seen.len() <= number as usize {
            seen.resize(number as usize + 1, false);
        }
        !std::mem::replace(&mut seen[number as usize], true)
    });
    if is_new.unwrap_or(true) {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(file.write_all(format!("{number} {name}\n").as_bytes()));
    }
}
