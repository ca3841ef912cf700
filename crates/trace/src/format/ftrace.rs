//! Text of ftrace, from `trace-cmd report` or the kernel's trace file: `process-pid [cpu] flags seconds: event: ...`.
//!
//! | event | text |
//! |---|---|
//! | `block_bio_queue` | `major,minor RWBS sector + sectors [process]` |
//! | `block_rq_issue` | `major,minor RWBS bytes (command) sector + sectors priority [process]`; older kernels have no priority |
//! | `block_rq_complete` | `major,minor RWBS (command) sector + sectors priority [error]` |
//! | `nvme_setup_cmd` | `controller: disk=name, qid=.., cmdid=.., nsid=.., flags=.., meta=.., cmd=(name slba=.., len=.., ctrl=..)` |
//! | `nvme_complete_rq` | `controller: disk=name, qid=.., cmdid=.., ...` |
//!
//! Source: include/trace/events/block.h and drivers/nvme/host/trace.c of Linux 6.19. Sectors have 512 bytes. The
//! blocks of NVMe commands have the size to which the namespace is formatted, and their length counts from zero.

use std::collections::BTreeMap;

use super::super::Op;
use super::super::field::{bytes, parse_decimal, parse_integer};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::options::Action;
use super::super::recorded::RecordedOp;
use super::super::row::{LineReader, Row, linux_device};
use super::names::Names;
use super::rwbs::Rwbs;
use wordline_kernel::counted;

const BLOCK_LAYOUT: &str = "major,minor RWBS ... sector + sectors";
const NVME_LAYOUT: &str = "controller: disk=, qid=, cmdid=, ..., cmd=(name slba=, len=, ctrl=)";

/// Events that are read, by name.
const EVENTS: [(&str, Source, Action); 5] = [
    ("block_bio_queue:", Source::Block, Action::Queue),
    ("block_rq_issue:", Source::Block, Action::Issue),
    ("block_rq_complete:", Source::Block, Action::Complete),
    ("nvme_setup_cmd:", Source::Nvme, Action::Issue),
    ("nvme_complete_rq:", Source::Nvme, Action::Complete),
];

/// Number of the queue of a controller's own commands (NVM Express Base Specification, admin queue).
const ADMIN_QUEUE: u64 = 0;

/// Upper bound on NVMe commands that wait for their completion. Chosen: 64 queues of 1,024 commands.
const MAX_OUTSTANDING: usize = 1 << 16;

/// Part of the kernel that records an event. Both record the same requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Block,
    Nvme,
}

/// An event of a line.
struct Event<'a> {
    source: Source,
    kind: Action,
    time: &'a str,
    cpu: Option<u16>,
    /// Text after the name.
    text: &'a str,
}

impl<'a> Event<'a> {
    /// Finds the event of a line; `None` for lines of other events.
    fn of(line: &'a str) -> Option<Self> {
        let (at, (name, source, kind)) =
            EVENTS.iter().find_map(|event| line.find(event.0).map(|at| (at, *event)))?;
        let before = line[..at].trim_end().strip_suffix(':')?;
        let mut words = before.rsplit(' ').filter(|word| !word.is_empty());
        let time = words.next()?;
        let cpu = words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
        Some(Self { source, kind, time, cpu, text: line[at + name.len()..].trim() })
    }
}

/// Whether a line has an event that is read.
pub(super) fn is_event(line: &str) -> bool {
    Event::of(line).is_some_and(|event| parse_decimal(event.time, 1, "time").is_ok())
}

/// Place of an NVMe command: device, queue and command identifier.
type Place = (u32, u64, u64);

/// Reads the events. If the file has events of the block layer, those of the NVMe driver are of the same requests.
pub(super) struct Ftrace {
    units: Units,
    source: Source,
    names: Names,
    outstanding: BTreeMap<Place, Row>,
    of_other_source: u64,
    others: u64,
    lost: u64,
}

impl Ftrace {
    /// Examines the beginning of the file for events of the block layer.
    pub(super) fn new(prefix: &[u8], units: Units) -> Self {
        let text = String::from_utf8_lossy(prefix);
        let has_block = text.lines().filter_map(Event::of).any(|event| event.source == Source::Block);
        let source = if has_block { Source::Block } else { Source::Nvme };
        let names = Names::of("device");
        Self { units, source, names, outstanding: BTreeMap::new(), of_other_source: 0, others: 0, lost: 0 }
    }

