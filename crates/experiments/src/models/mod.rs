//! Published closed forms that simulations are compared with; `docs/VALIDATION.md` has the derivations.

mod bisect;
mod block_map;
mod bounds;
mod faults;
mod hot_cold;
mod map_cache;
mod read_waits;
#[cfg(test)]
mod zipf_gc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::sweep::Point;
use bisect::bisect;
use wordline_lab::error::{Error, Result};

/// A published closed form, named as in experiments.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Write amplification of greedy GC under uniform random writes, for blocks with a finite number of
    /// pages: [`greedy_mean_field`].
    GreedyMeanField,
    /// Write amplification of GC that collects the oldest block, under uniform random writes:
    /// [`oldest_first`]. It is the limit of greedy GC for large blocks.
    OldestFirst,
    /// Write amplification of GC that collects a random block with an invalid page, under uniform random
    /// writes: [`random_victim`].
    RandomVictim,
    /// Write amplification of GC that draws some random blocks and collects the one with the fewest valid
    /// pages, under uniform random writes: [`d_choices_mean_field`].
    DChoicesMeanField {
        /// Number of blocks drawn, at least one.
        choices: u32,
    },
    /// Write amplification of GC that collects the oldest block, with hot and cold writes in the same blocks:
    /// `hot_cold::oldest_first_hot_cold`.
    OldestFirstHotCold {},
    /// Mean response time of a die in microseconds, for reads with Poisson arrivals: `bounds::m_d_1`.
    #[serde(rename = "m-d-1")]
    MD1 {},
    /// Upper bound of buses and arrays on page reads per second: `bounds::reads`.
    ReadBound {},
    /// Upper bound of buses and arrays on page writes per second: `bounds::writes`.
    WriteBound {},
    /// Percentile of read latency in microseconds, at a die that programs and erases as often as in the run:
    /// `read_waits::ReadWaits::quantile`.
    ReadQuantile {
        /// The percentile, below 100.
        percent: f64,
    },
    /// Mean read latency in microseconds, at a die that programs and erases as often as in the run:
    /// `read_waits::ReadWaits::mean`.
    ReadMean {},
    /// Hit ratio of an LRU mapping cache, after Che, Tung and Wang (2002).
    LruHitRatio {},
    /// Translation pages that a mapping cache writes back under uniform writes, without GC.
    TranslationPrograms {},
    /// Write amplification of uniform writes without GC, from the translation pages that a mapping cache
    /// writes back.
    TranslationWriteAmplification {},
    /// Write amplification of uniform random writes with block-level mapping: `block_map::uniform_writes`.
    BlockMapWrites {},
    /// Drive writes until a device with even wear is worn out.
    Lifetime {},
    /// Expected failures of a fault rule that has a probability.
    Failures {
        /// Dotted name of the metric that counts the trials of the rule.
        of: String,
        /// Weight of each failure.
        #[serde(default = "once")]
        times: f64,
    },
}

fn once() -> f64 {
    1.0
}

impl Model {
    /// Value of the closed form for a run with the counts `values`.
    pub(crate) fn of(&self, point: &Point, values: &Json) -> Result<f64> {
        if !point.is_of_ssd() {
            return Err(Error::Argument {
                what: "model of an expected value".into(),
                found: format!("one for a device of the type {}", point.device.device_type()),
                wanted: "one for an SSD".into(),
            });
        }
        let space = point.space();
        Ok(match self {
            Self::GreedyMeanField => greedy_mean_field(space.checked_share()?, space.pages_per_block),
            Self::OldestFirst => oldest_first(space.checked_share()?),
            Self::RandomVictim => random_victim(space.checked_share()?, space.pages_per_block),
            Self::DChoicesMeanField { choices } => {
                d_choices_mean_field(space.checked_share()?, space.pages_per_block, (*choices).max(1))
            }
            Self::OldestFirstHotCold {} => hot_cold::of(point, space.checked_share()?)?,
            Self::MD1 {} => bounds::m_d_1(point)?,
            Self::ReadBound {} => bounds::reads(point),
            Self::WriteBound {} => bounds::writes(point),
            Self::ReadQuantile { percent } => {
                1e6 * read_waits::ReadWaits::of(point, values)?.quantile(percent / 100.0)
            }
            Self::ReadMean {} => 1e6 * read_waits::ReadWaits::of(point, values)?.mean(),
            Self::LruHitRatio {} => map_cache::hits(point)?,
            Self::TranslationPrograms {} => map_cache::programs(point)?,
            Self::TranslationWriteAmplification {} => map_cache::amplification(point)?,
            Self::BlockMapWrites {} => block_map::amplification(point)?,
            Self::Lifetime {} => faults::lifetime(point, values)?,
            Self::Failures { of, times } => faults::expected(point, values, of, *times)?,
        })
    }
}

