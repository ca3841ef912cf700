//! The bus: the earliest begin of each cycle, and the targets on the bus.

use std::collections::BTreeMap;
use std::rc::Rc;

use wordline_kernel::{Bytes, Duration};
use wordline_nand::interface::{BusTiming, Parameter, Timings};

use super::cycle::{Cycle, Setup, burst};
use super::facts::Facts;
use super::lun::{Lun, Page};
use super::target::{Output, Target, When};

/// The last time of each event, by name.
#[derive(Clone, Debug, Default)]
pub struct Edges(BTreeMap<&'static str, u64>);

impl Edges {
    pub fn note(&mut self, edge: &'static str, at: u64) {
        self.0.insert(edge, at);
    }

    /// The time `wait` after an edge; 0 if the edge has not occurred.
    fn after(&self, edge: &'static str, wait: wordline_kernel::Duration) -> u64 {
        self.0.get(edge).map_or(0, |at| at + wait.ps())
    }
}

/// The result of a cycle.
pub enum Answer {
    Nothing,
    Data(Page),
    Refused(&'static str),
}

/// The expected behaviour of the bus and its LUNs, by simple rules.
#[derive(Clone, Debug)]
pub struct Oracle {
    pub now: u64,
    pub targets: Vec<Target>,
    pub enabled: usize,
    protected: bool,
    edges: Edges,
}

impl Oracle {
    /// Creates the oracle. `pages` are parameter page and unique ID of each target.
    pub fn new(setup: Setup, pages: &[[Rc<Page>; 2]], timing: BusTiming) -> Self {
        let facts = Rc::new(Facts::of(setup.part));
        let (faults, bad) = super::run::faults(setup);
        let faults: Vec<_> = faults.iter().map(|f| ((f.row.block, f.row.page), f.erase, f.nth)).collect();
        let lun = || Lun::new(&facts, setup.fatal, faults.clone(), &bad);
        let target = |pages: &[Rc<Page>; 2]| {
            let luns = (0..setup.luns).map(|_| lun()).collect();
            Target::new(&facts, luns, timing, pages.clone(), setup.power_on)
        };
        let targets = pages.iter().map(target).collect();
        let mut edges = Edges::default();
        edges.note("select", 0);
        Self { now: 0, targets, enabled: 0, protected: false, edges }
    }

    pub fn target(&mut self) -> &mut Target {
        &mut self.targets[self.enabled]
    }

    /// The earliest instant at which a cycle may begin.
    pub fn earliest(&self, cycle: Cycle) -> u64 {
        let target = &self.targets[self.enabled];
        let (t, bus, own) = (&target.timing, &self.edges, &target.edges);
        let least = |parameter| {
            Timings::of(t.interface, t.mode).and_then(|timings| timings.min(parameter)).unwrap_or_default()
        };
        let mut waits = vec![
            bus.after("select", t.t_cs),
            bus.after("volume", t.t_vdly),
            bus.after("confirm", t.t_wb),
            own.after("interface", t.t_itc),
        ];
        if !matches!(cycle, Cycle::DataOut(_)) {
            waits.push(bus.after("out", t.t_rhw));
        }
        match cycle {
            Cycle::Command(_) => waits.extend([bus.after("latch", t.t_wc), bus.after("protect", t.t_ww)]),
            Cycle::Address(_) => waits.push(bus.after("latch", t.t_wc)),
            Cycle::DataIn(..) => {
                waits.extend([own.after("load", t.t_adl), own.after("write column", t.t_ccs)]);
            }
            _ => {
                waits.extend([
                    bus.after("address", least(Parameter::Ar)),
                    bus.after("command", least(Parameter::Clr)),
                ]);
                if target.source().is_status() || matches!(target.source(), Output::Identity(_)) {
                    waits.push(own.after("register", t.t_whr));
                } else {
                    let ready = target.source_ready();
                    waits.extend([own.after("read column", t.t_ccs), own.after("back", t.t_rr)]);
                    waits.push(ready + t.t_rr.ps());
                }
            }
        }
        waits.into_iter().fold(0, u64::max)
    }

    /// The minimum of the host's time number `which`, if the cycle has this time and the interface has a
    /// minimum for it. The letters are the cycles that have a time: `c` command, `a` address, `i` data in,
    /// `o` data out.
    pub fn within(&self, cycle: Cycle, which: u8) -> Option<(Parameter, Duration)> {
        use Parameter as P;
        let times = [
            (P::Cls, "c"),
            (P::Clh, "c"),
            (P::Als, "a"),
            (P::Alh, "a"),
            (P::Wp, "cai"),
            (P::Wh, "cai"),
            (P::Ds, "cai"),
            (P::Dh, "cai"),
            (P::Ch, "caio"),
            (P::Rp, "o"),
            (P::Reh, "o"),
            (P::Rc, "o"),
            (P::Rpre, "o"),
            (P::Wpst, "i"),
            (P::Wpsth, "i"),
            (P::Cals, "cai"),
        ];
        let (parameter, cycles) = times[usize::from(which) % times.len()];
        let kind = match cycle {
            Cycle::Command(_) => 'c',
            Cycle::Address(_) => 'a',
            Cycle::DataIn(..) => 'i',
            _ => 'o',
        };
        let timing = self.targets[self.enabled].timing;
        let least = Timings::of(timing.interface, timing.mode)?.min(parameter)?;
        (cycles.contains(kind) && least > Duration::ZERO).then_some((parameter, least))
    }

    /// Plays a cycle on the pins. It begins as soon as it may.
    pub fn play(&mut self, cycle: Cycle) -> Answer {
        let begin = self.now.max(self.earliest(cycle));
        let protected = self.protected;
        let target = &mut self.targets[self.enabled];
        let t = target.timing;
        target.begin();
        // Bytes of registers are transferred twice on a double data rate interface.
        let twice = t.interface.is_double_rate();
        let on_lines =
            |len: u16, of_page: bool| Bytes(u64::from(len) * if twice && !of_page { 2 } else { 1 });
        let out_of_page = *target.source() == Output::Register;
        let (end, first) = match cycle {
            Cycle::DataIn(len, _) => {
                let burst = t.burst_in(on_lines(len, target.is_loading()));
                (begin + (burst + t.t_wpst + t.t_wpsth).ps(), begin)
            }
            Cycle::DataOut(len) => {
                let first = begin + (t.t_rpre + t.t_dqsre).ps();
                (first + t.burst_out(on_lines(len, out_of_page)).ps(), first)
            }
            _ => (begin + t.t_wc.ps(), begin),
        };
        let when = When { begin, end, busy_at: end + t.t_wb.ps(), protected };
        let done = match cycle {
            Cycle::Command(code) => target.command(code, when),
            Cycle::Address(byte) => target.address(byte, when),
            Cycle::DataIn(len, byte) => target.data_in(&burst(len, byte), when),
            Cycle::DataOut(len) => {
                let at = |n: u16| first + t.burst_out(on_lines(n, out_of_page)).ps();
                match target.data_out(len, begin, at, protected) {
                    Ok(data) => {
                        (self.now, _) = (end, self.edges.note("out", end));
                        return Answer::Data(data);
                    }
                    Err(why) => Err(why),
                }
            }
            _ => Ok(false),
        };
        match done {
            Ok(busy) => {
                self.note(cycle, begin, end, busy);
                Answer::Nothing
            }
            Err(why) => {
                target.refuse();
                Answer::Refused(why)
            }
        }
    }

    fn note(&mut self, cycle: Cycle, begin: u64, end: u64, busy: bool) {
        let target = &mut self.targets[self.enabled];
        match cycle {
            Cycle::Command(code) => {
                self.edges.note("latch", begin);
                self.edges.note("command", end);
                if code == 0x00 {
                    target.edges.note("back", end);
                }
            }
            Cycle::Address(_) => {
                self.edges.note("latch", begin);
                self.edges.note("address", end);
                if target.took_volume {
                    self.edges.note("volume", end);
                }
            }
            _ => {}
        }
        if busy {
            self.edges.note("confirm", end);
        }
        self.now = end;
    }

    pub fn wait_until(&mut self, at: u64) {
        self.now = self.now.max(at);
    }

    pub fn select(&mut self, target: usize) {
        self.enabled = target;
        self.edges.note("select", self.now);
    }

    pub fn protect(&mut self, on: bool) {
        self.protected = on;
        self.edges.note("protect", self.now);
    }
}
