//! Random sequences of ONFI cycles, legal and illegal, against an independent checker. Nothing panics, every
//! illegal cycle is rejected and every legal one accepted, status and data are correct, and a rejection loses
//! no page and no register.

use wordline_kernel::random::Seed;

use crate::{checker, generate};

/// Number of sequences. Chosen: some seconds. With `WORDLINE_LONG`, which `make long` sets, there are more.
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

#[test]
fn what_once_differed_is_the_same_now() {
    let cases = include_str!("onfi_random_regressions/cycles.txt");
    for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let digits: Vec<&str> = (0..line.len() / 2).map(|n| &line[2 * n..2 * n + 2]).collect();
        let bytes: Vec<u8> = digits
            .iter()
            .map(|byte| u8::from_str_radix(byte, 16).expect("the file holds hexadecimal"))
            .collect();
        if let Err(why) = checker::run::check_bytes(&bytes) {
            panic!("{line}: {why}");
        }
    }
}

/// The fuzzer and the regression file use the encoded form of generated sequences.
#[test]
fn sequences_read_back_from_their_bytes() {
    for n in 0..50 {
        let (setup, cycles) = generate::sequence(&mut Seed(4).stream("onfi sequences", n));
        let bytes = checker::cycle::encode(setup, &cycles);
        assert_eq!(checker::cycle::decode(&bytes), (setup, cycles));
    }
}
