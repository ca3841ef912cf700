//! Snapshots: the state of a device in a file, saved once and used for many runs.
//!
//! A file begins with a magic text, the version of its format, and the version of the state's layout. Two
//! sections of blocks with checksums follow: the head in JSON, and the state ([`wordline_device::snapshot`]),
//! compressed with zstd. The file is written under a temporary name and renamed when it is complete. See
//! docs/snapshots.md.

pub mod blocks;

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use wordline_device::BlockDevice;
use wordline_device::snapshot::{Agenda, LAYOUT};
use wordline_kernel::Instant;
use wordline_kernel::snapshot::{Sink, SnapshotError, Source};

use crate::error::{Error, Result};
use crate::output::Output;
use crate::{input, panics};
use blocks::{Damage, damage, fill};

/// The first bytes of a snapshot. The line end detects files that were transferred as text.
pub const MAGIC: &[u8; 16] = b"wordline-state\r\n";

/// Version of the format around the state.
pub const FORMAT: u32 = 1;

/// Letter of the section of the head.
pub const HEAD: u8 = b'h';

/// Letter of the section of the state.
pub const STATE: u8 = b's';

/// Compression level of zstd. Chosen: the fastest of the usual levels, because maps of random writes hardly
/// compress.
pub const LEVEL: i32 = 1;

/// The head of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Version of the program that wrote it.
    pub program: String,
    /// Name of the device.
    pub device: String,
    /// The whole configuration of the device, in TOML.
    pub configuration: String,
    /// Names of the designs that take decisions of the device; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<String>,
    /// The seed of the device.
    pub seed: u64,
    /// History of the device: a sentence for each step, in order.
    pub history: Vec<String>,
    /// Time of the device's clock, in seconds.
    pub simulated_seconds: f64,
    /// Digest of all events of the device so far.
    pub digest: String,
}

/// A snapshot whose head was read.
pub struct Snapshot {
    path: PathBuf,
    head: Head,
    /// The reader, positioned after the head.
    file: BufReader<CountingReader>,
}

/// Sizes of a snapshot in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Size of the file.
    pub file_bytes: u64,
    /// Size of the state, before compression.
    pub state_bytes: u64,
}

/// The state of a device to save.
pub struct SnapshotState<'a, D: BlockDevice> {
    /// The device, which must have no outstanding commands.
    pub device: &'a D,
    /// The pending events.
    pub agenda: &'a Agenda<D::Event>,
    /// Name of the device.
    pub name: &'a str,
    /// Configuration in TOML.
    pub configuration: &'a str,
    /// The seed of the device.
    pub seed: u64,
    /// The history of the device.
    pub history: &'a [String],
}

impl<D: BlockDevice> SnapshotState<'_, D> {
    /// Writes a snapshot. The file gets its name when it is complete. `look` is called after each mebibyte of
    /// the state, with the number of bytes so far, and returns whether to continue.
    ///
    /// # Errors
    /// [`Error::File`] if the snapshot cannot be written, [`Error::Stopped`] if `look` returned false.
    pub fn save(&self, mut to: Output, look: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        let mut goes_on = true;
        let written = self.write(BufWriter::new(&mut to), &mut |bytes| {
            goes_on &= look(bytes);
            goes_on
        });
        if !goes_on {
            return Err(Error::Stopped);
        }
        written.map_err(|reason| Error::File { path: to.path().to_owned(), action: "write", reason })?;
        to.finish()
    }

    fn write(&self, mut to: impl Write, look: &mut dyn FnMut(u64) -> bool) -> io::Result<()> {
        to.write_all(MAGIC)?;
        to.write_all(&FORMAT.to_le_bytes())?;
        to.write_all(&LAYOUT.to_le_bytes())?;
        let mut head = blocks::Writer::new(to, HEAD);
        serde_json::to_writer(&mut head, &self.head())?;
        let state = blocks::Writer::new(head.finish()?, STATE);
        let mut out = FileSink { to: zstd::Encoder::new(state, LEVEL)?, error: None, bytes: 0, look };
        let saved = self.device.save(self.agenda, &mut out);
        let FileSink { to, error, .. } = out;
        if let Some(error) = error {
            return Err(error);
        }
        saved.map_err(|broken| io::Error::other(broken.to_string()))?;
        to.finish()?.finish()?.flush()
    }

    fn head(&self) -> Head {
        Head {
            program: env!("CARGO_PKG_VERSION").into(),
            device: self.name.into(),
            configuration: self.configuration.into(),
            designs: names_of(self.device.designs()),
            seed: self.seed,
            history: self.history.to_vec(),
            simulated_seconds: (self.agenda.now - Instant::ZERO).seconds(),
            digest: self.device.digest().to_string(),
        }
    }
}

