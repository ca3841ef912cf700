//! Scripts of pin cycles, from a file or standard input, and their results.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use wordline_kernel::{Duration, Instant};
use wordline_nand::Part;
use wordline_nand::geometry::Layout;
use wordline_nand::onfi::script::{Entry, Script, Transcript, rule};

use super::TimelineInput;
use crate::error::{Error, Result};
use crate::input;

/// A script, and the results of its run.
#[derive(Debug)]
pub struct ScriptRun {
    /// Path of the script, or `standard input`.
    pub name: String,
    /// The part on the bus.
    pub part: Part,
    /// The results of all statements.
    pub transcript: Transcript,
    layout: Layout,
    names: Vec<String>,
}

impl ScriptRun {
    /// Reads the script at `path` and runs it; `-` is standard input. The script names its part. A script
    /// without a part runs on `usual`. A part name that ends in `.toml` is a file relative to the script.
    ///
    /// # Errors
    /// A file that cannot be read, and every malformed line of the script.
    pub fn of(path: &Path, usual: Option<&str>) -> Result<Self> {
        let (name, text) = read(path)?;
        let script = Script::parse(&name, &text).map_err(Error::Config)?;
        let part = match (&script.setup.part, usual) {
            (Some(named), _) => part_of_script(path, named)?,
            (None, Some(usual)) => super::part(usual, None, None)?,
            (None, None) => {
                return Err(Error::Argument {
                    what: "--part".into(),
                    found: format!("none, and none in {name}"),
                    wanted: "it, or a line `part NAME` at the head of the script".into(),
                });
            }
        };
        let mut bus = script.bus(&name, &part).map_err(Error::Config)?;
        let transcript = script.run(&mut bus);
        let wiring = script.setup.wiring;
        let layout = Layout {
            channels: 1,
            packages_per_channel: wiring.targets * wiring.volumes,
            dies_per_package: wiring.luns,
            short_channels: 0,
            planes_per_row: None,
        };
        let names = names(&transcript);
        Ok(Self { name, part, transcript, layout, names })
    }

    /// The input for a time line of the script. The name of an operation is the line and statement that
    /// opened it.
    pub fn scene(&self) -> TimelineInput<'_> {
        let Transcript { spans, busy, .. } = &self.transcript;
        TimelineInput { spans, busy: Some(busy), layout: self.layout, names: &self.names }
    }

    /// The results that differ from the expectations in the script, one line each, with file and line.
    pub fn wrong(&self) -> Vec<String> {
        let line = |entry: &Entry, wrong: &dyn std::fmt::Display| {
            format!("{}:{}: {}: {wrong}", self.name, entry.line, entry.text)
        };
        self.transcript.mismatches().map(|(entry, mismatch)| line(entry, mismatch)).collect()
    }
}

fn read(path: &Path) -> Result<(String, String)> {
    Ok((input::shown(path).display().to_string(), input::text(path, "a script")?))
}

fn part_of_script(script: &Path, named: &str) -> Result<Part> {
    let beside = script.parent().filter(|_| named.ends_with(".toml"));
    let name = beside.map_or(named.into(), |folder| folder.join(named).display().to_string());
    super::part(&name, None, None)
}

/// The line and statement that opened each operation, by serial number.
fn names(transcript: &Transcript) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for span in &transcript.spans {
        let place = span.command as usize;
        names.resize(names.len().max(place + 1), String::new());
        // The first span of an operation is its first command latch. The last statement that had begun by the
        // end of that span opened the operation.
        let earlier = transcript.entries.partition_point(|entry| entry.begin < span.end());
        let opened = transcript.entries[..earlier].iter().rev().find(|entry| entry.cycles > 0);
        if let Some(entry) = opened.filter(|_| names[place].is_empty()) {
            names[place] = format!("{}: {}", entry.line, entry.text);
        }
    }
    names
}

/// The transcript as JSON. Times are picoseconds from the beginning of the run, bytes are hexadecimal digits.
impl Serialize for ScriptRun {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let entry = |entry: &Entry| -> Value {
            let ps = |at: Instant| at.since(Instant::ZERO).ps();
            json!({
                "line": entry.line,
                "statement": entry.text,
                "begin_ps": ps(entry.begin),
                "end_ps": ps(entry.end),
                "cycles": entry.cycles,
                "data": entry.data.iter().map(|byte| format!("{byte:02X}")).collect::<String>(),
                "status": entry.status.map(|status| format!("{:02X}", status.0)),
                "refused": entry.failure.as_ref().map(|failure| json!({
                    "rule": rule(failure), "cycle": failure.cycle, "text": failure.to_string()
                })),
                "wrong": entry.mismatch.as_ref().map(|wrong| json!({
                    "expected": wrong.expected, "found": wrong.found
                })),
            })
        };
        let Transcript { entries, complete, energy, .. } = &self.transcript;
        json!({
            "script": self.name,
            "part": self.part.name,
            "holds": self.transcript.holds(),
            "complete": complete,
            "energy_joules": energy.total().joules(),
            "entries": entries.iter().map(entry).collect::<Vec<_>>(),
        })
        .serialize(to)
    }
}

/// The transcript for a terminal, followed by the verdict.
impl std::fmt::Display for ScriptRun {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Transcript { entries, complete, .. } = &self.transcript;
        let took = entries.last().map_or(Duration::ZERO, |entry| entry.end.since(Instant::ZERO));
        let verdict = match self.transcript.mismatches().count() {
            0 => "all as expected".to_string(),
            wrong => format!("{wrong} not as expected"),
        };
        let end = if *complete { "" } else { "; stopped at a refusal" };
        write!(
            out,
            "{}: {}\n\n{}\n{} statements in {took}: {verdict}{end}\n",
            self.name,
            self.part.name,
            self.transcript,
            entries.len()
        )
    }
}
