//! Tests the program with a device type of another crate, and with a design of another crate that takes an
//! invalid decision. This test is itself the program. Called without arguments, or with arguments of a test
//! runner, it calls itself as a user would, and checks the result.

use std::process::{Command, ExitCode, Output};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::block_device::Shape;
use wordline_device::{BlockDevice, FixedLatency};
use wordline_ftl::design::{ExtensionPoint, Needs, View};
use wordline_ftl::policy::placement::{PlaneGroupId, PlaneGroupSet};
use wordline_ftl::{Config, Design};
use wordline_kernel::{Bytes, Complaints, Duration, Seed, state};
use wordline_lab::devices::{DesignType, Designs, DeviceType, Embedded, Registry};

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

/// A device with a fixed latency at the end of a fibre.
#[derive(Clone, Debug)]
pub struct Remote(RemoteFile);

/// Its keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteFile {
    /// Length of the fibre. Light takes 5 us for each km of glass, there and back 10 us.
    km: u64,
}

impl DeviceType for Remote {
    const NAME: &'static str = "remote";
    const DESCRIPTION: &'static str = "A device with a fixed latency at the end of a fibre.";

    type File = RemoteFile;
    type Device = FixedLatency;

    fn check(file: RemoteFile, _: &Designs) -> Result<Self, Complaints> {
        let mut wrong = Complaints::default();
        wrong.require((1..=20_000).contains(&file.km), "km", file.km, "from 1 to 20000");
        wrong.into_result(Self(file))
    }

    fn file(&self) -> RemoteFile {
        self.0.clone()
    }

    fn shape(&self) -> Shape {
        self.build(Seed(0)).shape()
    }

    fn build(&self, _: Seed) -> FixedLatency {
        FixedLatency::new(Bytes(1 << 30), Duration::from_us(10 * self.0.km))
    }

    fn presets() -> &'static [Embedded] {
        &[("remote", "device = \"remote\"\nkm = 80\n")]
    }
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| ["run", "devices"].contains(&argument.as_str())) {
        return wordline_cli::main_with(Registry::default().with::<Remote>().with_design::<Wrong>());
    }
    a_wrong_answer_ends_a_run_with_exit_code_1();
    a_device_type_has_its_keys_page_and_preset();
    // As the test runner prints it, for what reads the results of all tests.
    println!("test a_wrong_answer_ends_a_run_with_exit_code_1 ... ok");
    println!("test a_device_type_has_its_keys_page_and_preset ... ok\n\ntest result: ok. 2 passed; 0 failed");
    ExitCode::SUCCESS
}

fn call(arguments: &[&str]) -> Output {
    let own = std::env::current_exe().expect("the test runs");
    Command::new(own).args(arguments).output().expect("the program runs")
}

fn a_device_type_has_its_keys_page_and_preset() {
    let run = ["run", "--preset", "remote", "--workload", "randread-4k", "--requests", "100", "--json"];
    let output = call(&[&run[..], &["--set", "km=3"]].concat());
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(summary["host"]["read_latency_us"]["max"], 30.0, "{summary}");
    let refused = call(&[&run[..], &["--set", "km=0"]].concat());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("--set km: found 0, wanted from 1 to 20000"), "{text}");
    let page = call(&["devices", "remote"]).stdout;
    let page = String::from_utf8_lossy(&page);
    assert!(page.contains("# Device: remote") && page.contains("Length of the fibre."), "{page}");
}

fn a_wrong_answer_ends_a_run_with_exit_code_1() {
    let settings = ["--set", "designs=['wrong']", "--set", "design.wrong.right=20"];
    let work = ["run", "--preset", "tiny", "--workload", "randwrite-4k", "--requests", "2000"];
    let output = call(&[&work[..], &settings].concat());
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
