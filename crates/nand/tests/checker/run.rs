//! The model and the oracle, compared cycle by cycle.

use std::rc::Rc;

use wordline_kernel::{Duration, Instant};
use wordline_nand::DieId;
use wordline_nand::interface::Parameter;
use wordline_nand::onfi::{
    Bus, BusOptions, Failure, FailureKind, Identity, InjectedFailure, LunOptions, Pace, ParameterPage, Row,
    Wiring,
};

use super::cycle::{Cycle, Setup, burst, decode};
use super::facts::{self, Facts};
use super::lun::{Page, UNKNOWN};
use super::pins::{Answer, Oracle};

/// Number of cycles played, and of rejected cycles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    pub cycles: u64,
    pub refused: u64,
}

/// Programs and erases that fail, and bad blocks.
pub fn faults(setup: Setup) -> (Vec<InjectedFailure>, Vec<u32>) {
    let fails = |block, page, erase, nth| InjectedFailure { row: Row { lun: 0, block, page }, erase, nth };
    if !setup.faulty {
        return (Vec::new(), Vec::new());
    }
    let failures = vec![fails(0, 1, false, 1), fails(1, 0, false, 2), fails(2, 0, true, 1)];
    (failures, vec![3])
}

/// Model and oracle of one setup.
struct Pair {
    model: Bus,
    oracle: Oracle,
    facts: Facts,
    setup: Setup,
    tried: Tried,
    /// Number of the host's time that is too short in the next cycle.
    short: Option<u8>,
}

/// Plays the cycles that `bytes` encode.
///
/// # Errors
/// The difference between model and oracle, with the cycles up to it.
pub fn check_bytes(bytes: &[u8]) -> Result<Tried, String> {
    let (setup, cycles) = decode(bytes);
    check(setup, &cycles)
}

/// Plays `cycles`, then resets the targets and compares everything.
///
/// # Errors
/// The difference between model and oracle, with the cycles up to it.
pub fn check(setup: Setup, cycles: &[Cycle]) -> Result<Tried, String> {
    let mut pair = Pair::new(setup);
    let mut early = false;
    for (n, cycle) in cycles.iter().enumerate() {
        let step = match cycle {
            Cycle::Early => {
                early = true;
                continue;
            }
            Cycle::Short(which) => {
                pair.short = Some(*which);
                continue;
            }
            _ => pair.step(*cycle, std::mem::take(&mut early)),
        };
        step.map_err(|why| format!("{setup:?}: {}: {why}", spell(&cycles[..=n])))?;
    }
    pair.end().map_err(|why| format!("{setup:?}: {} and the end: {why}", spell(cycles)))?;
    Ok(pair.tried)
}

fn spell(cycles: &[Cycle]) -> String {
    let words: Vec<String> = cycles.iter().map(ToString::to_string).collect();
    words.join(" ")
}

impl Pair {
    fn new(setup: Setup) -> Self {
        let (part, facts) = (facts::part(setup.part), Facts::of(setup.part));
        let (failures, bad_blocks) = faults(setup);
        let lun = LunOptions { fatal: setup.fatal, failures, bad_blocks, ..LunOptions::default() };
        let wiring = Wiring { targets: setup.targets.into(), volumes: 1, luns: setup.luns.into() };
        let options = BusOptions { lun, power_on: setup.power_on, ..BusOptions::default() };
        let model = Bus::new(&part, wiring, options).expect("the wiring is sound");
        let page = |bytes: Vec<u8>| -> Rc<Page> { Rc::new(bytes.into_iter().map(u16::from).collect()) };
        // Other tests check the contents of these pages.
        let pages: Vec<_> = (0..u32::from(setup.targets))
            .map(|target| {
                let parameters = ParameterPage::of(&part, setup.luns.into()).data(None);
                [page(parameters), page(Identity::of(&part, target).unique_id_data())]
            })
            .collect();
        let oracle = Oracle::new(setup, &pages, part.bus);
        Self { model, oracle, facts, setup, tried: Tried::default(), short: None }
    }

