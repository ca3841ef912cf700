//! Converts MQSim workload definitions to fio job files.

use std::path::PathBuf;

use wordline_kernel::{Bytes, Complaints};

use super::Imported;
use super::parameters::Parameters;
use super::text::shown;
use super::xml::{self, Element};
use crate::error::{Error, Result};

/// Bytes of a sector, MQSim's unit of sizes and addresses.
const SECTOR: u64 = 512;

/// A trace file that a flow names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTrace {
    /// The path under which it is, or should be.
    pub path: PathBuf,
    /// Number of its requests, or why it cannot be read.
    pub requests: std::result::Result<u64, String>,
}

/// Finds the trace that a flow names.
pub type FindTrace<'a> = &'a dyn Fn(&str) -> FoundTrace;

/// The fio job file with the flows of one scenario; scenarios count from 1. `name` is the name of the MQSim
/// file. Comments list the parameters that are not mapped, with reasons.
///
/// Without the configuration of the device, the ranges of the flows are equal parts of it, as in MQSim for
/// flows that use all planes.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn job_file(name: &str, text: &str, scenario: usize, find: FindTrace<'_>) -> Result<Imported> {
    let Flows { flows, mut notes } = Flows::of(name, text, scenario, find)?;
    let all = &flows[0].planes;
    if flows.iter().any(|flow| flow.planes != *all) {
        notes.push(format!(
            "{name}: the flows use different planes: with ssdconfig.xml as well, `wordline import` gives each its own"
        ));
    }
    let count = flows.len() as u64;
    let region = |number: u64, percent: u64| match count {
        1 => format!("size={percent}%"),
        _ => format!("offset={}%\nsize={}%", 100 * number / count, (percent / count).max(1)),
    };
    let regions: Vec<String> =
        (0..).zip(&flows).map(|(number, flow)| region(number, flow.working_set)).collect();
    Ok(Imported { text: job_text(name, scenario, &flows, &regions), notes })
}

