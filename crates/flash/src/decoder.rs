//! ECC decoders. The data of a read are decoded before its task ends.
//!
//! A decoder processes commands one after another, in the order in which their data arrive. It starts with a
//! command when the last byte of its data has arrived. The bus transfers the next data meanwhile. A channel
//! is limited by decoding if decoding takes longer than the transfer.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Factor, Instant, id, state};
use wordline_nand::{CommandCompletion, Locations, Operation, PageId, Pool, Pools};

use super::queue::Queues;
use super::setup::Setup;
use super::task::{Task, TaskId};
use crate::read_retry::Decoder;

id!(
    /// A decoder.
    DecoderId
);

/// Decoding times of a pool's part.
#[derive(Clone, Copy, Debug)]
struct DecodeTimes {
    /// Hard and soft decoding time of a page.
    hard: Duration,
    soft: Duration,
    /// Bits of a code word, and code words of a page.
    frame: u64,
    frames: u64,
}

impl DecodeTimes {
    /// Decoding times of a pool's part; `None` if the part has no error correction or decoding takes no time.
    fn of(pool: &Pool) -> Option<Self> {
        let ecc = pool.part.ecc().filter(|ecc| ecc.has_decode_time())?;
        let frame = u64::from(ecc.frame);
        let frames = (pool.geometry.page_size.0 * 8).div_ceil(frame);
        Some(Self { hard: ecc.hard, soft: ecc.soft, frame, frames })
    }

    /// Time to decode the code words with these bytes, which are sorted in place. `softly` has a bit for each
    /// page that needs soft decisions, the lowest for the page `first`.
    fn time(&self, parts: &mut [PagePart], (first, softly): (PageId, u16)) -> Duration {
        parts.sort_unstable();
        let (mut page, mut decoded, mut time) = (None, 0, 0);
        for part in parts {
            if page.replace(part.page) != Some(part.page) {
                decoded = 0;
            }
            let begin = (part.from * 8 / self.frame).max(decoded);
            decoded = (part.to * 8).div_ceil(self.frame).min(self.frames).max(begin);
            let is_soft = softly >> (part.page - first.0) & 1 != 0;
            let soft = if is_soft { self.soft } else { Duration::ZERO };
            time += (self.hard + soft).ps() * (decoded - begin);
        }
        Duration::from_ps(time.div_ceil(self.frames))
    }
}

/// Adjacent bytes of a page that a command transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PagePart {
    page: u32,
    from: u64,
    to: u64,
}

impl PagePart {
    /// Adds the parts that a read transferred.
    fn add(read: &Task, locations: &Locations, parts: &mut Vec<Self>) {
        let (page, bytes) = (read.page.0, u64::from(read.bytes));
        let place = read.location.0.wrapping_sub(locations.location_of(read.page).0);
        let is_in_page = read.planes == 1 && place < locations.per_page();
        let begin = if is_in_page { u64::from(place) * locations.size.0 } else { 0 };
        let each = |page, from: u64, to: u64| Self { page, from: begin + from, to: begin + to };
        if read.sectors == 0 {
            let of_plane = bytes.div_ceil(u64::from(read.planes));
            parts.extend((page..page + read.planes).map(|page| each(page, 0, of_plane)));
            return;
        }
        let sector = bytes / u64::from(read.sectors.count_ones());
        let is_read = |n: &u64| read.sectors >> n & 1 != 0;
        parts.extend((0..64).filter(is_read).map(|n| each(page, n * sector, (n + 1) * sector)));
    }
}

/// A command whose data are being decoded, or wait to be.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Decoding {
    done: CommandCompletion,
    /// First task of the command.
    first: TaskId,
    since: Instant,
    /// GC time of the command's die when the data arrived, in picoseconds.
    gc_ps: u64,
}

/// A decoder and its commands, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    free_at: Instant,
    waiting: VecDeque<Decoding>,
}

/// The decoders of a device.
#[derive(Clone, Debug)]
pub(super) struct Decoders {
    each: Decoder,
    /// Decoding times of each pool.
    codes: Vec<Option<DecodeTimes>>,
    queues: Vec<Queue>,
    /// First task of the command that a decoder has just finished, until it is taken.
    over: Option<TaskId>,
}

state!(Decoders { values { queues } fixed { each, codes, over } });

impl Decoders {
    /// `None` if decoding takes no time.
    pub fn of(setup: &Setup<'_>) -> Option<Box<Self>> {
        let (each, pools) = (setup.read_retry.decoder, setup.pools);
        let codes: Vec<Option<DecodeTimes>> = pools.iter().map(DecodeTimes::of).collect();
        let count = match each {
            Decoder::Channel => pools.channels(),
            Decoder::Die => pools.dies(),
            Decoder::None => return None,
        };
        let queues = vec![Queue::default(); count as usize];
        codes.iter().any(Option::is_some).then(|| Box::new(Self { each, codes, queues, over: None }))
    }

