//! The table of waits between cycles, and its evaluation.

use wordline_kernel::{Duration, Instant};

use crate::interface::{BusTiming, Parameter, Timings};

/// An event on the pins from which or to which a wait counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Chip enable falls: the target is selected.
    Select,
    /// A volume is selected (end of the address of E1h).
    Volume,
    /// Write protect changes.
    Protect,
    /// A command or address latch begins.
    LatchBegin,
    /// A command latch ends.
    Command,
    /// An address latch ends.
    Address,
    /// A cycle that makes a LUN or the target busy ends.
    Confirm,
    /// The address of a program or of a feature write ends.
    LoadAddress,
    /// The address of a change of the write column or row ends.
    WriteColumn,
    /// The second byte of a change of the read column ends.
    ReadColumn,
    /// The command or address before data out of a status or an identity ends.
    Register,
    /// 00h alone ends.
    ReturnToData,
    /// Data in begin or end.
    DataIn,
    /// Data out, from a page or a feature, begin or end.
    DataOut,
    /// Data out of a status or identity register begin or end.
    RegisterOut,
    /// The LUN, or the target after a command to the target, is ready.
    Ready,
    /// The interface or its timing mode was changed by a feature: the cycle after which the target becomes
    /// busy ends.
    Interface,
}

/// Number of kinds of edges.
const EDGES: usize = Edge::Interface as usize + 1;

/// The scope of a rule: whose edges count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every cycle on the bus.
    Bus,
    /// Cycles of the same target.
    Target,
}

/// Defines the parameters, each with its ONFI symbol.
macro_rules! waits {
    ($($(#[$doc:meta])+ $name:ident $symbol:literal;)*) => {
        /// A wait by its ONFI symbol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Wait { $($(#[$doc])+ $name),* }

        impl Wait {
            /// All waits.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// ONFI symbol.
            pub const fn symbol(self) -> &'static str {
                [$($symbol),*][self as usize]
            }
        }
    };
}

waits! {
    /// Chip enable to the first cycle.
    Cs "tCS";
    /// One command or address cycle to the next.
    Wc "tWC";
    /// End of a cycle to busy.
    Wb "tWB";
    /// Address to data in.
    Adl "tADL";
    /// Change of column to data.
    Ccs "tCCS";
    /// Command or address to the data out of a register.
    Whr "tWHR";
    /// Data out to the next latch or data in.
    Rhw "tRHW";
    /// Ready to data out.
    Rr "tRR";
    /// Address latch enable low to read enable.
    Ar "tAR";
    /// Command latch enable low to read enable.
    Clr "tCLR";
    /// Write protect to the next command.
    Ww "tWW";
    /// Volume select to the next cycle.
    Vdly "tVDLY";
    /// Change of the interface to the next command.
    Itc "tITC";
    /// Busy time of features; a busy time, not a rule.
    Feat "tFEAT";
    /// Long calibration; a busy time, not a rule.
    Zqcl "tZQCL";
    /// Short calibration; a busy time, not a rule.
    Zqcs "tZQCS";
}

/// A rule: a minimum time from an edge to the begin of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The wait.
    pub wait: Wait,
    /// The edge from which it counts.
    pub from: Edge,
    /// The cycles to whose begin it counts.
    pub to: &'static [Edge],
    /// Scope of the edge.
    pub scope: Scope,
}

const LATCHES: &[Edge] = &[Edge::Command, Edge::Address];
const OUTPUTS: &[Edge] = &[Edge::DataOut, Edge::RegisterOut];
const ALL: &[Edge] = &[Edge::Command, Edge::Address, Edge::DataIn, Edge::DataOut, Edge::RegisterOut];

impl Rule {
    /// Name of the rule: the symbol of its wait.
    pub const fn name(&self) -> &'static str {
        self.wait.symbol()
    }
}

const fn rule(wait: Wait, from: Edge, to: &'static [Edge], scope: Scope) -> Rule {
    Rule { wait, from, to, scope }
}

