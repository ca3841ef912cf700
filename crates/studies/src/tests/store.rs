//! Tests of stores that are damaged, incomplete, or replaced by something else.

use std::path::PathBuf;

use super::*;
use crate::{Files, check, missing, repair};

/// A store of four runs in `folder`, and the files of its runs.
fn filled(folder: &Path) -> (Study, PathBuf, Vec<PathBuf>) {
    let text = STUDY.replace("steps = 3", "steps = 2").replace("\"greedy\", \"fifo\"", "\"greedy\"");
    let (study, path) = (study(&text), folder.join("store"));
    done(&study, &Store::open(&path).expect("a new folder"));
    let mut files: Vec<PathBuf> = std::fs::read_dir(path.join("runs"))
        .expect("a store")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    (study, path, files)
}

fn change(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).expect("it is there");
    assert!(text.contains(from), "{from}");
    std::fs::write(file, text.replacen(from, to, 1)).expect("it can be written");
}

fn name(file: &Path) -> String {
    format!("runs/{}", file.file_name().expect("it has one").display())
}

/// The damaged files, each with its reason.
fn damage(path: &Path) -> Vec<(String, String)> {
    let checked = check(path).expect("it is a store");
    checked.damage.into_iter().map(|damage| (damage.file.display().to_string(), damage.reason)).collect()
}

/// The error of a study that finds damage.
fn told(study: &Study, path: &Path) -> String {
    let store = Store::open(path).expect("a store");
    run(study, &store, "program", &progress(&AtomicBool::new(false))).expect_err("it is damaged").to_string()
}

#[test]
fn a_changed_digit_a_renamed_key_and_swapped_files_are_no_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let (study, path, files) = filled(folder.path());
    let whole = done(&study, &Store::open(&path).expect("a store")).json();
    assert_eq!(check(&path).expect("a store"), crate::CheckReport { runs: 4, damage: Vec::new() });
    let was: Vec<String> =
        files.iter().map(|file| std::fs::read_to_string(file).expect("it is there")).collect();
    let its_digest = "content that its digest does not fit: it was changed or cut off";
    for (from, to) in [("\"write_amplification\":", "\"write_amplificatiom\":"), ("\"mean\":", "\"mean\":9")]
    {
        change(&files[1], from, to);
        assert_eq!(damage(&path), [(name(&files[1]), its_digest.to_owned())]);
        let told = told(&study, &path);
        assert!(told.contains(&name(&files[1])) && told.contains("wordline store repair"), "{told}");
        std::fs::write(&files[1], &was[1]).expect("it can be written");
    }
    std::fs::write(&files[0], &was[1]).expect("it can be written");
    std::fs::write(&files[1], &was[0]).expect("it can be written");
    let stems = [0, 1].map(|at: usize| files[at].file_stem().expect("it has one").display().to_string());
    let swapped =
        [(0, 1), (1, 0)].map(|(at, other)| (name(&files[at]), format!("the record of run {}", stems[other])));
    assert_eq!(damage(&path), swapped);
    std::fs::write(&files[2], &was[2][..was[2].len() / 2]).expect("it can be written");
    std::fs::write(&files[3], "").expect("it can be written");
    assert_eq!(
        damage(&path)[2..],
        [(name(&files[2]), its_digest.to_owned()), (name(&files[3]), "no record with a digest".to_owned())]
    );
    // Damaged files are moved, not deleted, and their runs are repeated.
    let (checked, moved) = repair(&path).expect("it can be moved");
    assert_eq!((checked.damage.len(), moved.len()), (4, 4));
    assert_eq!(std::fs::read_to_string(path.join(&moved[0].to)).expect("it is kept"), was[1]);
    assert_eq!(damage(&path), []);
    assert_eq!(done(&study, &Store::open(&path).expect("a store")).json(), whole);
}

#[test]
fn windows_that_are_not_those_of_their_run_are_moved_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (study, path, files) = filled(folder.path());
    let windows = |at: usize| path.join("windows").join(files[at].file_name().expect("it has one"));
    std::fs::copy(windows(1), windows(0)).expect("it is there");
    std::fs::remove_file(windows(2)).expect("it is there");
    std::fs::write(path.join("windows/notes.txt"), "mine").expect("it can be written");
    let reasons: Vec<String> = damage(&path).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].starts_with("content that is not that of the windows of run "), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.starts_with("no file, though run ")), "{reasons:?}");
    let (_, moved) = repair(&path).expect("it can be moved");
    assert_eq!(moved.len(), 4, "two runs, a file of windows and the notes: {moved:?}");
    assert_eq!(std::fs::read_to_string(path.join("damaged/windows/notes.txt")).expect("it is kept"), "mine");
    done(&study, &Store::open(&path).expect("a store"));
    assert_eq!(check(&path).expect("a store"), crate::CheckReport { runs: 4, damage: Vec::new() });
    // A second repair overwrites no file.
    change(&files[0], "\"seed\":", "\"sead\":");
    let (_, moved) = repair(&path).expect("it can be moved");
    assert!(moved[0].to.to_string_lossy().ends_with(".json.1"), "{moved:?}");
}

