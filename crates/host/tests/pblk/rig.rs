//! Devices for the tests, and a host that models its writes and checks every completion.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_device::content::{Content, FILLED, NOTHING, ZEROES};
use wordline_device::preconditioning::Steady;
use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, Command, Operation};
use wordline_host::pblk::{CollectorFile, Pblk, PblkFile};
use wordline_kernel::{Bytes, Calendar, Duration, Instant, Schedule, Seed};
use wordline_nand::faults::FaultFile;
use wordline_open_channel::device::FailuresFile;
use wordline_open_channel::device::buffer::{BufferFile, CompletionMode};
use wordline_open_channel::device::failures::EarlyClose;
use wordline_open_channel::{OpenChannel, OpenChannelFile};

include!("../../../nand/tests/common/small.rs");

/// Sectors of a logical page.
pub const SECTORS: u64 = 8;

/// Numbers of lines, pages of a block, planes, channels, and dies of a channel.
pub type Chips = [u32; 5];

/// An FTL over SLC chips with pages of 4 KiB. A ring of `ring` pages must be enough for it.
pub fn file([lines, pages, planes, channels, dies]: Chips, ring: u64, over_provisioning: f64) -> PblkFile {
    let (mut part, mut layout) = small_chips();
    let geometry = &mut part.geometry;
    (geometry.planes, geometry.blocks_per_plane, geometry.pages_per_block) = (planes, lines, pages);
    (layout.channels, layout.dies_per_package) = (channels, dies);
    PblkFile {
        over_provisioning: Some(over_provisioning),
        write_buffer: Some(Bytes::kib(4 * ring)),
        command_time: Duration::from_us(1),
        gc: CollectorFile::default(),
        open_channel: OpenChannelFile::of(part, layout),
    }
}

/// Two parallel units, strips of one page, and twelve lines of 16 pages. 12 pages of a line are for data. The
/// host has 24 pages.
pub fn tiny() -> PblkFile {
    file([12, 8, 1, 2, 1], 8, 0.6)
}

/// Four parallel units, strips of two pages, 24 lines of 128 pages.
pub fn medium() -> PblkFile {
    file([24, 16, 2, 2, 2], 32, 0.4)
}

/// Kinds of devices below an FTL. They differ in the time of write completion and the recovery of program
/// failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Write-through completion without a limit on outstanding writes.
    Synchronous,
    /// Write-through completion with a buffer.
    WriteThrough,
    /// Write-back completion. After a failed program the writes continue in another block.
    Shift,
    /// Write-back completion. After a failed program the writes continue in another block, to which the
    /// preceding pages are copied first.
    Copies,
    /// Write-back completion. A write whose program fails is lost.
    Unreliable,
}

impl Kind {
    /// The kinds that lose no flushed data.
    pub const RELIABLE: [Self; 4] = [Self::Synchronous, Self::WriteThrough, Self::Shift, Self::Copies];
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Synchronous, Self::WriteThrough, Self::Shift, Self::Copies, Self::Unreliable];

    /// An FTL over a device of this kind, with as many chunks as `file`. `programs`: size of the buffer, in
    /// programs of a die. `reserve`: additional blocks on each die for the recovery of program failures. Two
    /// of them are the journal.
    pub fn below(self, mut file: PblkFile, programs: u64, reserve: u32) -> PblkFile {
        let device = &mut file.open_channel;
        let geometry = &mut device.part.geometry;
        let (completion, is_managed) = match self {
            Self::Synchronous => return file,
            Self::WriteThrough => (CompletionMode::WriteThrough, false),
            Self::Shift | Self::Copies => (CompletionMode::WriteBack, true),
            Self::Unreliable => (CompletionMode::WriteBack, false),
        };
        let size = Bytes(geometry.page_size.0 * u64::from(geometry.planes) * programs);
        let unreliable = self == Self::Unreliable;
        device.buffer = Some(BufferFile { size, completion, unreliable, protected: false });
        if is_managed {
            geometry.blocks_per_plane += reserve;
            device.failures = Some(FailuresFile {
                block_map: true,
                shift: self == Self::Shift,
                // Half a block is added, because the number is rounded down.
                reserve: (f64::from(reserve) + 0.5) / f64::from(geometry.blocks_per_plane),
                early_close: EarlyClose::Pad,
                volatile_tables: false,
            });
        }
        file
    }
}

