//! Imports of MQSim files, and files that are refused.

use wordline_kernel::{Bytes, Seed};

use super::{device, job_file};
use crate::trace::workload::fio::JobFile;
use crate::{Device, Registry};

/// MQSim's default configuration, with 256 blocks per plane.
const DEVICE: &str = include_str!("mqsim-64g.xml");

/// A million random reads.
const FLOWS: &str = include_str!("mqsim-flows.xml");

fn imported(text: &str) -> Device {
    let toml = device("ssd.xml", text).unwrap_or_else(|error| panic!("{error}"));
    let table = toml.parse().unwrap_or_else(|error| panic!("{toml}\n{error}"));
    Device::of_keys(&Registry::default(), "ssd", table).unwrap_or_else(|error| panic!("{toml}\n{error}"))
}

#[test]
fn the_configuration_of_mqsim_is_the_preset_with_its_name() {
    let (ours, preset) = (imported(DEVICE), Device::preset("mqsim-64g").expect("a preset"));
    assert_eq!(ours.capacity(), preset.capacity());
    for key in [
        "part.geometry",
        "part.endurance",
        "part.timing.read",
        "part.timing.program",
        "part.timing.erase",
        "layout",
        "buffer.size",
        "buffer.space",
        "buffer.destage",
        "buffer.eviction",
        "ftl.over_provisioning",
        "ftl.placement",
        "ftl.gc.start_below_free_blocks",
        "ftl.gc.stop_at_free_blocks",
    ] {
        assert_eq!(ours.get(key), preset.get(key), "{key}");
    }
    // The time in which MQSim's DRAM transfers 4 KiB (docs/validation/simulators.md).
    assert_eq!(ours.get("buffer.access_time"), Some("20506ns".into()));
    assert_eq!(ours.get("ftl.gc.victim.choices"), Some(8.into()));
    assert_eq!(ours.get("ftl.scheduling.suspend_erases"), Some(true.into()));
    assert_eq!(ours.get("ftl.scheduling.suspend_programs"), Some(false.into()));
    assert_eq!(ours.get("front.nvme.link.generation"), Some(3.into()));
}

#[test]
fn each_parameter_is_named_in_the_configuration_or_where_it_says_what_is_not_mapped() {
    let toml = device("ssd.xml", DEVICE).expect("it is sound");
    let names = DEVICE.lines().filter_map(|line| Some(line.trim().strip_prefix('<')?.split_once('>')?.0));
    for name in names.filter(|name| !name.ends_with("_Set") && !name.starts_with(['/', '?'])) {
        let group = ["Page_Read_Latency_", "Page_Program_Latency_", "Data_Cache_DRAM_"]
            .into_iter()
            .any(|group| name.starts_with(group) && toml.contains(&format!("{group}*")));
        assert!(group || toml.contains(name), "{name}\n{toml}");
    }
}

#[test]
fn other_values_make_other_devices() {
    let of = |from: &str, to: &str| {
        assert!(DEVICE.contains(from), "{from}");
        imported(&DEVICE.replace(from, to))
    };
    let cached = of("<Ideal_Mapping_Table>true", "<Ideal_Mapping_Table>false");
    assert_eq!(cached.get("ftl.mapping.cache"), Some("2MiB".into()));
    let greedy = of("RGA", "GREEDY");
    assert_eq!(greedy.get("ftl.gc.victim.policy"), Some("greedy".into()));
    let slow = of("<Page_Read_Latency_MSB>75000", "<Page_Read_Latency_MSB>90000");
    assert_eq!(
        slow.get("part.timing.read").map(|value| value.to_string()),
        Some("[\"75us\", \"90us\"]".into())
    );
    let triple = of("MLC", "TLC");
    assert_eq!(triple.get("part.geometry.pages_per_block"), Some(255.into()));
    let sata = of("NVME", "SATA");
    assert_eq!(sata.get("front.command_time"), Some("400us".into()));
    let wide = of("<PCIe_Lane_Bandwidth>1.00000", "<PCIe_Lane_Bandwidth>0.4");
    assert_eq!(wide.get("front.nvme.link.generation"), Some(2.into()));
}

