//! Write amplification of uniform writes, against the theory of greedy GC.

use wordline_device::BlockDevice;
use wordline_kernel::Seed;

use super::rig::{Host, file};

/// Pages written for each host page under greedy GC, in mean-field theory (Van Houdt, SIGMETRICS 2013).
/// `pages`: pages of a line. `share`: the mean share of valid pages. A line passes from `i` valid pages to `i
/// - 1` at the rate `i`, until it has `m` valid pages and is collected. So its life is the sum of `1 / i`
/// from `m + 1` to `pages`. The line loses one page for each unit of time and valid page.
fn greedy(pages: u32, share: f64) -> f64 {
    let (all, mut life, mut before) = (f64::from(pages), 0.0, (1.0, f64::from(pages)));
    for m in (0..pages).rev() {
        life += 1.0 / f64::from(m + 1);
        let mean = (all - f64::from(m)) / (all * life);
        if mean < share {
            // The result is between this `m` and the previous one.
            let part = (before.0 - share) / (before.0 - mean);
            let level = before.1 + part * (f64::from(m) - before.1);
            return all / (all - level);
        }
        before = (mean, f64::from(m));
    }
    1.0
}

#[test]
fn theory_agrees_with_its_limits() {
    // Large lines are collected in write order. With a mean share of (1/2 - 1) / ln(1/2), half of a victim is
    // valid.
    assert!((greedy(100_000, 0.5 / std::f64::consts::LN_2) - 2.0).abs() < 1e-3);
    // A line of two pages, whose victims have one valid page: it loses one of two pages in a life of one
    // half.
    assert!((greedy(2, 1.0 - 1e-9) - 2.0).abs() < 1.0);
}

/// The measured write amplification of uniform writes, the value of the theory, and the valid share of closed
/// lines.
fn measured(over_provisioning: f64) -> [f64; 3] {
    let mut file = file([128, 64, 1, 2, 2], 64, over_provisioning);
    (file.gc.lines, file.gc.requests) = (1, 4);
    let mut host = Host::new(file);
    let (pages, mut random) = (u64::from(host.pages()), Seed(5).stream("test.writes", 0));
    assert!(host.device.fill_steady_while(Seed(3), None, &mut |_| true).is_some());
    let before = host.device.counts().clone();
    let (mut valid, mut blocks) = (0.0, 0.0);
    for n in 0..8 * pages {
        host.run_down_to(15);
        host.write_any(random.below(pages) as u32);
        if n % 16 == 0 {
            for [of_line, all] in host.device.closed_lines() {
                valid += f64::from(of_line);
                blocks += f64::from(all);
            }
        }
    }
    host.run_down_to(0);
    let counts = host.device.counts().since(&before);
    let found = (counts.host_pages + counts.moved_pages) as f64 / counts.host_pages as f64;
    // Smeta takes one page of 256, and emeta takes three.
    [found, greedy(252, valid / blocks), valid / blocks]
}

#[test]
fn uniform_writes_cost_what_greedy_collection_of_the_closed_lines_does() {
    // Each takes seconds.
    let is_long = std::env::var_os("WORDLINE_LONG").is_some();
    for over_provisioning in [0.3, 0.2, 0.4].into_iter().take(if is_long { 3 } else { 1 }) {
        let [found, wanted, share] = measured(over_provisioning);
        assert!(
            (found / wanted - 1.0).abs() < 0.03,
            "{over_provisioning}: {found}, wanted {wanted}; {share} of closed lines is valid"
        );
    }
}
