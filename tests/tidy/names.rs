//! Types that pages name: in Rust code of a page they must be public, so that a user may copy it, and in
//! backquotes they must exist.

use std::collections::BTreeSet;

use crate::pages::quoted;
use crate::source::{Source, is_word, words};
use crate::{File, Offence, assert_none, files, subjects};

/// Types and traits of the standard library that the pages use.
const STANDARD: [&str; 17] = [
    "Arc", "Box", "Clone", "Debug", "Default", "Err", "Into", "None", "Ok", "Option", "Path", "PathBuf",
    "Self", "Send", "Some", "String", "Vec",
];

/// Pages that name former types, types of Python, or parameters of other simulators.
const EXCEPT: [&str; 5] = [
    "docs/glossary.md",
    "CHANGELOG.md",
    "docs/python.md",
    "docs/python-reference.md",
    "docs/how-to/from-simplessd.md",
];

/// Whether a word is written as types are.
fn is_type(word: &str) -> bool {
    let is_written = word.contains(|c: char| c.is_ascii_lowercase()) && !word.contains('_');
    is_written && word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Names of types: those that other crates can use, and all.
#[derive(Default)]
struct Types {
    public: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl Types {
    /// The types of some Rust files. Everything that an example names is public. Variants, which have no
    /// `pub`, are the words at the beginning of a line.
    fn of(files: &[File]) -> Self {
        let mut types = Self::default();
        types.public.extend(STANDARD.map(str::to_owned));
        for file in files.iter().filter(|file| file.is_rust()) {
            let code = Source::split(&file.text).code;
            types.all.extend(words(&code).filter(|word| is_type(word)).map(str::to_owned));
            if file.path.starts_with("examples/") {
                types.public.extend(words(&code).map(str::to_owned));
            }
            for line in code.lines() {
                let line = line.trim_start();
                let item = ["pub struct ", "pub enum ", "pub trait ", "pub type "]
                    .iter()
                    .find_map(|at| line.strip_prefix(at));
                types.public.extend(words(item.unwrap_or(line)).next().map(str::to_owned));
            }
        }
        types.all.extend(types.public.iter().cloned());
        types
    }
}

/// The types that a page names but that a reader cannot find or use.
fn unknown(page: &File, types: &Types) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut is_rust = None;
    for (n, line) in page.text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            is_rust = if is_rust.is_none() { Some(info == "rust") } else { None };
            continue;
        }
        let place = format!("{}:{}", page.path, n + 1);
        match is_rust {
            Some(true) => {
                let code = Source::split(line).code;
                let names = words(&code).filter(|word| is_type(word) && !word.starts_with("My"));
                let private = names.filter(|word| !types.public.contains(*word));
                offences.extend(
                    private.map(|word| Offence::new(&place, format!("`{word}` is not public: name what is"))),
                );
            }
            Some(false) => {}
            None => {
                let quoted = quoted(line).filter(|text| text.chars().all(is_word));
                let is_compound =
                    |word: &&str| is_type(word) && word[1..].contains(|c: char| c.is_ascii_uppercase());
                let gone = quoted.filter(is_compound).filter(|word| !types.all.contains(*word));
                offences.extend(
                    gone.map(|word| Offence::new(&place, format!("`{word}` is not there: name what is"))),
                );
            }
        }
    }
    offences
}

#[test]
fn types_that_the_pages_name_exist() {
    let files = files();
    let types = Types::of(&files);
    let is_page = |file: &File| {
        let is_checked = !EXCEPT.contains(&file.path.as_str());
        is_checked && file.path.ends_with(".md") && !file.path.starts_with("data/")
    };
    let pages = subjects(&files, 60, is_page);
    assert_none(&pages.into_iter().flat_map(|page| unknown(page, &types)).collect::<Vec<_>>());
}

#[test]
fn a_private_type_and_one_that_is_gone_are_caught() {
    let rust = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let files = [
        rust(
            "crates/ssd/src/lib.rs",
            "pub struct Needs;\nstruct LayerLevels;\npub enum Policy {\n    Greedy,\n}\n",
        ),
        rust("examples/one/src/lib.rs", "use wordline_lab::Registry;\n"),
    ];
    let types = Types::of(&files);
    let page = |text: &str| File { path: "docs/page.md".into(), text: text.into() };
    let found =
        |text: &str| unknown(&page(text), &types).iter().map(|one| one.place.clone()).collect::<Vec<_>>();
    assert_eq!(
        found(
            "`Needs`, `LayerLevels` and `Registry`\n```rust\nNeeds(Greedy, Registry, MyOwn) // Other\n```\n"
        ),
        [""; 0]
    );
    assert_eq!(found("```rust\nNeeds\nLayerLevels\n```\n"), ["docs/page.md:3"]);
    assert_eq!(found("`BlockSpace`, `Over`"), ["docs/page.md:1"]);
}
