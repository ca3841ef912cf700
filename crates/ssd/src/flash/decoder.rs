//! The ECC decoders: the data of a read are decoded before its task ends.
//!
//! A decoder takes commands in the order in which their data arrive, one after another. It begins with a
//! command when its last byte has arrived, and the bus transfers the next data meanwhile: decoding limits a
//! channel if it takes longer than data out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Factor, Instant, id, state};
use wordline_nand::{CommandCompletion, Operation, Pool, Pools};

use super::setup::Setup;
use super::task::TaskId;
use crate::config::Decoder;

id!(
    /// A decoder.
    DecoderId
);

/// Decoding times of the part of a pool.
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
    /// The times of a pool's part; none if it has no error correction, or decoding takes no time.
    fn of(pool: &Pool) -> Option<Self> {
        let ecc = pool.part.ecc().filter(|ecc| ecc.has_decode_time())?;
        let frame = u64::from(ecc.frame);
        let frames = (pool.geometry.page_size.0 * 8).div_ceil(frame);
        Some(Self { hard: ecc.hard, soft: ecc.soft, frame, frames })
    }

    /// Time to decode the code words of `bytes`.
    fn time(&self, bytes: Bytes, softly: bool) -> Duration {
        let soft = if softly { self.soft } else { Duration::ZERO };
        let words = (bytes.0 * 8).div_ceil(self.frame);
        Duration::from_ps(((self.hard + soft).ps() * words).div_ceil(self.frames))
    }
}

/// A command whose data are being decoded, or wait for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Decoding {
    done: CommandCompletion,
    /// Its first task.
    first: TaskId,
    since: Instant,
    /// GC time of its die by then, in picoseconds.
    gc_ps: u64,
}

/// A decoder with its commands, the oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Queue {
    free_at: Instant,
    waiting: VecDeque<Decoding>,
}

/// The decoders of a device.
#[derive(Clone, Debug)]
pub(super) struct Decoders {
    each: Decoder,
    /// By pool.
    codes: Vec<Option<DecodeTimes>>,
    queues: Vec<Queue>,
    /// The first task of the command that a decoder has just finished, until it is taken.
    over: Option<TaskId>,
}

state!(Decoders { values { queues } fixed { each, codes, over } });

impl Decoders {
    /// None if decoding takes no time.
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

    /// Scales the decoding times by this factor from now on.
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

    /// Calls `f` for the first task of each command whose data are decoded.
    pub fn each(&self, f: impl FnMut(TaskId)) {
        self.queues.iter().flat_map(|queue| &queue.waiting).map(|one| one.first).for_each(f);
    }

    /// Whether the data of a command need decoding, which takes time.
    pub fn decodes(&self, done: &CommandCompletion, pools: &Pools) -> bool {
        let is_read = done.command.operation == Operation::Read && done.command.bytes > Bytes(0);
        is_read && self.code(done, pools).is_some()
    }

    /// Takes the data of a command with this first task, whose die had a GC time of `cleaned` picoseconds by
    /// `now`. Returns the decoder, and when it will have finished.
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

    /// The command that a decoder has finished, its first task, when the decoder got it, and the GC time of
    /// its die by then.
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

    /// Drops everything, in a power cut.
    pub fn forget(&mut self) {
        self.queues.fill(Queue::default());
        self.over = None;
    }
}
