use std::fs;
use std::path::Path;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it is a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a listed entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the directory can be written");
}

#[test]
fn a_file_replaces_what_stood_there_in_a_folder_that_is_there() {
    let directory = folder();
    let path = directory.path().join("a/b/result.json");
    let error = write(&path, b"x").expect_err("folders are not made").to_string();
    assert!(error.contains("there is no folder ") && error.contains("a/b"), "{error}");
    assert_eq!(names_in(directory.path()).len(), 0);
    fs::create_dir_all(directory_of(&path)).expect("the directory can be written");
    write(&path, b"first, and longer").expect("the directory can be written");
    write(&path, b"second").expect("the directory can be written");
    assert_eq!(fs::read(&path).expect("it was written"), b"second");
    assert_eq!(names_in(path.parent().expect("it has one")), ["result.json"]);
}

#[test]
fn a_directory_that_is_a_file_is_an_error_naming_the_path() {
    let directory = folder();
    let file = directory.path().join("file");
    put(&file, b"here");
    let path = file.join("result.json");
    let error = write(&path, b"x").expect_err("a file holds no files");
    let text = error.to_string();
    assert!(text.starts_with(&format!("{}: cannot write: ", path.display())), "{text}");
}

#[test]
fn a_refused_output_leaves_no_temporary_file() {
    let directory = folder();
    let path = directory.path().join("taken");
    fs::create_dir(&path).expect("the directory can be written");
    write(&path, b"x").expect_err("a directory cannot be replaced by a file");
    drop(Output::open(&directory.path().join("given-up")).expect("a free name"));
    assert_eq!(names_in(directory.path()), ["taken"]);
}

#[test]
fn files_under_way_are_removed_when_the_program_ends() {
    let directory = folder();
    let file =
        PendingFile::named(&directory.path().join("result.json")).expect("the directory can be written");
    assert_eq!(names_in(directory.path()).len(), 1);
    // On Linux the file has no name.
    #[cfg_attr(not(target_os = "linux"), expect(irrefutable_let_patterns))]
    let PendingFile::Named(_, unfinished) = &file else { panic!("a file with a name") };
    // Remove only the file of this test: other tests run at the same time.
    unfinished.remove();
    assert_eq!(names_in(directory.path()).len(), 0);
}

#[test]
fn a_file_with_a_temporary_name_takes_its_own() {
    let directory = folder();
    let path = directory.path().join("result.json");
    for text in ["first", "second"] {
        let file = PendingFile::named(&path).expect("the directory can be written");
        file.file().write_all(text.as_bytes()).expect("it can be written");
        file.take_name(&path).expect("the directory can be written");
        assert_eq!(fs::read(&path).expect("it was written"), text.as_bytes());
    }
    assert_eq!(names_in(directory.path()), ["result.json"]);
}

