//! Charts as files for papers. The Python package `vl-convert-python` draws them. The Rust crate of the same
//! project embeds a JavaScript engine of 100 MB.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ended, Stdio};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde_json::json;
use wordline_lab::Error;
use wordline_lab::output::Output;
use wordline_lab::report::{Chart, Width, pretty, printed};

use crate::failure::Failure;

/// The Python program that draws the charts.
const DRAW_SCRIPT: &str = include_str!("charts.py");

/// Python interpreter, looked up in the path.
const PYTHON: &str = "python3";

const INSTALL: &str = "`python3 -m pip install vl-convert-python`";

/// Arguments for charts as files.
#[derive(Args, Clone)]
pub struct ChartsArguments {
    /// Writes each chart as a file for a paper, with its Vega-Lite specification beside it, into FOLDER; if
    /// not given, into `charts` in the folder of --report, or in the current one. Needs `python3` with the
    /// package vl-convert-python, and no network.
    #[arg(long, value_name = "pdf|svg|png[:FOLDER]")]
    charts: Option<ChartsTarget>,
    /// Width of the charts: a column of a paper, 84 mm, or a page, 174 mm.
    #[arg(long, value_name = "WIDTH", value_enum, default_value_t = ChartsWidth::Column, requires = "charts")]
    charts_width: ChartsWidth,
}

/// Value of `--charts`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChartsTarget {
    kind: &'static str,
    folder: Option<PathBuf>,
}

impl FromStr for ChartsTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, folder) = text.split_once(':').map_or((text, None), |(kind, folder)| (kind, Some(folder)));
        let kind = ["pdf", "svg", "png"].into_iter().find(|known| *known == kind);
        match (kind, folder) {
            (None, _) => {
                Err(format!("found `{text}`, wanted pdf, svg or png, optionally followed by :FOLDER"))
            }
            (Some(_), Some("" | "-")) => Err(format!("found `{text}`, wanted a folder after the colon")),
            (Some(kind), folder) => Ok(Self { kind, folder: folder.map(PathBuf::from) }),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ChartsWidth {
    Column,
    Page,
}

/// Checked destination of charts.
pub struct Charts {
    kind: &'static str,
    folder: PathBuf,
    width: Width,
}

impl ChartsArguments {
    /// Returns the folder that the user named.
    pub fn folder(&self) -> Option<&Path> {
        self.charts.as_ref()?.folder.as_deref()
    }

    /// Checks early that charts can be drawn and written. `report` is the folder of the report, if there is
    /// one.
    pub fn open(&self, report: Option<&Path>) -> Result<Option<Charts>, Failure> {
        let Some(ChartsTarget { kind, folder }) = &self.charts else { return Ok(None) };
        has_package()?;
        let width = match self.charts_width {
            ChartsWidth::Column => Width::Column,
            ChartsWidth::Page => Width::Page,
        };
        let beside = || report.map_or_else(|| PathBuf::from("charts"), |report| report.join("charts"));
        if let Some(folder) = folder {
            check_creatable(folder)?;
        }
        Ok(Some(Charts { kind, folder: folder.clone().unwrap_or_else(beside), width }))
    }
}

/// Checks that a folder exists or can be created, because its parent exists.
fn check_creatable(folder: &Path) -> Result<(), Error> {
    let outer = folder.parent().filter(|outer| !outer.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = match (folder.is_dir(), folder.exists(), outer.is_dir()) {
        (true, ..) | (false, false, true) => return Ok(()),
        (false, true, _) => format!("{}, which is not a folder", folder.display()),
        (false, false, false) => format!("{}, and no folder {}", folder.display(), outer.display()),
    };
    Err(refused(found, "a folder, or a name in one"))
}

fn refused(found: impl Into<String>, wanted: impl Into<String>) -> Error {
    Error::Argument { what: "--charts".into(), found: found.into(), wanted: wanted.into() }
}

/// Checks that Python has the package. This takes 50 ms, while a run may take hours.
fn has_package() -> Result<(), Error> {
    let tried = Command::new(PYTHON).args(["-c", "import vl_convert"]).stdin(Stdio::null()).output();
    let found = match tried {
        Ok(Ended { status, .. }) if status.success() => return Ok(()),
        Ok(_) => format!("{PYTHON} without the package vl-convert-python"),
        Err(reason) if reason.kind() == ErrorKind::NotFound => format!("no program {PYTHON}"),
        Err(reason) => format!("{PYTHON}, which does not start ({reason})"),
    };
    let wanted =
        format!("{PYTHON} with the package: {INSTALL}; nothing was run, and no .vl.json was written");
    Err(refused(found, wanted))
}

impl Charts {
    /// Returns the destination for a part of a report: a subfolder with its name.
    pub fn for_part(&self, part: &str) -> Self {
        self.within(&self.folder.join(part))
    }

    /// Returns the same destination in another folder.
    pub fn within(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), kind: self.kind, width: self.width }
    }

    /// Writes the specifications of charts, and draws them.
    pub fn give(&self, charts: &[Chart]) -> Result<(), Error> {
        let Self { kind, folder, width } = self;
        let failed = |reason| Error::File { path: folder.clone(), action: "make", reason };
        fs::create_dir_all(folder).map_err(failed)?;
        for chart in charts {
            let spec = pretty(&chart.spec);
            Output::open(&folder.join(format!("{}.vl.json", chart.name)))?.give(spec.as_bytes())?;
        }
        let asked = json!({ "kind": kind, "charts": printed(charts, *width) });
        let drawn = draw_charts(&asked.to_string()).and_then(|bytes| files(&bytes, charts.len()));
        let drawn = drawn.map_err(|reason| {
            let wanted = format!("charts; their .vl.json files were written to {}", folder.display());
            refused(format!("{PYTHON}, which did not draw them: {reason}"), wanted)
        })?;
        for (chart, bytes) in charts.iter().zip(drawn) {
            Output::open(&folder.join(format!("{}.{kind}", chart.name)))?.give(&bytes)?;
        }
        Ok(())
    }
}