fn names_of(designs: Vec<&'static str>) -> Vec<String> {
    designs.into_iter().map(str::to_owned).collect()
}

/// A device, and its pending events.
type Restored<D> = (D, Agenda<<D as BlockDevice>::Event>);

impl Snapshot {
    /// Opens a snapshot and reads its head; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read. [`Error::Content`] if it is not a snapshot, has another
    /// version, or is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let about = std::fs::metadata(path).ok().filter(|about| about.is_file());
        let length = about.map(|about| about.len());
        let mut file =
            BufReader::new(CountingReader { from: input::open(path)?, bytes: Arc::default(), length });
        let path = input::shown(path);
        let head = read_head(&mut file).map_err(|error| file_error(&path, error))?;
        Ok(Self { path, head, file })
    }

    /// The path of the file, or the name of standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The head of the file.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Restores the saved device into a new `device` of the same configuration and seed. Returns it with its
    /// pending events.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn restore<D: BlockDevice>(self, mut device: D) -> Result<Restored<D>> {
        let Self { path, head, file } = self;
        let designs = names_of(device.designs());
        if designs != head.designs {
            let told = |names: &[String]| match names {
                [] => "the state of a device without a design".to_owned(),
                names => format!("the state of a device with the design {}", names.join(", ")),
            };
            return Err(Error::Content { path, found: told(&head.designs), wanted: told(&designs) });
        }
        // A state that fails a check of the simulation is a fault of the file, not of the program.
        let loaded = panics::catch_panic(|| -> io::Result<_> {
            let agenda = read_state(file, |source| device.load(source))?;
            device.audit(agenda.now - Instant::ZERO);
            Ok(agenda)
        });
        let wrong = |why: String| Err(damage(format!("a damaged state ({why})"), "the state of a device"));
        let agenda = loaded.unwrap_or_else(wrong).map_err(|error| file_error(&path, error))?;
        let content =
            |found: String, wanted: String| Err(Error::Content { path: path.clone(), found, wanted });
        if device.digest().to_string() != head.digest {
            return content(format!("a device with the digest {}", device.digest()), head.digest);
        }
        if device.outstanding() > 0 {
            return content(format!("{} outstanding commands", device.outstanding()), "none".into());
        }
        if agenda.now > Instant::LIMIT {
            return content(
                format!("a clock at {} s", head.simulated_seconds),
                format!("at most {} s, 106 days", Instant::LIMIT.seconds()),
            );
        }
        Ok((device, agenda))
    }

    /// Decompresses the state.
    ///
    /// # Errors
    /// Those of the file.
    pub fn state(self) -> io::Result<Vec<u8>> {
        let mut state = Vec::new();
        zstd::Decoder::with_buffer(blocks::Reader::new(self.file, STATE))?.read_to_end(&mut state)?;
        Ok(state)
    }

    /// Reads the whole snapshot to detect damage. Returns its sizes.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn verify(self) -> Result<Size> {
        let Self { path, file, .. } = self;
        let counted = Arc::clone(&file.get_ref().bytes);
        let state = read_state(file, |source| {
            let (mut sum, mut byte) = (0, [0; 1 << 12]);
            loop {
                let count = source.read_some(&mut byte)?;
                if count == 0 {
                    return Ok(sum);
                }
                sum += count as u64;
            }
        });
        let state_bytes = state.map_err(|error| file_error(&path, error))?;
        Ok(Size { file_bytes: counted.load(Ordering::Relaxed), state_bytes })
    }
}

/// A file that is read from its beginning, and the number of bytes read.
struct CountingReader {
    from: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
    /// Length of the file, if it is a regular file.
    length: Option<u64>,
}

