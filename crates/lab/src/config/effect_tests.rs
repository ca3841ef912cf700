//! Checks that every key has an effect on some device, and that a key without effect is refused.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::effect::CONDITIONS;
use super::scripted_design::ScriptedDesign;
use super::*;
use crate::{PowerCutPoint, RunOptions, Unobserved, Workload, run};

/// `effect_tests.toml`, whose head describes its tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Samples {
    does: Vec<[String; 4]>,
    idle: Vec<[String; 3]>,
    without: Vec<[String; 2]>,
}

fn samples() -> Samples {
    toml::from_str(include_str!("effect_tests.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// A second pool, with enough spare capacity for it.
const POOLS: &str = "ftl.over_provisioning=0.4;pools=[{ part = { base = 'centaur-slc-2d', geometry.blocks_per_plane = 24, \
    geometry.pages_per_block = 16, geometry.page_size = '4KiB' }, layout = { channels = 2, packages_per_channel = 1, \
    dies_per_package = 1, planes_per_row = 1 } }]";

/// The built-in types, and a test design that takes its decisions from its settings.
fn registry() -> Registry {
    Registry::default().with_design::<ScriptedDesign>()
}

/// The device with these settings on preset `tiny`. Settings without effect are an error if `refuses` is set,
/// and are dropped otherwise.
fn device(settings: &str, refuses: bool) -> Result<Device> {
    let registry = registry();
    let mut layered = load::preset(&registry, "tiny")?;
    let is_key = |text: &&str| !text.is_empty() && !text.starts_with(['@', '!', '#']);
    for argument in settings.replace('$', POOLS).split(';').filter(is_key) {
        load::arguments(&registry, &mut layered, &[argument.to_owned()])?;
    }
    if refuses {
        return resolve(&registry, layered);
    }
    let entry = registry.take_from(&mut layered.tree)?;
    schema::complaints(&schema::device(registry.designs()), &layered.tree)
        .into_result(())
        .map_err(Error::Config)?;
    let configured = entry.resolve_idle(&layered.tree, registry.designs())?;
    Device::of_preset(layered, configured)
}

/// The results of a device with these settings: of a run, and of `explain`.
fn result(settings: &str) -> std::result::Result<Json, String> {
    let device = device(settings, false).map_err(|error| error.to_string())?;
    let marked = |mark: char| settings.split(';').find_map(|text| text.strip_prefix(mark));
    let loads = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/loads");
    let file = loads.join(format!("{}.toml", marked('@').unwrap_or("mixed")));
    let load = Workload {
        requests: Some(marked('#').map_or(1_000, |count| count.parse().expect("a number of requests"))),
        ..Workload::named(file.to_str().expect("a path of text"))
    };
    let options = RunOptions {
        power_cut: marked('!')
            .map(|count| PowerCutPoint::Requests(count.parse().expect("a number of requests"))),
        warm_up: Some(crate::WarmUp::None),
        ..RunOptions::default()
    };
    let summary = run(&device, &load, &options, &mut Unobserved).map_err(|error| error.to_string())?;
    let mut result = serde_json::to_value(summary).expect("a result is JSON");
    let members = result.as_object_mut().expect("a result is a table");
    for key in ["configuration", "notes", "provenance", "simulator"] {
        members.remove(key).expect(key);
    }
    Ok(json!([result, device.explain()]))
}

fn with(base: &str, key: &str, value: &str) -> String {
    match value.strip_prefix('=') {
        Some(setting) => format!("{base};{setting}"),
        None if value.is_empty() => base.to_owned(),
        None => format!("{base};{key}={value}"),
    }
}

/// The keys of an SSD in `docs/configuration.md`, including the keys of tables that the page describes
/// elsewhere.
fn keys() -> BTreeSet<String> {
    let text = reference();
    let (_, section) = text.split_once("\n## Keys of an SSD\n").expect("the page has the section");
    let (section, _) = section.split_once("\n## ").expect("others follow");
    let between = |line: &str, begin: &str| Some(line.split_once(begin)?.1.split_once('`')?.0.to_owned());
    let bare = |key: &str| key.trim_matches(['[', ']']).to_owned();
    let mut keys = BTreeSet::new();
    for line in section.lines() {
        let Some(key) = between(line, "| `").filter(|key| !key.contains('=')) else { continue };
        let other = ["Its keys are those of `", "Its choices are those of `"]
            .iter()
            .find_map(|text| between(line, text));
        if let Some(other) = other {
            let under = |known: &String| {
                let rest = known.strip_prefix(&other).filter(|rest| rest.starts_with('.'))?;
                Some(bare(&key) + rest)
            };
            keys.extend(keys.iter().filter_map(under).collect::<Vec<_>>());
        }
        if !key.starts_with('[') {
            keys.insert(key);
        }
    }
    keys
}

/// Whether the key is tested elsewhere already: the part and layout of a further pool have the keys of the
/// first pool.
fn is_of_other_pool(key: &str) -> bool {
    ["pools.part.", "pools.layout."].iter().any(|table| key.starts_with(table))
}

#[test]
fn every_key_does_something_on_some_device() {
    let Samples { does, without, .. } = samples();
    let known: BTreeSet<&str> = does.iter().map(|[key, ..]| key.as_str()).collect();
    let without: BTreeSet<&str> = without.iter().map(|[key, _]| key.as_str()).collect();
    let all = keys();
    let missing: Vec<&String> = all
        .iter()
        .filter(|key| !is_of_other_pool(key))
        .filter(|key| !known.contains(key.as_str()) && !without.contains(key.as_str()))
        .collect();
    assert!(missing.is_empty(), "no device is named on which these do anything: {missing:?}");
    let gone: Vec<_> = known.iter().chain(&without).filter(|key| !all.contains(**key)).collect();
    assert!(gone.is_empty(), "there are no such keys: {gone:?}");
    let same = |[key, base, one, other]: &[String; 4]| {
        let [one, other] = [one, other].map(|value| result(&with(base, key, value)));
        match (one, other) {
            (Ok(one), Ok(other)) => (one == other).then(|| format!("{key} does nothing")),
            (Err(error), _) | (_, Err(error)) => Some(format!("{key}: {error}")),
        }
    };
    let wrong: Vec<String> = does.par_iter().filter_map(same).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_nothing_is_refused_with_its_reason_and_changes_no_result() {
    let Samples { idle, .. } = samples();
    let listed: BTreeSet<&str> = idle.iter().map(|[key, ..]| key.as_str()).collect();
    for key in CONDITIONS.iter().flat_map(|condition| condition.keys) {
        assert!(
            listed.contains(key) || listed.iter().any(|listed| listed.starts_with(&format!("{key}."))),
            "{key}"
        );
    }
    let wrong = |[key, base, value]: &[String; 3]| {
        let settings = with(base, key, value);
        let error = match device(&settings, true) {
            Ok(_) => return Some(format!("{settings}: taken")),
            Err(error) => error.to_string(),
        };
        let told = error.contains(key) && error.contains("the key left out");
        let changes = result(&settings) != result(base);
        (!told || changes).then(|| format!("{settings}: changes something {changes}; {error}"))
    };
    let wrong: Vec<String> = idle.par_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A sample of a key with a condition must be a device that meets the condition.
#[test]
fn what_does_something_is_taken() {
    let conditional = |key: &str| {
        let mut keys = CONDITIONS.iter().flat_map(|condition| condition.keys);
        keys.any(|table| key == *table || key.starts_with(&format!("{table}.")))
    };
    for [key, base, _, value] in samples().does.iter().filter(|[key, ..]| conditional(key)) {
        let settings = with(base, key, value);
        assert!(
            device(&settings, true).is_ok(),
            "{settings}: {}",
            device(&settings, true).expect_err("refused")
        );
    }
}

#[test]
fn blocks_in_slc_mode_of_a_pool_without_a_stream_for_them_are_refused() {
    let cached = "$;ftl.over_provisioning=0.6;ftl.router={policy='by-size',least='12KiB'};pools.0.part.geometry.bits_per_cell=3;\
        pools.0.part.geometry.one_shot=true;pools.0.part.geometry.pages_per_block=24;\
        pools.0.part.timing.slc={read='20us',program='100us',erase='1ms'};pools.0.slc_cache={blocks=1}";
    let wrong = device(cached, true).expect_err("no stream goes there").to_string();
    assert!(
        wrong.contains("pools[0].slc_cache") && wrong.contains("wanted the key left out, or a design"),
        "{wrong}"
    );
}

/// The text of a device lists each key with its default, even if a design replaces the policy that uses the
/// key.
#[test]
fn a_policy_that_is_not_asked_is_refused_by_name_from_whoever_set_it() {
    let victims = "designs=['scripted'];design.scripted.decisions=['victim']";
    let refused = |settings: &str| device(settings, true).expect_err(settings).to_string();
    let usual = refused(&format!("{victims};ftl.gc.victim.policy=greedy"));
    let wanted = "--set ftl.gc.victim.policy: found \"greedy\", wanted the key left out, or designs without scripted, which \
        decides `victim` in place of the policy";
    assert_eq!(usual.trim(), wanted);
    let text = device(victims, true).expect("it is sound").text;
    let load = |text: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(ToString::to_string).collect();
        Device::of_text(&registry(), ("whole.toml", "tiny"), text, &set)
    };
    let whole = load(&text, &[]).expect("all keys have their usual values");
    assert_eq!(whole.text, text);
    let other = text.replace("policy = \"greedy\"", "policy = \"fifo\"");
    let error = load(&other, &[]).expect_err("a policy that is not asked").to_string();
    assert!(error.contains("ftl.gc.victim.policy: found \"fifo\""), "{error}");
    load(&text, &["ftl.gc.victim.policy=greedy"]).expect_err("set on top of the file");
    load(&text, &["design.scripted.decisions=['fail']", "ftl.gc.victim.policy=greedy"])
        .expect("it is asked again");
}

#[test]
fn a_policy_of_a_layer_below_goes_where_a_design_takes_its_place() {
    let registry = registry();
    let text = device("ftl.gc.victim.policy=fifo", true).expect("it is sound").text;
    let set = ["designs=['scripted']", "design.scripted.decisions=['victim']"].map(String::from);
    let one =
        Device::of_text(&registry, ("below.toml", "tiny"), &text, &set).expect("the file knew of no design");
    assert_eq!(one.ssd().expect("an SSD").config.file.ftl.gc.victim, Default::default());
    Device::of_text(&registry, ("again.toml", "tiny"), &one.text, &[]).expect("its text is a device again");
}

#[test]
fn what_a_layer_below_set_for_another_device_is_left_out() {
    let load = |set: &[&str]| {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        Device::load(&Selection { preset: Some("nvme-tlc".into()), file: None, set })
    };
    let direct = load(&["front.interface=direct"]).expect("the links of the preset are left out");
    assert_eq!(
        direct.ssd().expect("an SSD").config.file.front.nvme.link.generation,
        3,
        "as where nothing is said"
    );
    let error = load(&["front.interface=direct", "front.nvme.queues=2"]).expect_err("one layer").to_string();
    let wanted = "--set front.nvme.queues: found 2, wanted front.interface = \"nvme\", or the key left out: ";
    assert!(error.starts_with(wanted), "{error}");
}

#[test]
fn what_a_part_says_of_its_chip_is_taken_whatever_a_device_makes_of_it() {
    let device = device("", true).expect("it is sound");
    let rich = device.text.replace("[part.timing]\n", "[part.timing]\nprogram_typical = \"700us\"\n");
    assert_ne!(rich, device.text);
    let load = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
        Device::of_text(&Registry::default(), ("rich.toml", "tiny"), &rich, &set)
    };
    assert!(load(&[]).is_ok(), "a file that holds its whole part");
    let error = load(&["part.timing.program_typical=600us"]).expect_err("changed for the device").to_string();
    assert!(
        error.starts_with("--set part.timing.program_typical: found \"600us\", wanted a script"),
        "{error}"
    );
}

#[test]
fn a_device_comes_back_from_its_text_with_keys_that_do_nothing() {
    let device = device("front.interface=sata", true).expect("it is sound");
    let again = Device::of_text(&Registry::default(), ("again", "tiny"), &device.text, &[]);
    let again = again.expect("all keys have their usual values");
    assert_eq!(again.configured.table(), device.configured.table());
}