/// Write amplification of greedy GC under uniform random writes, with infinitely many blocks of `pages`
/// pages. `live` is the valid share of the pages (above 0, below 1).
///
/// This is the mean-field model of Van Houdt (SIGMETRICS 2013, d-choices), in the limit where all blocks are
/// considered. Blocks start full, and lose a page at a rate proportional to the number of their valid pages.
/// The share of blocks with `i` valid pages is therefore `flow / i` above the lowest level `k`, and a
/// remainder at `k` itself. The number of blocks and the number of valid pages give two equations for `flow`
/// and the remainder. `k` is the level at which the remainder is not negative, and not more than can flow
/// off.
pub fn greedy_mean_field(live: f64, pages: u32) -> f64 {
    let full = f64::from(pages);
    let mut above = 0.0; // the sum of 1 / i over the levels above k
    let mut flow = live * full;
    for k in (0..pages).rev() {
        let level = f64::from(k);
        above += 1.0 / (level + 1.0);
        flow = (live * full - level) / ((full - level) - level * above);
        let rest = 1.0 - flow * above;
        if flow > 0.0 && rest >= 0.0 && level * rest <= flow {
            break;
        }
    }
    flow / live
}

/// Write amplification of GC that collects the oldest block, under uniform random writes. `live` is the valid
/// share of the pages (above 0, below 1).
///
/// Desnoyers (SYSTOR 2012), "LRU cleaning": `a / (a + W(-a exp(-a)))`, where `a = 1 / live` and `W` is the
/// principal branch of Lambert's function. Greedy GC approaches it from below as blocks grow.
pub fn oldest_first(live: f64) -> f64 {
    let ratio = 1.0 / live;
    ratio / (ratio + lambert_w(-ratio * libm::exp(-ratio)))
}

/// Write amplification of GC that collects a random block with an invalid page, under uniform random writes,
/// with infinitely many blocks of `pages` pages. `live` is the valid share of the pages (above 0, below 1).
///
/// Victims have the mean number of valid pages of all blocks that are not full. A block stays full until it
/// loses one of its `pages`. This gives `1 / (1 - live + live / pages)`. For large blocks it becomes `1 / (1
/// - live)`, the value for a draw among all blocks.
pub fn random_victim(live: f64, pages: u32) -> f64 {
    1.0 / (1.0 - live + live / f64::from(pages))
}

/// Write amplification of GC that draws `choices` (at least one) random blocks with an invalid page, and
/// collects the one with the fewest valid pages. Writes are uniform and random. There are infinitely many
/// blocks of `pages` pages. `live` is the valid share of the pages (above 0, below 1).
///
/// This is the fixed point of the mean-field model of Van Houdt (SIGMETRICS 2013). A flow of `flow` blocks
/// per unit of time becomes full; in a unit of time each page is overwritten once. Blocks that are not
/// collected with `i` or more valid pages pass to fewer than `i`. So `i m(i)` equals the flow times the
/// probability that a victim has fewer than `i` valid pages. The valid share rises with the flow. Bisection
/// finds the flow.
pub fn d_choices_mean_field(live: f64, pages: u32, choices: u32) -> f64 {
    let flow =
        bisect(0.0, f64::from(pages), |flow| valid_pages(flow, pages, choices) > live * f64::from(pages));
    flow / live
}

