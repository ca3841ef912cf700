//! Faults of studies: each names the line or the argument of the user, and what to write.

use std::path::Path;

use wordline_kernel::Duration;
use wordline_lab::devices::Registry;
use wordline_lab::trace::Options;

use crate::{DeviceArguments, LoadArguments, Repeat, Study, StudyArguments, axis_of, device_of};

/// The arguments of a study on `tiny` with one varied key.
fn asked<'a>(load: LoadArguments<'a>, vary: &str) -> StudyArguments<'a> {
    StudyArguments {
        preset: Some("tiny".into()),
        load,
        precondition: None,
        warm_up: None,
        until: None,
        vary: vec![axis_of(vary).expect("values")],
        repeat: Repeat { first: 0, seeds: 1, until: None },
        columns: Vec::new(),
        config: None,
    }
}

/// The fault of a study without a file, on the device `device`, with one varied key.
fn fault(device: DeviceArguments, load: LoadArguments<'_>, vary: &str) -> String {
    let preset = device.preset.or_else(|| Some("tiny".into()));
    let asked = StudyArguments { preset, config: device.config, ..asked(load, vary) };
    let made = Study::from_arguments(&Registry::default(), device.keys, asked);
    let fault = made.and_then(|study| study.points(0).map(|points| points.len()));
    fault.map(|points| format!("{points} points")).unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_fault_of_a_varied_key_names_the_argument_and_what_to_write() {
    for (vary, wanted) in [
        ("workload.queue_depth=1,2", "2 points"),
        ("workload=randread-4k,mail", "2 points"),
        ("workload=randread-4k,mial", "--vary workload.named.name: found mial, wanted mail"),
        ("workload=a.fio", "--vary workload.file.path: found a.fio: cannot read"),
        ("workload.depth=1,2", "--vary workload.depth: found an unknown key `depth`, wanted"),
        ("workload.queue_depth=0", "--vary workload.queue_depth: found 0, wanted at least 1"),
        ("ftl.gc.victim=greedy,d-choices{choices=4}", "2 points"),
        (
            "ftl.gc.victim.policy=greedy,d-choices",
            "--vary ftl.gc.victim.policy: ftl.gc.victim.choices: found nothing, wanted a value for choices: it has no default. \
             A policy with keys is written ftl.gc.victim=NAME{KEY=VALUE}",
        ),
        (
            "ftl.gc.victim=greedy{window=3},fifo",
            "--vary ftl.gc.victim: ftl.gc.victim.window: found a key of another policy, wanted no further key",
        ),
        (
            "ftl.gc.victm.policy=greedy,fifo",
            "--vary ftl.gc.victm.policy: found an unknown key, wanted victim",
        ),
        ("precondition=empty,filled:0.5,steady-state,workload:2", "4 points"),
        ("precondition=emty", "--vary precondition: found \"emty\", wanted empty, filled, filled:0.5"),
        ("preset=tiny,tinny", "--vary preset: found `tinny`, wanted a preset: tiny"),
    ] {
        let fault = fault(DeviceArguments::default(), LoadArguments::named("mixed-70-30"), vary);
        assert!(fault.starts_with(wanted), "{vary}: {fault}");
    }
}

#[test]
fn options_of_requests_go_with_a_named_workload_or_say_what_is_wanted() {
    let options = Options::from_pairs(["discards=skip"]).expect("an option");
    let named = LoadArguments::named("mail");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.fio");
    std::fs::write(&path, "[a]\nfilename=x\nreadwrite=sideways\n").expect("it is written");
    let path = path.display().to_string();
    let of_file = format!("{path}:3: readwrite: found `sideways`, wanted");
    for (load, wanted) in [
        (LoadArguments::named(&path), of_file.as_str()),
        (LoadArguments { think_time: Some(Duration::from_us(5)), ..named }, "2 points"),
        (
            LoadArguments { think_time: Some(Duration::from_ms(7_200_000)), ..named },
            "--think-time: found 7200s, wanted at most 1h",
        ),
        (
            LoadArguments { time_scale: Some(2.0), ..named },
            "--time-scale: found it with the workload mail, wanted requests with times as well: --trace FILE",
        ),
        (
            LoadArguments { trace_options: Some(&options), ..named },
            "--format or --trace-option: found it with the workload mail, wanted --trace FILE as well",
        ),
    ] {
        let fault = fault(DeviceArguments::default(), load, "ftl.over_provisioning=0.3,0.4");
        assert!(fault.starts_with(wanted), "{fault}");
    }
}

#[test]
fn a_setting_may_select_an_item_of_a_default_list() {
    let device = device_of(None, &["part.timing.suspend.1=500us".into()], None).expect("a setting");
    let load = LoadArguments::named("mixed-70-30");
    assert_eq!(fault(device.clone(), load, "ftl.scheduling.suspend_erases=true,false"), "2 points");
    let asked = asked(load, "ftl.scheduling.suspend_erases=true");
    let study = Study::from_arguments(&Registry::default(), device.keys, asked).expect("a study");
    let text = &study.points(0).expect("a point")[0].config_text;
    assert!(text.contains("suspend = [\"100us\", \"500us\"]"), "{text}");
}

#[test]
fn a_configuration_on_a_preset_is_read_as_by_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("drive.toml");
    let of = |text: &str, preset: Option<&str>| {
        std::fs::write(&path, text).expect("it is written");
        device_of(Some(&path), &[], preset)
    };
    let other = of("preset = \"nvme-tlc\"\n", Some("tiny")).expect_err("two presets").to_string();
    let wanted =
        format!("{}:1: preset: found \"nvme-tlc\", wanted \"tiny\" as on the command line", path.display());
    assert!(other.starts_with(&wanted), "{other}");
    assert_eq!(of("preset = \"tiny\"\n", Some("tiny")).expect("one preset").preset, Some("tiny".into()));
    let part = of("part = \"mine.toml\"\n", Some("tiny")).expect("a part").keys["part"].clone();
    assert_eq!(part.as_str(), folder.path().join("mine.toml").to_str(), "beside the configuration");
}

