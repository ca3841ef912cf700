//! Generates the pages of the book about commands, metrics and policies. Tests compare the pages with the
//! program. `UPDATE_GOLDEN=1` rewrites them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use wordline_lab::config::{Policy, policies};
use wordline_lab::devices::Registry;

use crate::Program;

/// Options of every command. The page describes them once.
const COMMON_OPTIONS: [&str; 5] = ["color", "quiet", "verbose", "help", "version"];

/// Escapes text for a cell of a table: one line, without the syntax of tables and HTML.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let escaped =
        |(n, part): (usize, &str)| if n % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() };
    line.split('`').enumerate().map(escaped).collect::<Vec<_>>().join("`")
}

/// Syntax of an argument, such as `--seed <N>`.
fn form(argument: &Arg) -> String {
    let names: Vec<String> =
        argument.get_value_names().into_iter().flatten().map(|name| format!("<{name}>")).collect();
    let is_flag = !argument.get_action().takes_values();
    let optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let values = match (is_flag, optional) {
        (true, _) => String::new(),
        (false, true) => format!("[{}]", names.join(" ")),
        (false, false) => names.join(" "),
    };
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let flags = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    format!("{flags} {values}").trim().to_owned()
}

/// Meaning of an argument, with default and possible values.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
    let mut text = help.unwrap_or_default().trim_end_matches('.').to_owned() + ".";
    let values = argument.get_possible_values();
    if argument.get_action().takes_values() && !argument.is_hide_possible_values_set() && !values.is_empty() {
        let names: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(text, " One of {}.", names.join(", "));
    }
    let defaults = argument.get_default_values();
    if argument.get_action().takes_values() && !argument.is_hide_default_value_set() && !defaults.is_empty() {
        let values: Vec<String> =
            defaults.iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        let _ = write!(text, " Default: {}.", values.join(", "));
    }
    text
}

fn table(out: &mut String, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    *out += "\n| argument | meaning |\n|---|---|\n";
    for argument in arguments {
        let _ = writeln!(out, "| `{}` | {} |", form(argument).replace('|', "\\|"), cell(&meaning(argument)));
    }
}

/// Writes a command and its subcommands. Leaves out the text after the options if the parent command has the
/// same text.
fn describe(out: &mut String, command: &mut Command, shown: &str) {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ");
    let level = if command.has_subcommands()
        || command.get_bin_name().is_some_and(|name| name.matches(' ').count() == 1)
    {
        "##"
    } else {
        "###"
    };
    let _ = writeln!(out, "\n{level} `{}`\n", command.get_bin_name().unwrap_or("wordline"));
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "{about}\n\n```text\n{usage}\n```");
    let own =
        |argument: &&Arg| !COMMON_OPTIONS.contains(&argument.get_id().as_str()) && !argument.is_hide_set();
    let arguments: Vec<&Arg> = command.get_arguments().filter(own).collect();
    table(out, &arguments);
    let after = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    if !after.is_empty() && after != shown {
        let _ = writeln!(out, "\n```text\n{after}\n```");
    }
    for below in command.get_subcommands_mut() {
        describe(out, below, &after);
    }
}

/// Text of `docs/commands.md`.
fn commands() -> String {
    let mut program = Program::command().disable_help_subcommand(true);
    program.build();
    let mut out = String::from(
        "# Commands\n\nThe commands of `wordline`, as the program describes them; `--help` prints the same. [Trace options](traces.md), \
         [keys of a device](configuration.md) and [of a study](studies.md) have pages of their own.\n\n| command | does |\n|---|---|\n",
    );
    for command in program.get_subcommands() {
        let name = command.get_bin_name().unwrap_or_default();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| [`{name}`](#{}) | {} |", name.replace(' ', "-"), cell(&about));
    }
    out += "\n## Options of every command\n";
    let of_all: Vec<&Arg> = COMMON_OPTIONS
        .iter()
        .filter_map(|id| program.get_arguments().find(|one| one.get_id() == id))
        .collect();
    table(&mut out, &of_all);
    let after = program.get_after_help().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(out, "\n```text\n{after}\n```");
    for command in program.get_subcommands_mut() {
        describe(&mut out, command, &after);
    }
    out
}

/// Text of `docs/metrics.md`.
fn metrics() -> String {
    let registry = Registry::default();
    let mut sections: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for metric in registry.metrics() {
        let row = format!("| `{}` | {} | {} |", metric.name, metric.unit.name(), cell(metric.meaning));
        let rows = sections.entry(metric.section().unwrap_or_default()).or_default();
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut out = String::from(
        "# Metrics\n\nWhat devices measure, by the names in the JSON of a run; `wordline metrics` prints the same. A study names them as columns, Python \
         as attributes of a result. [Reports](report.md#the-fields-of-the-json) has the other fields of a result: those of the host, of time, of windows.\n",
    );
    for (section, rows) in sections {
        let title =
            if section.is_empty() { "Of the whole device".to_owned() } else { format!("`{section}`") };
        let _ =
            writeln!(out, "\n## {title}\n\n| name | unit | meaning |\n|---|---|---|\n{}", rows.join("\n"));
    }
    out
}

/// Returns the page of a policy from the folder of pages.
fn page(policy: &Policy) -> String {
    let folder =
        if policy.seam == "design" { "designs".to_owned() } else { format!("policies/{}", policy.seam) };
    format!("{folder}/{}.md", policy.policy.replace('-', "_"))
}

/// Text of `docs/policies.md`.
fn policy_list() -> String {
    let mut out = String::from(
        "# Policies and designs\n\nEvery decision of a device that can be exchanged is an *extension point*, with built-in policies. A key names the policy; `*` marks the one \
         that is used by default. `wordline policies` prints the same, and the page of each. [Extending](EXTENDING.md) says how to add one.\n",
    );
    let mut seam = String::new();
    for policy in policies(&Registry::default()) {
        if policy.seam != seam {
            let _ = writeln!(
                out,
                "\n## {}\n\n| policy | key | settings | does |\n|---|---|---|---|",
                policy.seam
            );
            seam.clone_from(&policy.seam);
        }
        let mark = if policy.default { "*" } else { "" };
        let settings: Vec<String> = policy.settings.iter().map(|key| format!("`{key}`")).collect();
        let link = format!("[{}]({}){mark}", policy.policy, page(&policy));
        let _ = writeln!(
            out,
            "| {link} | `{}` | {} | {} |",
            policy.key,
            settings.join(", "),
            cell(&policy.description)
        );
    }
    out
}

#[test]
fn the_pages_of_commands_metrics_and_policies_are_current() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, wanted) in
        [("commands.md", commands()), ("metrics.md", metrics()), ("policies.md", policy_list())]
    {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(docs.join(name), &wanted).expect("the page can be written");
        }
        let said = std::fs::read_to_string(docs.join(name)).unwrap_or_default();
        assert!(
            said == wanted,
            "docs/{name} is old: UPDATE_GOLDEN=1 cargo test -p wordline-cli --lib reference"
        );
    }
}

#[test]
fn every_command_and_option_is_on_the_page() {
    let page = commands();
    for text in [
        "## `wordline run`",
        "### `wordline trace convert`",
        "| `--seed <N>` |",
        "`-q, --quiet`",
        "Default: `0`.",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(cell("a <B> or `<C>|d`"), "a \\<B> or `<C>\\|d`");
}
