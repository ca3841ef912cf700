//! A configuration as a tree of values, each with its origin.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wordline_kernel::Complaints;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a file, or of an embedded preset or part.
    Line(Rc<str>, usize),
    /// An argument `--set key=value`, with its key.
    Set(Rc<str>),
    /// A layer of a device made of several: its name in messages, empty where the key suffices, and its
    /// height, from 0 for built-in layers.
    Layer(Rc<str>, u8),
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub struct Node {
    /// The origin; for a table, of its beginning.
    pub origin: Origin,
    /// The value, as written.
    pub value: Value,
}

/// A value that can be written in TOML.
#[derive(Clone, Debug)]
pub enum Value {
    /// `{ key = value }`, or a section.
    Table(Table),
    /// `[ value, ... ]`.
    Array(Vec<Node>),
    /// `"text"`.
    Text(String),
    /// A whole number. TOML has signed 64-bit integers.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date, a time or a number out of range, which no key accepts.
    Other(String),
}

/// Keys and their values.
pub type Table = BTreeMap<String, Node>;

/// The key that names the variant of a setting with variants, such as a policy.
pub const TAG: &str = "policy";

impl Origin {
    /// The layer height of a user's files.
    pub const OF_USER: u8 = 1;

    /// `key` after its origin, as in complaints.
    pub fn label(&self, key: &str) -> String {
        match self {
            Self::Line(source, line) if key.is_empty() => format!("{source}:{line}"),
            Self::Line(source, line) => format!("{source}:{line}: {key}"),
            Self::Set(set) if is_same_key(set, key) || key.is_empty() => format!("--set {set}"),
            Self::Set(set) => format!("--set {set}: {key}"),
            Self::Layer(layer, _) if layer.is_empty() => key.to_owned(),
            Self::Layer(layer, _) => format!("{layer}: {key}"),
        }
    }

    /// The height of its layer: 0 for built-in layers, then files of the user, then arguments.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Set(_) => 2,
            Self::Line(source, _) => {
                let is_embedded = ["preset ", "part "].iter().any(|kind| source.starts_with(kind));
                if is_embedded { 0 } else { Self::OF_USER }
            }
            Self::Layer(_, rank) => *rank,
        }
    }

    /// Whether a value of this origin may change the device that a value at `other` was meant for. True if
    /// this origin is in a higher layer, or in another layer of the same height.
    pub fn can_override(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Layer(one, rank), Self::Layer(other, as_high)) if rank == as_high => one != other,
            _ => self.rank() > other.rank(),
        }
    }
}

/// Whether two spellings name the same value: `pools.0.part` and `pools[0].part`.
fn is_same_key(one: &str, other: &str) -> bool {
    let parts = |key| str::split(key, ['.', '[', ']']).filter(|part| !part.is_empty());
    parts(one).eq(parts(other))
}

/// Parses the document `text` of the source `name`; the error lists every syntax error with line and column.
pub fn parse(name: &str, text: &str) -> Result<Node, Complaints> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut wrong = Complaints::default();
    for error in &errors {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let (found, wanted) =
            error.message().split_once(", expected ").unwrap_or((error.message(), "a TOML document"));
        let place = format!("{name}:{line}:{column}");
        match error.span().and_then(|span| text.get(span)) {
            Some(key) if found == "duplicate key" => {
                wrong.add(place, format!("{found} {key}"), "each key once in its table");
            }
            _ => wrong.add(place, found, wanted.replace('\n', "\\n")),
        }
    }
    wrong.into_result(())?;
    let lines = Lines { name: name.into(), text };
    Ok(lines.table(table.span().start, table.get_ref()))
}

/// The value of an argument `--set key=value`: TOML if it parses, else the text itself.
pub fn parse_argument(key: &str, text: &str) -> Node {
    let origin = Origin::Set(key.into());
    let mut node = match DeValue::parse(text) {
        Ok(value) => Lines { name: "".into(), text }.node(value.span().start, value.get_ref()),
        Err(_) => Node { origin: origin.clone(), value: Value::Text(text.to_owned()) },
    };
    node.set_origin(&origin);
    node
}

/// Line and column of a byte of `text`, counted from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

struct Lines<'a> {
    name: Rc<str>,
    text: &'a str,
}