/// Mean valid pages of a block, if `flow` blocks become full per unit of time, and the emptiest of `choices`
/// blocks is collected.
fn valid_pages(flow: f64, pages: u32, choices: u32) -> f64 {
    let full = flow / f64::from(pages);
    if full >= 1.0 {
        return f64::from(pages);
    }
    // Share of blocks with at least `i` valid pages. The loop begins with full blocks.
    let mut share = full;
    let mut mean = share;
    for level in (1..pages).rev() {
        let above = share;
        share = bisect(above, 1.0, |share| {
            let victim = libm::pow((share - full) / (1.0 - full), f64::from(choices));
            share - above > flow / f64::from(level) * (1.0 - victim)
        });
        mean += share;
    }
    mean
}

/// Principal branch of Lambert's function: the solution `w` of `w exp(w) = x` with `w >= -1`, for `x >=
/// -1/e`. Computed by Halley's iteration (Corless et al., Advances in Computational Mathematics 1996, section
/// 4).
pub fn lambert_w(x: f64) -> f64 {
    let to_branch = libm::sqrt((2.0 * (std::f64::consts::E * x + 1.0)).max(0.0));
    // The start is the series around the branch point for small `x`, and a logarithm for larger `x`.
    let mut w = if x < 1.0 { -1.0 + to_branch - to_branch * to_branch / 3.0 } else { libm::log(1.0 + x) };
    for _ in 0..64 {
        let power = libm::exp(w);
        let error = w * power - x;
        let slope = power * (w + 1.0);
        if slope == 0.0 {
            break; // at the branch point itself
        }
        let step = error / (slope - (w + 2.0) * error / (2.0 * w + 2.0));
        w -= step;
        if step.abs() <= 1e-15 * (1.0 + w.abs()) {
            break;
        }
    }
    w
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wordline_kernel::{Seed, Stream};

    pub fn close(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() <= tolerance, "found {found}, wanted {wanted}");
    }

    #[test]
    fn lambert_w_meets_its_tabulated_values() {
        // Known values: the omega constant, W(e) = 1, and W(-ln 2 / 2) = -ln 2.
        close(lambert_w(1.0), 0.567_143_290_409_783_8, 1e-14);
        close(lambert_w(std::f64::consts::E), 1.0, 1e-14);
        close(lambert_w(-std::f64::consts::LN_2 / 2.0), -std::f64::consts::LN_2, 1e-12);
        close(lambert_w(-1.0 / std::f64::consts::E), -1.0, 1e-7);
        for tenth in 1..100 {
            let w = -1.0 + f64::from(tenth) / 10.0;
            close(lambert_w(w * libm::exp(w)) + 2.0, w + 2.0, 1e-12);
        }
    }

    #[test]
    fn the_oldest_block_has_the_live_share_at_which_age_and_space_agree() {
        // If victims have the valid share x, blocks age so that live = (1 - x) / -ln x, and the write
        // amplification is 1 / (1 - x).
        for victim in [0.1, 0.5, 0.8, 0.9] {
            let live = (1.0 - victim) / -libm::log(victim);
            close(oldest_first(live), 1.0 / (1.0 - victim), 1e-9);
        }
    }

    #[test]
    fn greedy_tends_to_oldest_first_from_below_as_blocks_grow() {
        for live in [0.7, 0.8, 0.9, 0.95] {
            let limit = oldest_first(live);
            let at = |pages| greedy_mean_field(live, pages);
            assert!(at(16) < at(64) && at(64) < at(256) && at(256) < at(4096) && at(4096) < limit);
            close(at(65_536), limit, 1e-3);
        }
    }

    #[test]
    fn blocks_of_one_page_need_no_copies() {
        close(greedy_mean_field(0.9, 1), 1.0, 1e-12);
    }

    #[test]
    fn a_single_choice_is_a_random_victim() {
        for (live, pages) in [(0.7, 8), (0.85, 32), (0.94, 128)] {
            close(d_choices_mean_field(live, pages, 1), random_victim(live, pages), 1e-9);
        }
        close(random_victim(0.9, 1), 1.0, 1e-12);
    }

    #[test]
    fn more_choices_tend_to_greedy_from_above() {
        for (live, pages) in [(0.75, 16), (0.9, 64)] {
            let at = |choices| d_choices_mean_field(live, pages, choices);
            let greedy = greedy_mean_field(live, pages);
            assert!(at(1) > at(2) && at(2) > at(10) && at(10) > at(100) && at(100) > greedy);
            close(at(3_000), greedy, 2e-3);
        }
    }

    /// Simulates GC with plain counters, independently of the simulator. `pick` selects a victim from the
    /// numbers of valid pages of all blocks. The blocks are first written in descending order.
    fn play(blocks: usize, pages: usize, live: f64, pick: impl FnMut(&[usize]) -> usize) -> f64 {
        play_with(blocks, pages, live, |random, logical| random.below(logical), pick)
    }

    /// Simulates GC like [`play`]. `draw` selects the logical page that is written next; its argument is the
    /// number of logical pages.
    pub fn play_with(
        blocks: usize,
        pages: usize,
        live: f64,
        mut draw: impl FnMut(&mut Stream, u64) -> u64,
        mut pick: impl FnMut(&[usize]) -> usize,
    ) -> f64 {
        let logical = (blocks as f64 * pages as f64 * live) as usize;
        let mut random = Seed(11).stream("greedy", pages as u64);
        let mut home = vec![usize::MAX; logical];
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); blocks + 1];
        let mut count = vec![0usize; blocks + 1];
        let mut free: Vec<usize> = (0..=blocks).collect();
        let mut open = free.pop().expect("there are blocks");
        let (mut host, mut flash) = (0u64, 0u64);
        let warm = 8 * logical as u64;
        for write in 0..warm + 4 * logical as u64 {
            let page = if write < logical as u64 {
                write as usize
            } else {
                draw(&mut random, logical as u64) as usize
            };
            if home[page] != usize::MAX {
                count[home[page]] -= 1;
            }
            let mut queue = vec![page];
            while let Some(page) = queue.pop() {
                if inside[open].len() == pages {
                    if free.is_empty() {
                        let victim = pick(&count);
                        queue.extend(inside[victim].drain(..).filter(|p| home[*p] == victim && *p != page));
                        count[victim] = 0;
                        free.push(victim);
                    }
                    open = free.pop().expect("one was collected");
                }
                inside[open].push(page);
                home[page] = open;
                count[open] += 1;
                flash += u64::from(write >= warm);
            }
            host += u64::from(write >= warm);
        }
        flash as f64 / host as f64
    }

    fn emptiest(count: &[usize]) -> usize {
        (0..count.len()).min_by_key(|block| count[*block]).expect("there are blocks")
    }

    #[test]
    fn bare_greedy_gc_lands_on_the_mean_field() {
        for (pages, live) in [(8, 0.8), (32, 0.85)] {
            close(play(400, pages, live, emptiest), greedy_mean_field(live, pages as u32), 0.02);
        }
    }

    #[test]
    fn bare_gc_of_random_blocks_lands_on_the_mean_field() {
        for (choices, pages, live) in [(1, 8, 0.8), (2, 8, 0.8), (1, 32, 0.85), (5, 32, 0.85)] {
            let mut random = Seed(5).stream("choices", 0);
            let draw = |count: &[usize]| {
                let any = || random.below(count.len() as u64) as usize;
                let drawn = std::iter::repeat_with(any).filter(|block| count[*block] < pages);
                drawn.take(choices).min_by_key(|block| count[*block]).expect("at least one is drawn")
            };
            let model = d_choices_mean_field(live, pages as u32, choices as u32);
            close(play(400, pages, live, draw), model, 0.02);
        }
    }

    #[test]
    fn bare_gc_in_turn_lands_on_the_closed_form() {
        for (pages, live) in [(8, 0.8), (32, 0.85)] {
            let mut next = 0;
            let in_turn = |count: &[usize]| {
                next = if next == 0 { count.len() - 1 } else { next - 1 };
                next
            };
            close(play(400, pages, live, in_turn), oldest_first(live), 0.02);
        }
    }
}
