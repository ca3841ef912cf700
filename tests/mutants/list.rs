//! The lists of mutants, `tests/mutations/*.toml`. Each crate has a list, and its tests have to find the
//! faults of the list.
//!
//! A mutant replaces the code `right` by the code `wrong`. Both are expressions, or both are statements that
//! end in `;` or `}`. The copy of the sources contains both, and a switch chooses between them at run time.

use serde::Deserialize;

/// Distance between the first numbers of consecutive lists. An addition to a list then leaves the code of
/// other crates unchanged, so that cargo does not recompile them. Chosen: more than a list will have.
const NUMBERS: u32 = 1_000;

/// A list as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    mutant: Vec<Fault>,
}

/// A fault as its list has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The file, relative to the folder of the crate. `../flash/src/queue.rs` is a file of another crate, which
    /// the tests of this crate exercise.
    pub file: String,
    /// Text that occurs once in the file. The fault is made at the first `right` after this text. Left out:
    /// `right` occurs once in the file.
    #[serde(default)]
    pub after: Option<String>,
    /// The correct code.
    pub right: String,
    /// The code with the fault. Empty: the statements of `right` are left out.
    pub wrong: String,
    /// The consequence of the fault, if the code does not show it.
    #[serde(default)]
    pub breaks: Option<String>,
    /// The reason why no test finds the fault, or the property of a test that would.
    #[serde(default)]
    pub lives: Option<String>,
}

/// A fault with its name.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The name of its list and its position there, such as `ssd/12`.
    pub name: String,
    /// The crate, without `wordline-`.
    pub of: String,
    /// Number among all mutants. The switch uses it.
    pub number: u32,
    pub fault: Fault,
}

impl Mutant {
    /// The path of its file, relative to the root of the repository.
    pub fn path(&self) -> String {
        match self.fault.file.strip_prefix("../") {
            Some(of_other) => format!("crates/{of_other}"),
            None => format!("crates/{}/{}", self.of, self.fault.file),
        }
    }

    /// Whether a name selects this mutant. A name is a crate, a mutant, or a range such as `ssd/40..72`,
    /// which includes its end.
    pub fn is_selected_by(&self, name: &str) -> bool {
        let own = self.number % NUMBERS;
        let Some((of, positions)) = name.split_once('/') else { return name == self.of };
        let (first, last) = positions.split_once("..").unwrap_or((positions, positions));
        let within = |first: u32, last: u32| (first..=last).contains(&own);
        of == self.of && matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if within(first, last))
    }

    /// The change as text on one line.
    pub fn change(&self) -> String {
        let short = |code: &str| code.split_whitespace().collect::<Vec<_>>().join(" ");
        let Fault { right, wrong, breaks, .. } = &self.fault;
        let wrong = if wrong.is_empty() { "nothing".to_owned() } else { format!("`{}`", short(wrong)) };
        let breaks = breaks.as_ref().map_or_else(String::new, |breaks| format!("; {breaks}"));
        format!("{}: `{}` is {wrong}{breaks}", self.path(), short(right))
    }

    /// The range of `right` in the text of its file.
    ///
    /// # Errors
    /// The found text, and the expected text.
    pub fn place(&self, text: &str) -> Result<std::ops::Range<usize>, String> {
        let Fault { after, right, wrong, .. } = &self.fault;
        let from = match after {
            Some(after) => find_once(text, after)? + after.len(),
            None => 0,
        };
        let begin = match after {
            Some(after) => text[from..].find(right.as_str()).map(|at| from + at).ok_or_else(|| {
                format!("found no {right:?} behind {after:?} in {}, wanted one", self.path())
            })?,
            None => find_once(text, right)?,
        };
        let is_statement = |code: &str| code.is_empty() || code.ends_with([';', '}']);
        if !is_closed(right) || !is_closed(wrong) {
            return Err(format!("found {right:?} for {wrong:?}, wanted each bracket with its other half"));
        }
        if right.starts_with("let ") {
            return Err(format!(
                "found {right:?}, wanted no declaration, which a switch would hide: take its value"
            ));
        }
        match is_statement(right) == is_statement(wrong) || wrong.is_empty() {
            true => Ok(begin..begin + right.len()),
            false => Err(format!("found {right:?} for {wrong:?}, wanted two expressions or two statements")),
        }
    }

    /// Code of the crate that switches between the code with the fault and the code without it.
    fn switched(&self) -> String {
        let Fault { right, wrong, .. } = &self.fault;
        let kernel = if self.of == "kernel" { "crate" } else { "wordline_kernel" };
        let choice = format!("if {kernel}::mutants::is({}) {{ {wrong} }} else {{ {right} }}", self.number);
        if right.ends_with([';', '}']) { choice } else { format!("({choice})") }
    }
}

/// Whether all brackets of a piece of code are balanced.
fn is_closed(code: &str) -> bool {
    let mut open = Vec::new();
    code.chars().all(|letter| match letter {
        '(' | '[' | '{' => {
            open.push(letter);
            true
        }
        ')' => open.pop() == Some('('),
        ']' => open.pop() == Some('['),
        '}' => open.pop() == Some('{'),
        _ => true,
    }) && open.is_empty()
}

/// The position of `wanted` in `text`, if it occurs once.
fn find_once(text: &str, wanted: &str) -> Result<usize, String> {
    match text.matches(wanted).count() {
        1 => Ok(text.find(wanted).expect("it is there once")),
        places => {
            Err(format!("found {wanted:?} in {places} places, wanted one: name another text before it"))
        }
    }
}

/// The mutants of lists. A list is the name of its crate and its text.
///
/// # Errors
/// The name of the list, and its fault.
pub fn mutants<'a>(lists: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Vec<Mutant>, String> {
    let mut all = Vec::new();
    for (list, (of, text)) in (0..).zip(lists) {
        let listed: Listed =
            toml::from_str(text).map_err(|error| format!("tests/mutations/{of}.toml: {error}"))?;
        for (at, fault) in (1..).zip(listed.mutant) {
            let (name, number) = (format!("{of}/{at}"), list * NUMBERS + at);
            all.push(Mutant { name, of: of.to_owned(), number, fault });
        }
    }
    Ok(all)
}

/// The text of a file with the faults of these mutants. All mutants must belong to this file.
///
/// # Errors
/// A mutant that cannot be made, or two mutants that change the same code.
pub fn with_faults(text: &str, mutants: &[&Mutant]) -> Result<String, String> {
    let mut places = Vec::new();
    for mutant in mutants {
        let place = mutant.place(text).map_err(|error| format!("mutant {}: {error}", mutant.name))?;
        places.push((place, *mutant));
    }
    places.sort_by_key(|(place, _)| place.start);
    let (mut out, mut done) = (String::new(), 0);
    for (place, mutant) in places {
        if place.start < done {
            return Err(format!("mutant {}: another one changes the same code", mutant.name));
        }
        out += &text[done..place.start];
        out += &mutant.switched();
        done = place.end;
    }
    Ok(out + &text[done..])
}
