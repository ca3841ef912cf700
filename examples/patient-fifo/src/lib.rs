//! A design in its own crate: FIFO victim selection that spares blocks which are mostly valid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{ExtensionPoint, Needs, View};
use wordline_ftl::policy::victim::{Candidates, Indexes};
use wordline_ftl::{Config, Design};
use wordline_kernel::{Complaints, state};
use wordline_lab::devices::{DesignType, Registry};
use wordline_nand::{BlockSetId, PlaneGroupId};

/// Selects the oldest block whose valid share is at most a limit. If none of the oldest blocks is, it selects
/// the block with the fewest valid pages.
pub struct PatientFifo {
    file: File,
}

// The design has no state that a snapshot has to save.
state!(PatientFifo { fixed { file } });

/// Settings of the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Blocks that are looked at for one choice.
    pub looked_at: u32,
    /// The most valid pages of a block that is taken for its age, in sixteenths.
    pub most_valid: u32,
}

impl Default for File {
    /// Chosen: enough blocks to skip a few, and a bound on the run time.
    fn default() -> Self {
        Self { looked_at: 16, most_valid: 15 }
    }
}

impl Design for PatientFifo {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let indexes = Indexes { by_closing: true, ..Indexes::default() };
        Needs { indexes, ..Needs::of(&[ExtensionPoint::Victim]) }
    }

    fn victim(&mut self, from: Candidates<'_>, _: PlaneGroupId, _: &mut View<'_>) -> Option<BlockSetId> {
        let most = from.pages_per_block() / 16 * self.file.most_valid;
        let looked_at = self.file.looked_at as usize;
        let old = from.oldest_first().take(looked_at).find(|block| from.valid(*block) <= most);
        old.or_else(|| from.fewest_valid())
    }
}

impl DesignType for PatientFifo {
    const NAME: &'static str = "patient-fifo";
    const DESCRIPTION: &'static str = "The oldest block is collected, unless it is still mostly valid.";

    type File = File;

    fn check(file: &File, _: &Config) -> Result<(), Complaints> {
        let mut wrong = Complaints::default();
        wrong.require((1..=1_000).contains(&file.looked_at), "looked_at", file.looked_at, "from 1 to 1000");
        wrong.require(file.most_valid <= 16, "most_valid", file.most_valid, "from 0 to 16");
        wrong.into_result(())
    }

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { file: file.clone() })
    }
}

/// The devices and designs of `wordline`, with one more design.
pub fn registry() -> Registry {
    Registry::default().with_design::<PatientFifo>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_lab::{RunOptions, Unobserved, Workload, run};
    use wordline_ssd::contract;

    #[test]
    fn it_keeps_the_contract_of_designs() {
        contract::check(&contract::small(), |config| PatientFifo::build(&File::default(), config));
    }

    /// Write amplification from GC on a small drive under random writes: pages programmed for each page
    /// programmed for the host.
    fn amplification(setting: &str) -> f64 {
        let load = Workload { requests: Some(250_000), ..Workload::named("randwrite-4k-steady") };
        let set =
            ["layout.channels=1", "part.geometry.blocks_per_plane=64", "ftl.over_provisioning=0.1", setting];
        let device = registry().device("bench-512g", &set).unwrap_or_else(|error| panic!("{error}"));
        let summary = run(&device, &load, &RunOptions::default(), &mut Unobserved).expect("it runs");
        summary.metrics.number("programs_per_host_program").expect("random writes program pages")
    }

    #[test]
    fn patience_costs_less_copying_than_plain_order_and_more_than_greed() {
        let settings =
            ["ftl.gc.victim.policy=greedy", "ftl.gc.victim.policy=fifo", "designs=['patient-fifo']"];
        let [greedy, fifo, patient] = std::thread::scope(|scope| {
            let runs = settings.map(|setting| scope.spawn(move || amplification(setting)));
            runs.map(|run| run.join().expect("the run ends"))
        });
        assert!(greedy < patient && patient < fifo, "{greedy} {patient} {fifo}");
    }
}
