//! Validation by JSON Schema. The schema comes from the structs that are read. One walk over a tree finds
//! every wrong key and every wrong type.

use schemars::JsonSchema;
use serde_json::{Map, Value as Json, json};
use wordline_designs::{DECIDES, DESIGN, DESIGNS, Designs};
use wordline_ftl::design::ExtensionPoint;
use wordline_kernel::{Bytes, Complaints, Duration, Energy, MegaTransfers, Power, nearest, one_of};
use wordline_nand::cell::CellsFile;
use wordline_nand::faults::NumberRange;
use wordline_nand::time_range::TimeRange;
use wordline_ssd::DeviceFile;

use super::tree::{Node, Table, Value};

/// Keys that a file has in addition to those of a device, and their meanings.
pub const FILE_KEYS: [(&str, &str); 4] = [
    ("name", "Name of the device in reports. Default: the name of the preset or of the file."),
    ("description", "Description of the device, in a line."),
    ("source", "Where the numbers come from."),
    ("preset", "The preset that this file changes: an embedded one by name, or a file by its path."),
];

/// The key that selects the device type.
pub const DEVICE: &str = "device";

/// The name of the SSD keys in a schema.
pub const SSD_FILE: &str = "SsdFile";

/// The schema of the keys `F` of a device type, whose SSDs can use these designs.
pub fn of<F: JsonSchema>(designs: &Designs) -> Json {
    if F::schema_name() == SSD_FILE {
        return device(designs);
    }
    let mut schema = schemars::schema_for!(F).to_value();
    if let Some(definitions) = schema["$defs"].as_object_mut().filter(|all| all.contains_key(SSD_FILE)) {
        let mut ssd = device(designs);
        if let Json::Object(own) = ssd["$defs"].take() {
            for (name, definition) in own {
                let other = definitions.insert(name.clone(), definition.clone());
                let is_one = other.is_none_or(|other| other == definition);
                debug_assert!(is_one, "two definitions are called {name}");
            }
        }
        ["$schema", "$defs", "title"].iter().for_each(|key| drop(remove(&mut ssd, key)));
        definitions.insert(SSD_FILE.into(), ssd);
    }
    schema
}

pub(super) fn remove(schema: &mut Json, key: &str) -> Option<Json> {
    schema.as_object_mut()?.remove(key)
}

/// The top-level keys of a schema.
pub fn keys_of(schema: &Json) -> Vec<String> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
}

/// Name of the definition for the settings of designs: one design with its name, or a table for each design.
pub const SETTINGS_OF_DESIGNS: &str = "SettingsOfDesigns";

/// The schema of a resolved SSD, which can use these designs.
pub fn device(designs: &Designs) -> Json {
    let mut schema = schemars::schema_for!(DeviceFile).to_value();
    let (settings, definitions) = settings_of(designs);
    let names = json!({ "enum": designs.names() });
    let list = |meaning: &str| json!({ "description": meaning, "type": "array", "items": names });
    schema["properties"][DESIGNS] = list(
        "The designs that take the decisions of the device, and of pools that name none. Default: the policies take all decisions.",
    );
    schema["$defs"]["PoolFile"]["properties"][DESIGNS] =
        list("The designs that take the decisions of this pool. Default: those of the device.");
    let decides = ExtensionPoint::ALL.map(|seam| {
        let meaning = format!("The design that takes the decision `{seam}`, where several could.");
        (seam.name().to_owned(), json!({ "description": meaning, "enum": designs.names() }))
    });
    schema["properties"][DECIDES] = json!({
        "description": "The design for each decision that several could take.", "type": "object",
        "properties": Map::from_iter(decides), "additionalProperties": false,
    });
    let meaning = "Settings of designs. With a single design they may stand beside its name.";
    schema["properties"][DESIGN] =
        json!({ "description": meaning, "$ref": format!("#/$defs/{SETTINGS_OF_DESIGNS}") });
    if let Some(all) = schema["$defs"].as_object_mut() {
        all.extend(definitions);
        all.insert(SETTINGS_OF_DESIGNS.into(), settings);
    }
    schema
}