/// The text of a job file with these flows. Each has its own lines about its region.
pub(super) fn job_text(name: &str, scenario: usize, flows: &[Flow], regions: &[String]) -> String {
    let mut lines = vec![
        format!("; Imported from {name}, scenario {scenario}, a workload of MQSim (CMU-SAFARI/MQSim)."),
        "[global]".into(),
        "filename=/dev/mqsim".into(),
        "direct=1".into(),
        "ioengine=libaio".into(),
    ];
    for ((number, flow), region) in (1..).zip(flows).zip(regions) {
        lines.extend([String::new(), format!("[flow-{number}]")]);
        lines.extend(flow.lines.iter().cloned());
        lines.push(region.clone());
        lines.extend(flow.comments.iter().map(|comment| format!("; {comment}")));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Demands of the flows of a scenario on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Demands {
    /// Number of flows.
    pub count: usize,
    /// Priority of each flow.
    priorities: Vec<&'static str>,
    /// Whether any flow has a write cache.
    pub caches_writes: bool,
}

impl Demands {
    pub fn of(flows: &[Flow]) -> Self {
        let caches = |flow: &Flow| matches!(flow.caching, "WRITE_CACHE" | "WRITE_READ_CACHE");
        Self {
            count: flows.len(),
            priorities: flows.iter().map(|flow| flow.priority).collect(),
            caches_writes: flows.iter().any(caches),
        }
    }

    /// The first letters of the priorities, unless all are equal.
    pub fn priorities(&self) -> Option<String> {
        let are_equal = self.priorities.iter().all(|other| *other == self.priorities[0]);
        (!are_equal).then(|| self.priorities.iter().map(|priority| &priority[..1]).collect())
    }
}

/// A flow of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// Lines of the parameters of its planes and of its working set.
    pub lines_of_planes: [u32; 4],
    pub line_of_working_set: u32,
    priority: &'static str,
    caching: &'static str,
    /// Numbers of the channels, of the chips of a channel, of the dies of a chip, and of the planes of a die.
    pub planes: [Vec<u32>; 4],
    /// Part of its range that is written before the run, in per cent.
    pub occupancy: u64,
    /// Part of its range that it accesses, in per cent.
    pub working_set: u64,
    /// The largest request, in bytes.
    pub largest: u64,
    /// Reads in per cent of its requests; 50 for a trace, whose reads are not counted.
    pub reads: u64,
    /// Whether its addresses are sequential, or a part of them is hotter.
    pub is_streaming: bool,
    pub is_skewed: bool,
    pub seed: Option<u64>,
    /// The lines of its job but for the region.
    lines: Vec<String>,
    comments: Vec<String>,
}

/// The flows of a scenario, and notes about them.
pub(super) struct Flows {
    pub flows: Vec<Flow>,
    pub notes: Vec<String>,
}

impl Flows {
    /// The number of scenarios in a workload file.
    ///
    /// # Errors
    /// A text that is no workload of MQSim.
    pub fn scenarios(name: &str, text: &str) -> Result<usize> {
        let root = xml::parse(name, text, "MQSim_IO_Scenarios")?.root;
        Ok(root.children.iter().filter(|child| child.name == "IO_Scenario").count())
    }

    /// The flows of a scenario, counted from 1.
    ///
    /// # Errors
    /// Every fault of the flows, or a scenario that does not exist or has no flow.
    pub fn of(name: &str, text: &str, scenario: usize, find: FindTrace<'_>) -> Result<Self> {
        let document = xml::parse(name, text, "MQSim_IO_Scenarios")?;
        let scenarios: Vec<&Element> =
            document.root.children.iter().filter(|child| child.name == "IO_Scenario").collect();
        let Some(chosen) = scenario.checked_sub(1).and_then(|index| scenarios.get(index)) else {
            let (found, wanted) = match scenarios.len() {
                0 => ("no <IO_Scenario>".into(), "one in <MQSim_IO_Scenarios>, with the flows"),
                1 => (format!("one scenario, not number {scenario}"), "--scenario 1"),
                count => (
                    format!("{count} scenarios, not number {scenario}"),
                    "one of them, counted from 1 (--scenario)",
                ),
            };
            return Err(Error::Content { path: name.into(), found, wanted: wanted.into() });
        };
        let (mut all, mut wrong) = (Self { flows: Vec::new(), notes: document.notes }, Complaints::default());
        for element in &chosen.children {
            let read = match element.name.as_str() {
                "IO_Flow_Parameter_Set_Synthetic" => synthetic,
                "IO_Flow_Parameter_Set_Trace_Based" => trace_based,
                other => {
                    let wanted = "<IO_Flow_Parameter_Set_Synthetic> or <IO_Flow_Parameter_Set_Trace_Based>, the flows of MQSim";
                    wrong.add(format!("{name}:{}", element.line), format!("<{}>", shown(other)), wanted);
                    continue;
                }
            };
            let mut given = Parameters::of(name, element, &[]).in_line(element.line);
            let mut flow = common(&mut given);
            read(&mut given, &mut flow, find);
            not_mapped(&mut given, &mut flow);
            let (unknown, complaints, notes) = given.end();
            let comment = |(name, value)| format!("{name} = {value}: not a parameter of MQSim");
            flow.comments.extend(unknown.into_iter().map(comment));
            wrong.0.extend(complaints.0);
            all.notes.extend(notes);
            all.flows.push(flow);
        }
        let is_empty = all.flows.is_empty() && wrong.0.is_empty();
        let place = format!("{name}:{}", chosen.line);
        wrong.require(
            !is_empty,
            &place,
            "a scenario without flows",
            "<IO_Flow_Parameter_Set_Synthetic> in it",
        );
        wrong.into_result(all).map_err(Error::Config)
    }
}

/// Most channels, chips, dies and planes. Chosen: more than any device has.
const MOST_PARTS: u64 = 1 << 16;

/// The parameters that flows of both kinds have.
fn common(given: &mut Parameters) -> Flow {
    let keys = ["Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"];
    let planes = keys.map(|key| given.numbers(key, MOST_PARTS));
    Flow {
        lines_of_planes: keys.map(|key| given.line_of(key)),
        line_of_working_set: given.line_of("Working_Set_Percentage"),
        priority: given.word("Priority_Class", &["HIGH", "URGENT", "MEDIUM", "LOW"]),
        caching: given.word(
            "Device_Level_Data_Caching_Mode",
            &["WRITE_CACHE", "TURNED_OFF", "READ_CACHE", "WRITE_READ_CACHE"],
        ),
        planes,
        occupancy: given.whole("Initial_Occupancy_Percentage", 0..=100),
        working_set: 100,
        largest: SECTOR,
        reads: 50,
        is_streaming: false,
        is_skewed: false,
        seed: None,
        lines: Vec::new(),
        comments: Vec::new(),
    }
}

fn synthetic(given: &mut Parameters, flow: &mut Flow, _: FindTrace<'_>) {
    let reads = given.whole("Read_Percentage", 0..=100);
    let distribution = given.word(
        "Address_Distribution",
        &["RANDOM_UNIFORM", "UNIFORM_RANDOM", "RANDOM_HOTCOLD", "HOTCOLD_RANDOM", "STREAMING"],
    );
    let hot = given.whole("Percentage_of_Hot_Region", 0..=100);
    let is_random = distribution != "STREAMING";
    (flow.reads, flow.is_streaming) = (reads, !is_random);
    let kind = match (reads, is_random) {
        (100, true) => "randread",
        (0, true) => "randwrite",
        (_, true) => "randrw",
        (100, false) => "read",
        (0, false) => "write",
        (_, false) => "rw",
    };
    let lines = &mut flow.lines;
    lines.push(format!("rw={kind}"));
    let is_mixed = !matches!(reads, 0 | 100);
    if is_mixed {
        lines.push(format!("rwmixread={reads}"));
    }
    if is_random {
        lines.extend(["norandommap=1".into(), "randrepeat=0".into()]);
    }
    if distribution.contains("HOTCOLD") && (1..100).contains(&hot) {
        // MQSim's hot region is `hot` per cent of the addresses. It gets all but `hot` per cent of the
        // requests.
        flow.is_skewed = true;
        lines.push(format!("random_distribution=zoned:{}/{hot}:{hot}/{}", 100 - hot, 100 - hot));
    }
    if is_mixed && !is_random {
        // fio has a position in the file for reads and one for writes.
        let text = "STREAMING: in MQSim, reads and writes follow one sequence of addresses; here reads have a sequence and writes another. A workload file with `pattern = { kind = \"sequential\" }` has one";
        given.note("Address_Distribution", text);
        flow.comments.push(format!("Address_Distribution = {text}"));
    }
    let size = sizes(given, flow);
    alignment(given, flow, is_random);
    pace(given, flow, (size, reads));
    flow.working_set = given.whole("Working_Set_Percentage", 0..=u64::MAX);
    flow.line_of_working_set = given.line_of("Working_Set_Percentage");
    if !(1..=100).contains(&flow.working_set) {
        given.note("Working_Set_Percentage", format!("{} counts as 100, as in MQSim", flow.working_set));
        flow.working_set = 100;
    }
}

/// Standard deviations of the middles of the upper ten of twenty equally probable parts of a normal
/// distribution.
const MIDDLES: [f64; 10] = [0.0627, 0.1891, 0.3186, 0.4538, 0.5978, 0.7554, 0.9346, 1.1503, 1.4395, 1.9600];

/// Writes the keys for request sizes. Returns the mean size in bytes.
fn sizes(given: &mut Parameters, flow: &mut Flow) -> u64 {
    let distribution = given.word("Request_Size_Distribution", &["FIXED", "NORMAL"]);
    let size = given.whole("Average_Request_Size", 1..=2_097_152);
    let deviation = given.skip("Variance_Request_Size");
    if distribution == "FIXED" {
        flow.lines.push(format!("bs={}", size * SECTOR));
        flow.largest = size * SECTOR;
        return size * SECTOR;
    }
    // MQSim uses the parameter as the standard deviation, and rounds up to whole sectors.
    let deviation =
        deviation.and_then(|text| text.parse::<f64>().ok()).filter(|n| n.is_finite() && *n >= 0.0);
    if deviation.is_none() {
        given.complain(
            "Variance_Request_Size",
            "no number",
            "a standard deviation in sectors, for sizes that are NORMAL",
        );
    }
    let parts = MIDDLES.iter().map(|z| -z).rev().chain(MIDDLES);
    let draw = |z: f64| ((size as f64 + z * deviation.unwrap_or(0.0)).ceil().max(1.0) as u64).min(2_097_152);
    let mut shares: Vec<(u64, u64)> = Vec::new();
    for sectors in parts.map(draw) {
        match shares.last_mut().filter(|(last, _)| *last == sectors) {
            Some((_, percent)) => *percent += 5,
            None => shares.push((sectors, 5)),
        }
    }
    let shown: Vec<String> =
        shares.iter().map(|(sectors, percent)| format!("{}/{percent}", sectors * SECTOR)).collect();
    flow.lines.push(format!("bssplit={}", shown.join(":")));
    flow.comments.push(format!(
        "Request_Size_Distribution = NORMAL with a mean of {size} sectors and Variance_Request_Size: twenty equally probable sizes"
    ));
    flow.largest = shares.iter().map(|(sectors, _)| sectors * SECTOR).max().unwrap_or(SECTOR);
    size * SECTOR
}

/// Writes the key for the alignment of random addresses.
fn alignment(given: &mut Parameters, flow: &mut Flow, is_random: bool) {
    let is_aligned = given.flag("Generated_Aligned_Addresses");
    let unit = given.whole("Address_Alignment_Unit", 1..=2_097_152);
    let align = if is_aligned { unit * SECTOR } else { SECTOR };
    if is_random {
        flow.lines.push(format!("blockalign={align}"));
        flow.largest = flow.largest.max(align);
    } else if is_aligned && !flow.largest.is_multiple_of(align) {
        given.note(
            "Address_Alignment_Unit",
            "sequential requests follow one another without the gaps that MQSim leaves to align them",
        );
    }
}

/// Writes the keys for the number of requests and their pace. `size` and `reads` are the mean size and the
/// percentage of reads.
fn pace(given: &mut Parameters, flow: &mut Flow, (size, reads): (u64, u64)) {
    let generator = given.word("Synthetic_Generator_Type", &["QUEUE_DEPTH", "ARRIVAL_RATE", "BANDWIDTH"]);
    let lines = &mut flow.lines;
    let bandwidth = given.skip("Bandwidth");
    if generator == "QUEUE_DEPTH" {
        let depth = given.at_most("Average_No_of_Reqs_in_Queue", 0, 65_535);
        lines.push(format!("iodepth={}", depth.max(1)));
    } else {
        given.skip("Average_No_of_Reqs_in_Queue");
        let rate = bandwidth.and_then(|rate| rate.parse::<u64>().ok()).filter(|rate| *rate > 0);
        if rate.is_none() {
            given.complain("Bandwidth", "none above 0", "bytes a second, for requests that come by a rate");
        }
        let rate = rate.unwrap_or(1);
        let shown = match reads {
            0 | 100 => rate.to_string(),
            // The rates of reads and writes are separate in fio.
            _ => format!("{},{}", (rate * reads / 100).max(1), (rate * (100 - reads) / 100).max(1)),
        };
        lines.extend([
            format!("rate={shown}"),
            "rate_process=poisson".into(),
            "io_submit_mode=offload".into(),
            "iodepth=65535".into(),
        ]);
    }
    let stop = given.whole("Stop_Time", 0..=u64::MAX);
    if stop > 0 {
        given.skip("Total_Requests_To_Generate");
        lines.extend([format!("runtime={stop}ns"), "time_based=1".into()]);
        return;
    }
    let requests = given.whole("Total_Requests_To_Generate", 0..=u64::from(u32::MAX));
    if requests == 0 {
        given.complain("Total_Requests_To_Generate", "0, with a Stop_Time of 0", "one of them above 0");
    }
    lines.push(format!("number_ios={requests}"));
    lines.push(format!("io_size={}", requests * size.max(flow.largest)));
}

fn trace_based(given: &mut Parameters, flow: &mut Flow, find: FindTrace<'_>) {
    let path = given.text("File_Path");
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let percent = number(given.skip("Percentage_To_Be_Executed"));
    if percent.is_none() {
        given.note("Percentage_To_Be_Executed", "no number: 100 is used");
    }
    // MQSim executes the whole trace if it repeats it.
    let loops = number(given.skip("Relay_Count")).unwrap_or(1).clamp(1, 1_000_000);
    let percent = if loops > 1 { 100 } else { percent.unwrap_or(100).min(100) };
    let unit = given.skip("Time_Unit").unwrap_or_default();
    if !unit.eq_ignore_ascii_case("NANOSECOND") {
        given.note("Time_Unit", format!("`{unit}`: MQSim takes the times of every trace as nanoseconds"));
    }
    let FoundTrace { path, requests } = find(&path);
    let shown = path.display();
    if let Err(reason) = &requests {
        given.note("File_Path", format!("{shown}: {reason}; the job needs it to run"));
    }
    flow.lines.extend([format!("read_iolog={shown}"), "iodepth=65535".into()]);
    match requests {
        Ok(requests) if percent < 100 => {
            let requests = u128::from(requests) * u128::from(percent) / 100;
            flow.lines.push(format!("number_ios={}", requests.max(1)));
        }
        Err(_) if percent < 100 => {
            given.note(
                "Percentage_To_Be_Executed",
                format!("{percent}: without the trace the whole of it is run"),
            );
        }
        _ => {}
    }
    if loops > 1 {
        flow.lines.push(format!("loops={loops}"));
    }
    flow.largest = Bytes::mib(1).0;
}

/// Parameters that are not mapped to keys, each with the reason.
const NOT_MAPPED: [(&str, &str); 3] = [
    ("Bandwidth", "of flows that come by a rate"),
    ("Intensity", "MQSim reads Bandwidth"),
    ("Type", "MQSim does not read it"),
];

fn not_mapped(given: &mut Parameters, flow: &mut Flow) {
    for (key, why) in NOT_MAPPED {
        if let Some(value) = given.skip(key) {
            flow.comments.push(format!("not mapped: {key} = {value}: {why}"));
        }
    }
    if let Some(seed) = given.skip("Seed") {
        flow.comments.push(format!("Seed = {seed}: an option of a run, --seed"));
        flow.seed = seed.parse().ok();
    }
    let occupancy = flow.occupancy;
    flow.comments
        .push(format!("Initial_Occupancy_Percentage = {occupancy}: an option of a run, --precondition"));
    let caching = match flow.caching {
        "WRITE_CACHE" => return,
        "TURNED_OFF" => "the buffer is write-through if no flow has a write cache",
        _ => "all flows share the read cache of the device (buffer.read_cache)",
    };
    flow.comments.push(format!("Device_Level_Data_Caching_Mode = {}: {caching}", flow.caching));
}
