//! Imports of files of SimpleSSD and FEMU, and files that are refused.

use super::{Imported, ImportedRequests, SourceFile, femu, simplessd, simplessd_jobs, simplessd_pair};
use crate::{Device, Registry};

const SSD: &str = include_str!("simplessd-ssd.cfg");
const SIM: &str = include_str!("simplessd-sim.cfg");
const FEMU: &str = include_str!("femu-run.sh");

fn registry() -> Registry {
    Registry::default()
}

fn loaded(toml: &str) -> Device {
    let table = toml.parse().unwrap_or_else(|error| panic!("{toml}\n{error}"));
    Device::of_keys(&registry(), "ssd", table).unwrap_or_else(|error| panic!("{toml}\n{error}"))
}

fn of_simplessd(text: &str) -> Imported {
    simplessd(&registry(), "ssd.cfg", text).unwrap_or_else(|error| panic!("{error}"))
}

fn of_femu(text: &str) -> Imported {
    femu(&registry(), "run.sh", text).unwrap_or_else(|error| panic!("{error}"))
}

fn value(device: &Device, key: &str) -> String {
    device.get(key).unwrap_or_else(|| panic!("{key} is not set")).to_string()
}

/// The text of a file with one change.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn a_file_is_recognized_by_its_contents() {
    for (text, wanted) in [
        (SSD, SourceFile::SimplessdDevice),
        (SIM, SourceFile::SimplessdRun),
        (FEMU, SourceFile::Femu),
        ("qemu-system-x86_64 -device femu,femu_mode=1 -nographic", SourceFile::Femu),
        (include_str!("mqsim-64g.xml"), SourceFile::MqsimDevice),
        (include_str!("mqsim-flows.xml"), SourceFile::MqsimWorkload),
        ("<?xml version=\"1.0\"?>\n<simplessd version=\"2.1\"></simplessd>", SourceFile::SimplessdXml),
        ("<?xml version=\"1.0\"?>\n<Device_Parameter_Set>", SourceFile::MqsimDevice),
        ("<MQSim_IO_Scenarios>\n<IO_Scenario>", SourceFile::MqsimWorkload),
        ("head\n<MQSim_IO_Scenarios></MQSim_IO_Scenarios>", SourceFile::MqsimWorkload),
        ("hello", SourceFile::Unknown),
        ("", SourceFile::Unknown),
        ("NumChannel = 16\nPageSize = 4096\n", SourceFile::Unknown),
        ("<html><body></body></html>", SourceFile::Unknown),
    ] {
        assert_eq!(SourceFile::of(text), wanted, "{}", text.chars().take(30).collect::<String>());
    }
}

#[test]
fn a_device_of_simplessd_has_its_numbers() {
    let device = loaded(&of_simplessd(SSD).text);
    for (key, wanted) in [
        ("layout.channels", "2"),
        ("layout.packages_per_channel", "3"),
        ("layout.planes_per_row", "2"),
        ("part.geometry.bits_per_cell", "3"),
        ("part.geometry.pages_per_block", "96"),
        ("part.geometry.page_size", "\"8KiB\""),
        ("part.timing.read", "[\"45us\", \"60us\", \"75us\"]"),
        ("part.timing.program", "[\"600us\", \"1100us\", \"2100us\"]"),
        ("part.timing.erase", "\"4500us\""),
        ("part.bus.rate", "\"1049MT/s\""),
        ("part.power.read", "\"60000uW\""),
        ("part.endurance", "5000"),
        ("front.interface", "\"nvme\""),
        ("front.sector_size", "\"4KiB\""),
        ("front.command_interval", "\"500ns\""),
        ("front.nvme.queues", "6"),
        ("front.nvme.link.generation", "2"),
        ("front.nvme.link.lanes", "2"),
        ("buffer.size", "\"8MiB\""),
        ("buffer.eviction.policy", "\"fifo\""),
        ("buffer.read_cache", "\"8MiB\""),
        ("buffer.read_ahead", "12"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.placement.order", "\"PWCD\""),
        ("ftl.gc.start_below_free_blocks", "6"),
        ("ftl.gc.stop_at_free_blocks", "9"),
        ("ftl.gc.victim.choices", "5"),
    ] {
        assert_eq!(value(&device, key), wanted, "{key}");
    }
    let namespaces = value(&device, "namespaces");
    assert_eq!(namespaces.matches("fraction").count(), 2, "{namespaces}");
}

