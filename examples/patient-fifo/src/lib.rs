//! A design in its own crate: first in, first out, but patient with blocks that are still mostly valid.

use wordline_kernel::{Stream, state};
use wordline_lab::config::{Device, Selection};
use wordline_lab::plan::{Origin, Plan};
use wordline_lab::run::{self, Unobserved};
use wordline_nand::BlockSetId;
use wordline_ssd::Parts;
use wordline_ssd::policy::victim::{Candidates, Indexes, VictimPolicy};

/// Blocks that are looked at for one choice. Chosen: enough to pass over a few, and a bound on the work.
const LOOKED_AT: usize = 16;

/// Takes the oldest block of which at most fifteen sixteenths are valid still; if there is none among the oldest, the one
/// with the fewest valid pages.
pub struct PatientFifo;

// It remembers nothing that a snapshot of the device would have to hold.
state!(PatientFifo {});

impl VictimPolicy for PatientFifo {
    fn needs(&self) -> Indexes {
        Indexes { by_closing: true, ..Indexes::default() }
    }

    fn choose(&mut self, from: Candidates<'_>, _random: &mut Stream) -> Option<BlockSetId> {
        let most = from.pages_per_block() / 16 * 15;
        let old = from.oldest_first().take(LOOKED_AT).find(|block| from.valid(*block) <= most);
        old.or_else(|| from.fewest_valid())
    }
}

/// What the design changes of a device.
pub fn parts(base: Parts) -> Parts {
    Parts { victim: Box::new(PatientFifo), ..base }
}

/// Pages programmed for each page programmed for the host, which is what cleaning costs, on a small drive under random writes, with the victim policy `policy` of
/// the configuration, or with the parts that a design changes.
///
/// # Errors
/// What is wrong with the configuration.
pub fn amplification(policy: &str, design: Option<fn(Parts) -> Parts>) -> wordline_lab::error::Result<f64> {
    let origin = Origin::Named("randwrite-4k-steady".into());
    let set = ["layout.channels=1", "part.geometry.blocks_per_plane=64", "ftl.over_provisioning=0.1"];
    let selection = Selection {
        preset: Some(origin.usual_preset().into()),
        set: set.iter().map(ToString::to_string).chain([format!("ftl.gc.victim.policy={policy}")]).collect(),
        ..Selection::default()
    };
    let plan = Plan { origin, requests: Some(250_000), ..Plan::default() };
    let mut job = plan.job(&Device::load(&selection)?)?;
    if let Some(design) = design {
        job.change_parts(move |base, _| design(base));
    }
    let summary = run::run(job, &mut Unobserved)?;
    Ok(summary.metrics.number("programs_per_host_program").expect("random writes program pages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_costs_less_copying_than_plain_order_and_more_than_greed() {
        let [greedy, fifo, patient] = [
            amplification("greedy", None),
            amplification("fifo", None),
            amplification("greedy", Some(parts)),
        ]
        .map(|result| result.expect("the configuration is sound"));
        assert!(greedy < patient && patient < fifo, "{greedy} {patient} {fifo}");
    }
}