#[test]
fn a_fault_of_a_configuration_names_its_line_and_one_of_a_setting_the_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("drive.toml");
    let of = |text: &str, settings: &[&str]| {
        std::fs::write(&path, text).expect("it is written");
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        match device_of(Some(&path), &settings, None) {
            Ok(device) => fault(device, LoadArguments::named("mixed-70-30"), "ftl.gc.paced=true,false"),
            Err(error) => error.to_string(),
        }
    };
    let named = path.display();
    for (text, settings, wanted) in [
        (
            "preset = \"tiny\"\n[part.timing]\nerase = \"0s\"\n",
            &[][..],
            format!("{named}:3: part.timing.erase: found 0s, wanted array times"),
        ),
        ("preset = \"tiny\"\nftl = 3 3\n", &[], format!("{named}:2: found")),
        (
            "preset = \"tiny\"\n",
            &["ftl.over_provisioning=1.5"],
            "--set ftl.over_provisioning: found 1.5, wanted".into(),
        ),
    ] {
        let fault = of(text, settings);
        assert!(fault.starts_with(&wanted), "{text}: {fault}");
        assert_eq!(fault.lines().count(), 1, "said once: {fault}");
    }
}

#[test]
fn a_study_without_a_workload_and_one_with_a_wrong_state_say_what_is_wanted() {
    let fault = |text: &str| {
        Study::parse(&Registry::default(), Path::new("s.toml"), text).expect_err(text).to_string()
    };
    for (text, wanted) in [
        ("preset = \"tiny\"\n", "s.toml: workload: found nothing, wanted a workload, such as workload ="),
        (
            "preset = \"tiny\"\nworkload = \"mail\"\nprecondition = \"full\"\n",
            "s.toml:3: precondition: found \"full\", wanted empty, filled, filled:0.5",
        ),
        (
            "preset = \"tiny\"\nworkload = \"mail\"\n[[vary]]\nkey = \"ftl.gc.start_below_free_blocks\"\nvalues = \"4,6\"\n",
            "s.toml:5: values: found \"4,6\", wanted a list, such as [4, 6], or a range { from = 1, to = 8, steps = 4 }",
        ),
        (
            "preset = \"tiny\"\nworkload = \"mail\"\n[[vary]]\nkey = \"a\"\nvalues = [0.2, 0.3, 0.2]\n",
            "s.toml:3: vary.values: found 0.2 twice, wanted each value once",
        ),
        (
            "preset = \"tiny\"\nworkload = \"mail\"\n[[vary]]\nkey = \"a\"\nvalues = 4\n",
            "s.toml:5: values: found 4, wanted a list, such as [4], or a range",
        ),
        (
            "preset = \"tiny\"\nworkload = \"mail\"\n[[vary]]\nkey = \"a\"\nvalues = { from = 1, to = 2, step = 4 }\n",
            "s.toml:5: values: found an unknown key `step`, wanted steps",
        ),
        (
            "preset = \"tiny\"\nworkload = \"mial\"\n",
            "s.toml:2: workload.named.name: found mial, wanted mail",
        ),
    ] {
        let fault = fault(text);
        assert!(fault.starts_with(wanted), "{text}: {fault}");
    }
}