#[test]
fn each_wrong_parameter_is_named_with_file_line_and_what_was_wanted() {
    for (from, to, wanted) in [
        (
            "<Page_Capacity>8192",
            "<Page_Capacity>page",
            "ssd.xml:66: Page_Capacity: found `page`, wanted a whole number",
        ),
        ("<Page_Capacity>8192</Page_Capacity>", "", "ssd.xml: Page_Capacity: found none, wanted a value"),
        ("RGA", "BEST", "ssd.xml:34: GC_Block_Selection_Policy: found `BEST`, wanted one of GREEDY"),
        ("PAGE_LEVEL", "HYBRID", "ssd.xml:26: Address_Mapping: found `HYBRID`, wanted PAGE_LEVEL"),
        (
            "<Seed>321</Seed>",
            "<Sead>1</Sead>",
            "ssd.xml:11: Sead: found a parameter that is not known, wanted Seed, or another of",
        ),
        ("<Seed>321</Seed>", "<Seed>1</Seed><Seed>2</Seed>", "ssd.xml:11: Seed: found the parameter twice"),
        ("</Device_Parameter_Set>", "", "ssd.xml:"),
        (
            "Execution_Parameter_Set",
            "Other_Set",
            "ssd.xml:2: found <Other_Set>, wanted <Execution_Parameter_Set>",
        ),
    ] {
        assert!(DEVICE.contains(from), "{from}");
        let error = device("ssd.xml", &DEVICE.replace(from, to)).expect_err(to).to_string();
        assert!(error.starts_with(wanted), "{to}: {error}");
    }
}

#[test]
fn flows_become_jobs_that_run() {
    let text = job_file("w.xml", FLOWS, 1).expect("it is sound");
    let jobs = JobFile::parse("w.fio", &text).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
    let requests: Vec<_> = jobs.jobs(Seed(1), Bytes::gib(8), None).expect("it fits").in_turn().collect();
    assert_eq!(requests.len(), 1_000_000);
    assert!(requests.iter().all(|request| request.size == Bytes::kib(4)));
    assert!(requests.iter().all(|request| request.offset < Bytes::gib(6)), "three quarters of it");
    let two = FLOWS.replace("RANDOM_UNIFORM", "RANDOM_HOTCOLD").replace("Region>0", "Region>20");
    let text = job_file("w.xml", &two, 1).expect("it is sound");
    assert!(text.contains("random_distribution=zoned:80/20:20/80"), "{text}");
    let rate = FLOWS.replace("QUEUE_DEPTH", "ARRIVAL_RATE").replace("Stop_Time>0", "Stop_Time>5000000");
    let text = job_file("w.xml", &rate, 1).expect("it is sound");
    let jobs = JobFile::parse("w.fio", &text).expect("it is sound").jobs(Seed(1), Bytes::gib(8), None);
    // A flow of 64 requests per second lasts 5 ms, so usually only its first request arrives.
    assert!((1..4).contains(&jobs.expect("it fits").in_turn().count()));
}

#[test]
fn flows_that_cannot_be_jobs_are_refused() {
    for (from, to, wanted) in [
        (
            "<Request_Size_Distribution>FIXED",
            "<Request_Size_Distribution>NORMAL",
            "w.xml:19: Request_Size_Distribution",
        ),
        (
            "IO_Flow_Parameter_Set_Synthetic",
            "IO_Flow_Parameter_Set_Trace_Based",
            "w.xml:4: found <IO_Flow_Parameter_Set_Trace_Based>",
        ),
        (
            "<Total_Requests_To_Generate>1000000",
            "<Total_Requests_To_Generate>0",
            "Total_Requests_To_Generate: found 0",
        ),
    ] {
        assert!(FLOWS.contains(from), "{from}");
        let error = job_file("w.xml", &FLOWS.replace(from, to), 1).expect_err(to).to_string();
        assert!(error.starts_with(wanted), "{to}: {error}");
    }
    let error = job_file("w.xml", FLOWS, 2).expect_err("one scenario").to_string();
    assert!(error.starts_with("w.xml: found 1 scenarios, and scenario 2 asked for"), "{error}");
}
