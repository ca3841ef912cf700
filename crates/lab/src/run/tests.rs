use super::*;
use crate::config::{self, Selection};
use crate::plan::{Origin, Plan};
use never::Never;

/// Apart from the crate's own `Result`.
mod never {
    use wordline_kernel::{Stream, state};
    use wordline_nand::BlockSetId;
    use wordline_ssd::policy::victim::VictimPolicy;
    use wordline_ssd::space::candidates::Candidates;

    /// Finds nothing to clean, though there is enough.
    pub struct Never;
    state!(Never {});

    impl VictimPolicy for Never {
        fn choose(&mut self, _: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
            None
        }
    }
}

#[test]
fn a_run_that_does_not_get_on_says_what_waits_for_what_and_how_to_repeat_it() {
    let selection = Selection { preset: Some("tiny".into()), file: None, set: Vec::new() };
    let device = config::Device::load(&selection).expect("a preset");
    let origin = Origin::Named("randwrite-4k-steady".into());
    let plan = Plan {
        origin,
        requests: Some(100_000),
        precondition: Some(Precondition::Filled(1.0)),
        ..Plan::default()
    };
    let mut job = plan.job(&device).expect("a job");
    job.change_parts(|base, _| wordline_ssd::Parts { victim: Box::new(Never), ..base });
    let error = run(job, &mut Unobserved).expect_err("no block is ever free again");
    assert!(matches!(error, Error::Stuck(_)), "{error}");
    let text = error.to_string();
    for part in [
        "the simulation does not get on: commands wait and nothing will happen",
        "writes stalled",
        "waits for room in the buffer",
        "row 0: ",
        "To reproduce it:",
        "trace position: request ",
        "configuration:",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Cleans blocks that are none.
struct Beyond;

mod beyond {
    use super::Beyond;
    use wordline_kernel::{Stream, state};
    use wordline_nand::BlockSetId;
    use wordline_ssd::policy::victim::{Candidates, VictimPolicy};

    state!(Beyond {});

    impl VictimPolicy for Beyond {
        fn choose(&mut self, _: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
            Some(BlockSetId(u32::MAX))
        }
    }
}

#[test]
fn a_wrong_answer_ends_the_run_and_is_not_called_a_fault_of_wordline() {
    let selection = Selection { preset: Some("tiny".into()), file: None, set: Vec::new() };
    let device = config::Device::load(&selection).expect("a preset");
    let plan = Plan {
        origin: Origin::Named("randwrite-4k-steady".into()),
        requests: Some(100_000),
        precondition: Some(Precondition::Filled(1.0)),
        ..Plan::default()
    };
    let mut job = plan.job(&device).expect("a job");
    job.change_parts(|base, _| wordline_ssd::Parts { victim: Box::new(Beyond), ..base });
    let error = run(job, &mut Unobserved).expect_err("no such block can be cleaned");
    assert!(matches!(error, Error::WrongAnswer(_)), "{error}");
    let text = error.to_string();
    for part in [
        "the policy of the device answered `victim` wrongly: found BlockSetId(4294967295), which is none, wanted a candidate of row",
        "To reproduce it:",
        "trace position: request ",
        "seed: ",
        "configuration:",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("fault of Wordline"), "{text}");
}
