//! Places where the name of an optional feature may occur: its own folder, device assembly, configuration and
//! metrics. Elsewhere the name is a check for a feature on the path of all devices. `features.toml` lists the
//! features, and the places that existed when the rule was introduced. These places may only become fewer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::source::{Source, words};
use crate::{File, Offence, assert_none, files, root, subjects};

/// The crates to check.
const ROOMS: [&str; 5] = ["flash", "device", "open-channel", "ftl", "ssd"];
/// Files and folders that may name every feature: device assembly, callers of policies and designs,
/// preconditioning, and metrics. Files named `config.rs` are configuration.
const WIRING: [&str; 19] = [
    "device/detail.rs",
    "device/times.rs",
    "flash/scheduling.rs",
    "flash/times.rs",
    "ftl/config",
    "ftl/design/",
    "ftl/engines/mod.rs",
    "ftl/engines/new.rs",
    "ftl/lib.rs",
    "ftl/policies.rs",
    "ftl/pools.rs",
    "ftl/totals.rs",
    "ssd/device/",
    "ssd/engines.rs",
    "ssd/precondition/",
    "ssd/config.rs",
    "ssd/lib.rs",
    "ssd/metrics",
    "ssd/policies.rs",
];

/// A feature that a device may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    /// The words that name the feature in identifiers, in lower case and without separators.
    names: Vec<String>,
    /// The files and folders of the feature.
    own: Vec<String>,
    /// Other places that name the feature.
    elsewhere: BTreeSet<String>,
}

/// The name of a file here: its crate, and its path in the sources of the crate.
fn place_of(path: &str) -> Option<String> {
    let (of, rest) = path.strip_prefix(crate::CRATES)?.split_once("/src/")?;
    ROOMS.contains(&of).then(|| format!("{of}/{rest}"))
}

/// Whether a file may name every feature.
fn is_wiring(place: &str) -> bool {
    place.ends_with("/config.rs") || WIRING.iter().any(|wiring| place.starts_with(wiring))
}

/// The names in the code of a file, in lower case, without word separators.
fn names(file: &File) -> BTreeSet<String> {
    let code = Source::split(&file.text).code;
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    words(code).map(|name| name.replace('_', "").to_lowercase()).collect()
}

/// The places that name a feature, except its own.
fn places(feature: &Feature, named: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let is_its_own = |place: &str| feature.own.iter().any(|own| place.starts_with(own.as_str()));
    let names_it = |names: &BTreeSet<String>| {
        names.iter().any(|name| feature.names.iter().any(|part| name.contains(part.as_str())))
    };
    let others =
        named.iter().filter(|(place, names)| !is_wiring(place) && !is_its_own(place) && names_it(names));
    others.map(|(place, _)| place.clone()).collect()
}

/// The offences in the recorded places of a feature.
fn differences(name: &str, feature: &Feature, now: &BTreeSet<String>) -> Vec<Offence> {
    let new = now.difference(&feature.elsewhere);
    let new = new.map(|place| Offence::new(place, format!("names the optional feature {name}")));
    let gone = feature.elsewhere.difference(now);
    let gone =
        gone.map(|place| Offence::new(place, format!("names {name} no longer: remove it from the record")));
    new.chain(gone).collect()
}

fn by_place(files: &[&File]) -> BTreeMap<String, BTreeSet<String>> {
    files.iter().filter_map(|file| Some((place_of(&file.path)?, names(file)))).collect()
}

#[test]
fn an_optional_feature_is_named_in_its_own_place() {
    let files = files();
    let subjects = subjects(&files, 150, |file| file.is_rust() && place_of(&file.path).is_some());
    let named = by_place(&subjects);
    let text =
        std::fs::read_to_string(root().join("tests/tidy/features.toml")).expect("the record can be read");
    let features: BTreeMap<String, Feature> = toml::from_str(&text).expect("it is TOML");
    assert!(features.len() >= 8, "the rule looks at {} features", features.len());
    let offences = features.iter().flat_map(|(name, feature)| {
        let is_there = |own: &&String| named.keys().any(|place| place.starts_with(own.as_str()));
        assert!(feature.own.iter().all(|own| is_there(&own)), "{name} has no place of its own");
        differences(name, feature, &places(feature, &named))
    });
    assert_none(&offences.collect::<Vec<_>>());
}

#[test]
fn a_feature_that_is_named_elsewhere_is_caught() {
    let feature = Feature {
        names: vec!["superblock".into()],
        own: vec!["ssd/blocks/super_blocks.rs".into()],
        elsewhere: BTreeSet::from(["ssd/writer/plane_groups.rs".to_owned()]),
    };
    let file = |place: &str, text: &str| File { path: format!("crates/ssd/src/{place}"), text: text.into() };
    let all = [
        file("blocks/super_blocks.rs", "struct SuperBlocks;"),
        file("device/mod.rs", "fn form_super_blocks() {}"),
        file("gc/config.rs", "SuperBlock"),
        file("writer/plane_groups.rs", "space.super_blocks()"),
        file("writer/form.rs", "// super_block\nfn form() {}"),
        file("cache/mod.rs", "if base.has_super_blocks() {}"),
    ];
    let files: Vec<&File> = all.iter().collect();
    let found = places(&feature, &by_place(&files));
    assert_eq!(
        found,
        BTreeSet::from(["ssd/cache/mod.rs".to_owned(), "ssd/writer/plane_groups.rs".to_owned()])
    );
    assert_eq!(differences("super blocks", &feature, &found).len(), 1, "one is recorded");
    assert_eq!(
        differences("super blocks", &feature, &BTreeSet::new()).len(),
        1,
        "a record that is not needed"
    );
}
