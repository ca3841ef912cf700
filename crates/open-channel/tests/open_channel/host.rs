//! Host that records what it wrote, and checks every completion against it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{
    Chunk, ChunkState, Command, Completion, Descriptor, Failure, LogicalBlock, Operation, PowerCut, Refusal,
};
use wordline_device::snapshot::Agenda;
use wordline_kernel::snapshot::SnapshotError;
use wordline_kernel::{Calendar, Duration, Instant, Schedule, Seed};
use wordline_nand::DataTag;
use wordline_open_channel::device::Event;
use wordline_open_channel::device::buffer::CompletionMode;
use wordline_open_channel::{OpenChannel, OpenChannelFile};

/// Number of chunks of each parallel unit that random steps use: few, so that commands overlap.
const CHUNKS: u32 = 3;

/// Outstanding command, as the host knows it.
#[derive(Clone, Debug)]
struct Sent {
    operation: Operation,
    blocks: Vec<LogicalBlock>,
    /// Sources of a copy.
    sources: Vec<LogicalBlock>,
    /// Data tags that a read must find.
    expected: Vec<DataTag>,
    /// For each block, the resets of its chunk so far.
    resets: Vec<u32>,
    /// For each block, whether its read may fail because a program or erase in its chunk was interrupted.
    may_be_torn: Vec<bool>,
    /// Completed blocks of each chunk and its resets, for a flush.
    covers: Vec<(u32, u32)>,
}

/// Chunk, as the host knows it.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Data tags written or being written.
    written: Vec<DataTag>,
    /// Number of logical blocks whose write has completed.
    done: u32,
    /// Number of logical blocks that a flush covers.
    flushed: u32,
    resets: u32,
    /// Number of resets that are known to have ended.
    cleared: u32,
    is_torn: bool,
    /// Whether the chunk may end early, because a copy to it reads an interrupted source.
    may_end: bool,
}

impl Known {
    /// Drops the recorded data after all resets so far have ended.
    fn clear(&mut self) {
        if self.cleared < self.resets {
            *self = Self { resets: self.resets, cleared: self.resets, ..Self::default() };
        }
    }
}

/// Host and its device.
pub struct Host {
    pub device: OpenChannel,
    pub calendar: Calendar<Event>,
    pub completions: Vec<Completion>,
    chunks: Vec<Known>,
    sent: BTreeMap<u32, Sent>,
    tag: u32,
    /// Whether commands may fail.
    pub fails: bool,
    /// Whether a power loss destroys completed writes that were not flushed.
    is_volatile: bool,
}

/// Step of the host.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes the given number of units to each chunk.
    Write(Vec<(u16, u8)>),
    /// Reads all readable blocks of these chunks.
    Read(Vec<(u16, u16)>),
    /// Resets these chunks.
    Reset(Vec<u16>),
    /// Copies units from one chunk to another.
    Copy(u16, u16, u8),
    /// Flushes.
    Flush,
    /// Closes a chunk.
    Close(u16),
    /// Sends any command with any logical blocks.
    Anything(u8, Vec<(u16, u8)>),
    /// Handles this many events.
    GoOn(u8),
    /// Handles all events.
    RunDown,
    /// Cuts the power after this many microseconds, or at the next event if that is earlier.
    Cut(u16),
}

pub fn step(cuts: bool) -> impl Strategy<Value = Step> {
    let picks = || prop::collection::vec(any::<(u16, u16)>(), 1..40);
    prop_oneof![
        6 => prop::collection::vec((any::<u16>(), 1u8..4), 1..4).prop_map(Step::Write),
        4 => picks().prop_map(Step::Read),
        1 => prop::collection::vec(any::<u16>(), 1..4).prop_map(Step::Reset),
        1 => (0u8..3, prop::collection::vec(any::<(u16, u8)>(), 0..12)).prop_map(|(kind, raw)| Step::Anything(kind, raw)),
        1 => (any::<u16>(), any::<u16>(), 1u8..6).prop_map(|(from, to, units)| Step::Copy(from, to, units)),
        1 => Just(Step::Flush),
        1 => any::<u16>().prop_map(Step::Close),
        4 => (1u8..40).prop_map(Step::GoOn),
        1 => Just(Step::RunDown),
        u32::from(cuts) => (0u16..400).prop_map(Step::Cut),
    ]
}

