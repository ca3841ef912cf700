//! Files and folders that pages name: they must exist.

use crate::{File, Offence, assert_none, files, subjects};

/// The texts in backquotes on a line.
pub fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The texts in backquotes on a line that name a source file or a folder. One with capitals, such as
/// `policy/SEAM/`, names several.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |text: &&str| text.chars().all(|c| c.is_ascii_lowercase() || "0123456789_-./".contains(c));
    quoted(line).filter(is_name).filter(|name| name.ends_with(".rs") || name.ends_with('/'))
}

/// Whether a file or a folder with this name exists. Pages may omit leading folders.
fn exists(name: &str, paths: &[&str]) -> bool {
    let within = format!("/{name}");
    paths.iter().any(|path| match name.ends_with('/') {
        true => path.starts_with(name) || path.contains(&within),
        false => *path == name || path.ends_with(&within),
    })
}

/// The files that a page names but that do not exist.
fn missing(page: &File, paths: &[&str]) -> Vec<Offence> {
    let lines = page.text.lines().enumerate();
    let names = lines.flat_map(|(n, line)| named(line).map(move |name| (n, name)));
    let gone = names.filter(|(_, name)| !exists(name, paths));
    gone.map(|(n, name)| {
        Offence::new(format!("{}:{}", page.path, n + 1), format!("`{name}` is not there: name what is"))
    })
    .collect()
}

#[test]
fn files_that_the_pages_name_exist() {
    let files = files();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let is_page = |file: &File| {
        let in_docs = file.path.starts_with("docs/") && file.path.ends_with(".md");
        in_docs || ["README.md", "CONTRIBUTING.md", "fuzz/README.md"].contains(&file.path.as_str())
    };
    let pages = subjects(&files, 60, is_page);
    assert_none(&pages.into_iter().flat_map(|page| missing(page, &paths)).collect::<Vec<_>>());
}

#[test]
fn a_file_and_a_folder_that_are_gone_are_caught() {
    let paths = ["crates/ssd/src/writer/build.rs", "crates/ssd/src/lib.rs"];
    let page = |text: &str| File { path: "docs/page.md".into(), text: text.into() };
    assert_eq!(
        missing(&page("See `writer/build.rs`, `crates/ssd/src/`, `policy/SEAM/` and `ssd.rs.txt`."), &paths),
        []
    );
    assert_eq!(missing(&page("See `device/write.rs`."), &paths).len(), 1);
    assert_eq!(
        missing(&page("In `build.rs` and\n`crates/ssd/src/ftl/`."), &paths)[0].place,
        "docs/page.md:2"
    );
}
