//! Colours of stages. A stage of a request, or the work that it waits for, has the same colour in all charts.

use serde_json::{Value, json};

use crate::report::style::colour;

/// Name of the smallest parts together, if a chart has more parts than classes.
pub(super) const OTHERS: &str = "other parts";

/// Stages and works, in the order of their colour numbers from 1. The most common ones come first, with the
/// most distinct colours.
const STAGES: [&str; 33] = [
    "array",
    "bus",
    "buffer",
    "queue",
    "controller",
    "link",
    "gc_wait",
    "die_wait",
    "mapping",
    "retries",
    "decoding",
    "behind_host_read",
    "behind_host_program",
    "behind_gc_read",
    "behind_gc_program",
    "behind_erase",
    "behind_rmw_read",
    "behind_map_read",
    "behind_map_program",
    OTHERS,
    "raid_wait",
    "raid_reads",
    "raid_log",
    "behind_prefetch",
    "behind_scan",
    "behind_folding_read",
    "behind_folding_program",
    "behind_levelling_read",
    "behind_levelling_program",
    "behind_reclaim_read",
    "behind_reclaim_program",
    "rate_limiter",
    "line_wait",
];

/// The colour scale of `stages`, whose items are the name in results and the words for readers. Also returns
/// the colour numbers for a dark page. `None` if a name is not a stage.
pub fn stage_scale(stages: &[(String, String)]) -> Option<(Value, Value)> {
    let number = |name: &str| {
        let name = if name == "behind_other" { "die_wait" } else { name };
        STAGES.iter().position(|stage| *stage == name).map(|place| place + 1)
    };
    let numbers: Vec<usize> = stages.iter().map(|(name, _)| number(name)).collect::<Option<_>>()?;
    let domain: Vec<&str> = stages.iter().map(|(_, words)| words.as_str()).collect();
    let range: Vec<&str> = numbers.iter().map(|number| colour(&format!("series-{number}"))).collect();
    Some((json!({ "domain": domain, "range": range }), json!({ "series": numbers })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::part_names;

    #[test]
    fn every_part_of_a_tail_and_every_stage_has_a_colour_of_its_own() {
        let names = part_names().map(|(name, _)| name).filter(|name| name != "behind_other");
        let names: Vec<String> = names.chain(["gc_wait", "die_wait", OTHERS].map(String::from)).collect();
        let stages: Vec<(String, String)> = names.iter().map(|name| (name.clone(), name.clone())).collect();
        let (scale, numbers) = stage_scale(&stages).expect("all are known");
        let range = scale["range"].as_array().expect("colours");
        assert!(range.iter().enumerate().all(|(n, colour)| !range[..n].contains(colour)), "{scale}");
        assert_eq!(numbers["series"].as_array().map(Vec::len), Some(names.len()));
        assert_eq!(stage_scale(&[("no_stage".into(), "no stage".into())]), None);
    }
}
