//! Reduces a failing case: removes settings and steps while it still fails.

use std::fmt::Write;

use crate::configure::configure;
use crate::draw::Case;
use crate::{fails, sound};

/// Most cases to try. Chosen: they take a minute or two.
const TRIES: u32 = 400;

/// The failing case `number` as text, in reduced form.
pub fn smaller(number: u64) -> String {
    let Some((mut case, _)) = sound(number) else { return format!("the device of case {number} is refused") };
    let mut tries = TRIES;
    let mut still_fails = |case: &Case| {
        tries = tries.saturating_sub(1);
        tries > 0
            && configure(&case.settings).is_ok_and(|configured| fails(case, &configured, None).is_some())
    };
    drop_steps(&mut case, &mut still_fails);
    let mut at = case.settings.len();
    while at > 0 {
        at -= 1;
        let mut without = case.clone();
        without.settings.remove(at);
        if still_fails(&without) {
            case = without;
        }
    }
    drop_steps(&mut case, &mut still_fails);
    shown(&case)
}

/// Removes runs of steps: first halves, and at last single steps.
fn drop_steps(case: &mut Case, still_fails: &mut impl FnMut(&Case) -> bool) {
    let mut length = case.steps.len().div_ceil(2);
    while length > 0 {
        let mut end = case.steps.len();
        while end > 0 {
            let begin = end.saturating_sub(length);
            let mut without = case.clone();
            without.steps.drain(begin..end);
            if still_fails(&without) {
                *case = without;
            }
            end = begin;
        }
        length = if length == 1 { 0 } else { length.div_ceil(2) };
    }
}

fn shown(case: &Case) -> String {
    let why = configure(&case.settings)
        .ok()
        .and_then(|configured| fails(case, &configured, None))
        .unwrap_or_default();
    let mut text = format!("case {} made smaller: {why}\n--preset tiny", case.number);
    for setting in &case.settings {
        write!(text, " --set \"{setting}\"").expect("a string takes everything");
    }
    write!(text, "\n{:?}, {} commands at once\n", case.start, case.depth).expect("a string takes everything");
    for step in &case.steps {
        writeln!(text, "{step:?}").expect("a string takes everything");
    }
    text
}
