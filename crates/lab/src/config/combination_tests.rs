//! Refused combinations of device features. The test tries every pair and compares the result with the table
//! in docs/combinations.md. `UPDATE_DOCS=1` rewrites the table.

use std::path::Path;

use super::*;

/// The device that the features are added to. It has enough capacity for any two of them.
const BASE: &str = "part.geometry.blocks_per_plane=64;part.geometry.layers=4;ftl.over_provisioning=0.7";

/// The key of the designs of a feature.
const DESIGNS: &str = "designs=";

/// A second pool, and the design that selects the pool of a page.
const POOLS: &str = "pools=[{ part = { base = 'centaur-slc-2d', geometry.blocks_per_plane = 64, geometry.pages_per_block = 16, \
    geometry.page_size = '4KiB' }, layout = { channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_row = 1 } }];\
    designs='centaur';design.centaur={ least = '4KiB', condition = '8KiB', most = '16KiB', migration = false }";

/// The mapping unit for block-level mapping on a one-shot part: a program unit.
const UNIT: &str = "ftl.mapping.unit='24KiB'";

const SLC: &str = "part.timing.slc={ read = '20us', program = '100us', erase = '1ms' };ftl.slc_cache={ blocks = 2 };\
    ftl.router={ policy = 'slc-cache' }";

/// Each feature with its settings. Two features that set one key to different values cannot be combined.
fn features() -> Vec<(&'static str, String)> {
    let scripted = |seam: &str| format!("designs='scripted';design.scripted.decisions=['{seam}']");
    let mut all = vec![
        ("several pools", POOLS.to_owned()),
        ("whole units", format!("{POOLS};ftl.mapping.whole_units=true")),
        ("fixed placement", "ftl.placement={ policy = 'fixed', order = 'CWDP' }".to_owned()),
        ("an SLC cache", SLC.to_owned()),
    ];
    let blocks = format!(
        "{UNIT};ftl.mapping.block={{ replacements = 2 }};ftl.placement={{ policy = 'fixed', order = 'CWDP' }}"
    );
    let others = [
        ("super blocks", "ftl.gc.scope='super-block'"),
        ("a protected buffer", "buffer.power_loss_protection='full'"),
        ("kept discards", "ftl.recovery.discards='kept'"),
        ("checkpoints of discards", "ftl.recovery={ discards = 'kept', checkpoint = '256KiB' }"),
        ("streams of the host", "ftl.router={ policy = 'host', streams = 2 }"),
        ("hot and cold streams", "ftl.router={ policy = 'hot-cold', window = 0.2 }"),
        ("generations of the collector", "ftl.gc.relocator={ policy = 'generations', streams = 2 }"),
        ("a map in flash", "ftl.mapping.cache='4KiB'"),
        ("a block map", blocks.as_str()),
        ("mapping units of 1 KiB", "ftl.mapping.unit='1KiB'"),
        ("wear levelling", "ftl.wear.levelling={ policy = 'bet', k = 0, threshold = 2 }"),
        ("GC while idle", "ftl.gc.background={ policy = 'idle-gc', idle = '1ms', until_free = 8 }"),
        ("vertical word lines", "ftl.frontier.policy='vertical'"),
        ("mixed word lines", "ftl.frontier.policy='mixed'"),
        ("copyback", "part.geometry.one_shot=false;ftl.gc.copyback=true"),
    ];
    all.extend(others.map(|(name, settings)| (name, settings.to_owned())));
    all.push((
        "folding while idle",
        format!("{SLC};ftl.gc.background={{ policy = 'idle-fold', idle = '1ms' }}"),
    ));
    let designs = [
        ("a design that places", "place"),
        ("a design with streams", "stream"),
        ("a design of word lines", "frontier"),
        ("a design that chooses victims", "victim"),
        ("a design that relocates", "relocate"),
        ("a design that coalesces", "coalesce"),
    ];
    all.extend(designs.map(|(name, seam)| (name, scripted(seam))));
    all
}