/// The schema of the settings of designs, and the definitions that it refers to.
fn settings_of(designs: &Designs) -> (Json, Map<String, Json>) {
    let (mut by_name, mut tables, mut definitions) = (Vec::new(), Map::new(), Map::new());
    for entry in designs.entries() {
        let mut settings = entry.schema().to_value();
        if let Some(Json::Object(own)) = remove(&mut settings, "$defs") {
            definitions.extend(own);
        }
        ["$schema", "title"].iter().for_each(|key| drop(remove(&mut settings, key)));
        settings["description"] = entry.description().into();
        settings["additionalProperties"] = false.into();
        let mut named = settings.clone();
        named["properties"]["name"] = json!({ "type": "string", "const": entry.name() });
        named["required"] = json!(["name"]);
        by_name.push(named);
        tables.insert(entry.name().into(), settings);
    }
    let all = json!([
        { "oneOf": by_name },
        { "type": "object", "properties": tables, "additionalProperties": false },
    ]);
    (json!({ "anyOf": all }), definitions)
}

/// The greatest integer of a format. TOML is limited to signed 64 bits.
pub(super) fn max_of_format(format: &str) -> Option<i64> {
    Some(match format {
        "uint8" => u8::MAX.into(),
        "uint16" => u16::MAX.into(),
        "uint32" => u32::MAX.into(),
        "uint64" => i64::MAX,
        _ => return None,
    })
}

/// A walk that validates a tree by a schema.
pub struct Validator<'a> {
    root: &'a Json,
    /// The whole tree.
    tree: &'a Node,
    /// Whether the tree is a device file, which may build on a preset.
    is_device: bool,
    wrong: Complaints,
}

/// Every fault of `tree` by the schema of a resolved device type.
pub fn complaints(root: &Json, tree: &Node) -> Complaints {
    validate(root, root, true, tree)
}

/// Every fault of `tree` by the schema of a part file.
pub fn part_complaints(tree: &Node) -> Complaints {
    let root = schemars::schema_for!(DeviceFile).to_value();
    validate(&root, &root["$defs"]["PartFile"], false, tree)
}

/// Every fault of `tree` by the schema of `T`.
pub fn complaints_of<T: JsonSchema>(tree: &Node) -> Complaints {
    let root = schemars::schema_for!(T).to_value();
    validate(&root, &root, false, tree)
}

/// Every fault of the table at `path` by the schema of a cell parameter set.
fn cells_complaints(tree: &Node, path: &str) -> Complaints {
    let root = schemars::schema_for!(CellsFile).to_value();
    let mut walk = Validator { root: &root, tree, is_device: false, wrong: Complaints::default() };
    walk.node(&root, tree, path);
    walk.wrong
}

fn validate(root: &Json, schema: &Json, is_device: bool, tree: &Node) -> Complaints {
    let mut walk = Validator { root, tree, is_device, wrong: Complaints::default() };
    walk.node(schema, tree, "");
    walk.wrong
}

/// The names of the variants of `T`, an enum without further keys.
pub fn names_of<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    names(&schema).into_iter().map(str::to_owned).collect()
}

/// Reads the name of a variant in the spelling of data files.
///
/// # Errors
/// The text found, and the names wanted.
pub fn named<T: serde::de::DeserializeOwned + JsonSchema>(text: &str) -> Result<T, String> {
    let names = names_of::<T>();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let complain = || format!("found {text:?}, wanted {}", one_of(text, &names));
    if !names.contains(&text) {
        return Err(complain());
    }
    serde_json::from_value(text.into()).map_err(|_| complain())
}

/// Resolves the reference of a schema. Returns the definition and its name.
pub fn follow<'a>(root: &'a Json, schema: &'a Json) -> (&'a Json, &'a str) {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.map_or((schema, ""), |name| (&root["$defs"][name], name))
}

/// The alternatives of a schema, without the null of an optional value.
pub fn alternatives(schema: &Json) -> Vec<&Json> {
    let listed = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    listed.into_iter().flatten().filter(|one| one["type"] != "null").collect()
}

/// The names that a setting without further keys accepts.
pub fn names(schema: &Json) -> Vec<&str> {
    let listed = schema["enum"].as_array().into_iter().flatten();
    let single = alternatives(schema).into_iter().map(|one| &one["const"]);
    listed.chain(single).filter_map(Json::as_str).collect()
}

/// The variants of a setting, each with name and schema.
pub fn variants(schema: &Json) -> Vec<(&str, &Json)> {
    let with_tag = alternatives(schema).into_iter();
    with_tag.filter_map(|one| Some((one["properties"][tag(one)?]["const"].as_str()?, one))).collect()
}