#[test]
fn each_parameter_of_simplessd_is_a_key_or_is_named_with_a_reason() {
    let imported = of_simplessd(SSD);
    let mut section = "";
    for line in SSD.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let name = format!("{section}.{key}");
            let of_pages = ["pal.CSB", "pal.MSB"].iter().any(|start| name.starts_with(start));
            assert!(of_pages || imported.text.contains(&name), "{name}\n{}", imported.text);
        }
    }
    let told = "not simulated, for reasons in the comments: pal.SuperblockSize = CW, cpu.* (1 keys), dram.* (1 keys)";
    assert!(imported.notes.iter().any(|note| note.contains(told)), "{:?}", imported.notes);
}

#[test]
fn other_values_of_simplessd_make_other_devices() {
    for (from, to, key, wanted) in [
        ("NANDType = 2", "NANDType = 0", "part.timing.read", "[\"45us\"]"),
        ("NANDType = 2", "NANDType = 1", "part.timing.program", "[\"600us\", \"2100us\"]"),
        ("EnableMultiPlaneOperation = 1", "EnableMultiPlaneOperation = 0", "layout.planes_per_row", "1"),
        ("EnableMultiPlaneOperation = 1", "EnableMultiPlaneOperation = 0", "ftl.placement.order", "\"WCDP\""),
        ("EvictPolicy = 3", "EvictPolicy = 1", "ftl.gc.victim.policy", "\"cost-benefit\""),
        ("EvictPolicy = 3", "EvictPolicy = 2", "ftl.gc.victim.policy", "\"random\""),
        ("GCMode = 1", "GCMode = 0", "ftl.gc.stop_at_free_blocks", "6"),
        ("EnableWriteCache = 1", "EnableWriteCache = 0", "buffer.mode", "\"write-through\""),
        ("ReadPrefetchMode = 1", "ReadPrefetchMode = 0", "buffer.read_ahead", "1"),
        ("DMAWidth = 16", "DMAWidth = 8", "part.bus.rate", "\"524MT/s\""),
    ] {
        let device = loaded(&of_simplessd(&changed(SSD, from, to)).text);
        assert_eq!(value(&device, key), wanted, "{to}");
    }
    let few = of_simplessd(&changed(SSD, "OverProvisioningRatio = 0.3", "OverProvisioningRatio = 0.1"));
    let told = few
        .notes
        .iter()
        .any(|note| note.contains("ftl.GCThreshold: ") || note.contains("ftl.OverProvisioningRatio: "));
    assert!(told, "{:?}", few.notes);
    loaded(&few.text);
}

