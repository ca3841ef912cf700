//! Size limits of a type: its fields, and the files with its methods. A type whose methods are in many files
//! does too much. Types that were larger when the rule was introduced are recorded in `types.toml`. They may
//! only shrink.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Source, words};
use crate::{File, Offence, assert_none, files, root, subjects};

/// The folders to check.
const ROOMS: [&str; 7] = [
    "crates/nand/src/",
    "crates/flash/src/",
    "crates/device/src/",
    "crates/open-channel/src/",
    "crates/ftl/src/",
    "crates/ssd/src/",
    "crates/host/src/",
];
/// A crate that is one room: its type with the most methods is in its root.
const ONE_ROOM: &str = "crates/flash/src/";
/// Most fields of a type with methods on `&mut self`. Fields of contained private structs of its folder count
/// too, unless such a struct has methods on `&mut self` of its own.
const MOST_FIELDS: usize = 20;
/// Most files with inherent methods of one type. The same limit applies to its methods on `&mut self` together
/// with the free functions of its folder that take it by `&mut`.
const MOST_FILES: usize = 4;

/// A struct: whether it is private to its folder, and the types of its fields.
#[derive(Debug, Default)]
struct Struct {
    is_private: bool,
    fields: Vec<String>,
}

/// By folder and name.
type Structs = BTreeMap<(String, String), Struct>;

/// By folder and name of a type: the files with its methods on `&mut self`.
type Methods = BTreeMap<(String, String), BTreeSet<String>>;

/// The room of a file: its folder in the sources of a crate. For a file at the top level it is the file
/// itself.
fn room_of(path: &str) -> Option<String> {
    let base = ROOMS.iter().find(|room| path.starts_with(**room))?;
    if *base == ONE_ROOM {
        return Some(base.trim_end_matches('/').to_owned());
    }
    let rest = path.strip_prefix(base)?;
    Some(format!("{base}{}", rest.split('/').next()?.trim_end_matches(".rs")))
}

/// The code of a file without its tests.
fn code_of(file: &File) -> String {
    let code = Source::split(&file.text).code;
    code.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// The structs with named fields at the top level of `code`.
fn structs(room: &str, code: &str, into: &mut Structs) {
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let is_struct = words(line).any(|word| word == "struct") && line.trim_end().ends_with('{');
        if line.starts_with(char::is_whitespace) || !is_struct {
            continue;
        }
        let name = words(line).skip_while(|word| *word != "struct").nth(1).unwrap_or_default();
        let fields = lines.by_ref().take_while(|line| !line.starts_with('}'));
        let fields = fields.filter(|line| line.starts_with("    ") && !line.starts_with("     "));
        let types = fields.filter_map(|line| Some(line.split_once(": ")?.1.to_owned()));
        let one = Struct { is_private: !line.starts_with("pub struct"), fields: types.collect() };
        into.insert((room.to_owned(), name.to_owned()), one);
    }
}

/// The inherent `impl` blocks at the top level of `code`: the name of the type, and the lines of the block.
fn impls(code: &str) -> Vec<(String, Vec<&str>)> {
    let (mut all, mut lines) = (Vec::new(), code.lines());
    while let Some(line) = lines.next() {
        if !line.starts_with("impl") || words(line).any(|word| word == "for") || line.ends_with('}') {
            continue;
        }
        let head = line.rsplit_once('>').map_or(line, |(before, after)| match after.trim() {
            "{" => before.rsplit_once('<').map_or(before, |(name, _)| name),
            _ => after,
        });
        let name = words(head).last().unwrap_or_default().to_owned();
        all.push((name, lines.by_ref().take_while(|line| !line.starts_with('}')).collect()));
    }
    all
}

/// Records the types with methods on `&mut self` in `code`.
fn methods(room: &str, path: &str, code: &str, into: &mut Methods) {
    for (name, body) in impls(code) {
        if body.iter().any(|line| line.contains("&mut self") || line.contains("(mut self")) {
            into.entry((room.to_owned(), name)).or_default().insert(path.to_owned());
        }
    }
}

