//! The begin and end of cycles, their effects on the pins, and the cycles that a target accepts.

use wordline_kernel::Instant;

use super::target::{Output, Target};
use super::trace::BusyPeriod;
use super::{Bus, Pace};
use crate::Stage;
use crate::onfi::command::{self, Operation};
use crate::onfi::failure::{Failure, FailureKind, Fault};
use crate::onfi::host_times::TooShort;
use crate::onfi::rules::{self, Edge, Wait};
use crate::onfi::sequence::{Decoder, Step};

/// The rejection of a cycle because a time of the host is too short.
pub(super) fn within((parameter, found, least): TooShort) -> FailureKind {
    FailureKind::Within { parameter, found, least }
}

impl Bus {
    pub(super) fn target(&self) -> &Target {
        self.targets.selected()
    }

    pub(super) fn target_mut(&mut self) -> &mut Target {
        self.targets.selected_mut()
    }

    /// The begin of the next cycle of this kind.
    pub(super) fn begin(&mut self, to: Edge) -> Result<Instant, Failure> {
        self.cycles += 1;
        let target = self.target_mut();
        if target.decoder.has_no_command() || target.decoder.is_return_to_data() {
            target.addressed_lun = target.selected;
        }
        self.note_ready();
        if let Some(short) = self.host.too_short(to, self.timing()) {
            return Err(self.refuse(within(short)));
        }
        let windows = rules::windows(to, &self.target().waits, &self.edges, &self.target().edges);
        let Some(window) = rules::latest(windows).filter(|window| window.until > self.now) else {
            return Ok(self.now);
        };
        if self.pace == Pace::Exact {
            return Err(self.refuse(FailureKind::Timing { rule: window.rule, earliest: window.until }));
        }
        Ok(window.until)
    }

    /// Records the ready time of the LUN or target that data out wait for.
    fn note_ready(&mut self) {
        let target = self.target_mut();
        let ready = match target.output {
            Output::Bytes(_) => target.busy_until.max(target.ports[target.selected].busy_until),
            _ => target.ports[target.selected].ready_at(),
        };
        target.edges.note(Edge::Ready, ready);
    }

    /// Decodes a cycle, executes its steps, and records it.
    pub(super) fn finish(
        &mut self,
        edge: Edge,
        stage: Stage,
        (begin, end): (Instant, Instant),
        decode: impl FnOnce(&mut Decoder) -> Result<Vec<Step>, FailureKind>,
    ) -> Result<Vec<Step>, Failure> {
        let steps = decode(&mut self.target_mut().decoder).map_err(|kind| self.refuse(kind))?;
        let from = self.occupied_from(edge, begin);
        let status = steps.contains(&Step::ReturnToData).then(|| self.target().output.clone());
        let mut busy = false;
        for step in &steps {
            busy |= self.execute_step(step, begin, end).map_err(|kind| {
                // The steps of a lone 00h were rejected: data out return to the status.
                status.clone().into_iter().for_each(|status| self.target_mut().output_status(status));
                self.refuse(kind)
            })?;
        }
        let until = if busy { end + self.target().waits.get(Wait::Wb) } else { end };
        self.trace.hold(stage, from, until);
        (self.now, self.held_until) = (end, until);
        if edge == Edge::Command || edge == Edge::Address {
            self.edges.note(Edge::LatchBegin, begin);
        }
        self.edges.note(edge, end);
        if busy {
            self.edges.note(Edge::Confirm, end);
            self.record_busy(until);
        }
        Ok(steps)
    }

    /// Records until when the LUNs of the selected target are busy, as a command has left them at `begin`.
    fn record_busy(&mut self, begin: Instant) {
        let Self { targets, trace, .. } = self;
        let target = targets.selected();
        for port in &target.ports {
            let [ready, array_ready] =
                [port.ready_at(), port.array_ready_at()].map(|at| at.max(target.busy_until));
            let (die, command) = (port.lun.die(), port.serial);
            trace.hold_die(BusyPeriod { die, begin, ready, array_ready, command });
        }
    }

    /// The time from which the bus is occupied for a cycle that begins at `begin`. The waits that end at its
    /// begin count as part of it, unless another cycle was on the bus.
    fn occupied_from(&self, edge: Edge, begin: Instant) -> Instant {
        let target = self.target();
        let windows =
            rules::windows(edge, &self.target().waits, &self.edges, &target.edges).map(|w| (w.from, w.until));
        let short = target.short_busy.filter(|_| edge == Edge::Command);
        let waits: Vec<(Instant, Instant)> = windows.chain(short).collect();
        let mut from = begin;
        while let Some(wait) = waits.iter().find(|(begin, end)| *begin < from && from <= *end) {
            let earlier = wait.0.max(self.held_until);
            if earlier >= from {
                break;
            }
            from = earlier;
        }
        from
    }

    pub(super) fn failure(&self, kind: FailureKind) -> Failure {
        Failure { kind, cycle: self.cycles, at: self.now }
    }

    /// Rejects a cycle of the selected target.
    pub(super) fn refuse(&mut self, kind: FailureKind) -> Failure {
        let target = self.target_mut();
        target.decoder.clear();
        (target.refused, target.rejected_lun) = (true, target.addressed_lun);
        self.failure(kind)
    }

    /// Checks that the command is accepted. A target that rejected a cycle accepts only status commands and
    /// resets.
    pub(super) fn check_command(&self, code: u8, at: Instant) -> Result<(), FailureKind> {
        let target = self.target();
        let harmless = command::starting_with(code).any(|c| {
            use Operation as O;
            let resets =
                matches!(c.operation, O::Reset | O::SynchronousReset | O::ResetLun | O::VolumeSelect);
            resets || matches!(c.operation, O::Status | O::StatusEnhanced | O::ExtendedStatus)
        });
        if target.awaits_first_reset && code != 0xFF {
            return Err(FailureKind::Sequence(Fault::BeforeReset));
        }
        if target.refused && !harmless {
            return Err(FailureKind::AwaitingReset);
        }
        let mut begun = command::starting_with(code).peekable();
        if let Some(first) = begun.peek().copied()
            && begun.all(|command| !target.offers.has(command.operation))
        {
            return Err(FailureKind::Unsupported {
                what: format!("{}, which the part does not offer", first.name),
            });
        }
        // 00h alone ends when another command follows.
        let opens = target.decoder.has_no_command() || target.decoder.is_return_to_data();
        if opens { target.require_any_lun(code, at) } else { Ok(()) }
    }

    /// Checks a cycle that is not a command: a target that rejected a cycle accepts it only within a command.
    pub(super) fn check_locked(&self) -> Result<(), FailureKind> {
        let target = self.target();
        let open = !target.decoder.has_no_command();
        if target.refused && !open { Err(FailureKind::AwaitingReset) } else { Ok(()) }
    }
}
