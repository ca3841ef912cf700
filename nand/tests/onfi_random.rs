//! Random sequences of ONFI cycles, legal and not, against an independent checker: nothing panics, every illegal cycle
//! is refused and every legal one taken, status and data are right, and a refusal loses no page and no register.

#[allow(dead_code, reason = "the fuzzer uses the rest")]
mod checker;
mod generate;

use wordline_kernel::random::Seed;

/// Sequences of a run: chosen, some seconds; `WORDLINE_LONG`, as `make long` sets it, asks for what the model must
/// stand.
fn sequences() -> u64 {
    if std::env::var_os("WORDLINE_LONG").is_some() { 100_000 } else { 5_000 }
}

#[test]
fn random_sequences_do_what_the_checker_says() {
    let (mut cycles, mut refused, mut failed) = (0, 0, Vec::new());
    for n in 0..sequences() {
        let (setup, sequence) = generate::sequence(&mut Seed(3).stream("onfi sequences", n));
        match checker::run::check(setup, &sequence) {
            Ok(tried) => {
                cycles += tried.cycles;
                refused += tried.refused;
            }
            Err(why) => {
                let short = generate::shortest(setup, &sequence);
                let bytes: String =
                    checker::cycle::encode(setup, &short).iter().map(|b| format!("{b:02x}")).collect();
                let why = checker::run::check(setup, &short).err().unwrap_or(why);
                failed.push(format!("sequence {n}: {why}\n  as bytes: {bytes}"));
            }
        }
        assert!(failed.len() < 5, "{}", failed.join("\n"));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    println!("{} sequences, {cycles} cycles, {refused} of them refused", sequences());
    assert!(refused > sequences() / 2, "too few illegal cycles to mean anything: {refused}");
}