    fn step(&mut self, cycle: Cycle, early: bool) -> Result<(), String> {
        match cycle {
            Cycle::Wait(ns) => {
                self.model.wait(Duration::from_ns(ns.into()));
                self.oracle.wait_until(self.oracle.now + u64::from(ns) * 1_000);
            }
            Cycle::WaitReady => {
                let at = self.oracle.target().ready_at();
                self.model.wait_ready();
                self.oracle.wait_until(at);
            }
            Cycle::WaitArray => {
                let at = self.oracle.target().array_ready_at();
                self.model.wait_array_ready();
                self.oracle.wait_until(at);
            }
            Cycle::Select(target) => {
                let selected = self.model.select(target.into());
                if target < self.setup.targets {
                    selected.map_err(|failure| failure.to_string())?;
                    self.oracle.select(target.into());
                } else if selected.is_ok() {
                    return Err("a target that does not exist was selected".into());
                }
            }
            Cycle::Protect(on) => {
                self.model.set_write_protect(on);
                self.oracle.protect(on);
            }
            Cycle::Recover if !self.oracle.target().refused => {}
            Cycle::Recover => {
                self.legal(&[Cycle::Command(0xff)])?;
                self.step(Cycle::WaitReady, false)?;
            }
            Cycle::DataIn(0, _) | Cycle::DataOut(0) | Cycle::Early | Cycle::Short(_) => {}
            _ => self.latch(cycle, early)?,
        }
        self.same_time()
    }

    fn same_time(&self) -> Result<(), String> {
        let (model, oracle) = (self.model.now().ps(), self.oracle.now);
        if model == oracle {
            Ok(())
        } else {
            Err(format!("the cycle ends at {model} ps, wanted {oracle} ps"))
        }
    }

    /// A cycle on the pins.
    fn latch(&mut self, cycle: Cycle, early: bool) -> Result<(), String> {
        self.tried.cycles += 1;
        if let Some((parameter, least)) = self.short.take().and_then(|which| self.oracle.within(cycle, which))
        {
            return self.too_short(cycle, parameter, least);
        }
        let earliest = self.oracle.earliest(cycle);
        if early && earliest > self.oracle.now {
            self.model.wait_until(Instant::from_ps(earliest - 1));
            self.oracle.wait_until(earliest - 1);
            self.model.set_pace(Pace::Exact);
            let played = self.play(cycle);
            self.model.set_pace(Pace::Earliest);
            self.oracle.target().begin();
            self.oracle.target().refuse();
            self.tried.refused += 1;
            return match played {
                Err(Failure { kind: FailureKind::Timing { .. }, .. }) => self.same_contents(false),
                Err(failure) => Err(format!("refused: {failure}, wanted a broken wait")),
                Ok(_) => Err("taken a picosecond too early".into()),
            };
        }
        let (wanted, found) = (self.oracle.play(cycle), self.play(cycle));
        match (wanted, found) {
            (Answer::Refused(_), Err(_)) => {
                self.tried.refused += 1;
                self.same_contents(false)
            }
            (Answer::Refused(why), Ok(_)) => Err(format!("taken, wanted a refusal: {why}")),
            (_, Err(failure)) => Err(format!("refused: {failure}, wanted it to be taken")),
            (Answer::Nothing, Ok(_)) => Ok(()),
            (Answer::Data(wanted), Ok(found)) => same("data out", &wanted, &found),
        }
    }

    /// Plays a cycle in which a time of the host is a picosecond too short.
    fn too_short(&mut self, cycle: Cycle, parameter: Parameter, least: Duration) -> Result<(), String> {
        let short = Duration::from_ps(least.ps() - 1);
        self.model.set_host_time(parameter, Some(short)).map_err(|failure| failure.to_string())?;
        let played = self.play(cycle);
        self.model.set_host_time(parameter, None).map_err(|failure| failure.to_string())?;
        self.oracle.target().begin();
        self.oracle.target().refuse();
        self.tried.refused += 1;
        match played {
            Err(Failure { kind: FailureKind::Within { .. }, .. }) => self.same_contents(false),
            Err(failure) => Err(format!("refused: {failure}, wanted {} to be too short", parameter.symbol())),
            Ok(_) => Err(format!("taken, with {} a picosecond too short", parameter.symbol())),
        }
    }

