//! Imports a configuration of MQSim together with its workload: each flow gets its range of addresses and its
//! planes.

use wordline_kernel::Complaints;

use super::device::{ORIGINS, device_for};
use super::flows::{Demands, FindTrace, Flows, job_text};
use super::ranges;
use super::settle::settle;
use super::start::Start;
use crate::devices::Registry;
use crate::error::{Error, Result};

/// A scenario of a workload: the device for its flows, and their jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its number, from 1.
    pub number: usize,
    /// The device as TOML.
    pub device: String,
    /// The flows as a fio job file.
    pub jobs: String,
    /// Value of `--precondition` for the state in which MQSim begins.
    pub precondition: String,
    /// Value of `--seed`, if MQSim has one for all flows.
    pub seed: Option<u64>,
}

/// A configuration and a workload that were imported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPair {
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Notes for the user, each once.
    pub notes: Vec<String>,
}

impl ImportedPair {
    /// The device, if it is the same for all scenarios.
    pub fn common_device(&self) -> Option<&str> {
        let first = &self.scenarios.first()?.device;
        self.scenarios.iter().all(|other| other.device == *first).then_some(first)
    }
}

/// The device and the jobs of a configuration and a workload, which are given with the names of their files.
/// All scenarios, or only the one of this number, counted from 1.
///
/// # Errors
/// Every fault, with file, line and parameter, the value found and the value wanted.
pub fn pair(
    registry: &Registry,
    (device_name, device): (&str, &str),
    (flows_name, flows): (&str, &str),
    only: Option<usize>,
    find: FindTrace<'_>,
) -> Result<ImportedPair> {
    let numbers = match only {
        Some(number) => number..=number,
        None => 1..=Flows::scenarios(flows_name, flows)?.max(1),
    };
    let mut all = ImportedPair { scenarios: Vec::new(), notes: Vec::new() };
    for number in numbers {
        let flows = Flows::of(flows_name, flows, number, find)?;
        let (scenario, notes) = scenario(registry, (device_name, device), (flows_name, flows), number)?;
        for note in notes {
            if !all.notes.contains(&note) {
                all.notes.push(note);
            }
        }
        all.scenarios.push(scenario);
    }
    Ok(all)
}

fn scenario(
    registry: &Registry,
    (device_name, device): (&str, &str),
    (flows_name, Flows { flows, mut notes }): (&str, Flows),
    number: usize,
) -> Result<(Scenario, Vec<String>)> {
    let imported = device_for(registry, device_name, device, Some(&Demands::of(&flows)))?;
    let dimensions = imported.dimensions;
    let mut wrong = Complaints::default();
    ranges::check(flows_name, &flows, &dimensions, &mut wrong);
    wrong.into_result(()).map_err(Error::Config)?;
    let ranges = ranges::ranges(&flows, &dimensions, imported.capacity);
    let start = Start::of((flows_name, &flows), &ranges, &imported);
    let (mut out, mut notes_of_device) = (imported.out, imported.notes);
    if let Some(setting) = ranges::placement(&flows, &ranges, &dimensions, &out.order()) {
        out.replace("placement", setting, "Plane_Allocation_Scheme, over the planes of each flow");
        out = settle(registry, device_name, out, &ORIGINS, &mut notes_of_device)?.0;
    }
    let mut wrong = Complaints::default();
    let regions = flows.iter().zip(&ranges).zip(1..).map(|((flow, range), number)| {
        let size = range.part(flow.working_set);
        wrong.require(
            size >= flow.largest,
            &format!("{flows_name}:{}: flow {number}, Working_Set_Percentage", flow.line_of_working_set),
            format!("{} % of a range of {} bytes", flow.working_set, range.size),
            format!("at least a request, {} bytes", flow.largest),
        );
        format!("offset={}\nsize={size}", range.begin)
    });
    let regions: Vec<String> = regions.collect();
    wrong.into_result(()).map_err(Error::Config)?;
    notes_of_device.append(&mut notes);
    notes_of_device.extend(start.notes);
    let scenario = Scenario {
        number,
        device: out.text(),
        jobs: job_text(flows_name, number, &flows, &regions),
        precondition: start.precondition,
        seed: start.seed,
    };
    Ok((scenario, notes_of_device))
}
