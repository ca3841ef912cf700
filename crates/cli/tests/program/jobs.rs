//! Tests files of users: fio job files, and files of MQSim, SimpleSSD and FEMU.

use crate::{Folder, wordline};

const JOB: &str = "[global]\nfilename=/dev/nvme0n1\ndirect=1\nioengine=libaio\nbs=4k\nsize=50%\n\n\
    [readers]\nrw=randread\niodepth=4\nnumjobs=2\nnumber_ios=200\n\n\
    [writer]\nrw=write\nrate_iops=5000\nnumber_ios=40\n";

#[test]
fn the_jobs_of_a_file_run_at_once_wherever_a_workload_may_be_given() {
    let folder = Folder::new();
    let (job, trace, snapshot) = (folder.with("job.fio", JOB), folder.path("t.csv"), folder.path("a.snap"));
    let run = wordline(&["run", "--preset", "tiny", "--workload", &job, "--json"]).json();
    assert_eq!((&run["host"]["reads"], &run["host"]["writes"]), (&400.into(), &40.into()), "{run}");
    assert_eq!(run["workload"]["name"], *job);
    // Forty writes at intervals of 200 us take at least this long.
    let seconds = run["simulated_seconds"].as_f64().expect("a time");
    assert!((0.0078..0.05).contains(&seconds), "{seconds}");
    let again = wordline(&["run", "--preset", "tiny", "--workload", &job, "--json"]).json();
    assert_eq!(run["digest"], again["digest"]);
    let few = wordline(&["run", "--preset", "tiny", "--workload", &job, "--requests", "30", "--json"]).json();
    assert_eq!(few["host"]["requests"], 30);
    let both = wordline(&["compare", "tiny", "tiny-tlc", "--workload", &job, "--json"]).json();
    assert!(both.as_array().expect("a list").iter().all(|run| run["host"]["requests"] == 440), "{both}");
    wordline(&["trace", "gen", &job, &trace, "--preset", "tiny"]).success();
    let info = wordline(&["trace", "info", &trace, "--json"]).json();
    assert_eq!(info["statistics"]["requests"], 440, "{info}");
    let saved =
        ["run", "--preset", "tiny", "--workload", &job, "--requests", "50", "--save-snapshot", &snapshot];
    wordline(&saved).success();
    wordline(&["run", "--from-snapshot", &snapshot, "--workload", &job, "--requests", "50"]).success();
}

#[test]
fn what_a_job_file_cannot_say_is_refused_with_file_line_and_key() {
    let folder = Folder::new();
    let with = |name: &str, text: &str, more: &[&str], wanted: &str| {
        let job = folder.with(name, text);
        let call = [&["run", "--preset", "tiny", "--workload", &job][..], more].concat();
        let refusal = wordline(&call).refusal();
        assert!(refusal.contains(wanted), "{refusal}");
    };
    with(
        "a.fio",
        "[a]\nfilename=x\nlatency_target=500\n",
        &[],
        "a.fio:3: latency_target: found `500`, which is not simulated, wanted 0: `iodepth` sets the depth",
    );
    with("b.fio", "[a]\nfilename=x\nrwmixraed=70\n", &[], "rwmixread, or another key of fio");
    with("c.fio", "[a]\nfilename=x\nsize=1t\n", &[], "c.fio:3: [a] size: found 1TiB, wanted at most");
    with("d.fio", JOB, &["--queue-depth", "4"], "--queue-depth: found 4, wanted none beside a job file");
    with("e.fio", JOB, &["--time-scale", "2"], "--time-scale: found 2, wanted none beside a job file");
    let refusal = wordline(&["run", "--preset", "tiny", "--workload", "nowhere.fio"]).refusal();
    assert!(refusal.contains("nowhere.fio: cannot read"), "{refusal}");
}

#[test]
fn notes_say_what_of_a_job_file_counts_for_nothing() {
    let folder = Folder::new();
    let job = folder.with("a.fio", "[a]\nfilename=x\nnumber_ios=5\niodepth=8\ngroup_reporting\n");
    let run = wordline(&["run", "--preset", "tiny", "--workload", &job, "--json"]).json();
    let notes = run["notes"].to_string();
    for wanted in ["iodepth counts as 1", "as with direct=1", "do not affect the requests: group_reporting"] {
        assert!(notes.contains(wanted), "{notes}");
    }
}

#[test]
fn a_job_file_has_what_stands_beside_it_and_in_the_environment() {
    let folder = Folder::new();
    folder.with("common.inc", "direct=1 # no page cache\nbs=8k\n");
    let job =
        folder.with("a.fio", "[a]\nfilename=x\ninclude common.inc\nnumber_ios=5 ; few\nrw=write\nfsync=2\n");
    let run = wordline(&["run", "--preset", "tiny", "--workload", &job, "--json"]).json();
    assert_eq!((&run["host"]["writes"], &run["host"]["written_bytes"]), (&5.into(), &40_960.into()), "{run}");
    assert_eq!(run["host"]["requests"], 7, "two flushes: {run}");
    let unset = folder.with("b.fio", "[a]\nfilename=x\nbs=${WORDLINE_NO_SUCH_SIZE}\n");
    let refusal = wordline(&["run", "--preset", "tiny", "--workload", &unset]).refusal();
    assert!(
        refusal.contains("b.fio:3: bs: found `${WORDLINE_NO_SUCH_SIZE}`, wanted the environment variable"),
        "{refusal}"
    );
}

