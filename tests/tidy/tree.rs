//! The shape of the repository: the crates that each crate uses, and a page for every policy.

use crate::{File, Offence, assert_none, files, subjects};

/// The layers, lowest first. A crate uses only crates of lower layers.
const LAYERS: [&str; 16] = [
    "kernel",
    "trace",
    "nand",
    "flash",
    "device",
    "open-channel",
    "ftl",
    "ssd",
    "host",
    "designs",
    "run",
    "lab",
    "fit",
    "experiments",
    "studies",
    "cli",
];

/// Crates that not every crate of a higher layer may use, each with the crates that may. A model has no traces.
/// The conventional SSD and a device without an FTL know nothing of each other.
const BESIDE: [(&str, &[&str]); 2] = [
    ("trace", &["run", "lab", "experiments", "cli"]),
    ("open-channel", &["host", "designs", "run", "lab", "experiments", "studies", "cli"]),
];

/// Crates outside the layers. They may use all layers.
const OUTSIDE: [&str; 4] = ["tests", "bench", "fuzz", "bindings"];

/// The folder of designs that use the layers from outside.
const EXAMPLES: &str = "examples/";

/// The folders of policies.
const POLICIES: [&str; 4] =
    ["crates/ftl/src/policy/", "crates/ssd/src/policy/", "crates/flash/src/policy/", "crates/nand/src/unit/"];
/// The folder of the pages of policies.
const PAGES: &str = "docs/policies/";

/// Dependencies in `manifest` (a crate's `Cargo.toml`) that are not allowed.
fn wrong_arrows(manifest: &File) -> Vec<Offence> {
    let name = manifest.crate_name();
    let layer = LAYERS.iter().position(|layer| *layer == name);
    let outside = OUTSIDE.contains(&name) || manifest.path.starts_with(EXAMPLES);
    if layer.is_none() && !outside {
        return vec![Offence::new(&manifest.path, "is no layer of the design: add it to `LAYERS`")];
    }
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Offence::new(&manifest.path, error.to_string())],
    };
    let upward = |used: &str| match (layer, LAYERS.iter().position(|layer| *layer == used)) {
        (Some(own), Some(other)) => {
            let may_not = |(beside, users): &(&str, &[&str])| used == *beside && !users.contains(&name);
            other >= own || BESIDE.iter().any(may_not)
        }
        (_, known) => known.is_none(),
    };
    let used = ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| table.get(*section)?.as_table())
        .flat_map(toml::Table::keys)
        .filter_map(|key| key.strip_prefix("wordline-"));
    used.filter(|used| upward(used))
        .map(|used| {
            Offence::new(&manifest.path, format!("`{name}` uses `{used}`: arrows point to the left only"))
        })
        .collect()
}

/// Policies of `paths` without a page of the same name.
fn policies_without_page(paths: &[&str]) -> Vec<Offence> {
    let policies = paths.iter().filter_map(|path| {
        let within = POLICIES.iter().find_map(|folder| path.strip_prefix(folder))?;
        let (seam, policy) = within.strip_suffix(".rs")?.split_once('/')?;
        (policy != "mod").then(|| (path, format!("{PAGES}{seam}/{policy}.md")))
    });
    policies
        .filter(|(_, page)| !paths.contains(&page.as_str()))
        .map(|(path, page)| Offence::new(path, format!("has no page {page}")))
        .collect()
}

/// The table of `text` at the path `keys`.
fn table(text: &str, keys: &[&str]) -> Option<toml::Table> {
    let mut table: toml::Table = text.parse().ok()?;
    for key in keys {
        table = table.remove(*key)?.as_table()?.clone();
    }
    Some(table)
}

#[test]
fn the_workspace_beside_the_main_one_has_its_lints() {
    let files = files();
    let text = |path| &files.iter().find(|file: &&File| file.path == path).expect("it is there").text;
    let lints = table(text("Cargo.toml"), &["workspace", "lints"]);
    assert!(lints.is_some() && lints == table(text("fuzz/Cargo.toml"), &["lints"]), "fuzz: other lints");
}

#[test]
fn a_crate_uses_only_those_to_its_left() {
    let files = files();
    let crates = LAYERS.len() + OUTSIDE.len() + 1;
    let manifests = subjects(&files, crates, |file| file.path.ends_with("/Cargo.toml"));
    assert_none(&manifests.into_iter().flat_map(wrong_arrows).collect::<Vec<_>>());
}

#[test]
fn an_arrow_to_the_right_is_caught() {
    let offences = |path: &str, section: &str, used: &str| {
        let text = format!("[{section}]\nwordline-{used}.workspace = true\n");
        wrong_arrows(&File { path: path.into(), text }).len()
    };
    assert_eq!(offences("crates/nand/Cargo.toml", "dependencies", "ssd"), 1);
    assert_eq!(offences("crates/nand/Cargo.toml", "dev-dependencies", "lab"), 1);
    assert_eq!(offences("crates/ssd/Cargo.toml", "dependencies", "nand"), 0);
    assert_eq!(offences("crates/flash/Cargo.toml", "dependencies", "device"), 1);
    assert_eq!(offences("crates/ssd/Cargo.toml", "dependencies", "flash"), 0);
    assert_eq!(offences("crates/ssd/Cargo.toml", "dev-dependencies", "open-channel"), 1);
    assert_eq!(offences("crates/open-channel/Cargo.toml", "dev-dependencies", "ssd"), 1);
    assert_eq!(offences("crates/host/Cargo.toml", "dependencies", "open-channel"), 0);
    assert_eq!(offences("crates/trace/Cargo.toml", "dependencies", "kernel"), 0);
    assert_eq!(offences("crates/trace/Cargo.toml", "dependencies", "nand"), 1);
    assert_eq!(offences("crates/host/Cargo.toml", "dependencies", "trace"), 1);
    assert_eq!(offences("crates/lab/Cargo.toml", "dependencies", "trace"), 0);
    assert_eq!(offences("crates/lab/Cargo.toml", "dependencies", "experiments"), 1);
    assert_eq!(offences("tests/Cargo.toml", "dependencies", "cli"), 0);
    assert_eq!(offences("crates/gadgets/Cargo.toml", "dependencies", "nand"), 1);
}

#[test]
fn every_policy_has_a_page() {
    let files = files();
    for (folder, least) in POLICIES.into_iter().zip([40, 4, 5]) {
        subjects(&files, least, |file| file.path.starts_with(folder));
    }
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_none(&policies_without_page(&paths));
}

#[test]
fn a_policy_without_a_page_is_caught() {
    let policy = "crates/ftl/src/policy/victim/greedy.rs";
    assert_eq!(policies_without_page(&[policy, "crates/ftl/src/policy/victim/mod.rs"]).len(), 1);
    assert_eq!(policies_without_page(&[policy, "docs/policies/victim/greedy.md"]), []);
}
