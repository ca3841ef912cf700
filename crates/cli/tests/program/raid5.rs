//! Tests RAID-5 arrays of SSDs in the program.

use super::{Folder, wordline};

/// The members of this array fail from the first request on.
const WORK: [&str; 8] =
    ["--preset", "raid5-tiny", "--workload", "mixed-70-30", "--requests", "1500", "--warm-up", "none"];

fn settings<'a>(set: &[&'a str]) -> Vec<&'a str> {
    set.iter().flat_map(|set| ["--set", *set]).collect()
}

#[test]
fn a_run_ends_with_what_the_array_did_and_its_members_side_by_side() {
    let set = settings(&["array.failures=[{member=1,after='10ms'}]", "array.sync_fastest='100MiB'"]);
    let text = wordline(&[&["run"][..], &WORK, &set].concat()).success();
    let header = text.lines().find(|line| line.starts_with(" Members")).expect("the table of members");
    for role in ["member 0", "failed", "member 3", "member 1"] {
        assert!(header.contains(role), "{header}");
    }
    for row in [
        " parity blocks written",
        "   as a part of data",
        " full-stripe writes",
        " part of time degraded",
        " blocks rebuilt",
    ] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
    }
    let run = wordline(&[&["run", "--json"][..], &WORK, &set].concat()).json();
    let members = run["members"].as_array().expect("a list");
    let sum = |key: &str| members.iter().filter_map(|member| member[key].as_u64()).sum::<u64>();
    assert_eq!(members.len(), 5);
    let block = 16 << 10;
    let parity = run["raid5"]["parity_writes"].as_u64().expect("a count");
    // The members count the parity that is rebuilt onto the spare, too.
    let rebuilt = run["raid5"]["rebuilt"].as_u64().expect("a count");
    let programmed = sum("parity_bytes") / block;
    assert!(parity > 0 && (parity..=parity + rebuilt).contains(&programmed), "{parity} {programmed}");
    let pools = run["pools"].as_array().expect("a list");
    let programs: u64 = pools.iter().filter_map(|pool| pool["programs"].as_u64()).sum();
    assert!(programs > 0 && sum("programs") == programs, "{programs}");
    assert_eq!((&run["raid5"]["failures"], run["raid5"]["rebuilt"].as_u64() > Some(0)), (&1.into(), true));
    assert!(run["raid5"]["degraded"].as_f64().is_some_and(|part| part > 0.0 && part <= 1.0), "{run}");
}

/// A discard of a part of a stripe is ignored, so that it completes at once.
#[test]
fn what_an_array_completes_when_it_takes_it_ends_a_run() {
    let folder = Folder::new();
    let trace = folder.with("discards.csv", "t_us,op,offset,size\n0,D,65536,4096\n5,D,0,4096\n9,R,0,4096\n");
    let call = ["run", "--preset", "raid5-tiny", "--trace", &trace, "--queue-depth", "1", "--json"];
    let run = wordline(&call).json();
    assert_eq!(
        (&run["host"]["requests"], &run["host"]["discard_latency_us"]["max"]),
        (&3.into(), &0.0.into())
    );
    assert!(run["simulated_seconds"].as_f64() < Some(0.01), "{}", run["simulated_seconds"]);
}

#[test]
fn what_is_wrong_with_an_array_is_named_by_its_key() {
    for (set, wanted) in [
        (&["members=2"][..], "members: found 2, wanted from 3 to 64"),
        (&["array.chunk=48KiB"], "array.chunk: found 48KiB, wanted a power of two from 4KiB on"),
        (
            &["array.chunk=2KiB", "array.block=2KiB"],
            "array.chunk: found 2KiB, wanted a power of two from 4KiB on",
        ),
        (&["array.block=128KiB"], "array.block: found 128KiB, wanted a power of two from 512B to 32KiB"),
        (&["array.stripe_cache=16"], "array.stripe_cache: found 16, wanted from 17 to 32768"),
        (&["array.stripe_cache=32769"], "array.stripe_cache: found 32769, wanted from 17 to 32768"),
        (
            &["spare.preset=tiny", "spare.ftl.over_provisioning=0.5"],
            "spare: found a capacity of 8MiB, wanted at least the capacity of a member, 12MiB",
        ),
        (
            &["others=[2]", "other.preset=tiny", "other.ftl.over_provisioning=0.5"],
            "other: found a capacity of 8MiB, wanted the capacity of the other members, 12MiB",
        ),
        (&["others=[2]"], "others: found [2], wanted a table `other`"),
        (&["others=[4]", "other.preset=tiny"], "others[0]: found 4, wanted a member below 4"),
        (&["other.preset=tiny"], "other: found a device, wanted the key left out"),
        (
            &["array.failures=[{member=4,after='1s'}]"],
            "array.failures[0].member: found 4, wanted a member below 4",
        ),
        (
            &["array.parity=md", "array.parity_delay=1s"],
            "array.parity_delay: found 1s, wanted no delay where",
        ),
        (
            &["array.sync_fastest=1KiB"],
            "array.sync_fastest: found 1KiB, wanted no less than array.sync_slowest",
        ),
        (&["array.layout=left"], "array.layout: found \"left\", wanted left-asymmetric, left-symmetric, or"),
        (
            &["member.preset=raid5-tiny"],
            "found \"raid5-tiny\", a device of the type raid5, wanted the preset of an SSD",
        ),
        (&["member.ftl.over_provisioning=1.7"], "member.ftl.over_provisioning: found 1.7, wanted a fraction"),
        (&["stripe_cache=256"], "stripe_cache: found an unknown key"),
    ] {
        let refusal =
            wordline(&[&["config", "check", "--preset", "raid5-tiny"][..], &settings(set)].concat())
                .refusal();
        assert!(refusal.contains(wanted), "{set:?}: {refusal}");
    }
}

