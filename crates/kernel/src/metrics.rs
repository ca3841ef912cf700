//! Metrics as data: each metric declares its name, unit and meaning once, beside the code that measures it.
//! Summary, JSON, report, log and documentation are generated from these declarations.
//!
//! ```
//! use wordline_kernel::metrics::{Metrics, Value};
//!
//! wordline_kernel::counters! {
//!     /// What a lift does.
//!     pub struct Lift {
//!         rides: "lift.rides", Count, "Times that somebody went up or down.";
//!         floors: "lift.floors", Count, "Floors passed.";
//!     }
//! }
//!
//! let before = Lift { rides: 3, floors: 7 };
//! let now = Lift { rides: 5, floors: 20 };
//! let mut metrics = Metrics::default();
//! now.since(&before).add_to(&mut metrics);
//! assert_eq!(metrics.get("lift.floors"), Some(Value::Count(13)));
//! assert_eq!(Lift::METRICS[0].meaning, "Times that somebody went up or down.");
//! ```

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Objects or events.
    Count,
    /// Mapping units.
    LogicalPages,
    /// Pages of flash.
    Pages,
    /// Blocks of one plane.
    Blocks,
    /// Multi-plane blocks: the blocks of a plane group that are erased together.
    BlockSets,
    /// Bytes.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Joules.
    Joules,
    /// A fraction from 0 to 1.
    Fraction,
    /// The quotient of two quantities.
    Ratio,
}

impl Unit {
    /// Name in results and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::LogicalPages => "logical pages",
            Self::Pages => "pages",
            Self::Blocks => "blocks",
            Self::BlockSets => "block sets",
            Self::Bytes => "B",
            Self::Microseconds => "us",
            Self::Joules => "J",
            Self::Fraction => "fraction",
            Self::Ratio => "ratio",
        }
    }
}

/// The definition of a metric, without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name: a section and a word with a dot between them, or a word alone.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Meaning, in one sentence. If the metric may be without a value, the sentence says when, with the word
    /// null.
    pub meaning: &'static str,
}

impl Metric {
    /// Defines a metric.
    pub const fn new(name: &'static str, unit: Unit, meaning: &'static str) -> Self {
        Self { name, unit, meaning }
    }

    /// Section of the metric, if any.
    pub fn section(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(section, _)| section)
    }

    /// Whether the metric may be without a value.
    pub fn can_be_absent(&self) -> bool {
        self.meaning.contains("null")
    }

    /// Name within the section.
    pub fn word(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, word)| word)
    }
}

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// A mean: a sum over this many values; no value if there are none. A run counts the values since the end
    /// of its warm-up.
    Mean {
        /// The sum of all values.
        sum: f64,
        /// The number of values.
        count: u64,
    },
    /// No value: the run has nothing to measure.
    Absent,
}

impl Value {
    /// The value as a number; `None` if absent.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => Some(number),
            Self::Mean { sum, count } => (count > 0).then(|| sum / count as f64),
            Self::Absent => None,
        }
    }

    /// The value since the time when it was `before`: the increase of a count, the mean of the values that
    /// came since; the present value of anything else.
    pub fn since(self, before: Self) -> Self {
        match (before, self) {
            (Self::Count(before), Self::Count(now)) => Self::Count(now.saturating_sub(before)),
            (Self::Mean { sum: before, count: known }, Self::Mean { sum, count }) => {
                Self::Mean { sum: sum - before, count: count.saturating_sub(known) }
            }
            (_, now) => now,
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => out.serialize_u64(*count),
            Self::Number(number) => out.serialize_f64(*number),
            Self::Mean { .. } => self.number().serialize(out),
            Self::Absent => out.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Read {
            Count(u64),
            Number(f64),
        }
        Ok(match Option::deserialize(from)? {
            Some(Read::Count(count)) => Self::Count(count),
            Some(Read::Number(number)) => Self::Number(number),
            None => Self::Absent,
        })
    }
}

/// Metrics with their values, in the order in which they were added. Serialized as a map with a map for each
/// section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<(Metric, Value)>);

