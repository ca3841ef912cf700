//! Tests `wordline policies`.

use serde_json::json;

use crate::wordline;

#[test]
fn every_policy_is_listed_with_its_seam_and_the_key_that_names_it() {
    let all = wordline(&["policies", "--json"]).json();
    let d_choices = json!({
        "seam": "victim", "policy": "d-choices", "key": "ftl.gc.victim", "default": false, "settings": ["choices"],
        "description":
            "The block with the fewest valid pages among several random ones. Also called RGA.",
    });
    assert!(all.as_array().is_some_and(|rows| rows.contains(&d_choices)), "{all}");
    let table = wordline(&["policies"]).success();
    for text in
        ["seam", "ftl.gc.victim", "greedy*", "cost-benefit", "unit.scheduler", "dftl", "ftl.wear.levelling"]
    {
        assert!(table.contains(text), "{text}: {table}");
    }
}

#[test]
fn a_seam_lists_its_policies_and_a_policy_shows_its_page() {
    let victims = wordline(&["policies", "victim"]).success();
    assert!(victims.contains("windowed-greedy") && !victims.contains("write-through"), "{victims}");
    let page = wordline(&["policies", "d-choices"]).success();
    assert!(page.starts_with("# Victim: d-choices") && page.contains("choices = 10"), "{page}");
    let both = wordline(&["policies", "fifo", "--json"]).json();
    let pages: Vec<&str> =
        both.as_array().expect("a list").iter().filter_map(|row| row["page"].as_str()).collect();
    assert_eq!(pages.len(), 2, "of the buffer and of the collector");
    assert!(pages.iter().all(|page| page.starts_with("# ")), "{both}");
}

#[test]
fn designs_are_listed_beside_the_seams_and_have_pages() {
    let table = wordline(&["policies"]).success();
    assert!(table.contains("centaur") && table.contains("slc-mlc-hybrid"), "{table}");
    let designs = wordline(&["policies", "design", "--json"]).json();
    assert_eq!(designs[0]["policy"], "centaur", "{designs}");
    assert_eq!(designs[0]["key"], "designs", "{designs}");
    assert!(designs[0]["settings"].as_array().is_some_and(|keys| keys.contains(&json!("adjust_every"))));
    let page = wordline(&["policies", "slc-mlc-hybrid"]).success();
    assert!(page.starts_with("# Design: slc-mlc-hybrid") && page.contains("level_lifetimes"), "{page}");
    let presets = wordline(&["presets", "list"]).success();
    let flat = presets.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with("name class capacity spare 4K writes/s description"), "{presets}");
    assert!(
        flat.contains("paper 201 GiB 25.0 %") && flat.contains("client TLC, 1 TB 55.3 GiB 9.00 % 46,820"),
        "{presets}"
    );
}

#[test]
fn an_unknown_policy_is_answered_with_the_nearest() {
    let refusal = wordline(&["policies", "gredy"]).refusal();
    assert!(refusal.contains("found `gredy`") && refusal.contains("greedy, or another of"), "{refusal}");
}
