//! Random legal and illegal operations against a checker without cycles. It tracks the contents of pages, the
//! busy time of the LUN, and whether a cycle was rejected since the last reset.

use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration, Instant};
use wordline_nand::onfi::{Bus, FailureKind};

use super::host::{bus, play, played};

#[derive(Clone, Copy, Debug)]
enum Step {
    Program { block: u8, page: u8, value: u8 },
    Read { block: u8, page: u8 },
    Erase { block: u8 },
    Illegal(&'static str),
    Wait(u64),
    WaitReady,
    Reset,
}

/// Cycles that are rejected in any state.
const ILLEGAL: [&str; 8] =
    ["i00", "a00", "cd0", "c10", "c13 a00.00.00", "c05 a00 ce0", "c60 a00.00.00.00", "c07"];
const BLOCKS: usize = 4;
const PAGES: usize = 8;
/// Programs of a page between erases: the default of SLC parts.
const PROGRAMS: u32 = 4;

#[derive(Clone, Copy, PartialEq)]
enum Work {
    Sense,
    Program { block: usize, page: usize },
    Erase { block: usize },
}

/// A block as a host expects it: bytes (`None` if unknown), programs of each page, and the last page
/// programmed.
#[derive(Clone, Default)]
struct Block {
    bytes: [Option<u8>; PAGES],
    programs: [u32; PAGES],
    last: usize,
}

struct Checker {
    blocks: Vec<Block>,
    work: Work,
    /// The block before the last erase.
    before: Block,
    busy_until: Instant,
    locked: bool,
}

fn erased() -> Block {
    Block { bytes: [Some(0xff); PAGES], ..Block::default() }
}

impl Checker {
    fn new() -> Self {
        Self {
            blocks: vec![erased(); BLOCKS],
            work: Work::Sense,
            before: erased(),
            busy_until: Instant::ZERO,
            locked: false,
        }
    }

    /// Whether an operation that begins now is accepted. `within_limits` is false if it exceeds a limit.
    fn takes(&self, now: Instant, within_limits: bool) -> bool {
        !self.locked && now >= self.busy_until && within_limits
    }

    fn begin(&mut self, bus: &Bus, work: Work, time: Duration) {
        self.work = work;
        self.busy_until = bus.now() + bus.timing().t_wb + time;
    }

    fn status(&self, at: Instant) -> u8 {
        match (at < self.busy_until, self.locked) {
            (true, _) => 0x80,
            (false, true) => 0xe1,
            (false, false) => 0xe0,
        }
    }
}

fn row(block: u8, page: u8) -> String {
    format!("{:02x}.00.00", block << 3 | page)
}

/// Whether a step is accepted.
fn expected(model: &Checker, now: Instant, step: Step) -> bool {
    match step {
        Step::Program { block, page, .. } => {
            let (of, n) = (&model.blocks[usize::from(block)], usize::from(page));
            model.takes(now, n >= of.last && of.programs[n] < PROGRAMS)
        }
        Step::Illegal(_) => false,
        _ => model.takes(now, true),
    }
}

fn carry_out(bus: &mut Bus, model: &mut Checker, step: Step) {
    let us = Duration::from_us;
    let (now, expected) = (bus.now(), expected(model, bus.now(), step));
    let result = match step {
        Step::Program { block, page, value } => {
            let n = usize::from(page);
            let result = play(bus, &format!("c80 a00.00.{} i{value:02x} c10", row(block, page)));
            if expected {
                let of = &mut model.blocks[usize::from(block)];
                of.last = n;
                of.programs[n] += 1;
                of.bytes[n] = of.bytes[n].map(|old| old & value);
                model.begin(bus, Work::Program { block: block.into(), page: n }, us(200));
            }
            result
        }
        Step::Read { block, page } => {
            let result = play(bus, &format!("c00 a00.00.{} c30", row(block, page)));
            if expected {
                model.begin(bus, Work::Sense, us(25));
                let found = played(bus, "rb o1")[0];
                let wanted = model.blocks[usize::from(block)].bytes[usize::from(page)];
                assert!(
                    wanted.is_none_or(|wanted| wanted == found),
                    "{step:?}: {found:02x}, wanted {wanted:02x?}"
                );
            }
            result
        }
        Step::Erase { block } => {
            let result = play(bus, &format!("c60 a{} cd0", row(block, 0)));
            if expected {
                model.before = std::mem::replace(&mut model.blocks[usize::from(block)], erased());
                model.begin(bus, Work::Erase { block: block.into() }, us(1_500));
            }
            result
        }
        Step::Illegal(cycles) => play(bus, cycles),
        Step::Wait(ns) => {
            bus.wait(Duration::from_ns(ns));
            return;
        }
        Step::WaitReady => {
            bus.wait_ready();
            assert_eq!(bus.now(), now.max(model.busy_until));
            return;
        }
        Step::Reset => {
            reset(bus, model);
            return;
        }
    };
    assert_eq!(result.is_ok(), expected, "{step:?}: {result:?}");
    let awaiting = result.is_err_and(|failure| failure.kind == FailureKind::AwaitingReset);
    assert_eq!(awaiting, model.locked && !expected, "{step:?}");
    model.locked |= !expected;
}

/// Resets the target. The contents of torn pages are unknown from then on.
fn reset(bus: &mut Bus, model: &mut Checker) {
    played(bus, "cff");
    let at = bus.now() + bus.timing().t_wb;
    let time = match model.work {
        _ if at >= model.busy_until => 5,
        Work::Sense => 5,
        Work::Program { block, page } => {
            model.blocks[block].bytes[page] = None;
            10
        }
        Work::Erase { block } => {
            // After an interrupted erase the block keeps its program counts and its last page.
            model.blocks[block] = Block { bytes: [None; PAGES], ..model.before.clone() };
            500
        }
    };
    model.begin(bus, Work::Sense, Duration::from_us(time));
    model.locked = false;
}

fn step() -> impl Strategy<Value = Step> {
    let (block, page) = (0..BLOCKS as u8, 0..PAGES as u8);
    prop_oneof![
        4 => (block.clone(), page.clone(), any::<u8>())
            .prop_map(|(block, page, value)| Step::Program { block, page, value }),
        4 => (block.clone(), page).prop_map(|(block, page)| Step::Read { block, page }),
        2 => block.prop_map(|block| Step::Erase { block }),
        1 => prop::sample::select(ILLEGAL.to_vec()).prop_map(Step::Illegal),
        3 => (0u64..400_000).prop_map(Step::Wait),
        6 => Just(Step::WaitReady),
        3 => Just(Step::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn status_and_data_are_those_of_a_simple_checker(steps in prop::collection::vec(step(), 1..60)) {
        let (mut bus, mut model) = (bus(), Checker::new());
        for step in steps {
            carry_out(&mut bus, &mut model, step);
            let found = played(&mut bus, "c70 o1")[0];
            let sampled = Instant::from_ps(bus.now().ps() - bus.timing().burst_out(Bytes(1)).ps());
            prop_assert_eq!(found, model.status(sampled), "after {:?}", step);
            // After the turnaround, the next cycle begins at once.
            bus.wait(bus.timing().t_rhw);
        }
    }
}
