//! Checks that screen readers and keyboards can use a page.

use std::collections::{BTreeMap, BTreeSet};

/// A tag of an HTML page.
#[derive(Debug)]
pub(crate) struct Tag<'a> {
    pub name: &'a str,
    pub attributes: BTreeMap<&'a str, &'a str>,
    pub closes: bool,
}

impl Tag<'_> {
    fn has_class(&self, class: &str) -> bool {
        self.attributes.get("class").is_some_and(|classes| classes.split(' ').any(|known| known == class))
    }
}

/// Elements without an end tag.
const EMPTY: [&str; 5] = ["meta", "input", "br", "hr", "wbr"];

/// The tags of the body, up to its scripts.
pub(crate) fn tags(page: &str) -> Vec<Tag<'_>> {
    let body =
        page.split("<body>").nth(1).and_then(|body| body.split("<script").next()).expect("a page has a body");
    let parts = body.split('<').skip(1).filter_map(|part| part.split('>').next());
    parts.filter(|part| !part.is_empty()).map(tag).collect()
}

fn tag(text: &str) -> Tag<'_> {
    let closes = text.starts_with('/');
    let text = text.trim_start_matches('/');
    let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut attributes = BTreeMap::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let key = &rest[..end];
        rest = &rest[end..];
        let value = rest
            .strip_prefix("=\"")
            .map(|quoted| quoted.split('"').next().expect("a split has a first part"));
        rest = value.map_or(rest, |value| &rest[value.len() + 3..]);
        assert!(attributes.insert(key, value.unwrap_or("")).is_none(), "{key} stands twice in <{text}>");
    }
    Tag {
        name: name.trim_end_matches('/'),
        attributes,
        closes: closes || text.ends_with('/') && name != text,
    }
}

/// Panics if the page has a fault.
pub(crate) fn assert_sound(page: &str) {
    let tags = tags(page);
    assert_closed(page);
    assert_landmarks(&tags);
    assert_headings(&tags);
    assert_names(&tags);
    assert_operable(&tags);
}

fn opened<'a, 'b>(tags: &'a [Tag<'b>], name: &'a str) -> impl Iterator<Item = &'a Tag<'b>> {
    tags.iter().filter(move |tag| tag.name == name && !tag.closes)
}

/// Checks that elements are closed in the reverse order of their opening.
fn assert_closed(page: &str) {
    let body = page.split("<body>").nth(1).and_then(|body| body.split("<script").next()).expect("a body");
    let mut open: Vec<&str> = Vec::new();
    for part in body.split('<').skip(1).filter_map(|part| part.split('>').next()) {
        let name = part.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if part.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes what was not opened last");
        } else if !part.ends_with('/') && !EMPTY.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

/// Checks that the page has one of each landmark, and that each section has a name.
fn assert_landmarks(tags: &[Tag<'_>]) {
    for name in ["header", "nav", "main", "footer", "h1"] {
        assert_eq!(opened(tags, name).count(), 1, "<{name}>");
    }
    for tag in tags.iter().filter(|tag| !tag.closes && ["nav", "section", "figure"].contains(&tag.name)) {
        let named = ["aria-label", "aria-labelledby"].iter().any(|key| tag.attributes.contains_key(key));
        assert!(named, "without a name: {tag:?}");
    }
}

/// Checks that no heading is more than one level below the previous heading.
fn assert_headings(tags: &[Tag<'_>]) {
    let level = |tag: &Tag<'_>| match tag.name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] if !tag.closes => Some(digit - b'0'),
        _ => None,
    };
    let mut before = 0;
    for level in tags.iter().filter_map(level) {
        assert!(level <= before + 1, "h{level} after h{before}");
        before = level;
    }
}

/// Checks that ids are unique and references resolve. Each drawing must be a picture with a name and a
/// description, and its figure must contain its numbers.
fn assert_names(tags: &[Tag<'_>]) {
    let mut ids = BTreeSet::new();
    for id in tags.iter().filter_map(|tag| tag.attributes.get("id")) {
        assert!(ids.insert(*id), "twice: {id}");
    }
    for tag in tags {
        let references =
            ["aria-labelledby", "aria-describedby"].iter().filter_map(|key| tag.attributes.get(key));
        let links = tag.attributes.get("href").and_then(|link| link.strip_prefix('#'));
        for id in references.flat_map(|list| list.split(' ')).chain(links) {
            assert!(ids.contains(id), "{id} is nowhere: {tag:?}");
        }
    }
    let figures = opened(tags, "figure").count();
    let drawings: Vec<&Tag> = tags.iter().filter(|tag| tag.has_class("chart")).collect();
    assert_eq!(drawings.len(), figures);
    for drawing in drawings {
        assert_eq!(drawing.attributes.get("role"), Some(&"img"));
        for key in ["aria-labelledby", "aria-describedby"] {
            assert!(drawing.attributes.contains_key(key), "without {key}: {drawing:?}");
        }
    }
    assert_eq!(opened(tags, "details").filter(|tag| tag.has_class("numbers")).count(), figures);
    for tag in opened(tags, "svg") {
        let named = tag.attributes.get("role") == Some(&"img") && tag.attributes.contains_key("aria-label");
        assert!(named || tag.attributes.get("aria-hidden") == Some(&"true"), "without a name: {tag:?}");
    }
}

/// Checks that keys can reach everything that scrolls or can be operated, in the order of the page.
fn assert_operable(tags: &[Tag<'_>]) {
    let mut names = BTreeSet::new();
    for tag in tags.iter().filter(|tag| tag.has_class("wide")) {
        assert_eq!(tag.attributes.get("tabindex"), Some(&"0"), "{tag:?}");
        assert_eq!(tag.attributes.get("role"), Some(&"region"), "{tag:?}");
        assert!(names.insert(tag.attributes["aria-label"]), "two regions of one name: {tag:?}");
    }
    for tag in tags {
        assert!(tag.attributes.get("tabindex").is_none_or(|index| *index == "0"), "{tag:?}");
        assert!(!tag.attributes.keys().any(|key| key.starts_with("on")), "{tag:?}");
    }
    assert!(opened(tags, "button").all(|button| button.attributes.get("type") == Some(&"button")));
    // A control must be an element that can have the focus, and must not be inside a picture.
    let mut inside = 0_usize;
    let mut labels = 0_usize;
    for tag in tags {
        match (tag.name, tag.closes) {
            ("label", closes) => labels = if closes { labels - 1 } else { labels + 1 },
            ("input", _) => assert!(labels > 0, "without a label: {tag:?}"),
            ("svg", closes) => inside = if closes { inside - 1 } else { inside + 1 },
            ("a" | "button" | "summary", false) => assert_eq!(inside, 0, "{tag:?}"),
            _ => {}
        }
    }
}
