//! The state of the device and the seed with which MQSim begins a scenario, as options of a run.

use wordline_kernel::Bytes;

use super::device::ImportedDevice;
use super::flows::Flow;
use super::ranges::Range;

/// Options of the run, and notes on what they do not have.
pub(super) struct Start {
    /// Value of `--precondition`.
    pub precondition: String,
    /// Value of `--seed`, if there is one for all flows.
    pub seed: Option<u64>,
    pub notes: Vec<String>,
}

impl Start {
    /// The start of a scenario of the workload `name`, whose flows have these ranges.
    pub fn of((name, flows): (&str, &[Flow]), ranges: &[Range], device: &ImportedDevice) -> Self {
        let mut notes = Vec::new();
        let mut note = |text: String| notes.push(format!("{name}: {text}"));
        let precondition = match device.is_preconditioned {
            true => preconditioned(flows, ranges, device.capacity, &mut note),
            false => without(flows, &mut note),
        };
        let mut seeds: Vec<u64> = flows.iter().filter_map(|flow| flow.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let seed = match seeds[..] {
            [] => device.seed,
            [one] => Some(one),
            _ => {
                let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
                note(format!("Seed: a run has one seed, --seed, and the flows have {}", all.join(" and ")));
                None
            }
        };
        Self { precondition, seed, notes }
    }
}

/// Reads of data that was never written take a flash read in MQSim, which gives them a page
/// (`online_create_entry_for_reads`), and none here.
const UNWRITTEN: &str = "a read of data that was never written reads a page in MQSim, and no flash here";

/// The state without preconditioning. A device that is only read would do nothing if it were empty.
fn without(flows: &[Flow], note: &mut impl FnMut(String)) -> String {
    let (reads, writes) =
        (flows.iter().any(|flow| flow.reads > 0), flows.iter().any(|flow| flow.reads < 100));
    if !writes {
        note(format!("Enabled_Preconditioning = false: {UNWRITTEN}, so the device is filled"));
        return "filled".into();
    }
    if reads {
        note(format!(
            "Enabled_Preconditioning = false: {UNWRITTEN} (with --precondition filled it reads a page)"
        ));
    }
    "empty".into()
}

/// The state with preconditioning: MQSim fills the share `Initial_Occupancy_Percentage` of the range of each
/// flow, and leaves blocks as after many writes of the flow (`FTL::Perform_precondition`). Here the first part of
/// the device has data: as much as there, and at least the data of all flows that read.
fn preconditioned(
    flows: &[Flow],
    ranges: &[Range],
    capacity: Bytes,
    note: &mut impl FnMut(String),
) -> String {
    let data = |(flow, range): (&Flow, &Range)| range.part(flow.occupancy);
    let of_readers = flows.iter().zip(ranges).filter(|(flow, _)| flow.reads > 0);
    let all: u64 = flows.iter().zip(ranges).map(data).sum();
    let end = of_readers.clone().map(|(flow, range)| range.begin + data((flow, range))).max();
    let filled = all.max(end.unwrap_or(0)) as f64 / capacity.0 as f64;
    // Ranges are cut to whole pages.
    let share = ((1e4 * filled).round() / 1e4).min(1.0);
    let percent = (1e4 * share).round() / 1e2;
    if share < 1.0 && flows.len() > 1 {
        note(format!(
            "Initial_Occupancy_Percentage: MQSim fills a share of the range of each flow; here the first {percent} % of the device have data"
        ));
    }
    let reached = |flow: &Flow, range: &Range| (range.begin + range.part(flow.working_set)) as f64;
    let is_beyond =
        |(flow, range): (&Flow, &Range)| reached(flow, range) > (share + 1e-4) * capacity.0 as f64;
    if of_readers.into_iter().any(is_beyond) {
        note(format!("Initial_Occupancy_Percentage: {percent} % of the device have data: {UNWRITTEN}"));
    }
    if share == 0.0 {
        return "empty".into();
    }
    let is_full = share >= 1.0;
    if flows.iter().all(|flow| flow.is_streaming) {
        // Blocks of sequential writes have valid pages only.
        return if is_full { "filled".into() } else { share.to_string() };
    }
    if flows.iter().any(|flow| flow.is_skewed) {
        note("Address_Distribution: the state before the run is that after uniform writes".into());
    }
    if is_full { "steady-state".into() } else { format!("steady-state:{share}") }
}
