//! A trace as a stream: read, sorted, checked and counted request by request in bounded memory.

use std::path::{Path, PathBuf};

use wordline_kernel::{Bytes, Duration, Instant, counted};

use super::events::EventMatcher;
use super::formats::Format;
use super::generated::source;
use super::input::{Position, Progress};
use super::layout::{DeviceEnds, DeviceLayout};
use super::options::{Action, Options, Zones};
use super::order::{OrderError, Sorter};
use super::recorded::{RecordedCounts, RecordedOp};
use super::row::{Reader, Row};
use super::units::{AssumedUnits, UnitCheck};
use super::{Generated, Op, Request, Trace};
use crate::Source;
use crate::{Error, error::Result};

/// A trace whose requests come one by one, in order of arrival; the first arrives at zero.
///
/// The stream holds a window of requests to sort them, whatever the length of the trace. An error ends the
/// stream.
pub struct Stream<'a> {
    path: PathBuf,
    files: Vec<Position>,
    format: Format,
    reader: Box<dyn Reader + 'a>,
    window: usize,
    sorter: Sorter,
    events: Option<EventMatcher>,
    recorded: RecordedCounts,
    check: UnitCheck,
    device: Option<u32>,
    /// Treatment of zone operations; `None`: the format decides.
    zones: Option<Zones>,
    jump: i128,
    /// Arrival of the first request, in the time of the sorter.
    origin: Option<i128>,
    of_any_device: u64,
    of_device: u64,
    empty: u64,
    /// Discards left out; `None` if discards are requests.
    without_discards: Option<u64>,
    /// Writes of zeroes left out; `None` if they are requests.
    without_zeroes: Option<u64>,
    emitted: u64,
    ends: DeviceEnds,
    /// Layout of the devices, once known.
    layout: Option<DeviceLayout>,
    is_read: bool,
    is_drained: bool,
    is_over: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(
        path: &Path,
        format: Format,
        reader: Box<dyn Reader + 'a>,
        assumed: AssumedUnits,
        options: &Options,
    ) -> Result<Self> {
        let (window, jump) = (options.window()?, options.jump()?);
        Ok(Self {
            path: path.into(),
            files: Vec::new(),
            format,
            reader,
            window,
            sorter: Sorter::new(window, jump),
            events: format.has_events().then(|| EventMatcher::new(options.action, window)),
            recorded: RecordedCounts::default(),
            check: UnitCheck::new(assumed),
            device: options.device,
            zones: options.zones,
            jump: i128::from(jump.ps()),
            origin: None,
            of_any_device: 0,
            of_device: 0,
            empty: 0,
            without_discards: options.discards.left_out(),
            without_zeroes: options.write_zeroes.left_out(),
            emitted: 0,
            ends: DeviceEnds::new(options.devices),
            layout: None,
            is_read: false,
            is_drained: false,
            is_over: false,
        })
    }

    /// Sets the files from which the stream is read.
    pub(super) fn of(self, files: Vec<Position>) -> Self {
        Self { files, ..self }
    }

    /// Returns the read progress.
    pub fn progress(&self) -> Progress {
        Position::sum(&self.files)
    }

    /// Returns the name of the file without directory.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// Returns the format, as detected or as given by the user.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the origin of generated requests, if the file gives it.
    pub fn generated(&self) -> Option<&Generated> {
        self.reader.generated()
    }

    /// Returns the original source of the requests.
    pub fn source(&self) -> Source {
        source(&self.name(), self.generated())
    }

    /// Returns the byte after the last that any request so far touches, with the devices in their layout.
    pub fn extent(&self) -> Result<Bytes> {
        Ok(self.layout()?.extent())
    }

    /// Returns the layout of the devices from the requests so far.
    pub(super) fn layout(&self) -> Result<DeviceLayout> {
        self.ends.layout(&self.path)
    }

    /// Relocates all further requests by this layout.
    pub(super) fn set_layout(&mut self, layout: DeviceLayout) {
        self.layout = Some(layout);
    }

    /// Notes for the user on the requests read so far: requests dropped or sorted, gaps closed, values
    /// assumed.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.reader.notes();
        notes.extend(self.files.iter().find_map(Position::junk_note));
        notes.extend(self.check.notes());
        notes.extend(self.events.iter().flat_map(EventMatcher::notes));
        notes.extend(self.recorded.notes(self.event_kind()));
        if let Some(device) = self.device {
            let Self { of_device, of_any_device, .. } = self;
            notes.push(format!("{of_device} of {of_any_device} requests are of device {device}"));
        }
        if self.empty > 0 {
            notes.push(format!("{} of 0 bytes left out", counted(self.empty, "request")));
        }
        if let Some(count) = self.without_discards.filter(|count| *count > 0) {
            notes.push(format!("{} left out (discards=skip)", counted(count, "discard")));
        }
        if let Some(count) = self.without_zeroes.filter(|count| *count > 0) {
            notes.push(format!("{} of zeroes left out (write_zeroes=skip)", counted(count, "write")));
        }
        let (count, most) = self.sorter.disorder();
        if count > 0 && self.events.is_none() {
            let most = most as f64 / 1e12;
            let requests = counted(count, "request");
            notes.push(format!("{requests} arrived after a later one, by up to {most} s; sorted by time"));
        }
        notes.extend(self.sorter.notes());
        notes.extend(self.layout().ok().and_then(|layout| layout.note()));
        notes.extend(self.generated().map(|from| format!("generated from {from}: not a recorded trace")));
        notes
    }

    /// Reads the whole trace into memory, with its devices in their layout.
    pub(super) fn whole(mut self) -> Result<Trace> {
        let mut requests = Vec::new();
        for request in self.by_ref() {
            keep(&mut requests, request?)?;
        }
        let layout = self.layout()?;
        relocate_all(&layout, &mut requests);
        Ok(Trace {
            name: self.name(),
            format: self.format,
            notes: self.notes(),
            generated: self.generated().cloned(),
            requests,
        })
    }

    /// Reads until the window is full or the file ends.
    fn fill(&mut self) -> Result<()> {
        while !self.is_read && !self.sorter.is_full() {
            let Some(mut row) = self.reader.next()? else {
                self.is_read = true;
                break;
            };
            self.check.set_start(row.time);
            if let Some(zones) = self.zones {
                row.treat_zones(zones);
            }
            if row.op == Op::Flush {
                // Some formats have an address there, which no device gets.
                (row.offset, row.size) = (0, 0);
            }
            if self.is_left_out(&row) {
                continue;
            }
            if let Some(events) = &mut self.events {
                events.note(&row);
            } else if !self.is_selected(&row) {
                continue;
            }
            self.sorter.push(row).map_err(|misplaced| self.order_error(&misplaced, &row))?;
        }
        Ok(())
    }

    /// Kind of the events that give the times, in a format with events.
    fn event_kind(&self) -> Option<Action> {
        self.events.as_ref().and_then(EventMatcher::choice)
    }

    /// Counts a row whose operation no request equals, or an event without data. Returns whether no request takes
    /// its place.
    fn is_left_out(&mut self, row: &Row) -> bool {
        let is_event = row.event.is_some_and(|kind| kind != Action::Complete);
        let without_data = (is_event && !row.is_request()).then_some(RecordedOp::NoData);
        let recorded = row.recorded.filter(|recorded| recorded.of_zones() != Some(row.op));
        let Some(recorded) = recorded.or(without_data) else { return false };
        if self.device.is_none_or(|device| device == row.device) {
            self.recorded.add(recorded, row.event);
        }
        !recorded.is_simulated()
    }

    /// Whether a request is selected by the options and has data.
    fn is_selected(&mut self, row: &Row) -> bool {
        self.of_any_device += 1;
        if self.device.is_some_and(|device| device != row.device) {
            return false;
        }
        self.of_device += 1;
        let skipped = match row.op {
            Op::Discard => self.without_discards.as_mut(),
            Op::WriteZeroes => self.without_zeroes.as_mut(),
            _ => None,
        };
        if let Some(left_out) = skipped {
            *left_out += 1;
            return false;
        }
        let has_data = row.size > 0 || row.op == Op::Flush || row.op.is_zone_management();
        self.empty += u64::from(!has_data);
        has_data
    }

    #[cold]
    fn order_error(&self, misplaced: &OrderError, row: &Row) -> Error {
        let window = self.window;
        match misplaced {
            OrderError::TooLate(ps) => Error::Line {
                path: self.file_of(row),
                line: row.line,
                found: format!(
                    "a request {} s earlier than one more than {window} requests before it in the trace",
                    *ps as f64 / 1e12
                ),
                wanted: format!("a trace in order, or a larger option window, which is {window}"),
            },
            OrderError::NoMemory => no_memory(window),
        }
    }

    /// Returns the next row in order that is a request.
    fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(events) = &mut self.events {
                match events.ready(self.is_drained) {
                    Some(row) if self.is_selected(&row) => return Ok(Some(row)),
                    Some(_) => continue,
                    None if self.is_drained => return Ok(None),
                    None => {}
                }
            }
            self.fill()?;
            let taken = self.event_kind();
            match (self.sorter.pop(taken), &mut self.events) {
                (Some(row), Some(events)) => events.take(row),
                // Perhaps the window held only a stray era, which was dropped.
                (None, _) if !self.is_read => {}
                (None, Some(_)) => self.is_drained = true,
                (row, None) => return Ok(row),
            }
        }
    }

    /// Reads up to the request with this number, counted from 1, and returns its file, and its line or record.
    pub(super) fn place_of(&mut self, number: u64) -> Option<(PathBuf, u64)> {
        for _ in 1..number {
            self.next_row().ok()??;
        }
        let row = self.next_row().ok()??;
        Some((self.file_of(&row), row.line))
    }

    /// File of a row.
    #[cold]
    fn file_of(&self, row: &Row) -> PathBuf {
        self.reader.file(row.part).unwrap_or(&self.path).to_owned()
    }

    fn next_request(&mut self) -> Result<Option<Request>> {
        let Some(mut row) = self.next_row()? else {
            if self.emitted > 0 {
                return Ok(None);
            }
            return Err(self.no_requests());
        };
        row.time -= *self.origin.get_or_insert(row.time);
        self.emitted += 1;
        self.check.add(&row);
        self.ends.add(&self.path, row.device, row.offset + row.size)?;
        self.request(&row).map(Some)
    }

    /// Error for a trace of which no request is simulated.
    #[cold]
    fn no_requests(&self) -> Error {
        let left_out = self.recorded.left_out(self.event_kind());
        let has_requests =
            self.events.as_ref().map_or(Ok(()), |events| events.check_has_requests(&self.path));
        let strays = self.sorter.strays();
        let (found, wanted) = match (left_out, self.device, has_requests) {
            (Some(counts), ..) => (format!("no requests but {counts}"), SOME_REQUEST),
            (None, Some(device), _) if self.of_device == 0 && self.of_any_device > 0 => (
                format!(
                    "no requests of device {device} but {} of others (option device)",
                    self.of_any_device
                ),
                "the number of a device of the trace",
            ),
            (None, _, Err(error)) => return error,
            (None, ..) if strays > 0 => (
                format!(
                    "no requests but {} across jumps of the clock (option jump)",
                    counted(strays, "single request")
                ),
                "requests with shorter gaps, or a longer jump",
            ),
            (None, ..) => ("no requests".into(), SOME_REQUEST),
        };
        Error::Content { path: self.path.clone(), found, wanted: wanted.into() }
    }

    #[inline]
    fn request(&self, row: &Row) -> Result<Request> {
        let arrival = u64::try_from(row.time).map(Instant::from_ps).ok();
        let arrival =
            arrival.filter(|arrival| *arrival <= Instant::LIMIT).ok_or_else(|| self.too_late(row))?;
        let offset = match &self.layout {
            None => row.offset,
            Some(layout) => {
                layout.translate(row.device, row.offset, row.size).ok_or_else(|| self.beyond_survey(row))?
            }
        };
        // A response time that is negative or longer than a jump was measured across a jump of the clock.
        let response = row.response.filter(|time| (0..=self.jump).contains(&i128::from(*time)));
        Ok(Request {
            arrival,
            op: row.op,
            fua: row.fua,
            device: row.device,
            offset: Bytes(offset),
            size: Bytes(row.size),
            response: response.and_then(|time| u64::try_from(time).ok()).map(Duration::from_ps),
            cpu: row.cpu,
            stream: row.stream,
        })
    }

    #[cold]
    fn too_late(&self, row: &Row) -> Error {
        let days = row.time / 86_400_000_000_000_000;
        Error::Line {
            path: self.file_of(row),
            line: row.line,
            found: format!("a request {days} days after the first"),
            wanted: "at most 106 days (see options time_unit and jump)".into(),
        }
    }

    /// Error for a trace that cannot be read twice, so that its layout comes only from its beginning.
    #[cold]
    fn beyond_survey(&self, row: &Row) -> Error {
        Error::Line {
            path: self.file_of(row),
            line: row.line,
            found: format!(
                "byte {} of device {}, beyond the end of all earlier requests",
                row.offset, row.device
            ),
            wanted:
                "a file, which is looked at as a whole before devices are laid one behind another, or option \
                     devices=keep"
                    .into(),
        }
    }
}

impl Iterator for Stream<'_> {
    type Item = Result<Request>;

    #[inline]
    fn next(&mut self) -> Option<Result<Request>> {
        if self.is_over {
            return None;
        }
        let next = self.next_request().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Least content of a trace.
const SOME_REQUEST: &str = "at least one request of more than 0 bytes";

/// Adds a request to the requests in memory.
pub(super) fn keep(requests: &mut Vec<Request>, request: Request) -> Result<()> {
    requests.try_reserve(1).map_err(|_| no_memory(requests.len()))?;
    requests.push(request);
    Ok(())
}

/// Relocates requests by the layout of their devices.
pub(super) fn relocate_all(layout: &DeviceLayout, requests: &mut [Request]) {
    if layout.relocates() {
        for request in requests {
            let place = layout.translate(request.device, request.offset.0, request.size.0);
            request.offset = Bytes(place.expect("the layout is of these requests"));
        }
    }
}

#[cold]
fn no_memory(requests: usize) -> Error {
    Error::Argument {
        what: "memory".into(),
        found: format!("none for {requests} requests"),
        wanted: "more of it, or a smaller trace option window".into(),
    }
}