impl Lines<'_> {
    fn table(&self, at: usize, table: &DeTable<'_>) -> Node {
        let members = table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), self.node(key.span().start, value.get_ref())));
        Node { origin: self.origin(at), value: Value::Table(members.collect()) }
    }

    fn origin(&self, at: usize) -> Origin {
        Origin::Line(self.name.clone(), position(self.text, at).0)
    }

    fn node(&self, at: usize, value: &DeValue<'_>) -> Node {
        let value = match value {
            DeValue::Table(table) => return self.table(at, table),
            DeValue::Array(items) => Value::Array(items.iter().map(|item| self.item(item)).collect()),
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(truth) => Value::Boolean(*truth),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Value::Other(number.to_string()), Value::Integer),
            DeValue::Float(number) => {
                number.as_str().parse().map_or_else(|_| Value::Other(number.to_string()), Value::Float)
            }
            DeValue::Datetime(moment) => Value::Other(moment.to_string()),
        };
        Node { origin: self.origin(at), value }
    }

    fn item(&self, item: &Spanned<DeValue<'_>>) -> Node {
        self.node(item.span().start, item.get_ref())
    }
}

impl Node {
    /// The tree of a TOML value at `path`; `origin` returns the origin of a path.
    pub fn of(value: &toml::Value, path: &str, origin: &dyn Fn(&str) -> Origin) -> Self {
        let inner = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let child = |key: &str, value: &toml::Value| Self::of(value, &inner(key), origin);
        let own = match value {
            toml::Value::Table(members) => {
                let members = members.iter().map(|(key, value)| (key.clone(), child(key, value)));
                Value::Table(members.collect())
            }
            toml::Value::Array(items) => {
                let items = items.iter().enumerate();
                Value::Array(items.map(|(at, item)| child(&at.to_string(), item)).collect())
            }
            toml::Value::String(text) => Value::Text(text.clone()),
            toml::Value::Integer(number) => Value::Integer(*number),
            toml::Value::Float(number) => Value::Float(*number),
            toml::Value::Boolean(truth) => Value::Boolean(*truth),
            toml::Value::Datetime(moment) => Value::Other(moment.to_string()),
        };
        Self { origin: origin(path), value: own }
    }

    /// An empty table from `origin`.
    pub fn table(origin: Origin) -> Self {
        Self { origin, value: Value::Table(Table::new()) }
    }

    /// The members, where the value is a table.
    pub fn members(&self) -> Option<&Table> {
        if let Value::Table(members) = &self.value { Some(members) } else { None }
    }

    /// The members, mutable.
    pub fn members_mut(&mut self) -> Option<&mut Table> {
        if let Value::Table(members) = &mut self.value { Some(members) } else { None }
    }

    fn tag(&self) -> Option<&str> {
        match self.members()?.get(TAG)?.value {
            Value::Text(ref name) => Some(name),
            _ => None,
        }
    }

    /// Merges `over` on top: tables key by key, other values by replacement. A table with another policy
    /// replaces the table below it, whose keys belong to that policy.
    pub fn overlay(&mut self, over: Self) {
        let other_policy = over.tag().is_some() && over.tag() != self.tag();
        match (&mut self.value, over.value) {
            (Value::Table(below), Value::Table(above)) if !other_policy => {
                for (key, node) in above {
                    match below.get_mut(&key) {
                        Some(here) => here.overlay(node),
                        None => {
                            below.insert(key, node);
                        }
                    }
                }
            }
            (_, value) => *self = Self { origin: over.origin, value },
        }
    }

    /// Whether it selects an item that `below` does not have.
    pub fn selects_items(&self, below: &Self) -> bool {
        let Some(members) = self.members() else { return false };
        members.iter().any(|(key, node)| {
            let is_number = key.parse::<usize>().is_ok();
            match below.child(key) {
                Some(here) => node.selects_items(here),
                None => is_number || node.selects_items(&Self::table(self.origin.clone())),
            }
        })
    }

    /// Turns tables whose keys are numbers into lists. Arguments such as `pools.0.part` build such tables.
    /// The new list has the items of the list at the same path of `below`. Each number selects one of these
    /// items, or the item after the last, and its value is merged into that item.
    pub fn resolve_lists(&mut self, below: Option<&Self>, path: &str, wrong: &mut Complaints) {
        let Some(members) = self.members_mut() else { return };
        for (key, node) in members.iter_mut() {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let here = below.and_then(|below| below.child(key));
            node.resolve_lists(here, &inner, wrong);
        }
        let number = |key: &String| key.parse::<usize>().ok();
        if members.is_empty() || !members.keys().all(|key| number(key).is_some()) {
            return;
        }
        let mut items = match below.map(|below| &below.value) {
            Some(Value::Array(items)) => items.clone(),
            _ => Vec::new(),
        };
        let mut over: Vec<(usize, Self)> = std::mem::take(members)
            .into_iter()
            .filter_map(|(key, node)| Some((number(&key)?, node)))
            .collect();
        over.sort_by_key(|(at, _)| *at);
        for (at, node) in over {
            let count = items.len();
            match items.get_mut(at) {
                Some(item) => item.overlay(node),
                None if at == count => items.push(node),
                None => wrong.add(
                    node.origin.label(&format!("{path}[{at}]")),
                    format!("item {at} of a list of {count}"),
                    format!("an item from 0 to {count}: the last of these is a new one"),
                ),
            }
        }
        self.value = Value::Array(items);
    }

