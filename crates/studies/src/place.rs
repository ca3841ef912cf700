//! The place of a key of a study in messages: a line of its file, or an argument.

use wordline_kernel::Complaint;
use wordline_lab::config::line_of;

use crate::file::{KeyOrigin, Study};

/// The complaint about `key` at its place.
pub(crate) fn placed(study: &Study, key: &str, complaint: &Complaint) -> Complaint {
    let Complaint { found, wanted, .. } = complaint.clone();
    let Some(of_device) = key.strip_prefix("device.") else {
        return Complaint { key: key_position(study, key), found, wanted };
    };
    // A key of the device may be one that a varied key leads to, or lacks.
    let varied = study.sweep.vary.iter().map(|axis| axis.key.as_str()).find(|axis| {
        let is_below = |whole: &str, part: &str| {
            whole.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let policy = axis.strip_suffix(".policy");
        is_below(axis, of_device) || policy.is_some_and(|table| is_below(of_device, table))
    });
    if let Some(varied) = varied {
        let place = key_position(study, &format!("vary {varied}"));
        let is_missing = found == "nothing" && varied.ends_with(".policy");
        let wanted = match varied.strip_suffix(".policy").filter(|_| is_missing) {
            Some(table) => format!("{wanted}. A policy with keys is written {table}=NAME{{KEY=VALUE}}"),
            None => wanted,
        };
        let key = if is_missing { format!("{place}: {of_device}") } else { place };
        return Complaint { key, found, wanted };
    }
    let place = match (&study.config, study.written) {
        (Some((path, text)), _) => match line_of(text, of_device) {
            Some(line) => format!("{}:{line}: {of_device}", path.display()),
            None => format!("--set {of_device}"),
        },
        (None, KeyOrigin::Arguments) => format!("--set {of_device}"),
        (None, _) => key_position(study, key),
    };
    Complaint { key: place, found, wanted }
}

/// Name of `key` in messages. `vary KEY` means a value of that varied key.
fn key_position(study: &Study, key: &str) -> String {
    let path = study.path.display();
    let varied = key.strip_prefix("vary ").map(|rest| rest.split(": ").next().unwrap_or(rest));
    let shown = match key.strip_prefix("vary[").and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => format!("vary{rest}"),
        None => key.to_owned(),
    };
    match study.written {
        KeyOrigin::Arguments => argument_of(&shown).unwrap_or_else(|| format!("{path}: {shown}")),
        KeyOrigin::Keys => format!("{path}: {shown}"),
        KeyOrigin::File => {
            let number = varied.and_then(|key| study.sweep.vary.iter().position(|axis| axis.key == key));
            let at = number.map_or_else(|| key.to_owned(), |number| format!("vary[{number}]"));
            match line_of(&study.text, &at) {
                Some(line) => format!("{path}:{line}: {shown}"),
                None => format!("{path}: {shown}"),
            }
        }
    }
}

/// The command-line argument that sets a key, for a study without a file.
fn argument_of(key: &str) -> Option<String> {
    // A fault in a workload file has the file and the line.
    if let Some(own) = key.strip_prefix("workload.")
        && own
            .split_once(':')
            .is_some_and(|(_, line)| line.starts_with(|letter: char| letter.is_ascii_digit()))
    {
        return Some(own.to_owned());
    }
    let named = |argument: &str, rest: &str| format!("--{argument} {rest}").trim_end().to_owned();
    Some(match key.split_once(['.', ' ']).unwrap_or((key, "")) {
        ("vary", "key" | "values") => named("vary", ""),
        ("vary", varied) => named("vary", varied),
        ("against", varied) => named("against", varied),
        ("columns", _) => named("column", ""),
        ("repeat", "seeds") => named("seeds", ""),
        ("workload", "named.name") => named("workload", ""),
        ("workload", rest) if rest.ends_with("queue_depth") => named("queue-depth", ""),
        ("workload", rest) if rest.ends_with("requests") => named("requests", ""),
        ("workload", "file.time_scale") => named("time-scale", ""),
        ("workload", rest) if rest.ends_with("think_time") => named("think-time", ""),
        ("workload", "file.path") => "--workload or --trace".to_owned(),
        ("budget", _) => named("memory", ""),
        (word @ ("preset" | "precondition"), _) => named(word, ""),
        _ => return None,
    })
}
