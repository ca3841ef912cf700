//! Building blocks of HTML pages.

use std::fmt::Write as _;

/// A section of a page, which the table of contents lists.
pub struct Section {
    /// Id for links.
    pub id: &'static str,
    /// Heading, as text.
    pub title: String,
    /// Content, as HTML.
    pub html: String,
}

impl Section {
    /// A section whose heading is plain text.
    pub fn new(id: &'static str, title: impl Into<String>, html: String) -> Self {
        Self { id, title: title.into(), html }
    }
}

/// Appends formatted text.
pub fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes any text");
}

/// Escapes text for an HTML element or attribute.
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

/// A name with a possible line break after each dot and underscore.
pub(super) fn breakable(name: &str) -> String {
    escaped(name).replace('_', "_<wbr>").replace('.', ".<wbr>")
}

/// The opening tag of content that may be wider than the page. It scrolls sideways, and keys can scroll it
/// too.
pub(super) fn scrolled(name: &str) -> String {
    format!("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", escaped(name))
}
