//! Imports of MQSim files, and files that are refused.

use std::path::PathBuf;

use wordline_kernel::{Bytes, Seed};

use super::{FoundTrace, Imported, device, job_file, pair};
use crate::trace::workload::fio::JobFile;
use crate::{Device, Registry};

/// MQSim's default configuration, with 256 blocks per plane.
const DEVICE: &str = include_str!("mqsim-64g.xml");

/// A million random reads.
const FLOWS: &str = include_str!("mqsim-flows.xml");

/// A scenario with two flows on different planes, and one with a trace, in the form that MQSim accepts.
const TWO_FLOWS: &str = include_str!("mqsim-two-flows.xml");

/// The device in `text`, with its notes.
fn converted(text: &str) -> Imported {
    device(&Registry::default(), "ssd.xml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The jobs of a workload without traces.
fn jobs(text: &str) -> crate::error::Result<Imported> {
    job_file("w.xml", text, 1, &absent)
}

fn imported(text: &str) -> Device {
    loaded(&converted(text).text)
}

fn loaded(toml: &str) -> Device {
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
    assert_eq!(ours.get("front.nvme.link.lane_bandwidth"), Some("1000000000B".into()));
}

#[test]
fn each_parameter_is_named_in_the_configuration_or_where_it_says_what_is_not_mapped() {
    let toml = converted(DEVICE).text;
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
    assert_eq!(wide.get("front.nvme.link.lane_bandwidth"), Some("390625KiB".into()));
}

#[test]
fn a_value_that_no_device_can_have_is_replaced_by_the_nearest_with_a_note() {
    for (from, to, key, value, note) in [
        (
            "<IO_Queue_Depth>65535",
            "<IO_Queue_Depth>999999",
            "front.nvme.entries",
            "65535",
            "IO_Queue_Depth: 999999 is more",
        ),
        (
            "<Flash_Channel_Width>1",
            "<Flash_Channel_Width>2",
            "part.bus.rate",
            "\"666MT/s\"",
            "an NV-DDR2 bus has 8 lines",
        ),
        (
            "<Ideal_Mapping_Table>true",
            "<Ideal_Mapping_Table>NO",
            "ftl.placement.order",
            "\"CWDP\"",
            "`NO` counts as true",
        ),
        ("PAGE_LEVEL", "ZONE_LEVEL", "ftl.placement.order", "\"CWDP\"", "ZONE_LEVEL of a fork"),
        (
            "<Seed>321</Seed>",
            "<Sead>1</Sead>",
            "layout.channels",
            "8",
            "ssd.xml:11: Sead: MQSim has no such parameter (is it Seed?)",
        ),
        (
            "<Page_Capacity>8192</Page_Capacity>",
            "",
            "part.geometry.page_size",
            "\"8KiB\"",
            "Page_Capacity: none given: MQSim's default, 8192",
        ),
        ("<Channel_Transfer_Rate>333", "<Channel_Transfer_Rate>333.7", "part.bus.rate", "\"333MT/s\"", ""),
        (
            "<Seed>321</Seed>",
            "<Seed>1</Seed><Seed>2</Seed>",
            "layout.channels",
            "8",
            "ssd.xml:11: Seed: given twice",
        ),
        (
            "PRIORITY_OUT_OF_ORDER",
            "SIMPLE_FLIN",
            "layout.channels",
            "8",
            "Transaction_Scheduling_Policy = SIMPLE_FLIN",
        ),
    ] {
        assert!(DEVICE.contains(from), "{from}");
        let Imported { text, notes } = converted(&DEVICE.replace(from, to));
        assert_eq!(
            loaded(&text).get(key).map(|value| value.to_string()).as_deref(),
            Some(value),
            "{to}\n{text}"
        );
        assert!(note.is_empty() || notes.iter().any(|line| line.contains(note)), "{to}: {notes:?}");
    }
}

#[test]
fn watermarks_and_spare_blocks_with_which_gc_cannot_work_are_adjusted() {
    let high = converted(&DEVICE.replace("<GC_Exec_Threshold>0.05", "<GC_Exec_Threshold>0.85"));
    let free = loaded(&high.text).get("ftl.gc.start_below_free_blocks").and_then(|value| value.as_integer());
    // 256 blocks of a plane with 7 % of spare are 17, of which a few are active.
    assert!(free.is_some_and(|free| (10..17).contains(&free)), "{free:?}");
    assert!(
        high.notes.iter().any(|note| note.contains("GC_Exec_Threshold: 217 free blocks")),
        "{:?}",
        high.notes
    );
    let small = converted(&DEVICE.replace("<Block_No_Per_Plane>256", "<Block_No_Per_Plane>24"));
    let spare = loaded(&small.text).get("ftl.over_provisioning").and_then(|value| value.as_float());
    assert!(spare.is_some_and(|spare| (0.2..0.25).contains(&spare)), "{spare:?}");
    assert!(
        small.notes.iter().any(|note| note.contains("Overprovisioning_Ratio: 0.07 leaves too few")),
        "{:?}",
        small.notes
    );
}

#[test]
fn what_cannot_be_had_is_in_a_note_and_not_only_in_comments() {
    let notes = converted(DEVICE).notes;
    let lost = notes.iter().find(|note| note.contains("not had here")).expect("a note");
    assert!(lost.contains("Static_Wearleveling_Enabled = true"), "{lost}");
    assert!(!lost.contains("Seed"), "the seed has no effect: {lost}");
}

#[test]
fn each_wrong_parameter_is_named_with_file_line_and_what_was_wanted() {
    for (from, to, wanted) in [
        (
            "<Page_Capacity>8192",
            "<Page_Capacity>page",
            "ssd.xml:66: Page_Capacity: found `page`, wanted a whole number",
        ),
        ("RGA", "BEST", "ssd.xml:34: GC_Block_Selection_Policy: found `BEST`, wanted one of GREEDY"),
        ("PAGE_LEVEL", "HYBRID", "ssd.xml:26: Address_Mapping: found `HYBRID`, wanted one of PAGE_LEVEL"),
        (
            "<Page_Capacity>8192",
            "<Page_Capacity>9000",
            "ssd.xml:66: Page_Capacity = 9000 (part.geometry.page_size): found",
        ),
        ("</Execution_Parameter_Set>", "", "ssd.xml:"),
        (
            "Execution_Parameter_Set",
            "Other_Set",
            "ssd.xml:2: found <Other_Set>, wanted <Execution_Parameter_Set>",
        ),
    ] {
        assert!(DEVICE.contains(from), "{from}");
        let text = DEVICE.replace(from, to);
        let error = device(&Registry::default(), "ssd.xml", &text).expect_err(to).to_string();
        assert!(error.starts_with(wanted), "{to}: {error}");
    }
}

#[test]
fn flows_become_jobs_that_run() {
    let text = jobs(FLOWS).expect("it is sound").text;
    let file = JobFile::parse("w.fio", &text).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
    let requests: Vec<_> = file.jobs(Seed(1), Bytes::gib(8), None).expect("it fits").in_turn().collect();
    assert_eq!(requests.len(), 1_000_000);
    assert!(requests.iter().all(|request| request.size == Bytes::kib(4)));
    assert!(requests.iter().all(|request| request.offset < Bytes::gib(6)), "three quarters of it");
    let two = FLOWS.replace("RANDOM_UNIFORM", "RANDOM_HOTCOLD").replace("Region>0", "Region>20");
    let text = jobs(&two).expect("it is sound").text;
    assert!(text.contains("random_distribution=zoned:80/20:20/80"), "{text}");
    let rate = FLOWS.replace("QUEUE_DEPTH", "ARRIVAL_RATE").replace("Stop_Time>0", "Stop_Time>5000000");
    let text = jobs(&rate).expect("it is sound").text;
    let file = JobFile::parse("w.fio", &text).expect("it is sound").jobs(Seed(1), Bytes::gib(8), None);
    // A flow of 64 requests per second lasts 5 ms, so usually only its first request arrives.
    assert!((1..4).contains(&file.expect("it fits").in_turn().count()));
}

#[test]
fn flows_that_cannot_be_jobs_are_refused() {
    for (from, to, wanted) in [
        (
            "<Request_Size_Distribution>FIXED",
            "<Request_Size_Distribution>ZIPF",
            "w.xml:19: Request_Size_Distribution: found `ZIPF`, wanted one of FIXED, NORMAL",
        ),
        (
            "IO_Flow_Parameter_Set_Synthetic",
            "IO_Flow_Parameter_Set_NS3_Based",
            "w.xml:4: found <IO_Flow_Parameter_Set_NS3_Based>, wanted <IO_Flow_Parameter_Set_Synthetic> or",
        ),
        (
            "<Channel_IDs>0,1,2,3,4,5,6,7",
            "<Channel_IDs>zero",
            "w.xml:7: Channel_IDs: found `zero`, wanted numbers",
        ),
        (
            "<Total_Requests_To_Generate>1000000",
            "<Total_Requests_To_Generate>0",
            "w.xml:26: Total_Requests_To_Generate: found 0, with a Stop_Time of 0",
        ),
        (
            "<Channel_IDs>0,1,2,3,4,5,6,7</Channel_IDs>",
            "",
            "w.xml:4: Channel_IDs: found none, wanted a value",
        ),
        ("IO_Scenario>", "Scenario>", "w.xml: found no <IO_Scenario>, wanted one in <MQSim_IO_Scenarios>"),
    ] {
        assert!(FLOWS.contains(from), "{from}");
        let error = jobs(&FLOWS.replace(from, to)).expect_err(to).to_string();
        assert!(error.starts_with(wanted), "{to}: {error}");
    }
    for (from, to, other, faulty, wanted) in [
        (
            "QUEUE_DEPTH",
            "BANDWIDTH",
            "Bandwidth>262144",
            "Bandwidth>0",
            "w.xml:24: Bandwidth: found none above 0",
        ),
        (
            ">FIXED",
            ">NORMAL",
            "Variance_Request_Size>0",
            "Variance_Request_Size>x",
            "w.xml:21: Variance_Request_Size: found no",
        ),
    ] {
        let error = jobs(&FLOWS.replace(from, to).replace(other, faulty)).expect_err(to).to_string();
        assert!(error.starts_with(wanted), "{to}: {error}");
    }
    let error = job_file("w.xml", FLOWS, 2, &absent).expect_err("one scenario").to_string();
    assert!(error.starts_with("w.xml: found one scenario, not number 2, wanted --scenario 1"), "{error}");
}

/// A trace of ten requests that every flow finds.
fn found(_: &str) -> FoundTrace {
    FoundTrace { path: PathBuf::from("traces/small.trace"), requests: Ok(10) }
}

/// No trace, which would be in the folder `here`.
fn absent(name: &str) -> FoundTrace {
    FoundTrace { path: PathBuf::from("here").join(name), requests: Err("there is no such trace".into()) }
}

fn paired(flows: &str, only: usize) -> (Device, String, Vec<String>) {
    let pair = pair(&Registry::default(), ("ssd.xml", DEVICE), ("w.xml", flows), Some(only), &found);
    let mut pair = pair.unwrap_or_else(|error| panic!("{error}"));
    let scenario = pair.scenarios.remove(0);
    (loaded(&scenario.device), scenario.jobs, pair.notes)
}

#[test]
fn each_flow_has_its_range_of_addresses_and_its_planes() {
    let (drive, text, notes) = paired(TWO_FLOWS, 1);
    let file = JobFile::parse("w.fio", &text).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
    let jobs = file.jobs(Seed(1), drive.capacity(), Some(4_000)).expect("it fits");
    let half = drive.capacity().0 / 2;
    let mut of_flow = [0_u64; 2];
    for request in jobs.in_turn() {
        let flow = usize::from(request.cpu == Some(1));
        of_flow[flow] += 1;
        let (begin, end) = if flow == 0 { (0, half / 2) } else { (half - 8192, 2 * half) };
        assert!((begin..end).contains(&request.offset.0), "flow {flow}: {request:?} of {half}");
        let align = [8192, 4096][flow];
        assert_eq!(
            (request.offset.0 - if flow == 0 { 0 } else { half - half % 8192 }) % align,
            0,
            "{request:?}"
        );
    }
    assert!(of_flow.iter().all(|count| *count > 100), "{of_flow:?}");
    // The addresses of each flow are on its own channels.
    let config = &drive.ssd().expect("an SSD").config;
    let placement = config.file.ftl.placement.build(&config.ftl.pools, &[4]);
    let channel = |page: u64| placement.home(page as u32, 0).expect("static").0 / (4 * 2 * 2);
    let pages = u64::from(config.ftl.logical_pages);
    assert!((0..pages / 2 - 2).step_by(17).all(|page| channel(page) < 4));
    assert!((pages / 2..pages - 16).step_by(17).all(|page| channel(page) >= 4));
    assert_eq!(drive.get("front.nvme.queues"), Some(2.into()));
    assert_eq!(drive.get("front.nvme.arbitration.priorities"), Some("UL".into()));
    assert!(notes.iter().any(|note| note.contains("Zone_Count: MQSim has no such parameter")), "{notes:?}");
    assert!(
        text.contains("runtime=10000000ns") && !text.contains("number_ios=5\n"),
        "Stop_Time counts: {text}"
    );
}

#[test]
fn sizes_of_a_normal_distribution_have_its_mean_and_deviation() {
    let (drive, text, _) = paired(TWO_FLOWS, 1);
    let file = JobFile::parse("w.fio", &text).unwrap_or_else(|wrong| panic!("{text}\n{wrong}"));
    let requests = file.jobs(Seed(1), drive.capacity(), None).expect("it fits").in_turn();
    let sizes: Vec<f64> = requests
        .filter(|request| request.cpu == Some(1))
        .map(|request| request.size.0 as f64 / 512.0)
        .collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let deviation = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / sizes.len() as f64).sqrt();
    assert_eq!(sizes.len(), 500);
    // Sizes are rounded up, so the mean is half a sector more.
    assert!((16.0..17.0).contains(&mean) && (3.5..4.3).contains(&deviation), "{mean} {deviation}");
}

#[test]
fn a_flow_of_a_trace_replays_it_and_uncached_flows_make_the_buffer_write_through() {
    let (drive, text, notes) = paired(TWO_FLOWS, 2);
    assert!(text.contains("read_iolog=traces/small.trace") && text.contains("number_ios=5"), "{text}");
    assert_eq!(drive.get("buffer.mode"), Some("write-through".into()));
    assert_eq!(drive.get("ftl.placement.policy"), Some("fixed".into()), "it has all planes");
    assert!(!notes.iter().any(|note| note.contains("File_Path")), "{notes:?}");
    let absent = job_file("w.xml", TWO_FLOWS, 2, &absent).expect("it is sound");
    assert!(absent.notes.iter().any(|note| note.contains("here/small.trace: there is no such trace")));
    assert!(absent.text.contains("read_iolog=here/small.trace\n"), "{}", absent.text);
}

#[test]
fn planes_that_the_device_does_not_have_are_refused_with_their_flow() {
    let flows = TWO_FLOWS.replacen("0,1,2,3</Channel_IDs>", "0,8</Channel_IDs>", 1);
    let error = pair(&Registry::default(), ("ssd.xml", DEVICE), ("w.xml", &flows), Some(1), &found);
    let error = error.expect_err("the device has eight channels").to_string();
    assert!(error.starts_with("w.xml:9: flow 1, Channel_IDs: found 8, wanted numbers below 8"), "{error}");
}

#[test]
fn a_sequence_of_reads_and_writes_is_two_sequences_here_which_a_note_says() {
    let streaming = FLOWS.replace("RANDOM_UNIFORM", "STREAMING");
    let told = |reads: u64| {
        let text = streaming.replace("<Read_Percentage>100", &format!("<Read_Percentage>{reads}"));
        let Imported { text, notes } = jobs(&text).expect("it is sound");
        let is_told = |line: &str| line.contains("in MQSim, reads and writes follow one sequence");
        assert_eq!(notes.iter().any(|note| is_told(note)), text.lines().any(is_told), "{text}");
        notes.iter().any(|note| note.starts_with("w.xml: Address_Distribution: STREAMING") && is_told(note))
    };
    assert!(told(50));
    assert!(!told(0) && !told(100));
}

#[test]
fn a_value_that_follows_from_a_parameter_is_given_with_it() {
    let few = DEVICE.replace("<Block_No_Per_Plane>256", "<Block_No_Per_Plane>4");
    let few = few.replace("<Ideal_Mapping_Table>true", "<Ideal_Mapping_Table>false");
    let error = device(&Registry::default(), "ssd.xml", &few).expect_err("no device has so few").to_string();
    let wanted = "ssd.xml:33: GC_Exec_Threshold = 0.05000 (ftl.gc.start_below_free_blocks): found 3, wanted at least 4";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn a_value_of_several_lines_is_shown_in_one_and_stays_in_its_comment() {
    let value = DEVICE.replace("<Seed>321", "<Seed>3\n[front]\n21");
    let Imported { text, .. } = converted(&value);
    loaded(&text);
    assert!(text.contains("# Seed = 3 [front] 21: "), "{text}");
    let faulty = DEVICE.replace("<Page_Capacity>8192", "<Page_Capacity>81\n92");
    let error = device(&Registry::default(), "ssd.xml", &faulty).expect_err("no number").to_string();
    assert!(error.starts_with("ssd.xml:66: Page_Capacity: found `81 92`, wanted"), "{error}");
}

/// `FLOWS` with a second flow that writes, and these occupancies.
fn two_flows(first: u64, second: u64) -> String {
    let (before, rest) = FLOWS.split_once("<IO_Flow_Parameter_Set_Synthetic>").expect("it has a flow");
    let (flow, after) = rest.split_once("</IO_Flow_Parameter_Set_Synthetic>").expect("it ends");
    let with = |occupancy: u64, reads: u64| {
        let flow = flow.replace("Occupancy_Percentage>75", &format!("Occupancy_Percentage>{occupancy}"));
        let flow = flow.replace("Read_Percentage>100", &format!("Read_Percentage>{reads}"));
        format!("<IO_Flow_Parameter_Set_Synthetic>{flow}</IO_Flow_Parameter_Set_Synthetic>\n")
    };
    format!("{before}{}{}{after}", with(first, 0), with(second, 100))
}

#[test]
fn a_scenario_begins_in_the_state_of_mqsim_or_a_note_says_what_differs() {
    let filled =
        |to: &str| DEVICE.replace("<Enabled_Preconditioning>true", &format!("<Enabled_Preconditioning>{to}"));
    let flow = |from: &str, to: &str| FLOWS.replace(from, to);
    for (device, flows, precondition, note) in [
        (filled("false"), flow("Read_Percentage>100", "Read_Percentage>0"), "empty", ""),
        (
            filled("false"),
            flow("Read_Percentage>100", "Read_Percentage>9"),
            "empty",
            "reads a page in MQSim, and no flash",
        ),
        (filled("false"), FLOWS.to_owned(), "filled", "so the device is filled"),
        (filled("true"), FLOWS.to_owned(), "steady-state:0.75", ""),
        (filled("true"), flow("Occupancy_Percentage>75", "Occupancy_Percentage>100"), "steady-state", ""),
        (
            filled("true"),
            flow("Occupancy_Percentage>75", "Occupancy_Percentage>0"),
            "empty",
            "0 % of the device have data",
        ),
        (
            filled("true"),
            flow("Occupancy_Percentage>75", "Occupancy_Percentage>30"),
            "steady-state:0.3",
            "30 % of the device",
        ),
        (filled("true"), flow("RANDOM_UNIFORM", "STREAMING"), "0.75", ""),
        (
            filled("true"),
            flow("RANDOM_UNIFORM", "RANDOM_HOTCOLD").replace("Region>0", "Region>20"),
            "steady-state:0.75",
            "after uniform writes",
        ),
        // A quarter of each half has data; the second flow reads up to 62.5 % of the device.
        (filled("true"), two_flows(25, 25), "steady-state:0.625", "the first 62.5 % of the device"),
        (filled("true"), two_flows(100, 100), "steady-state", ""),
    ] {
        let pair = pair(&Registry::default(), ("ssd.xml", &device), ("w.xml", &flows), None, &found);
        let pair = pair.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pair.scenarios[0].precondition, precondition, "{:?}", pair.notes);
        let own: Vec<&String> = pair.notes.iter().filter(|line| line.starts_with("w.xml: ")).collect();
        match note {
            "" => assert_eq!(own.len(), 0, "{own:?}"),
            _ => assert!(own.iter().any(|line| line.contains(note)), "{note}: {own:?}"),
        }
    }
}

#[test]
fn a_run_has_the_seed_that_all_flows_have() {
    let of = |flows: &str| {
        let pair = pair(&Registry::default(), ("ssd.xml", DEVICE), ("w.xml", flows), None, &found);
        let pair = pair.unwrap_or_else(|error| panic!("{error}"));
        let told = pair.notes.iter().any(|note| note.contains("Seed: a run has one seed, --seed"));
        (pair.scenarios.iter().map(|scenario| scenario.seed).collect::<Vec<_>>(), told)
    };
    assert_eq!(of(FLOWS), (vec![Some(798)], false));
    assert_eq!(of(&two_flows(50, 50)), (vec![Some(798)], false));
    // Two flows with a seed each, and a trace, which takes the seed of the device.
    assert_eq!(of(TWO_FLOWS), (vec![None, Some(321)], true));
}