    fn play(&mut self, cycle: Cycle) -> Result<Vec<u8>, Failure> {
        match cycle {
            Cycle::Command(code) => self.model.command(code)?,
            Cycle::Address(byte) => self.model.address(&[byte])?,
            Cycle::DataIn(len, first) => self.model.data_in(&burst(len, first))?,
            Cycle::DataOut(len) => return self.model.data_out(len.into()),
            _ => {}
        }
        Ok(Vec::new())
    }

    /// Checks the contents of pages and registers once all operations are over. With `all`, checks untouched
    /// pages, too.
    fn same_contents(&self, all: bool) -> Result<(), String> {
        let later = Instant::from_ps(self.oracle.now) + Duration::from_ms(10_000);
        let luns = self.oracle.targets.iter().flat_map(|target| &target.luns);
        for (die, lun) in luns.enumerate() {
            let mut oracle = lun.clone();
            let mut model = self.model.lun(DieId(die as u32)).clone();
            oracle.catch_up(later.ps());
            model.settle(later);
            for plane in 0..self.facts.planes {
                model.select_output(plane as u32);
                let found = model.output(0, self.facts.page_bytes);
                same(&format!("the register of plane {plane} of LUN {die}"), &oracle.cache[plane], &found)?;
            }
            let blocks = 0..self.facts.blocks;
            let every = blocks.flat_map(|block| (0..self.facts.pages).map(move |page| (block, page)));
            let holds = |(block, page): &(u32, u32)| {
                let row = Row { lun: 0, block: *block, page: *page };
                model.contents().is_programmed(row) || model.contents().is_torn(row)
            };
            let mut places: Vec<_> = oracle.touched().collect();
            if all {
                // The pages that are programmed or torn in the model, and the first page of each block.
                places.extend(every.filter(|place| place.1 == 0 || holds(place)));
            }
            for (block, page) in places {
                let found = model.contents().read(Row { lun: 0, block, page });
                let what = format!("page {page} of block {block} of LUN {die}");
                same(&what, &oracle.page((block, page)), &found)?;
            }
        }
        Ok(())
    }

    /// Resets every target. It must be usable afterwards.
    fn end(&mut self) -> Result<(), String> {
        for target in 0..self.setup.targets {
            self.step(Cycle::Select(target), false)?;
            self.step(Cycle::Protect(false), false)?;
            self.legal(&[Cycle::Command(0xff), Cycle::WaitReady])?;
            for lun in 0..u32::from(self.setup.luns) {
                let row = self.facts.row((lun, 0, 0)).map(Cycle::Address);
                self.legal(&[&[Cycle::Command(0x78)], &row[..], &[Cycle::DataOut(1)]].concat())?;
                if self.oracle.target().luns[lun as usize].is_slc(0) {
                    self.legal(&[Cycle::Command(0xa2)])?;
                }
                let column = [Cycle::Command(0x00), Cycle::Address(0), Cycle::Address(0)];
                let read = [Cycle::Command(0x30), Cycle::WaitReady, Cycle::DataOut(16)];
                self.legal(&[&column[..], &row[..], &read[..]].concat())?;
            }
        }
        self.same_contents(true)
    }
}

impl Pair {
    /// Plays cycles. None of them may be rejected.
    fn legal(&mut self, cycles: &[Cycle]) -> Result<(), String> {
        self.short = None;
        for cycle in cycles {
            self.step(*cycle, false).map_err(|why| format!("{cycle}: {why}"))?;
            if self.oracle.target().refused {
                return Err(format!("{cycle} is refused after a reset"));
            }
        }
        Ok(())
    }
}

fn same(what: &str, wanted: &[u16], found: &[u8]) -> Result<(), String> {
    let differs = |(wanted, found): (&u16, &u8)| *wanted < UNKNOWN && *wanted != u16::from(*found);
    match wanted.iter().zip(found).position(differs) {
        None if wanted.len() == found.len() => Ok(()),
        None => Err(format!("{what}: {} bytes, wanted {}", found.len(), wanted.len())),
        Some(n) => Err(format!("{what}: byte {n} is {:02x}h, wanted {:02x}h", found[n], wanted[n])),
    }
}
