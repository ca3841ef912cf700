//! Values of a varied key: a list, or a range.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use wordline_experiments::Axis;
use wordline_kernel::Complaints;
use wordline_lab::config::{line_of, only_preset};
use wordline_lab::error::{Error, Result};
use wordline_lab::input;
use wordline_lab::words::found_and_wanted;

/// Maximum number of values of a key. Chosen: more is a typing error.
const MAX_VALUES: u32 = 10_000;

/// Values of a varied key, as the file has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// A list.
    List(Vec<toml::Value>),
    /// A range.
    Range(Range),
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::Array(values) => Ok(Self::List(values)),
            toml::Value::Table(range) => {
                let range =
                    range.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))?;
                Ok(Self::Range(range))
            }
            other => {
                let values = match &other {
                    toml::Value::String(text) => listed(text).ok().filter(|_| !text.trim().is_empty()),
                    _ => Some(vec![other.clone()]),
                };
                let list =
                    values.map_or_else(|| "[1, 2]".into(), |values| toml::Value::Array(values).to_string());
                Err(D::Error::custom(format!(
                    "found {other}, wanted a list, such as {list}, or a range {{ from = 1, to = 8, steps = 4 }}"
                )))
            }
        }
    }
}

/// A range of numbers, which includes both ends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    from: toml::Value,
    to: toml::Value,
    steps: u32,
    /// Whether steps are factors. Otherwise they are differences.
    #[serde(default)]
    geometric: bool,
}

/// A fault of the values: the value found, and the value wanted.
type ValueError = (String, String);

impl Values {
    /// Returns all values, each once.
    pub(crate) fn all(self) -> std::result::Result<Vec<toml::Value>, ValueError> {
        let values = match self {
            Self::List(values) => values,
            Self::Range(range) => range.values()?,
        };
        match twice(&values) {
            Some(value) => Err((format!("{value} twice"), "each value once".into())),
            None => Ok(values),
        }
    }
}

/// The first value that is in the list twice.
fn twice(values: &[toml::Value]) -> Option<&toml::Value> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(value.to_string()))
}

fn number(value: &toml::Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64))
        .filter(|number| number.is_finite())
}

/// Rounds to nine digits. This removes rounding errors of sums such as 0.07 + 0.03.
fn rounded(number: f64) -> f64 {
    format!("{number:.8e}").parse().expect("it was just written")
}

impl Range {
    fn values(&self) -> std::result::Result<Vec<toml::Value>, ValueError> {
        let Self { from, to, steps, geometric } = self;
        let (Some(first), Some(last)) = (number(from), number(to)) else {
            return Err((format!("{from} to {to}"), "two numbers".into()));
        };
        if !(2..=MAX_VALUES).contains(steps) {
            return Err((format!("{steps} steps"), format!("a number of values from 2 to {MAX_VALUES}")));
        }
        if *geometric && !(first > 0.0 && last > 0.0) {
            return Err((
                format!("{from} to {to}"),
                "numbers above 0, where each is a multiple of the one before".into(),
            ));
        }
        let are_whole = from.is_integer() && to.is_integer();
        let rounded = if are_whole { f64::round } else { rounded };
        let at = |step: u32| {
            let part = f64::from(step) / f64::from(steps - 1);
            match step {
                0 => first,
                _ if step == steps - 1 => last,
                _ if *geometric => rounded(first * libm::pow(last / first, part)),
                _ => rounded(first + (last - first) * part),
            }
        };
        let mut values: Vec<toml::Value> = Vec::new();
        for value in (0..*steps).map(at) {
            let value = if are_whole { toml::Value::Integer(value as i64) } else { value.into() };
            if values.last() != Some(&value) {
                values.push(value);
            }
        }
        Ok(values)
    }
}

