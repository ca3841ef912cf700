//! Builds one tree from presets, files and arguments: reads them, replaces names by their documents, and
//! merges the layers.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use wordline_designs::{DECIDES, DESIGN, DESIGNS};
use wordline_kernel::{Complaints, one_of};

use super::embedded::{self, CELLS, Embedded, PARTS};
use super::read::file_keys;
use super::schema::{self, DEVICE, FILE_KEYS, join};
use super::tree::{self, Node, Origin, Table, Value};
use crate::devices::{DeviceType, Registry, Ssd, type_of};
use crate::{Error, error::Result, input};

/// Greatest number of presets that build on one another. Chosen. It also stops a cycle.
const MOST_LAYERS: usize = 16;

/// A tree, and the keys that describe its file.
pub struct Layered {
    /// All layers, merged.
    pub tree: Node,
    /// Name of the device.
    pub name: String,
    /// Description of the device.
    pub description: String,
    /// The source of its numbers.
    pub source: String,
}

impl Layered {
    /// Renames a device that has become another type. Its description and source, which belong to lower
    /// layers, are cleared.
    fn rename(&mut self, name: String) {
        self.name = name;
        self.description.clear();
        self.source.clear();
    }
}

/// A TOML text and its origin.
struct Document {
    label: String,
    name: String,
    text: String,
    folder: PathBuf,
}

/// The text of a configuration file.
fn read(path: &Path) -> Result<Document> {
    let content = |found: String, wanted: &str| {
        Err(Error::Content { path: path.to_owned(), found, wanted: wanted.into() })
    };
    let text = input::text(path, "a configuration in TOML")?;
    if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        return content("an empty file".into(), "a device in TOML, such as `preset = \"nvme-tlc\"`");
    }
    let shown = input::shown(path);
    let stem = shown.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(Document { label: shown.display().to_string(), name: stem, text, folder })
}

/// The embedded text `name`, or the file at that path relative to `folder`; `None` if neither exists.
fn find(kind: &str, name: &str, all: &[embedded::Embedded], folder: &Path) -> Result<Option<Document>> {
    if let Some(text) = embedded::text_of(name, all) {
        let (label, folder) = (format!("{kind} {name}"), PathBuf::new());
        return Ok(Some(Document { label, name: name.into(), text: text.into(), folder }));
    }
    let is_path = Path::new(name).extension().is_some_and(|end| end == "toml") || name.contains('/');
    if is_path { read(&folder.join(name)).map(Some) } else { Ok(None) }
}

fn wanted(kind: &str, name: &str, all: &[embedded::Embedded]) -> String {
    format!("a {kind}: {} - or the path of a file that ends in .toml", one_of(name, &embedded::names(all)))
}

fn wanted_preset(registry: &Registry, name: &str, all: &[Embedded]) -> String {
    let wanted = wanted("preset", name, all);
    match registry.designs().find(name) {
        Some(_) => format!("{wanted} ({})", schema::design_hint(name)),
        None => wanted,
    }
}

fn refuse<T>(key: String, found: impl std::fmt::Display, wanted: impl Into<String>) -> Result<T> {
    let mut wrong = Complaints::default();
    wrong.add(key, found, wanted);
    Err(Error::Config(wrong))
}

/// The preset `name`, merged with all presets that it builds on.
pub fn preset(registry: &Registry, name: &str) -> Result<Layered> {
    let presets = presets(registry);
    match find("preset", name, &presets, Path::new(""))? {
        Some(document) => build(registry, document, None, 0),
        None => refuse(format!("--preset {name}"), "no such name", wanted_preset(registry, name, &presets)),
    }
}

fn presets(registry: &Registry) -> Vec<Embedded> {
    registry.presets().copied().collect()
}

/// The part `name`, or the part in the file at that path.
pub fn part(name: &str) -> Result<Node> {
    match find("part", name, PARTS, Path::new(""))? {
        Some(document) => {
            let mut part = tree::parse(&document.label, &document.text).map_err(Error::Config)?;
            resolve_set(&mut part, "", &document.folder)?;
            Ok(part)
        }
        None => refuse(format!("--part {name}"), "no such name", wanted("part", name, PARTS)),
    }
}