/// A killed program leaves nothing, because the file has no name.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_not_whole_has_no_name() {
    let directory = folder();
    let path = directory.path().join("result.json");
    let mut output = Output::open(&path).expect("a free name");
    if matches!(output.target, Target::Beside { file: PendingFile::Named(..), .. }) {
        println!("skipped: the file system of {} has no files without names", directory.path().display());
        return;
    }
    output.write_all(b"half").expect("it can be written");
    assert_eq!(names_in(directory.path()).len(), 0);
    output.finish().expect("the directory can be written");
    assert_eq!(names_in(directory.path()), ["result.json"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let directory = folder();
        let (file, link, far) =
            (directory.path().join("file"), directory.path().join("link"), directory.path().join("far"));
        put(&file, b"old");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("it is ours");
        symlink("file", &link).expect("the directory can be written");
        symlink(&link, &far).expect("the directory can be written");
        write(&far, b"new").expect("it can be written");
        assert_eq!(fs::read(&file).expect("it is there"), b"new");
        assert_eq!(mode(&file), 0o640);
        for link in [link, far] {
            assert!(fs::symlink_metadata(link).expect("it is there").is_symlink());
        }
    }

    #[test]
    fn a_link_to_nothing_yet_makes_what_it_names() {
        let directory = folder();
        let link = directory.path().join("link");
        symlink("later", &link).expect("the directory can be written");
        write(&link, b"x").expect("it can be written");
        assert_eq!(names_in(directory.path()), ["later", "link"]);
        let ring = directory.path().join("ring");
        symlink("ring", &ring).expect("the directory can be written");
        assert!(write(&ring, b"x").is_err(), "a ring of links leads nowhere");
    }

    /// Read-only files are refused even for the superuser, who could write them.
    #[test]
    fn a_read_only_file_is_refused_and_stays() {
        let directory = folder();
        let file = directory.path().join("file");
        put(&file, b"mine");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("it is ours");
        let error = Output::open(&file).expect_err("it is read-only").to_string();
        assert!(error.ends_with("file: cannot write: the file is read-only"), "{error}");
        assert_eq!(fs::read(&file).expect("it is there"), b"mine");
        assert_eq!(names_in(directory.path()), ["file"]);
    }

    /// A named pipe, with a thread that reads it.
    fn pipe(path: &Path) -> std::thread::JoinHandle<Vec<u8>> {
        assert!(Command::new("mkfifo").arg(path).status().expect("POSIX has mkfifo").success());
        let path = path.to_owned();
        std::thread::spawn(move || fs::read(path).expect("a pipe can be read"))
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        let directory = folder();
        let (path, link) = (directory.path().join("pipe"), directory.path().join("link"));
        let reader = pipe(&path);
        let before = fs::symlink_metadata(&path).expect("it is there").ino();
        symlink(&path, &link).expect("the directory can be written");
        write(&link, b"through").expect("a pipe can be written");
        assert_eq!(reader.join().expect("the reader read"), b"through");
        let about = fs::symlink_metadata(&path).expect("it is there");
        assert!(about.file_type().is_fifo() && about.ino() == before);
        assert_eq!(names_in(directory.path()), ["link", "pipe"]);
    }

    /// The test uses a link in its own folder. If the program wrongly replaced a file, it would replace only
    /// this link.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to_and_stays_a_device() {
        let directory = folder();
        let link = directory.path().join("link");
        symlink("/dev/full", &link).expect("the directory can be written");
        assert_eq!(place::of(&link).expect("it is there"), place::ResolvedPath::Special("/dev/full".into()));
        let error = write(&link, b"x").expect_err("nothing fits there");
        assert!(error.to_string().contains("No space left"), "{error}");
        assert_eq!(names_in(directory.path()), ["link"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_that_the_caller_opened_are_not_replaced() {
        use place::ResolvedPath;
        let directory = folder();
        let link = directory.path().join("link");
        for (name, standard) in [("/dev/stdout", true), ("/proc/self/fd/1", true), ("/dev/fd/63", false)] {
            let wanted = if standard { ResolvedPath::Stdout } else { ResolvedPath::Special(name.into()) };
            assert_eq!(place::of(Path::new(name)).expect("a name"), wanted);
            symlink(name, &link).expect("the directory can be written");
            assert_eq!(place::of(&link).expect("a link"), wanted);
            fs::remove_file(&link).expect("the directory can be written");
        }
    }
}

mod reports {
    use super::super::report::PAGE;
    use super::*;

    fn files(names: &[&str]) -> Vec<(String, Vec<u8>)> {
        names.iter().map(|name| ((*name).to_owned(), name.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_report_takes_the_place_of_all_of_the_one_before() {
        let directory = folder();
        let path = directory.path().join("out/report");
        let first = ReportFolder::claim(&path).expect("a free name");
        assert!(!first.replaces());
        first
            .write(&files(&["charts/a.vl.json", "charts/b.vl.json", "summary.json", PAGE]))
            .expect("it can be written");
        let second = ReportFolder::claim(&path).expect("a report");
        assert!(second.replaces());
        second.write(&files(&["charts/b.vl.json", "outcome.json", PAGE])).expect("it can be written");
        assert_eq!(names_in(&path), ["charts", "outcome.json", PAGE]);
        assert_eq!(names_in(&path.join("charts")), ["b.vl.json"]);
    }

    #[test]
    fn charts_that_were_drawn_belong_to_the_report_and_so_do_tables_and_answers() {
        let directory = folder();
        let path = directory.path().join("report");
        let drawn = ["charts/a.vl.json", "charts/a.pdf", "charts/a.svg", "table.json", "answers.json", PAGE];
        ReportFolder::claim(&path).expect("a free name").write(&files(&drawn)).expect("it can be written");
        let second = ReportFolder::claim(&path).expect("a report");
        second.write(&files(&["charts/a.vl.json", PAGE])).expect("it can be written");
        assert_eq!(
            (names_in(&path), names_in(&path.join("charts"))),
            (vec!["charts".into(), PAGE.into()], vec!["a.vl.json".into()])
        );
    }

    #[test]
    fn a_folder_with_anything_else_is_refused_and_stays() {
        for (name, found) in [
            ("thesis.tex", "a folder that holds thesis.tex, too"),
            ("charts/mine.png", "a folder that holds charts/mine.png, too"),
            ("summary.json", "a folder with files, without report.html among them"),
        ] {
            let directory = folder();
            let file = directory.path().join(name);
            fs::create_dir_all(directory_of(&file)).expect("the directory can be written");
            put(&file, b"mine");
            let error = ReportFolder::claim(directory.path()).expect_err("it is no report").to_string();
            assert!(error.contains(found), "{error}");
            assert_eq!(fs::read(&file).expect("it is there"), b"mine");
            assert_eq!(names_in(directory.path()).len(), 1);
        }
    }

    #[test]
    fn a_folder_belongs_to_one_run_at_a_time_and_is_given_back() {
        let directory = folder();
        let path = directory.path().join("report");
        let first = ReportFolder::claim(&path).expect("a free name");
        let error = ReportFolder::claim(&path).expect_err("it is taken").to_string();
        assert!(error.contains("another run is going to write its report"), "{error}");
        drop(first);
        assert_eq!(names_in(directory.path()).len(), 0, "a run that ends without a report leaves no folder");
        ReportFolder::claim(&path).expect("it is free again");
    }

    #[test]
    fn a_report_needs_a_folder() {
        assert!(ReportFolder::claim(Path::new("-")).is_err());
        let directory = folder();
        let file = directory.path().join("file");
        put(&file, b"mine");
        assert!(ReportFolder::claim(&file).is_err());
        assert_eq!(fs::read(&file).expect("it is there"), b"mine");
    }
}