/// Parses a varied key from an argument `KEY=VALUES`. Values are separated by commas, or a range
/// `FROM..TO/STEPS`. A `*` before the steps makes the range geometric.
///
/// # Errors
/// [`Error::Argument`] for any other form.
pub fn axis_of(argument: &str) -> Result<Axis> {
    let wrong =
        |found: String, wanted: &str| Error::Argument { what: "--vary".into(), found, wanted: wanted.into() };
    let Some((key, text)) =
        argument.split_once('=').filter(|(key, text)| !key.is_empty() && !text.is_empty())
    else {
        return Err(wrong(format!("`{argument}`"), "KEY=VALUE,VALUE,... or KEY=FROM..TO/STEPS"));
    };
    if let Some((from, to)) = text.split_once("..").filter(|ends| is_range_without_steps(*ends)) {
        return Err(wrong(
            format!("`{from}..{to}`"),
            &format!(
                "how many values: {key}={from}..{to}/STEPS, or /*STEPS where each is a multiple of the one before"
            ),
        ));
    }
    if let Some(wanted) = other_argument(key.trim()) {
        return Err(wrong(format!("`{}`", key.trim()), wanted));
    }
    let values = match range_of(text) {
        Some(range) => Values::Range(range).all().map_err(|(found, wanted)| wrong(found, &wanted))?,
        None => listed(text).map_err(|part| {
            wrong(
                format!("`{part}`"),
                "NAME{KEY=VALUE,...} or {policy=\"NAME\",KEY=VALUE,...}, with values as in TOML",
            )
        })?,
    };
    if let Some(value) = twice(&values) {
        return Err(wrong(format!("{value} twice"), "each value once"));
    }
    Ok(Axis { key: key.trim().to_owned(), values, sets: toml::Table::new() })
}

/// The argument in place of a varied key that is no key of a device.
fn other_argument(key: &str) -> Option<&'static str> {
    Some(match key {
        "seed" | "seeds" | "repeat.seeds" => "--seeds N, which runs each combination with N seeds",
        "queue_depth" => "workload.queue_depth",
        "requests" => "workload.requests",
        "name" => "workload=NAME,NAME,...",
        "trace" => "workload=FILE,FILE,...",
        _ => return None,
    })
}

/// The values of a list: parts between commas that are in no brackets or quotes. `NAME{KEY=VALUE}` is a table
/// with the key `policy`. Beside such tables, a name alone is one too. On failure returns the part.
fn listed(text: &str) -> std::result::Result<Vec<toml::Value>, String> {
    let mut values = Vec::new();
    for part in parts(text) {
        let part = part.trim();
        let short = part.strip_suffix('}').and_then(|part| part.split_once('{')).filter(|(name, _)| {
            !name.is_empty()
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        });
        let value = match short {
            Some((name, keys)) if keys.trim().is_empty() => value_of(&format!("{{ policy = \"{name}\" }}")),
            Some((name, keys)) => value_of(&format!("{{ policy = \"{name}\", {keys} }}")),
            None => value_of(part),
        };
        if part.contains('{') && !value.is_table() {
            return Err(part.to_owned());
        }
        values.push(value);
    }
    let is_policy = |value: &toml::Value| value.get("policy").is_some();
    if values.iter().any(is_policy) {
        for value in &mut values {
            if let Some(name) = value.as_str() {
                *value = toml::Table::from_iter([("policy".to_owned(), name.into())]).into();
            }
        }
    }
    Ok(values)
}

/// The parts of a text between commas that are in no brackets or quotes.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_u32, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(mark), _) => quote = Some(mark).filter(|mark| *mark != letter),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The device of a study without a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceArguments {
    /// The preset that the configuration file builds on.
    pub preset: Option<String>,
    /// The keys of the file, with the settings on top.
    pub keys: toml::Table,
    /// The file and its text, for messages.
    pub config: Option<(PathBuf, String)>,
}

