//! Address ranges of flows. MQSim divides each plane among the flows that use it
//! (`Logical_Address_Partitioning_Unit`): the range of a flow is as large as its part of all its planes, and
//! ranges follow one another in the order of the flows.

use wordline_kernel::{Bytes, Complaints};

use super::device::Dimensions;
use super::flows::Flow;

/// The part of a device that a flow addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub begin: u64,
    pub size: u64,
}

impl Range {
    /// This many per cent of the range, in whole sectors.
    pub fn part(&self, percent: u64) -> u64 {
        let part = (u128::from(self.size) * u128::from(percent) / 100) as u64;
        part - part % 512
    }
}

/// The planes of a flow: for each of them its number, by channel, chip, die and plane.
fn planes(flow: &Flow, dimensions: &Dimensions) -> Vec<u64> {
    let [_, chips, dies, planes] = dimensions.counts;
    let [of_channels, of_chips, of_dies, of_planes] = flow.planes.each_ref();
    let mut all = Vec::new();
    for channel in of_channels {
        for chip in of_chips {
            for die in of_dies {
                for plane in of_planes {
                    let [channel, chip, die, plane] = [channel, chip, die, plane].map(|n| u64::from(*n));
                    all.push(((channel * chips + chip) * dies + die) * planes + plane);
                }
            }
        }
    }
    all
}

/// Complains about planes of flows that the device does not have.
pub(super) fn check(name: &str, flows: &[Flow], dimensions: &Dimensions, wrong: &mut Complaints) {
    for (number, flow) in (1..).zip(flows) {
        let kinds = ["Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"];
        let all = kinds.iter().zip(flow.lines_of_planes).zip(&flow.planes).zip(dimensions.counts);
        for (((key, line), ids), count) in all {
            let largest = ids.last().copied().unwrap_or(0);
            wrong.require(
                u64::from(largest) < count,
                &format!("{name}:{line}: flow {number}, {key}"),
                largest,
                format!("numbers below {count}, as the device has"),
            );
        }
    }
}

/// The range of each flow in a device of `capacity` bytes. Ranges begin at whole pages.
pub(super) fn ranges(flows: &[Flow], dimensions: &Dimensions, capacity: Bytes) -> Vec<Range> {
    let all = dimensions.planes();
    let used: Vec<Vec<u64>> = match dimensions.is_sata {
        true => flows.iter().map(|_| (0..all).collect()).collect(),
        false => flows.iter().map(|flow| planes(flow, dimensions)).collect(),
    };
    let mut sharing = vec![0_u64; all as usize];
    used.iter().flatten().for_each(|plane| sharing[*plane as usize] += 1);
    let mut ranges: Vec<Range> = Vec::new();
    for planes in used {
        let begin = ranges.last().map_or(0, |last| last.begin + last.size);
        let share: f64 = planes.iter().map(|plane| 1.0 / sharing[*plane as usize] as f64).sum();
        let size = (capacity.0 as f64 * share / all as f64) as u64;
        ranges.push(Range { begin, size: size - size % dimensions.page });
    }
    ranges
}

/// The setting of the placement that gives each flow its planes. `None` if all flows use all planes, where
/// the placement over the whole device does it.
pub(super) fn placement(
    flows: &[Flow],
    ranges: &[Range],
    dimensions: &Dimensions,
    order: &str,
) -> Option<String> {
    let all = dimensions.counts.map(|count| count as usize);
    let uses_all = |flow: &Flow| flow.planes.each_ref().map(Vec::len) == all;
    if dimensions.is_sata || flows.iter().all(uses_all) {
        return None;
    }
    let one = |(flow, range): (&Flow, &Range)| {
        let names = ["channels", "packages", "dies", "planes"];
        let lists = names.iter().zip(&flow.planes).map(|(name, ids)| format!("{name} = {ids:?}"));
        format!("{{ size = \"{}\", {} }}", Bytes(range.size), lists.collect::<Vec<_>>().join(", "))
    };
    let parts: Vec<String> = flows.iter().zip(ranges).map(one).collect();
    Some(format!("{{ policy = \"partitioned\", order = {order}, ranges = [{}] }}", parts.join(", ")))
}
