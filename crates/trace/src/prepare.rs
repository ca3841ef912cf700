//! Surveys a trace before its first request is run or written.
//!
//! A trace of up to [`MAX_HELD_REQUESTS`] requests is read once and held. A longer trace is read twice, the
//! first time only for the survey. A stream that cannot be read twice is surveyed as far as it is held.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wordline_kernel::{Bytes, Instant};

use super::embedded;
use super::formats::Format;
use super::generated::source;
use super::input::{PROGRESS_INTERVAL, Progress};
use super::locate::Locator;
use super::options::Options;
use super::read::TraceInput;
use super::stream::{Stream, keep, relocate_all};
use super::{Generated, Request};
use crate::Source;
use crate::error::Result;

/// Upper bound on requests held in memory: they take 64 MiB. Chosen: most traces are shorter and are read
/// once.
pub const MAX_HELD_REQUESTS: usize = 1 << 20;

/// A stream of requests; the first error ends it.
pub type Requests = Box<dyn Iterator<Item = Result<Request>> + Send>;

/// Facts about a trace that a run needs before it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    /// Number of requests.
    pub requests: u64,
    /// Byte after the last that any request except a flush touches.
    pub extent: Bytes,
    /// Arrival of the last request.
    pub last: Instant,
    /// Whether requests carry the processor that issued them.
    pub has_processors: bool,
    /// Whether any request has a stream.
    pub has_streams: bool,
    /// Whether the survey covers the whole trace. A stream that cannot be read twice is surveyed only as far
    /// as it was held.
    pub is_whole: bool,
}

/// Notes that are complete only after the last request. When they are taken, they tell of the requests so far, so
/// that a run that ends early has them, too.
#[derive(Clone, Default)]
pub struct LateNotes(Arc<Mutex<Vec<NoteSource>>>);

type NoteSource = Box<dyn FnOnce() -> Vec<String> + Send>;

impl LateNotes {
    /// Adds a value, and what it has to note at the end. Returns the value, for use until then.
    pub fn add<T: Send + 'static>(
        &self,
        source: T,
        notes: impl FnOnce(&T) -> Vec<String> + Send + 'static,
    ) -> Arc<Mutex<T>> {
        let source = Arc::new(Mutex::new(source));
        let shared = Arc::clone(&source);
        lock(&self.0).push(Box::new(move || notes(&lock(&shared))));
        source
    }

    /// Takes the notes on the requests so far.
    pub fn take(&self) -> Vec<String> {
        let sources = std::mem::take(&mut *lock(&self.0));
        sources.into_iter().flat_map(|notes| notes()).collect()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A trace that is ready to be run or written.
pub struct Prepared {
    /// Name of the file without directory.
    pub name: String,
    /// Format.
    pub format: Format,
    /// Origin of generated requests, if the file gives it.
    pub generated: Option<Generated>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Notes that are complete with the last request.
    pub late_notes: LateNotes,
    /// Looks up the lines of requests, if the trace can be read again.
    pub locator: Option<Locator>,
    /// Results of the survey.
    pub survey: Survey,
    /// The requests, with their devices stacked if the option requests it.
    pub requests: Requests,
}

impl Prepared {
    /// Returns the original source of the requests.
    pub fn source(&self) -> Source {
        source(&self.name, self.generated.as_ref())
    }
}

/// Prepares the first `limit` requests of a trace: a file, a directory, or `-` for standard input. Calls
/// `told` at intervals with the read progress. With a limit, the last request may come long before the end of
/// the file.
pub fn prepare(
    path: &Path,
    options: &Options,
    limit: Option<u64>,
    told: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    of(&TraceInput::Path(path.into()), options, limit, MAX_HELD_REQUESTS, told)
}

/// Prepares the embedded trace.
pub fn prepare_embedded(limit: Option<u64>) -> Result<Prepared> {
    of(&embedded::input(), &Options::default(), limit, MAX_HELD_REQUESTS, &mut |_| {})
}

/// A trace whose beginning has been read.
struct TraceHead {
    stream: Stream<'static>,
    survey: Survey,
    held: Vec<Request>,
}

fn of(
    place: &TraceInput<'static>,
    options: &Options,
    limit: Option<u64>,
    most: usize,
    told: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    let limit = limit.unwrap_or(u64::MAX);
    let mut look =
        TraceHead { stream: place.open(options, told)?, survey: Survey::default(), held: Vec::new() };
    let is_all_held = look.take(limit, most, told)?;
    let reads_on = !is_all_held && !place.is_rereadable();
    if !is_all_held && !reads_on {
        look.held = Vec::new();
        look.take(limit, 0, told)?;
    }
    look.survey.is_whole = !reads_on;
    let TraceHead { mut stream, mut survey, mut held } = look;
    let layout = stream.layout()?;
    survey.extent = layout.extent();
    relocate_all(&layout, &mut held);
    let (name, format, generated) = (stream.name(), stream.format(), stream.generated().cloned());
    let mut notes = stream.notes();
    let late_notes = LateNotes::default();
    let requests: Requests = if is_all_held {
        Box::new(held.into_iter().map(Ok))
    } else if reads_on {
        let told = notes.clone();
        notes.push(format!("read as a stream: only its first {most} requests were surveyed"));
        stream.set_layout(layout);
        let new = move |stream: &Stream<'static>| {
            stream.notes().into_iter().filter(|note| !told.contains(note)).collect()
        };
        let stream = late_notes.add(stream, new);
        let rest = std::iter::from_fn(move || lock(&stream).next());
        let left = usize::try_from(limit - survey.requests).unwrap_or(usize::MAX);
        Box::new(held.into_iter().map(Ok).chain(rest.take(left)))
    } else {
        let mut again = place.open(options, told)?;
        again.set_layout(layout);
        Box::new(again.take(usize::try_from(limit).unwrap_or(usize::MAX)))
    };
    let locator = match place {
        TraceInput::Path(path) => Locator::of(path.clone(), options.clone()),
        TraceInput::Bytes(..) => None,
    };
    Ok(Prepared { name, format, generated, notes, late_notes, locator, survey, requests })
}

impl TraceHead {
    /// Takes requests up to the limit, and holds them while there are no more than `most`. If `most` is zero,
    /// only surveys the requests. Returns whether all requests are held or surveyed.
    fn take(&mut self, limit: u64, most: usize, told: &mut dyn FnMut(Progress)) -> Result<bool> {
        while self.survey.requests < limit {
            if most > 0 && self.held.len() >= most {
                return Ok(false);
            }
            let Some(request) = self.stream.next().transpose()? else { break };
            let survey = &mut self.survey;
            survey.requests += 1;
            if survey.requests.is_multiple_of(PROGRESS_INTERVAL) {
                told(self.stream.progress());
            }
            survey.last = survey.last.max(request.arrival);
            survey.has_processors |= request.cpu.is_some();
            survey.has_streams |= request.stream > 0;
            if most > 0 {
                keep(&mut self.held, request)?;
            }
        }
        Ok(true)
    }
}
