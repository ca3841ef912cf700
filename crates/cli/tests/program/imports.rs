//! Tests `wordline import` with files of MQSim and SimpleSSD: what is written, and what the printed commands do.

use crate::{Finished, Folder, program, wordline};

const DEVICE: &str = include_str!("../../../lab/src/import/mqsim-64g.xml");
const FLOWS: &str = include_str!("../../../lab/src/import/mqsim-flows.xml");

/// MQSim's device with few blocks, and with this text in place of another one.
fn small(from: &str, to: &str) -> String {
    let few = changed(DEVICE, "<Block_No_Per_Plane>256", "<Block_No_Per_Plane>16");
    let roomy = changed(&few, "<Overprovisioning_Ratio>0.07", "<Overprovisioning_Ratio>0.4");
    changed(&roomy, from, to)
}

fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// The scenario of `FLOWS`, `count` times.
fn scenarios(count: usize) -> String {
    let (before, rest) = FLOWS.split_once("<IO_Scenario>").expect("it has a scenario");
    let (scenario, after) = rest.split_once("</IO_Scenario>").expect("it ends");
    format!("{before}{}{after}", format!("<IO_Scenario>{scenario}</IO_Scenario>\n").repeat(count))
}

/// Calls the program in `folder`.
fn within(folder: &Folder, arguments: &[&str]) -> Finished {
    Finished::of(program(arguments).current_dir(folder.0.path()).output().expect("the program was built"))
}

#[test]
fn scenarios_that_have_a_device_in_common_are_written_with_it() {
    let folder = Folder::new();
    folder.with("s.xml", small("", ""));
    folder.with("w.xml", scenarios(3));
    let commands = within(&folder, &["import", "s.xml", "w.xml"]).success();
    assert_eq!(folder.names(), ["s.toml", "s.xml", "w-1.fio", "w-2.fio", "w-3.fio", "w.xml"]);
    for (command, number) in commands.lines().zip(1..) {
        assert!(command.contains(&format!("--config ./s.toml --workload ./w-{number}.fio")), "{commands}");
    }
    assert_eq!(commands.lines().count(), 3, "{commands}");
}

#[test]
fn an_input_is_never_replaced() {
    let folder = Folder::new();
    folder.with("s.toml", DEVICE);
    folder.with("w.xml", FLOWS);
    let refusal = within(&folder, &["import", "s.toml", "w.xml"]).refusal();
    let wanted = "./s.toml: found an input, which would be replaced, wanted another folder";
    assert!(refusal.contains(wanted), "{refusal}");
    assert_eq!(folder.names(), ["s.toml", "w.xml"]);
    within(&folder, &["import", "s.toml", "w.xml", "--to", "out"]).success();
}
