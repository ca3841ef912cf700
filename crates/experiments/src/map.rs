//! Maps: the expected values of an experiment over two varied keys. A row compares an expected value at one
//! position; a map shows it at all positions.

use serde::Deserialize;

use crate::judge::expect::{Expect, bare, place};
use crate::judge::judged::{self, Sample};
use crate::judge::map::Map;
use crate::judge::outcome::Verdict;
use crate::judge::{PointResult, judged as rows_of};
use crate::sweep::axes::{self, Axis};
use wordline_lab::error::Result;

/// A map as the file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapFile {
    /// Title, as text.
    pub title: String,
    /// Descriptions of the expected values. Each must be a mean, which gives one number per position.
    pub of: Vec<String>,
    /// Varied key of the lines.
    pub down: String,
    /// Varied key of the columns.
    pub across: String,
    /// Varied key with a separate set of lines for each of its values.
    pub each: Option<String>,
    /// Values of other varied keys. They replace the values that the expected values give for these keys.
    #[serde(default)]
    pub at: toml::Table,
}

impl MapFile {
    /// The keys whose values make up a position.
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.each.iter().chain([&self.down, &self.across])
    }

    /// Faults of the map: the key, the value found, and the value wanted.
    pub(crate) fn complaints(&self, expects: &[&Expect], varied: &[Axis]) -> Vec<(String, String, String)> {
        let is_axis = |key: &&String| varied.iter().any(|axis| axis.key == **key);
        let mut wrong: Vec<_> = self
            .keys()
            .chain(self.at.keys())
            .filter(|key| !is_axis(key))
            .map(|key| ("map".to_owned(), format!("`{key}`"), axes::named(varied)))
            .collect();
        for name in &self.of {
            let found = expects.iter().find(|expect| expect.what == *name);
            if !found.is_some_and(|expect| expect.mean.is_some() && expect.each.is_none()) {
                let wanted = "the `what` of an expected value that is one mean".to_owned();
                wrong.push(("map.of".to_owned(), format!("`{name}`"), wanted));
            }
        }
        wrong
    }

    /// Builds the map from the results.
    pub(crate) fn of(&self, expects: &[Expect], found: &[PointResult], quick: bool) -> Result<Map> {
        let values = |key: &String| {
            let mut values: Vec<toml::Value> = Vec::new();
            for value in found.iter().filter_map(|found| found.settings.get(key)) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            values
        };
        let asked: Vec<&Expect> =
            self.of.iter().filter_map(|name| expects.iter().find(|expect| expect.what == *name)).collect();
        let each =
            self.each.as_ref().map_or_else(|| vec![None], |key| values(key).into_iter().map(Some).collect());
        let (down, across) = (values(&self.down), values(&self.across));
        let (mut lines, mut places, mut most) = (Vec::new(), 0, (0, Vec::new()));
        for (each, down) in each.iter().flat_map(|each| down.iter().map(move |down| (each, down))) {
            let mut line: Vec<String> = each.iter().chain([down]).map(bare).collect();
            for across in &across {
                let here = self.keys().cloned().zip(each.iter().chain([down, across]).cloned());
                let here: toml::Table = here.collect();
                let at = self.at.clone().into_iter().chain(here.clone()).collect();
                let (cell, inside) = cell(&asked, &at, found, quick)?;
                places += usize::from(inside.is_some());
                line.push(cell);
                if let Some(inside) = inside.filter(|inside| *inside >= most.0) {
                    let others = if inside > most.0 { Vec::new() } else { most.1 };
                    most = (inside, others.into_iter().chain([place(&here)]).collect());
                }
            }
            lines.push(line);
        }
        let heads = self.each.iter().chain([&self.down]).cloned();
        let columns = across.iter().map(|value| format!("{} {}", self.across, bare(value)));
        let heads = heads.chain(columns).collect();
        Ok(Map { title: self.title.clone(), heads, lines, places, most, of: asked.len() })
    }
}