/// Returns the device of a configuration file that changes the preset `preset`, with the settings `KEY=VALUE` on
/// top. As in a run, names of files in it are relative to it, and it may name no other preset.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, [`Error::Line`] for invalid TOML, [`Error::Argument`] for an
/// invalid setting, [`Error::Config`] for another preset.
pub fn device_of(file: Option<&Path>, settings: &[String], preset: Option<&str>) -> Result<DeviceArguments> {
    let (mut device, mut config) = (toml::Table::new(), None);
    if let Some(path) = file {
        let text = input::text(path, "a configuration in TOML")?;
        device = text.parse().map_err(|error: toml::de::Error| {
            let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text[..at].matches('\n').count() as u64 + 1;
            Error::Line { path: path.into(), line, found, wanted }
        })?;
        check_preset(&device, preset, (path, &text))?;
        if let Some(folder) = path.parent() {
            place_files(&mut device, folder);
        }
        // A study has a title of its own.
        ["name", "description", "source"].iter().for_each(|key| _ = device.remove(*key));
        config = Some((path.to_owned(), text));
    }
    for setting in settings {
        let (key, value) = setting_of("--set", setting)?;
        Axis { key, values: Vec::new(), sets: toml::Table::new() }.apply(&mut device, &value);
    }
    let preset = device.remove("preset").and_then(|name| name.as_str().map(str::to_owned));
    Ok(DeviceArguments { preset, keys: device, config })
}

/// Refuses a file that names another preset than `preset`.
fn check_preset(device: &toml::Table, preset: Option<&str>, (path, text): (&Path, &str)) -> Result<()> {
    let (Some(own), Some(preset)) = (device.get("preset"), preset) else { return Ok(()) };
    if own.as_str() == Some(preset) {
        return Ok(());
    }
    let mut wrong = Complaints::default();
    let line = line_of(text, "preset").map_or_else(String::new, |line| format!(":{line}"));
    wrong.add(format!("{}{line}: preset", path.display()), own, only_preset(preset));
    Err(Error::Config(wrong))
}

/// Makes names of files in a configuration relative to the folder of the configuration.
fn place_files(table: &mut toml::Table, folder: &Path) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => place_files(inner, folder),
            toml::Value::Array(items) => {
                items
                    .iter_mut()
                    .filter_map(toml::Value::as_table_mut)
                    .for_each(|item| place_files(item, folder));
            }
            toml::Value::String(name)
                if NAMES_OF_FILES.contains(&key.as_str()) && name.ends_with(".toml") =>
            {
                *name = folder.join(&*name).display().to_string();
            }
            _ => {}
        }
    }
}

/// Keys of a configuration that may name a file: a part, its base and its cells, and the preset of an SSD.
const NAMES_OF_FILES: [&str; 4] = ["part", "base", "set", "preset"];

/// Parses the values of a baseline from arguments `--against KEY=VALUE`. A value has the short form that
/// [`axis_of`] takes, and is one of the values of its key in `vary` if it can be.
///
/// # Errors
/// [`Error::Argument`] for any other form.
pub fn baseline_of(arguments: &[String], vary: &[Axis]) -> Result<toml::Table> {
    let one = |argument: &String| {
        let (key, text) = key_of("--against", argument)?;
        let axis = vary.iter().find(|axis| axis.key == key);
        let value = match listed(text).as_deref() {
            Ok([value]) => value.clone(),
            _ => value_of(text),
        };
        let policy = toml::Value::from(toml::Table::from_iter([("policy".to_owned(), value.clone())]));
        let has = |value: &toml::Value| axis.is_some_and(|axis| axis.values.contains(value));
        Ok((key, if !has(&value) && has(&policy) { policy } else { value }))
    };
    arguments.iter().map(one).collect()
}

fn setting_of(what: &str, argument: &str) -> Result<(String, toml::Value)> {
    key_of(what, argument).map(|(key, value)| (key, value_of(value)))
}

/// The key and the text of an argument `KEY=VALUE`. Messages call it `what`.
fn key_of<'a>(what: &str, argument: &'a str) -> Result<(String, &'a str)> {
    let parts = argument.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = parts.ok_or_else(|| Error::Argument {
        what: what.to_owned(),
        found: format!("`{argument}`"),
        wanted: "KEY=VALUE".into(),
    })?;
    Ok((key.trim().to_owned(), value))
}

/// Parses a value as TOML. A text that is not TOML is a string.
fn value_of(text: &str) -> toml::Value {
    let text = text.trim();
    let table: std::result::Result<toml::Table, _> = format!("value = {text}").parse();
    table.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| text.into())
}

/// Whether these are the ends of a range whose number of steps is missing.
fn is_range_without_steps((from, to): (&str, &str)) -> bool {
    number(&value_of(from)).is_some() && number(&value_of(to)).is_some()
}

