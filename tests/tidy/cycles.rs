//! Cyclic dependencies between the files of a crate. A cycle of many files is one module in several files.
//! Cycles that were longer than the limit when the rule was introduced are recorded in `cycles.toml`. They
//! may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, is_word};
use crate::{File, Offence, assert_none, files, root, subjects};

/// The folders to check, with the least number of files in each.
const ROOMS: [(&str, usize); 17] = [
    ("crates/kernel/src/", 20),
    ("crates/nand/src/", 170),
    ("crates/trace/src/", 120),
    ("crates/host/src/", 80),
    ("crates/designs/src/", 20),
    ("crates/ftl/src/", 110),
    ("crates/ssd/src/", 60),
    ("crates/flash/src/", 20),
    ("crates/device/src/", 20),
    ("crates/open-channel/src/", 30),
    ("crates/run/src/", 40),
    ("crates/lab/src/", 80),
    ("crates/experiments/src/", 30),
    ("crates/studies/src/", 30),
    ("crates/fit/src/", 15),
    ("crates/cli/src/", 30),
    ("bindings/python/src/", 20),
];
/// Most files of a cycle.
const MOST_FILES: usize = 3;

/// The path from the root of the crate to a module, or to a name in one.
type ModulePath = Vec<String>;

/// A module: its file, and the modules that it uses, by imported name.
#[derive(Debug, Default)]
struct Module {
    path: String,
    /// Imported names and their origins. Re-exports are not uses of the module itself.
    names: BTreeMap<String, ModulePath>,
    passes_on: BTreeSet<String>,
    /// Paths in the code outside of `use`.
    ways: Vec<ModulePath>,
}

/// Modules by path.
type Modules = BTreeMap<ModulePath, Module>;

/// Folders whose subfolders count as one file each: an extension point names its policies, and each policy
/// implements it.
const SEAMS: [&str; 2] = ["crates/ftl/src/policy/", "crates/ssd/src/policy/"];

/// The path of the module in a file of the crate in `room`.
fn path_of(path: &str, room: &str) -> Option<ModulePath> {
    let rest = path.strip_prefix(room)?.strip_suffix(".rs")?;
    let parts = rest.split('/').filter(|part| !["mod", "lib"].contains(part));
    Some(parts.map(str::to_owned).collect())
}

/// The name under which a cycle counts a file: its path, or the folder of its extension point.
fn counted(path: &str) -> String {
    let of_seam = |folder: &str| {
        let (seam, _) = path.strip_prefix(folder)?.split_once('/')?;
        Some(format!("{folder}{seam}/"))
    };
    SEAMS.into_iter().find_map(of_seam).unwrap_or_else(|| path.to_owned())
}

/// A line without its visibility.
fn without_visibility(line: &str) -> String {
    match line.split_once("pub(in ") {
        Some((before, after)) => {
            format!("{before}pub(in {}", after.split_once(')').map_or("", |(_, rest)| rest))
        }
        None => line.to_owned(),
    }
}

/// The paths of a `use` tree, each with the imported name.
fn tree(text: &str, before: &[String], found: &mut Vec<(String, ModulePath)>) {
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        let (head, inner) = part.split_once('{').map_or((part, None), |(head, inner)| (head, Some(inner)));
        let (head, name) = head.split_once(" as ").map_or((head, None), |(head, name)| (head, Some(name)));
        let mut way = before.to_vec();
        way.extend(head.split("::").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned));
        if let Some(inner) = inner {
            tree(inner.trim_end().trim_end_matches('}'), &way, found);
            continue;
        }
        if way.last().is_some_and(|last| last == "self") {
            way.pop();
        }
        if let Some(last) = way.last().cloned() {
            found.push((name.map_or(last, |name| name.trim().to_owned()), way));
        }
    }
}

/// A path of the module `of`, resolved from the root of the crate. `None` if the path is outside the crate.
fn from_root(way: &[String], of: &ModulePath, modules: &BTreeSet<ModulePath>) -> Option<ModulePath> {
    let (first, rest) = way.split_first()?;
    let mut base = match first.as_str() {
        "crate" => ModulePath::new(),
        "self" => of.clone(),
        "super" => of[..of.len().checked_sub(1)?].to_vec(),
        _ => {
            let mut child = of.clone();
            child.push(first.clone());
            return modules.contains(&child).then(|| child.into_iter().chain(rest.iter().cloned()).collect());
        }
    };
    for word in rest {
        if word == "super" {
            base.pop();
        } else {
            base.push(word.clone());
        }
    }
    Some(base)
}