impl Metrics {
    /// Adds a metric.
    ///
    /// # Panics
    /// If a metric of that name exists already, or if the value is absent but the meaning does not
    /// say when it is null.
    pub fn add(&mut self, metric: Metric, value: impl Into<Value>) {
        assert!(self.get(metric.name).is_none(), "two metrics are called {}", metric.name);
        let value = value.into();
        let is_said = value.number().is_some() || metric.can_be_absent();
        assert!(is_said, "{} does not say when it is null", metric.name);
        self.0.push((metric, value));
    }

    /// The value of the metric called `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(metric, _)| metric.name == name).map(|(_, value)| *value)
    }

    /// The value of a counter; 0 if there is no such metric.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Count(count)) => count,
            _ => 0,
        }
    }

    /// The value of a metric as a number; `None` if it is absent or there is no such metric.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::number)
    }

    /// Changes the value of the metric called `name`; does nothing if there is no such metric.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        if let Some((_, old)) = self.0.iter_mut().find(|(metric, _)| metric.name == name) {
            *old = value.into();
        }
    }

    /// The metrics of several devices together: sums of counts and of energy. Fractions and means cannot be
    /// summed and are left out.
    pub fn join(devices: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for (metric, value) in devices.into_iter().flat_map(|device| device.0) {
            let add = |sum: Value| match (sum, value) {
                (Value::Count(sum), Value::Count(more)) => Value::Count(sum + more),
                (Value::Number(sum), Value::Number(more)) if metric.unit == Unit::Joules => {
                    Value::Number(sum + more)
                }
                _ => Value::Absent,
            };
            match all.0.iter_mut().find(|(known, _)| known.name == metric.name) {
                Some((_, sum)) => *sum = add(*sum),
                None => all.0.push((metric, value)),
            }
        }
        let is_sum = |(metric, value): &(Metric, Value)| match value {
            Value::Count(_) => !metric.can_be_absent(),
            Value::Number(_) => metric.unit == Unit::Joules,
            Value::Mean { .. } | Value::Absent => false,
        };
        all.0.retain(is_sum);
        all
    }

    /// The metrics with the definitions and in the order of `known`, where the first of a name counts. Others
    /// follow as they were.
    #[must_use]
    pub fn defined(mut self, known: &[&Metric]) -> Self {
        let place = |name: &str| known.iter().position(|metric| metric.name == name);
        for (metric, _) in &mut self.0 {
            *metric = place(metric.name).map_or(*metric, |place| *known[place]);
        }
        self.0.sort_by_key(|(metric, _)| place(metric.name).unwrap_or(known.len()));
        self
    }

    /// All metrics with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&Metric, Value)> {
        self.0.iter().map(|(metric, value)| (metric, *value))
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut sections: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
        let mut alone = BTreeMap::new();
        for (metric, value) in &self.0 {
            let table = metric.section().map_or(&mut alone, |section| sections.entry(section).or_default());
            table.insert(metric.word(), *value);
        }
        let mut table = out.serialize_map(Some(alone.len() + sections.len()))?;
        for (word, value) in &alone {
            table.serialize_entry(word, value)?;
        }
        for (section, values) in &sections {
            table.serialize_entry(section, values)?;
        }
        table.end()
    }
}

