//! Opening a trace: streaming decompression, numbered lines, and errors with line numbers.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, error::Result};

/// Bytes of a file examined for its format. Chosen: a few hundred lines of any format.
const PREFIX: u64 = 64 << 10;

/// Longest line accepted, in bytes. Chosen: far above the lines of any format, so that a binary file cannot
/// fill the memory.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// An error in a line or record, without its position, which the reader adds.
#[derive(Debug)]
pub(super) struct ParseError {
    pub(super) found: String,
    pub(super) wanted: String,
}

impl ParseError {
    /// Creates an error about `found`, quoted as it stands in the file.
    pub(super) fn quoting(found: &str, wanted: impl Into<String>) -> Self {
        Self { found: quoted(found), wanted: wanted.into() }
    }
}

/// Formats text from a file for the user: in quotes, unprintable characters escaped, cut after 80 characters.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        shown.push_str("...");
    }
    format!("\"{shown}\"")
}

/// UTF-8 byte order mark, which some editors write first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Read progress of a trace file, in bytes on disk (before decompression).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes: u64,
    /// Size of the file, or of all merged files, in bytes; `None` for a pipe. An archive is read completely
    /// before its first request.
    pub of: Option<u64>,
}

/// Requests between two progress reports. Chosen: a few milliseconds of work.
pub(super) const PROGRESS_INTERVAL: u64 = 4_096;

/// Read position of a file, shared by the reader and its observers.
#[derive(Clone, Default)]
pub(super) struct Position {
    read: Arc<AtomicU64>,
    of: Option<u64>,
    /// Whether bytes that are not gzip follow the compressed data; known at the end.
    junk: Arc<AtomicBool>,
}

impl Position {
    /// Note about bytes after the compressed data, if any.
    pub(super) fn junk_note(&self) -> Option<String> {
        let found = self.junk.load(Ordering::Relaxed);
        found.then(|| "bytes after the compressed data that are no gzip were ignored".into())
    }

    /// Sets the position to a share of the file.
    pub(super) fn set_share(&self, done: u64, of: u64) {
        let bytes = self.of.unwrap_or(0);
        let read = u128::from(bytes) * u128::from(done.min(of)) / u128::from(of.max(1));
        self.read.store(read as u64, Ordering::Relaxed);
    }

    /// Sums the positions of the files of a trace.
    pub(super) fn sum(files: &[Self]) -> Progress {
        let bytes = files.iter().map(|file| file.read.load(Ordering::Relaxed)).sum();
        let of = files.iter().map(|file| file.of).sum::<Option<u64>>();
        Progress { bytes, of: of.filter(|of| *of > 0) }
    }
}

/// Counts the bytes read from a file.
struct CountingReader<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Decompressed content of a trace file, and its first bytes.
pub(super) struct Input<'a> {
    /// File name, for messages.
    pub(super) path: PathBuf,
    /// First bytes of the content.
    pub(super) prefix: Vec<u8>,
    /// The whole content, `prefix` included.
    pub(super) stream: Box<dyn BufRead + Send + 'a>,
    /// Read position in the file.
    pub(super) position: Position,
    /// The file, if it can be opened again.
    pub(super) file: Option<PathBuf>,
}

/// Whether `path` can be opened and read repeatedly: a regular file, not a pipe or a device.
pub(super) fn is_rereadable(path: &Path) -> bool {
    !is_standard(path) && std::fs::metadata(path).is_ok_and(|about| about.is_file() || about.is_dir())
}

impl Input<'_> {
    /// Opens a plain, gzip or zstd file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let of = std::fs::metadata(path).ok().filter(|about| about.is_file() && !is_standard(path));
        let read = Arc::default();
        let file = CountingReader { inner: opened(path)?, read: Arc::clone(&read) };
        let shown = if is_standard(path) { Path::new("standard input") } else { path };
        let again = is_rereadable(path).then(|| path.to_owned());
        let input = Input::new(shown, BufReader::with_capacity(1 << 16, file))?;
        let position = Position { read, of: of.map(|about| about.len()), ..input.position };
        Ok(Self { position, file: again, ..input })
    }
}

/// Whether a name means standard input.
fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a file named by the user. A directory is rejected here, because the error from reading one is less
/// clear.
fn opened(path: &Path) -> Result<Box<dyn Read + Send>> {
    let open = || -> io::Result<Box<dyn Read + Send>> {
        if is_standard(path) {
            return Ok(Box::new(io::stdin()));
        }
        if std::fs::metadata(path).is_ok_and(|about| about.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(File::open(path)?))
    };
    open().map_err(|reason| Error::File { path: path.to_owned(), action: "open", reason })
}

