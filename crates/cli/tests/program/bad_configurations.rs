//! Tests malformed configurations. Each must give errors with file and line or argument, key, value found and
//! value wanted, and must have no other effect.

use crate::{Folder, wordline};

/// A configuration file, the line and key that the message must name, and words that it must contain.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Further cases are in the tests of `wordline_lab::config`.
const FILES: [Case; 10] = [
    (
        "a misspelt key",
        "preset = \"tiny\"\n[ftl]\nover_provisionning = 0.2\n",
        "3: ftl.over_provisionning",
        &["over_provisioning, or another of"],
    ),
    (
        "a negative share",
        "preset = \"tiny\"\n[ftl]\nover_provisioning = -0.1\n",
        "3: ftl.over_provisioning",
        &["-0.1"],
    ),
    (
        "spare space that does not suffice",
        "preset = \"tiny\"\n[ftl]\nover_provisioning = 0.01\n",
        "3: ftl.over_provisioning",
        &["at least"],
    ),
    (
        "a size with an unknown unit",
        "preset = \"tiny\"\n[buffer]\nsize = \"64 cows\"\n",
        "3: buffer.size",
        &["64 cows", "KiB"],
    ),
    (
        "a time in the unit of a size",
        "preset = \"tiny\"\n[buffer]\naccess_time = \"1KiB\"\n",
        "3: buffer.access_time",
        &["1KiB", "us"],
    ),
    (
        "a word for a number",
        "preset = \"tiny\"\n[layout]\nchannels = \"two\"\n",
        "3: layout.channels",
        &["two"],
    ),
    ("no channels", "preset = \"tiny\"\n[layout]\nchannels = 0\n", "3: layout.channels", &["found 0"]),
    (
        "more dies than can be counted",
        "preset = \"tiny\"\n[layout]\nchannels = 4294967295\npackages_per_channel = 64\ndies_per_package = 64\n",
        "3: layout.channels",
        &["4294967295"],
    ),
    (
        "a fraction of a die",
        "preset = \"tiny\"\n[layout]\ndies_per_package = 1.5\n",
        "3: layout.dies_per_package",
        &["1.5"],
    ),
    (
        "collection that stops before it starts",
        "preset = \"tiny\"\n[ftl.gc]\nstart_below_free_blocks = 6\nstop_at_free_blocks = 3\n",
        "4: ftl.gc.stop_at_free_blocks",
        &["found 3", "6"],
    ),
];

/// Files that are not TOML or are incomplete. The message must contain the file name and these words.
const BROKEN: [(&str, &str, &[&str]); 5] = [
    ("an open bracket", "preset = \"tiny\"\n[ftl\n", &[":2"]),
    ("a key without a value", "preset = \"tiny\"\nbuffer =\n", &[":2"]),
    (
        "a key twice",
        "preset = \"tiny\"\n[ftl]\nover_provisioning = 0.2\nover_provisioning = 0.3\n",
        &[":4", "duplicate"],
    ),
    ("a text that does not end", "preset = \"tiny\n", &[":1"]),
    (
        "a file without preset and part",
        "[layout]\nchannels = 1\npackages_per_channel = 1\ndies_per_package = 1\n",
        &["part"],
    ),
];

/// Arguments `--set` for preset `tiny`.
const ARGUMENTS: [(&str, &[&str]); 8] = [
    (
        "ftl.over_provisioning=0.9999",
        &["found 0.9999, wanted at most 0.99", "so that a page is left for the host"],
    ),
    ("ftl.gc.stop_at_free_blocks=31", &["wanted more blocks, for no value suffices: of 32 blocks"]),
    ("ftl.over_provisionning=0.2", &["--set ftl.over_provisionning", "over_provisioning, or another of"]),
    ("ftl.over_provisioning", &["--set ftl.over_provisioning", "key=value"]),
    ("ftl.over_provisioning=lots", &["--set ftl.over_provisioning", "lots"]),
    ("ftl.gc.victim.policy=gredy", &["--set ftl.gc.victim.policy", "gredy", "greedy, or another of"]),
    ("buffer.size=12", &["--set buffer.size", "12", "unit"]),
    ("=1", &["--set"]),
];

