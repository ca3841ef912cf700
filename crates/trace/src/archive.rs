//! Tar archives of blktrace files. The members of an archive follow one another, but their events are merged
//! by time. The events are therefore spooled to a temporary file first, so that memory does not depend on
//! their number.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};
use tempfile::NamedTempFile;

use super::Op;
use super::format::{PartReader, processor};
use super::input::{Input, PROGRESS_INTERVAL, Position, Progress, fill, stream_error};
use super::options::Action;
use super::recorded::RecordedOp;
use super::row::{Reader, Row};
use crate::{Error, error::Result};

/// Upper bound on the name of a member, and on a header with a name: PATH_MAX of Linux is 4096 bytes
/// (limits.h), and a POSIX header holds more than the name.
const MAX_HEADER_BYTES: u64 = 64 << 10;

/// Upper bound on merged files: Linux can be built for at most 8,192 processors (CONFIG_NR_CPUS).
const MAX_PARTS: usize = 8_192;

/// Size of a header, and of the blocks to which members are padded, in bytes.
const BLOCK: usize = 512;

/// Returns a reader for each member that is a per-CPU blktrace file. The members may be compressed, too.
/// Calls `told` at intervals with the progress through the archive.
pub(super) fn parts<'a>(
    input: Input<'_>,
    told: &mut dyn FnMut(Progress),
) -> Result<Vec<Box<dyn Reader + 'a>>> {
    let (path, mut stream, position) = (input.path, input.stream, input.position);
    let mut spool = EventSpool::new(&path)?;
    let mut tell = || told(Position::sum(std::slice::from_ref(&position)));
    let mut long_name = None;
    for member in 1.. {
        let broken = |reason| damaged(&path, member, &reason);
        let mut block = [0; BLOCK];
        let read = fill(&mut stream, &mut block).map_err(broken)?;
        if block == [0; BLOCK] {
            break;
        }
        let header = Header::from_byte_slice(&block);
        let size = checked_size(header, read).map_err(broken)?;
        let mut content = stream.by_ref().take(size);
        match header.entry_type() {
            EntryType::GNULongName => long_name = Some(header_text(&path, member, &mut content)?),
            EntryType::XHeader => long_name = posix_name(&path, member, &mut content)?.or(long_name),
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => {
                let name = long_name.take().unwrap_or_else(|| header.path_bytes().into_owned());
                let name = PathBuf::from(String::from_utf8_lossy(&name).trim_end_matches('\0'));
                spool.member((&path, member), &name, &mut content, &mut tell)?;
            }
        }
        let left = content.limit() + size.next_multiple_of(BLOCK as u64) - size;
        let passed = io::copy(&mut stream.by_ref().take(left), &mut io::sink()).map_err(broken)?;
        if passed < left {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    spool.parts()
}

/// Returns the member size from a header whose checksum is right.
fn checked_size(header: &Header, read: usize) -> io::Result<u64> {
    if read < BLOCK {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let bytes = header.as_bytes();
    // The sum of all bytes, with the checksum field read as spaces (POSIX, pax, ustar interchange format).
    let of = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let sum = of(&bytes[..148]) + 8 * u32::from(b' ') + of(&bytes[156..]);
    if header.cksum()? != sum {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of its header is wrong"));
    }
    let size = header.entry_size()?;
    let fits = size <= i64::MAX as u64;
    fits.then_some(size).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its size is beyond 8 EiB"))
}

fn damaged(path: &Path, member: u64, reason: &io::Error) -> Error {
    wrong(
        path,
        member,
        format!("a damaged member of the archive ({reason})"),
        "a whole tar archive: the file is cut off or damaged",
    )
}

fn wrong(path: &Path, member: u64, found: String, wanted: impl Into<String>) -> Error {
    Error::Line { path: path.into(), line: member, found, wanted: wanted.into() }
}

/// Reads the content of a member that serves as a header of the next member.
fn header_text(path: &Path, member: u64, content: &mut io::Take<impl Read>) -> Result<Vec<u8>> {
    let size = content.limit();
    if size > MAX_HEADER_BYTES {
        let found = format!("a name or header of {size} bytes");
        return Err(wrong(path, member, found, format!("at most {MAX_HEADER_BYTES} bytes")));
    }
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).map_err(|reason| damaged(path, member, &reason))?;
    Ok(bytes)
}

/// Returns the name in a POSIX (pax) header, if it has one.
fn posix_name(path: &Path, member: u64, content: &mut io::Take<impl Read>) -> Result<Option<Vec<u8>>> {
    let bytes = header_text(path, member, content)?;
    let mut name = None;
    for record in tar::PaxExtensions::new(&bytes) {
        let record = record.map_err(|reason| damaged(path, member, &reason))?;
        match record.key_bytes() {
            b"path" => name = Some(record.value_bytes().to_vec()),
            b"size" => {
                let found = "a size in a header of POSIX, as of members above 8 GiB".into();
                return Err(wrong(path, member, found, "smaller members, or the files in a directory"));
            }
            _ => {}
        }
    }
    Ok(name)
}

/// Events in a temporary file, before they are merged.
struct EventSpool {
    path: PathBuf,
    file: NamedTempFile,
    /// Name of each part, and its end in records.
    ends: Vec<(PathBuf, u64)>,
}

impl EventSpool {
    fn new(path: &Path) -> Result<Self> {
        let file = NamedTempFile::new().map_err(|reason| Error::File {
            path: std::env::temp_dir(),
            action: "write",
            reason,
        })?;
        Ok(Self { path: path.into(), file, ends: Vec::new() })
    }

    fn complain(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let path = self.file.path().to_path_buf();
        move |reason| Error::File { path: path.clone(), action, reason }
    }

    /// Adds a member if it is a per-CPU file and is not empty.
    fn member(
        &mut self,
        (path, member): (&Path, u64),
        name: &Path,
        content: &mut io::Take<impl Read + Send>,
        tell: &mut dyn FnMut(),
    ) -> Result<()> {
        let is_part = name.file_name().and_then(|name| name.to_str()).and_then(processor).is_some();
        let size = content.limit();
        if !is_part || size == 0 {
            return Ok(());
        }
        if self.ends.len() >= MAX_PARTS {
            return Err(wrong(path, member, format!("more than {MAX_PARTS} processors' files"), "less"));
        }
        let (whole, name) = (SizedMember { inner: content, left: size }, path.join(name));
        self.take(PartReader::from(Input::new(&name, BufReader::new(whole))?), name, tell)
    }

    fn take(&mut self, mut part: PartReader<'_>, name: PathBuf, tell: &mut dyn FnMut()) -> Result<()> {
        let complain = self.complain("write");
        let mut count = self.ends.last().map_or(0, |(_, end)| *end);
        let mut out = BufWriter::new(self.file.as_file_mut());
        while let Some(row) = part.next()? {
            out.write_all(&packed(&row)).map_err(&complain)?;
            count += 1;
            if count.is_multiple_of(PROGRESS_INTERVAL) {
                tell();
            }
        }
        out.flush().map_err(&complain)?;
        drop(out);
        self.ends.push((name, count));
        Ok(())
    }

    /// Returns a reader for each part. The temporary file is unlinked once the readers exist.
    fn parts<'a>(self) -> Result<Vec<Box<dyn Reader + 'a>>> {
        if self.ends.is_empty() {
            return Err(Error::Content {
                path: self.path,
                found: "an archive without files of the block tracer".into(),
                wanted: "members named like sda.blktrace.0".into(),
            });
        }
        let complain = self.complain("read");
        let mut begin = 0;
        let mut parts: Vec<Box<dyn Reader>> = Vec::new();
        for (path, end) in &self.ends {
            let mut file = self.file.reopen().map_err(&complain)?;
            file.seek(SeekFrom::Start(begin * PACKED as u64)).map_err(&complain)?;
            let file = BufReader::with_capacity(PACKED * 256, file);
            parts.push(Box::new(SpoolReader { path: path.clone(), file, left: end - begin }));
            begin = *end;
        }
        Ok(parts)
    }
}

/// Size of an event in the temporary file, in bytes.
const PACKED: usize = 16 + 8 + 8 + 8 + 4 + 4 + 4;

fn packed(row: &Row) -> [u8; PACKED] {
    let mut bytes = [0; PACKED];
    let flags = [
        row.op as u8,
        row.event.map_or(u8::MAX, |event| event as u8),
        u8::from(row.fua) | u8::from(row.preflush) << 1 | u8::from(row.cpu.is_some()) << 2,
        row.recorded.map_or(u8::MAX, |recorded| recorded as u8),
    ];
    let cpu = u32::from(row.cpu.unwrap_or(0)).to_le_bytes();
    let fields: [&[u8]; 7] = [
        &row.time.to_le_bytes(),
        &row.offset.to_le_bytes(),
        &row.size.to_le_bytes(),
        &row.line.to_le_bytes(),
        &row.device.to_le_bytes(),
        &cpu,
        &flags,
    ];
    let mut at = 0;
    for field in fields {
        bytes[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    }
    bytes
}

fn unpacked(bytes: &[u8; PACKED]) -> Row {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let flags = bytes[PACKED - 2];
    Row {
        time: i128::from_le_bytes(bytes[..16].try_into().expect("sixteen bytes")),
        op: Op::ALL[usize::from(bytes[PACKED - 4])],
        fua: flags & 1 > 0,
        device: word(40),
        offset: long(16),
        size: long(24),
        response: None,
        cpu: (flags & 4 > 0).then_some(word(44) as u16),
        stream: 0,
        line: long(32),
        event: [Action::Queue, Action::Issue, Action::Complete].get(usize::from(bytes[PACKED - 3])).copied(),
        preflush: flags & 2 > 0,
        recorded: RecordedOp::ALL.get(usize::from(bytes[PACKED - 1])).copied(),
        part: 0,
    }
}

/// Reads the events of a part from the temporary file.
struct SpoolReader {
    path: PathBuf,
    file: BufReader<File>,
    left: u64,
}

impl Reader for SpoolReader {
    fn next(&mut self) -> Result<Option<Row>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut bytes = [0; PACKED];
        let read = fill(&mut self.file, &mut bytes);
        match read
            .and_then(|read| if read == PACKED { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) })
        {
            Ok(()) => Ok(Some(unpacked(&bytes))),
            Err(reason) => Err(stream_error(&self.path, 0, &reason)),
        }
    }

    fn file(&self, _part: u16) -> Option<&Path> {
        Some(&self.path)
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A member of an archive. It must have as many bytes as its header says, because the archive may be
/// truncated.
struct SizedMember<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for SizedMember<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 && self.left > 0 && !into.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within this member"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_out_of_the_temporary_file_as_it_went_in() {
        let plain = Row::new(-7, Op::Write, 8 << 20 | 16, 4096, 512).expect("in range");
        let full = Row {
            fua: true,
            preflush: true,
            cpu: Some(511),
            line: 1 << 40,
            event: Some(Action::Complete),
            ..plain
        };
        let left_out = |recorded| Row::left_out(5, recorded, 7, Some(Action::Issue));
        let ops = Op::ALL.map(|op| Row { op, event: Some(Action::Queue), ..plain });
        for row in [plain, full].into_iter().chain(ops).chain(RecordedOp::ALL.map(left_out)) {
            assert_eq!(format!("{:?}", unpacked(&packed(&row))), format!("{row:?}"));
        }
    }
}