/// The types with inherent methods in more files than the limit, by `crate::Type`. Two types of a crate that
/// have the same name are told apart by their folders.
fn spread(files: &[&File]) -> BTreeMap<String, usize> {
    let place = |path: &str| {
        let (of, rest) = path.strip_prefix(crate::CRATES)?.split_once("/src/")?;
        Some((of.to_owned(), rest.split('/').next()?.trim_end_matches(".rs").to_owned()))
    };
    let (mut homes, mut all) = (BTreeMap::<_, BTreeSet<String>>::new(), Methods::new());
    for file in files {
        let Some((of, room)) = place(&file.path) else { continue };
        let code = code_of(file);
        for line in code.lines().filter(|line| !line.starts_with(char::is_whitespace)) {
            let mut words = words(line).skip_while(|word| !["struct", "enum"].contains(word));
            if let Some(name) = words.nth(1) {
                homes.entry((of.clone(), name.to_owned())).or_default().insert(room.clone());
            }
        }
        for (name, body) in impls(&code) {
            if body.iter().any(|line| words(line).any(|word| word == "fn")) {
                let room = format!("{of}::{room}");
                all.entry((room, name)).or_default().insert(file.path.clone());
            }
        }
    }
    let mut joined = BTreeMap::<String, BTreeSet<String>>::new();
    for ((room, name), files) in all {
        let (of, here) = room.split_once("::").expect("a room is in a crate");
        let homes = homes.get(&(of.to_owned(), name.clone()));
        let keys: Vec<String> = match homes.filter(|homes| homes.len() > 1) {
            None => vec![format!("{of}::{name}")],
            Some(homes) if homes.contains(here) => vec![format!("{room}::{name}")],
            // It is not said which of them has the methods.
            Some(homes) => homes.iter().map(|home| format!("{of}::{home}::{name}")).collect(),
        };
        keys.into_iter().for_each(|key| joined.entry(key).or_default().extend(files.clone()));
    }
    let sizes = joined.into_iter().map(|(name, files)| (name, files.len()));
    sizes.filter(|(_, files)| *files > MOST_FILES).collect()
}

/// Records the types that free functions of `code` take by `&mut`. Such functions count as methods.
fn arguments(room: &str, path: &str, code: &str, into: &mut Methods) {
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if line.starts_with(char::is_whitespace) || !words(line).any(|word| word == "fn") {
            continue;
        }
        let mut head = line.to_owned();
        while !head.ends_with('{') && !head.ends_with('}') {
            let Some(next) = lines.next() else { return };
            head.push_str(next);
        }
        for name in head.split(": &mut ").skip(1).filter_map(|taken| words(taken).next()) {
            into.entry((room.to_owned(), name.to_owned())).or_default().insert(path.to_owned());
        }
    }
}

/// Fields of a struct. Fields of contained private structs of its room count too, unless those have `methods`
/// of their own.
fn fields(of: &(String, String), structs: &Structs, methods: &Methods, seen: &mut BTreeSet<String>) -> usize {
    let Some(one) = structs.get(of) else { return 0 };
    if !seen.insert(of.1.clone()) {
        return 0;
    }
    let held = one.fields.iter().flat_map(|field| words(field)).map(|name| (of.0.clone(), name.to_owned()));
    let is_part = |name: &(String, String)| {
        structs.get(name).is_some_and(|held| held.is_private) && !methods.contains_key(name)
    };
    let held: Vec<_> = held.filter(is_part).collect();
    one.fields.len() + held.iter().map(|name| fields(name, structs, methods, seen)).sum::<usize>()
}

/// The sizes of the types that exceed the limits, by `room::Type`.
fn larger(files: &[&File]) -> [BTreeMap<String, usize>; 2] {
    let (mut all, mut changed, mut taken) = (Structs::new(), Methods::new(), Methods::new());
    for file in files {
        let Some(room) = room_of(&file.path) else { continue };
        let code = code_of(file);
        structs(&room, &code, &mut all);
        methods(&room, &file.path, &code, &mut changed);
        if !file.path.ends_with("/tests.rs") && !file.path.contains("/tests/") {
            arguments(&room, &file.path, &code, &mut taken);
        }
    }
    let name = |(room, name): &(String, String)| format!("{room}::{name}");
    let large = changed.keys().map(|of| (name(of), fields(of, &all, &changed, &mut BTreeSet::new())));
    let spread = changed.iter().map(|(of, files)| {
        let others = taken.get(of).into_iter().flatten().filter(|file| !files.contains(*file));
        (name(of), files.len() + others.count())
    });
    [large.filter(|(_, n)| *n > MOST_FIELDS).collect(), spread.filter(|(_, n)| *n > MOST_FILES).collect()]
}

