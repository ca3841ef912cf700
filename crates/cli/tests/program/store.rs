//! Tests `wordline store`: its output about a store, and its exit codes.

use serde_json::Value;

use crate::{Folder, wordline};

/// Creates a store of two runs in `folder`. Returns its path and the files of its runs.
fn filled(folder: &Folder) -> (String, Vec<String>) {
    let store = folder.path("runs");
    let sweep = ["sweep", "--preset", "tiny", "--workload", "randwrite-4k", "--requests", "200"];
    let sweep = [&sweep[..], &["--no-progress", "--column", "host.iops", "--seeds", "2", "--store", &store]];
    wordline(&sweep.concat()).success();
    let entries = std::fs::read_dir(folder.path("runs/runs")).expect("a store has this folder");
    let path = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry can be read").path();
    let mut files: Vec<String> = entries.map(|entry| path(entry).to_string_lossy().into_owned()).collect();
    files.sort();
    (store, files)
}

fn change(file: &str) {
    let text = std::fs::read_to_string(file).expect("it was just written");
    assert!(text.contains("\"seed\""));
    std::fs::write(file, text.replacen("\"seed\"", "\"sead\"", 1)).expect("it can be written");
}

#[test]
fn the_exit_code_is_0_for_a_whole_store_and_1_for_a_damaged_one() {
    let folder = Folder::new();
    let (store, files) = filled(&folder);
    assert_eq!(wordline(&["store", "check", &store]).success(), "2 runs as written, 0 files damaged\n");
    change(&files[0]);
    let name = files[0].strip_prefix(&format!("{store}/")).expect("it is in the store");
    let lines = format!(
        "{name}: found content that its digest does not fit: it was changed or cut off\n1 run as written, 1 file damaged\n"
    );
    for _ in 0..2 {
        let checked = wordline(&["store", "check", &store]);
        assert_eq!((checked.code, checked.out, checked.err), (Some(1), lines.clone(), String::new()));
    }
    let checked = wordline(&["store", "check", &store, "--json"]);
    let json: Value = serde_json::from_str(&checked.out).expect("standard output is JSON");
    assert_eq!((checked.code, &json["runs"], &json["damage"][0]["file"]), (Some(1), &1.into(), &name.into()));
}

#[test]
fn a_repair_that_moved_files_is_done_and_leaves_a_whole_store() {
    let folder = Folder::new();
    let (store, files) = filled(&folder);
    assert_eq!(wordline(&["store", "repair", &store]).success(), "2 runs as written, 0 files damaged\n");
    change(&files[1]);
    let name = files[1].strip_prefix(&format!("{store}/")).expect("it is in the store");
    let repaired = wordline(&["store", "repair", &store]).success();
    assert!(repaired.contains(&format!("{name} is now damaged/{name}\n")), "{repaired}");
    assert!(std::fs::exists(folder.path(&format!("runs/damaged/{name}"))).expect("it can be looked for"));
    assert_eq!(wordline(&["store", "check", &store]).success(), "1 run as written, 0 files damaged\n");
    let json = wordline(&["store", "repair", &store, "--json"]).json();
    assert_eq!((&json["runs"], &json["moved"]), (&1.into(), &Value::Array(Vec::new())));
}

#[test]
fn the_exit_code_is_2_where_there_is_no_store_or_the_arguments_are_wrong() {
    let folder = Folder::new();
    let (store, _) = filled(&folder);
    let (file, absent) = (folder.with("other/notes.txt", "mine"), folder.path("absent"));
    let other = folder.path("other");
    for command in ["check", "repair"] {
        for (path, found) in [(&absent, "found nothing"), (&file, "found a file"), (&other, "found")] {
            let refusal = wordline(&["store", command, path]).refusal();
            let wanted = "wanted a store of studies";
            assert!(
                refusal.contains(path) && refusal.contains(found) && refusal.contains(wanted),
                "{refusal}"
            );
        }
        for arguments in [
            &["store", command][..],
            &["store", command, &store, &other],
            &["store", command, &store, "--fix"],
        ] {
            wordline(arguments).refusal();
        }
    }
    for arguments in [&["store", "mend", &store][..], &["store"]] {
        let finished = wordline(arguments);
        assert_eq!(finished.code, Some(2), "{}", finished.err);
    }
    assert_eq!(folder.names(), ["other", "runs"], "what is refused changes and makes nothing");
    assert_eq!(wordline(&["store", "check", &store]).success(), "2 runs as written, 0 files damaged\n");
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_no_damage_but_an_error() {
    let folder = Folder::new();
    let (store, files) = filled(&folder);
    std::fs::remove_file(&files[0]).expect("it was just written");
    std::os::unix::fs::symlink(&files[0], &files[0]).expect("a link can be made");
    let checked = wordline(&["store", "check", &store]);
    assert_eq!(checked.code, Some(1), "{}", checked.err);
    assert!(checked.out.contains("found a link"), "{}", checked.out);
    std::fs::remove_dir_all(folder.path("runs/windows")).expect("it is there");
    assert!(wordline(&["store", "check", &store]).refusal().contains("windows"));
}

#[test]
fn a_merge_copies_nothing_from_what_is_no_store_and_stops_at_damage() {
    let folder = Folder::new();
    let (store, files) = filled(&folder);
    let (absent, into, other) = (folder.path("absent"), folder.path("into"), folder.path("other"));
    folder.with("other/notes.txt", "mine");
    for (from, found) in [(&absent, "found nothing"), (&other, "found a folder with other files")] {
        let refusal = wordline(&["store", "merge", &into, &store, from]).refusal();
        assert!(refusal.contains(from) && refusal.contains(found), "{refusal}");
    }
    let refusal = wordline(&["store", "merge", &store, &store]).refusal();
    assert!(refusal.contains("which is INTO"), "{refusal}");
    wordline(&["store", "merge", &into]).refusal();
    assert_eq!(folder.names(), ["other", "runs"], "what is refused changes and makes nothing");
    change(&files[1]);
    let refusal = wordline(&["store", "merge", &into, &store]).refusal();
    assert!(
        refusal.contains(&store) && refusal.contains("content that its digest does not fit"),
        "{refusal}"
    );
    assert_eq!(wordline(&["store", "check", &into]).success(), "1 run as written, 0 files damaged\n");
    wordline(&["store", "repair", &store]).success();
    let json = wordline(&["store", "merge", &into, &store, "--json"]).json();
    assert_eq!((&json["added"], &json["known"], &json["runs"]), (&0.into(), &1.into(), &1.into()));
}