/// The key that names a variant: its only property with a constant.
pub fn tag(variant: &Json) -> Option<&str> {
    let mut keys = variant["properties"].as_object()?.iter();
    keys.find(|(_, inner)| inner.get("const").is_some()).map(|(key, _)| key.as_str())
}

impl Validator<'_> {
    fn complain(&mut self, node: &Node, path: &str, wanted: impl Into<String>) {
        self.wrong.add(node.origin.label(path), &node.value, wanted);
    }

    fn node(&mut self, schema: &Json, node: &Node, path: &str) {
        let (schema, definition) = follow(self.root, schema);
        if definition == "SetTable" {
            return self.wrong.0.extend(cells_complaints(node, path).0);
        }
        if let Some(read) = quantity(definition) {
            return self.quantity(read, schema, node, path);
        }
        if definition == SETTINGS_OF_DESIGNS {
            let has_tables = node.members().is_some_and(|members| !members.contains_key("name"));
            return self.node(&schema["anyOf"][usize::from(has_tables)], node, path);
        }
        let (variants, names) = (variants(schema), names(schema));
        if !variants.is_empty() {
            return self.variant(&variants, node, path);
        }
        if !names.is_empty() {
            return self.name(&names, node, path);
        }
        if let [only] = alternatives(schema)[..] {
            return self.node(only, node, path);
        }
        match (kind(schema), &node.value) {
            ("object", Value::Table(members)) => self.members(schema, node, members, path),
            ("object", _) => self.complain(node, path, "a table of settings"),
            ("array", Value::Array(items)) => {
                if let Some(count) = count_of(schema).filter(|count| *count != items.len() as u64) {
                    self.complain(node, path, format!("one of {count}"));
                }
                for (n, item) in items.iter().enumerate() {
                    self.node(&schema["items"], item, &format!("{path}[{n}]"));
                }
            }
            ("array", _) => self.complain(node, path, "a list in brackets"),
            ("integer", value) => {
                let most = schema["format"].as_str().and_then(max_of_format).unwrap_or(i64::MAX);
                if !matches!(value, Value::Integer(number) if (0..=most).contains(number)) {
                    self.complain(node, path, format!("a whole number from 0 to {most}"));
                }
            }
            ("number", Value::Integer(_) | Value::Float(_)) | ("string", Value::Text(_)) => {}
            ("boolean", Value::Boolean(_)) => {}
            ("number", _) => self.complain(node, path, "a number"),
            ("string", _) => self.complain(node, path, "text in quotes"),
            ("boolean", _) => self.complain(node, path, "true or false"),
            _ => {}
        }
    }

    fn quantity(&mut self, read: QuantityParser, schema: &Json, node: &Node, path: &str) {
        let usual = schema["description"].as_str().unwrap_or("a quantity with a unit");
        let wanted = match &node.value {
            Value::Text(text) => read(text),
            // Zero needs no unit.
            Value::Integer(0) if ["0", "0ps", "0B", "0uW", "0J"].iter().any(|zero| read(zero).is_ok()) => {
                Ok(())
            }
            Value::Integer(number) => read(&number.to_string()),
            _ => Err(usual.to_owned()),
        };
        if let Err(wanted) = wanted {
            self.complain(node, path, &wanted);
        }
    }

    fn name(&mut self, names: &[&str], node: &Node, path: &str) {
        let found = if let Value::Text(text) = &node.value { text.as_str() } else { "" };
        if !names.contains(&found) {
            self.complain(node, path, one_of(found, names));
        }
    }

    fn variant(&mut self, variants: &[(&str, &Json)], node: &Node, path: &str) {
        let names: Vec<&str> = variants.iter().map(|(name, _)| *name).collect();
        let tag_key = variants.iter().find_map(|(_, schema)| tag(schema)).unwrap_or_default();
        let Some(members) = node.members() else {
            let wanted = match &node.value {
                Value::Text(name) if names.contains(&name.as_str()) => {
                    format!("a table: {{ {tag_key} = \"{name}\" }}")
                }
                _ => format!("a table with the key {tag_key}, {}", one_of("", &names)),
            };
            return self.complain(node, path, wanted);
        };
        let inner = join(path, tag_key);
        let Some(tag) = members.get(tag_key) else {
            return self.wrong.add(node.origin.label(&inner), "nothing", one_of("", &names));
        };
        let found = if let Value::Text(text) = &tag.value { text.as_str() } else { "" };
        match variants.iter().find(|(name, _)| *name == found) {
            Some((_, schema)) => {
                let own = self.without_foreign(variants, (found, schema), members, path);
                self.members(schema, node, &own, path);
            }
            None => {
                let mut wanted = one_of(found, &names);
                if self.is_design(found) {
                    wanted = format!("{wanted} ({})", design_hint(found));
                }
                self.complain(tag, &inner, wanted);
            }
        }
    }

    /// The members of a table with the variant `found`, without the keys that only other variants have. Each of
    /// these keys is a complaint.
    fn without_foreign(
        &mut self,
        variants: &[(&str, &Json)],
        (found, schema): (&str, &Json),
        members: &Table,
        path: &str,
    ) -> Table {
        let has = |schema: &Json, key: &str| schema["properties"].get(key).is_some();
        let mut own = members.clone();
        for (key, member) in members.iter().filter(|(key, _)| !has(schema, key)) {
            let owners: Vec<&str> =
                variants.iter().filter(|(_, other)| has(other, key)).map(|(name, _)| *name).collect();
            if owners.is_empty() {
                continue;
            }
            let known = schema["properties"].as_object().into_iter().flat_map(|known| known.keys());
            let known: Vec<&str> =
                known.map(String::as_str).filter(|key| tag(schema) != Some(*key)).collect();
            let keys = if known.is_empty() { "no further key".into() } else { known.join(", ") };
            let wanted = format!("{keys} beside `{found}`: `{key}` is a key of {}", owners.join(", "));
            let kind = match tag(schema) {
                Some("policy") => "policy",
                Some("name") => "design",
                _ => "kind",
            };
            self.wrong.add(member.origin.label(&join(path, key)), format!("a key of another {kind}"), wanted);
            own.remove(key);
        }
        own
    }

    /// Whether `name` is a design that an SSD can use.
    fn is_design(&self, name: &str) -> bool {
        self.root["$defs"][SETTINGS_OF_DESIGNS]["anyOf"][1]["properties"].get(name).is_some()
    }

    fn members(&mut self, schema: &Json, node: &Node, members: &Table, path: &str) {
        let Some(known) = schema["properties"].as_object() else { return };
        for (key, member) in members {
            let inner = join(path, key);
            match known.get(key) {
                Some(schema) if schema.get("const").is_some() => {}
                Some(schema) => self.node(schema, member, &inner),
                None => self.unknown(known, member, key, &inner),
            }
        }
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !members.contains_key(key) {
                let is_table = matches!(kind(follow(self.root, &known[key]).0), "object");
                let wanted = if self.is_device && is_table && std::ptr::eq(schema, self.root) {
                    format!("a table or a name for {key}, or `preset = \"name\"` to build on")
                } else {
                    format!("a value for {key}: it has no default")
                };
                self.wrong.add(node.origin.label(&join(path, key)), "nothing", wanted);
            }
        }
    }

    fn unknown(&mut self, known: &Map<String, Json>, member: &Node, key: &str, path: &str) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let mut wanted = one_of(key, &names);
        // Prefer keys of this table that begin with the name, or contain it as a word, over keys of other
        // tables.
        let has_word = |name: &&&str| name.starts_with(key) || name.split('_').any(|word| word == key);
        if let [whole] = names.iter().filter(has_word).collect::<Vec<_>>()[..] {
            let wanted = one_of(whole, &names);
            return self.wrong.add(member.origin.label(path), "an unknown key", wanted);
        }
        // Among the keys with this name in other tables, keep those that share most of the path, then the
        // nearest.
        let all = Paths { root: self.root, tree: self.tree }.of(self.root, Some(self.tree), "");
        let same: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|at| *at != path && at.rsplit('.').next() == Some(key))
            .collect();
        let shared = |at: &&str| {
            let both = at.split('.').zip(path.split('.'));
            both.take_while(|(theirs, ours)| theirs == ours).count()
        };
        let most = same.iter().map(shared).max();
        let same: Vec<&str> = same.iter().copied().filter(|at| Some(shared(at)) == most).collect();
        if let Some(place) = nearest(path, &same) {
            wanted = format!("{place}, or {wanted}");
        }
        self.wrong.add(member.origin.label(path), "an unknown key", wanted);
    }
}

