//! Random devices: does every accepted configuration return what its host wrote, sector by sector? Faults,
//! power cuts and snapshots are included, and the device must never stall. Do these checks also find
//! deliberate faults?
//!
//! A failing case is reduced. It is shown as settings for `--preset tiny --set` and as the steps of the host.
//! `WORDLINE_CASE=17` runs only this case.

mod configure;
mod draw;
mod gathers;
mod guesses;
mod host;
#[path = "../../../ssd/tests/common/lost.rs"]
mod lost;
mod maintains;
mod play;
mod shrink;
mod sorts;
mod suspends;

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use configure::{Configured, configure};
use draw::Case;
use play::play;
use rayon::prelude::*;
use wordline_ftl::contents::InjectedFault;

/// The seed of all cases.
const SEED: u64 = 1;

/// Devices of a normal and of a long test run.
const DEVICES: [u64; 2] = [250, 20_000];

/// Cases within which a deliberate fault must be found. Chosen: five times the expected number for the rarest
/// feature that such a fault needs, a pool with coarse-grained mapping.
#[cfg(debug_assertions)]
const CASES_A_MUTANT: u64 = 100;

/// Silences panics of cases, which run on threads without a name.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            if std::thread::current().name().is_some() {
                eprintln!("{info}");
            }
        }));
    });
}

/// The reason why a device fails in a case; `None` if it passes.
fn fails(case: &Case, configured: &Configured, mutant: Option<InjectedFault>) -> Option<String> {
    keep_quiet();
    let result = catch_unwind(AssertUnwindSafe(|| play(case, configured, mutant)));
    let text = |panic: Box<dyn Any + Send>| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).into()),
    };
    result.err().map(text)
}

/// The case with a number, and its device. `None` if the device is rejected for a reason other than too
/// little spare space.
fn sound(number: u64) -> Option<(Case, Configured)> {
    let drawn = maintains::add_to(guesses::add_to(Case::draw(SEED, number)));
    let spares = (1..=6).map(|n| drawn.with_spare(0.12 + 0.12 * f64::from(n)));
    for case in std::iter::once(drawn.clone()).chain(spares) {
        match configure(&case.settings) {
            Ok(configured) => return Some((case, configured)),
            Err(wrong) if wrong.contains("ftl.over_provisioning") => {}
            Err(_) => return None,
        }
    }
    None
}

/// Outcome of a case.
enum CaseOutcome {
    Refused,
    Held,
    Failed(u64, String),
}

fn became(number: u64) -> CaseOutcome {
    let Some((case, configured)) = sound(number) else { return CaseOutcome::Refused };
    match fails(&case, &configured, None) {
        None => CaseOutcome::Held,
        Some(why) => CaseOutcome::Failed(number, why),
    }
}

/// Regression cases:
/// - A pool was filled to its last page, and a flush waited for discard pages without space.
/// - GC copied its victim again after each of several power cuts, until no block was left.
/// - Word lines were not reprogrammed if a mapped page spans several planes.
const FAILED_ONCE: [u64; 3] = [19_806, 5_504, 8_773];

#[test]
fn random_devices_hold_what_their_hosts_wrote() {
    if let Some(number) = std::env::var_os("WORDLINE_CASE").and_then(|text| text.to_str()?.parse().ok()) {
        return show(number);
    }
    for number in FAILED_ONCE {
        show(number);
    }
    let is_long = std::env::var_os("WORDLINE_LONG").is_some();
    let wanted = DEVICES[usize::from(is_long)];
    let (mut drawn, mut held, mut failed) = (0, 0, Vec::new());
    while held + (failed.len() as u64) < wanted && failed.len() < 20 {
        let batch = drawn..drawn + 100;
        drawn = batch.end;
        let all: Vec<CaseOutcome> = batch.into_par_iter().map(became).collect();
        for became in all {
            match became {
                CaseOutcome::Refused => {}
                CaseOutcome::Held => held += 1,
                CaseOutcome::Failed(number, why) => failed.push((number, why)),
            }
        }
        if is_long && drawn % 1_000 == 0 {
            // The test harness captures `eprintln`, but not this. Long runs report their progress.
            let failed = failed.len();
            let _ = writeln!(std::io::stderr(), "{drawn} drawn: {held} of {wanted} held, {failed} failed");
        }
    }
    let accepted = held + failed.len() as u64;
    assert!(accepted * 10 > drawn * 6, "{accepted} of {drawn} drawn configurations were accepted");
    let list: Vec<String> = failed.iter().map(|(number, why)| format!("case {number}: {why}")).collect();
    let first = failed.first().map_or_else(String::new, |(number, _)| smaller(*number));
    assert!(failed.is_empty(), "{} of {accepted} cases failed\n{}\n\n{first}", failed.len(), list.join("\n"));
}

/// Runs one case. Shows it in reduced form if it fails.
fn show(number: u64) {
    if let CaseOutcome::Failed(_, why) = rayon::join(|| became(number), || ()).0 {
        panic!("case {number}: {why}\n\n{}", smaller(number));
    }
}

/// A failing case in reduced form, found on a thread without a name.
fn smaller(number: u64) -> String {
    rayon::join(|| shrink::smaller(number), || ()).0
}

/// Whether a deliberate fault is found in a case that passes without it.
#[cfg(debug_assertions)]
fn finds(mutant: InjectedFault, number: u64) -> bool {
    let Some((case, configured)) = sound(number) else { return false };
    fails(&case, &configured, Some(mutant)).is_some() && fails(&case, &configured, None).is_none()
}

// Deliberate faults exist only in builds with debug assertions.
#[cfg(debug_assertions)]
#[test]
fn every_mutant_is_found() {
    for mutant in InjectedFault::ALL {
        let found = (0..CASES_A_MUTANT).into_par_iter().find_any(|number| finds(mutant, *number));
        assert!(found.is_some(), "{mutant:?} was not found in {CASES_A_MUTANT} cases");
    }
}