/// Differences between `measured` and the records.
fn differences(
    what: &str,
    measured: &BTreeMap<String, usize>,
    recorded: &BTreeMap<String, usize>,
) -> Vec<Offence> {
    let names: BTreeSet<&String> = measured.keys().chain(recorded.keys()).collect();
    let compare = |name: &&String| match (measured.get(*name), recorded.get(*name)) {
        (Some(now), Some(known)) if now == known => None,
        (Some(now), Some(known)) if now < known => {
            Some(format!("{now} {what}: lower the record from {known}"))
        }
        (Some(now), Some(known)) => {
            Some(format!("{now} {what}, {known} when it was recorded: it may only shrink"))
        }
        (Some(now), None) => Some(format!("{now} {what}: take it apart")),
        (None, _) => Some(format!("its {what} are few enough: remove the record")),
    };
    names.iter().filter_map(|name| Some(Offence::new(name, compare(name)?))).collect()
}

#[test]
fn a_type_holds_little_and_its_methods_lie_together() {
    let files = files();
    let subjects = subjects(&files, 150, |file| file.is_rust() && room_of(&file.path).is_some());
    let text = std::fs::read_to_string(root().join("tests/tidy/types.toml")).expect("the record can be read");
    let recorded: BTreeMap<String, BTreeMap<String, usize>> = toml::from_str(&text).expect("it is TOML");
    let none = BTreeMap::new();
    let [large, spread] = larger(&subjects);
    let mut offences = differences("fields", &large, recorded.get("fields").unwrap_or(&none));
    offences.extend(differences("files", &spread, recorded.get("files").unwrap_or(&none)));
    assert_none(&offences);
}

#[test]
fn the_methods_of_a_type_lie_in_few_files() {
    let files = files();
    let is_source = |file: &File| {
        let is_test = file.path.ends_with("tests.rs") || file.path.contains("/tests/");
        file.is_rust() && file.path.contains("/src/") && !is_test
    };
    let subjects = subjects(&files, 400, is_source);
    let text = std::fs::read_to_string(root().join("tests/tidy/types.toml")).expect("the record can be read");
    let recorded: BTreeMap<String, BTreeMap<String, usize>> = toml::from_str(&text).expect("it is TOML");
    let recorded = recorded.get("methods").cloned().unwrap_or_default();
    assert_none(&differences("files with methods", &spread(&subjects), &recorded));
}

#[test]
fn methods_in_many_files_are_caught() {
    let file = |path: String, text: &str| File { path, text: text.into() };
    let of = |room: &str, n: usize| {
        let text = format!("impl Large {{\n    pub fn number_{n}(&self) {{}}\n}}\n");
        file(format!("crates/ssd/src/{room}/more_{n}.rs"), &text)
    };
    let home = |room: &str| file(format!("crates/ssd/src/{room}/mod.rs"), "pub struct Large;\n");
    let mut all: Vec<File> = (0..5).map(|n| of(["one", "other"][n % 2], n)).collect();
    all.push(home("one"));
    let measured = |all: &[File]| spread(&all.iter().collect::<Vec<_>>());
    assert_eq!(measured(&all), BTreeMap::from([("ssd::Large".into(), 5)]));
    all.push(home("other"));
    assert!(measured(&all).is_empty(), "two types have three and two files");
}

#[test]
fn a_type_of_many_fields_or_files_is_caught() {
    let fields: String = (0..12).map(|n| format!("    field_{n}: u32,\n")).collect();
    let text = format!(
        "struct Inner {{\n{fields}}}\n\npub struct Large {{\n    inner: Vec<Inner>,\n{fields}}}\n\n\
         impl Large {{\n    fn change(&mut self) {{}}\n}}\n"
    );
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let large = file("crates/ssd/src/room/mod.rs", &text);
    let others: Vec<File> = (0..4)
        .map(|n| {
            let text = match n {
                0 => "fn more(large: &mut Large) {}\n",
                _ => "impl<C: Copy> Large {\n    pub fn more(&mut self) {}\n}\n",
            };
            file(&format!("crates/ssd/src/room/more_{n}.rs"), text)
        })
        .collect();
    let files: Vec<&File> = std::iter::once(&large).chain(&others).collect();
    let [fields, files] = larger(&files);
    assert_eq!(fields, BTreeMap::from([("crates/ssd/src/room::Large".into(), 25)]));
    assert_eq!(files, BTreeMap::from([("crates/ssd/src/room::Large".into(), 5)]));
    assert_eq!(differences("fields", &fields, &BTreeMap::new()).len(), 1);
    assert_eq!(differences("fields", &fields, &fields).len(), 0);
}