/// The numbers at a position, and how many of them are inside their bands. `None` if a number is missing.
fn cell(
    asked: &[&Expect],
    at: &toml::Table,
    found: &[PointResult],
    quick: bool,
) -> Result<(String, Option<usize>)> {
    let (mut numbers, mut inside) = (Vec::new(), Some(0));
    for expect in asked {
        let mut here = (*expect).clone();
        here.at.extend(at.clone());
        let rows = rows_of(&[here], found, quick)?;
        let number = rows.first().and_then(|row| match row.sample {
            Sample::Number { ours, .. } if ours.is_finite() => Some((ours, judged::row(&[row]).verdict)),
            _ => None,
        });
        let Some((ours, verdict)) = number else {
            numbers.push("none".to_owned());
            inside = None;
            continue;
        };
        let is_inside = matches!(verdict, Verdict::Within | Verdict::Direction);
        inside = inside.map(|count| count + usize::from(is_inside));
        numbers.push(if is_inside { format!("*{ours:.1}*") } else { format!("{ours:.1}") });
    }
    Ok((numbers.join(", "), inside))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::Experiment;

    /// Two means over `x` in bands from 1 to 2, and a map of both over `y` and `z`.
    fn experiment(map: &str) -> Result<Experiment> {
        let expect = |what: &str, x: &str| {
            format!(
                "[[expect]]\nwhat = \"{what}\"\nat = {{ x = {x}, y = 1 }}\nmean = \"values\"\ncolumn = \"host.iops\"\nunit = \"1\"\n\
                 value = 1.5\nbetween = [1.0, 2.0]\nderivation = \"D\"\nsource = \"S\"\nfails_with = \"C\"\n"
            )
        };
        let axis = |key: &str| {
            format!(
                "[[kind.sweep.vary]]\nkey = \"{key}\"\nvalues = [\"1\", \"2\"]\nsets.1 = {{}}\nsets.2 = {{}}\n"
            )
        };
        let text = format!(
            "title = \"T\"\nsource = \"S\"\nclaims = []\n[kind.sweep]\npreset = \"centaur-3d\"\nprecondition = {{ empty = {{}} }}\n[kind.sweep.workload.uniform-writes]\n\
             drive_writes = 0.1\nqueue_depth = 1\n{}{}{}[changes]\nC = {{ \"workload.uniform-writes.queue_depth\" = 2 }}\n{}{}[[map]]\ntitle = \"M\"\n{map}",
            axis("x"),
            axis("y"),
            axis("z"),
            expect("both", "[\"1\", \"2\"]"),
            expect("first", "\"1\"")
        )
        .replace("y = 1", "y = \"1\"");
        Experiment::read(
            &wordline_lab::devices::Registry::default(),
            "paper/name",
            Path::new("dir/experiment.toml"),
            &text,
            None,
        )
    }

    const OF_BOTH: &str = "of = [\"both\", \"first\"]\ndown = \"y\"\nacross = \"z\"\n";

    /// Points with `iops` by x, y and z.
    fn found(iops: impl Fn(u32, u32, u32) -> f64) -> Vec<PointResult<'static>> {
        let places = (1..=2).flat_map(|x| (1..=2).flat_map(move |y| (1..=2).map(move |z| (x, y, z))));
        let point = |(x, y, z): (u32, u32, u32)| PointResult {
            settings: [("x", x), ("y", y), ("z", z)]
                .map(|(key, value)| (key.to_owned(), toml::Value::from(value.to_string())))
                .into_iter()
                .collect(),
            values: json!({ "host": { "iops": iops(x, y, z) } }),
            point: None,
        };
        places.map(point).collect()
    }

    #[test]
    fn a_map_has_every_expected_value_at_every_place_and_marks_those_in_their_bands() {
        let experiment = experiment(OF_BOTH).expect("well formed");
        let map = |iops: fn(u32, u32, u32) -> f64| {
            experiment.maps[0].of(&experiment.expect, &found(iops), false).expect("numbers")
        };
        // The first value is y + z - 1. Both together are its mean with twice the value.
        let of = map(|x, y, z| f64::from(x * (y + z - 1)));
        assert_eq!(of.heads, ["y", "z 1", "z 2"]);
        assert_eq!(of.lines, [["1", "*1.5*, *1.0*", "3.0, *2.0*"], ["2", "3.0, *2.0*", "4.5, 3.0"]]);
        assert_eq!(of.sentence(), "All 2 values are in their bands at 1 of 4 places: y = 1, z = 1.");
        let of = map(|x, y, z| f64::from(x * (y + z)));
        assert_eq!(
            of.sentence(),
            "At none of 4 places are all 2 values in their bands; 1 are at 1: y = 1, z = 1."
        );
        let of = map(|x, y, z| if x + y + z == 3 { f64::NAN } else { 9.0 });
        assert_eq!(of.lines[0][1], "9.0, none");
        assert_eq!(of.sentence(), "At none of 3 places is any of the 2 values in its band.");
    }

    #[test]
    fn a_map_of_what_is_not_there_is_refused() {
        let wrong = |old: &str, new: &str| {
            experiment(&OF_BOTH.replace(old, new)).expect_err("it is wrong").to_string()
        };
        assert!(wrong("\"first\"", "\"third\"").contains("map.of: found `third`, wanted the `what`"));
        assert!(wrong("\"z\"", "\"w\"").contains("map: found `w`"));
    }
}
