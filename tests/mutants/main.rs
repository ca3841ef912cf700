//! Do the tests find faults in the mechanisms? The lists of `tests/mutations` name faults. All of them are
//! put into one copy of the checkout, each behind a switch. The copy is compiled once, and the tests of each
//! crate are run with one fault after another, only those that reach its code.
//!
//! ```text
//! cargo run -p wordline-tests --bin mutants                    every mutant
//! cargo run -p wordline-tests --bin mutants -- ssd host/12     those of a crate, or one alone
//! cargo run -p wordline-tests --bin mutants -- ssd/40..72      those from one to another, which is among them
//! ```
//!
//! Prints for each which test found it. Exit code 1: a mutant survived that is not listed as surviving, or
//! the other way round. 2: a mutant cannot be made. The copy and its build stay in `target/mutants`.

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

/// Runs the selected mutants, or all. Returns how many differ from their list.
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
    // All crates, whichever are selected: what cargo compiles depends on the requested crates.
    let crates: BTreeSet<&str> = all.iter().map(|mutant| mutant.of.as_str()).collect();
    let mut programs = programs::build(&folder.join("copy"), &folder.join("target"), &crates)?;
    let mut count: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut unexpected = Vec::new();
    // Crate by crate, so that the first verdicts come early.
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

/// Whether the tests of its crate find a mutant. Prints which one does.
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