#[test]
fn a_study_runs_what_a_run_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path
    };
    let trace = write("a.csv", "t_ps,op,offset,size\n0,R,0,4096\n1000000,W,8192,4096\n2000000,W,0,4096\n");
    let jobs = write(
        "a.fio",
        "[global]\nfilename=x\ndirect=1\nbs=4k\n[a]\nrw=randread\nnumber_ios=5\n[b]\nrw=write\nnumber_ios=4\n",
    );
    let count = |load: LoadArguments<'_>| {
        let columns = vec!["host.reads".into(), "host.writes".into()];
        let asked = StudyArguments { columns, ..asked(load, "ftl.over_provisioning=0.3,0.4") };
        let made = Study::from_arguments(&Registry::default(), toml::Table::new(), asked);
        let study = made.unwrap_or_else(|error| panic!("{error}"));
        let again = super::study(&study.text);
        assert_eq!(again.sweep.workload, study.sweep.workload, "{}", study.text);
        let table = super::done(&study, &crate::Store::in_memory());
        let value = |row: &crate::Row, column| row.of(column).first().map(|value| *value as u64);
        let both = |row: &crate::Row| ["host.reads", "host.writes"].map(|column| value(row, column));
        table.rows.iter().map(both).collect::<Vec<_>>()
    };
    let path = jobs.display().to_string();
    assert_eq!(
        count(LoadArguments { trace: Some(&trace), ..LoadArguments::default() }),
        [[Some(1), Some(2)]; 2]
    );
    let two = LoadArguments {
        trace: Some(&trace),
        requests: Some(2),
        queue_depth: Some(1),
        ..LoadArguments::default()
    };
    assert_eq!(count(two), [[Some(1), Some(1)]; 2]);
    assert_eq!(count(LoadArguments::named(&path)), [[Some(5), Some(4)]; 2]);
    let columns = write("a.txt", "0 1 0 8\n5 0 8 8\n");
    let options = Options::from_pairs(["columns=ts:us,op:0=R|1=W,off:512,len:512"]).expect("an option");
    let mapped =
        LoadArguments { trace: Some(&columns), trace_options: Some(&options), ..LoadArguments::default() };
    assert_eq!(count(mapped), [[Some(1), Some(1)]; 2]);
}

#[test]
fn discards_of_a_trace_can_be_varied() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("a.csv");
    let lines = "t_ps,op,offset,size\n0,W,0,4096\n1000000,D,0,4096\n2000000,D,8192,4096\n3000000,W,0,4096\n";
    std::fs::write(&trace, lines).expect("it is written");
    let study = super::study(&format!(
        "preset = \"tiny\"\nworkload = {{ trace = {trace:?} }}\ncolumns = [\"host.discards\"]\n\
         [[vary]]\nkey = \"workload.trace_options.discards\"\nvalues = [\"keep\", \"skip\"]\n"
    ));
    let table = super::done(&study, &crate::Store::in_memory());
    assert_eq!(table.rows.iter().map(|row| row.of("host.discards")[0]).collect::<Vec<_>>(), [2.0, 0.0]);
}
