//! Hit ratio of an LRU mapping cache (CMT), and the cost of its write-back; `docs/VALIDATION.md` has the
//! derivation.

use wordline_ftl::policy::mapper::CacheSize;

use crate::models::bisect::bisect;
use crate::sweep::Point;
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::address::Pattern;

/// A class of equally likely addresses: their number, and the probability of each.
type Class = (f64, f64);

/// The address classes of a pattern over `slots` slots. `None` if successive requests are correlated.
fn classes(pattern: &Pattern, slots: u64) -> Option<Vec<Class>> {
    let all = slots as f64;
    match *pattern {
        Pattern::Sequential {} => None,
        Pattern::Uniform {} => Some(vec![(all, 1.0 / all)]),
        Pattern::HotCold { hot_accesses, hot_addresses } => {
            let hot = libm::floor(all * hot_addresses).clamp(1.0, all);
            let cold = all - hot;
            let mut classes = vec![(hot, hot_accesses / hot)];
            classes.extend((cold > 0.0).then(|| (cold, (1.0 - hot_accesses) / cold)));
            Some(classes)
        }
        Pattern::Zipf { theta } => {
            let weights: Vec<f64> = (1..=slots).map(|rank| libm::pow(rank as f64, -theta)).collect();
            let sum: f64 = weights.iter().sum();
            Some(weights.into_iter().map(|weight| (1.0, weight / sum)).collect())
        }
    }
}

/// The characteristic time of a cache of `entries`: the number of requests after which an address that is not
/// accessed again is evicted. It is the root of `sum of (1 - exp(-p t)) = entries` over all addresses (Che,
/// Tung and Wang, *Hierarchical Web Caching Systems: Modeling, Design and Experimental Results*, IEEE JSAC
/// 20(7), 2002).
fn characteristic_time(classes: &[Class], entries: f64) -> f64 {
    let held = |time: f64| -> f64 { classes.iter().map(|(count, p)| -count * libm::expm1(-p * time)).sum() };
    let mut most = entries;
    while held(most) < entries && most < 1e18 {
        most *= 2.0;
    }
    bisect(0.0, most, |time| held(time) >= entries)
}

/// Hit ratio of an LRU cache of `entries` over `requests`, by Che's approximation. The cache is empty at the
/// beginning. For uniform addresses the hit ratio of a full cache is the cached fraction of the addresses.
///
/// Nothing is evicted until the cache is full. The first `t` requests, up to the characteristic time, miss
/// once per entry. Later requests hit with probability `h = sum of p (1 - exp(-p t))`.
fn hit_ratio(classes: &[Class], entries: f64, requests: f64) -> f64 {
    let time = characteristic_time(classes, entries);
    let settled: f64 = classes.iter().map(|(count, p)| -count * p * libm::expm1(-p * time)).sum();
    settled - (entries - time * (1.0 - settled)) / requests
}

/// Translation pages programmed while the host writes `writes` pages at random, on a device without GC.
///
/// A changed entry is evicted unless the entry changes again before its eviction. The first such eviction of
/// a translation page since its last write causes the page to be rewritten. Each change of the page leads to
/// such an eviction with the miss ratio `m`. The page changes every `tables` writes, and the eviction follows
/// after the characteristic time `t`. A round from one rewrite to the next therefore takes `tables / m + t`
/// writes. In `writes` writes there are `writes / round + (spread^2 / round^2 - 1) / 2` rounds per
/// translation page, with the spread `tables / m` (second term of the renewal theorem).
fn translation_programs(pages: f64, cache: &CacheSize, writes: f64) -> f64 {
    let time = characteristic_time(&[(pages, 1.0 / pages)], cache.entries.into());
    let misses = 1.0 - f64::from(cache.entries) / pages;
    let tables = pages / f64::from(cache.per_table);
    let spread = tables / misses;
    let round = spread + time;
    let rounds = writes / round + (spread * spread / (round * round) - 1.0) / 2.0;
    tables * rounds
}

/// Inputs of both models from a run: the cache, the address classes, and the number of requests.
fn parts(point: &Point, what: &str) -> Result<(CacheSize, Vec<Class>, f64)> {
    let refuse = |found: &str| {
        Error::Argument {
        what: format!("model {what}"),
        found: found.to_owned(),
        wanted: "a map cache without protected entries (ftl.mapping), and a generated workload of single mapping units at addresses that do not follow each other".into(),
    }
    };
    let cache = point.config().ftl.map_cache().ok_or_else(|| refuse("the whole map in memory"))?;
    let workload = point.generated().ok_or_else(|| refuse("no generated workload"))?;
    let unit = point.config().ftl.unit;
    let one = matches!(&workload.sizes[..], [one] if one.size == unit);
    let classes = classes(&workload.pattern, u64::from(point.config().ftl.logical_pages));
    match classes {
        Some(classes) if one && cache.protected == 0 && workload.region >= 1.0 => {
            Ok((cache, classes, workload.requests as f64))
        }
        _ => Err(refuse("another cache or workload")),
    }
}