fn range_of(text: &str) -> Option<Range> {
    let (from, rest) = text.split_once("..")?;
    let (to, steps) = rest.split_once('/')?;
    let (steps, geometric) = match steps.strip_prefix('*') {
        Some(steps) => (steps, true),
        None => (steps, false),
    };
    let (from, to) = (value_of(from), value_of(to));
    (number(&from).is_some() && number(&to).is_some())
        .then(|| Some(Range { from, to, steps: steps.trim().parse().ok()?, geometric }))?
}

/// Formats a value without the quotes of TOML.
pub(crate) fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(argument: &str) -> Vec<String> {
        axis_of(argument).expect("it is one").values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_are_listed_or_in_steps() {
        assert_eq!(values("a=greedy,fifo"), ["\"greedy\"", "\"fifo\""]);
        assert_eq!(values("a.b=1, 2.5 ,true,16MiB"), ["1", "2.5", "true", "\"16MiB\""]);
        assert_eq!(values("a=0.07..0.28/8"), ["0.07", "0.1", "0.13", "0.16", "0.19", "0.22", "0.25", "0.28"]);
        assert_eq!(values("a=1..64/*7"), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(values("a=1..3/5"), ["1", "2", "3"], "whole numbers stay whole, each once");
        let large = ["1000000001", "1000000003", "1000000005"];
        assert_eq!(values("a=1000000001..1000000005/3"), large, "and keep all their digits");
    }

    #[test]
    fn tables_are_values_and_a_policy_has_a_short_form() {
        let both = "[\"{ policy = \\\"greedy\\\" }\", \"{ choices = 4, policy = \\\"d-choices\\\" }\"]";
        for argument in [
            "v={policy=\"greedy\"},{policy=\"d-choices\",choices=4}",
            "v=greedy,d-choices{choices=4}",
            "v=greedy{}, d-choices{ choices = 4 }",
        ] {
            let mut shown = values(argument);
            shown.iter_mut().for_each(|text| {
                let mut keys: Vec<&str> = text.trim_matches(['{', '}', ' ']).split(", ").collect();
                keys.sort_unstable();
                *text = format!("{{ {} }}", keys.join(", "));
            });
            assert_eq!(format!("{shown:?}"), both, "{argument}");
        }
        assert_eq!(values("v=[1,2],'a,b'"), ["[1, 2]", "\"a,b\""]);
    }

    #[test]
    fn a_baseline_takes_the_short_form_of_the_varied_key() {
        let vary = [
            axis_of("v=greedy,d-choices{choices=4}").expect("an axis"),
            axis_of("p=greedy,fifo").expect("an axis"),
        ];
        for (argument, value) in [
            ("v=greedy", &vary[0].values[0]),
            ("v=d-choices{choices=4}", &vary[0].values[1]),
            ("v={choices=4,policy='d-choices'}", &vary[0].values[1]),
            ("p=greedy", &vary[1].values[0]),
        ] {
            let baseline = baseline_of(&[argument.to_owned()], &vary).expect(argument);
            assert_eq!(baseline.values().next(), Some(value), "{argument}");
        }
    }

    #[test]
    fn many_values_are_compared_in_no_time() {
        // With a comparison of each pair they would take half a minute.
        let values: Vec<toml::Value> = (0..50_000).map(toml::Value::Integer).collect();
        assert_eq!(twice(&values), None);
        assert_eq!(twice(&[values, vec![7.into()]].concat()), Some(&7.into()));
    }

    #[test]
    fn what_is_no_list_of_values_is_refused() {
        for argument in
            ["a", "=1", "a=", "a=1..2/1", "a=0..4/*3", "a=1,1", "a=1..2/20000", "a=b{c}", "seed=1,2"]
        {
            assert!(matches!(axis_of(argument), Err(Error::Argument { .. })), "{argument}");
        }
        let without_steps = axis_of("a.b=0.2..0.4").expect_err("how many?").to_string();
        assert!(
            without_steps.contains("found `0.2..0.4`, wanted how many values: a.b=0.2..0.4/STEPS"),
            "{without_steps}"
        );
    }
}