    /// The value of a key, or the item of a list with that number.
    pub fn child(&self, key: &str) -> Option<&Self> {
        self.members().map_or_else(|| self.item(key), |members| members.get(key))
    }

    /// The value at a path of keys, such as `ftl.gc.victim`, or `pools.0.frontier` in the first item of a
    /// list.
    pub fn at(&self, key: &str) -> Option<&Self> {
        key.split('.').try_fold(self, |node, key| node.child(key))
    }

    /// Removes the value of a key.
    pub fn remove(&mut self, key: &str) {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut path = table.split('.').filter(|key| !key.is_empty());
        let members = path.try_fold(self, Self::child_mut).and_then(Self::members_mut);
        members.and_then(|members| members.remove(name));
    }

    /// [`child`](Self::child), mutable.
    fn child_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Table(members) => members.get_mut(key),
            Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The highest layer's origin of `key` and all keys below it; `None` if nothing is set.
    pub fn highest_origin(&self, key: &str) -> Option<&Origin> {
        fn highest(node: &Node) -> &Origin {
            let below = node.members().into_iter().flat_map(|members| members.values().map(highest));
            below.max_by_key(|origin| origin.rank()).unwrap_or(&node.origin)
        }
        self.at(key).map(highest)
    }

    /// The origin of the value at `path`, such as `faults[0].nth`, and true. Without such a value: the origin
    /// of the innermost table on the path, and false.
    pub fn origin_of(&self, path: &str) -> (&Origin, bool) {
        let mut at = self;
        for key in path.split(['.', '[']) {
            let inner = match key.strip_suffix(']') {
                Some(number) => at.item(number),
                None => at.members().and_then(|members| members.get(key)),
            };
            match inner {
                Some(node) => at = node,
                None => return (&at.origin, false),
            }
        }
        (&at.origin, true)
    }

    /// The item of a list at the index that `number` spells.
    fn item(&self, number: &str) -> Option<&Self> {
        if let Value::Array(items) = &self.value { items.get(number.parse::<usize>().ok()?) } else { None }
    }

    fn set_origin(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::Table(members) => members.values_mut().for_each(|node| node.set_origin(origin)),
            Value::Array(items) => items.iter_mut().for_each(|node| node.set_origin(origin)),
            _ => {}
        }
    }
}

impl Value {
    /// The value without origins, as serde reads it. All files are read from one type, so that their code is
    /// compiled once.
    pub fn to_toml(&self) -> toml::Value {
        match self {
            Self::Table(members) => {
                let members = members.iter().map(|(key, node)| (key.clone(), node.value.to_toml()));
                toml::Value::Table(members.collect())
            }
            Self::Array(items) => toml::Value::Array(items.iter().map(|node| node.value.to_toml()).collect()),
            Self::Text(text) | Self::Other(text) => toml::Value::String(text.clone()),
            Self::Integer(number) => toml::Value::Integer(*number),
            Self::Float(number) => toml::Value::Float(*number),
            Self::Boolean(truth) => toml::Value::Boolean(*truth),
        }
    }
}

/// The value in a complaint: short, on one line.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(_) => out.write_str("a table"),
            Self::Array(items) if items.len() == 1 => out.write_str("a list of 1 value"),
            Self::Array(items) => write!(out, "a list of {} values", items.len()),
            Self::Text(text) if text.chars().count() > 60 => {
                write!(out, "{:?}...", text.chars().take(60).collect::<String>())
            }
            Self::Text(text) => write!(out, "{text:?}"),
            Self::Integer(number) => write!(out, "{number}"),
            Self::Float(number) => write!(out, "{number}"),
            Self::Boolean(truth) => write!(out, "{truth}"),
            Self::Other(text) => out.write_str(text),
        }
    }
}
