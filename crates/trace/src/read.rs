//! Opening a trace: a file, a directory or archive of blktrace files, or bytes in memory.

use std::path::{Path, PathBuf};

use super::archive;
use super::format::{Content, Merged, PartReader, detect, is_parquet, processor};
use super::formats::Format;
use super::input::{Input, Position, Progress, is_rereadable};
use super::options::Options;
use super::row::Reader;
use super::stream::Stream;
use super::units::AssumedUnits;
use super::{Trace, format};
use crate::{Error, error::Result};

/// Input from which a trace is read.
#[derive(Clone)]
pub(super) enum TraceInput<'a> {
    /// A file or directory, or `-` for standard input.
    Path(PathBuf),
    /// A file in memory, and its name.
    Bytes(&'a str, &'a [u8]),
}

impl<'a> TraceInput<'a> {
    /// Whether the input can be opened again: a pipe cannot.
    pub(super) fn is_rereadable(&self) -> bool {
        match self {
            Self::Path(path) => is_rereadable(path),
            Self::Bytes(..) => true,
        }
    }

    /// Opens the trace. Calls `told` with the progress through an archive, which is read completely first.
    pub(super) fn open(&self, options: &Options, told: &mut dyn FnMut(Progress)) -> Result<Stream<'a>> {
        match self {
            Self::Path(path) if path.is_dir() => {
                options.units(Format::Blktrace)?;
                let (parts, files) = directory_parts(path)?;
                let parts = Box::new(Merged::new(parts)?);
                Ok(Stream::new(path, Format::Blktrace, parts, AssumedUnits::none(), options)?.of(files))
            }
            Self::Path(path) => from_input(Input::open(path)?, options, told),
            Self::Bytes(name, bytes) => from_input(Input::new(Path::new(name), *bytes)?, options, told),
        }
    }
}

/// Opens a trace file, plain or compressed, a directory of blktrace files, or `-` for standard input. Yields
/// requests one by one. Offsets of several devices stay as recorded.
pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Stream<'static>> {
    open_with_progress(path, options, &mut |_| {})
}

/// Opens a trace like [`open`]. Calls `told` at intervals with the progress through an archive, which is read
/// completely first.
///
/// # Errors
/// As [`open`].
pub fn open_with_progress(
    path: impl AsRef<Path>,
    options: &Options,
    told: &mut dyn FnMut(Progress),
) -> Result<Stream<'static>> {
    TraceInput::Path(path.as_ref().into()).open(options, told)
}

/// Reads a whole trace into memory.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Trace> {
    open(path, options)?.whole()
}

/// Reads a trace from memory, plain or compressed. `name` is its name in messages.
pub fn read_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Trace> {
    TraceInput::Bytes(name, bytes).open(options, &mut |_| {})?.whole()
}

fn from_input<'a>(input: Input<'a>, options: &Options, told: &mut dyn FnMut(Progress)) -> Result<Stream<'a>> {
    let path = input.path.clone();
    let files = vec![input.position.clone()];
    let mapped = options.columns.is_some().then_some(Format::Columns);
    let content = match options.format.or(mapped) {
        // A map names columns of text and of Parquet.
        Some(Format::Columns) if is_parquet(&input.prefix) => Content::Trace(Format::Parquet),
        // An archive of blktrace files has this format, too.
        Some(Format::Blktrace) => match detect(&input) {
            Ok(Content::Archive) => Content::Archive,
            _ => Content::Trace(Format::Blktrace),
        },
        Some(format) => Content::Trace(format),
        None => detect(&input)?,
    };
    let (format, reader, assumed): (_, Box<dyn Reader + 'a>, _) = match content {
        Content::Archive => {
            options.units(Format::Blktrace)?;
            let parts = archive::parts(input, told)?;
            (Format::Blktrace, Box::new(Merged::new(parts)?), AssumedUnits::none())
        }
        Content::Trace(Format::Blktrace) => {
            options.units(Format::Blktrace)?;
            (Format::Blktrace, Box::new(PartReader::from(input)), AssumedUnits::none())
        }
        Content::Trace(format) => {
            let (reader, assumed) = format::reader(format, input, options, options.units(format)?)?;
            (format, reader, assumed)
        }
    };
    Ok(Stream::new(&path, format, reader, assumed, options)?.of(files))
}

/// Readers of the files to merge.
type Parts = Vec<Box<dyn Reader>>;

/// Opens the blktrace files in a directory.
fn directory_parts(path: &Path) -> Result<(Parts, Vec<Position>)> {
    let complain = |reason| Error::File { path: path.into(), action: "read", reason };
    let mut files: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(complain)? {
        let entry = entry.map_err(complain)?;
        if let Some(number) = entry.file_name().to_str().and_then(processor) {
            files.push((number, entry.path()));
        }
    }
    if files.is_empty() {
        return Err(Error::Content {
            path: path.into(),
            found: "a directory without files of the block tracer".into(),
            wanted: "files named like sda.blktrace.0, or the name of one trace file".into(),
        });
    }
    files.sort();
    let (mut parts, mut positions) = (Parts::new(), Vec::new());
    for (_, file) in &files {
        // blktrace leaves an empty file for a processor that saw no request.
        let is_empty = std::fs::metadata(file).is_ok_and(|about| about.len() == 0);
        if !is_empty {
            let input = Input::open(file)?;
            positions.push(input.position.clone());
            parts.push(Box::new(PartReader::from(input)));
        }
    }
    Ok((parts, positions))
}