#[test]
fn files_of_mqsim_become_a_device_and_a_workload_that_run() {
    let folder = Folder::new();
    let small = include_str!("../../../lab/src/import/mqsim-64g.xml")
        .replace("<Block_No_Per_Plane>256", "<Block_No_Per_Plane>16")
        .replace("<Overprovisioning_Ratio>0.07", "<Overprovisioning_Ratio>0.4");
    let (ssd, flows) = (
        folder.with("ssdconfig.xml", small),
        folder.with("workload.xml", include_str!("../../../lab/src/import/mqsim-flows.xml")),
    );
    let device = folder.with("drive.toml", wordline(&["import", &ssd]).success());
    let job = folder.with("jobs.fio", wordline(&["import", &flows]).success());
    wordline(&["config", "check", "--config", &device]).success();
    let run =
        wordline(&["run", "--config", &device, "--workload", &job, "--requests", "300", "--json"]).json();
    assert_eq!(run["host"]["reads"], 300, "{run}");
    let bad = folder.with("bad.xml", "<Execution_Parameter_Set><Seed>1</Seed>");
    let refusal = wordline(&["import", &bad]).refusal();
    assert!(refusal.contains("bad.xml:1: found"), "{refusal}");
}

#[test]
fn files_of_simplessd_and_femu_become_devices_that_run() {
    let folder = Folder::new();
    let sim = folder.with("sim.cfg", include_str!("../../../lab/src/import/simplessd-sim.cfg"));
    let ssd = folder.with("ssd.cfg", include_str!("../../../lab/src/import/simplessd-ssd.cfg"));
    let femu = folder.with("femu.sh", include_str!("../../../lab/src/import/femu-run.sh"));
    let to = folder.path("out");
    let command = wordline(&["import", &sim, &ssd, "--to", &to]).success();
    let (device, jobs) = (folder.path("out/ssd.toml"), folder.path("out/sim.fio"));
    assert!(
        command.contains(&format!("--config {device} --workload {jobs} --precondition 0.5")),
        "{command}"
    );
    let run = wordline(&["run", "--config", &device, "--workload", &jobs, "--precondition", "0.5", "--json"]);
    let host = &run.json()["host"];
    let [reads, writes] = ["reads", "writes"].map(|key| host[key].as_u64().expect("a count"));
    assert!(reads > 600 && reads + writes == 1024, "8 MiB in pieces of 8 KiB: {host}");
    let drive = folder.with("drive.toml", wordline(&["import", &femu]).success());
    wordline(&["config", "check", "--config", &drive]).success();
    let both = wordline(&["import", &ssd, &femu]).refusal();
    assert!(both.contains("found a configuration of SimpleSSD and a script of FEMU"), "{both}");
    let scenario = wordline(&["import", &femu, "--scenario", "2"]).refusal();
    assert!(scenario.contains("--scenario: found 2, wanted none"), "{scenario}");
    let xml = folder.with("ssd.xml", "<simplessd version=\"2.1\"></simplessd>");
    let refusal = wordline(&["import", &xml]).refusal();
    assert!(refusal.contains("found a configuration of SimpleSSD 2.1 in XML"), "{refusal}");
    let bad = folder.with("bad.cfg", "[pal]\nChannel = none\n");
    let refusal = wordline(&["import", &sim, &bad, "--to", &folder.path("none")]).refusal();
    assert!(refusal.contains("bad.cfg:2: pal.Channel: found `none`"), "{refusal}");
    assert!(!std::path::Path::new(&folder.path("none")).exists(), "nothing is written");
}

#[test]
fn a_log_whose_name_ends_in_csv_is_a_trace_of_the_run() {
    let folder = Folder::new();
    let (log, other) = (folder.path("log.csv"), folder.path("log.txt"));
    let run = |log: &str| {
        wordline(&[
            "run",
            "--preset",
            "tiny",
            "--workload",
            "mixed-70-30",
            "--requests",
            "200",
            "--warm-up",
            "none",
            "--log",
            log,
            "--json",
        ])
    };
    let first = run(&log).json();
    let text = std::fs::read_to_string(&log).expect("it was written");
    assert_eq!(text.lines().next(), Some("t_ps,op,offset,size,resp_ps,failed"));
    assert_eq!(text.lines().count(), 201);
    let info = wordline(&["trace", "info", &log, "--json"]).json();
    assert_eq!(info["statistics"]["reads"], first["host"]["reads"], "{info}");
    let replayed = wordline(&["run", "--preset", "tiny", "--trace", &log, "--json"]).json();
    assert_eq!(replayed["host"]["written_bytes"], first["host"]["written_bytes"]);
    // The log in Parquet is the same trace.
    let parquet = folder.path("log.parquet");
    run(&parquet).success();
    let same = wordline(&["trace", "info", &parquet, "--json"]).json();
    assert_eq!(same["statistics"], info["statistics"]);
    assert!(same["notes"].to_string().contains("Wordline's log of requests"), "{same}");
    let refusal = run(&other).refusal();
    assert!(refusal.contains("log.txt, wanted a name that ends in .csv or .parquet"), "{refusal}");
    assert!(!folder.names().contains(&"log.txt".to_owned()));
}
