//! A list of all policies by extension point. Designs are listed as policies of one more extension point.
//! Names, settings and descriptions come from the enums of the configuration, pages from `docs/policies`. A
//! design has its own description.

use std::borrow::Cow;

use schemars::schema_for;
use serde::Serialize;
use serde_json::Value as Json;
use wordline_designs::{DESIGN, DESIGNS, Designs};
use wordline_kernel::one_of;
use wordline_nand::unit::SchedulerKind;

use super::schema::{alternatives, device, follow, join, keys_of, variants};
use crate::devices::Registry;
use crate::error::{Error, Result};

/// Folder, file name and text of each page.
const PAGES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/policies.rs"));

/// Policies without a key of their own: the extension point, the policy, and the key whose presence or absence
/// selects it.
const WITHOUT_KEY: [(&str, &str, &str); 3] = [
    ("mapper", "block", "ftl.mapping.block"),
    ("mapper", "dftl", "ftl.mapping.cache"),
    ("mapper", "page", "ftl.mapping.cache"),
];

/// The default policies of those without a key of their own.
const DEFAULTS: [(&str, &str); 1] = [("mapper", "page")];

/// A built-in policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// The extension point: the decision that the policy takes.
    pub seam: String,
    /// Name in a configuration.
    pub policy: String,
    /// The key that names the policy, or whose presence selects it.
    pub key: String,
    /// Whether it is the default.
    pub default: bool,
    /// Keys of its settings.
    pub settings: Vec<String>,
    /// Description in one line.
    pub description: String,
    /// Text of its page.
    #[serde(skip)]
    pub page: Cow<'static, str>,
}

/// All policies by extension point, in the order of their enums, then the designs of a registry.
pub fn policies(registry: &Registry) -> Vec<Policy> {
    let mut all = designs(registry.designs());
    let root = device(&Designs::none());
    walk(&root, &root, "", &mut all);
    let scheduler = schema_for!(SchedulerKind).to_value();
    let usual = serde_json::to_value(SchedulerKind::default()).expect("a setting is JSON");
    seam(&scheduler, "SchedulerKind", "unit.scheduler", &usual, &mut all);
    for (seam, page, text) in PAGES {
        if !all.iter().any(|policy| policy.seam == *seam && policy.policy.replace('-', "_") == *page) {
            all.push(of_page(seam, page, text));
        }
    }
    all.sort_by(|a, b| a.seam.cmp(&b.seam));
    all
}

/// The designs, which a device selects by name in a list.
fn designs(designs: &Designs) -> Vec<Policy> {
    let policy = |entry: &dyn wordline_designs::Entry| Policy {
        seam: DESIGN.into(),
        policy: entry.name().into(),
        key: DESIGNS.into(),
        default: false,
        settings: keys_of(&entry.schema().to_value()),
        description: entry.description().into(),
        page: page_of_design(entry),
    };
    designs.entries().map(policy).collect()
}

/// Collects the settings below `path` that select a policy.
fn walk(root: &Json, schema: &Json, path: &str, all: &mut Vec<Policy>) {
    for (key, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = join(path, key);
        let (mut target, mut definition) = follow(root, member);
        if let ([only], true) = (&alternatives(target)[..], variants(target).is_empty()) {
            (target, definition) = follow(root, only);
        }
        match variants(target).is_empty() {
            true => walk(root, target, &path, all),
            false => seam(target, definition, &path, &member["default"], all),
        }
    }
}

/// Adds the policies of an enum `NameKind`. Other settings with variants are no extension points.
fn seam(schema: &Json, definition: &str, key: &str, usual: &Json, all: &mut Vec<Policy>) {
    let Some(name) = definition.strip_suffix("Kind").map(str::to_lowercase) else { return };
    for (policy, variant) in variants(schema) {
        let settings = variant["properties"].as_object().into_iter().flatten();
        let settings = settings.filter(|(_, inner)| inner.get("const").is_none());
        let description = variant["description"].as_str().unwrap_or_default().replace('\n', " ");
        all.push(Policy {
            seam: name.clone(),
            policy: policy.to_owned(),
            key: key.to_owned(),
            default: usual["policy"] == policy,
            settings: settings.map(|(key, _)| key.clone()).collect(),
            description,
            page: page_of(&name, policy).unwrap_or_default().into(),
        });
    }
}

