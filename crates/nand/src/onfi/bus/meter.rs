//! Stage times of all LUNs, for their energy.

use wordline_kernel::{Duration, Instant};

use crate::energy::StageTimes;
use crate::{DieId, Span};

/// Times by stage, and their overlap. Stages overlap if a die uses the bus while its array works, or senses
/// in several planes.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    stages: StageTimes,
    overlap: u128,
    /// Spans of dies that still work, or whose cycles are not over.
    open: Vec<Span>,
}

impl Meter {
    pub fn add(&mut self, spans: &[Span]) {
        self.open.extend_from_slice(spans);
    }

    /// Adds up the spans of idle dies that are over by `now`. No later span begins before these.
    pub fn fold(&mut self, now: Instant, resting: &[DieId]) {
        let open = std::mem::take(&mut self.open);
        let (mut over, open): (Vec<Span>, _) =
            open.into_iter().partition(|span| span.end() <= now && resting.contains(&span.die));
        self.open = open;
        over.sort_by_key(|span| (span.die, span.begin));
        let (mut die, mut until) = (None, Instant::ZERO);
        for span in over {
            let planes = span.planes.count_ones().max(1);
            self.stages.add(span.stage, span.length, planes);
            if die != Some(span.die) {
                (die, until) = (Some(span.die), Instant::ZERO);
            }
            self.overlap += u128::from(until.min(span.end()).saturating_since(span.begin).ps());
            until = until.max(span.end());
        }
    }

    /// The stage times of `dies` dies until `now`, including the operations in progress in `work`.
    pub fn stages(&self, now: Instant, dies: u32, work: Vec<Span>) -> StageTimes {
        let mut all = self.clone();
        all.add(&work);
        all.open.retain(|span| span.begin < now);
        for span in &mut all.open {
            span.length = span.end().min(now).saturating_since(span.begin);
        }
        let every: Vec<DieId> = all.open.iter().map(|span| span.die).collect();
        all.fold(now, &every);
        all.stages.set_idle(dies, now.saturating_since(Instant::ZERO), all.overlap);
        all.stages
    }
}

/// Time between two instants, zero if the second is later.
trait Since {
    fn saturating_since(self, earlier: Instant) -> Duration;
}

impl Since for Instant {
    fn saturating_since(self, earlier: Instant) -> Duration {
        Duration::from_ps(self.ps().saturating_sub(earlier.ps()))
    }
}