/// The settings of several features, with all their designs in one list; `None` if they set one key to
/// different values.
fn together(of: &[&str]) -> Option<Vec<String>> {
    let mut all: Vec<String> = BASE.split(';').map(str::to_owned).collect();
    let mut designs: Vec<&str> = Vec::new();
    for setting in of.iter().flat_map(|settings| settings.split(';')) {
        if let Some(name) = setting.strip_prefix(DESIGNS) {
            designs.push(name);
            continue;
        }
        let (key, _) = setting.split_once('=').expect("a key and a value");
        let nested = |other: &String| {
            let (other, _) = other.split_once('=').expect("a key and a value");
            other == key || other.starts_with(&format!("{key}.")) || key.starts_with(&format!("{other}."))
        };
        if all.iter().any(|other| nested(other) && other != setting) {
            return None;
        }
        all.push(setting.to_owned());
    }
    if all.iter().any(|setting| setting == "part.geometry.one_shot=false") {
        // A program of a part without one-shot programming writes a page of each plane.
        all.iter_mut()
            .filter(|setting| **setting == UNIT)
            .for_each(|unit| *unit = "ftl.mapping.unit='8KiB'".into());
    }
    designs.sort_unstable();
    designs.dedup();
    if !designs.is_empty() {
        all.push(format!("{DESIGNS}[{}]", designs.join(", ")));
    }
    if designs.contains(&"'centaur'") && all.iter().any(|setting| setting.contains("'coalesce'")) {
        all.push("decides.coalesce='scripted'".into());
    }
    Some(all)
}

/// The complaints about a device with these settings, one per line.
fn refusal(settings: &[String]) -> Option<String> {
    let registry = Registry::default().with_design::<super::scripted_design::ScriptedDesign>();
    let mut layered = load::preset(&registry, "tiny-tlc").expect("a preset");
    load::arguments(&registry, &mut layered, settings)
        .unwrap_or_else(|wrong| panic!("{settings:?}: {wrong}"));
    match resolve(&registry, layered) {
        Ok(_) => None,
        Err(Error::Config(wrong)) => Some(wrong.to_string()),
        Err(other) => panic!("{settings:?}: {other}"),
    }
}

/// The table of refused combinations: a row for each pair, with its message.
fn table() -> String {
    let all = features();
    let mut out = "| feature | beside | the key, and what is wanted |\n|---|---|---|\n".to_owned();
    let mut pairs = 0;
    for (n, (feature, settings)) in all.iter().enumerate() {
        let alone = together(&[settings]).expect("its keys are its own");
        assert_eq!(refusal(&alone), None, "{feature} alone: {alone:?}");
        for (other, others) in &all[..n] {
            let Some(both) = together(&[others, settings]) else { continue };
            pairs += 1;
            let Some(wrong) = refusal(&both) else { continue };
            let first = wrong.lines().next().unwrap_or_default();
            // A complaint begins with the origin of the value, then the key.
            let key = first.split_once(": found").map_or(first, |(key, _)| key);
            let key = key
                .rsplit(": ")
                .next()
                .unwrap_or(key)
                .trim_start_matches("--set ")
                .trim_end_matches(" (default)");
            let wanted = first.split_once(", wanted ").map_or("", |(_, wanted)| wanted);
            out += &format!("| {other} | {feature} | `{key}`: {} |\n", wanted.replace('|', "\\|"));
        }
    }
    assert!(pairs > 300, "{pairs} pairs were tried");
    out
}

#[test]
fn what_is_refused_is_the_table_of_the_page_and_all_else_goes_together() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/combinations.md");
    let text = std::fs::read_to_string(&path).expect("a page is text");
    let (begin, end) = ("<!-- refused -->\n\n", "\n<!-- /refused -->");
    let (before, rest) = text.split_once(begin).expect("the page has the table");
    let (old, after) = rest.split_once(end).expect("the table ends");
    let new = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{new}{end}{after}")).expect("a page can be written");
    } else {
        assert_eq!(old, new, "UPDATE_DOCS=1 writes it anew");
    }
}