impl Read for CountingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn read_head(file: &mut BufReader<CountingReader>) -> io::Result<Head> {
    let (mut magic, mut numbers) = ([0; MAGIC.len()], [0; 8]);
    match file.read_exact(&mut magic) {
        Ok(()) if magic == *MAGIC => {}
        Err(reason) if reason.kind() != io::ErrorKind::UnexpectedEof => return Err(reason),
        _ => return Err(damage("a file of another kind", "a snapshot of `wordline`")),
    }
    fill(file, &mut numbers)?;
    let [format, layout] = [0, 4].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|n| numbers[at + n])));
    for (what, found, wanted) in [("format", format, FORMAT), ("layout", layout, LAYOUT)] {
        if found != wanted {
            let wanted = format!("{wanted}, which this program ({}) writes", env!("CARGO_PKG_VERSION"));
            return Err(damage(format!("a snapshot of {what} {found}"), wanted));
        }
    }
    let mut text = Vec::new();
    let mut head = blocks::Reader::new(file, HEAD);
    head.read_to_end(&mut text)?;
    head.finish()?;
    serde_json::from_slice(&text).map_err(|error| damage(format!("an invalid head ({error})"), "its keys"))
}

/// The reader of the decompressed state.
type Decoder = zstd::Decoder<'static, blocks::Reader<BufReader<CountingReader>>>;

/// Reads the state with `read`. The file must end after it.
fn read_state<T>(
    file: BufReader<CountingReader>,
    read: impl FnOnce(&mut FileSource<Decoder>) -> std::result::Result<T, SnapshotError>,
) -> io::Result<T> {
    // A pipe has no length.
    let at_most = file.get_ref().length.map_or(u64::MAX, |length| length.saturating_mul(MOST_COMPRESSED));
    let decoder = zstd::Decoder::with_buffer(blocks::Reader::new(file, STATE))?.single_frame();
    let mut source = FileSource { from: decoder, error: None, at_most };
    let value = read(&mut source);
    let FileSource { mut from, error, .. } = source;
    if let Some(error) = error {
        return Err(error);
    }
    let value = value.map_err(|broken| match broken {
        SnapshotError::UnexpectedEnd => damage("an end in the middle of the state", "all of it"),
        broken => damage(broken.to_string(), "a state that this program wrote"),
    })?;
    if from.read(&mut [0])? > 0 {
        return Err(damage("more than a state", "its end"));
    }
    let mut file = from.finish().finish()?;
    if file.read(&mut [0])? > 0 {
        return Err(damage("more after the snapshot", "its end"));
    }
    Ok(value)
}

/// The error for a fault of the user's file.
fn file_error(path: &Path, error: io::Error) -> Error {
    match error.downcast::<Damage>() {
        Ok(Damage { found, wanted }) => Error::Content { path: path.to_owned(), found, wanted },
        Err(reason) => Error::File { path: path.to_owned(), action: "read", reason },
    }
}

/// A file as the sink of a state. Keeps an I/O error for the caller.
struct FileSink<'a, W> {
    to: W,
    error: Option<io::Error>,
    /// Number of bytes written.
    bytes: u64,
    look: &'a mut dyn FnMut(u64) -> bool,
}

/// Bytes of the state between two calls of `look`. Chosen: a few milliseconds.
const CHECK_INTERVAL: u64 = 1 << 20;

impl<W: Write> Sink for FileSink<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> std::result::Result<(), SnapshotError> {
        let before = self.bytes / CHECK_INTERVAL;
        self.bytes += bytes.len() as u64;
        if self.bytes / CHECK_INTERVAL > before && !(self.look)(self.bytes) {
            return Err(SnapshotError::UnexpectedEnd);
        }
        self.to.write_all(bytes).map_err(|error| {
            self.error = Some(error);
            SnapshotError::UnexpectedEnd
        })
    }
}

/// A file as the source of a state. Keeps an I/O error for the caller.
struct FileSource<R> {
    from: R,
    error: Option<io::Error>,
    at_most: u64,
}

/// Greatest length of a field relative to the length of the file, in addition to what the device needs. A
/// larger field is refused. Chosen: real states compress four to ten times.
const MOST_COMPRESSED: u64 = 64;

impl<R: Read> FileSource<R> {
    /// Reads some bytes. Returns 0 at the end of the file.
    fn read_some(&mut self, bytes: &mut [u8]) -> std::result::Result<usize, SnapshotError> {
        self.from.read(bytes).map_err(|error| {
            self.error = Some(error);
            SnapshotError::UnexpectedEnd
        })
    }
}

impl<R: Read> Source for FileSource<R> {
    fn take(&mut self, bytes: &mut [u8]) -> std::result::Result<(), SnapshotError> {
        self.from.read_exact(bytes).map_err(|error| {
            self.error = (error.kind() != io::ErrorKind::UnexpectedEof).then_some(error);
            SnapshotError::UnexpectedEnd
        })
    }

    fn at_most(&self) -> u64 {
        self.at_most
    }
}