    /// Multiplies the decoding times by this factor from now on.
    pub fn change_times(&mut self, factor: Factor) {
        for code in self.codes.iter_mut().flatten() {
            (code.hard, code.soft) = (factor.of(code.hard), factor.of(code.soft));
        }
    }

    /// Number of decoders.
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    fn code(&self, done: &CommandCompletion, pools: &Pools) -> Option<&DecodeTimes> {
        self.codes[pools.number_of(done.die)].as_ref()
    }

    fn decoder_of(&self, done: &CommandCompletion, pools: &Pools) -> DecoderId {
        DecoderId(match self.each {
            Decoder::Die => done.die.0,
            _ => pools.of_die(done.die).geometry.channel_of(done.die).0,
        })
    }

    /// Calls `f` for the first task of each command in a decoder.
    pub fn each(&self, f: impl FnMut(TaskId)) {
        self.queues.iter().flat_map(|queue| &queue.waiting).map(|one| one.first).for_each(f);
    }

    /// Whether the data of a command must be decoded, which takes time.
    pub fn decodes(&self, done: &CommandCompletion, pools: &Pools) -> bool {
        let is_read = done.command.operation == Operation::Read && done.command.bytes > Bytes(0);
        is_read && self.code(done, pools).is_some()
    }

    /// Starts to decode the data of a command, given with its first task. `softly` has a bit for each page that
    /// needs soft decisions, the lowest for the first page. Returns the decoder, and the time when it will be
    /// done.
    pub fn take(
        &mut self,
        (done, first): (&CommandCompletion, TaskId),
        softly: u16,
        now: Instant,
        (queues, pools): (&Queues, &Pools),
    ) -> (DecoderId, Instant) {
        let (id, gc_ps) = (self.decoder_of(done, pools), queues.gc_time(done.die, now));
        let locations = &pools.of_die(done.die).locations;
        let mut parts = Vec::new();
        queues.each_of(first, |read| PagePart::add(read, locations, &mut parts));
        let time = |code: &DecodeTimes| code.time(&mut parts, (done.command.page, softly));
        let time = self.code(done, pools).map_or(Duration::ZERO, time);
        let queue = &mut self.queues[id.0 as usize];
        queue.free_at = queue.free_at.max(now) + time;
        queue.waiting.push_back(Decoding { done: *done, first, since: now, gc_ps });
        (id, queue.free_at)
    }

    /// Takes the command that a decoder has finished. Returns it with its first task, the time when the
    /// decoder got it, and the GC time of its die at that time.
    pub fn finished(&mut self, id: DecoderId) -> Option<(CommandCompletion, TaskId, Instant, u64)> {
        let Decoding { done, first, since, gc_ps } =
            self.queues.get_mut(id.0 as usize)?.waiting.pop_front()?;
        self.over = Some(first);
        Some((done, first, since, gc_ps))
    }

    /// Takes the first task of the command that a decoder has just finished.
    pub fn take_finished(&mut self) -> Option<TaskId> {
        self.over.take()
    }

    /// Drops everything after a power cut.
    pub fn forget(&mut self) {
        self.queues.fill(Queue::default());
        self.over = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time in units of a hard decision of one code word. A soft decision takes ten more. A page has sixteen
    /// code words of 1 KiB.
    fn time(parts: &[(u32, u64, u64)], softly: u16) -> u64 {
        let us = Duration::from_us;
        let code = DecodeTimes { hard: us(16), soft: us(160), frame: 8 * 1_024, frames: 16 };
        let mut parts: Vec<_> = parts.iter().map(|&(page, from, to)| PagePart { page, from, to }).collect();
        code.time(&mut parts, (PageId(4), softly)).ps() / us(1).ps()
    }

    #[test]
    fn each_code_word_with_a_transferred_byte_is_decoded_once() {
        assert_eq!(time(&[(4, 512, 1_536)], 0), 2, "a part of two code words");
        assert_eq!(time(&[(4, 8_192, 8_704), (4, 0, 512)], 0), 2, "reads that share a sense");
        assert_eq!(time(&[(4, 0, 512), (4, 512, 1_024), (4, 0, 1_024)], 0), 1, "of one code word");
        assert_eq!(time(&[(4, 0, 512), (5, 0, 512), (6, 0, 512), (7, 0, 512)], 0), 4, "of four planes");
        assert_eq!(time(&[(4, 0, 16_384), (4, 3_000, 4_000), (5, 16_383, 16_384)], 0), 17);
    }

    #[test]
    fn only_pages_that_need_soft_decisions_take_their_time() {
        assert_eq!(time(&[(4, 0, 16_384), (5, 0, 1_024)], 0b10), 16 + 11);
        assert_eq!(time(&[(4, 0, 16_384), (5, 0, 1_024)], 0b11), 17 * 11);
    }
}