/// Adds these faults.
pub fn with(mut file: PblkFile, faults: Vec<FaultFile>) -> PblkFile {
    file.open_channel.faults = faults;
    file
}

pub fn build(file: PblkFile, seed: u64) -> Pblk<OpenChannel> {
    file.check().unwrap_or_else(|wrong| panic!("{wrong}")).build(Seed(seed))
}

/// A page in the host's model.
#[derive(Clone)]
struct Known {
    /// The tag and the content of the last completed write.
    settled: (u32, Content),
    /// Writes in flight.
    pending: Vec<u32>,
    /// Contents possible after a power cut: those at the last flush.
    durable: Vec<Content>,
    /// Contents possible after a power cut: those written since the last flush.
    written: Vec<(u32, Content)>,
    /// All contents that the page ever had. A discard may bring them back.
    ever: Vec<Content>,
}

impl Known {
    fn of(content: Content) -> Self {
        Self {
            settled: (0, content),
            pending: Vec::new(),
            durable: vec![content],
            written: Vec::new(),
            ever: vec![content],
        }
    }

    /// Contents possible now.
    fn allowed(&self) -> Vec<Content> {
        let pending = self.pending.iter().map(|tag| Content::of(*tag));
        std::iter::once(self.settled.1).chain(pending).collect()
    }

    /// Notes that all writes up to a tag are in flash.
    fn flushed(&mut self, tag: u32, content: Content) {
        self.durable = match content {
            ZEROES => self.ever.iter().copied().chain([ZEROES]).collect(),
            content => vec![content],
        };
        self.written.retain(|(written, _)| *written > tag);
    }
}

/// A command in flight: the contents that a read may find in each page, and the writes that a flush covers.
struct Sent {
    command: Command,
    allowed: Vec<Vec<Content>>,
    settled: Vec<Option<Content>>,
}

pub struct Host<D: BlockDevice = Pblk<OpenChannel>> {
    pub device: D,
    pub calendar: Calendar<D::Event>,
    pages: Vec<Known>,
    sent: BTreeMap<u32, Sent>,
    tag: u32,
    /// Whether commands may fail.
    pub may_fail: bool,
    pub failed: u32,
    /// By page: possible contents after a power cut that left the page unknown.
    unknown: BTreeMap<usize, Vec<Content>>,
}

impl Host {
    pub fn new(file: PblkFile) -> Self {
        let may_fail = !file.open_channel.faults.is_empty();
        Self::of(build(file, 1), may_fail)
    }
}

impl<D: BlockDevice> Host<D> {
    /// The host of an unwritten device with pages of 4 KiB. `may_fail`: whether commands may fail.
    pub fn of(mut device: D, may_fail: bool) -> Self {
        device.follow_contents();
        let pages = (device.shape().namespaces[0] / SECTORS) as usize;
        Self {
            device,
            calendar: Calendar::new(),
            pages: vec![Known::of(ZEROES); pages],
            sent: BTreeMap::new(),
            tag: 0,
            may_fail,
            failed: 0,
            unknown: BTreeMap::new(),
        }
    }

    pub fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Fills all pages before the run.
    pub fn fill(&mut self) {
        assert!(self.device.fill_while(1.0, &mut |_| true));
        self.pages.fill(Known::of(FILLED));
    }

    /// Preconditions a first part of the pages to their steady state before the run.
    pub fn fill_steady(&mut self, fraction: f64) -> Steady {
        let steady = self.device.fill_steady_while(Seed(1), Some(fraction), &mut |_| true);
        let filled = (f64::from(self.pages()) * fraction) as usize;
        self.pages[..filled].fill(Known::of(FILLED));
        steady.expect("nobody stops it")
    }

    pub fn write(&mut self, page: u32) {
        self.submit(Operation::Write, false, page, 1);
    }

    /// Writes a page without checking its contents.
    pub fn write_any(&mut self, page: u32) {
        self.pages[page as usize].written.clear();
        self.pages[page as usize].ever.clear();
        self.write(page);
    }