/// The cell parameter set `name`, or the set in the file at that path.
pub fn cells(name: &str) -> Result<Node> {
    match find("parameter set", name, CELLS, Path::new(""))? {
        Some(document) => tree::parse(&document.label, &document.text).map_err(Error::Config),
        None => refuse(name.to_owned(), "no such parameter set", wanted("parameter set", name, CELLS)),
    }
}

/// The file at `path`, merged with the preset that it names. A file that names no preset uses `base`.
pub fn file(registry: &Registry, path: &Path, base: Option<&str>) -> Result<Layered> {
    build(registry, read(path)?, base, 0)
}

/// A document from a text. Messages call it `label`.
pub fn text(registry: &Registry, label: &str, name: &str, text: &str) -> Result<Layered> {
    let folder = PathBuf::new();
    let document = Document { label: label.into(), name: name.into(), text: text.into(), folder };
    build(registry, document, None, 0)
}

/// A document from a table of keys.
pub fn keys(registry: &Registry, name: &str, table: &toml::Table) -> Result<Layered> {
    let layer: Rc<str> = name.into();
    let origin = |_: &str| Origin::Layer(Rc::clone(&layer), Origin::OF_USER);
    let tree = Node::of(&table.clone().into(), "", &origin);
    build_on(registry, tree, (name, Path::new("")), None, 0)
}

fn build(registry: &Registry, document: Document, base: Option<&str>, depth: usize) -> Result<Layered> {
    let Document { label, name, text, folder } = document;
    let tree = tree::parse(&label, &text).map_err(Error::Config)?;
    build_on(registry, tree, (&name, &folder), base, depth)
}

/// Text for a message: the preset that a file may name beside the preset `base` of the command line.
pub fn only_preset(base: &str) -> String {
    format!("{base:?} as on the command line, or no --preset there")
}

/// The tree of a document, merged with the preset that it builds on. `folder` is the base of relative paths.
fn build_on(
    registry: &Registry,
    mut tree: Node,
    (called, folder): (&str, &Path),
    base: Option<&str>,
    depth: usize,
) -> Result<Layered> {
    let [name, description, source, below] = file_keys(&mut tree)?;
    let mut layered = match (base, below) {
        (Some(base), Some((at, below))) if base != below => {
            return refuse(at.label("preset"), format!("{below:?}"), only_preset(base));
        }
        (_, Some((at, _))) if depth >= MOST_LAYERS => {
            return refuse(
                at.label("preset"),
                "a preset that builds on itself",
                "a preset that ends somewhere",
            );
        }
        (_, Some((at, below))) => named_preset(registry, (&at, "preset"), &below, folder, depth)?,
        (Some(base), None) => preset(registry, base)?,
        (None, None) => Layered {
            tree: Node::table(tree.origin.clone()),
            name: String::new(),
            description: String::new(),
            source: String::new(),
        },
    };
    let name = name.map_or_else(|| called.to_owned(), |(_, name)| name);
    match is_of_other_type(&layered.tree, &tree) {
        true => layered.rename(name),
        false => layered.name = name,
    }
    layered.description = description.map_or(layered.description, |(_, text)| text);
    layered.source = source.map_or(layered.source, |(_, text)| text);
    overlay(registry, &mut layered.tree, tree, folder)?;
    Ok(layered)
}

/// The preset that a document in `folder` names at `key`.
fn named_preset(
    registry: &Registry,
    (at, key): (&Origin, &str),
    name: &str,
    folder: &Path,
    depth: usize,
) -> Result<Layered> {
    let presets = presets(registry);
    match find("preset", name, &presets, folder)? {
        Some(document) => build(registry, document, None, depth + 1),
        None => refuse(at.label(key), format!("{name:?}"), wanted_preset(registry, name, &presets)),
    }
}

/// Whether `over` names another device type than `tree` has.
fn is_of_other_type(tree: &Node, over: &Node) -> bool {
    over.at(DEVICE).is_some() && type_of(over) != type_of(tree)
}

/// Merges `over` into `tree`. If `over` has another device type, it replaces `tree`, because keys belong to a
/// type.
fn overlay(registry: &Registry, tree: &mut Node, mut over: Node, folder: &Path) -> Result<()> {
    if is_of_other_type(tree, &over) {
        *tree = Node::table(over.origin.clone());
    }
    let named = if over.at(DEVICE).is_some() { &over } else { &*tree };
    let ssds = registry.find_in(named).map_or(&[][..], |entry| entry.ssds());
    for key in ssds {
        let inner = over.members_mut().and_then(|members| members.remove(*key));
        inner.map_or(Ok(()), |inner| overlay_at(registry, tree, key, inner, folder))?;
    }
    resolve_parts(tree, &mut over, "", folder)?;
    tree.overlay(over);
    Ok(())
}