/// Runs the Python program with this input. Returns the bytes of its output.
fn draw_charts(asked: &str) -> Result<Vec<u8>, String> {
    let start = || {
        let mut command = Command::new(PYTHON);
        command.args(["-c", DRAW_SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // The program reads all input before it writes. If it ends early, its own message gives the reason.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(asked.as_bytes());
        }
        child.wait_with_output()
    };
    let Ended { status, stdout, stderr } = start().map_err(|reason: std::io::Error| reason.to_string())?;
    let last =
        || String::from_utf8_lossy(&stderr).lines().last().unwrap_or("it ended without a word").to_owned();
    if status.success() { Ok(stdout) } else { Err(last()) }
}

/// Splits the output into files. The length of each file precedes it.
fn files(mut bytes: &[u8], count: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let (file, rest) = rest.split_at_checked(length).ok_or("it ended within a chart")?;
        all.push(file.to_vec());
        bytes = rest;
    }
    if all.len() == count { Ok(all) } else { Err(format!("it drew {} of {count} charts", all.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_and_the_folder_of_charts_are_read() {
        let folder = |folder: &str| Some(PathBuf::from(folder));
        for (text, kind, into) in
            [("pdf", "pdf", None), ("svg:out/a", "svg", folder("out/a")), ("png:C:x", "png", folder("C:x"))]
        {
            assert_eq!(text.parse(), Ok(ChartsTarget { kind, folder: into }));
        }
        for text in ["gif", "", "pdf:", "pdf:-", "PDF"] {
            assert!(text.parse::<ChartsTarget>().is_err_and(|told| told.starts_with("found `")), "{text}");
        }
    }

    #[test]
    fn files_stand_behind_their_lengths() {
        let bytes = [&2_u64.to_be_bytes()[..], b"ab", &0_u64.to_be_bytes()[..]].concat();
        assert_eq!(files(&bytes, 2), Ok(vec![b"ab".to_vec(), Vec::new()]));
        assert_eq!(files(&bytes, 3), Err("it drew 2 of 3 charts".to_owned()));
        assert_eq!(files(&bytes[..9], 1), Err("it ended within a chart".to_owned()));
    }
}
