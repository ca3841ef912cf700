//! Mutation tests: do the tests find faults in the mechanisms? The lists of `tests/mutations` name the
//! faults. All faults are put into one copy of the checkout, each behind a switch. The copy is compiled once.
//! Then the tests of each crate run with one fault after another. Only the tests that reach the code of the
//! fault are run.
//!
//! ```text
//! cargo run -p wordline-tests --bin mutants                    all mutants
//! cargo run -p wordline-tests --bin mutants -- ssd host/12     the mutants of a crate, or one mutant
//! cargo run -p wordline-tests --bin mutants -- ssd/40..72      a range of mutants, including its end
//! ```
//!
//! Prints for each mutant the test that found it. Exit code 1: a mutant survived that is not listed as
//! surviving, or was found although it is. Exit code 2: a mutant cannot be made. The copy and its build stay
//! in `target/mutants`.

mod copy;
mod list;
mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use list::Mutant;
use programs::{Program, Verdict};

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    match run(&names) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the selected mutants, or all. Returns the number of mutants that differ from their list.
fn run(names: &[String]) -> Result<usize, String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
    let all = copy::all_mutants(root)?;
    let is_chosen =
        |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| mutant.is_selected_by(name));
    let chosen: Vec<&Mutant> = all.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        return Err(format!(
            "found no mutant of {names:?}, wanted a crate or a name such as {}",
            all[0].name
        ));
    }
    let folder = root.join("target/mutants");
    copy::make(root, &folder.join("copy"), &all)?;
    // The build includes all crates, because cargo compiles differently for other sets of requested crates.
    let crates: BTreeSet<&str> = all.iter().map(|mutant| mutant.of.as_str()).collect();
    let mut programs = programs::build(&folder.join("copy"), &folder.join("target"), &crates)?;
    let mut count: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut unexpected = Vec::new();
    // Mutants run crate by crate, so that the first verdicts come early.
    for mutants in chosen.chunk_by(|one, next| one.of == next.of) {
        for program in programs.iter_mut().filter(|program| program.of == mutants[0].of) {
            program.record(&folder.join("reached"))?;
            let (tests, reached) = (program.seconds.len(), program.reach.len());
            println!("{}, {}: {tests} tests, which come by {reached} mutants", program.of, program.name());
        }
        for mutant in mutants {
            let found = judge(mutant, &programs);
            let [all, of_them_found] = count.entry(&mutant.of).or_default();
            *all += 1;
            *of_them_found += usize::from(found);
            if found == mutant.fault.lives.is_some() {
                unexpected.push(*mutant);
            }
        }
    }
    let (all, found) = count.values().fold((0, 0), |sum, [all, found]| (sum.0 + all, sum.1 + found));
    for (of, [all, found]) in count {
        println!("{of}: {found} of {all} found");
    }
    println!("{found} of {all} mutants found, {:.1} %", 100.0 * found as f64 / all as f64);
    for mutant in &unexpected {
        let Mutant { name, fault, .. } = mutant;
        let as_listed =
            if fault.lives.is_some() { "was found, and is listed as one that lives" } else { "SURVIVED" };
        println!("  {name} {as_listed}: {}", mutant.change());
    }
    Ok(unexpected.len())
}

/// Whether the tests of its crate find a mutant. Prints the test that finds it.
fn judge(mutant: &Mutant, programs: &[Program]) -> bool {
    let begin = Instant::now();
    let own = programs.iter().filter(|program| program.of == mutant.of);
    let reached = own.clone().any(|program| program.reach.contains_key(&mutant.number));
    let (is_found, what) = match programs::judge(own, mutant.number) {
        Verdict::Found(test) => (true, format!("found by {test}")),
        Verdict::Ended(how) => (true, format!("found, for the tests do not end as they should: {how}")),
        _ if reached => (false, "survived".to_owned()),
        _ => (false, "survived: no test comes by it".to_owned()),
    };
    println!("{} ({:.1} s): {what}: {}", mutant.name, begin.elapsed().as_secs_f64(), mutant.change());
    is_found
}