/// Merges `over` into the SSD at `key` of a tree. If `over` names a preset, that preset comes first.
fn overlay_at(registry: &Registry, tree: &mut Node, key: &str, mut over: Node, folder: &Path) -> Result<()> {
    let members = tree.members_mut().expect("a document is a table");
    let preset = over.members_mut().and_then(|members| members.remove("preset"));
    if let Some(Node { origin, value }) = preset {
        let at = join(key, "preset");
        let Value::Text(name) = value else { return refuse(origin.label(&at), value, "text in quotes") };
        let mut found = named_preset(registry, (&origin, &at), &name, folder, 0)?.tree;
        if type_of(&found) != Ssd::NAME {
            let found = format!("{name:?}, a device of the type {}", type_of(&found));
            return refuse(origin.label(&at), found, "the preset of an SSD");
        }
        found.remove(DEVICE);
        members.insert(key.to_owned(), found);
    }
    let below = members.entry(key.to_owned()).or_insert_with(|| Node::table(over.origin.clone()));
    if below.members().is_some() && over.members().is_some() {
        resolve_parts(below, &mut over, key, folder)?;
    }
    below.overlay(over);
    Ok(())
}

/// Replaces the part names in `over` by the tables of the parts. `tree` is the SSD at key `at` of its
/// document. If `over` names other designs, the designs of `tree` and their settings are removed.
fn resolve_parts(tree: &mut Node, over: &mut Node, at: &str, folder: &Path) -> Result<()> {
    let members = over.members_mut().expect("a document is a table");
    let below = tree.members_mut().expect("a document is a table");
    if let Some(part) = members.get_mut("part") {
        match (resolve_part(part, &join(at, "part"), folder)?, below.get_mut("part")) {
            (ResolvedName::Part, _) => drop(below.remove("part")),
            (ResolvedName::Set, Some(part)) => remove_set(part),
            _ => {}
        }
    }
    if let Some(Node { value: Value::Array(pools), .. }) = members.get_mut("pools") {
        for (n, pool) in pools.iter_mut().enumerate() {
            if let Some(part) = pool.members_mut().and_then(|members| members.get_mut("part")) {
                resolve_part(part, &join(at, &format!("pools[{n}].part")), folder)?;
            }
        }
    }
    replace_designs(below, members);
    Ok(())
}

/// Replaces the designs in `below` by the designs that `over` names. Designs that are not named any longer
/// lose their settings.
fn replace_designs(below: &mut Table, over: &Table) {
    if let Some(name) = single_design(over) {
        if below.contains_key(DESIGNS) || single_design(below).is_some_and(|other| other != name) {
            [DESIGN, DESIGNS, DECIDES].iter().for_each(|key| drop(below.remove(*key)));
        }
        return;
    }
    let Some(names) = designs_of(over) else { return };
    if let Some(name) = single_design(below)
        && let Some(mut settings) = below.remove(DESIGN)
    {
        settings.remove("name");
        let mut by_name = Node::table(settings.origin.clone());
        by_name.members_mut().expect("just made a table").insert(name, settings);
        below.insert(DESIGN.to_owned(), by_name);
    }
    let of_pools = [&*below, over].map(|tree| match tree.get("pools").map(|pools| &pools.value) {
        Some(Value::Array(pools)) => {
            pools.iter().filter_map(|pool| designs_of(pool.members()?)).flatten().collect()
        }
        _ => Vec::new(),
    });
    let is_named = |name: &String| names.iter().chain(of_pools.iter().flatten()).any(|known| known == name);
    if let Some(settings) = below.get_mut(DESIGN).and_then(Node::members_mut) {
        settings.retain(|name, _| is_named(name));
    }
    if let Some(decides) = below.get_mut(DECIDES).and_then(Node::members_mut) {
        decides.retain(|_, name| matches!(&name.value, Value::Text(name) if is_named(name)));
    }
}

/// The single design that the table `design` names.
fn single_design(keys: &Table) -> Option<String> {
    let Value::Text(name) = &keys.get(DESIGN)?.members()?.get("name")?.value else { return None };
    Some(name.clone())
}