    pub fn submit(&mut self, operation: Operation, fua: bool, page: u32, pages: u32) {
        self.tag += 1;
        let tag = self.tag;
        let page = page % self.pages();
        let pages = if operation == Operation::Flush { 0 } else { pages.min(self.pages() - page) };
        let (sector, sectors) = (u64::from(page) * SECTORS, u64::from(pages) * SECTORS);
        let command = Command { operation, fua, sector, sectors, tag, ..Command::default() };
        let mut sent = Sent { command, allowed: Vec::new(), settled: Vec::new() };
        for at in page as usize..(page + pages) as usize {
            let known = &mut self.pages[at];
            match operation {
                Operation::Read => {
                    let unknown = self.unknown.get(&at).into_iter().flatten().copied();
                    sent.allowed.push(known.allowed().into_iter().chain(unknown).collect());
                }
                Operation::Write => {
                    known.pending.push(tag);
                    known.written.push((tag, Content::of(tag)));
                    known.ever.push(Content::of(tag));
                }
                // A discard completes at once if nothing else is in flight.
                Operation::Discard => {
                    known.settled = (tag, ZEROES);
                    known.flushed(0, ZEROES);
                    self.unknown.remove(&at);
                }
                _ => {}
            }
        }
        if operation == Operation::Flush {
            let settled = |(at, known): (usize, &Known)| {
                let is_known = known.pending.is_empty() && !self.unknown.contains_key(&at);
                is_known.then_some(known.settled.1)
            };
            sent.settled = self.pages.iter().enumerate().map(settled).collect();
        }
        self.sent.insert(tag, sent);
        self.device.submit(command, &mut self.calendar);
        self.take_completions();
    }