/// [`hit_ratio`] for a run.
pub(crate) fn hits(point: &Point) -> Result<f64> {
    let (cache, classes, requests) = parts(point, "lru-hit-ratio")?;
    Ok(hit_ratio(&classes, cache.entries.into(), requests))
}

/// [`translation_programs`] for a run.
pub(crate) fn programs(point: &Point) -> Result<f64> {
    let (cache, classes, requests) = parts(point, "translation-programs")?;
    match classes[..] {
        [(pages, _)] => Ok(translation_programs(pages, &cache, requests)),
        _ => Err(Error::Argument {
            what: "model translation-programs".into(),
            found: "addresses that are not equally likely".into(),
            wanted: "the pattern `uniform`".into(),
        }),
    }
}

/// Pages programmed per host page, if only host pages and translation pages are written.
pub(crate) fn amplification(point: &Point) -> Result<f64> {
    let (_, _, requests) = parts(point, "translation-write-amplification")?;
    Ok(1.0 + programs(point)? / requests)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use wordline_kernel::{Seed, Stream};

    use super::*;
    use crate::models::tests::close;

    /// Simulates a cache as a plain list. Returns the hits of all requests, and the number of table writes. A
    /// table of `per_table` pages is written when a dirty page of it is evicted; all its dirty pages are then
    /// clean.
    fn played(
        mut draw: impl FnMut(&mut Stream) -> u64,
        entries: usize,
        requests: u64,
        per_table: u64,
    ) -> (f64, f64) {
        let mut random = Seed(3).stream("map_cache", 0);
        let (mut used, mut order) = (BTreeMap::new(), BTreeMap::new());
        let mut changed: BTreeSet<u64> = BTreeSet::new();
        let (mut hits, mut written) = (0u64, 0u64);
        for now in 0..requests {
            let page = draw(&mut random);
            if let Some(before) = used.insert(page, now) {
                hits += 1;
                order.remove(&before);
            } else if order.len() == entries {
                let (_, leaves) = order.pop_first().expect("it is full");
                used.remove(&leaves);
                if changed.contains(&leaves) {
                    let table = leaves / per_table;
                    changed.retain(|page| page / per_table != table);
                    written += 1;
                }
            }
            order.insert(now, page);
            changed.insert(page);
        }
        (hits as f64 / requests as f64, written as f64 / requests as f64)
    }

    #[test]
    fn uniform_addresses_are_found_as_often_as_they_are_held() {
        for entries in [10.0, 500.0, 999.0] {
            close(hit_ratio(&[(1000.0, 1e-3)], entries, 1e15), entries / 1000.0, 1e-6);
        }
    }

    #[test]
    fn a_bare_cache_finds_what_che_says_from_empty_on() {
        let hot_cold = Pattern::HotCold { hot_accesses: 0.8, hot_addresses: 0.2 };
        for (pattern, entries) in
            [(Pattern::Uniform {}, 500), (hot_cold, 300), (Pattern::Zipf { theta: 0.9 }, 200)]
        {
            let classes = classes(&pattern, 2_000).expect("independent requests");
            // Draws by the probabilities of the classes.
            let bounds: Vec<f64> = classes
                .iter()
                .scan(0.0, |sum, (count, p)| {
                    *sum += count * p;
                    Some(*sum)
                })
                .collect();
            let firsts: Vec<f64> = classes
                .iter()
                .scan(0.0, |sum, (count, _)| {
                    *sum += count;
                    Some(*sum - count)
                })
                .collect();
            let draw = |random: &mut Stream| {
                let at = random.unit();
                let class = bounds.partition_point(|bound| *bound <= at).min(classes.len() - 1);
                firsts[class] as u64 + random.below(classes[class].0 as u64)
            };
            let (found, _) = played(draw, entries, 40_000, 100);
            close(found, hit_ratio(&classes, entries as f64, 40_000.0), 0.03);
        }
    }

    #[test]
    fn a_bare_cache_writes_back_as_often_as_the_rounds_say() {
        for (entries, per_table) in [(100, 50), (400, 50), (1_000, 50), (400, 10)] {
            let (_, found) = played(|random| random.below(2_000), entries, 40_000, per_table);
            let cache = CacheSize {
                entries: entries as u32,
                protected: 0,
                per_table: per_table as u32,
                tables: 2_000 / per_table as u32,
            };
            close(found * 40_000.0, translation_programs(2_000.0, &cache, 40_000.0), 0.04);
        }
    }
}