/// The designs in the list of a device or a pool.
fn designs_of(keys: &Table) -> Option<Vec<String>> {
    let Value::Array(names) = &keys.get(DESIGNS)?.value else { return None };
    let text = |name: &Node| if let Value::Text(name) = &name.value { Some(name.clone()) } else { None };
    Some(names.iter().filter_map(text).collect())
}

/// The kind of name that a table had.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResolvedName {
    Nothing,
    /// The name of a parameter set in the table `cells`.
    Set,
    Part,
}

/// Replaces a part name, in `part` or in its key `base`, by the table of that part. Other keys of `part` are
/// merged on top. A name of a cell parameter set is replaced too. Complaints call the part `key`.
fn resolve_part(part: &mut Node, key: &str, folder: &Path) -> Result<ResolvedName> {
    let named_set = resolve_set(part, key, folder)?;
    let Some(document) = document_of(part, key, ("part", PARTS), folder)? else {
        return Ok(if named_set { ResolvedName::Set } else { ResolvedName::Nothing });
    };
    let mut whole = tree::parse(&document.label, &document.text).map_err(Error::Config)?;
    resolve_set(&mut whole, key, &document.folder)?;
    if named_set {
        remove_set(&mut whole);
    }
    replace_below(part, whole);
    Ok(ResolvedName::Part)
}

/// Replaces the name in `cells.set` of a part by the parameter set. Returns false if there is no name.
fn resolve_set(part: &mut Node, key: &str, folder: &Path) -> Result<bool> {
    let Some(set) = set_of(part).and_then(|cells| cells.get_mut(SET)) else { return Ok(false) };
    let key = join(key, "cells.set");
    let Some(document) = document_of(set, &key, ("parameter set", CELLS), folder)? else { return Ok(false) };
    // Complaints about the whole set point to the key that names it.
    let named_at = set.origin.clone();
    replace_below(set, tree::parse(&document.label, &document.text).map_err(Error::Config)?);
    set.origin = named_at;
    Ok(true)
}

/// The key of the parameter set in the table `cells` of a part.
const SET: &str = "set";

/// The table `cells` of a part.
fn set_of(part: &mut Node) -> Option<&mut Table> {
    part.members_mut()?.get_mut("cells")?.members_mut()
}

/// Removes the cell parameter set of a part, before another set replaces it.
fn remove_set(part: &mut Node) {
    set_of(part).map(|cells| cells.remove(SET));
}

/// Replaces a node by `whole`, and merges the keys of the old node on top.
fn replace_below(node: &mut Node, whole: Node) {
    let over = std::mem::replace(node, whole);
    if over.members().is_some() {
        node.overlay(over);
    }
}

/// The document that a node names, either as its value or in its key `base`. Removes the name. Complaints
/// call the node `key`.
fn document_of(
    node: &mut Node,
    key: &str,
    (kind, all): (&str, &[Embedded]),
    folder: &Path,
) -> Result<Option<Document>> {
    let named = match &mut node.value {
        Value::Text(name) => Some((node.origin.clone(), key.to_owned(), std::mem::take(name))),
        Value::Table(keys) => match keys.remove("base") {
            // An argument named the whole part, and `part_table` made this table of it: complaints name the
            // part's key.
            Some(Node { origin: origin @ Origin::Set(_), value: Value::Text(name) })
                if !origin.label(key).contains(": ") =>
            {
                Some((origin, key.to_owned(), name))
            }
            Some(Node { origin, value: Value::Text(name) }) => Some((origin, format!("{key}.base"), name)),
            Some(other) => {
                return refuse(other.origin.label(&format!("{key}.base")), &other.value, "text in quotes");
            }
            None => None,
        },
        _ => None,
    };
    let Some((origin, key, name)) = named else { return Ok(None) };
    match find(kind, &name, all, folder)? {
        Some(document) => Ok(Some(document)),
        None => refuse(origin.label(&key), format!("{name:?}"), wanted(kind, &name, all)),
    }
}

