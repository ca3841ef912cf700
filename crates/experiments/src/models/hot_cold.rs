//! Write amplification of hot and cold pages that share an active block; `docs/VALIDATION.md` has the
//! derivation.

use crate::models::bisect::bisect;
use crate::sweep::Point;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::address::Pattern;

/// Write amplification of GC that collects the oldest block, with hot and cold pages in the same blocks.
/// `hot_accesses` of the writes go to `hot_addresses` of the logical pages. Writes are uniform within the hot
/// pages and within the cold pages. `live` is the valid share of the pages (above 0, below 1).
///
/// Desnoyers (SYSTOR 2012) treats hot and cold data under GC by age. The unit of time is the time in which
/// the host writes as many pages as there are. A block is collected at age `t`, when all pages have been
/// written once more. Let a kind of page have the share `a` of the writes and the share `f` of the logical
/// pages. A page of this kind is still valid with probability `exp(-a t / (f live))`, and is then rewritten.
/// This gives `a / (1 - exp(..))` pages of the kind per host page. The sum over both kinds is the write
/// amplification. Because all pages are written once in `t`, the write amplification also equals `1 / t`.
pub fn oldest_first_hot_cold(live: f64, hot_accesses: f64, hot_addresses: f64) -> f64 {
    let kinds = [(hot_accesses, hot_addresses), (1.0 - hot_accesses, 1.0 - hot_addresses)];
    let programmed = |age: f64| -> f64 {
        // A kind that is hardly ever written is relocated completely in each round.
        let of_kind = |(accesses, addresses): (f64, f64)| {
            let gone = -libm::expm1(-accesses * age / (addresses * live));
            if gone > 0.0 { accesses / gone } else { addresses * live / age }
        };
        kinds.into_iter().map(of_kind).sum()
    };
    // The age is below 1. At an age of 1 nothing would be relocated.
    1.0 / bisect(0.0, 1.0, |age| age * programmed(age) > 1.0)
}

/// [`oldest_first_hot_cold`] for the pattern of a run's workload, with the valid share `live`.
pub(crate) fn of(point: &Point, live: f64) -> Result<f64> {
    match point.generated().map(|workload| &workload.pattern) {
        Some(Pattern::HotCold { hot_accesses, hot_addresses }) => {
            Ok(oldest_first_hot_cold(live, *hot_accesses, *hot_addresses))
        }
        _ => Err(Error::Argument {
            what: "model oldest-first-hot-cold".into(),
            found: "a workload without hot and cold addresses".into(),
            wanted: "a generated workload with the pattern `hot-cold`".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::oldest_first;
    use crate::models::tests::{close, play_with};

    #[test]
    fn equal_temperatures_are_uniform_writes() {
        for live in [0.5, 0.7, 0.9, 0.95] {
            for share in [0.1, 0.5, 0.8] {
                close(oldest_first_hot_cold(live, share, share), oldest_first(live), 1e-9);
            }
        }
    }

    #[test]
    fn cold_pages_that_are_never_written_are_moved_once_a_round() {
        // If only hot pages are written, they use the space that the cold pages leave. Each round also
        // relocates all cold pages.
        let (live, hot) = (0.8, 0.25);
        let found = oldest_first_hot_cold(live, 1.0, hot);
        let age = 1.0 / found;
        close(found, 1.0 / (1.0 - libm::exp(-age / (hot * live))) + (1.0 - hot) * live / age, 1e-9);
    }

    #[test]
    fn bare_gc_in_turn_under_hot_and_cold_writes_lands_on_the_form() {
        for (accesses, addresses) in [(0.8, 0.2), (0.9, 0.1)] {
            let (pages, live) = (32, 0.85);
            let mut next = 0;
            let in_turn = |count: &[usize]| {
                next = if next == 0 { count.len() - 1 } else { next - 1 };
                next
            };
            let draw = |random: &mut wordline_kernel::Stream, logical: u64| {
                let hot = (logical as f64 * addresses) as u64;
                if random.unit() < accesses { random.below(hot) } else { hot + random.below(logical - hot) }
            };
            close(
                play_with(400, pages, live, draw, in_turn),
                oldest_first_hot_cold(live, accesses, addresses),
                0.02,
            );
        }
    }
}