/// All rules. Sources of the waits and their edges: Linux and barebox `nand_timings.c`, and the sequences in
/// barebox' `nand_base.c`. A lone 00h waits tRR in the Micron M68A data sheet. tWB occupies the bus, as in
/// MQSim.
#[rustfmt::skip]
pub static RULES: [Rule; 16] = {
    use {Edge as E, Scope as S, Wait as W};
    [
        rule(W::Cs,    E::Select,      ALL,                                       S::Bus),
        rule(W::Vdly,  E::Volume,      ALL,                                       S::Bus),
        rule(W::Wc,    E::LatchBegin,  LATCHES,                                   S::Bus),
        rule(W::Wb,    E::Confirm,     ALL,                                       S::Bus),
        rule(W::Rhw,   E::DataOut,     &[E::Command, E::Address, E::DataIn],      S::Bus),
        rule(W::Rhw,   E::RegisterOut, &[E::Command, E::Address, E::DataIn],      S::Bus),
        rule(W::Ww,    E::Protect,     &[E::Command],                             S::Bus),
        rule(W::Adl,   E::LoadAddress, &[E::DataIn],                              S::Target),
        rule(W::Ccs,   E::WriteColumn, &[E::DataIn],                              S::Target),
        rule(W::Ccs,   E::ReadColumn,  &[E::DataOut],                             S::Target),
        rule(W::Whr,   E::Register,    &[E::RegisterOut],                         S::Target),
        rule(W::Rr,    E::Ready,       &[E::DataOut],                             S::Target),
        rule(W::Rr,    E::ReturnToData,        &[E::DataOut],                             S::Target),
        rule(W::Ar,    E::Address,     OUTPUTS,                                   S::Bus),
        rule(W::Clr,   E::Command,     OUTPUTS,                                   S::Bus),
        rule(W::Itc,   E::Interface,   ALL,                                       S::Target),
    ]
};

/// The value of every wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits([Duration; Wait::ALL.len()]);

impl Waits {
    /// No waits.
    pub const NONE: Self = Self([Duration::ZERO; Wait::ALL.len()]);

    /// The waits of an interface.
    pub fn of(bus: &BusTiming) -> Self {
        let timings = Timings::of(bus.interface, bus.mode);
        let least = |parameter| timings.and_then(|timings| timings.min(parameter)).unwrap_or_default();
        let mut waits = Self::NONE;
        for (wait, time) in [
            (Wait::Cs, bus.t_cs),
            (Wait::Wc, bus.t_wc),
            (Wait::Wb, bus.t_wb),
            (Wait::Adl, bus.t_adl),
            (Wait::Ccs, bus.t_ccs),
            (Wait::Whr, bus.t_whr),
            (Wait::Rhw, bus.t_rhw),
            (Wait::Rr, bus.t_rr),
            (Wait::Ar, least(Parameter::Ar)),
            (Wait::Clr, least(Parameter::Clr)),
            (Wait::Ww, bus.t_ww),
            (Wait::Vdly, bus.t_vdly),
            (Wait::Itc, bus.t_itc),
            (Wait::Feat, bus.t_feat),
            (Wait::Zqcl, bus.t_zqcl),
            (Wait::Zqcs, bus.t_zqcs),
        ] {
            waits.set(wait, time);
        }
        waits
    }

    /// The value of `wait`.
    pub fn get(&self, wait: Wait) -> Duration {
        self.0[wait as usize]
    }

    /// Sets the value of `wait`.
    pub fn set(&mut self, wait: Wait, time: Duration) {
        self.0[wait as usize] = time;
    }
}

/// The last time of each edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges([Option<Instant>; EDGES]);

impl Edges {
    /// Records the time of an edge (a future one for [`Edge::Ready`]).
    pub fn note(&mut self, edge: Edge, at: Instant) {
        self.0[edge as usize] = Some(at);
    }

    /// The last time of `edge`.
    pub fn last(&self, edge: Edge) -> Option<Instant> {
        self.0[edge as usize]
    }
}

/// A span of time in which a rule forbids a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The rule.
    pub rule: &'static Rule,
    /// Time of its edge.
    pub from: Instant,
    /// Earliest begin of the cycle.
    pub until: Instant,
}

/// The windows of all rules for a cycle of kind `to`, given the edges of the bus and of the target.
pub fn windows<'a>(
    to: Edge,
    waits: &'a Waits,
    bus: &'a Edges,
    target: &'a Edges,
) -> impl Iterator<Item = Window> + use<'a> {
    RULES.iter().filter(move |rule| rule.to.contains(&to)).filter_map(move |rule| {
        let edges = if rule.scope == Scope::Bus { bus } else { target };
        let from = edges.last(rule.from)?;
        Some(Window { rule, from, until: from + waits.get(rule.wait) })
    })
}

/// The window that ends last, which determines the earliest begin of the cycle.
pub fn latest(windows: impl Iterator<Item = Window>) -> Option<Window> {
    windows.max_by_key(|window| window.until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_alone_decides_when_its_cycle_may_begin() {
        let edge = Instant::from_ps(7);
        for rule in &RULES {
            let mut waits = Waits::NONE;
            waits.set(rule.wait, Duration::from_ps(1_000));
            let (mut bus, mut target) = (Edges::default(), Edges::default());
            let scope = if rule.scope == Scope::Bus { &mut bus } else { &mut target };
            scope.note(rule.from, edge);
            for to in ALL {
                let window = latest(windows(*to, &waits, &bus, &target));
                let wanted = rule.to.contains(to).then_some(Instant::from_ps(1_007));
                assert_eq!(window.map(|w| w.until), wanted, "{} to {to:?}", rule.name());
            }
        }
    }
}