/// Arguments `--set` for preset `centaur`: for its design, and settings that do not fit two pools.
const OF_DESIGNS: [(&str, &[&str]); 14] = [
    ("design.name=centaurr", &["--set design.name", "centaurr", "slc-mlc-hybrid", "centaur, or another of"]),
    ("design=centaur", &["--set design", "a table: { name"]),
    ("design.epoch=5", &["--set design.epoch", "a key of another design", "adjust_every"]),
    ("design.condition=96KiB", &["--set design.condition", "96KiB", "design.most (88KiB)"]),
    ("design.condition=72", &["--set design.condition", "found 72,", "a size with a unit"]),
    ("design.step=1B", &["--set design.step", "found 1B", "a multiple of 512B"]),
    ("design.adjust_every=-1", &["--set design.adjust_every", "found -1", "from 0"]),
    ("ftl.mapping.kind=dftl", &["--set ftl.mapping.kind", "unknown key", "cache"]),
    ("ftl.mapping.cache=1B", &["--set ftl.mapping.cache", "found 1B", "from two entries"]),
    ("ftl.mapping.sub_request=20KiB", &["--set ftl.mapping.sub_request", "20KiB", "96KiB"]),
    ("ftl.mapping.unit=16KiB", &["pools[0].part", "pages of 8KiB", "16KiB (ftl.mapping.unit)"]),
    (
        "ftl.router={policy='by-size',least='64KiB'}",
        &["ftl.router.policy", "by-size beside the design centaur", "distinguishes no pools"],
    ),
    ("ftl.over_provisioning=0.01", &["--set ftl.over_provisioning", "at least 0.16", "of the first pool"]),
    ("pools=[]", &["ftl.mapping.whole_units", "found true", "this requires [[pools]]"]),
];

/// Pools of preset `centaur`, with the line and key that the message must name, and words that it must
/// contain.
const POOLS: [Case; 9] = [
    ("no part", "", "2: pools[0].part", &["a value for part"]),
    (
        "an unknown key",
        "part = \"centaur-slc-2d\"\nspare = 5\n",
        "5: pools[0].spare",
        &["unknown key", "layout"],
    ),
    (
        "an unknown part",
        "part = \"centaur-slc-3d\"\n",
        "4: pools[0].part",
        &["centaur-slc-3d", "centaur-slc-2d"],
    ),
    (
        "pages that do not fit",
        "part = { base = \"centaur-slc-2d\", geometry.page_size = \"6KiB\" }\n",
        "4: pools[0].part.geometry.page_size",
        &["6KiB", "power of two"],
    ),
    (
        "unknown channels",
        "part = \"centaur-slc-2d\"\nchannels = \"own\"\n",
        "5: pools[0].channels",
        &["own", "dedicated"],
    ),
    (
        "more free blocks than there are",
        "part = \"centaur-slc-2d\"\nstart_below_free_blocks = 4000\n",
        "5: pools[0].start_below_free_blocks",
        &["4000", "at most 2045"],
    ),
    (
        "collection that stops before it starts",
        "part = \"centaur-slc-2d\"\nstart_below_free_blocks = 9\nstop_at_free_blocks = 5\n",
        "6: pools[0].stop_at_free_blocks",
        &["found 5", "pools[0].start_below_free_blocks (9)"],
    ),
    (
        "collection without a block kept",
        "part = \"centaur-slc-2d\"\nstart_below_free_blocks = 0\n",
        "5: pools[0].start_below_free_blocks",
        &["found 0", "at least 3"],
    ),
    (
        "a fraction of a block",
        "part = \"centaur-slc-2d\"\nstop_at_free_blocks = 1.5\n",
        "5: pools[0].stop_at_free_blocks",
        &["1.5"],
    ),
];

