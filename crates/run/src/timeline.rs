//! Time lines of runs: requests, buffer, channels and dies in a time window. A time line is written during
//! the run in the Chrome trace-event format, which Perfetto opens.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use wordline_device::timeline::{OccupancySample, Recorded, TimelineRequest};
use wordline_device::{BlockDevice, SECTOR};
use wordline_flash::{DieCommand, RequestId, Tracks};
use wordline_kernel::{Duration, Instant};
use wordline_nand::Span;

use crate::error::{Error, Result};
use crate::output::Output;
use crate::summary::Summary;
use crate::tail;
use crate::trace_event::{decimal, is_on_bus, quoted};

/// Process number of requests and occupancies. The processes of channels follow.
pub const HOST: u32 = 1;

/// Number of tracks reserved for a die: its commands, and arrays that work in parallel. Chosen: more than
/// planes with independent reads.
const TRACKS_OF_A_DIE: u32 = 8;

/// A time line that a run writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The output file.
    pub path: PathBuf,
    /// The time window.
    pub window: Window,
}

impl Timeline {
    /// The output file, and begin and end of the window.
    ///
    /// # Errors
    /// [`Error::Argument`] for the window around the slowest request, which is only known after a run.
    pub fn times(&self) -> Result<(PathBuf, Duration, Duration)> {
        match self.window {
            Window::Between(from, to) => Ok((self.path.clone(), from, to)),
            Window::Slowest => Err(Error::Argument {
                what: "the window of the time line".into(),
                found: "the slowest request, which a session does not know before its end".into(),
                wanted: "two times, or a run".into(),
            }),
        }
    }
}

/// A time window of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// From one time to another. Both count from the beginning of the run.
    Between(Duration, Duration),
    /// Around the slowest request, with its latency as a margin on both sides. A first run finds the request,
    /// a second run writes the time line.
    Slowest,
}

impl Window {
    /// The window around a request, from its time of submission since the beginning of the run, and its
    /// latency.
    pub fn around(submitted: Duration, latency: Duration) -> Self {
        Self::Between(submitted.saturating_sub(latency), submitted + latency + latency)
    }
}

impl FromStr for Window {
    type Err = String;

    /// Reads a window such as `1.2s..1.3s`, or `slowest`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "slowest" {
            return Ok(Self::Slowest);
        }
        let wrong = || {
            format!("found {text:?}, wanted two times such as 1.2s..1.3s, the earlier one first, or slowest")
        };
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        match (from.parse(), to.parse()) {
            (Ok(from), Ok(to)) if from < to => Ok(Self::Between(from, to)),
            _ => Err(wrong()),
        }
    }
}

/// A time line during the run. The file gets its name when it is complete.
pub(crate) struct Recorder {
    path: PathBuf,
    file: BufWriter<Output>,
    /// The beginning of the run.
    begin: Instant,
    /// Begin and end of the recording.
    window: [Instant; 2],
    is_on: bool,
    /// Whether the recording has begun at some time.
    began: bool,
    events: Events,
}

/// The events of a time line, and the state of its tracks.
#[derive(Default)]
struct Events {
    text: String,
    begin: Instant,
    /// Processes and tracks that have a name already.
    named: BTreeSet<(u32, u32)>,
    /// Tracks that are created on demand, by process and first track: the end of the last slice on each.
    lanes: BTreeMap<(u32, u32), Vec<Instant>>,
    /// Flash commands of outstanding requests: process, track and time of each.
    reads: BTreeMap<RequestId, Vec<(u32, u32, Instant)>>,
    /// Number of arrows so far.
    arrows: u64,
    /// The channels and dies of each device of an array. Other devices have at most one entry.
    devices: Vec<Tracks>,
}

