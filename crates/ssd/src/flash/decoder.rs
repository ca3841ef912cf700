//! The decoders of the error correction: the data of a read are decoded before its task is over.
//!
//! A decoder takes commands in the order in which their data come, one after the other. It begins with a command when the last byte
//! has come, and the bus moves out the next data meanwhile: decoding limits a channel where it takes longer than data out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, Factor, Instant, id, state};
use wordline_nand::{Done, Operation, Pool, Pools};

use super::setup::Setup;
use super::task::TaskId;
use crate::config::Decoder;

id!(
    /// A decoder.
    DecoderId
);

/// The times to decode data of the part of a pool.
#[derive(Clone, Copy, Debug)]
struct Code {
    /// Of a page.
    hard: Duration,
    soft: Duration,
    /// Bits of a code word, and how many a page has.
    frame: u64,
    frames: u64,
}

impl Code {
    /// The times of a pool's part; none where it names no error correction, or one that takes no time.
    fn of(pool: &Pool) -> Option<Self> {
        let ecc = pool.part.ecc().filter(|ecc| ecc.takes_time())?;
        let frame = u64::from(ecc.frame);
        let frames = (pool.geometry.page_size.0 * 8).div_ceil(frame);
        Some(Self { hard: ecc.hard, soft: ecc.soft, frame, frames })
    }

    /// The time to decode the code words of `bytes`.
    fn time(&self, bytes: Bytes, softly: bool) -> Duration {
        let soft = if softly { self.soft } else { Duration::ZERO };
        let words = (bytes.0 * 8).div_ceil(self.frame);
        Duration::from_ps(((self.hard + soft).ps() * words).div_ceil(self.frames))
    }
}

/// A command whose data are decoded, or wait for that.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Decoding {
    done: Done,
    /// The first of its tasks.
    first: TaskId,
    since: Instant,
    /// How long its die had been cleaning by then, in picoseconds.
    cleaned: u64,
}

/// A decoder: the commands in it and behind it, the oldest first.
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
    codes: Vec<Option<Code>>,
    queues: Vec<Queue>,
    /// The first task of the command that a decoder has just finished, until it is asked for.
    over: Option<TaskId>,
}

state!(Decoders { values { queues } fixed { each, codes, over } });

impl Decoders {
    /// None where decoding takes no time.
    pub fn of(setup: &Setup<'_>) -> Option<Box<Self>> {
        let (each, pools) = (setup.read_retry.decoder, setup.pools);
        let codes: Vec<Option<Code>> = pools.iter().map(Code::of).collect();
        let count = match each {
            Decoder::Channel => pools.channels(),
            Decoder::Die => pools.dies(),
            Decoder::None => return None,
        };
        let queues = vec![Queue::default(); count as usize];
        codes.iter().any(Option::is_some).then(|| Box::new(Self { each, codes, queues, over: None }))
    }

    /// From now on decoding takes its time with this factor.
    pub fn change_times(&mut self, factor: Factor) {
        for code in self.codes.iter_mut().flatten() {
            (code.hard, code.soft) = (factor.of(code.hard), factor.of(code.soft));
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    fn code(&self, done: &Done, pools: &Pools) -> Option<&Code> {
        self.codes[pools.number_of(done.die)].as_ref()
    }

    fn decoder_of(&self, done: &Done, pools: &Pools) -> DecoderId {
        DecoderId(match self.each {
            Decoder::Die => done.die.0,
            _ => pools.of_die(done.die).geometry.channel_of(done.die).0,
        })
    }

    /// Calls `f` for the first task of each command whose data are decoded.
    pub fn each(&self, f: impl FnMut(TaskId)) {
        self.queues.iter().flat_map(|queue| &queue.waiting).map(|one| one.first).for_each(f);
    }

    /// Whether the data of a command are decoded, which takes time.
    pub fn decodes(&self, done: &Done, pools: &Pools) -> bool {
        let is_read = done.command.operation == Operation::Read && done.command.bytes > Bytes(0);
        is_read && self.code(done, pools).is_some()
    }

    /// Takes the data of a command with this first task, whose die had been cleaning for `cleaned` picoseconds by `now`: the decoder,
    /// and when it will have finished them.
    pub fn take(
        &mut self,
        (done, first): (&Done, TaskId),
        softly: bool,
        (now, cleaned): (Instant, u64),
        pools: &Pools,
    ) -> (DecoderId, Instant) {
        let id = self.decoder_of(done, pools);
        let time =
            self.code(done, pools).map_or(Duration::ZERO, |code| code.time(done.command.bytes, softly));
        let queue = &mut self.queues[id.0 as usize];
        queue.free_at = queue.free_at.max(now) + time;
        queue.waiting.push_back(Decoding { done: *done, first, since: now, cleaned });
        (id, queue.free_at)
    }

    /// The command that a decoder has finished, the first of its tasks, since when the decoder had it, and how long its die had been
    /// cleaning by then.
    pub fn finished(&mut self, id: DecoderId) -> Option<(Done, TaskId, Instant, u64)> {
        let Decoding { done, first, since, cleaned } =
            self.queues.get_mut(id.0 as usize)?.waiting.pop_front()?;
        self.over = Some(first);
        Some((done, first, since, cleaned))
    }

    /// The first task of the command that a decoder has just finished.
    pub fn take_over(&mut self) -> Option<TaskId> {
        self.over.take()
    }

    /// Forgets everything, as when the power is cut.
    pub fn forget(&mut self) {
        self.queues.fill(Queue::default());
        self.over = None;
    }
}
