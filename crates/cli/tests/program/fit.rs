//! Tests `wordline fit`. The search itself is tested in its crate.

use std::fs;

use crate::{Folder, wordline};

/// A drive of which only the firmware time and the read times can be told.
const TABLE: &str = "quantity,load,value,spread\ncapacity_gb,drive,8,\nread_p50_us,randread bs=4096 iodepth=1,80,\n\
                     read_p90_us,randread bs=4096 iodepth=1,90,\n";

#[test]
fn a_table_becomes_a_device_that_runs() {
    let folder = Folder::new();
    let (table, device, report) =
        (folder.with("mine.csv", TABLE), folder.path("mine.toml"), folder.path("out"));
    let arguments = ["fit", &table, "--out", &device, "--report", &report, "--scale", "128"];
    let shown = wordline(&arguments).success();
    for text in ["twin-mine: twin of mine", "tR of the middle page", "not identified", "tPROG", "read_p90_us"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let page = fs::read_to_string(format!("{report}/report.html")).expect("a page");
    assert!(page.contains("Twin of mine") && page.contains("chart-randread-bs-4096-iodepth-1"));
    let run = wordline(&[
        "run",
        "--preset",
        &device,
        "--workload",
        "randread-4k",
        "--queue-depth",
        "1",
        "--requests",
        "500",
        "--json",
        "-",
    ])
    .json();
    let median = run["host"]["read_latency_us"]["p50"].as_f64().expect("a number");
    assert!((median / 80.0 - 1.0).abs() < 0.03, "{median}");
}

#[test]
fn a_zoned_drive_becomes_two_devices_and_notes_name_the_rows_that_are_not_used() {
    let folder = Folder::new();
    let drive = folder.with(
        "drive.toml",
        "[drive]\nid = \"mine\"\nmodel = 'M \"zns\"'\ncapacity_gb = 100\nzone_capacity_mib = 96\n",
    );
    let commands = folder.with(
        "commands.csv",
        "measurement,parameter,n,mean_us\npartial_reset/a:reset,0,9,1000\npartial_reset/a:reset,24576,9,3000\nx:open,0,9,7\n",
    );
    let [device, zones] = ["device.toml", "zones.toml"].map(|name| folder.path(name));
    let arguments = ["fit", &drive, &commands, "--out", &device, "--zones", &zones, "--scale", "64"];
    let ended = wordline(&arguments);
    let notes = ended.err.clone();
    ended.success();
    assert!(notes.contains("commands.csv: not used: line 4: the zone command x:open"), "{notes}");
    let text = fs::read_to_string(&zones).expect("a device");
    for line in ["reset_time = \"1000000ns\" # measured", "reset_time_full = \"3000000ns\" # measured"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let trace = folder.with("zones.csv", "t_us,op,offset,size\n0,W,0,65536\n90000,ZR,0,\n");
    wordline(&["run", "--preset", &zones, "--trace", &trace]).success();
    wordline(&["run", "--preset", &device, "--workload", "randread-4k", "--requests", "100"]).success();
}

#[test]
fn jobs_and_a_script_are_written_once() {
    let folder = Folder::new();
    let jobs = folder.path("jobs");
    let said = wordline(&["fit", "--jobs", &jobs]).success();
    assert!(said.contains("the drive loses its contents"), "{said}");
    for name in ["R0.fio", "S2.fio", "run.sh"] {
        assert!(fs::metadata(format!("{jobs}/{name}")).is_ok(), "{name}");
    }
    let refusal = wordline(&["fit", "--jobs", &jobs]).refusal();
    assert!(refusal.contains("cannot write"), "{refusal}");
}

#[test]
fn what_cannot_be_fitted_is_refused_with_file_and_line() {
    let folder = Folder::new();
    let table = |name: &str, text: &str| folder.with(name, text);
    let drive = table("drive.toml", "[drive]\nid = \"mine\"\nmodel = \"M\"\n");
    let other = table("other.csv", "drive,pattern,host_mb_s,implied_waf\nyours,uniform,5,1\n");
    let bad = table("bad.csv", "quantity,load,value\niosp,randwrite steady,5\n");
    let few = table("few.csv", "quantity,load,value\niops,randwrite steady,5\n");
    let none = table("none.toml", "[drives]\n");
    let two = table("two.csv", "drive,pattern,host_mb_s,implied_waf\na,uniform,5,1\nb,uniform,5,1\n");
    let space = table("space.csv", "quantity,load,value\ncapacity_gb,drive,64\nspace_gb,drive,32\n");
    let zones = folder.path("zones.toml");
    for (arguments, wanted) in [
        (vec!["fit", &two, "--capacity", "64GB"], "two.csv: found rows of the drives a, b, wanted --drive"),
        (
            vec!["fit", &space],
            "space.csv:3: found space_gb = 32, wanted 1.01 to 4 times the capacity of 64 GB",
        ),
        (vec!["fit", &few, "--capacity", "64GB", "--zones", &zones], "--zones: found few, of which no zones"),
        (vec!["fit", &drive, &other], "found no measurement of the drive"),
        (vec!["fit", &bad], "bad.csv:2: found quantity = iosp"),
        (vec!["fit", &few], "few: found no capacity"),
        (vec!["fit", &none, &few], "none.toml: found nothing, wanted a value for `drive`"),
        (vec!["fit", &drive, &drive, &few], "found a second description of a drive"),
        (vec!["fit", &few, "--scale", "3"], "--scale: found 3, wanted a power of two from 1 to 128"),
        (vec!["fit", &folder.path("")], "found no output of a job"),
        (
            vec!["fit", &few, "--capacity", "64GB", "--drive", "foo"],
            "--drive: found foo, but no table with a column drive",
        ),
        (vec!["fit", &folder.path("absent.csv")], "absent.csv: cannot read"),
    ] {
        let refusal = wordline(&arguments).refusal();
        assert!(refusal.contains(wanted), "{arguments:?}: {refusal}");
    }
}