#[test]
fn a_fault_of_simplessd_is_named_by_line_and_parameter() {
    for (from, to, wanted) in [
        (
            "Channel = 2",
            "Channel = two",
            "ssd.cfg:21: pal.Channel: found `two`, wanted a whole number from 1",
        ),
        ("Erase = 4500000000", "Erase = 0", "pal.Erase: found `0`, wanted a whole number from 1"),
        ("CSBRead = 60000000", "CSBRead = 0", "pal.CSBRead: found `0`"),
        (
            "PageAllocation = WCDP",
            "PageAllocation = WCD",
            "pal.PageAllocation: found `WCD`, wanted the letters",
        ),
        ("MappingMode = 0", "MappingMode = 1", "ftl.MappingMode: found `1`"),
        ("DMAWidth = 16", "DMAWidth = 12", "pal.DMAWidth: found 12, wanted 8"),
        ("FillRatio = 0.5", "FillRatio = 1.5", "ftl.FillRatio: found `1.5`, wanted a fraction from 0 to 1"),
        ("EnableReadCache = 1", "EnableReadCache = yes", "icl.EnableReadCache: found `yes`, wanted 0, 1"),
        ("Die = 1\n", "Die\n", "ssd.cfg:23: found `Die`, wanted a section, or a name = value"),
        ("Die = 1\n", " Die = 1\n", "ssd.cfg:23: found an indented line"),
        ("[cpu]", "[cpu", "found `[cpu`, wanted a section"),
        ("[cpu]", "", "ssd.cfg:3: found `ClockSpeed = 500000000`, wanted a section before it"),
    ] {
        let error = simplessd(&registry(), "ssd.cfg", &changed(SSD, from, to)).expect_err(to).to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
    let unknown = of_simplessd(&changed(SSD, "[ftl]", "[ftl]\nGCTreshold = 0.2"));
    let told = "ftl.GCTreshold: SimpleSSD has no such parameter (is it ftl.GCThreshold?): left out";
    assert!(unknown.notes.iter().any(|note| note.contains(told)), "{:?}", unknown.notes);
    let missing = of_simplessd(&changed(SSD, "GCThreshold = 0.1", ""));
    assert!(
        missing
            .notes
            .iter()
            .any(|note| note.contains("ftl.GCThreshold: none given: SimpleSSD's default, 0.05"))
    );
}

#[test]
fn the_request_generator_becomes_a_job() {
    let jobs = simplessd_jobs("sim.cfg", SIM).unwrap_or_else(|error| panic!("{error}"));
    for line in [
        "rw=randrw",
        "rwmixread=70",
        "bs=8192",
        "iodepth=12",
        "offset=65536",
        "size=4194304",
        "thinktime=2",
        "randseed=7",
        "io_size=8388608",
    ] {
        assert!(jobs.text.lines().any(|other| other == line), "{line}\n{}", jobs.text);
    }
    assert!(jobs.notes.iter().any(|note| note.contains("global.SubmissionLatency: 3us: not simulated")));
    let timed = changed(SIM, "time_based = 0", "time_based = true");
    assert!(simplessd_jobs("sim.cfg", &timed).expect("it is sound").text.contains("runtime=1000000us"));
    let waits = changed(SIM, "iomode = async", "iomode = sync");
    assert!(simplessd_jobs("sim.cfg", &waits).expect("it is sound").text.contains("ioengine=psync"));
    for (from, to, wanted) in [
        (
            "Mode = 0",
            "Mode = 1",
            "sim.cfg:2: global.Mode: found `1`, wanted 0, the request generator; with the device",
        ),
        ("blocksize = 8K", "blocksize = 8q", "generator.blocksize: found `8q`, wanted a number of bytes"),
        ("thinktime = 2us", "thinktime = soon", "generator.thinktime: found `soon`, wanted a time"),
        ("readwrite = randrw", "readwrite = trim", "generator.readwrite: found `trim`"),
    ] {
        let error = simplessd_jobs("sim.cfg", &changed(SIM, from, to)).expect_err(to).to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
}

#[test]
fn a_device_and_a_run_of_simplessd_fit_together() {
    let pair = |sim: &str| simplessd_pair(&registry(), ("ssd.cfg", SSD), ("sim.cfg", sim));
    let run = pair(SIM).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.precondition, "0.5");
    assert_eq!(value(&loaded(&run.device), "front.interface"), "\"nvme\"");
    let sata =
        pair(&changed(SIM, "Interface = 1", "Interface = 2")).unwrap_or_else(|error| panic!("{error}"));
    let device = loaded(&sata.device);
    assert_eq!(
        (value(&device, "front.interface"), value(&device, "front.sata.generation")),
        ("\"sata\"".into(), "2".into())
    );
    let direct =
        pair(&changed(SIM, "Interface = 1", "Interface = 0")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(value(&loaded(&direct.device), "front.interface"), "\"direct\"");
    let beyond = pair(&changed(SIM, "offset = 64K", "offset = 900G")).expect_err("the device is smaller");
    assert!(beyond.to_string().contains("sim.cfg"), "{beyond}");
}

#[test]
fn a_trace_of_simplessd_is_replayed_with_its_timing() {
    let of = |timing: &str| {
        let sim = changed(SIM, "Mode = 0", "Mode = 1");
        let sim =
            changed(&sim, "QueueDepth = 4", &format!("QueueDepth = 4\nTimingMode = {timing}\nFile = a.txt"));
        simplessd_pair(&registry(), ("ssd.cfg", SSD), ("sim.cfg", &sim))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    for (timing, queue_depth) in [("0", Some(1)), ("1", Some(4)), ("2", None)] {
        let run = of(timing);
        assert_eq!(run.requests, ImportedRequests::Trace { file: "a.txt".into(), queue_depth }, "{timing}");
        assert!(run.notes.iter().any(|note| note.contains("trace.Regex: the format is detected here")));
        loaded(&run.device);
    }
    let without = changed(SIM, "Mode = 0", "Mode = 1");
    let error = simplessd_pair(&registry(), ("ssd.cfg", SSD), ("sim.cfg", &without)).expect_err("no file");
    assert!(error.to_string().contains("sim.cfg: trace.File: found none, wanted a value"), "{error}");
}

#[test]
fn a_device_of_femu_without_flash_has_a_fixed_latency() {
    let imported = of_femu(&changed(FEMU, "femu_mode=1", "femu_mode=2"));
    let device = loaded(&imported.text);
    assert_eq!(value(&device, "capacity"), "\"96MiB\"");
    assert!(imported.text.contains("# pg_rd_lat = 30000: a device without flash"), "{}", imported.text);
}

#[test]
fn a_device_of_femu_has_its_numbers() {
    let imported = of_femu(FEMU);
    let device = loaded(&imported.text);
    for (key, wanted) in [
        ("layout.channels", "2"),
        ("layout.packages_per_channel", "2"),
        ("part.geometry.blocks_per_plane", "128"),
        ("part.geometry.pages_per_block", "64"),
        ("part.geometry.page_size", "\"4KiB\""),
        ("part.timing.read", "[\"30us\"]"),
        ("part.timing.program", "[\"150us\"]"),
        ("part.timing.erase", "\"1500us\""),
        ("ftl.over_provisioning", "0.25"),
        ("ftl.gc.victim.policy", "\"random\""),
        ("buffer.mode", "\"write-through\""),
        ("front.interface", "\"direct\""),
        // 80 % would be 26 of 128 blocks; an eighth of invalid pages leaves 18, and 90 % needs 13.
        ("ftl.gc.start_below_free_blocks", "18"),
    ] {
        assert_eq!(value(&device, key), wanted, "{key}");
    }
    let has = |text: &str| imported.notes.iter().any(|note| note.contains(text));
    assert!(has("gc_thres_pcent: GC starts below 18 free blocks of a plane, not 26"), "{:?}", imported.notes);
    assert!(has("not simulated, for reasons in the comments: nand_cell_type = 3"), "{:?}", imported.notes);
    let line =
        "qemu-system-x86_64 -device femu,femu_mode=1,devsz_mb=12288,fw_cpu_ns=2000,pcie_bandwidth_mbps=3500";
    let other = loaded(&of_femu(line).text);
    assert_eq!(value(&other, "front.command_time"), "\"2us\"");
    assert_eq!(value(&other, "front.nvme.link.lanes"), "1");
    assert_eq!(value(&other, "part.timing.read"), "[\"40us\"]", "FEMU's default");
}

#[test]
fn a_fault_of_femu_is_named_by_line_and_option() {
    for (from, to, wanted) in [
        ("femu_mode=1", "femu_mode=3", "run.sh:8: femu_mode: found `3`, wanted 1, a black-box SSD"),
        ("secsz=512", "secsz=large", "run.sh:3: secsz: found `large`, wanted a whole number from 512"),
        ("pages=64", "pages=0", "pgs_per_blk: found `0`"),
        ("-96}", "-4096}", "devsz_mb: found 4GiB, wanted less than the 128MiB of all pages"),
        ("pages=64", "# none", "run.sh:8: found pgs_per_blk=${pages}, wanted a value, or a variable"),
        ("gc_policy=random", "gc_policy", "found `gc_policy`, wanted an option with a value"),
        ("-device femu", "-device nvme", "found no `-device femu`"),
    ] {
        let error = femu(&registry(), "run.sh", &changed(FEMU, from, to)).expect_err(to).to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
    let unknown = of_femu(&changed(FEMU, "nchs=2", "nchs=2,pg_rd_latt=3"));
    let told = "pg_rd_latt: FEMU has no such parameter (is it pg_rd_lat?): left out";
    assert!(unknown.notes.iter().any(|note| note.contains(told)), "{:?}", unknown.notes);
}
