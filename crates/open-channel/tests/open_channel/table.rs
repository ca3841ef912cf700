//! Rules of chunks, compared with a model: random commands, valid and invalid, and the status of each.

use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Chunk, ChunkState, Command, Geometry, LogicalBlock, Operation};
use wordline_kernel::{Calendar, Seed, Stream};
use wordline_nand::DataTag;
use wordline_open_channel::{OpenChannel, OpenChannelFile};

use super::device;

/// Model of the chunk table: states and write pointers, by chunk number.
struct Table {
    geometry: Geometry,
    chunks: Vec<(ChunkState, u32)>,
}

impl Table {
    fn get(&self, chunk: Chunk) -> (ChunkState, u32) {
        self.chunks[self.geometry.number(chunk) as usize]
    }

    /// Status of a command, if no other command uses its chunks. With status 0 the table has changed.
    fn play(&mut self, command: &Command<'_>) -> u16 {
        let status = self.status(command);
        if status == 0 {
            for block in command.written() {
                let (state, next) = &mut self.chunks[self.geometry.number(block.chunk) as usize];
                *next += 1;
                let is_full = *next == self.geometry.blocks_per_chunk;
                *state = if is_full { ChunkState::Closed } else { ChunkState::Open };
            }
            for block in command.blocks {
                let entry = &mut self.chunks[self.geometry.number(block.chunk) as usize];
                match command.operation {
                    Operation::Reset => *entry = (ChunkState::Free, 0),
                    Operation::Close => entry.0 = ChunkState::Closed,
                    _ => {}
                }
            }
        }
        status
    }

    fn status(&self, command: &Command<'_>) -> u16 {
        let flushes = command.operation == Operation::Flush;
        let copies = if command.operation == Operation::Copy { command.blocks.len() } else { 0 };
        if command.blocks.is_empty() != flushes || command.blocks.len() > 64 || command.to.len() != copies {
            return 0x1c1;
        }
        let is_there = |block: &LogicalBlock| {
            self.geometry.has(block.chunk) && block.block < self.geometry.blocks_per_chunk
        };
        if !command.blocks.iter().chain(command.to).all(is_there) {
            return 0x080;
        }
        match command.operation {
            Operation::Read => self.read(command.blocks),
            Operation::Write => self.write(command.blocks),
            Operation::Copy => match self.read(command.blocks) {
                0 => self.write(command.to),
                status => status,
            },
            Operation::Reset => self.change(command.blocks, &[ChunkState::Open, ChunkState::Closed]),
            Operation::Close => self.change(command.blocks, &[ChunkState::Open]),
            Operation::Flush => 0,
        }
    }

    fn read(&self, blocks: &[LogicalBlock]) -> u16 {
        let is_readable = |block: &LogicalBlock| match self.get(block.chunk) {
            (ChunkState::Closed, next) => block.block < next,
            (_, next) => block.block + self.geometry.mw_cunits < next,
        };
        if blocks.iter().all(is_readable) { 0 } else { 0x287 }
    }

    /// Status of a write, in which each run must begin at the write pointer of its chunk.
    fn write(&self, blocks: &[LogicalBlock]) -> u16 {
        let mut after = self.chunks.clone();
        let open = |after: &[(ChunkState, u32)]| {
            after.iter().filter(|(state, _)| *state == ChunkState::Open).count() as u32
        };
        for run in blocks.chunk_by(|one, next| *next == one.chunk.at(one.block + 1)) {
            let number = self.geometry.number(run[0].chunk) as usize;
            let (state, next) = after[number];
            if self.chunks[number].0 == ChunkState::Closed {
                return 0x280;
            }
            if state == ChunkState::Free {
                after[number].0 = ChunkState::Open;
                if self.geometry.max_open > 0 && open(&after) > self.geometry.max_open {
                    return 0x280;
                }
            }
            if run[0].block != next {
                return 0x2f2;
            }
            if !(run.len() as u32).is_multiple_of(self.geometry.ws_min) {
                return 0x002;
            }
            after[number].1 += run.len() as u32;
        }
        0
    }