    fn take_completions(&mut self) {
        let completions = self.device.completions().to_vec();
        self.device.clear_completions();
        for completion in completions {
            let Sent { command, allowed, settled } =
                self.sent.remove(&completion.command.tag).expect("it was sent");
            assert!(!completion.failed || self.may_fail, "{command:?} failed");
            self.failed += u32::from(completion.failed);
            let first = (command.sector / SECTORS) as usize;
            match command.operation {
                Operation::Read => self.check_read(&command, &allowed, completion.failed),
                Operation::Write => {
                    for page in first..first + (command.sectors / SECTORS) as usize {
                        self.written(page, &command, completion.failed);
                    }
                }
                Operation::Flush if !completion.failed => {
                    for (at, content) in settled.into_iter().enumerate() {
                        let Some(content) = content.filter(|_| !self.unknown.contains_key(&at)) else {
                            continue;
                        };
                        self.pages[at].flushed(command.tag, content);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_read(&mut self, command: &Command, allowed: &[Vec<Content>], failed: bool) {
        let found = self.device.take_contents(command.tag).expect("contents are followed");
        for (n, allowed) in allowed.iter().enumerate() {
            let found = &found[n * SECTORS as usize..][..SECTORS as usize];
            let is_lost = failed && found[0] == NOTHING;
            let is_right = found.iter().all(|content| *content == found[0] && allowed.contains(content));
            let page = command.sector / SECTORS + n as u64;
            assert!(is_right || is_lost, "page {page} holds {found:?}, wanted one of {allowed:?}");
        }
    }

    fn written(&mut self, page: usize, command: &Command, failed: bool) {
        let (known, content) = (&mut self.pages[page], Content::of(command.tag));
        known.pending.retain(|tag| *tag != command.tag);
        if failed {
            let before = known.settled.1;
            self.unknown.entry(page).or_default().extend([content, before]);
            return;
        }
        if command.tag > known.settled.0 {
            known.settled = (command.tag, content);
            // A later write that failed before this completion may nevertheless be on the device.
            let later: Vec<Content> = (command.tag + 1..=self.tag).map(Content::of).collect();
            self.unknown.entry(page).or_default().retain(|content| later.contains(content));
            self.unknown.retain(|_, contents| !contents.is_empty());
        }
        if command.fua {
            known.flushed(command.tag, content);
        }
    }

    pub fn run_down_to(&mut self, outstanding: usize) {
        while self.device.outstanding() > outstanding {
            match self.calendar.advance() {
                Some(event) => self.device.handle(event, &mut self.calendar),
                None => {
                    let gave_up = self.device.give_up(&mut self.calendar);
                    let waits = self.device.describe_outstanding(self.calendar.now());
                    assert!(gave_up && self.may_fail, "{waits}");
                }
            }
            self.take_completions();
        }
    }

    /// Handles this many events. Returns false if there were fewer.
    pub fn go_on(&mut self, events: usize) -> bool {
        for _ in 0..events {
            let Some(event) = self.calendar.advance() else { return false };
            self.device.handle(event, &mut self.calendar);
            self.take_completions();
        }
        true
    }

    /// Cuts the power. Each page then has its content at the last flush, or one written since.
    pub fn cut_power(&mut self) {
        self.cut();
        while !self.device.is_ready() {
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
    }

    /// Cuts the power, and handles only this many events of the recovery. Returns whether it completed.
    pub fn cut_power_in_recovery(&mut self, events: usize) -> bool {
        self.cut();
        for _ in 0..events {
            if self.device.is_ready() {
                return true;
            }
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
        self.device.is_ready()
    }

    fn cut(&mut self) {
        self.device.power_cut(self.calendar.now());
        self.sent.clear();
        self.calendar.clear();
        self.device.recover(&mut self.calendar);
        for (at, known) in self.pages.iter_mut().enumerate() {
            let written = known.written.iter().map(|(_, content)| *content);
            let may_hold: Vec<Content> = known.durable.iter().copied().chain(written).collect();
            known.pending.clear();
            known.settled = (0, may_hold[0]);
            let unknown = self.unknown.entry(at).or_default();
            unknown.extend(may_hold);
            unknown.sort_unstable();
            unknown.dedup();
        }
    }

    /// Reads every page.
    pub fn read_all(&mut self) {
        self.run_down_to(0);
        for page in (0..self.pages()).step_by(32) {
            self.submit(Operation::Read, false, page, 32);
        }
        self.run_down_to(0);
        self.audit();
    }

    pub fn audit(&self) {
        self.device.audit(self.calendar.now() - Instant::ZERO);
    }
}

/// A step of a host: kind, page, and count.
pub type Step = (u8, u16, u8);

/// Fewer than `most` steps, each of fewer than `pages` pages.
pub fn steps(most: usize, pages: u8) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..24, any::<u16>(), 1..pages), 1..most)
}

/// Runs steps with fewer than `depth` commands outstanding, including power cuts if `cuts`.
pub fn play<D: BlockDevice>(host: &mut Host<D>, steps: &[Step], depth: usize, cuts: bool) {
    for (kind, page, pages) in steps {
        host.run_down_to(usize::from(*kind) % depth);
        let (page, pages) = (u32::from(*page), u32::from(*pages));
        match kind {
            0..=11 => host.submit(Operation::Write, *kind == 0, page, pages),
            12..=15 => host.submit(Operation::Read, false, page, pages),
            16 => {
                host.run_down_to(0);
                host.submit(Operation::Discard, false, page, pages);
            }
            17 | 18 => host.submit(Operation::Flush, false, 0, 0),
            19 if cuts => {
                host.go_on(3 * pages as usize);
                host.cut_power();
            }
            _ => {
                host.go_on(10 * pages as usize);
            }
        }
    }
}

/// Saves the device of a host and loads it into `again`. Then both get the same writes and reads, with at most
/// `most` outstanding after each, and must do the same. Returns the saved state.
pub fn go_on_as_saved<D: BlockDevice>(
    host: &mut Host<D>,
    mut again: D,
    steps: &[Step],
    most: usize,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    host.device.save(&Agenda::of(&host.calendar), &mut bytes).expect("a list takes everything");
    let agenda = again.load(&mut bytes.as_slice()).expect("it was just written");
    let mut calendar = agenda.calendar(|event| event);
    let pages = u64::from(host.pages());
    for (device, calendar) in [(&mut host.device, &mut host.calendar), (&mut again, &mut calendar)] {
        while !device.is_ready() {
            let event = calendar.advance().expect("a recovery is under way");
            device.handle(event, calendar);
        }
        for (kind, page, count) in steps {
            let page = u64::from(*page) % pages;
            let sectors = u64::from(*count).min(pages - page) * SECTORS;
            let operation = if kind % 2 == 0 { Operation::Write } else { Operation::Read };
            let tag = 1_000_000 + page as u32;
            let command = Command { operation, sector: page * SECTORS, sectors, tag, ..Command::default() };
            device.submit(command, calendar);
            while device.outstanding() > most {
                let event = calendar.advance().expect("commands are in flight");
                device.handle(event, calendar);
            }
        }
        loop {
            while let Some(event) = calendar.advance() {
                device.handle(event, calendar);
            }
            if !device.give_up(calendar) {
                break;
            }
        }
        device.audit(calendar.now() - Instant::ZERO);
    }
    assert_eq!(host.device.digest(), again.digest());
    bytes
}
