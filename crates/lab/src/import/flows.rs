//! Converts MQSim workload definitions to fio job files.

use roxmltree::Node;
use wordline_kernel::Complaints;

use super::parameters::{Parameters, document};
use crate::error::{Error, Result};

/// The fio job file with the flows of one scenario; scenarios count from 1. `name` is the name of the MQSim
/// file. Comments list the parameters that are not mapped, with reasons.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn job_file(name: &str, text: &str, scenario: usize) -> Result<String> {
    let document = document(name, text, "MQSim_IO_Scenarios")?;
    let named = |node: &Node<'_, '_>, name: &str| node.is_element() && node.tag_name().name() == name;
    let scenarios: Vec<Node<'_, '_>> =
        document.root_element().children().filter(|node| named(node, "IO_Scenario")).collect();
    let Some(chosen) = scenario.checked_sub(1).and_then(|index| scenarios.get(index)) else {
        return Err(Error::Content {
            path: name.into(),
            found: format!("{} scenarios, and scenario {scenario} asked for", scenarios.len()),
            wanted: "one of them, counted from 1 (--scenario)".into(),
        });
    };
    let (mut lines, mut wrong) = (
        vec![
            format!("; Imported from {name}, scenario {scenario}, a workload of MQSim (CMU-SAFARI/MQSim)."),
            "[global]".into(),
            "filename=/dev/mqsim".into(),
            "direct=1".into(),
            "ioengine=libaio".into(),
        ],
        Complaints::default(),
    );
    let flows = chosen.children().filter(Node::is_element);
    for (number, flow) in flows.enumerate() {
        if !named(&flow, "IO_Flow_Parameter_Set_Synthetic") {
            let line = document.text_pos_at(flow.range().start).row;
            let wanted = "<IO_Flow_Parameter_Set_Synthetic>: a trace is run with --trace FILE --format mqsim";
            wrong.add(format!("{name}:{line}"), format!("<{}>", flow.tag_name().name()), wanted);
            continue;
        }
        let mut given = Parameters::of(name, &document, flow);
        lines.extend([String::new(), format!("[flow-{}]", number + 1)]);
        synthetic(&mut given, &mut lines);
        wrong.0.extend(given.end().0);
    }
    let is_empty = lines.len() == 5 && wrong.0.is_empty();
    wrong.require(!is_empty, name, "a scenario without flows", "<IO_Flow_Parameter_Set_Synthetic> in it");
    lines.push(String::new());
    wrong.into_result(lines.join("\n")).map_err(Error::Config)
}

/// Bytes of a sector, MQSim's unit of sizes and addresses.
const SECTOR: u64 = 512;

fn synthetic(given: &mut Parameters, lines: &mut Vec<String>) {
    let reads = given.whole("Read_Percentage", 0..=100);
    let distribution = given.word(
        "Address_Distribution",
        &["RANDOM_UNIFORM", "UNIFORM_RANDOM", "RANDOM_HOTCOLD", "HOTCOLD_RANDOM", "STREAMING"],
    );
    let hot = given.whole("Percentage_of_Hot_Region", 0..=100);
    let is_random = distribution != "STREAMING";
    let kind = match (reads, is_random) {
        (100, true) => "randread",
        (0, true) => "randwrite",
        (_, true) => "randrw",
        (100, false) => "read",
        (0, false) => "write",
        (_, false) => "rw",
    };
    lines.push(format!("rw={kind}"));
    if !["0", "100"].contains(&reads.to_string().as_str()) {
        lines.push(format!("rwmixread={reads}"));
    }
    if is_random {
        lines.extend(["norandommap=1".into(), "randrepeat=0".into()]);
    }
    if distribution.contains("HOTCOLD") && (1..100).contains(&hot) {
        // MQSim's hot region is `hot` per cent of the addresses. It gets all but `hot` per cent of the
        // requests.
        lines.push(format!("random_distribution=zoned:{}/{hot}:{hot}/{}", 100 - hot, 100 - hot));
    }
    given.word("Request_Size_Distribution", &["FIXED"]);
    let size = given.whole("Average_Request_Size", 1..=2_097_152) * SECTOR;
    lines.push(format!("bs={size}"));
    pace(given, lines, size);
    not_mapped(given, lines);
}

/// Writes the keys for the number of requests and their pace.
fn pace(given: &mut Parameters, lines: &mut Vec<String>, size: u64) {
    let generator = given.word("Synthetic_Generator_Type", &["QUEUE_DEPTH", "ARRIVAL_RATE", "BANDWIDTH"]);
    let depth = given.whole("Average_No_of_Reqs_in_Queue", 0..=65_535);
    let bandwidth = given.skip("Bandwidth");
    if generator == "QUEUE_DEPTH" {
        lines.push(format!("iodepth={}", depth.max(1)));
    } else {
        let rate = bandwidth.and_then(|rate| rate.parse::<u64>().ok()).filter(|rate| *rate > 0);
        if rate.is_none() {
            given.wrong.add("Bandwidth", "none above 0", "bytes a second, for requests that come by a rate");
        }
        lines.extend([
            format!("rate={}", rate.unwrap_or(1)),
            "rate_process=poisson".into(),
            "io_submit_mode=offload".into(),
            "iodepth=65535".into(),
        ]);
    }
    let part = given.whole("Working_Set_Percentage", 1..=100);
    lines.push(format!("size={part}%"));
    let requests = given.whole("Total_Requests_To_Generate", 0..=u64::from(u32::MAX));
    let stop = given.whole("Stop_Time", 0..=u64::MAX);
    if requests > 0 {
        lines.push(format!("number_ios={requests}"));
        lines.push(format!("io_size={}", requests * size));
    }
    if stop > 0 {
        lines.push(format!("runtime={stop}ns"));
        if requests == 0 {
            lines.push("time_based=1".into());
        }
    }
    if requests == 0 && stop == 0 {
        given.wrong.add("Total_Requests_To_Generate", "0, with a Stop_Time of 0", "one of them above 0");
    }
}

/// Parameters that are not mapped to keys, each with the reason.
const NOT_MAPPED: [(&str, &str); 13] = [
    (
        "Initial_Occupancy_Percentage",
        "the state of the device is that of the run: --precondition with this fraction",
    ),
    ("Priority_Class", "queues have the same priority, unless front.nvme.arbitration gives them others"),
    ("Device_Level_Data_Caching_Mode", "the buffer is that of the device, for all flows (buffer.mode)"),
    ("Channel_IDs", "flows have no channels of their own here"),
    ("Chip_IDs", "flows have no packages of their own here"),
    ("Die_IDs", "flows have no dies of their own here"),
    ("Plane_IDs", "flows have no planes of their own here"),
    ("Generated_Aligned_Addresses", "addresses are multiples of the request size"),
    ("Address_Alignment_Unit", "addresses are multiples of the request size"),
    ("Variance_Request_Size", "sizes are fixed"),
    ("Seed", "the seed is that of the run, --seed"),
    ("Intensity", "MQSim reads Bandwidth"),
    ("Type", "MQSim does not read it"),
];

fn not_mapped(given: &mut Parameters, lines: &mut Vec<String>) {
    for (key, why) in NOT_MAPPED {
        if let Some(value) = given.skip(key) {
            lines.push(format!("; not mapped: {key} = {value}: {why}"));
        }
    }
}
