//! Sequences of cycles: regular operations of a host, operations with one wrong cycle, and arbitrary cycles.

mod operations;

use wordline_kernel::random::Stream;

use crate::checker::cycle::{Cycle, Setup};
use crate::checker::run::check;
use operations::Host;

/// A setup, and the cycles of a host.
pub fn sequence(random: &mut Stream) -> (Setup, Vec<Cycle>) {
    let setup = Setup {
        part: random.below(4) as u8,
        targets: 1 + random.below(2) as u8,
        luns: 1 + random.below(2) as u8,
        fatal: random.below(4) > 0,
        faulty: random.below(3) == 0,
        power_on: random.below(4) == 0,
    };
    let mut host = Host::new(setup, random);
    if setup.power_on {
        host.wake();
    }
    for _ in 0..host.random.below(10) + 2 {
        match host.random.below(16) {
            0 => host.raw(),
            1 | 2 => host.wrong(),
            _ => host.operation(),
        }
        if host.random.below(8) > 0 {
            host.cycles.push(Cycle::Recover);
        }
    }
    (setup, host.cycles)
}

/// The shortest list of these cycles that still fails. Cycles are removed as long as possible.
pub fn shortest(setup: Setup, cycles: &[Cycle]) -> Vec<Cycle> {
    let fails = |cycles: &[Cycle]| check(setup, cycles).is_err();
    let mut cycles = cycles.to_vec();
    let mut size = cycles.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= cycles.len() {
            let mut fewer = cycles.clone();
            fewer.drain(at..at + size);
            if fails(&fewer) { cycles = fewer } else { at += size }
        }
        size /= 2;
    }
    cycles
}