    fn block_event(&self, event: &Event<'_>, time: i128) -> Result<Option<Row>, ParseError> {
        let malformed =
            || ParseError { found: quoted(event.text), wanted: format!("an event of {BLOCK_LAYOUT}") };
        let mut words = event.text.split_ascii_whitespace();
        let (device, letters) = words.next().zip(words.next()).ok_or_else(malformed)?;
        let (major, minor) = device.split_once(',').ok_or_else(malformed)?;
        let device = linux_device(major, minor)?;
        // The event of a bio has no command, but perhaps a process with parentheses in its name.
        let command = (event.kind != Action::Queue).then(|| event.text.split_once('(')).flatten();
        let command = command.and_then(|(_, rest)| rest.split_once(')'));
        if command.is_some_and(|(command, _)| !command.trim().is_empty()) {
            return Ok(Some(Row::left_out(time, RecordedOp::Passthrough, device, Some(event.kind))));
        }
        let range = if event.kind == Action::Queue {
            [words.next(), words.next(), words.next()]
        } else {
            let mut words = command.ok_or_else(malformed)?.1.split_ascii_whitespace();
            [words.next(), words.next(), words.next()]
        };
        let [Some(sector), Some("+"), Some(count)] = range else { return Err(malformed()) };
        Rwbs::parse(letters).event(time, event.kind, device, (sector, count), self.units).map(Some)
    }

    fn nvme_event(&mut self, event: &Event<'_>, time: i128) -> Result<Option<Row>, ParseError> {
        let text = event.text;
        let need = |key: &'static str| {
            value(text, key).ok_or_else(|| ParseError {
                found: format!("no {key} in {}", quoted(text)),
                wanted: format!("an event of {NVME_LAYOUT}"),
            })
        };
        let queue = parse_integer(need("qid")?, "qid")?;
        if queue == ADMIN_QUEUE {
            let row = Row::left_out(time, RecordedOp::Passthrough, 0, Some(event.kind));
            return Ok((event.kind == Action::Issue).then_some(row));
        }
        let controller = text.split(':').next().unwrap_or_default();
        let device = self.names.number(value(text, "disk").unwrap_or(controller))?;
        let place = (device, queue, parse_integer(need("cmdid")?, "cmdid")?);
        if event.kind == Action::Complete {
            let issued = self.outstanding.remove(&place);
            return Ok(issued.map(|row| Row { time, event: Some(Action::Complete), preflush: false, ..row }));
        }
        let (name, arguments) = text
            .split_once("cmd=(")
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(command, _)| command.split_once(' ').unwrap_or((command, "")))
            .ok_or_else(|| ParseError {
                found: quoted(text),
                wanted: format!("an event of {NVME_LAYOUT}"),
            })?;
        let row = match command(name, arguments) {
            Err(recorded) => {
                let slba = value(arguments, "slba").filter(|_| recorded.of_zones().is_some());
                let first = slba.map_or(Ok(0), |slba| parse_integer(slba, "slba"))?;
                let offset = bytes(first, self.units.address, "slba")?;
                return Ok(Some(Row {
                    offset,
                    ..Row::left_out(time, recorded, device, Some(Action::Issue))
                }));
            }
            Ok(Op::Flush) => Row::new(time, Op::Flush, device, 0, 0)?,
            Ok(op) => {
                let number = |key: &'static str| {
                    let text = value(arguments, key).ok_or_else(|| ParseError {
                        found: format!("no {key} in {}", quoted(text)),
                        wanted: format!("an event of {NVME_LAYOUT}"),
                    })?;
                    parse_integer(text, key)
                };
                let blocks = number("len")?.saturating_add(1);
                let offset = bytes(number("slba")?, self.units.address, "slba")?;
                Row::new(time, op, device, offset, bytes(blocks, self.units.size, "len")?)?
            }
        };
        let recorded = (name == "nvme_cmd_zone_append").then_some(RecordedOp::ZoneAppend);
        let fua = matches!(row.op, Op::Write | Op::WriteZeroes) && has_fua(arguments);
        let row = Row { event: Some(Action::Issue), preflush: row.op == Op::Flush, fua, recorded, ..row };
        if self.outstanding.len() < MAX_OUTSTANDING {
            self.outstanding.insert(place, row);
        }
        Ok(Some(row))
    }
}

