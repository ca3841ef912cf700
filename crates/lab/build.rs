//! Writes a list of the policy pages (`docs/policies/EXTENSION-POINT/NAME.md`), so that the program can embed
//! them.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The entries of a folder, sorted by name.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the repository is whole");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("it has a name").to_string_lossy().into_owned()
}

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let policies = root.join("../../docs/policies");
    println!("cargo::rerun-if-changed={}", policies.display());
    let mut list = String::from("&[\n");
    for folder in inside(&policies) {
        let seam = stem(&folder);
        for page in inside(&folder) {
            list += &format!("    ({seam:?}, {:?}, include_str!({page:?})),\n", stem(&page));
        }
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("policies.rs"), list).expect("there is room");
}
