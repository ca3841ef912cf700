//! Time lines in the Chrome trace-event format, for Perfetto and chrome://tracing.
//!
//! A process of the format is a channel or a package. A thread is a bus, an array, a plane or a register. RDY
//! and ARDY are counters.

use std::fmt::Write;

use wordline_kernel::Instant;
use wordline_nand::Span;
use wordline_run::trace_event::{decimal, quoted};

use super::activity::{Activity, Interval};
use super::timeline::{DieLocation, TimelineInput, lanes, nanoseconds, planes};

/// Track ids reserved for a die. Chosen: more than the tracks of any die.
const TRACKS: u32 = 64;
/// Offset of the track of plane 0, after the tracks of the array.
const PLANES: u32 = 16;
/// Offset of the track of the cache register. The track of the data register follows.
const REGISTERS: u32 = 40;

/// The time line of `scene` as a trace-event document. Times are in microseconds, with picoseconds as
/// decimals.
pub fn chrome(scene: &TimelineInput<'_>) -> String {
    let mut events = Events { scene, text: String::new() };
    for (channel, spans) in scene.buses() {
        let process = events.process(DieLocation { channel, package: 0, die: 0 }, None);
        events.thread(process, 1, "bus");
        spans.into_iter().for_each(|span| events.stage(process, 1, span));
    }
    let mut named = None;
    for (place, spans) in scene.dies() {
        let package = (place.channel, place.package);
        if named != Some(package) {
            events.process(place, Some(place.package));
            named = Some(package);
        }
        events.die(place, &spans);
    }
    let all = events.text.trim_end_matches(",\n");
    format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{all}\n]}}\n")
}

struct Events<'a> {
    scene: &'a TimelineInput<'a>,
    text: String,
}

impl Events<'_> {
    /// Adds an event; `members` is the inside of its JSON object.
    fn add(&mut self, members: &str) {
        writeln!(self.text, "{{{members}}},").expect("a string takes any text");
    }

    /// The process number of a package; without a package, of the channel.
    fn number(&self, place: DieLocation, package: Option<u32>) -> u32 {
        let of_channel = 1 + place.channel * (self.scene.layout.packages_per_channel.max(1) + 1);
        of_channel + package.map_or(0, |package| 1 + package)
    }

    fn process(&mut self, place: DieLocation, package: Option<u32>) -> u32 {
        let number = self.number(place, package);
        let channel = place.channel;
        let name = match package {
            None => format!("channel {channel}"),
            Some(package) => format!("channel {channel}, package {package}"),
        };
        self.label(number, 0, "process", &name, number);
        number
    }

    fn thread(&mut self, process: u32, track: u32, name: &str) {
        self.label(process, track, "thread", name, track);
    }

    fn label(&mut self, process: u32, track: u32, what: &str, name: &str, order: u32) {
        let name = quoted(name);
        let head = format!("\"ph\":\"M\",\"pid\":{process},\"tid\":{track}");
        self.add(&format!("{head},\"name\":\"{what}_name\",\"args\":{{\"name\":{name}}}"));
        self.add(&format!("{head},\"name\":\"{what}_sort_index\",\"args\":{{\"sort_index\":{order}}}"));
    }

    /// Adds the tracks of a die.
    fn die(&mut self, place: DieLocation, spans: &[Span]) {
        let process = self.number(place, Some(place.package));
        let (die, base) = (place.die, place.die * TRACKS + TRACKS);
        for (n, lane) in lanes(spans).into_iter().enumerate() {
            let track = base + n as u32;
            let more = if n == 0 { String::new() } else { format!(" ({})", n + 1) };
            self.thread(process, track, &format!("die {die} array{more}"));
            lane.into_iter().for_each(|span| self.stage(process, track, span));
        }
        let used = spans.iter().fold(0, |all, span| all | span.planes);
        for plane in (0..u16::BITS).filter(|plane| used >> plane & 1 == 1) {
            let track = base + PLANES + plane;
            self.thread(process, track, &format!("die {die} plane {plane}"));
            let its = spans.iter().filter(|span| span.planes >> plane & 1 == 1);
            its.for_each(|span| self.stage(process, track, span));
        }
        let mut activity = Activity::of(spans);
        if let Some(busy) = self.scene.busy {
            activity.set_busy(busy.iter().filter(|busy| busy.die.0 == die));
        }
        let registers = [("cache", &activity.cache_register), ("data", &activity.data_register)];
        for (n, (name, held)) in (0..).zip(registers) {
            let track = base + REGISTERS + n;
            self.thread(process, track, &format!("die {die} {name} register"));
            held.iter().for_each(|during| self.held(process, track, die, during));
        }
        self.counter(process, &format!("die {die} RDY"), &activity.not_ready);
        self.counter(process, &format!("die {die} ARDY"), &activity.array_not_ready);
    }

    fn stage(&mut self, process: u32, track: u32, span: &Span) {
        let Span { begin, die, stage, length, command, .. } = *span;
        let head = self.slice(process, track, stage.name(), begin, length.ps());
        let more = format!("\"planes\":{:?}", planes(span));
        self.arguments(&head, command, die.0, begin, length.ps(), &more);
    }

    fn held(&mut self, process: u32, track: u32, die: u32, during: &Interval) {
        let Interval { begin, end, command } = *during;
        let name = self.scene.label(command);
        let length = (end - begin).ps();
        let head = self.slice(process, track, &name, begin, length);
        self.arguments(&head, command, die, begin, length, "");
    }

    fn slice(&self, process: u32, track: u32, name: &str, begin: Instant, length: u64) -> String {
        let name = quoted(name);
        let (from, length) = (microseconds(begin.ps()), microseconds(length));
        format!(
            "\"ph\":\"X\",\"pid\":{process},\"tid\":{track},\"name\":{name},\"ts\":{from},\"dur\":{length}"
        )
    }

    fn arguments(&mut self, head: &str, command: u32, die: u32, begin: Instant, length: u64, more: &str) {
        let operation = quoted(self.scene.name(command));
        let (from, length) = (nanoseconds(begin.ps()), nanoseconds(length));
        let more = if more.is_empty() { String::new() } else { format!(",{more}") };
        let times = format!("\"begin_ns\":{from},\"length_ns\":{length}");
        let what = format!("\"command\":{command},\"operation\":{operation},\"die\":{die}");
        self.add(&format!("{head},\"args\":{{{what}{more},{times}}}"));
    }

    /// Adds a signal that is low in the given intervals and high otherwise.
    fn counter(&mut self, process: u32, name: &str, low: &[Interval]) {
        let changes = low.iter().flat_map(|during| [(during.begin, 0), (during.end, 1)]);
        let first = low.first().is_none_or(|during| during.begin > Instant::ZERO);
        let start = first.then_some((Instant::ZERO, 1));
        let name = quoted(name);
        for (at, level) in start.into_iter().chain(changes) {
            let at = microseconds(at.ps());
            let head = format!("\"ph\":\"C\",\"pid\":{process},\"name\":{name},\"ts\":{at}");
            self.add(&format!("{head},\"args\":{{\"level\":{level}}}"));
        }
    }
}

fn microseconds(ps: u64) -> String {
    decimal(ps, 1_000_000)
}
