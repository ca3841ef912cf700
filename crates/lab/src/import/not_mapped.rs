//! Parameters that are not mapped to keys, with reasons.

use super::parameters::Parameters;
use super::text::Toml;

/// A parameter that is not mapped to a key.
pub struct NotMapped {
    name: &'static str,
    reason: &'static str,
    /// The values with which nothing is lost: the model here does the same, or the parameter has no effect
    /// on results. `*` for all values.
    as_here: &'static [&'static str],
}

/// Shorthand for an entry of the table.
pub const fn not(name: &'static str, as_here: &'static [&'static str], reason: &'static str) -> NotMapped {
    NotMapped { name, reason, as_here }
}

/// Writes comments about the parameters that are not mapped, under a heading. Returns those whose effect is lost, with their
/// values.
pub fn write_not_mapped(given: &mut Parameters, out: &mut Toml, table: &[NotMapped]) -> Vec<String> {
    out.lines.extend([String::new(), "# Not mapped:".into()]);
    let mut lost = Vec::new();
    for NotMapped { name, reason, as_here } in table {
        let Some(value) = given.skip(name) else { continue };
        out.lines.push(format!("# {name} = {value}: {reason}."));
        if !as_here.iter().any(|same| *same == "*" || value.eq_ignore_ascii_case(same)) {
            lost.push(format!("{name} = {value}"));
        }
    }
    lost
}
