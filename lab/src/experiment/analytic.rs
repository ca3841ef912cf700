//! Published closed forms that a simulation is compared with. `docs/VALIDATION.md` derives them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The space in which a garbage collector works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Pages of a block that is erased as one.
    pub pages_per_block: u32,
    /// Pages that hold live data.
    pub logical_pages: f64,
    /// Pages over which the data are spread: all of them but those of blocks that are kept free.
    pub physical_pages: f64,
}

impl Space {
    /// Live share of the pages over which the data are spread.
    pub fn live_share(&self) -> f64 {
        self.logical_pages / self.physical_pages
    }
}

/// A published closed form, by the name that experiments give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Write amplification of greedy cleaning under uniform random writes, blocks of a finite number of pages:
    /// [`greedy_mean_field`].
    GreedyMeanField,
    /// Write amplification of cleaning the oldest block under uniform random writes, the limit of greedy
    /// cleaning for large blocks: [`oldest_first`].
    OldestFirst,
}

impl Model {
    /// What the model says of `space`.
    pub fn value(self, space: &Space) -> Result<f64> {
        let share = space.live_share();
        if !(share > 0.0 && share < 1.0) || space.pages_per_block == 0 {
            return Err(Error::Argument {
                what: "space of the analytic model".into(),
                found: format!("{share} of the pages live, {} pages a block", space.pages_per_block),
                wanted: "a live share above 0 and below 1, and at least one page a block".into(),
            });
        }
        Ok(match self {
            Self::GreedyMeanField => greedy_mean_field(share, space.pages_per_block),
            Self::OldestFirst => oldest_first(share),
        })
    }
}

/// Write amplification of greedy cleaning under uniform random writes with infinitely many blocks of `pages` pages,
/// of which `live` (above 0, below 1) hold live data.
///
/// The mean-field model of Van Houdt (SIGMETRICS 2013, d-choices) in the limit of all blocks being looked at.
/// Blocks start full and lose a page at a rate in proportion to their live pages, so the number of blocks with `i`
/// live pages is `flow / i` above the least level `k`, and what is left over at `k` itself. The number of blocks
/// and the number of live pages give two equations for `flow` and the rest; `k` is the level at which the rest is
/// neither negative nor more than can flow off.
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

/// Write amplification of cleaning the oldest block first under uniform random writes; `live` (above 0, below 1) is
/// the live share of the pages.
///
/// Desnoyers (SYSTOR 2012), "LRU cleaning": `a / (a + W(-a exp(-a)))` with `a = 1 / live` and `W` the principal
/// branch of Lambert's function. Greedy cleaning tends to it from below as blocks grow.
pub fn oldest_first(live: f64) -> f64 {
    let ratio = 1.0 / live;
    ratio / (ratio + lambert_w(-ratio * libm::exp(-ratio)))
}

/// The principal branch of Lambert's function, `w exp(w) = x` with `w` from -1 on, for `x` from `-1/e` on: Halley's
/// iteration (Corless et al., Advances in Computational Mathematics 1996, section 4).
pub fn lambert_w(x: f64) -> f64 {
    let to_branch = libm::sqrt((2.0 * (std::f64::consts::E * x + 1.0)).max(0.0));
    // The first terms of the series around the branch point, and the logarithm further out.
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
mod tests {
    use super::*;
    use wordline_kernel::Seed;

    fn close(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() <= tolerance, "found {found}, wanted {wanted}");
    }

    #[test]
    fn lambert_w_meets_its_tabulated_values() {
        // The omega constant, W(e) = 1, W(-ln 2 / 2) = -ln 2.
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
        // With a live share x in the victim, blocks age so that live = (1 - x) / -ln x, and WA = 1 / (1 - x).
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

    /// Greedy cleaning played out on bare counters: nothing of the simulator is in it.
    fn play(blocks: usize, pages: usize, live: f64) -> f64 {
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
            let page =
                if write < logical as u64 { write as usize } else { random.below(logical as u64) as usize };
            if home[page] != usize::MAX {
                count[home[page]] -= 1;
            }
            let mut queue = vec![page];
            while let Some(page) = queue.pop() {
                if inside[open].len() == pages {
                    if free.is_empty() {
                        let victim = (0..=blocks).min_by_key(|b| count[*b]).expect("there are blocks");
                        queue.extend(inside[victim].drain(..).filter(|p| home[*p] == victim && *p != page));
                        count[victim] = 0;
                        free.push(victim);
                    }
                    open = free.pop().expect("one was cleaned");
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

    #[test]
    fn bare_greedy_cleaning_lands_on_the_mean_field() {
        for (pages, live) in [(8, 0.8), (32, 0.85)] {
            close(play(400, pages, live), greedy_mean_field(live, pages as u32), 0.02);
        }
    }
}