impl FromIterator<(Metric, Value)> for Metrics {
    /// Metrics of different names.
    fn from_iter<I: IntoIterator<Item = (Metric, Value)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

/// Declares a struct of counters, one per line: field, name, [unit](Unit), meaning. Counters start at zero.
/// `METRICS` lists their definitions, `since` returns the difference between two states, and `add_to` exports
/// the values. Other fields of the struct follow after `beside`; each needs a `since` method.
#[macro_export]
macro_rules! counters {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $($field:ident: $metric:literal, $unit:ident, $meaning:literal;)*
        }
        $(beside { $($(#[$beside_doc:meta])* $beside:ident: $type:ty;)* })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        pub struct $name {
            $(#[doc = $meaning] pub $field: u64,)*
            $($($(#[$beside_doc])* pub $beside: $type,)*)?
        }

        impl $name {
            /// The metrics of the counters.
            pub const METRICS: &'static [$crate::metrics::Metric] = &[
                $($crate::metrics::Metric::new($metric, $crate::metrics::Unit::$unit, $meaning),)*
            ];

            /// The counts since `earlier`; zero where a counter fell.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($field: self.$field.saturating_sub(earlier.$field),)*
                    $($($beside: self.$beside.since(&earlier.$beside),)*)?
                }
            }

            /// Adds the counters to `metrics`.
            pub fn add_to(&self, metrics: &mut $crate::metrics::Metrics) {
                let counts = [$(self.$field),*];
                Self::METRICS.iter().zip(counts).for_each(|(metric, count)| metrics.add(*metric, count));
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::counters! {
        /// Counters of a test.
        pub struct Counts {
            reads: "flash.reads", Pages, "Pages read.";
            erases: "flash.erases", Blocks, "Blocks erased.";
        }
    }

    fn measured() -> Metrics {
        let mut metrics = Metrics::default();
        Counts { reads: 3, erases: 1 }.add_to(&mut metrics);
        metrics.add(Metric::new("energy_joules", Unit::Joules, "Energy."), 0.5);
        metrics.add(
            Metric::new("map.hit_ratio", Unit::Fraction, "Hits of all lookups; null without any."),
            None::<f64>,
        );
        metrics
    }

    #[test]
    fn a_mean_since_a_time_is_of_the_values_that_came_since() {
        let before = Value::Mean { sum: 30.0, count: 3 };
        let now = Value::Mean { sum: 70.0, count: 5 };
        assert_eq!((now.number(), now.since(before).number()), (Some(14.0), Some(20.0)));
        assert_eq!((now.since(now).number(), now.since(Value::Absent)), (None, now));
        assert_eq!(Value::Count(5).since(Value::Count(3)), Value::Count(2));
        assert_eq!(Value::Number(5.0).since(Value::Number(3.0)), Value::Number(5.0));
    }

    #[test]
    fn sections_are_tables_and_what_is_absent_is_null() {
        let text = serde_json::to_string(&measured()).expect("its keys are text");
        assert_eq!(text, r#"{"energy_joules":0.5,"flash":{"erases":1,"reads":3},"map":{"hit_ratio":null}}"#);
        let metrics = measured();
        assert_eq!(metrics.get("map.hit_ratio"), Some(Value::Absent));
        assert_eq!((metrics.number("energy_joules"), metrics.number("map.hit_ratio")), (Some(0.5), None));
        assert_eq!((metrics.count("flash.reads"), metrics.count("flash.programs")), (3, 0));
    }

    #[test]
    fn values_are_read_back_and_known_metrics_are_defined() {
        for (text, value) in [("3", Value::Count(3)), ("3.0", Value::Number(3.0)), ("null", Value::Absent)] {
            assert_eq!(serde_json::from_str::<Value>(text).expect("a value"), value);
            assert_eq!(serde_json::to_string(&value).expect("a value"), text);
        }
        let known: Vec<Metric> = measured().iter().map(|(metric, _)| *metric).collect();
        let bare = |(metric, value): (&Metric, Value)| (Metric::new(metric.name, Unit::Count, ""), value);
        let read: Metrics = measured().iter().map(bare).collect::<Vec<_>>().into_iter().rev().collect();
        assert_eq!(read.clone().defined(&known.iter().collect::<Vec<_>>()), measured());
        let some = read.defined(&[&known[2]]);
        let units: Vec<(&str, Unit)> = some.iter().map(|(metric, _)| (metric.name, metric.unit)).collect();
        assert_eq!(units[..2], [("energy_joules", Unit::Joules), ("map.hit_ratio", Unit::Count)]);
    }

    #[test]
    fn metrics_of_devices_side_by_side_are_sums_without_parts_and_means() {
        let both = Metrics::join([measured(), measured()]);
        assert_eq!((both.count("flash.reads"), both.number("energy_joules")), (6, Some(1.0)));
        assert_eq!(both.get("map.hit_ratio"), None);
    }

    #[test]
    fn a_counter_that_was_taken_back_is_nothing() {
        let later = Counts { reads: 5, erases: 0 };
        assert_eq!(later.since(&Counts { reads: 2, erases: 1 }), Counts { reads: 3, erases: 0 });
    }

    #[test]
    #[should_panic(expected = "two metrics are called flash.reads")]
    fn a_name_has_one_meaning() {
        measured().add(Metric::new("flash.reads", Unit::Pages, "Others."), 1);
    }
}