impl Recorder {
    /// Creates a time line for a window; `from` and `to` count from the beginning of the run.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub(crate) fn create(path: &Path, from: Duration, to: Duration) -> Result<Self> {
        let mut recorder = Self {
            path: path.to_owned(),
            file: BufWriter::new(Output::open(path)?),
            begin: Instant::ZERO,
            window: [Instant::ZERO + from, Instant::ZERO + to],
            is_on: false,
            began: false,
            events: Events::default(),
        };
        recorder.events.text += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        recorder.events.process(HOST, "host");
        Ok(recorder)
    }

    /// Sets the beginning of the run. Returns the two times at which to call [`Self::trigger`].
    pub(crate) fn start_at(&mut self, begin: Instant) -> [Instant; 2] {
        self.window = self.window.map(|at| begin + (at - Instant::ZERO));
        (self.begin, self.events.begin) = (begin, begin);
        self.window
    }

    /// The times after `now` at which to call [`Self::trigger`].
    pub(crate) fn times_after(&self, now: Instant) -> impl Iterator<Item = Instant> + use<> {
        self.window.into_iter().filter(move |at| *at > now)
    }

    /// Begins or ends the recording. It must be called at the times of [`Self::start_at`].
    ///
    /// # Errors
    /// [`Error::Argument`] for a device that cannot be recorded, [`Error::File`] if the file cannot be
    /// written.
    pub(crate) fn trigger(&mut self, now: Instant, device: &mut impl BlockDevice) -> Result<()> {
        self.drain(device, now, true)?;
        let is_on = now >= self.window[0] && now < self.window[1];
        if !device.record(is_on) {
            return Err(Error::Argument {
                what: "the time line".into(),
                found: "a device whose work is not recorded".into(),
                wanted: "a device of flash: an SSD, an array of them, or a host above an open-channel device or zones".into(),
            });
        }
        self.is_on = is_on;
        self.began |= is_on;
        Ok(())
    }

    /// Writes the events that the device recorded since the last call and that have ended at `now`. If the
    /// recording `ends`, operations in progress end at `now`.
    pub(crate) fn drain(&mut self, device: &mut impl BlockDevice, now: Instant, ends: bool) -> Result<()> {
        if self.is_on {
            self.events.add_all(device.take_recorded(now, ends));
        }
        let failed = |reason| Error::File { path: self.path.clone(), action: "write", reason };
        self.file.write_all(self.events.text.as_bytes()).map_err(failed)?;
        self.events.text.clear();
        Ok(())
    }

    /// A note for a run that ended before the window of its time line.
    pub(crate) fn note(&self) -> Option<String> {
        let missed =
            || format!("the time line {} is empty: the run ended before its window", self.path.display());
        (!self.began).then(missed)
    }

    /// Finishes the time line at `now`, with facts about the run.
    pub(crate) fn finish(mut self, device: &mut impl BlockDevice, now: Instant, run: &Summary) -> Result<()> {
        self.drain(device, now, true)?;
        let facts = [("device", &run.device), ("workload", &run.workload.name), ("digest", &run.digest)];
        let facts = facts.map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).join(",");
        // The last event must have no comma after it. So an event that was already written is repeated as the
        // last one.
        let name = metadata(HOST, 0, "process", "host");
        let failed = |reason| Error::File { path: self.path.clone(), action: "write", reason };
        write!(self.file, "{{{name}}}\n],\"otherData\":{{{facts}}}}}\n").map_err(failed)?;
        let output = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        output.finish()
    }
}

impl Events {
    fn add_all(&mut self, recorded: Recorded) {
        self.devices = recorded.devices;
        recorded.commands.into_iter().for_each(|command| self.command(command));
        for (span, channel) in &recorded.stages {
            self.stage(span, *channel);
        }
        for (request, levels) in recorded.requests.iter().zip(&recorded.levels) {
            self.request(request);
            self.levels(levels);
        }
    }

    /// Adds an event; `members` is the inside of its JSON object.
    fn add(&mut self, members: &str) {
        writeln!(self.text, "{{{members}}},").expect("a string takes any text");
    }

    /// Names a process, once, and gives it the position of its number.
    fn process(&mut self, process: u32, name: &str) {
        self.name(process, 0, "process", || name.to_owned());
    }

    /// Names a track of a process, once, and gives it the position of its number.
    fn thread(&mut self, process: u32, track: u32, name: impl FnOnce() -> String) {
        self.name(process, track, "thread", name);
    }

    fn name(&mut self, process: u32, track: u32, of: &str, name: impl FnOnce() -> String) {
        if !self.named.insert((process, track)) {
            return;
        }
        let (name, order) = (metadata(process, track, of, &name()), process.max(track));
        self.add(&name);
        self.add(&format!(
            "\"ph\":\"M\",\"pid\":{process},\"tid\":{track},\"name\":\"{of}_sort_index\",\"args\":{{\"sort_index\":{order}}}"
        ));
    }

    /// A time since the beginning of the run, in microseconds with picoseconds as decimals.
    fn time(&self, at: Instant) -> String {
        decimal(at.since(self.begin).ps(), 1_000_000)
    }

    fn slice(
        &mut self,
        (process, track): (u32, u32),
        name: &str,
        from: Instant,
        to: Instant,
        arguments: &str,
    ) {
        let from = from.max(self.begin);
        let (at, length) = (self.time(from), decimal(to.since(from).ps(), 1_000_000));
        let name = quoted(name);
        self.add(&format!(
            "\"ph\":\"X\",\"pid\":{process},\"tid\":{track},\"name\":{name},\"ts\":{at},\"dur\":{length},\"args\":{{{arguments}}}"
        ));
    }

    /// Finds a track that is free at `from`, among the tracks from `first` on, and occupies it until `to`.
    /// Returns its position among these tracks.
    fn lane(&mut self, process: u32, first: u32, from: Instant, to: Instant) -> u32 {
        let lanes = self.lanes.entry((process, first)).or_default();
        let free = lanes.iter().position(|end| *end <= from).unwrap_or_else(|| {
            lanes.push(Instant::ZERO);
            lanes.len() - 1
        });
        lanes[free] = to;
        free as u32
    }