/// The paths such as `a::b::c` in a line of code.
fn ways(line: &str) -> impl Iterator<Item = ModulePath> + '_ {
    let words = line.split(|c: char| !(is_word(c) || c == ':')).filter(|word| word.contains("::"));
    words.map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

/// The code without its test module and without modules that are compiled only for tests.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut lines = code.lines().peekable();
    while let Some(line) = lines.next() {
        let guarded = if line == "#[cfg(test)]" { lines.peek().copied().unwrap_or_default() } else { "" };
        if guarded.starts_with("mod ") && guarded.ends_with('{') {
            break;
        }
        if guarded.ends_with(';') {
            lines.next();
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Whether a line declares a module in a separate file.
fn is_declaration(line: &str) -> bool {
    line.ends_with(';') && line.split_whitespace().any(|word| word == "mod")
}

/// Reads a module.
fn module(file: &File, of: &ModulePath, all: &BTreeSet<ModulePath>) -> Module {
    let code = without_tests(&Source::split(&file.text).code);
    let mut module = Module { path: file.path.clone(), ..Module::default() };
    let mut rest = String::new();
    let mut uses = String::new();
    for line in code.lines() {
        let is_use = line.starts_with("use ")
            || (line.starts_with("pub") && line.contains(" use ") && !line.contains('('))
            || (line.starts_with("pub(") && line.contains(") use "));
        if is_use || !uses.is_empty() {
            uses.push_str(line);
            uses.push(' ');
            if line.contains(';') {
                let (passes_on, text) =
                    uses.split_once("use ").map_or((false, ""), |(head, text)| (!head.is_empty(), text));
                let mut found = Vec::new();
                tree(text.trim_end().trim_end_matches(';'), &[], &mut found);
                for (name, way) in found {
                    if let Some(way) = from_root(&way, of, all) {
                        if passes_on {
                            module.passes_on.insert(name.clone());
                        }
                        module.names.insert(name, way);
                    }
                }
                uses.clear();
            }
            continue;
        }
        rest.push_str(line);
        rest.push('\n');
    }
    module.ways = rest.lines().flat_map(|line| ways(&without_visibility(line)).collect::<Vec<_>>()).collect();
    // A re-exported import is also a use if the code names it.
    let body = rest.lines().filter(|line| !is_declaration(line));
    let named: BTreeSet<&str> = body.flat_map(|line| line.split(|c| !is_word(c))).collect();
    module.passes_on.retain(|name| !named.contains(name.as_str()));
    module
}

/// The module that defines the target of a path. Follows re-exports.
fn home(way: &[String], modules: &Modules, depth: usize) -> Option<ModulePath> {
    let length = (0..=way.len()).rev().find(|length| modules.contains_key(&way[..*length]))?;
    let of = &modules[&way[..length]];
    match way.get(length).and_then(|name| of.names.get(name)) {
        Some(further) if depth > 0 => {
            let further: ModulePath = further.iter().chain(&way[length + 1..]).cloned().collect();
            home(&further, modules, depth - 1)
        }
        _ => Some(way[..length].to_vec()),
    }
}

/// The modules that each module uses.
fn uses(modules: &Modules) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
    let all: BTreeSet<ModulePath> = modules.keys().cloned().collect();
    let of = |(way, module): (&ModulePath, &Module)| {
        let names = module.names.iter().filter(|(name, _)| !module.passes_on.contains(*name));
        let named = names.map(|(_, way)| way.clone());
        let written = module.ways.iter().filter_map(|written| {
            from_root(written, way, &all).or_else(|| {
                let first = module.names.get(written.first()?)?;
                Some(first.iter().chain(&written[1..]).cloned().collect())
            })
        });
        let used = named.chain(written).filter_map(|used| home(&used, modules, 8));
        (way.clone(), used.filter(|used| used != way).collect())
    };
    modules.iter().map(of).collect()
}

/// All modules reachable from a module.
fn reached(from: &ModulePath, uses: &BTreeMap<ModulePath, BTreeSet<ModulePath>>) -> BTreeSet<ModulePath> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&ModulePath> = vec![from];
    while let Some(way) = open.pop() {
        for next in uses.get(way).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

/// The cycles of the crate in `room` that have more files than the limit.
fn cycles(files: &[&File], room: &str) -> Vec<BTreeSet<String>> {
    let all: BTreeSet<ModulePath> = files.iter().filter_map(|file| path_of(&file.path, room)).collect();
    let module = |file: &&File| {
        let way = path_of(&file.path, room)?;
        let module = module(file, &way, &all);
        Some((way, module))
    };
    let modules: Modules = files.iter().filter_map(module).collect();
    let uses = uses(&modules);
    let reach: BTreeMap<&ModulePath, BTreeSet<ModulePath>> =
        modules.keys().map(|way| (way, reached(way, &uses))).collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for way in modules.keys() {
        let is_back = |other: &&ModulePath| reach.get(other).is_some_and(|back| back.contains(way));
        let cycle: BTreeSet<&ModulePath> = reach[way].iter().filter(is_back).collect();
        let files: BTreeSet<String> = cycle.iter().map(|way| counted(&modules[*way].path)).collect();
        if files.len() > MOST_FILES && !seen.contains(way) {
            seen.extend(cycle.iter().copied());
            found.push(files);
        }
    }
    found
}

/// Differences between the cycles and the recorded lists of files. Lists may only shrink.
fn differences(measured: &[BTreeSet<String>], recorded: &BTreeMap<String, BTreeSet<String>>) -> Vec<Offence> {
    let known: BTreeSet<&String> = recorded.values().flatten().collect();
    let now: BTreeSet<&String> = measured.iter().flatten().collect();
    let mut offences = Vec::new();
    for cycle in measured {
        let home = recorded.values().find(|files| cycle.iter().any(|file| files.contains(file)));
        for file in cycle.iter().filter(|file| home.is_none_or(|home| !home.contains(*file))) {
            let others: Vec<&str> =
                cycle.iter().filter(|other| *other != file).take(4).map(String::as_str).collect();
            offences.push(Offence::new(
                file,
                format!("needs, and is needed by, {others:?} and others: {} files", cycle.len()),
            ));
        }
    }
    for file in known.difference(&now) {
        offences.push(Offence::new(file, "is in no large cycle any more: remove it from the record"));
    }
    offences
}

#[test]
fn no_more_than_three_files_need_each_other() {
    let files = files();
    let text =
        std::fs::read_to_string(root().join("tests/tidy/cycles.toml")).expect("the record can be read");
    let recorded: BTreeMap<String, BTreeSet<String>> = toml::from_str(&text).expect("it is TOML");
    let found = ROOMS.iter().flat_map(|(room, least)| {
        let inside = subjects(&files, *least, |file| file.is_rust() && file.path.starts_with(room));
        cycles(&inside, room)
    });
    assert_none(&differences(&found.collect::<Vec<_>>(), &recorded));
}

#[test]
fn a_cycle_is_caught_through_names_that_are_passed_on() {
    let room = ROOMS[0].0;
    let file = |name: &str, text: &str| File { path: format!("{room}{name}.rs"), text: text.into() };
    let one = file("one/mod", "mod part;\npub use part::{Part, more::Other as Else};\n");
    let part = file("one/part", "use crate::two::Two;\npub struct Part;\n");
    let two = file("two", "use crate::three;\nfn f() { three::call() }\n");
    let three = file("three", "fn call() { crate::four::Four::go() }\n");
    let four = |text: &str| file("four", text);
    let closed = four("use crate::{one::Part, two::{self}};\n");
    let found = cycles(&[&one, &part, &two, &three, &closed], room);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].len(), 4, "the file that passes a name on is none of them: {found:?}");
    assert_eq!(differences(&found, &BTreeMap::new()).len(), 4);
    let record = BTreeMap::from([("all".to_owned(), found[0].clone())]);
    assert_eq!(differences(&found, &record).len(), 0);
    assert_eq!(differences(&[], &record).len(), 4, "a record that is not needed is told of");
    let used_below = four("#[cfg(test)]\nmod tests;\nuse crate::one::Part;\n");
    assert_eq!(
        cycles(&[&one, &part, &two, &three, &used_below], room).len(),
        1,
        "what follows a module of tests counts"
    );
    let of_tests = four("#[cfg(test)]\nmod tests {\nuse crate::one::Part;\n}\n");
    assert_eq!(cycles(&[&one, &part, &two, &three, &of_tests], room).len(), 0);
    let open = four("// use crate::one::Part;\nfn f() { \"crate::one::Part\"; }\n");
    assert_eq!(cycles(&[&one, &part, &two, &three, &open], room).len(), 0);
}
