//! Tests `wordline import` with files of MQSim and SimpleSSD: what is written, and what the printed commands do.

use crate::{Finished, Folder, program, wordline};

const DEVICE: &str = include_str!("../../../lab/src/import/mqsim-64g.xml");
const FLOWS: &str = include_str!("../../../lab/src/import/mqsim-flows.xml");

/// MQSim's device with few small blocks, and with this text in place of another one.
fn small(from: &str, to: &str) -> String {
    let few = changed(DEVICE, "<Block_No_Per_Plane>256", "<Block_No_Per_Plane>16");
    let roomy = changed(&few, "<Overprovisioning_Ratio>0.07", "<Overprovisioning_Ratio>0.4");
    let short = changed(&roomy, "<Page_No_Per_Block>256", "<Page_No_Per_Block>32");
    changed(&short, from, to)
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

#[test]
fn a_file_that_is_not_recognized_is_not_called_a_broken_one() {
    let folder = Folder::new();
    let ssd = folder.with("ssd.xml", DEVICE);
    for (text, found) in [
        (
            "\nNumChannel = 16\nNumPackage = 4\n",
            "which begins with `NumChannel = 16`, wanted a file of MQSim",
        ),
        ("<html>\n<body>\n", "which begins with `<html>`, wanted"),
        ("a\u{1b}[31mb\nc", "which begins with `a\\u{1b}[31mb`"),
        (" \n", "found an empty file, wanted"),
    ] {
        let other = folder.with("other.cfg", text);
        for call in [&["import", &other][..], &["import", &ssd, &other]] {
            let refusal = wordline(call).refusal();
            assert!(refusal.contains("other.cfg: found a"), "{refusal}");
            assert!(refusal.contains(found) && !refusal.contains("Execution_Parameter_Set"), "{refusal}");
        }
    }
    let broken = folder.with("broken.xml", "<MQSim_IO_Scenarios>\n<IO_Scenario>\n");
    let refusal = wordline(&["import", &broken]).refusal();
    assert!(refusal.contains("broken.xml:3: found the end of the file, wanted </IO_Scenario>"), "{refusal}");
}

#[test]
fn the_printed_command_has_the_state_and_the_seed_of_mqsim() {
    let folder = Folder::new();
    folder.with("empty.xml", small("<Enabled_Preconditioning>true", "<Enabled_Preconditioning>false"));
    folder.with("full.xml", small("", ""));
    folder.with("writes.xml", changed(FLOWS, "<Read_Percentage>100", "<Read_Percentage>0"));
    for (device, wanted, state) in [
        ("empty", "--precondition empty --seed 798\n", "the device was empty before the run"),
        (
            "full",
            "--precondition steady-state:0.75 --seed 798\n",
            "steady state of uniform random writes of the first 0.75",
        ),
    ] {
        let command = within(&folder, &["import", &format!("{device}.xml"), "writes.xml"]).success();
        assert!(command.ends_with(wanted), "{command}");
        let mut call: Vec<&str> = command.split_whitespace().skip(1).collect();
        call.extend(["--requests", "200", "--json"]);
        let run = within(&folder, &call).json();
        assert_eq!((&run["host"]["writes"], &run["seed"]), (&200.into(), &798.into()));
        assert!(run["notes"].to_string().contains(state), "{}", run["notes"]);
    }
}

#[test]
fn a_file_that_was_edited_is_replaced_with_a_note() {
    let folder = Folder::new();
    folder.with("s.xml", small("", ""));
    folder.with("w.xml", FLOWS);
    let replaced = || {
        let run = within(&folder, &["import", "s.xml", "w.xml"]);
        run.err.lines().filter(|line| line.contains("was replaced")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(replaced(), Vec::<String>::new(), "there was no file");
    assert_eq!(replaced(), Vec::<String>::new(), "the texts are the same");
    folder.with("s.toml", "# mine");
    assert_eq!(replaced(), ["note: ./s.toml: a file with another text was replaced"]);
    assert!(
        std::fs::read_to_string(folder.path("s.toml")).expect("it is there").contains("Imported from s.xml")
    );
}

const TRACE_FLOW: &str = "<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Trace_Based>
    <Priority_Class>HIGH</Priority_Class><Device_Level_Data_Caching_Mode>WRITE_CACHE</Device_Level_Data_Caching_Mode>
    <Channel_IDs>0,1,2,3,4,5,6,7</Channel_IDs><Chip_IDs>0,1,2,3</Chip_IDs><Die_IDs>0,1</Die_IDs><Plane_IDs>0,1</Plane_IDs>
    <Initial_Occupancy_Percentage>100</Initial_Occupancy_Percentage><File_Path>traces/small.trace</File_Path>
    <Percentage_To_Be_Executed>100</Percentage_To_Be_Executed><Relay_Count>1</Relay_Count>
    <Time_Unit>NANOSECOND</Time_Unit></IO_Flow_Parameter_Set_Trace_Based></IO_Scenario></MQSim_IO_Scenarios>";

#[test]
fn the_printed_command_finds_the_trace_from_the_folder_in_which_it_is_printed() {
    let folder = Folder::new();
    folder.with("study/s.xml", small("", ""));
    folder.with("study/w.xml", TRACE_FLOW);
    let import = || within(&folder, &["import", "study/s.xml", "study/w.xml", "--to", "out"]);
    let before = import();
    assert!(
        before.err.contains("study/traces/small.trace: there is no such trace; the job needs"),
        "{}",
        before.err
    );
    let trace = "0 0 0 8 1\n1000 0 64 8 0\n2000 0 128 8 1\n";
    folder.with("study/traces/small.trace", trace);
    for command in [before.success(), import().success()] {
        let mut call: Vec<&str> = command.split_whitespace().skip(1).collect();
        call.push("--json");
        let run = within(&folder, &call).json();
        assert_eq!(run["host"]["requests"], 3, "{command}");
    }
    folder.with("study/traces/small.trace", "no trace");
    let unread = import();
    assert!(unread.err.contains("study/traces/small.trace: it cannot be read"), "{}", unread.err);
    let sim = changed(include_str!("../../../lab/src/import/simplessd-sim.cfg"), "Mode = 0", "Mode = 1");
    folder.with(
        "study/sim.cfg",
        changed(&sim, "[trace]", "[trace]\nTimingMode = 2\nFile = traces/small.trace"),
    );
    folder.with("study/ssd.cfg", include_str!("../../../lab/src/import/simplessd-ssd.cfg"));
    let command = within(&folder, &["import", "study/sim.cfg", "study/ssd.cfg", "--to", "out"]).success();
    assert!(command.contains("--trace study/traces/small.trace "), "{command}");
}