    fn change(&self, blocks: &[LogicalBlock], states: &[ChunkState]) -> u16 {
        for (n, block) in blocks.iter().enumerate() {
            let state = self.get(block.chunk).0;
            let is_first = blocks[..n].iter().all(|before| before.chunk != block.chunk);
            if !states.contains(&state) || !is_first {
                let is_closed = state == ChunkState::Closed && !states.contains(&state);
                return if is_closed { 0x280 } else { 0x2c1 };
            }
        }
        0
    }
}

/// Random list of logical blocks of a few chunks: mostly valid.
fn blocks(table: &Table, writes: bool, random: &mut Stream) -> Vec<LogicalBlock> {
    let mut below = |n: u32| random.below(u64::from(n)) as u32;
    let mut blocks = Vec::new();
    for _ in 0..1 + below(3) {
        let chunk = Chunk {
            group: below(2) as u16,
            unit: below(2) as u16,
            chunk: below(3) + 24 * u32::from(below(99) == 0),
        };
        let next = if table.geometry.has(chunk) { table.get(chunk).1 } else { 0 };
        let count = (1 + below(4)) * table.geometry.ws_min - u32::from(below(30) == 0);
        let first = match below(20) {
            0 => below(40),
            _ if writes => next,
            _ => below(next.max(1)),
        };
        blocks.extend(chunk.range(first, count));
    }
    blocks.truncate(if below(60) == 0 { 0 } else { 70 });
    blocks
}

/// Sends `commands` random commands to a device, and compares their status with the model. Returns the number
/// of commands by status.
fn play(file: OpenChannelFile, commands: u32) -> std::collections::BTreeMap<u16, u32> {
    let config = file.check().unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut table = Table {
        chunks: vec![(ChunkState::Free, 0); config.geometry.chunks() as usize],
        geometry: config.geometry.clone(),
    };
    let mut device = OpenChannel::new(config, Seed(1));
    let (mut calendar, mut random) = (Calendar::new(), Seed(1).stream("table", 0));
    let mut seen = std::collections::BTreeMap::new();
    for tag in 0..commands {
        let kind = random.below(12);
        let (list, other) =
            (blocks(&table, (4..8).contains(&kind), &mut random), blocks(&table, true, &mut random));
        let stamps = vec![DataTag { logical: tag, version: 1 }; list.len()];
        let command = match kind {
            0..4 => Command::read(tag, &list),
            4..8 => Command::write(tag, &list, &stamps),
            8 => Command::copy(tag, &list[..list.len().min(other.len())], &other),
            9 => Command::reset(tag, &list[..list.len().min(1)]),
            10 => Command::close(tag, &list[..list.len().min(1)]),
            _ => Command::flush(tag),
        };
        let wanted = table.play(&command);
        let found = device.submit(&command, &mut calendar).map_or_else(
            |refusal| refusal.status(),
            |()| {
                while let Some(event) = calendar.advance() {
                    device.handle(event, &mut calendar);
                }
                device
                    .completions()
                    .iter()
                    .find(|completion| completion.tag == tag)
                    .expect("it is answered")
                    .status()
            },
        );
        device.clear_completions();
        assert_eq!(found, wanted, "{command:?}");
        *seen.entry(wanted).or_insert(0) += 1;
        for block in command.blocks.iter().chain(command.to).filter(|block| table.geometry.has(block.chunk)) {
            let report = device.report(block.chunk);
            assert_eq!((report.state, report.write_pointer), table.get(block.chunk), "{command:?}");
        }
    }
    seen
}

#[test]
fn every_command_has_the_status_that_the_table_says() {
    let commands = if std::env::var_os("WORDLINE_LONG").is_some() { 500_000 } else { 20_000 };
    let seen = play(device(), commands);
    for status in [0, 0x002, 0x080, 0x1c1, 0x280, 0x287, 0x2c1, 0x2f2] {
        assert!(seen.get(&status).is_some_and(|n| *n > 10), "{status:x}h is among {seen:?}");
    }
    let limited = OpenChannelFile { max_open: Some(2), max_open_per_unit: Some(2), mw_cunits: 3, ..device() };
    let seen = play(limited, commands);
    assert!(seen[&0] > commands / 10 && seen[&0x280] > commands / 20, "{seen:?}");
}