/// A hint for a design name found in the wrong place: the key where it belongs.
pub fn design_hint(name: &str) -> String {
    format!("{name} is a design: {DESIGNS} = [\"{name}\"] in the file, or --set \"{DESIGNS}=['{name}']\"")
}

/// Appends `key` to the path of its table.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The full names of all keys that a tree can have.
struct Paths<'a> {
    root: &'a Json,
    tree: &'a Node,
}

impl Paths<'_> {
    /// The keys under `schema`, including those of the variant that `node` selects, and of the designs that
    /// the tree names.
    fn of(&self, schema: &Json, node: Option<&Node>, path: &str) -> Vec<String> {
        let (schema, definition) = follow(self.root, schema);
        if definition == SETTINGS_OF_DESIGNS {
            return self.of_designs(schema, node, path);
        }
        let variants = variants(schema);
        let named =
            |(name, one): &(&str, &Json)| node?.members()?.get(tag(one)?).map(|tag| is_text(tag, name));
        let is_chosen = |variant: &(&str, &Json)| named(variant).unwrap_or(true);
        let mut all = self.within(schema, node, path);
        if variants.is_empty() {
            all.extend(alternatives(schema).into_iter().flat_map(|one| self.of(one, node, path)));
        } else {
            let chosen = variants.into_iter().filter(is_chosen);
            all.extend(chosen.flat_map(|(_, one)| self.within(one, node, path)));
        }
        all
    }

    fn within(&self, schema: &Json, node: Option<&Node>, path: &str) -> Vec<String> {
        let mut all = Vec::new();
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let at = join(path, key);
            let below = self.of(inner, node.and_then(|node| node.child(key)), &at);
            all.push(at);
            all.extend(below);
        }
        all
    }

    /// The keys of the settings of designs: of one design with its name, or of each design's table.
    fn of_designs(&self, schema: &Json, node: Option<&Node>, path: &str) -> Vec<String> {
        let [alone, tables] = [&schema["anyOf"][0], &schema["anyOf"][1]];
        if node.is_some_and(|node| node.child("name").is_some()) {
            return self.of(alone, node, path);
        }
        let Some(Value::Array(names)) = self.tree.at(DESIGNS).map(|names| &names.value) else {
            return Vec::new();
        };
        let is_named = |key: &String| names.iter().any(|name| is_text(name, key));
        let designs = tables["properties"].as_object().into_iter().flatten();
        let named = designs.filter(|(name, _)| is_named(name));
        named.flat_map(|(name, inner)| self.within(inner, None, &join(path, name))).collect()
    }
}

