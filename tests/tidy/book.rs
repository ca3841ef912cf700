//! The book: its table of contents lists every page of `docs` once, and every link of a page has a target.

use std::collections::BTreeSet;

use crate::{File, Offence, assert_none, files, root, subjects};

/// The table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The folder of the book.
const BOOK: &str = "docs/";

/// Pages outside the book whose links are checked too.
const BESIDE: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "fuzz/README.md"];

fn is_page(file: &File) -> bool {
    file.path.starts_with(BOOK) && file.path.ends_with(".md") || BESIDE.contains(&file.path.as_str())
}

/// The lines of a page outside of its fenced blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(n, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((n + 1, line))
    })
}

/// The targets of the links of a line, except those in backquotes.
fn targets(line: &str) -> Vec<String> {
    let plain: String = line.split('`').step_by(2).collect();
    let links = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(target, _)| target.to_owned()).collect()
}

/// The anchor of a heading: its letters and digits in lower case, with hyphens for spaces.
fn anchor(heading: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let kept = heading.trim().chars().filter(is_kept);
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The anchors of the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let name = anchor(line.trim_start_matches('#'));
        let again = (0..).map(|n| if n == 0 { name.clone() } else { format!("{name}-{n}") });
        let unused = again.into_iter().find(|name| !all.contains(name));
        all.extend(unused);
    }
    all
}

/// The path of a link's target, relative to the root.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The fault of a link, if there is one. `exists`: whether a path exists that is not a page.
fn fault(page: &File, target: &str, pages: &[&File], exists: &impl Fn(&str) -> bool) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, part) = target.split_once('#').map_or((target, None), |(path, part)| (path, Some(part)));
    let path = if path.is_empty() { page.path.clone() } else { resolved(&page.path, path) };
    if page.path.starts_with(BOOK) && !path.starts_with(BOOK) {
        return Some(format!("`{target}` leaves the book: name the file in backquotes"));
    }
    let Some(to) = pages.iter().find(|page| page.path == path) else {
        return (!exists(&path)).then(|| format!("`{target}` is not there"));
    };
    let part = part.filter(|part| !anchors(&to.text).contains(*part))?;
    Some(format!("{path} has no heading `#{part}`"))
}

/// The faults of the links of a page.
fn faults(page: &File, pages: &[&File], exists: &impl Fn(&str) -> bool) -> Vec<Offence> {
    let links = prose(&page.text).flat_map(|(n, line)| targets(line).into_iter().map(move |to| (n, to)));
    let wrong = links.filter_map(|(n, to)| Some((n, fault(page, &to, pages, exists)?)));
    wrong.map(|(n, what)| Offence::new(format!("{}:{n}", page.path), what)).collect()
}

/// The pages that the table of contents omits or lists twice.
fn not_once(contents: &File, pages: &[&File]) -> Vec<Offence> {
    let listed: Vec<String> =
        prose(&contents.text).flat_map(|(_, line)| targets(line)).map(|to| resolved(CONTENTS, &to)).collect();
    let in_book = pages.iter().filter(|page| page.path.starts_with(BOOK) && page.path != CONTENTS);
    let times = |path: &str| listed.iter().filter(|listed| *listed == path).count();
    let wrong = in_book.map(|page| (page, times(&page.path))).filter(|(_, times)| *times != 1);
    wrong
        .map(|(page, times)| Offence::new(CONTENTS, format!("has {} {times} times, wanted once", page.path)))
        .collect()
}

#[test]
fn every_link_of_the_pages_leads_to_what_there_is() {
    let files = files();
    let pages = subjects(&files, 80, is_page);
    let exists = |path: &str| root().join(path).exists();
    assert_none(&pages.iter().flat_map(|page| faults(page, &pages, &exists)).collect::<Vec<_>>());
}

#[test]
fn the_contents_of_the_book_have_every_page_once() {
    let files = files();
    let pages = subjects(&files, 80, is_page);
    let contents = pages.iter().find(|page| page.path == CONTENTS).expect("there is a table of contents");
    assert_none(&not_once(contents, &pages));
}

#[test]
fn a_link_to_nothing_is_caught() {
    let page = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let other = page(
        "docs/b/other.md",
        "# Its *name*, `and` more\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n",
    );
    let of = |text: &str| {
        let one = page("docs/one.md", text);
        let wrong = faults(&one, &[&one, &other], &|path| path == "docs/line.svg");
        wrong.iter().map(|offence| offence.complaint.clone()).collect::<Vec<_>>()
    };
    let sound = "[a](b/other.md#its-name-and-more) [b](b/other.md#twice-1) ![c](line.svg) [d](https://a.b/c)\n# Own\n[e](#own) `[f](g)`\n";
    assert_eq!(of(sound), [""; 0]);
    assert_eq!(of("```md\n[a](gone.md)\n```\n"), [""; 0]);
    assert_eq!(of("[a](gone.md)"), ["`gone.md` is not there"]);
    assert_eq!(of("[a](b/other.md#no-heading)"), ["docs/b/other.md has no heading `#no-heading`"]);
    assert_eq!(of("[a](../README.md)"), ["`../README.md` leaves the book: name the file in backquotes"]);
    let back = page("docs/b/back.md", "[a](../one.md)\n[b](../two.md)");
    let wrong = faults(&back, &[&page("docs/one.md", "")], &|_| false);
    assert_eq!(wrong, [Offence::new("docs/b/back.md:2", "`../two.md` is not there")]);
}

#[test]
fn a_page_that_the_contents_leave_out_is_caught() {
    let page = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let contents = page(CONTENTS, "- [A](a.md)\n- [B](b/b.md)\n- [B](b/b.md)\n");
    let pages = ["docs/a.md", "docs/b/b.md", "docs/c.md", "README.md"].map(|path| page(path, ""));
    let wrong = not_once(&contents, &pages.iter().collect::<Vec<_>>());
    let said: Vec<&str> = wrong.iter().map(|offence| offence.complaint.as_str()).collect();
    assert_eq!(said, ["has docs/b/b.md 2 times, wanted once", "has docs/c.md 0 times, wanted once"]);
}
