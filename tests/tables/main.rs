//! `tables`: puts the results of the store into the pages of the book. mdBook runs it, as `book.toml`
//! requests, and gives it the context and the book as JSON.
//!
//! A mark is an HTML comment on a line of its own. `repro: PAPER/NAME` is replaced by the table of an
//! experiment: the stored record of the largest size and the most seeds. [`Store::block`] lists the other
//! marks.

#[path = "../../crates/experiments/src/judge"]
mod judge {
    pub mod class;
    pub mod counts;
    pub mod map;
}
#[path = "../../crates/experiments/src/show"]
mod show {
    pub mod record;
}
mod store;
mod sums;

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value as Json;
use sums::Store;

fn main() -> ExitCode {
    // mdBook asks which renderers are supported. All are.
    if std::env::args().nth(1).is_some_and(|verb| verb == "supports") {
        return ExitCode::SUCCESS;
    }
    match read_and_fill() {
        Ok(book) => {
            println!("{book}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Reads the book from the input and fills its marks.
fn read_and_fill() -> Result<Json, String> {
    let input = std::io::read_to_string(std::io::stdin()).map_err(|error| error.to_string())?;
    let (context, mut book): (Json, Json) =
        serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let root = context["root"].as_str().ok_or("the context of mdBook has no root")?;
    let store = Store::open(Path::new(root))?;
    fill(&mut book, &store)?;
    Ok(book)
}

/// Fills the marks of all chapters.
fn fill(value: &mut Json, store: &Store) -> Result<(), String> {
    match value {
        Json::Array(all) => all.iter_mut().try_for_each(|value| fill(value, store)),
        Json::Object(all) => all.iter_mut().try_for_each(|(key, value)| match value {
            Json::String(text) if key == "content" => {
                *text = filled(text, store)?;
                Ok(())
            }
            value => fill(value, store),
        }),
        _ => Ok(()),
    }
}

/// The text of a page with its marks replaced.
fn filled(text: &str, store: &Store) -> Result<String, String> {
    let mut out = String::new();
    for line in text.lines() {
        let mark = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let block = mark.map(|mark| store.block(mark)).transpose()?.flatten();
        out += &block.map_or_else(|| format!("{line}\n"), |block| format!("\n{block}\n"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{entries, text};
    use crate::sums::PAPERS;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository")
    }

    fn store() -> Store {
        Store::open(root()).expect("the store is well formed")
    }

    #[test]
    fn a_mark_takes_the_table_of_its_experiment_and_one_without_a_record_is_refused() {
        let page = |mark: &str| {
            let inner = serde_json::json!({"Chapter": {"content": format!("A\n<!-- {mark} -->\nB\n")}});
            let mut book = serde_json::json!({"items": [{"Chapter": {"content": "", "sub_items": [inner]}}]});
            fill(&mut book, &store())?;
            let inner = &book["items"][0]["Chapter"]["sub_items"][0]["Chapter"]["content"];
            inner.as_str().map(str::to_owned).ok_or_else(|| book.to_string())
        };
        let text = page("repro: nandflashsim/fig12").expect("a record");
        assert!(text.starts_with("A\n\n") && text.ends_with("\n\nB\n"), "{text}");
        assert!(text.contains("**nandflashsim/fig12**: `wordline repro nandflashsim/fig12 "), "{text}");
        assert!(text.contains("\n\n| claim | what | paper |"), "{text}");
        assert_eq!(page("fields").as_deref(), Ok("A\n<!-- fields -->\nB\n"));
        assert_eq!(page("repro: a/b"), Err("a/b: no record in the store".to_owned()));
    }

    /// The pages of a folder and its subfolders.
    fn pages(folder: &Path, found: &mut Vec<String>) {
        for path in entries(folder).expect("a folder") {
            match path.extension() {
                None => pages(&path, found),
                Some(end) if end == "md" => found.push(text(&path).expect("a page is text")),
                Some(_) => {}
            }
        }
    }

    #[test]
    fn every_mark_of_the_book_is_filled() {
        let (mut all, store) = (Vec::new(), store());
        pages(&root().join("docs"), &mut all);
        let marks = ["repro", "verdict", "printed", "readings", "results"];
        for page in all {
            let filled = filled(&page, &store).expect("its marks");
            let left = |line: &&str| marks.iter().any(|mark| line.starts_with(&format!("<!-- {mark}")));
            assert_eq!(filled.lines().find(left), None);
        }
    }

    /// The README has the numbers too, but it is not a page of the book. `UPDATE_DOCS=1` writes them again.
    #[test]
    fn the_numbers_that_papers_print_stand_in_the_readme() {
        let path = root().join("README.md");
        let page = text(&path).expect("a page is text");
        let (before, rest) = page.split_once("<!-- printed numbers -->\n").expect("a mark");
        let (_, after) = rest.split_once("<!-- /printed numbers -->\n").expect("a mark at the end");
        let numbers = store().headline();
        let new =
            format!("{before}<!-- printed numbers -->\n\n{numbers}\n<!-- /printed numbers -->\n{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, new).expect("the page can be written");
        } else {
            assert_eq!(page, new, "UPDATE_DOCS=1 writes it anew");
        }
    }

    /// Without a page, the experiments of a paper would be missing from the book.
    #[test]
    fn every_paper_of_the_experiments_has_a_page() {
        let folders = entries(&root().join("data/experiments")).expect("a folder");
        let names = folders.iter().filter(|path| path.is_dir()).filter_map(|path| path.file_name()?.to_str());
        let mut papers: Vec<&str> =
            names.filter(|name| !["drives", "peers", "validation"].contains(name)).collect();
        let mut known = PAPERS.map(|(paper, _)| paper);
        papers.sort_unstable();
        known.sort_unstable();
        assert_eq!(papers, known);
        assert!(known.iter().all(|paper| root().join(format!("docs/papers/{paper}.md")).is_file()));
    }
}
