//! Tests devices that are saved and restored.

use super::{Folder, wordline};

#[test]
fn a_snapshot_is_made_shown_run_and_saved_again() {
    let folder = Folder::new();
    let (steady, later) = (folder.path("steady.snap"), folder.path("later.snap"));
    let made = wordline(&["snapshot", "make", &steady, "--preset", "tiny", "--json"]).json();
    assert_eq!(made["head"]["device"], "tiny");
    assert!(made["size"]["file_bytes"].as_u64() < made["size"]["state_bytes"].as_u64());
    let run = |from: &str, more: &[&str]| {
        let run =
            ["run", "--from-snapshot", from, "--workload", "randwrite-4k", "--requests", "500", "--json"];
        wordline(&[&run, more].concat()).json()
    };
    let first = run(&steady, &["--save-snapshot", &later]);
    assert_eq!((&first["device"], &first["host"]["writes"]), (&"tiny".into(), &500.into()));
    let shown = wordline(&["snapshot", "show", &later]).success();
    for wanted in [first["digest"].as_str().expect("a digest"), "uniform random writes", "ran randwrite-4k"] {
        assert!(shown.contains(wanted), "{shown}");
    }
    let centaur = folder.path("centaur.snap");
    let made =
        wordline(&["snapshot", "make", &centaur, "--preset", "centaur", "--precondition", "empty"]).success();
    assert!(made.contains("design") && made.contains("centaur"), "{made}");
    std::fs::remove_file(&centaur).expect("it was just made");
    assert_eq!(run(&steady, &["--preset", "tiny"])["digest"], first["digest"], "the same device");
    assert_ne!(run(&later, &[])["digest"], first["digest"]);
    assert_eq!(folder.names(), ["later.snap", "steady.snap"]);
}

#[test]
fn a_snapshot_that_cannot_be_used_is_refused_by_name() {
    let folder = Folder::new();
    let steady = folder.path("steady.snap");
    wordline(&["snapshot", "make", &steady, "--preset", "tiny", "--precondition", "0.5"]).success();
    let other = ["run", "--from-snapshot", &steady, "--preset", "tiny", "--set", "ftl.over_provisioning=0.4"];
    let refusal = wordline(&other).refusal();
    assert!(refusal.starts_with(&format!("error: {steady}: found a device with ftl.over_provisioning = ")));
    let changed =
        wordline(&["run", "--from-snapshot", &steady, "--set", "ftl.gc.victim.policy=fifo"]).refusal();
    assert!(
        changed
            .starts_with(&format!("error: {steady}: found a device with ftl.gc.victim.policy = \"greedy\""))
    );
    let twice = wordline(&["run", "--from-snapshot", &steady, "--precondition", "empty"]);
    assert_eq!(twice.code, Some(2), "{}", twice.err);
    let mut bytes = std::fs::read(&steady).expect("it was just made");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let damaged = folder.with("damaged.snap", &bytes);
    let cut = folder.with("cut.snap", &bytes[..middle]);
    let absent = folder.path("absent.snap");
    let trace = folder.with("trace.csv", "time,op,offset,size\n0,R,0,4096\n");
    for (file, wanted) in [
        (&damaged, "with the checksum"),
        (&cut, "found an end in the middle"),
        (&absent, "cannot open"),
        (&trace, "found a file of another kind, wanted a snapshot"),
    ] {
        for call in [&["snapshot", "show", file][..], &["run", "--from-snapshot", file]] {
            let refusal = wordline(call).refusal();
            assert!(
                refusal.starts_with(&format!("error: {file}: ")) && refusal.contains(wanted),
                "{refusal}"
            );
        }
    }
}