impl Host {
    pub fn new(file: OpenChannelFile, seed: u64) -> Self {
        let fails = !file.faults.is_empty();
        let is_volatile = file
            .buffer
            .as_ref()
            .is_some_and(|buffer| buffer.completion == CompletionMode::WriteBack && !buffer.protected);
        let config = file.check().unwrap_or_else(|wrong| panic!("{wrong}"));
        let chunks = vec![Known::default(); config.geometry.chunks() as usize];
        let device = OpenChannel::new(config, Seed(seed));
        Self {
            device,
            calendar: Calendar::new(),
            completions: Vec::new(),
            chunks,
            sent: BTreeMap::new(),
            tag: 0,
            fails,
            is_volatile,
        }
    }

    pub fn report(&self, chunk: Chunk) -> Descriptor {
        self.device.report(chunk)
    }

    fn number(&self, chunk: Chunk) -> usize {
        self.device.geometry().number(chunk) as usize
    }

    pub fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.device.save(&Agenda::of(&self.calendar), &mut bytes).expect("a list takes everything");
        bytes
    }

    /// Copy of the host, with a device that has another seed and has loaded the state.
    pub fn restored(&self, mut bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut device = OpenChannel::new(self.device.config().clone(), Seed(999));
        let agenda = device.load(&mut bytes)?;
        assert!(bytes.is_empty(), "{} bytes are left over", bytes.len());
        let (chunks, sent) = (self.chunks.clone(), self.sent.clone());
        let calendar = agenda.calendar(|event| event);
        Ok(Self {
            device,
            calendar,
            completions: self.completions.clone(),
            chunks,
            sent,
            tag: self.tag,
            fails: self.fails,
            is_volatile: self.is_volatile,
        })
    }

    /// Submits a command. Checks that a rejected command changes nothing.
    pub fn submit(&mut self, command: &Command<'_>) -> Result<(), Refusal> {
        let before = self.saved();
        let may = self.may(command.operation, command.blocks, command.stamps.len());
        let (expected, mut may_be_torn): (Vec<DataTag>, Vec<bool>) =
            command.blocks.iter().map(|block| self.expected(*block)).unzip();
        if command.operation == Operation::Copy {
            // If any source of a copy is unreadable, nothing of the copy is written.
            let may_end = may_be_torn.contains(&true);
            may_be_torn.fill(may_end);
        }
        let taken = self.device.submit(command, &mut self.calendar);
        assert!(may.is_none_or(|may| may == taken.is_ok()), "{command:?} may {may:?}, and was {taken:?}");
        if taken.is_err() {
            assert!(self.saved() == before, "{taken:?} changed something");
            return taken;
        }
        let (operation, blocks) = (command.operation, command.blocks.to_vec());
        let (sources, blocks) = match operation {
            Operation::Copy => (blocks, command.to.to_vec()),
            _ => (Vec::new(), blocks),
        };
        let resets = blocks.iter().map(|block| self.chunks[self.known_number(*block)].resets).collect();
        let covers = match operation {
            // A chunk that is being reset may have lost its data when the flush completes.
            Operation::Flush => {
                let is_reset = |known: &Known| known.cleared < known.resets;
                let done = |known: &Known| if is_reset(known) { 0 } else { known.done };
                self.chunks.iter().map(|known| (done(known), known.resets)).collect()
            }
            _ => Vec::new(),
        };
        for (at, block) in blocks.iter().enumerate() {
            let number = self.number(block.chunk);
            match operation {
                Operation::Write => {
                    // A chunk that accepts a write has been reset, even if another chunk of the same reset
                    // command has not.
                    self.chunks[number].clear();
                    self.chunks[number].written.push(command.stamps[at]);
                }
                Operation::Copy => {
                    self.chunks[number].clear();
                    self.chunks[number].may_end |= may_be_torn[at];
                    self.chunks[number].written.push(expected[at]);
                }
                Operation::Reset => self.chunks[number].resets += 1,
                Operation::Read | Operation::Flush | Operation::Close => {}
            }
        }
        self.sent
            .insert(command.tag, Sent { operation, blocks, sources, expected, resets, may_be_torn, covers });
        self.take_completions();
        Ok(())
    }

    fn known_number(&self, block: LogicalBlock) -> usize {
        self.number(block.chunk)
    }

    /// Data tag that a read of a logical block must find, and whether the read may fail because of an
    /// interrupted program or erase.
    fn expected(&self, block: LogicalBlock) -> (DataTag, bool) {
        if !self.device.geometry().has(block.chunk) {
            return (DataTag::UNREADABLE, false);
        }
        let known = &self.chunks[self.number(block.chunk)];
        (known.written.get(block.block as usize).copied().unwrap_or(DataTag::UNREADABLE), known.is_torn)
    }

    /// Whether the device must accept a command; `None` if that depends on the progress of other commands.
    fn may(&self, operation: Operation, blocks: &[LogicalBlock], stamps: usize) -> Option<bool> {
        if matches!(operation, Operation::Copy | Operation::Flush | Operation::Close) {
            return None;
        }
        let geometry = self.device.geometry();
        let is_there =
            |block: &LogicalBlock| geometry.has(block.chunk) && block.block < geometry.blocks_per_chunk;
        let wanted = if operation == Operation::Write { blocks.len() } else { 0 };
        if !(1..=64).contains(&blocks.len()) || !blocks.iter().all(is_there) || stamps != wanted {
            return Some(false);
        }
        let is_about = |sent: &Sent, chunk: Chunk| {
            sent.blocks.iter().chain(&sent.sources).any(|block| block.chunk == chunk)
        };
        let is_reset = |chunk| {
            self.sent.values().any(|sent| sent.operation == Operation::Reset && is_about(sent, chunk))
        };
        if blocks.iter().any(|block| is_reset(block.chunk)) {
            // The chunk may already be reset, while another chunk of the same command is not.
            return None;
        }
        let states: Vec<ChunkState> = blocks.iter().map(|block| self.report(block.chunk).state).collect();
        match operation {
            Operation::Read => {
                Some(blocks.iter().all(|block| block.block < self.report(block.chunk).readable))
            }
            Operation::Write if geometry.max_open + geometry.max_open_per_unit > 0 => None,
            Operation::Write => Some(
                states.iter().all(|state| matches!(state, ChunkState::Free | ChunkState::Open))
                    && self.is_in_order(blocks),
            ),
            Operation::Reset => {
                let sound = states.iter().all(|state| matches!(state, ChunkState::Open | ChunkState::Closed));
                let chunk = |n: usize| blocks[n].chunk;
                let twice = (0..blocks.len()).any(|n| (0..n).any(|before| chunk(before) == chunk(n)));
                let busy =
                    blocks.iter().any(|block| self.sent.values().any(|sent| is_about(sent, block.chunk)));
                if sound && !twice && busy { None } else { Some(sound && !twice) }
            }
            Operation::Copy | Operation::Flush | Operation::Close => None,
        }
    }

    /// Whether a list writes each chunk from its write pointer on, in whole units.
    fn is_in_order(&self, blocks: &[LogicalBlock]) -> bool {
        let unit = self.device.geometry().ws_min;
        let mut next: BTreeMap<Chunk, u32> = BTreeMap::new();
        let mut run = 0u32;
        for (n, block) in blocks.iter().enumerate() {
            let next = next.entry(block.chunk).or_insert_with(|| self.report(block.chunk).write_pointer);
            if *next != block.block {
                return false;
            }
            *next += 1;
            run += 1;
            let goes_on = blocks.get(n + 1).is_some_and(|after| after.chunk == block.chunk);
            if !goes_on && !std::mem::take(&mut run).is_multiple_of(unit) {
                return false;
            }
        }
        true
    }

    /// Takes the completions and checks them against what was written.
    fn take_completions(&mut self) {
        let completions = self.device.completions().to_vec();
        self.device.clear_completions();
        for completion in completions {
            let sent = self.sent.remove(&completion.tag).expect("it was sent, and answered once");
            assert_eq!(completion.failed == 0, completion.failure.is_none(), "{completion:?}");
            for at in 0..sent.blocks.len() {
                self.check_block(&completion, &sent, at);
            }
            if completion.failure.is_none() {
                for (known, (done, resets)) in self.chunks.iter_mut().zip(&sent.covers) {
                    let is_of_now = known.resets == *resets;
                    known.flushed = known.flushed.max(if is_of_now { *done } else { 0 });
                }
            }
            self.completions.push(completion);
        }
    }

    fn check_block(&mut self, completion: &Completion, sent: &Sent, at: usize) {
        let block = sent.blocks[at];
        let (number, failed) = (self.number(block.chunk), completion.has_failed(at));
        let may_end = self.chunks[number].may_end && sent.operation != Operation::Read;
        let may_fail = self.fails || may_end || sent.may_be_torn[at];
        assert!(!failed || may_fail, "{block} failed without a fault: {completion:?}");
        let report = self.report(block.chunk);
        let is_of_now = self.chunks[number].resets == sent.resets[at];
        let known = &mut self.chunks[number];
        match (sent.operation, failed) {
            (Operation::Read, true) => assert_eq!(completion.failure, Some(Failure::Unread)),
            (Operation::Read, false) => {
                assert_eq!(completion.found[at], sent.expected[at], "{block} holds what was written last");
            }
            (Operation::Write | Operation::Copy, false) if is_of_now => {
                known.done = known.done.max(block.block + 1);
            }
            (Operation::Write | Operation::Copy, true) => {
                assert!(matches!(completion.failure, Some(Failure::EarlyClose | Failure::Unread)));
                if is_of_now {
                    assert!(matches!(report.state, ChunkState::Closed | ChunkState::Offline), "{block}");
                    known.written.truncate(report.write_pointer as usize);
                }
            }
            (Operation::Write | Operation::Copy, false) | (Operation::Flush | Operation::Close, _) => {}
            (Operation::Reset, _) => {
                let wanted = if failed { ChunkState::Offline } else { ChunkState::Free };
                let is_left = [wanted, ChunkState::Open, ChunkState::Closed].contains(&report.state);
                assert!(is_left, "{} is {:?} after a reset", block.chunk, report.state);
                if self.chunks[number].resets == sent.resets[at] + 1 {
                    self.chunks[number].clear();
                }
            }
        }
    }

    fn next_tag(&mut self) -> u32 {
        self.tag += 1;
        self.tag
    }

    /// Writes units to chunks, from their write pointers on.
    pub fn write(&mut self, pieces: &[(Chunk, u32)]) -> Result<u32, Refusal> {
        let unit = self.device.geometry().ws_min;
        let mut next: BTreeMap<Chunk, u32> = BTreeMap::new();
        let mut blocks: Vec<LogicalBlock> = Vec::new();
        for (chunk, units) in pieces {
            let next = next.entry(*chunk).or_insert_with(|| self.report(*chunk).write_pointer);
            blocks.extend(chunk.range(*next, units * unit));
            *next += units * unit;
        }
        blocks.truncate(64 / unit as usize * unit as usize);
        let tag = self.next_tag();
        let stamps: Vec<DataTag> =
            (0..blocks.len()).map(|n| DataTag { logical: n as u32, version: tag }).collect();
        self.submit(&Command::write(tag, &blocks, &stamps)).map(|()| tag)
    }

    pub fn read(&mut self, blocks: &[LogicalBlock]) -> Result<u32, Refusal> {
        let tag = self.next_tag();
        self.submit(&Command::read(tag, blocks)).map(|()| tag)
    }

    pub fn reset(&mut self, chunks: &[Chunk]) -> Result<u32, Refusal> {
        let tag = self.next_tag();
        let blocks: Vec<LogicalBlock> = chunks.iter().map(|chunk| chunk.at(0)).collect();
        self.submit(&Command::reset(tag, &blocks)).map(|()| tag)
    }

    /// One of the chunks that random steps use.
    fn pick(&self, pick: u16) -> Chunk {
        let geometry = self.device.geometry();
        let unit = u32::from(pick) % geometry.units();
        let mut chunk = geometry.chunk(unit * geometry.chunks_per_unit);
        chunk.chunk = u32::from(pick) / geometry.units() % CHUNKS;
        chunk
    }

    pub fn play(&mut self, step: &Step) {
        match step {
            Step::Write(pieces) => {
                let pieces: Vec<(Chunk, u32)> =
                    pieces.iter().map(|(pick, units)| (self.pick(*pick), u32::from(*units))).collect();
                let _ = self.write(&pieces);
            }
            Step::Read(picks) => self.read_picks(picks),
            Step::Reset(picks) => {
                let mut chunks: Vec<Chunk> = picks.iter().map(|pick| self.pick(*pick)).collect();
                chunks.dedup();
                let _ = self.reset(&chunks);
            }
            Step::Copy(from, to, units) => self.copy(self.pick(*from), self.pick(*to), u32::from(*units)),
            Step::Flush => {
                let tag = self.next_tag();
                self.submit(&Command::flush(tag)).expect("nothing forbids a flush");
            }
            Step::Close(pick) => {
                let (tag, chunk) = (self.next_tag(), self.pick(*pick));
                let _ = self.submit(&Command::close(tag, &[chunk.at(0)]));
            }
            Step::Anything(kind, raw) => self.anything(*kind, raw),
            Step::GoOn(events) => self.go_on(usize::from(*events)),
            Step::RunDown => self.run_down(),
            Step::Cut(us) => drop(self.cut_power(Duration::from_us(u64::from(*us)))),
        }
    }

    /// Copies units from the start of one chunk to the write pointer of another.
    fn copy(&mut self, from: Chunk, to: Chunk, units: u32) {
        let (unit, readable) = (self.device.geometry().ws_min, self.report(from).readable);
        let count = (units * unit).min(readable / unit * unit);
        let blocks: Vec<LogicalBlock> = from.range(0, count).collect();
        let to: Vec<LogicalBlock> = to.range(self.report(to).write_pointer, count).collect();
        let tag = self.next_tag();
        let _ = self.submit(&Command::copy(tag, &blocks, &to));
    }

    fn read_picks(&mut self, picks: &[(u16, u16)]) {
        let block = |(pick, place): &(u16, u16)| {
            let chunk = self.pick(*pick);
            let readable = self.report(chunk).readable;
            (readable > 0).then(|| chunk.at(u32::from(*place) % readable))
        };
        let blocks: Vec<LogicalBlock> = picks.iter().filter_map(block).collect();
        let _ = self.read(&blocks);
    }

    fn anything(&mut self, kind: u8, raw: &[(u16, u8)]) {
        let blocks: Vec<LogicalBlock> =
            raw.iter().map(|(pick, place)| self.pick(*pick).at(u32::from(*place))).collect();
        let tag = self.next_tag();
        let stamps = vec![DataTag { logical: 7, version: tag }; blocks.len()];
        let _ = match kind {
            0 => self.submit(&Command::read(tag, &blocks)),
            1 => self.submit(&Command::write(tag, &blocks, &stamps)),
            _ => self.submit(&Command::reset(tag, &blocks)),
        };
    }

    /// Handles `events` events.
    pub fn go_on(&mut self, events: usize) {
        for _ in 0..events {
            let Some(event) = self.calendar.advance() else { return };
            self.device.handle(event, &mut self.calendar);
            self.take_completions();
        }
    }

    /// Runs until no event is pending. All commands have completed by then.
    pub fn run_down(&mut self) {
        while !self.calendar.pending().is_empty() {
            self.go_on(1);
        }
        let waits = || self.device.describe_outstanding(self.calendar.now());
        assert_eq!(
            self.device.outstanding(),
            0,
            "commands are outstanding and no event is pending\n{}",
            waits()
        );
        assert!(self.sent.is_empty());
    }

    /// Cuts the power after a while, or at the next event if that is earlier, and waits for the recovery.
    /// Checks that completed writes are there, and other writes only as whole units.
    pub fn cut_power(&mut self, after: Duration) -> PowerCut {
        let next = self.calendar.pending().first().map_or(self.now(), |(time, _)| *time);
        let now = next.min(self.now() + after);
        let cut = self.device.power_cut(now);
        self.calendar = Calendar::resumed(now, []);
        let sent = std::mem::take(&mut self.sent);
        let mut incomplete: Vec<u32> = sent.keys().copied().collect();
        incomplete.sort_unstable();
        assert_eq!(cut.incomplete, incomplete);
        assert!(!self.device.is_ready());
        self.device.recover(&mut self.calendar);
        self.wait_until_ready();
        let was_reset = |chunk: Chunk| {
            sent.values().any(|sent| {
                sent.operation == Operation::Reset && sent.blocks.iter().any(|block| block.chunk == chunk)
            })
        };
        let all: Vec<Chunk> = self.device.geometry().all_chunks().collect();
        for chunk in all {
            self.find_again(chunk, was_reset(chunk));
        }
        self.audit();
        cut
    }

    pub fn wait_until_ready(&mut self) {
        while !self.device.is_ready() {
            let event = self.calendar.advance().expect("a recovery is under way");
            self.device.handle(event, &mut self.calendar);
        }
    }

    fn find_again(&mut self, chunk: Chunk, was_reset: bool) {
        let (report, number) = (self.report(chunk), self.number(chunk));
        let unit = self.device.geometry().ws_min;
        let known = &mut self.chunks[number];
        if was_reset && matches!(report.state, ChunkState::Free | ChunkState::Offline) {
            // This includes data written after the reset of this chunk, while another chunk of the same
            // command was not reset yet.
            *known = Known { resets: known.resets, cleared: known.resets, ..Known::default() };
            return;
        }
        // A reset that had not begun is dropped.
        known.cleared = known.resets;
        known.is_torn |= was_reset;
        // A reset that had begun to change the blocks of the chunk leaves none of its data.
        if was_reset && report.state == ChunkState::Closed && report.write_pointer == 0 {
            known.flushed = 0;
            known.done = 0;
        }
        let written = known.written.len() as u32;
        let least = if self.is_volatile { known.flushed } else { known.done };
        let fits =
            (least..=written).contains(&report.write_pointer) && report.write_pointer.is_multiple_of(unit);
        assert!(fits, "{report:?} where {} of {written} were answered", known.done);
        known.written.truncate(report.write_pointer as usize);
        known.done = report.write_pointer;
        known.flushed = known.done;
    }

    /// Reads everything that is readable.
    pub fn read_all(&mut self) {
        self.run_down();
        let chunks: Vec<Chunk> = self.device.geometry().all_chunks().collect();
        for chunk in chunks {
            let all: Vec<LogicalBlock> = chunk.range(0, self.report(chunk).readable).collect();
            for blocks in all.chunks(64) {
                self.read(blocks).expect("they can be read");
            }
        }
        self.run_down();
        self.audit();
    }

    pub fn now(&self) -> Instant {
        self.calendar.now()
    }

    pub fn elapsed(&self) -> Duration {
        self.now() - Instant::ZERO
    }

    pub fn audit(&self) {
        self.device.audit(self.elapsed());
    }
}
