//! The style sheet of pages, and its colours.

/// The style sheet.
pub(super) const STYLE: &str = include_str!("../../assets/report.css");

/// A colour of the light page.
pub(super) fn colour(name: &str) -> &'static str {
    let found = STYLE.split_once(&format!("--{name}: ")).and_then(|(_, rest)| rest.split(';').next());
    found.expect("the style sheet has the colour")
}
