use wordline_ftl::Policies;
use wordline_kernel::Bytes;
use wordline_trace::{Op, Request};

use super::*;
use crate::{Error, Selection, Unobserved};
use never::Never;

/// A separate module, because the macro must not see the crate's own `Result`.
mod never {
    use wordline_ftl::blocks::candidates::Candidates;
    use wordline_ftl::policy::victim::VictimPolicy;
    use wordline_kernel::{Stream, state};
    use wordline_nand::BlockSetId;

    /// A victim policy that never selects a victim.
    pub struct Never;
    state!(Never {});

    impl VictimPolicy for Never {
        fn choose(&mut self, _: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
            None
        }
    }
}

/// The error of a run of writes on the smallest device, filled, after `change` replaced some of its policies.
fn error_with(change: fn(Policies) -> Policies) -> Error {
    let device =
        Device::preset("tiny").expect("a preset").with_policies(move |ftl, buffer, _| (change(ftl), buffer));
    let load = Workload { requests: Some(100_000), ..Workload::named("randwrite-4k-steady") };
    let filled = RunOptions { precondition: Some(Precondition::Filled(1.0)), ..RunOptions::default() };
    run(&device, &load, &filled, &mut Unobserved).expect_err("its policies are wrong")
}

#[test]
fn a_run_that_does_not_get_on_says_what_waits_for_what_and_how_to_repeat_it() {
    // Without a victim, no block is ever freed.
    let error = error_with(|ftl| Policies { victim: Box::new(Never), ..ftl });
    assert!(matches!(error, Error::Stuck(_)), "{error}");
    let text = error.to_string();
    for part in [
        "the simulation makes no progress: commands are outstanding and no event is pending",
        "writes stalled",
        "waits for buffer space",
        "plane group 0: ",
        "To reproduce it:",
        "trace position: request ",
        "configuration:",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// A victim policy that selects victims that do not exist.
struct Beyond;

mod beyond {
    use super::Beyond;
    use wordline_ftl::policy::victim::{Candidates, VictimPolicy};
    use wordline_kernel::{Stream, state};
    use wordline_nand::BlockSetId;

    state!(Beyond {});

    impl VictimPolicy for Beyond {
        fn choose(&mut self, _: Candidates<'_>, _: &mut Stream) -> Option<BlockSetId> {
            Some(BlockSetId(u32::MAX))
        }
    }
}

#[test]
fn a_wrong_answer_ends_the_run_and_is_not_called_a_fault_of_wordline() {
    let error = error_with(|ftl| Policies { victim: Box::new(Beyond), ..ftl });
    assert!(matches!(error, Error::InvalidDecision(_)), "{error}");
    let text = error.to_string();
    for part in [
        "the policy of the device made an invalid decision for `victim`: found BlockSetId(4294967295), which is none, wanted a candidate of plane group",
        "To reproduce it:",
        "trace position: request ",
        "seed: ",
        "configuration:",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("fault of Wordline"), "{text}");
}

/// A run of a workload on a device of a preset.
fn run_of_workload(preset: &str, set: &[&str], workload: &str, requests: u64) -> Summary {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    let selection = Selection { preset: Some(preset.into()), file: None, set };
    let device = Device::load(&selection).expect("a preset");
    let load = Workload { requests: Some(requests), ..Workload::named(workload) };
    run(&device, &load, &RunOptions::seed(3), &mut Unobserved).expect("it runs")
}

#[test]
fn threads_that_wait_for_their_answers_have_as_many_a_second_as_there_are_over_the_latency() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (threads, seconds) in [(1, 0.021), (4, 0.00525), (7, 0.003)] {
        let text = format!(
            "description = \"readers\"\nrequests = 1\nprecondition = \"empty\"\n[model]\nkind = \"files\"\nmean_size = \"4KiB\"\n\
             sizes = \"equal\"\npage_cache = 0.0\n[[model.threads]]\nname = \"reader\"\ncount = {threads}\n\
             loop = [{{ op = \"open\" }}, {{ op = \"read-whole\" }}, {{ op = \"close\" }}]\n"
        );
        let path = folder.path().join("readers.toml");
        std::fs::write(&path, text).expect("it can be written");
        let path = path.to_str().expect("a path of text");
        let run = run_of_workload("fixed-latency", &["capacity=16MiB", "latency=10us"], path, 2_100);
        assert_eq!(run.host.requests, 2_100);
        assert!((run.simulated_seconds / seconds - 1.0).abs() < 1e-9, "{threads}: {}", run.simulated_seconds);
    }
}

#[test]
fn an_application_runs_the_same_again_and_as_often_as_asked() {
    let mail = || run_of_workload("tiny", &[], "mail", 3_000);
    let (first, again) = (mail(), mail());
    assert_eq!((first.host.requests, &first.digest), (3_000, &again.digest));
}

#[test]
fn write_zeroes_that_an_array_writes_as_data_are_bytes_of_the_host() {
    let requests = |op| (0..200).map(move |n| Request::new(op, Bytes(4_096 * n), Bytes(4_096)));
    let run = |preset: &str, op| {
        let load = Workload { queue_depth: Some(4), ..Workload::given("requests", requests(op)) };
        let options = RunOptions { precondition: Some(Precondition::Filled(1.0)), ..RunOptions::default() };
        run(&Device::preset(preset).expect("a preset"), &load, &options, &mut Unobserved).expect("it runs")
    };
    for (preset, written) in [("raid5-tiny", 200 * 4_096), ("tiny", 0)] {
        let run = run(preset, Op::WriteZeroes);
        assert_eq!((run.host.written_bytes, run.host.write_zeroes), (written, 200), "{preset}");
    }
    let amplification = |op| run("raid5-tiny", op).write_amplification;
    assert_eq!(amplification(Op::WriteZeroes), amplification(Op::Write));
}
