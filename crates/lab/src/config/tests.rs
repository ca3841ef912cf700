//! Valid configurations, and invalid ones with their messages.

use std::path::PathBuf;

use proptest::prelude::*;
use wordline_kernel::{Bytes, Duration};
use wordline_nand::Part;

use super::*;

fn load(text: &str, set: &[&str]) -> Result<Device> {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("drive.toml");
    std::fs::write(&path, text).expect("a file for a test");
    let set = set.iter().map(|&s| s.to_owned()).collect();
    Device::load(&Selection { preset: None, file: Some(path), set })
}

/// The complaint about `text`, without the path of the test folder.
fn complaint(text: &str, set: &[&str]) -> String {
    let error = load(text, set).expect_err(text).to_string();
    let lines = error.lines().map(|line| match line.find("drive.toml") {
        Some(at) => line[at..].to_owned(),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn config(device: &Device) -> &wordline_ssd::Config {
    &device.ssd().expect("an SSD").config
}

fn preset(name: &str) -> Device {
    Device::load(&Selection { preset: Some(name.into()), ..Selection::default() }).expect(name)
}

#[test]
fn every_preset_loads_and_has_the_flash_it_says() {
    let all = presets(&Registry::default()).expect("presets are sound");
    assert_eq!(all.len(), embedded::all_presets().len());
    for (name, gib) in [
        ("bench-512g", 512.0),
        ("mqsim-64g", 64.0),
        ("ssdsim-64g", 64.0),
        ("ressd-tlc", 576.0),
        ("ft-passd-conventional", 192.0),
    ] {
        let info = all.iter().find(|info| info.name == name).expect(name);
        assert_eq!((info.design.as_deref(), info.chips.len()), (None, 1), "{name}");
        assert_eq!(info.physical_bytes as f64 / (1u64 << 30) as f64, gib, "{name}");
        assert!(info.capacity_bytes < info.physical_bytes);
    }
}

#[test]
fn a_preset_of_a_design_names_it_and_all_its_chips() {
    let all = presets(&Registry::default()).expect("presets are sound");
    let centaur = all.iter().find(|info| info.name == "centaur").expect("it is embedded");
    let chips: Vec<_> = centaur.chips.iter().map(|chips| (&chips.part[..], chips.dies)).collect();
    assert_eq!(centaur.design.as_deref(), Some("centaur"));
    assert_eq!(chips, [("centaur-tlc-3d", 7), ("centaur-slc-2d", 8)]);
    assert_eq!(centaur.physical_bytes, centaur.chips.iter().map(|chips| chips.bytes).sum::<u64>());
}

#[test]
fn what_follows_from_a_device_with_pools_is_said_of_each_and_of_its_design() {
    insta::assert_snapshot!(preset("centaur").explain());
    let alone = preset("centaur-3d").explain();
    for words in ["design", "pool"] {
        assert!(!alone.contains(words), "{alone}");
    }
}

/// An embedded part.
fn part(name: &str) -> Part {
    let layout = "[layout]\nchannels = 1\npackages_per_channel = 1\ndies_per_package = 1\n";
    load(&format!("part = \"{name}\"\n{layout}"), &[])
        .expect(name)
        .ssd()
        .expect("an SSD")
        .config
        .ftl
        .part()
        .clone()
}

fn parts() -> impl Iterator<Item = Part> {
    embedded::PARTS.iter().map(|(name, _)| part(name))
}

#[test]
fn every_part_is_sound_and_named_as_its_file() {
    for ((name, text), part) in embedded::PARTS.iter().zip(parts()) {
        assert_eq!(part.name, *name);
        let unexplained = text.lines().find(|line| line.trim_end().ends_with("# chosen"));
        assert_eq!(unexplained, None, "{name}: a choice has a reason");
    }
}

#[test]
fn every_part_is_as_large_as_it_is_sold() {
    // The physical size is not below the data-sheet capacity, apart from rounding to planes (0.1 % for 910
    // blocks). It is larger by the spare blocks, at most 10.5 % (the B16A geometry).
    for part in parts() {
        let (Some(nominal), g) = (part.nominal, &part.geometry) else { continue };
        let pages: u64 = [g.planes, g.blocks_per_plane, g.pages_per_block].map(u64::from).iter().product();
        let ratio = (g.page_size * pages).0 as f64 / nominal.0 as f64;
        assert!((0.999..1.11).contains(&ratio), "{}: {ratio} of {nominal}", part.name);
    }
    assert!(parts().filter(|part| part.nominal.is_some()).count() >= 40, "parts say how large they are sold");
}

#[test]
fn the_pages_of_every_part_fill_its_layers_and_have_a_usual_spare_area() {
    for part in parts() {
        let (name, g) = (&part.name, &part.geometry);
        let word_lines = g.pages_per_block / g.bits_per_cell;
        assert!(
            word_lines.is_multiple_of(g.layers),
            "{name}: {word_lines} word lines on {} layers",
            g.layers
        );
        // Spare bytes range from 64 B per 2 KiB (the oldest parts) to an eighth (the newest).
        let spare = g.spare_size.0 as f64 / g.page_size.0 as f64;
        assert!((0.03..=0.125).contains(&spare), "{name}: {spare}");
    }
}

/// Megabytes per second of all planes of a die, at the mean time over the pages of a block.
fn array_rate(part: &Part, time: impl Fn(u32) -> Duration, pages: u32) -> f64 {
    let all = part.geometry.pages_per_block;
    let mean = (0..all).map(time).sum::<Duration>().us() / f64::from(all);
    (part.geometry.page_size * u64::from(part.geometry.planes * pages)).0 as f64 / mean
}

#[test]
fn every_part_is_as_fast_as_parts_are() {
    for part in parts() {
        let name = &part.name;
        let read = array_rate(&part, |page| part.read_time(page), 1);
        let program = array_rate(&part, |page| part.program_time(page), part.pages_per_program());
        assert!(read > program, "{name}: reads {read} MB/s, programs {program} MB/s");
        // The range goes from HY27UV08BG, an early MLC part with one plane (2.6 MB/s), to XL-Flash (874
        // MB/s).
        assert!((2.5..900.0).contains(&program), "{name}: programs {program} MB/s");
        let block = part.geometry.page_size * u64::from(part.geometry.planes * part.geometry.pages_per_block);
        let erase = block.0 as f64 / part.timing.erase.us();
        assert!(erase > program, "{name}: erases {erase} MB/s");
        // A page transfer takes between a tenth of tR (the bus then serves ten dies) and five times tR (the
        // array is then mostly idle, as in NANDFlashSim, section 8).
        let burst = part.bus.burst_out(part.geometry.page_size).us() / part.read_time(0).us();
        assert!((0.1..5.0).contains(&burst), "{name}: a page leaves in {burst} tR");
    }
}

#[test]
fn a_part_programs_as_fast_as_its_source_says() {
    // MB/s of a die, from AnandTech's table of ISSCC 2021. The 48-layer part programs 2 planes x 48 KiB in
    // 660 us.
    for (name, sold) in [
        ("samsung-48l-256g", 149.0),
        ("samsung-128l-512g", 82.0),
        ("samsung-176l-512g", 184.0),
        ("skhynix-176l-512g", 168.0),
        ("kioxia-96l-512g", 57.0),
        ("kioxia-128l-512g", 132.0),
        ("kioxia-170l-1t", 160.0),
    ] {
        let part = part(name);
        let ours = array_rate(&part, |page| part.program_time(page), part.pages_per_program());
        assert!((ours / sold - 1.0).abs() < 0.001, "{name}: {ours}");
    }
}

#[test]
fn the_lists_of_embedded_files_are_whole() {
    for (folder, count) in [("parts", embedded::PARTS.len()), ("presets", embedded::all_presets().len())] {
        let path = format!("{}/../../data/{folder}", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::fs::read_dir(path).expect(folder).count(), count, "{folder}");
    }
}

#[test]
fn the_resolved_text_loads_as_the_same_device() {
    for (name, _) in embedded::PRESETS {
        let device = preset(name);
        let again = load(&device.text, &[]).expect(name);
        assert_eq!((config(&again), &again.name, &again.text), (config(&device), &device.name, &device.text));
        assert!(device.explain().contains("peak throughput"));
    }
}

#[test]
fn arguments_beat_the_file_and_the_file_beats_the_preset() {
    let text = "preset = \"tiny\"\n[front]\nqueue_depth = 7\n[ftl]\nover_provisioning = 0.3\n";
    let file = config(&load(text, &[]).expect("sound")).file.clone();
    assert_eq!((file.front.queue_depth, file.ftl.over_provisioning), (7, 0.3));
    let set = ["front.queue_depth=8", "front.queue_depth=9", "part.timing.erase=5ms"];
    let file = config(&load(text, &set).expect("sound")).file.clone();
    assert_eq!((file.front.queue_depth, file.layout.channels), (9, 2));
    assert_eq!(file.part.timing.erase, Duration::from_ms(5));
}

#[test]
fn rules_for_faults_are_a_list_that_loads_again() {
    let text =
        "preset = \"tiny\"\n[[faults]]\nfails = \"read\"\nprobability = 0.01\nblock = \"3..5\"\ndie = 0\n";
    let device = load(text, &[]).expect("sound");
    assert_eq!(config(&device).ftl.faults.len(), 1);
    assert_eq!(config(&load(&device.text, &[]).expect("sound")), config(&device));
}

#[test]
fn a_part_by_name_replaces_the_part_of_the_preset() {
    let device = load("preset = \"tiny\"\n", &["part=centaur-slc-2d"]).expect("sound");
    assert_eq!(config(&device).ftl.part().name, "centaur-slc-2d");
}

/// Malformed files and arguments: text of the file, arguments, and a part of the message.
const CASES: &[(&str, &[&str], &str)] = &[
    ("preset = \"tiny\"\n[ftl.gc]\nstart_below = 3\n", &[], "drive.toml:3: ftl.gc.start_below: found"),
    ("preset = \"tiny\"\n[frnt]\n", &[], "drive.toml:2: frnt: found an unknown key, wanted front, or"),
    ("preset = \"tiny\"\ndesings = [\"centaur\"]\n", &[], "designs, or another of"),
    ("preset = \"tiny\"\nftl.gc.victim.policy = \"cubeftl\"\n", &[], "(cubeftl is a design: designs = ["),
    ("preset = \"slc-mlc-hybrid\"\n", &[], "or --set \"designs=['slc-mlc-hybrid']\")"),
    ("preset = \"tiny\"\nover_provisioning = 0.1\n", &[], "ftl.over_provisioning, or one of"),
    (
        "preset = \"tiny\"\n[ftl]\nover_provisioning = 1.7\n",
        &[],
        "drive.toml:3: ftl.over_provisioning: found 1.7, wanted a fraction from 0 to below 1",
    ),
    (
        "preset = \"tiny\"\n[ftl]\nover_provisioning = nan\n",
        &[],
        "drive.toml:3: ftl.over_provisioning: found NaN",
    ),
    (
        "preset = \"tiny\"\n[ftl]\nover_provisioning = \"7%\"\n",
        &[],
        "drive.toml:3: ftl.over_provisioning: found \"7%\", wanted a number",
    ),
    (
        "preset = \"tiny\"\n[ftl.gc.victim]\npolicy = \"gredy\"\n",
        &[],
        "drive.toml:3: ftl.gc.victim.policy: found \"gredy\", wanted ",
    ),
    ("preset = \"tiny\"\n[ftl.gc.victim]\npolicy = \"gredy\"\n", &[], "greedy, or another of"),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlx\"\n",
        &[],
        "drive.toml:3: part.cells.set: found \"cubeftl-tlx\", wanted a parameter set: ",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\ncycles = 5.0\n",
        &[],
        "part.cells.set: found nothing, wanted a value for set: it has no default",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nhours = 720.0\n",
        &[],
        "part.cells.set: found nothing, wanted a value for set: it has no default",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\ncycles = -1.0\n",
        &[],
        "drive.toml:4: part.cells.cycles: found -1, wanted a number from 0 on",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\nhours = -1.0\n",
        &[],
        "drive.toml:4: part.cells.hours: found -1, wanted a number from 0 on",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\nmixture = [{ share = 0.7 }, { share = 0.4 }]\n",
        &[],
        "drive.toml:4: part.cells.mixture: found shares of 1.1 in all, wanted at most 1",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\nmixture = [{ share = 0.0, hours = 1.0 }]\n",
        &[],
        "drive.toml:4: part.cells.mixture[0].share: found 0, wanted a fraction above 0, up to 1",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\nmixture = [{ share = 0.5, cycles = -1.0 }]\n",
        &[],
        "drive.toml:4: part.cells.mixture[0].cycles: found -1, wanted a number from 0 on",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\nhours = 1.0\ncelsius = -280.0\n",
        &[],
        "drive.toml:5: part.cells.celsius: found -280, wanted a temperature above 0 K",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\ncelsius = 50.0\n",
        &[],
        "drive.toml:4: part.cells.celsius: found a key without effect",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = { base = \"cubeftl-tlc\", ispp = { window = -1.0 } }\n",
        &[],
        "drive.toml:3: part.cells.set.ispp.window: found -1",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = { base = \"cubeftl-tlc\", ispp = { last = [4, 5, 6, 7, 8, 9, 11] } }\n",
        &[],
        "drive.toml:3: part.cells.set.ispp.last: found 8 to 11 for P7, wanted at most the 10 loops",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = { base = \"cubeftl-tlc\", ispp = { wndow = 1.0 } }\n",
        &[],
        "drive.toml:3: part.cells.set.ispp.wndow: found an unknown key",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = { base = \"cubeftl-tlc\", levels = { coding = [0, 1, 2, 3, 4, 5, 6, 7] } }\n",
        &[],
        "drive.toml:3: part.cells.set.levels.coding: found",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = { base = \"cubeftl-tlc\", variation = { roles = { gamma = { layer = 1, width = 1.0, stress = 1.0 } } } }\n",
        &[],
        "part.cells.set.variation.roles.gamma: found `gamma`",
    ),
    (
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cai-tlc-2017\"\n",
        &[],
        "drive.toml:3: part.cells.set: found `cai-tlc-2017`, wanted a set that says how cells are programmed",
    ),
    (
        "preset = \"tiny\"\n[part.cells]\nset = \"cubeftl-tlc\"\n",
        &[],
        "drive.toml:3: part.cells.set: found `cubeftl-tlc`, of cells of 3 bits",
    ),
    (
        "preset = \"tiny\"\n[ftl.gc]\nvictim = \"greedy\"\n",
        &[],
        "drive.toml:3: ftl.gc.victim: found \"greedy\", wanted a table: { policy = \"greedy\" }",
    ),
    (
        "preset = \"tiny\"\nftl.gc.victim = { policy = \"greedy\", window = 4 }\n",
        &[],
        "drive.toml:2: ftl.gc.victim.window: found a key of another policy, wanted no further key beside `greedy`: `window` is",
    ),
    (
        "preset = \"tiny\"\n[ftl]\nplacement = { policy = \"fixed\", order = \"CWDD\" }\n",
        &[],
        "drive.toml:3: ftl.placement.order: found CWDD",
    ),
    (
        "preset = \"tiny\"\n[buffer]\nsize = \"64\"\n",
        &[],
        "drive.toml:3: buffer.size: found \"64\", wanted a size with a unit",
    ),
    (
        "preset = \"tiny\"\n[buffer]\nsize = 64\n",
        &[],
        "drive.toml:3: buffer.size: found 64, wanted a size with a unit",
    ),
    ("preset = \"tiny\"\n[buffer]\nsize = \"1ms\"\n", &[], "drive.toml:3: buffer.size: found \"1ms\""),
    (
        "preset = \"tiny\"\n[buffer]\nsize = \"4KiB\"\n",
        &[],
        "drive.toml:3: buffer.size: found 4KiB, wanted from two program units",
    ),
    ("preset = \"tiny\"\n[buffer]\nmode = \"write-bak\"\n", &[], "write-back, or another of"),
    (
        "preset = \"tiny\"\n[front]\nqueue_depth = -1\n",
        &[],
        "drive.toml:3: front.queue_depth: found -1, wanted a whole number from 0 to 4294967295",
    ),
    (
        "preset = \"tiny\"\n[front]\nqueue_depth = 0\n",
        &[],
        "drive.toml:3: front.queue_depth: found 0, wanted from 1 to 65535",
    ),
    (
        "preset = \"tiny\"\n[front]\nqueue_depth = 99999999999999999999\n",
        &[],
        "drive.toml:3: front.queue_depth: found 99999999999999999999",
    ),
    ("preset = \"tiny\"\nfront = 3\n", &[], "drive.toml:2: front: found 3, wanted a table of settings"),
    (
        "preset = \"tiny\"\n[part.timing]\nread = \"75us\"\n",
        &[],
        "drive.toml:3: part.timing.read: found \"75us\", wanted a list in brackets",
    ),
    (
        "preset = \"tiny\"\n[part.timing]\nread = [\"75us\", \"x\"]\n",
        &[],
        "drive.toml:3: part.timing.read[1]: found \"x\"",
    ),
    (
        "preset = \"tiny\"\n[part.geometry]\npage_size = \"5000B\"\n",
        &[],
        "drive.toml:3: part.geometry.page_size: found 5000B, wanted a power of two",
    ),
    (
        "preset = \"tiny\"\n[part.bus]\nrate = \"0MT/s\"\n",
        &[],
        "drive.toml:3: part.bus.rate: found \"0MT/s\", wanted a data rate",
    ),
    (
        "preset = \"tiny\"\n[part.bus]\ninterface = \"SDR\"\nmode = 9\n",
        &[],
        "drive.toml:4: part.bus.mode: found 9, wanted from 0 to 5 for SDR",
    ),
    (
        "preset = \"tiny\"\n[part.bus]\nmode = 300\n",
        &[],
        "drive.toml:3: part.bus.mode: found 300, wanted a whole number from 0 to 255",
    ),
    ("preset = \"tiny\"\n[part.bus]\ninterface = \"NVDDR2\"\n", &[], "NV-DDR2, or another of"),
    (
        "preset = \"tiny\"\n",
        &["part.bus.interface=NV-DDR", "part.bus.t_rc=1ns"],
        "--set part.bus.t_rc: found 1ns, wanted no such key: NV-DDR moves data at a rate",
    ),
    ("preset = \"tniy\"\n", &[], "drive.toml:1: preset: found \"tniy\", wanted a preset"),
    ("preset = 3\n", &[], "drive.toml:1: preset: found 3, wanted text in quotes"),
    ("preset = \"tiny\"\npart = \"mqsim\"\n", &[], "drive.toml:2: part: found \"mqsim\", wanted a part"),
    ("preset = \"tiny\"\npart = 4\n", &[], "drive.toml:2: part: found 4, wanted a table of settings"),
    ("preset = \"drive.toml\"\n", &[], "a preset that builds on itself"),
    ("[ftl]\nover_provisioning = 0.1\n", &[], "drive.toml:1: layout: found nothing, wanted"),
    ("preset = \"tiny\"\n[ftl\n", &[], "drive.toml:2:"),
    (
        "preset = \"tiny\"\npreset = \"tiny\"\n",
        &[],
        "drive.toml:2:1: found duplicate key preset, wanted each key once in its table",
    ),
    ("", &[], "drive.toml: found an empty file"),
    ("# nothing\n\n", &[], "drive.toml: found an empty file"),
    (
        "preset = \"tiny\"\n[[faults]]\nfails = \"erase\"\nnth = 1\n[[faults]]\nfails = \"erase\"\nnth = 0\n",
        &[],
        "drive.toml:7: faults[1].nth: found 0, wanted at least 1",
    ),
    ("preset = \"tiny\"\n[[faults]]\nfails = \"erasure\"\n", &[], "erase, or another of"),
    (
        "preset = \"tiny\"\n[[faults]]\nfails = \"erase\"\nblock = \"9..3\"\n",
        &[],
        "drive.toml:4: faults[0].block: found \"9..3\", wanted a whole number, or a range with both ends",
    ),
    (
        "preset = \"tiny\"\n",
        &["faults=[{fails='die',die=999}]"],
        "--set faults: faults[0].die: found 999, wanted from 0 to",
    ),
    ("preset = \"tiny\"\n", &["ftl.over_provisioning"], "--set ftl.over_provisioning: found no `=`"),
    ("preset = \"tiny\"\n", &["ftl.over_provisioning=2"], "--set ftl.over_provisioning: found 2, wanted"),
    ("preset = \"tiny\"\n", &["ftl..x=2"], "--set ftl..x: found not a key"),
    ("preset = \"tiny\"\n", &["0.x=2"], "--set 0.x: found not a key"),
    ("preset = \"tiny\"\n", &["preset=tiny"], "--set preset: found a key of files"),
    ("preset = \"tiny\"\n", &["ftl=2"], "--set ftl: found 2, wanted a table of settings"),
    ("preset = \"tiny\"\n", &["part.geometry.bits_per_cell=3"], "preset tiny:"),
];

#[test]
fn a_rate_or_a_wait_replaces_that_of_the_mode() {
    let bus = |set: &[&str]| config(&load("preset = \"tiny\"\n", set).expect("sound")).ftl.part().bus;
    let (own, fast) = (bus(&[]), bus(&["part.bus.rate=1GT/s"]));
    assert_eq!(fast.burst_out(Bytes(1_000)), Duration::from_us(1));
    assert_eq!((fast.mode, fast.t_adl), (own.mode, own.t_adl));
    assert_eq!(bus(&["part.bus.t_adl=400ns"]).t_adl, Duration::from_ns(400));
    let sdr = bus(&["part.bus.interface=SDR", "part.bus.mode=2"]);
    assert_eq!(sdr.burst_in(Bytes::kib(2)), Duration::from_ns(35 * 2_048));
}

#[test]
fn what_is_wrong_is_said_with_place_key_found_and_wanted() {
    let missed: Vec<String> = CASES
        .iter()
        .map(|(text, set, part)| (complaint(text, set), part))
        .filter(|(said, part)| !said.contains(**part))
        .map(|(said, part)| format!("wanted {part}\nsaid   {said}"))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn everything_wrong_is_said_at_once() {
    let text =
        "preset = \"tiny\"\n[front]\nqueue_dept = 3\n[buffer]\nsize = 64\n[ftl]\nover_provisioning = \"x\"\n";
    let said = complaint(text, &["layout.channels=two"]);
    assert_eq!(said.lines().count(), 4, "{said}");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let said = |path: PathBuf| {
        let selection = Selection { file: Some(path), ..Selection::default() };
        Device::load(&selection).expect_err("cannot be read").to_string()
    };
    assert!(said(folder.path().join("none.toml")).contains("none.toml: cannot read: No such file"));
    assert!(said(folder.path().to_owned()).contains("cannot read: Is a directory"));
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, b"a = 1\n\xff").expect("a file for a test");
    assert!(said(binary).ends_with(
        "binary.toml:2: found a byte that is not UTF-8, wanted a configuration in TOML, which is UTF-8 text"
    ));
}

#[test]
fn the_page_of_keys_is_current() {
    let path = format!("{}/../../docs/configuration.md", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, reference()).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == reference(), "docs/configuration.md is old: run the test with UPDATE_GOLDEN=1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_makes_it_panic(text in "(preset = \"tiny\"\n)?[\\[\\]a-z.=\"'{}#0-9 \n\\PC]{0,80}", set in "[a-z.]{0,8}=?\\PC{0,8}") {
        let _ = load(&text, &[&set]);
    }
}

#[test]
fn a_number_in_an_argument_is_an_item_of_a_list() {
    let with = |set: &[&str]| {
        let set = set.iter().map(|&text| text.to_owned()).collect();
        Device::load(&Selection { preset: Some("centaur".into()), file: None, set })
    };
    let changed =
        with(&["pools.0.part.endurance=77", "pools.0.stop_at_free_blocks=103", "part.timing.read.0=61us"])
            .expect("a device");
    let pool = &config(&changed).ftl.pools.get(1).part;
    assert_eq!((pool.name.as_str(), pool.endurance), ("centaur-slc-2d", 77));
    assert_eq!(config(&changed).ftl.part().read_times()[0], Duration::from_us(61));
    let named =
        with(&["pools.0.part=centaur-tlc-3d-paged", "pools.0.part.endurance=78", "ftl.mapping.unit=8KiB"]);
    let told = named.map(|device| config(&device).ftl.pools.get(1).part.endurance);
    match told.map_err(|error| error.to_string()) {
        Ok(endurance) => assert_eq!(endurance, 78),
        Err(text) => assert!(!text.contains("base"), "{text}"),
    }
    let rule = with(&["faults.0.fails=program", "faults.0.nth=3", "faults.0.die=14"])
        .expect("a rule for a die of pool 2");
    assert_eq!(config(&rule).ftl.faults.len(), 1);
    for (set, wanted) in [
        (&["pools.1.channels=shared"][..], "--set pools.1.channels: pools[1].part: found nothing"),
        (
            &["pools.7.channels=shared"],
            "--set pools.7.channels: pools[7]: found item 7 of a list of 1, wanted an item from 0 to 1",
        ),
        (&["pools.0.part.endurence=3"], "--set pools.0.part.endurence: found an unknown key"),
        (&["pools.0.part=centaur-slc-2b"], "--set pools.0.part: found \"centaur-slc-2b\", wanted"),
        (&["faults.0.fails=program", "faults.0.die=15"], "--set faults.0.die: found 15, wanted from 0 to 14"),
    ] {
        let text = with(set).expect_err(wanted).to_string();
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_part_that_an_argument_names_can_be_changed_by_the_next() {
    let device =
        load("preset = \"tiny\"", &["part=z-nand", "part.endurance=77", "part.geometry.blocks_per_plane=32"]);
    let part = device.map(|device| config(&device).ftl.part().clone()).expect("a device");
    assert_eq!((part.name.as_str(), part.endurance, part.geometry.blocks_per_plane), ("z-nand", 77, 32));
}

#[test]
fn the_cells_of_a_part_are_named_changed_and_load_again() {
    let text =
        "preset = \"cubeftl-device\"\n[part.cells]\nset = \"cubeftl-tlc\"\ncycles = 2000\nhours = 720\n";
    let device = load(text, &["part.cells.set.read.ecc_bits=60", "part.cells.cycles=1000"]).expect("sound");
    let cells = config(&device).file.part.cells.as_ref().expect("they are named");
    let bits = cells.set.read.as_ref().map(|read| read.ecc_bits);
    assert_eq!((bits, cells.cycles, cells.hours), (Some(60), 1_000.0, 720.0));
    let again = load(&device.text, &[]).expect("it is whole");
    assert_eq!(config(&again), config(&device));
    let named = load(&device.text, &["part.cells.set=cubeftl-tlc"]).expect("another set in its place");
    let read = config(&named).file.part.cells.as_ref().and_then(|cells| cells.set.read.clone());
    assert_eq!(read.map(|read| read.ecc_bits), Some(72));
    assert!(config(&load(&device.text, &["part=cubeftl-tlc"]).expect("sound")).file.part.cells.is_none());
}

#[test]
fn a_cached_map_needs_no_other_key() {
    for name in ["tiny", "tiny-tlc", "nvme-tlc"] {
        let set = vec!["ftl.mapping.cache=16KiB".to_owned()];
        let device = Device::load(&Selection { preset: Some(name.into()), file: None, set }).expect(name);
        let gc = &config(&device).file.ftl.gc;
        assert_eq!((gc.start_below_free_blocks, gc.stop_at_free_blocks), (4, 4), "{name}");
    }
    let chosen = complaint(
        "preset = \"tiny\"\n[ftl]\nmapping.cache = \"16KiB\"\ngc.start_below_free_blocks = 3\n",
        &[],
    );
    assert!(
        chosen.starts_with("drive.toml:4: ftl.gc.start_below_free_blocks: found 3, wanted at least 4"),
        "{chosen}"
    );
    // Watermarks that the user set keep their values.
    let device = load("preset = \"tiny\"\n[ftl]\ngc.start_below_free_blocks = 5\n", &[]).expect("a device");
    assert_eq!(config(&device).file.ftl.gc.stop_at_free_blocks, 5);
}