#[test]
fn a_spare_may_be_larger_than_a_member_and_a_member_unlike_the_others() {
    let set = [
        "spare.preset=tiny",
        "spare.ftl.over_provisioning=0.2",
        "others=[2]",
        "other.preset=tiny",
        "other.part.endurance=77",
    ];
    let command = [&["config", "show", "--preset", "raid5-tiny"][..], &settings(&set)].concat();
    let shown = wordline(&command).success();
    let folder = Folder::new();
    let again = folder.with("again.toml", &shown);
    assert_eq!(
        wordline(&["config", "show", "--config", &again]).success().replace("again", "raid5-tiny"),
        shown
    );
    let explained = wordline(&["config", "explain", "--config", &again]).success();
    for section in ["array\n", "member: geometry", "spare: capacity", "other: geometry"] {
        assert!(explained.contains(section), "{section}: {explained}");
    }
}

#[test]
fn an_array_that_was_saved_goes_on_and_is_restored_as_no_other() {
    let folder = Folder::new();
    let saved = folder.path("array.snap");
    let array = ["--preset", "raid5-tiny"];
    let made =
        wordline(&[&["snapshot", "make", &saved, "--precondition", "filled", "--json"][..], &array].concat())
            .json();
    assert_eq!(made["device_type"], "raid5");
    let from = [
        "run",
        "--from-snapshot",
        &saved,
        "--workload",
        "mixed-70-30",
        "--requests",
        "1500",
        "--warm-up",
        "none",
        "--json",
    ];
    let restored = wordline(&from).json();
    let anew = wordline(&[&["run", "--precondition", "filled", "--json"][..], &WORK].concat()).json();
    assert_eq!(restored["digest"], anew["digest"]);
    for (set, wanted) in [
        (&["--set", "members=5"][..], "found a device with members = 4, wanted 5"),
        (&["--set", "array.chunk=32KiB"], "found a device with array.chunk = \"64KiB\", wanted \"32KiB\""),
        (&["--set", "array.parity=cache"], "found a device with array.parity = \"md\", wanted \"cache\""),
        (&["--preset", "tiny"], "found a device of the type raid5, wanted the type ssd"),
    ] {
        let refusal = wordline(&[&from[..], set].concat()).refusal();
        assert!(refusal.contains(wanted), "{set:?}: {refusal}");
    }
}

#[test]
fn a_report_of_an_array_has_its_members_and_a_power_cut_what_it_lost() {
    let folder = Folder::new();
    let out = folder.path("out");
    let cut = ["--cut-power-after", "700", "--precondition", "filled", "--report", &out];
    wordline(&[&["run"][..], &WORK, &cut].concat()).success();
    let page =
        std::fs::read_to_string(std::path::Path::new(&out).join("report.html")).expect("it was written");
    for text in ["Device 4 of the array", "Written to each device of the array", "rows resynchronised"] {
        assert!(page.contains(text), "{text}");
    }
    let summary =
        std::fs::read_to_string(std::path::Path::new(&out).join("summary.json")).expect("it was written");
    let run: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
    assert!(run["power_cuts"][0]["lost_requests"].as_u64() > Some(0), "{}", run["power_cuts"]);
    assert!(run["raid5"]["dirty_rows"].as_u64() > Some(0), "{}", run["raid5"]);
}