/// Merges the arguments `--set key=value` into a device. A later argument overrides an earlier one.
pub fn arguments(registry: &Registry, layered: &mut Layered, set: &[String]) -> Result<()> {
    let mut wrong = Complaints::default();
    let mut over: Option<Node> = None;
    for argument in set {
        let Some((key, value)) = argument.split_once('=') else {
            wrong.add(format!("--set {argument}"), "no `=`", "key=value, such as ftl.over_provisioning=0.1");
            continue;
        };
        let key = key.trim();
        let sound = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        let is_item = key.split('.').next().is_some_and(|first| first.parse::<usize>().is_ok());
        if is_item || !key.split('.').all(sound) {
            wrong.add(format!("--set {key}"), "not a key", "a key such as ftl.gc.start_below_free_blocks");
            continue;
        }
        if FILE_KEYS.iter().any(|(known, _)| *known == key) {
            wrong.add(
                format!("--set {key}"),
                "a key of files",
                "a key of the device; presets come with --preset",
            );
            continue;
        }
        let leaf = part_table(registry, key, tree::parse_argument(key, value.trim()));
        let nested = key.rsplit('.').fold(leaf, |inner, key| {
            let mut outer = Node::table(inner.origin.clone());
            outer.members_mut().expect("just made a table").insert(key.into(), inner);
            outer
        });
        match &mut over {
            Some(all) => all.overlay(nested),
            None => over = Some(nested),
        }
    }
    wrong.into_result(()).map_err(Error::Config)?;
    let Some(mut over) = over else { return Ok(()) };
    if is_of_other_type(&layered.tree, &over) {
        layered.rename(type_of(&over).to_owned());
    }
    let tree = &mut layered.tree;
    resolve_pool_parts(tree, &mut over)?;
    let mut wrong = Complaints::default();
    let defaults = if over.selects_items(tree) { defaults_below(registry, tree) } else { None };
    over.resolve_lists(Some(defaults.as_ref().unwrap_or(tree)), "", &mut wrong);
    wrong.into_result(()).map_err(Error::Config)?;
    overlay(registry, tree, over, Path::new(""))
}

/// The tree with the defaults of its device below it, so that an argument can select an item of a default list.
/// `None` for a tree that is no device without the arguments.
fn defaults_below(registry: &Registry, tree: &Node) -> Option<Node> {
    let mut alone = tree.clone();
    let entry = registry.take_from(&mut alone).ok()?;
    let device = entry.resolve(&mut alone, registry.designs()).ok()?;
    let mut whole = Node::of(&device.table().into(), "", &|_| Origin::Layer("".into(), 0));
    whole.overlay(tree.clone());
    Some(whole)
}

/// Turns an argument that names a part, or a cell parameter set, into a table with that name. Later arguments
/// can then change its keys: `part=NAME part.endurance=100`.
fn part_table(registry: &Registry, key: &str, leaf: Node) -> Node {
    let of_ssd = |table: &str| registry.entries().any(|entry| entry.ssds().contains(&table));
    let is_set = key.ends_with("part.cells.set");
    let is_part = is_set
        || key == "part"
        || key
            .strip_suffix(".part")
            .is_some_and(|table| of_ssd(table) || table.strip_prefix("pools.").is_some_and(is_number));
    if !is_part || !matches!(leaf.value, Value::Text(_)) {
        return leaf;
    }
    let mut table = Node::table(leaf.origin.clone());
    table.members_mut().expect("just made a table").insert("base".into(), leaf);
    table
}

fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok()
}

/// Inserts the parts that arguments name for pools, and removes the former parts of those pools.
fn resolve_pool_parts(tree: &mut Node, over: &mut Node) -> Result<()> {
    let pools = over.members_mut().and_then(|members| members.get_mut("pools")).and_then(Node::members_mut);
    for (number, pool) in pools.into_iter().flatten() {
        let Some(part) = pool.members_mut().and_then(|members| members.get_mut("part")) else { continue };
        let named = resolve_part(part, &format!("pools[{number}].part"), Path::new(""))?;
        if named == ResolvedName::Nothing {
            continue;
        }
        let below = tree.members_mut().and_then(|members| members.get_mut("pools"));
        let Some(Value::Array(items)) = below.map(|pools| &mut pools.value) else { continue };
        let item = number.parse::<usize>().ok().and_then(|number| items.get_mut(number));
        let Some(members) = item.and_then(Node::members_mut) else { continue };
        match (named, members.get_mut("part")) {
            (ResolvedName::Set, Some(part)) => remove_set(part),
            _ => drop(members.remove("part")),
        }
    }
    Ok(())
}
