//! A group of results under a heading.

use wordline_run::quantity::Quantity;

/// A group of results under a heading.
pub struct Group {
    /// The heading.
    pub title: String,
    /// Names and values of the results. A name that begins with two spaces is a part of the result above it.
    pub rows: Vec<(String, Quantity)>,
}

impl Group {
    pub(super) fn new(title: impl Into<String>, rows: Vec<(&str, Quantity)>) -> Self {
        let rows = rows.into_iter().map(|(name, result)| (name.to_owned(), result)).collect();
        Self { title: title.into(), rows }
    }

    /// The result with this name.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.rows.iter().find(|(candidate, _)| candidate == name).map(|(_, result)| result)
    }
}

/// Gives the groups of each run the rows of all runs, in order. Results that a run does not have are absent.
/// Every run has the same groups.
pub(super) fn unite(runs: &mut [Vec<Group>]) {
    for position in 0..runs.first().map_or(0, Vec::len) {
        let mut names: Vec<String> = Vec::new();
        for groups in runs.iter() {
            let mut next = 0;
            for (name, _) in &groups[position].rows {
                match names.iter().position(|known| known == name) {
                    Some(place) => next = place + 1,
                    None => {
                        names.insert(next, name.clone());
                        next += 1;
                    }
                }
            }
        }
        for groups in runs.iter_mut() {
            let group = &mut groups[position];
            let result = |name: &String| group.get(name).cloned().unwrap_or(Quantity::Absent);
            group.rows = names.iter().map(|name| (name.clone(), result(name))).collect();
        }
    }
}

#[test]
fn a_row_that_only_a_later_run_has_stands_behind_the_row_before_it() {
    let of = |names: &[&'static str]| {
        let rows = names.iter().map(|name| (*name, Quantity::Count(1))).collect();
        vec![Group::new("Time", rows)]
    };
    let mut runs = vec![of(&["queue", "bus", "array"]), of(&["queue", "parity", "array", "controller"])];
    unite(&mut runs);
    let names = |run: &[Group]| run[0].rows.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&runs[0]), ["queue", "parity", "bus", "array", "controller"]);
    assert_eq!(names(&runs[0]), names(&runs[1]));
    assert_eq!(runs[0][0].get("parity"), Some(&Quantity::Absent));
    assert_eq!(runs[1][0].get("parity"), Some(&Quantity::Count(1)));
}