fn is_text(node: &Node, text: &str) -> bool {
    matches!(&node.value, Value::Text(found) if found == text)
}

/// The type of a schema, ignoring null.
pub fn kind(schema: &Json) -> &str {
    let several = schema["type"].as_array().into_iter().flatten();
    std::iter::once(&schema["type"])
        .chain(several)
        .filter_map(Json::as_str)
        .find(|t| *t != "null")
        .unwrap_or("")
}

/// The required length of a list, if it is fixed.
fn count_of(schema: &Json) -> Option<u64> {
    let least = schema["minItems"].as_u64()?;
    (schema["maxItems"].as_u64() == Some(least)).then_some(least)
}

/// A function that parses text, or returns the form that it expected.
type QuantityParser = fn(&str) -> Result<(), String>;

fn reads<Q: std::str::FromStr<Err = String>>(text: &str) -> Result<(), String> {
    text.parse::<Q>().map(|_| ()).map_err(|error| {
        let wanted = error.rsplit_once(", wanted ").map(|(_, wanted)| wanted.to_owned());
        wanted.unwrap_or(error)
    })
}

fn quantity(definition: &str) -> Option<QuantityParser> {
    Some(match definition {
        "Duration" => reads::<Duration>,
        "Bytes" => reads::<Bytes>,
        "MegaTransfers" => reads::<MegaTransfers>,
        "Power" => reads::<Power>,
        "Energy" => reads::<Energy>,
        "TimeRange" => reads::<TimeRange>,
        "Numbers" => reads::<NumberRange>,
        _ => return None,
    })
}