impl<'a> Input<'a> {
    /// Decompresses the content of `raw`.
    pub(super) fn new(path: &Path, mut raw: impl BufRead + Send + 'a) -> Result<Self> {
        let read_error = |reason| Error::File { path: path.into(), action: "read", reason };
        let magic = raw.fill_buf().map_err(read_error)?;
        if magic.is_empty() {
            return Err(empty(path));
        }
        let position = Position::default();
        let mut stream: Box<dyn BufRead + Send + 'a> = match magic {
            [0x1f, 0x8b, ..] => {
                Box::new(BufReader::with_capacity(1 << 16, GzipMembers::new(raw, position.junk.clone())))
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let decoder = zstd::Decoder::with_buffer(raw).map_err(read_error)?;
                Box::new(BufReader::with_capacity(1 << 16, decoder))
            }
            [0xfd, b'7', b'z', b'X', ..] => return Err(foreign(path, "an xz file")),
            [b'B', b'Z', b'h', ..] => return Err(foreign(path, "a bzip2 file")),
            [b'P', b'K', 3, 4, ..] => return Err(foreign(path, "a zip archive")),
            _ => Box::new(raw),
        };
        let mut prefix = Vec::new();
        let outcome = stream.by_ref().take(PREFIX).read_to_end(&mut prefix);
        if let Some(rest) = prefix.strip_prefix(BYTE_ORDER_MARK).filter(|rest| is_text(rest)) {
            prefix = rest.to_vec();
        }
        let again = Cursor::new(prefix.clone());
        let stream: Box<dyn BufRead + Send + 'a> = match outcome {
            Ok(_) if prefix.is_empty() => return Err(empty(path)),
            Ok(_) => Box::new(again.chain(stream)),
            Err(reason) if !prefix.contains(&b'\n') => return Err(stream_error(path, 1, &reason)),
            // The lines before the damage are delivered first, so that the message has the number of the
            // damaged line.
            Err(reason) => Box::new(again.chain(BufReader::with_capacity(1, FailingReader(Some(reason))))),
        };
        Ok(Self { path: path.into(), prefix, stream, position, file: None })
    }

    /// Returns the content as lines.
    pub(super) fn lines(self) -> Lines<'a> {
        let Self { path, stream, .. } = self;
        Lines { path, stream, number: 0, buffer: Vec::new(), unended: false }
    }
}

/// Whether these bytes are UTF-8, except for a character cut off at the end.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|reason| reason.error_len().is_none(), |_| true)
}

/// Members of a gzip file, one after another. Other bytes after the members are ignored, as gzip does.
struct GzipMembers<R> {
    member: Option<flate2::bufread::GzDecoder<R>>,
    junk: Arc<AtomicBool>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(raw: R, junk: Arc<AtomicBool>) -> Self {
        Self { member: Some(flate2::bufread::GzDecoder::new(raw)), junk }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(flate2::bufread::GzDecoder::into_inner) else {
                break;
            };
            match rest.fill_buf()?.first() {
                Some(0x1f) => self.member = Some(flate2::bufread::GzDecoder::new(rest)),
                Some(_) => self.junk.store(true, Ordering::Relaxed),
                None => {}
            }
        }
        Ok(0)
    }
}

/// A stream that fails with the given error.
struct FailingReader(Option<io::Error>);

impl Read for FailingReader {
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

/// Fills `record` from the stream; returns the bytes read.
pub(super) fn fill(stream: &mut impl Read, record: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < record.len() {
        match stream.read(&mut record[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(reason) if reason.kind() == io::ErrorKind::Interrupted => {}
            Err(reason) => return Err(reason),
        }
    }
    Ok(filled)
}

/// Converts an error from reading the stream at line or record `line`.
pub(super) fn stream_error(path: &Path, line: u64, reason: &io::Error) -> Error {
    let (found, wanted) = if reason.kind() == io::ErrorKind::UnexpectedEof {
        ("an early end of the data", "the rest of them: the file is cut off")
    } else {
        ("damaged data", "intact data: the file is damaged")
    };
    Error::Line { path: path.into(), line, found: format!("{found} ({reason})"), wanted: wanted.into() }
}

/// Lines of a trace, counted from 1.
pub(super) struct Lines<'a> {
    /// File name, for messages.
    pub(super) path: PathBuf,
    stream: Box<dyn BufRead + Send + 'a>,
    number: u64,
    buffer: Vec<u8>,
    unended: bool,
}

impl Lines<'_> {
    /// Returns the next line without its end, or `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Cow<'_, str>>> {
        self.buffer.clear();
        let read = self.stream.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.buffer);
        self.number += 1;
        let read = read.map_err(|reason| stream_error(&self.path, self.number, &reason))?;
        if read == 0 {
            self.number -= 1;
            return Ok(None);
        }
        if read as u64 == MAX_LINE_BYTES {
            let found = format!("more than {MAX_LINE_BYTES} bytes without a line end");
            return Err(self.wrong(ParseError { found, wanted: "a line of text".into() }));
        }
        self.unended = self.buffer.pop_if(|last| *last == b'\n').is_none();
        self.buffer.pop_if(|last| *last == b'\r');
        // Checking for UTF-8 first is faster than a lossy conversion.
        let text = std::str::from_utf8(&self.buffer).map(Cow::Borrowed);
        Ok(Some(text.unwrap_or_else(|_| String::from_utf8_lossy(&self.buffer))))
    }

    /// Returns the first result of `take` on the next lines. Skips blank lines and comments, which begin with
    /// `#`.
    pub(super) fn first<T>(
        &mut self,
        mut take: impl FnMut(&str) -> std::result::Result<Option<T>, ParseError>,
    ) -> Result<Option<T>> {
        while let Some(line) = self.next()? {
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match take(text) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(bad) => return Err(self.wrong(bad)),
            }
        }
        Ok(None)
    }

    /// Number of the last line read.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Whether the last line read is the last of the file and has no line end.
    pub(super) const fn is_unended(&self) -> bool {
        self.unended
    }

    /// Converts an error in the last line read.
    pub(super) fn wrong(&self, bad: ParseError) -> Error {
        let cut =
            if self.unended { " in the last line, which has no line end (a file cut off?)" } else { "" };
        Error::Line { path: self.path.clone(), line: self.number, found: bad.found + cut, wanted: bad.wanted }
    }

    /// Note about a last line without line end, if any. Such a line may be truncated and still parse.
    pub(super) fn unended_note(&self) -> Option<String> {
        self.unended.then(|| {
            format!("line {}, the last, has no line end: the file may be cut off there", self.number)
        })
    }
}
