//! State that the lanes of a run share: the zones of the device, and their shares of the requests.

use std::collections::BTreeMap;

use super::zones::Zones;

/// State that all lanes share.
#[derive(Clone, Debug)]
pub struct Shared {
    pub zones: Option<Zones>,
    flows: BTreeMap<u64, FlowGroup>,
}

impl Shared {
    /// Creates the state of a run with these zones, if it has any.
    pub fn new(zones: Option<Zones>) -> Self {
        Self { zones, flows: BTreeMap::new() }
    }
}

/// Lanes with one `flow_id`.
#[derive(Clone, Copy, Debug)]
struct FlowGroup {
    /// Requests of all lanes, plus one.
    requests: u64,
    weight: u64,
}

/// Share of a lane in the requests of its group.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    group: u64,
    weight: u64,
    requests: u64,
}

impl Flow {
    /// Creates the share of a lane. `None` without a weight.
    pub fn new(group: u64, weight: u64) -> Option<Self> {
        (weight > 0).then_some(Self { group, weight, requests: 0 })
    }

    /// Joins the group.
    pub fn join(&mut self, shared: &mut Shared) {
        let group = shared.flows.entry(self.group).or_insert(FlowGroup { requests: 1, weight: 0 });
        group.weight += self.weight;
    }

    /// Leaves the group.
    pub fn leave(&mut self, shared: &mut Shared) {
        let group = shared.flows.get_mut(&self.group).expect("it joined");
        group.weight -= self.weight;
        group.requests -= self.requests;
    }

    /// Whether the lane has had more than its share.
    pub fn is_ahead(&self, shared: &Shared) -> bool {
        let group = &shared.flows[&self.group];
        u128::from(self.requests) * u128::from(group.weight)
            > u128::from(self.weight) * u128::from(group.requests)
    }

    /// Counts a request.
    pub fn count(&mut self, shared: &mut Shared) {
        self.requests += 1;
        shared.flows.get_mut(&self.group).expect("it joined").requests += 1;
    }
}
