//! Reading a trace: from a file, a directory of the block tracer's files, an archive of them, or from memory.

use std::io;
use std::path::{Path, PathBuf};

use super::format::{Content, Part, detect, read_parts};
use super::input::Input;
use super::options::{Format, Options};
use super::row::Found;
use super::{Generated, Request};
use super::{format, order};
use crate::summary::{Source, SourceKind};
use crate::{Error, error::Result};

/// A trace: recorded, or generated and written by this program.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The name of the file without directory.
    pub name: String,
    /// Its format, as found or as named by the user.
    pub format: Format,
    /// The requests in the order of their arrival, the first at zero.
    pub requests: Vec<Request>,
    /// What a user should know: what was left out, sorted, or closed.
    pub notes: Vec<String>,
    /// What the requests were generated from, where the file says so; only our CSV can.
    pub generated: Option<Generated>,
}

impl Trace {
    /// Where the requests come from in the end: the file, or what its requests were generated from.
    pub fn source(&self) -> Source {
        match &self.generated {
            Some(generated) => Source { name: generated.name.clone(), kind: generated.kind() },
            None => Source { name: self.name.clone(), kind: SourceKind::RealTrace },
        }
    }
}

/// Reads a trace file, plain or compressed, or a directory that holds the files of the block tracer.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Trace> {
    let path = path.as_ref();
    if path.is_dir() {
        return read_directory(path, options);
    }
    from_input(Input::open(path)?, options)
}

/// Reads a trace that lies in memory, plain or compressed; `name` stands for it in messages.
pub fn read_bytes(name: &str, bytes: &[u8], options: &Options) -> Result<Trace> {
    from_input(Input::new(Path::new(name), bytes)?, options)
}

fn from_input(input: Input<'_>, options: &Options) -> Result<Trace> {
    let path = input.path.clone();
    let content = match options.format {
        // An archive of the block tracer's files is in its format, too.
        Some(Format::Blktrace) => match detect(&input) {
            Ok(Content::Archive) => Content::Archive,
            _ => Content::Trace(Format::Blktrace),
        },
        Some(format) => Content::Trace(format),
        None => detect(&input)?,
    };
    match content {
        Content::Archive => {
            options.units(Format::Blktrace)?;
            let found = read_parts(&path, options, |take| archive_parts(input, take))?;
            finish(&path, Format::Blktrace, found, options)
        }
        Content::Trace(Format::Blktrace) => {
            options.units(Format::Blktrace)?;
            let mut found = read_parts(&path, options, |take| take(input.into()))?;
            found.notes.push("one processor's file alone; name its directory to merge those of all".into());
            finish(&path, Format::Blktrace, found, options)
        }
        Content::Trace(format) => {
            let units = options.units(format)?;
            finish(&path, format, format::read(format, input, options, units)?, options)
        }
    }
}

fn finish(path: &Path, format: Format, found: Found, options: &Options) -> Result<Trace> {
    let generated = found.generated.clone();
    let (requests, mut notes) = order::requests(path, found, options)?;
    if let Some(generated) = &generated {
        notes.push(format!("generated from {generated}: not a recorded trace"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Trace { name, format, requests, notes, generated })
}

/// Whether a name is that of a processor's file, `sda.blktrace.3`, compressed or not; then the processor.
fn processor(name: &str) -> Option<u32> {
    let plain = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let (base, number) = plain.rsplit_once('.')?;
    base.ends_with(".blktrace").then(|| number.parse().ok()).flatten()
}

fn read_directory(path: &Path, options: &Options) -> Result<Trace> {
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
    options.units(Format::Blktrace)?;
    let found = read_parts(path, options, |take| {
        for (_, file) in &files {
            // The block tracer leaves an empty file for a processor that saw no request.
            let is_empty = std::fs::metadata(file).is_ok_and(|about| about.len() == 0);
            if !is_empty {
                take(Input::open(file)?.into())?;
            }
        }
        Ok(())
    })?;
    finish(path, Format::Blktrace, found, options)
}

/// Gives every member of an archive that is a processor's file to `take`. Members may be compressed themselves.
fn archive_parts(input: Input<'_>, take: &mut dyn FnMut(Part<'_>) -> Result<()>) -> Result<()> {
    let path = input.path;
    let damaged = |member: usize, reason: &io::Error| Error::Line {
        path: path.clone(),
        line: member as u64,
        found: format!("a damaged member of the archive ({reason})"),
        wanted: "a whole tar archive: the file is cut off or damaged".into(),
    };
    let mut archive = tar::Archive::new(input.stream);
    let entries = archive.entries().map_err(|reason| damaged(1, &reason))?;
    let mut taken = 0;
    for (member, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|reason| damaged(member + 1, &reason))?;
        let name = entry.path().map_err(|reason| damaged(member + 1, &reason))?.into_owned();
        let is_part = name.file_name().and_then(|name| name.to_str()).and_then(processor).is_some();
        if !is_part || entry.size() == 0 {
            continue;
        }
        let size = entry.size();
        let counted = Counted { inner: &mut entry, left: size };
        take(Input::new(&path.join(name), io::BufReader::new(counted))?.into())?;
        taken += 1;
    }
    if taken == 0 {
        return Err(Error::Content {
            path: path.clone(),
            found: "an archive without files of the block tracer".into(),
            wanted: "members named like sda.blktrace.0".into(),
        });
    }
    Ok(())
}

/// A member of an archive, which must have as many bytes as its header says: the archive may be cut off.
struct Counted<R> {
    inner: R,
    left: u64,
}

impl<R: io::Read> io::Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 && self.left > 0 && !into.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within this member"));
        }
        Ok(read)
    }
}