    /// The device of an array to which a channel or die belongs, and its number in that device. `number`
    /// counts over the whole array; `of` is the number of channels or dies of a device. `None` without an
    /// array.
    fn own(&self, number: u32, of: impl Fn(&Tracks) -> u32) -> Option<(usize, u32)> {
        let mut first = 0;
        for (device, tracks) in self.devices.iter().enumerate().filter(|_| self.devices.len() > 1) {
            if number < first + of(tracks) {
                return Some((device, number - first));
            }
            first += of(tracks);
        }
        None
    }

    /// The number of a die in its own device.
    fn die(&self, die: u32) -> u32 {
        self.own(die, |tracks| tracks.dies).map_or(die, |(_, own)| own)
    }

    /// The process of a channel.
    fn channel(&mut self, channel: u32) -> u32 {
        let process = HOST + 1 + channel;
        let name = match self.own(channel, |tracks| tracks.channels) {
            Some((device, channel)) => format!("device {device} channel {channel}"),
            None => format!("channel {channel}"),
        };
        self.process(process, &name);
        process
    }

    fn command(&mut self, command: DieCommand) {
        let DieCommand { die, from, to, work, channel, block, planes, requests } = command;
        let process = self.channel(channel);
        let track = 2 + die.0 * TRACKS_OF_A_DIE;
        let own = self.die(die.0);
        self.thread(process, track, || format!("die {own}"));
        let name = tail::work_in_words(work.name(), false);
        let arguments = format!("\"die\":{own},\"block\":{},\"planes\":{planes}", block.0);
        self.slice((process, track), &name, from, to, &arguments);
        for id in requests {
            self.reads.entry(id).or_default().push((process, track, from));
        }
    }

    fn stage(&mut self, span: &Span, channel: u32) {
        let process = self.channel(channel);
        let (die, own) = (span.die.0, self.die(span.die.0));
        let arguments = format!("\"die\":{own},\"command\":{}", span.command);
        if is_on_bus(span.stage) {
            self.thread(process, 1, || "bus".into());
            self.slice((process, 1), span.stage.name(), span.begin, span.end(), &arguments);
            return;
        }
        let first = 3 + die * TRACKS_OF_A_DIE;
        let lane = self.lane(process, first, span.begin, span.end()).min(TRACKS_OF_A_DIE - 2);
        let more = if lane == 0 { String::new() } else { format!(" ({})", lane + 1) };
        self.thread(process, first + lane, || format!("die {own} array{more}"));
        self.slice((process, first + lane), span.stage.name(), span.begin, span.end(), &arguments);
    }

    /// Adds a request, and arrows from it to its flash reads.
    fn request(&mut self, request: &TimelineRequest) {
        let TimelineRequest { id, submitted, completion } = request;
        let (command, end) = (&completion.command, *submitted + completion.latency);
        let reads = self.reads.remove(id).unwrap_or_default();
        let track = 1 + self.lane(HOST, 1, *submitted, end);
        self.thread(HOST, track, || format!("requests {track}"));
        let arguments = format!(
            "\"number\":{},\"offset\":{},\"bytes\":{},\"failed\":{}",
            command.tag,
            command.sector * SECTOR.0,
            command.sectors * SECTOR.0,
            completion.failed
        );
        self.slice((HOST, track), command.operation.name(), *submitted, end, &arguments);
        for (process, its, from) in reads.into_iter().filter(|(.., from)| from >= submitted) {
            self.arrows += 1;
            let (number, left, came) = (self.arrows, self.time(*submitted), self.time(from));
            let head = format!("\"cat\":\"read\",\"name\":\"read\",\"id\":{number}");
            self.add(&format!("\"ph\":\"s\",{head},\"pid\":{HOST},\"tid\":{track},\"ts\":{left}"));
            self.add(&format!(
                "\"ph\":\"f\",\"bp\":\"e\",{head},\"pid\":{process},\"tid\":{its},\"ts\":{came}"
            ));
        }
    }

    fn levels(&mut self, levels: &OccupancySample) {
        let at = self.time(levels.at);
        for (name, level) in
            [("pages in the buffer", u64::from(levels.buffered)), ("free blocks", levels.free)]
        {
            self.add(&format!(
                "\"ph\":\"C\",\"pid\":{HOST},\"name\":\"{name}\",\"ts\":{at},\"args\":{{\"level\":{level}}}"
            ));
        }
    }
}

/// The inside of the event that names a process or a track.
fn metadata(process: u32, track: u32, of: &str, name: &str) -> String {
    let name = quoted(name);
    format!(
        "\"ph\":\"M\",\"pid\":{process},\"tid\":{track},\"name\":\"{of}_name\",\"args\":{{\"name\":{name}}}"
    )
}