#[track_caller]
fn assert_says(about: &str, refusal: &str, words: &[&str]) {
    for line in refusal.lines() {
        assert!(line.starts_with("error: "), "{about}: {refusal}");
        assert!(line.contains("found ") && line.contains(", wanted "), "{about}: {refusal}");
    }
    assert!(words.iter().all(|word| refusal.contains(word)), "{about}: wanted {words:?} in {refusal}");
}

#[test]
fn each_malformed_file_is_refused_with_line_key_found_and_wanted() {
    let folder = Folder::new();
    for (about, text, place, words) in FILES {
        let path = folder.with("drive.toml", text);
        let refusal = wordline(&["config", "check", "--config", &path]).refusal();
        assert_eq!(refusal.lines().count(), 1, "{about}: {refusal}");
        assert_says(about, &refusal, &[&[&*format!("{path}:{place}")], words].concat());
    }
}

#[test]
fn a_file_that_is_no_toml_or_not_whole_is_refused() {
    let folder = Folder::new();
    for (about, text, words) in BROKEN {
        let path = folder.with("drive.toml", text);
        let refusal = wordline(&["config", "check", "--config", &path]).refusal();
        assert_says(about, &refusal, &[&[path.as_str()], words].concat());
    }
}

#[test]
fn each_malformed_argument_is_refused_with_its_name() {
    for (argument, words) in ARGUMENTS {
        let refusal = wordline(&["config", "check", "--preset", "tiny", "--set", argument]).refusal();
        assert_says(argument, &refusal, words);
    }
}

/// Settings that do not fit a preset: the setting that the message names, and the place where the other is
/// defined.
const BESIDE_A_PRESET: [(&str, &[&str], &str); 4] = [
    (
        "ressd",
        &["design.thresholds=['30min']"],
        "--set design.thresholds: found a list of 1 value, wanted one of 3",
    ),
    (
        "bench-zns",
        &["zones.max_active=1"],
        "--set zones.max_active: zones.max_open: found 14 (preset bench-zns:12), wanted",
    ),
    (
        "ressd",
        &["ftl.over_provisioning=0.3", "part.geometry.bits_per_cell=2", "buffer.size=4MiB"],
        "--set part.geometry.bits_per_cell: ftl.two_bit: found the part ressd-tlc (preset ressd:5), wanted",
    ),
    (
        "raid5-tiny",
        &["array.parity=cache", "array.parity_log=128KiB"],
        "--set array.parity_log: found 128KiB, wanted",
    ),
];

#[test]
fn a_setting_that_does_not_fit_its_preset_is_blamed_and_not_a_line_of_the_preset() {
    for (preset, settings, wanted) in BESIDE_A_PRESET {
        let set = settings.iter().flat_map(|setting| ["--set", setting]);
        let call: Vec<&str> = ["config", "check", "--preset", preset].into_iter().chain(set).collect();
        let refusal = wordline(&call).refusal();
        assert!(refusal.starts_with(&format!("error: {wanted}")), "{refusal}");
    }
    // An error that occurs without the settings as well is not attributed to them.
    let folder = Folder::new();
    let path = folder.with("drive.toml", "preset = \"tiny\"\nbuffer.size = \"1KiB\"\n");
    let refusal =
        wordline(&["config", "check", "--config", &path, "--set", "ftl.over_provisioning=0.3"]).refusal();
    assert!(refusal.starts_with(&format!("error: {path}:2: buffer.size: found 1KiB, wanted")), "{refusal}");
}

#[test]
fn a_key_that_is_proposed_is_one_that_the_device_takes() {
    for (preset, setting, wanted) in [
        ("ressd", "design.threshold=1", "rewrites, thresholds"),
        ("raid5-tiny", "array.cache=16", "wanted stripe_cache, or another of block"),
        ("tiny", "ftl.gc.candidates=4", "wanted one of "),
    ] {
        let refusal = wordline(&["config", "check", "--preset", preset, "--set", setting]).refusal();
        assert!(refusal.contains(wanted), "{refusal}");
    }
}