/// Returns the value of `key=value` in a list with commas and spaces.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split([' ', ',', '(', ')']).find_map(|item| item.strip_prefix(key)?.strip_prefix('='))
}

/// Whether the control word of a command has the bit of forced unit access, bit 14 of 16 (NVM Command Set
/// Specification 1.0, figure of command dword 12 of Write).
fn has_fua(arguments: &str) -> bool {
    let control = value(arguments, "ctrl").and_then(|text| text.strip_prefix("0x"));
    control.and_then(|digits| u64::from_str_radix(digits, 16).ok()).is_some_and(|word| word >> 14 & 1 == 1)
}

/// Returns the operation of an NVMe command, or what it is if it is not simulated. The actions of zone management are
/// those of the NVMe Zoned Namespace Command Set Specification 1.1 (Zone Send Action).
fn command(name: &str, arguments: &str) -> Result<Op, RecordedOp> {
    let op = match name {
        "nvme_cmd_read" => Op::Read,
        "nvme_cmd_write" | "nvme_cmd_zone_append" => Op::Write,
        "nvme_cmd_write_zeroes" => Op::WriteZeroes,
        "nvme_cmd_flush" => Op::Flush,
        "nvme_cmd_dsm" => return Err(RecordedOp::Deallocate),
        "nvme_cmd_zone_mgmt_send" => {
            return Err(match (value(arguments, "zsa"), value(arguments, "all")) {
                (Some("4"), Some("1")) => RecordedOp::ZoneResetAll,
                (Some("1"), _) => RecordedOp::ZoneClose,
                (Some("2"), _) => RecordedOp::ZoneFinish,
                (Some("3"), _) => RecordedOp::ZoneOpen,
                (Some("4"), _) => RecordedOp::ZoneReset,
                _ => RecordedOp::Passthrough,
            });
        }
        _ => return Err(RecordedOp::Passthrough),
    };
    Ok(op)
}

/// Number of events that the recorder says that it lost: `[LOST 12 EVENTS]` or `[12 EVENTS DROPPED]`.
fn lost_events(line: &str) -> Option<u64> {
    let (_, inside) = line.strip_prefix("CPU:")?.split_once('[')?;
    let is_lost = inside.contains("LOST") || inside.contains("DROPPED");
    inside.split_ascii_whitespace().find_map(|word| word.parse().ok()).filter(|_| is_lost)
}

impl LineReader for Ftrace {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        let Some(event) = Event::of(line) else {
            let lost = lost_events(line);
            self.lost += lost.unwrap_or(0);
            self.others += u64::from(lost.is_none());
            return Ok(None);
        };
        if event.source != self.source {
            self.of_other_source += 1;
            return Ok(None);
        }
        let time = parse_decimal(event.time, self.units.time.ps(), "time")?;
        let row = match event.source {
            Source::Block => self.block_event(&event, time),
            Source::Nvme => self.nvme_event(&event, time),
        };
        row.map(|row| row.map(|row| Row { cpu: event.cpu, ..row }))
    }

    fn notes(&self) -> Vec<String> {
        let of_nvme = (self.source == Source::Nvme)
            .then(|| format!("blocks of NVMe commands were read as {} (option sector)", self.units.address));
        let note = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", counted(count, "line")));
        let other = match self.source {
            Source::Block => {
                "of the NVMe driver left out: they are of the same requests as those of the block layer"
            }
            Source::Nvme => {
                "of the block layer left out: they are of the same requests as those of the NVMe driver"
            }
        };
        let lost = (self.lost > 0)
            .then(|| format!("the recorder lost {}: requests are missing", counted(self.lost, "event")));
        [
            of_nvme,
            self.names.note(),
            note(self.of_other_source, other),
            note(self.others, "without a request left out"),
            lost,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