/// A policy without a key. Its description is the first sentence of its page, up to a bracket.
fn of_page(seam: &str, name: &str, page: &'static str) -> Policy {
    let text = page.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    let end = [". ", ": ", " ("].into_iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    let sentence = format!("{}.", text[..end].trim_end_matches('.'));
    let unnamed = WITHOUT_KEY.iter().find(|(known, policy, _)| (*known, *policy) == (seam, name));
    Policy {
        seam: seam.to_owned(),
        policy: name.replace('_', "-"),
        key: unnamed.map_or_else(String::new, |(.., key)| (*key).to_owned()),
        default: DEFAULTS.contains(&(seam, name)),
        settings: Vec::new(),
        description: sentence,
        page: page.into(),
    }
}

/// The page of a design; if it has none, its description and settings.
fn page_of_design(entry: &dyn wordline_designs::Entry) -> Cow<'static, str> {
    if !entry.page().is_empty() {
        return entry.page().into();
    }
    let schema = entry.schema().to_value();
    let mut page = format!("# {}\n\n{}\n", entry.name(), entry.description());
    for (key, setting) in schema["properties"].as_object().into_iter().flatten() {
        let about = setting["description"].as_str().unwrap_or_default().replace('\n', " ");
        page += &format!("\n* `{key}` (default: {}): {about}", setting["default"]);
    }
    page.into()
}

fn page_of(seam: &str, policy: &str) -> Option<&'static str> {
    let file = policy.replace('-', "_");
    PAGES.iter().find(|(folder, name, _)| *folder == seam && *name == file).map(|(_, _, text)| *text)
}

/// The policies that `name` selects. `name` is an extension point, a policy, or `POINT/POLICY`.
///
/// # Errors
/// [`Error::Argument`] with the known names.
pub fn find_policies(registry: &Registry, name: &str) -> Result<Vec<Policy>> {
    let all = policies(registry);
    let means = |policy: &&Policy| {
        name == policy.seam || name == policy.policy || name == format!("{}/{}", policy.seam, policy.policy)
    };
    let found: Vec<Policy> = all.iter().filter(means).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut names: Vec<&str> = all.iter().flat_map(|policy| [&policy.seam[..], &policy.policy]).collect();
    names.sort_unstable();
    names.dedup();
    Err(Error::Argument { what: "policy".into(), found: format!("`{name}`"), wanted: one_of(name, &names) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_of_an_enum_has_a_page_and_every_page_a_policy() {
        let all = policies(&Registry::default());
        for policy in &all {
            assert!(policy.page.starts_with("# "), "{} {} has no page", policy.seam, policy.policy);
            assert!(!policy.description.is_empty(), "{} {}", policy.seam, policy.policy);
        }
        let known = |(seam, page): (&str, &str)| {
            all.iter().any(|policy| policy.seam == seam && policy.policy.replace('-', "_") == page)
        };
        assert!(PAGES.iter().all(|(seam, page, _)| known((seam, page))));
    }

    #[test]
    fn every_seam_has_a_key_and_one_policy_that_is_taken_without_it() {
        let all = policies(&Registry::default());
        for policy in &all {
            assert!(!policy.key.is_empty(), "{}", policy.seam);
            // A device that names no design has none, so a design is never a default.
            if policy.seam == DESIGN {
                assert_eq!((&policy.key[..], policy.default), (DESIGNS, false));
                continue;
            }
            let is_unnamed = WITHOUT_KEY.iter().any(|(seam, ..)| *seam == policy.seam);
            let goes_with = |other: &Policy| {
                if is_unnamed { other.seam == policy.seam } else { other.key == policy.key }
            };
            let usual = all.iter().filter(|other| goes_with(other) && other.default).count();
            assert_eq!(usual, 1, "{}", policy.key);
        }
    }

    #[test]
    fn a_name_is_a_seam_or_a_policy_or_both() {
        let found = |name: &str| {
            let found = find_policies(&Registry::default(), name).map_err(|error| error.to_string());
            found.map(|all| all.iter().map(|p| format!("{}/{}", p.seam, p.policy)).collect::<Vec<_>>())
        };
        let fifo = found("fifo").expect("there are several");
        assert!(["eviction/fifo", "victim/fifo"].iter().all(|name| fifo.iter().any(|found| found == name)));
        assert_eq!(
            found("design"),
            Ok(["design/centaur", "design/cubeftl", "design/ressd", "design/slc-mlc-hybrid"]
                .map(str::to_owned)
                .to_vec())
        );
        assert_eq!(found("centaur"), Ok(vec!["design/centaur".into()]));
        assert_eq!(found("victim/fifo"), Ok(vec!["victim/fifo".into()]));
        assert!(found("victim").is_ok_and(|all| all.len() > 5));
        assert!(found("gredy").is_err_and(|text| text.contains("greedy, or another of")));
    }
}
