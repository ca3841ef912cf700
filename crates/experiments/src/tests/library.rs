//! Tests of the library: embedded experiments, and those of a folder.

use super::*;

#[test]
fn every_embedded_experiment_is_well_formed_and_every_folder_is_embedded() {
    let library = Library::open(None).expect("embedded experiments are well formed");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/experiments");
    let on_disk = Library::open(Some(&root)).expect("the folder is readable");
    assert_eq!(library.list(), on_disk.list());
    for experiment in library.iter() {
        assert!(!experiment.title.is_empty() && !experiment.source.is_empty(), "{}", experiment.id);
    }
}

#[test]
fn an_experiment_in_a_folder_takes_the_place_of_an_embedded_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inside = folder.path().join("validation/waf-uniform");
    std::fs::create_dir_all(&inside).expect("a new folder");
    std::fs::write(inside.join("experiment.toml"), WAF.replacen("title = \"", "title = \"Mine: ", 1))
        .expect("room for a file");
    let library = Library::open(Some(folder.path())).expect("well formed");
    assert!(library.find("validation/waf-uniform").expect("it is there")[0].title.starts_with("Mine: "));
    let error = library.find("validation/waf").expect_err("no such experiment").to_string();
    assert!(
        error.starts_with("experiment: found `validation/waf`, wanted validation/waf-hot-cold, "),
        "{error}"
    );
}

#[test]
fn the_list_has_the_documented_form() {
    let entry = Entry { id: "centaur/fig11".into(), claims: vec!["CEN-N1".into()], title: "T".into() };
    let json = serde_json::to_string(&[entry]).expect("a list is JSON");
    assert_eq!(json, r#"[{"id":"centaur/fig11","claims":["CEN-N1"],"title":"T"}]"#);
}

#[test]
fn an_unreadable_folder_is_an_error_with_its_name() {
    let error = Library::open(Some(&PathBuf::from("/no/such/folder"))).expect_err("there is none");
    assert!(matches!(error, Error::File { path, .. } if path == Path::new("/no/such/folder")));
}
