//! The building blocks of every page.

use std::fmt::Write as _;

/// A part of a page, named in its contents.
pub struct Section {
    /// Its id, for links.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// Its content, as HTML.
    pub html: String,
}

impl Section {
    /// A section with its heading in plain text.
    pub fn new(id: &'static str, title: impl Into<String>, html: String) -> Self {
        Self { id, title: title.into(), html }
    }
}

/// Appends formatted text.
pub fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

/// Text escaped for HTML, in an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}

/// A name with dots and underscores, with a possible line break after each of them.
pub(super) fn breakable(name: &str) -> String {
    escaped(name).replace('_', "_<wbr>").replace('.', ".<wbr>")
}

/// The opening tag of content that may be wider than the page, and scrolls sideways, by keys as well.
pub(super) fn scrolled(name: &str) -> String {
    format!("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", escaped(name))
}