#[test]
fn a_store_whose_making_was_cut_short_is_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    // The states between the steps of creating a store, for this and earlier versions.
    for (n, parts) in [&[][..], &["runs"], &["runs", "windows"]].into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        std::fs::create_dir(&path).expect("it can be made");
        parts.iter().for_each(|part| std::fs::create_dir(path.join(part)).expect("it can be made"));
        std::fs::write(path.join(".unfinished-abc"), "{").expect("it can be written");
        let store = Store::open(&path).expect("it is completed");
        assert_eq!(store.get("name").expect("there is none"), None);
        assert!(!path.join(".unfinished-abc").exists());
    }
    // A program that was killed during the build left this folder.
    let beside = folder.path().join(".new.unfinished-abc");
    std::fs::create_dir_all(beside.join("runs")).expect("it can be made");
    Store::open(&folder.path().join("new")).expect("a new folder");
    assert!(!beside.exists());
}

#[test]
fn many_programs_at_once_make_one_store() {
    let folder = tempfile::tempdir().expect("a folder");
    for n in 0..20 {
        let path = folder.path().join(format!("new-{n}"));
        let start = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            let one = || {
                start.wait();
                Store::open(&path).map(drop).unwrap_or_else(|error| panic!("{error}"));
            };
            (0..6).for_each(|_| drop(scope.spawn(one)));
        });
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            n + 1,
            "nothing is left beside"
        );
    }
}

#[test]
fn what_another_program_is_writing_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let first = Store::open(&path).expect("a new folder");
    let file = path.join("runs/.unfinished-abc");
    std::fs::write(&file, "{").expect("it can be written");
    let second = Store::open(&path).expect("a store");
    assert!(file.exists());
    drop((first, second));
    Store::open(&path).expect("a store");
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn a_fifo_or_a_link_in_the_place_of_a_store_or_of_its_files_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (study, path, files) = filled(folder.path());
    let fifo = |place: &Path| {
        let made = std::process::Command::new("mkfifo").arg(place).status().expect("a program of POSIX");
        assert!(made.success());
    };
    let refused = |place: &Path| Store::open(place).map(drop).expect_err("it is no store").to_string();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("it can be made");
    assert!(refused(&link).contains("found a link, wanted a store of studies"), "{}", refused(&link));
    fifo(&folder.path().join("fifo"));
    assert!(refused(&folder.path().join("fifo")).contains("found a FIFO"));
    std::fs::remove_file(&files[0]).expect("it is there");
    fifo(&files[0]);
    let told = told(&study, &path);
    assert!(told.contains(&name(&files[0])) && told.contains("found a FIFO"), "{told}");
    assert_eq!(damage(&path), [(name(&files[0]), "a FIFO".to_owned())]);
    std::fs::remove_file(path.join("store.json")).expect("it is there");
    fifo(&path.join("store.json"));
    assert!(refused(&path).contains("store.json: found a FIFO"), "{}", refused(&path));
}

#[test]
fn a_failed_run_gives_way_to_a_good_one_and_to_no_other() {
    let study = study(&STUDY.replace("steps = 3", "steps = 2"));
    let store = Store::in_memory();
    let tasks = missing(&study, &store, "program", None).expect("a study");
    let task = &tasks[0];
    let good = crate::carry_out(&task.text, "program", (None, None), &mut RunNames::default(), &NEVER);
    let good = good.expect("it is ours");
    let stored: crate::Record = serde_json::from_str(&good.run).expect("a record");
    let bad =
        crate::Record { state: crate::State::Failed, error: Some("no".into()), summary: None, ..stored };
    let (bad, _) = bad.files(&task.name);
    let put = |files: &Files| store.put_or_replace(&task.name, files).expect("files of the run");
    let state = || store.get(&task.name).expect("it is in memory").expect("it is known").state;
    assert_eq!((put(&bad), put(&bad), state()), (true, false, crate::State::Failed));
    assert_eq!((put(&good), put(&good), state()), (true, false, crate::State::Done));
    assert_eq!((put(&bad), state()), (false, crate::State::Done));
    let left = missing(&study, &store, "program", None).expect("a study");
    assert_eq!((left.len(), left.iter().any(|left| left.name == task.name)), (tasks.len() - 1, false));
}
