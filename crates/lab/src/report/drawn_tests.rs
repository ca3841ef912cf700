//! The charts of reports as drawn, at each width and range.

use super::drawn::{WIDTHS, layout, wrong};
use super::{charts, sample};
use crate::summary::Summary;

/// A mixed run of a millisecond, whose latencies are similar.
fn narrow() -> Summary {
    let mut run = sample::mixed();
    run.host.read_latency_us.cumulative = vec![(80.0, 0.2), (82.0, 0.9), (85.0, 1.0)];
    run.host.write_latency_us.cumulative = vec![(81.0, 0.5), (84.0, 1.0)];
    run.simulated_seconds = 1e-3;
    run.windows.width_seconds = 1e-3 / run.windows.windows.len() as f64;
    for window in &mut run.windows.windows {
        (window.read_latency_us, window.write_latency_us, window.max_latency_us) = (81.0, 82.0, 85.0);
    }
    run
}

/// This test takes seconds if charts can be drawn. It draws five reports with more than sixteen charts each.
/// Most are drawn at one width. One report, or two with `WORDLINE_LONG`, is drawn at three widths.
#[test]
fn texts_of_charts_are_whole_and_apart_at_each_width_and_range() {
    let several = vec![sample::mixed(), sample::faster(), sample::only_writes()];
    let all = [
        ("mixed", vec![sample::mixed()]),
        ("narrow", vec![narrow()]),
        ("several", several),
        ("array", vec![sample::array(4)]),
        ("pooled", vec![sample::pooled()]),
    ];
    for (name, runs) in all {
        let is_long = std::env::var_os("WORDLINE_LONG").is_some();
        let has_all = name == "mixed" || name == "several" && is_long;
        let widths = if has_all { &WIDTHS[..] } else { &WIDTHS[..1] };
        for width in widths {
            let Some(layout) = layout(&charts(&runs), *width) else { return };
            assert_eq!(wrong(&layout), Vec::<&str>::new(), "{name} at {width}:\n{layout}");
            insta::assert_snapshot!(format!("{name}_{width}"), layout);
        }
    }
}
