//! Opening a trace: decompression as it is read, lines with their numbers, and errors that name them.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::{Error, error::Result, input};

/// How much of a file is looked at to find its format; chosen to hold a few hundred lines of any format.
const PREFIX: u64 = 64 << 10;

/// The longest line that is read, chosen far above any format's: a binary file must not fill the memory.
const LONGEST_LINE: u64 = 1 << 20;

/// What is wrong with a line or record; the reader adds where it stands.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) found: String,
    pub(super) wanted: String,
}

impl Bad {
    /// A complaint about `found`, which is quoted as it stands in the file.
    pub(super) fn quoting(found: &str, wanted: impl Into<String>) -> Self {
        Self { found: quoted(found), wanted: wanted.into() }
    }
}

/// A text from a file as shown to a user: in quotes, unprintable characters escaped, cut after 80 characters.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        shown.push_str("...");
    }
    format!("\"{shown}\"")
}

/// The decompressed content of a trace file, and its beginning.
pub(super) struct Input<'a> {
    /// The file, for messages.
    pub(super) path: PathBuf,
    /// The beginning of the content.
    pub(super) prefix: Vec<u8>,
    /// The content from its beginning.
    pub(super) stream: Box<dyn BufRead + 'a>,
}

impl Input<'_> {
    /// Opens a file, plain, gzip or zstd.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let raw = BufReader::with_capacity(1 << 16, input::open(path)?);
        Input::new(&input::shown(path), raw)
    }
}

impl<'a> Input<'a> {
    /// The content that `raw` holds, decompressed.
    pub(super) fn new(path: &Path, mut raw: impl BufRead + 'a) -> Result<Self> {
        let read_error = |reason| Error::File { path: path.into(), action: "read", reason };
        let magic = raw.fill_buf().map_err(read_error)?;
        if magic.is_empty() {
            return Err(empty(path));
        }
        let mut stream: Box<dyn BufRead + 'a> = match magic {
            [0x1f, 0x8b, ..] => Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(raw))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                Box::new(BufReader::new(zstd::Decoder::with_buffer(raw).map_err(read_error)?))
            }
            [0xfd, b'7', b'z', b'X', ..] => return Err(foreign(path, "an xz file")),
            [b'B', b'Z', b'h', ..] => return Err(foreign(path, "a bzip2 file")),
            [b'P', b'K', 3, 4, ..] => return Err(foreign(path, "a zip archive")),
            _ => Box::new(raw),
        };
        let mut prefix = Vec::new();
        let outcome = stream.by_ref().take(PREFIX).read_to_end(&mut prefix);
        let again = Cursor::new(prefix.clone());
        let stream: Box<dyn BufRead + 'a> = match outcome {
            Ok(_) if prefix.is_empty() => return Err(empty(path)),
            Ok(_) => Box::new(again.chain(stream)),
            Err(reason) if !prefix.contains(&b'\n') => return Err(stream_error(path, 1, &reason)),
            // The lines before the damage are read first, so that the message can say how far they go.
            Err(reason) => Box::new(again.chain(BufReader::with_capacity(1, Broken(Some(reason))))),
        };
        Ok(Self { path: path.into(), prefix, stream })
    }

    /// The content as lines.
    pub(super) fn lines(self) -> Lines<'a> {
        Lines { path: self.path, stream: self.stream, number: 0, buffer: Vec::new(), unended: false }
    }
}

/// A stream that ends in the error it was made with.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }
}

fn empty(path: &Path) -> Error {
    Error::Content { path: path.into(), found: "an empty file".into(), wanted: "a trace".into() }
}

fn foreign(path: &Path, found: &str) -> Error {
    Error::Content {
        path: path.into(),
        found: found.into(),
        wanted: "a trace, plain or compressed with gzip or zstd".into(),
    }
}

/// An error of reading the stream in line or record `line`.
pub(super) fn stream_error(path: &Path, line: u64, reason: &io::Error) -> Error {
    let (found, wanted) = if reason.kind() == io::ErrorKind::UnexpectedEof {
        ("an early end of the data", "the rest of them: the file is cut off")
    } else {
        ("damaged data", "intact data: the file is damaged")
    };
    Error::Line { path: path.into(), line, found: format!("{found} ({reason})"), wanted: wanted.into() }
}

/// The lines of a trace, counted from 1.
pub(super) struct Lines<'a> {
    /// The file, for messages.
    pub(super) path: PathBuf,
    stream: Box<dyn BufRead + 'a>,
    number: u64,
    buffer: Vec<u8>,
    unended: bool,
}

impl Lines<'_> {
    /// The next line without its end, or `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Cow<'_, str>>> {
        self.buffer.clear();
        let read = self.stream.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        self.number += 1;
        let read = read.map_err(|reason| stream_error(&self.path, self.number, &reason))?;
        if read == 0 {
            self.number -= 1;
            return Ok(None);
        }
        if read as u64 == LONGEST_LINE {
            let found = format!("more than {LONGEST_LINE} bytes without a line end");
            return Err(self.wrong(Bad { found, wanted: "a line of text".into() }));
        }
        self.unended = self.buffer.pop_if(|last| *last == b'\n').is_none();
        self.buffer.pop_if(|last| *last == b'\r');
        Ok(Some(String::from_utf8_lossy(&self.buffer)))
    }

    /// Gives every line to `take` but blank ones and comments, which begin with `#`.
    pub(super) fn each(&mut self, mut take: impl FnMut(&str) -> std::result::Result<(), Bad>) -> Result<()> {
        while let Some(line) = self.next()? {
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if let Err(bad) = take(text) {
                return Err(self.wrong(bad));
            }
        }
        Ok(())
    }

    /// An error in the line read last.
    pub(super) fn wrong(&self, bad: Bad) -> Error {
        let cut =
            if self.unended { " in the last line, which has no line end (a file cut off?)" } else { "" };
        Error::Line { path: self.path.clone(), line: self.number, found: bad.found + cut, wanted: bad.wanted }
    }

    /// What to tell about a last line that has no end, if it has none: it may be cut off and still look whole.
    pub(super) fn unended_note(&self) -> Option<String> {
        self.unended.then(|| {
            format!("line {}, the last, has no line end: the file may be cut off there", self.number)
        })
    }
}
