//! ECC decoders. The data of a read are decoded before its task ends.
//!
//! A decoder processes commands one after another, in the order in which their data arrive. It starts with a
//! command when the last byte of its data has arrived. The bus transfers the next data meanwhile. A channel
//! is limited by decoding if decoding takes longer than the transfer.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Factor, Instant, id, state};
use wordline_nand::{CommandCompletion, Operation, Pool, Pools};

use super::setup::Setup;
use super::task::TaskId;
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

    /// Time to decode the code words of `bytes`, with the soft decision if `softly`.
    fn time(&self, bytes: Bytes, softly: bool) -> Duration {
        let soft = if softly { self.soft } else { Duration::ZERO };
        let words = (bytes.0 * 8).div_ceil(self.frame);
        Duration::from_ps(((self.hard + soft).ps() * words).div_ceil(self.frames))
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

    /// Starts to decode the data of a command, given with its first task. `cleaned` is the GC time of its die
    /// at `now`, in picoseconds. Returns the decoder, and the time when it will be done.
    pub fn take(
        &mut self,
        (done, first): (&CommandCompletion, TaskId),
        softly: bool,
        (now, gc_ps): (Instant, u64),
        pools: &Pools,
    ) -> (DecoderId, Instant) {
        let id = self.decoder_of(done, pools);
        let time =
            self.code(done, pools).map_or(Duration::ZERO, |code| code.time(done.command.bytes, softly));
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
