//! Tests the program with a design of another crate that takes an invalid decision. This test is itself the
//! program. Called without arguments, or with arguments of a test runner, it calls itself as a user would,
//! and checks the result.

use std::process::{Command, ExitCode};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::design::{ExtensionPoint, Needs, View};
use wordline_ftl::policy::placement::{PlaneGroupId, PlaneGroupSet};
use wordline_ftl::{Config, Design};
use wordline_kernel::state;
use wordline_lab::devices::{DesignType, Registry};

/// A design that places programs on a plane group that does not exist, after some valid decisions.
struct Wrong {
    placed: u32,
    right: u32,
}

state!(Wrong { values { placed } fixed { right } });

impl Design for Wrong {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs::of(&[ExtensionPoint::Place])
    }

    fn place(&mut self, rows: &PlaneGroupSet, _: &mut View<'_>) -> PlaneGroupId {
        self.placed += 1;
        if self.placed > self.right {
            PlaneGroupId(1_000)
        } else {
            rows.next_from(PlaneGroupId(0)).expect("there is one")
        }
    }
}

/// Settings of the design.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct File {
    /// Number of valid decisions before the invalid one.
    right: u32,
}

impl DesignType for Wrong {
    const NAME: &'static str = "wrong";
    const DESCRIPTION: &'static str = "Answers wrongly.";

    type File = File;

    fn build(file: &File, _: &Config) -> Box<dyn Design> {
        Box::new(Self { placed: 0, right: file.right })
    }
}

fn main() -> ExitCode {
    let is_program = std::env::args().nth(1).is_some_and(|argument| argument == "run");
    if is_program {
        return wordline_cli::main_with(Registry::default().with_design::<Wrong>());
    }
    a_wrong_answer_ends_a_run_with_exit_code_1();
    // As the test runner prints it, for what reads the results of all tests.
    println!("test a_wrong_answer_ends_a_run_with_exit_code_1 ... ok\n\ntest result: ok. 1 passed; 0 failed");
    ExitCode::SUCCESS
}

fn a_wrong_answer_ends_a_run_with_exit_code_1() {
    let own = std::env::current_exe().expect("the test runs");
    let settings = ["--set", "designs=['wrong']", "--set", "design.wrong.right=20"];
    let work = ["run", "--preset", "tiny", "--workload", "randwrite-4k", "--requests", "2000"];
    let output = Command::new(own).args(work).args(settings).output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "the design wrong made an invalid decision for `place`: found plane group 1000, wanted one of the plane groups that accept a program unit",
        "To reproduce it:",
        "seed: ",
        "designs = [\"wrong\"]",
        "right = 20",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("bug in Wordline"), "{text}");
}