#[test]
fn a_wrong_setting_of_a_design_or_beside_pools_is_refused_with_its_key() {
    for (argument, words) in OF_DESIGNS {
        let refusal = wordline(&["run", "--preset", "centaur", "--set", argument]).refusal();
        assert_says(argument, &refusal, words);
    }
}

#[test]
fn a_wrong_pool_is_refused_with_its_number_line_and_key() {
    let folder = Folder::new();
    let layout = "layout = { channels = 4, packages_per_channel = 2, dies_per_package = 1 }";
    for (about, keys, place, words) in POOLS {
        let path = folder.with("drive.toml", format!("preset = \"centaur\"\n[[pools]]\n{layout}\n{keys}"));
        let refusal = wordline(&["run", "--config", &path]).refusal();
        assert_eq!(refusal.lines().count(), 1, "{about}: {refusal}");
        assert_says(about, &refusal, &[&[&*format!("{path}:{place}")], words].concat());
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once_a_line_each() {
    let folder = Folder::new();
    let text = "preset = \"tiny\"\n[ftl]\nover_provisionning = 0.2\n[buffer]\nsize = 12\n[layout]\nchannels = \"two\"\n";
    let path = folder.with("drive.toml", text);
    let refusal = wordline(&["run", "--config", &path]).refusal();
    assert_eq!(refusal.lines().count(), 3, "{refusal}");
    assert_says("three", &refusal, &["over_provisionning", "buffer.size", "layout.channels"]);
}

#[test]
fn an_unknown_device_is_answered_with_the_known_ones() {
    for arguments in [
        &["run", "--preset", "nvme"][..],
        &["presets", "show", "nvme"],
        &["compare", "nvme", "tiny"],
        &["config", "explain", "--preset", "nvme"],
    ] {
        let refusal = wordline(arguments).refusal();
        assert!(refusal.contains("nvme-tlc") && refusal.contains("bench-512g"), "{refusal}");
    }
}

#[test]
fn a_configuration_that_is_no_file_is_refused_with_its_name() {
    let folder = Folder::new();
    for path in [folder.path("missing.toml"), folder.path("")] {
        let refusal = wordline(&["config", "check", "--config", &path]).refusal();
        assert!(refusal.starts_with(&format!("error: {path}: cannot ")), "{refusal}");
    }
}

#[test]
fn a_sound_configuration_is_said_to_be_sound_and_reads_back() {
    let folder = Folder::new();
    let shown =
        wordline(&["config", "show", "--preset", "tiny", "--set", "ftl.over_provisioning=0.3"]).success();
    let path = folder.with("drive.toml", &shown);
    assert!(wordline(&["config", "check", "--config", &path]).success().ends_with(": sound\n"));
    assert_eq!(wordline(&["config", "show", "--config", &path]).success(), shown);
    let explained = wordline(&["config", "explain", "--config", &path]).success();
    assert!(explained.contains("30.0 % (ftl.over_provisioning)"), "{explained}");
}

#[test]
fn the_schema_is_json_and_every_preset_is_listed_with_its_source() {
    let schema = wordline(&["config", "schema"]).json();
    let of_types = schema["anyOf"].as_array().expect("a list of the types");
    assert!(of_types[0]["properties"]["ftl"].is_object(), "{schema}");
    assert_eq!(of_types[1]["properties"]["device"]["const"], "fixed-latency", "{schema}");
    let presets = wordline(&["presets", "list", "--json"]).json();
    for preset in presets.as_array().expect("a list") {
        assert!(preset["source"].as_str().is_some_and(|source| !source.is_empty()), "{preset}");
        let name = preset["name"].as_str().expect("a name");
        assert!(wordline(&["presets", "show", name]).success().contains("source ="), "{name}");
    }
}
