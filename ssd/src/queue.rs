//! The command queues of the dies: transactions that wait for their die, and which of them is next.
//!
//! Reads go before programs and erases, but not more than [`READS_IN_A_ROW`] of them while one of those waits.

use wordline_kernel::{Column, Instant};
use wordline_nand::{DieId, PageId, SlotId};

/// Number of a transaction.
pub type TransactionId = u32;

/// Reads that overtake a waiting program or erase, one after another. Chosen: a die that reads in 50 us and programs
/// in 1 ms then spends at least half of its time on programs when both wait, so that neither starves.
pub const READS_IN_A_ROW: u32 = 16;

const NONE: u32 = u32::MAX;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A read of the host; `owner` is the request.
    HostRead,
    /// The rest of a partly written page; `owner` is the buffer entry.
    Fill,
    /// The host's program unit of a row; `owner` is the row.
    HostProgram,
    /// Valid pages of the row's victim; `owner` is the row.
    GcRead,
    /// The collector's program unit of a row; `owner` is the row.
    GcProgram,
    /// The erase of a row's victim; `owner` is the row.
    GcErase,
}

impl Purpose {
    /// Whether it is garbage collection.
    pub fn is_gc(self) -> bool {
        matches!(self, Self::GcRead | Self::GcProgram | Self::GcErase)
    }

    /// Whether pages in the buffer may go on when it is done.
    pub fn moves_writes_on(self) -> bool {
        matches!(self, Self::Fill | Self::HostProgram | Self::GcErase)
    }

    fn goes_first(self) -> bool {
        matches!(self, Self::HostRead | Self::Fill)
    }
}

/// A transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// What it is for.
    pub purpose: Purpose,
    /// Whose it is; see [`Purpose`].
    pub owner: u32,
    /// Its first page.
    pub page: PageId,
    /// Its first slot.
    pub slot: SlotId,
    /// Slots from the first one on that it reads.
    pub slots: u32,
    /// Planes that it reads from.
    pub planes: u32,
    /// Bytes that it moves out of the chip.
    pub bytes: u32,
    /// The version that a host read or a fill must find.
    pub version: u32,
    /// The logical page that it must find, or that is filled.
    pub logical: u32,
    /// How often its pages were sensed again because they could not be read.
    pub tries: u8,
    /// Which of its pages could not be read so far, the lowest bit for the first.
    pub unread: u16,
    /// When it was queued.
    pub queued: Instant,
    /// How long the die had collected garbage by then, in picoseconds.
    pub gc_before: u64,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NONE, last: NONE };

/// What waits for a die and what it is doing.
#[derive(Clone, Copy, Debug)]
struct DieQueue {
    reads: List,
    others: List,
    in_a_row: u32,
    current: u32,
    gc_total: u64,
    gc_since: Option<Instant>,
}

/// The command queues of all dies.
#[derive(Clone, Debug)]
pub struct Queues {
    pool: Vec<Transaction>,
    free: Vec<TransactionId>,
    dies: Column<DieId, DieQueue>,
}

impl Queues {
    /// Empty queues for `dies` dies.
    pub fn new(dies: u32) -> Self {
        let idle =
            DieQueue { reads: EMPTY, others: EMPTY, in_a_row: 0, current: NONE, gc_total: 0, gc_since: None };
        Self {
            pool: Vec::with_capacity(1024),
            free: Vec::with_capacity(1024),
            dies: Column::filled(dies as usize, idle),
        }
    }

    /// Queues a transaction for `die`.
    #[inline]
    pub fn push(
        &mut self,
        die: DieId,
        now: Instant,
        purpose: Purpose,
        owner: u32,
        page: PageId,
    ) -> &mut Transaction {
        let transaction = Transaction {
            purpose,
            owner,
            page,
            slot: SlotId(0),
            slots: 1,
            planes: 1,
            bytes: 0,
            version: 0,
            logical: NONE,
            tries: 0,
            unread: 0,
            queued: now,
            gc_before: self.gc_time(die, now),
            next: NONE,
        };
        let id = self.park(transaction);
        self.resume(die, id);
        &mut self.pool[id as usize]
    }

    /// Keeps a transaction that is to be queued later.
    #[inline]
    pub fn park(&mut self, transaction: Transaction) -> TransactionId {
        let id = self.free.pop().unwrap_or(self.pool.len() as u32);
        if id as usize == self.pool.len() {
            self.pool.push(transaction);
        } else {
            self.pool[id as usize] = transaction;
        }
        id
    }

    /// A transaction that waits, is kept, or is under way.
    pub fn get(&self, id: TransactionId) -> &Transaction {
        &self.pool[id as usize]
    }

    /// Queues a transaction that was kept.
    #[inline]
    pub fn resume(&mut self, die: DieId, id: TransactionId) {
        let transaction = &mut self.pool[id as usize];
        transaction.next = NONE;
        let queue = &mut self.dies[die];
        let list = if transaction.purpose.goes_first() { &mut queue.reads } else { &mut queue.others };
        let last = std::mem::replace(&mut list.last, id);
        if last == NONE {
            list.first = id;
        } else {
            self.pool[last as usize].next = id;
        }
    }

    /// Takes the next transaction of an idle die; `merge` says whether a read can go with the one before it in one
    /// multi-plane command. The chain is remembered as the die's present work.
    #[inline]
    pub fn next(
        &mut self,
        die: DieId,
        now: Instant,
        merge: impl Fn(&Transaction, &Transaction) -> bool,
    ) -> Option<&Transaction> {
        let Self { pool, dies, .. } = self;
        let queue = &mut dies[die];
        let others = queue.others.first;
        let read_first = others == NONE || queue.in_a_row < READS_IN_A_ROW;
        if queue.reads.first != NONE && read_first {
            queue.in_a_row = if others == NONE { 0 } else { queue.in_a_row + 1 };
            let first = queue.reads.first;
            let mut last = first;
            loop {
                let next = pool[last as usize].next;
                if next == NONE || !merge(&pool[last as usize], &pool[next as usize]) {
                    break;
                }
                last = next;
            }
            let rest = std::mem::replace(&mut pool[last as usize].next, NONE);
            queue.reads.first = rest;
            if rest == NONE {
                queue.reads.last = NONE;
            }
            queue.current = first;
        } else if others != NONE {
            queue.in_a_row = 0;
            let rest = std::mem::replace(&mut pool[others as usize].next, NONE);
            queue.others.first = rest;
            if rest == NONE {
                queue.others.last = NONE;
            }
            queue.current = others;
        } else {
            return None;
        }
        let transaction = &pool[queue.current as usize];
        queue.gc_since = transaction.purpose.is_gc().then_some(now);
        Some(transaction)
    }

    /// How many planes the die's present command reads from, whose reads are of pages side by side, and the bytes of
    /// all these reads together.
    #[inline]
    pub fn current_reads(&self, die: DieId) -> (u32, u64) {
        let mut at = self.dies[die].current;
        let first = self.pool[at as usize].page.0;
        let (mut last, mut bytes) = (first, 0);
        while at != NONE {
            let read = &self.pool[at as usize];
            (at, last, bytes) = (read.next, read.page.0, bytes + u64::from(read.bytes));
        }
        (last - first + 1, bytes)
    }

    /// The die's work is over: its chain of transactions, to be gone through with [`release`](Self::release).
    pub fn finish(&mut self, die: DieId, now: Instant) -> Option<TransactionId> {
        let queue = &mut self.dies[die];
        if let Some(since) = queue.gc_since.take() {
            queue.gc_total += (now - since).ps();
        }
        let current = std::mem::replace(&mut queue.current, NONE);
        (current != NONE).then_some(current)
    }

    /// Gives back a finished transaction: what it was, and the next of its chain.
    #[inline]
    pub fn release(&mut self, id: TransactionId) -> (Transaction, Option<TransactionId>) {
        let transaction = self.pool[id as usize];
        self.free.push(id);
        (transaction, (transaction.next != NONE).then_some(transaction.next))
    }

    /// How long the die collected garbage so far, in picoseconds.
    #[inline]
    pub fn gc_time(&self, die: DieId, now: Instant) -> u64 {
        let queue = &self.dies[die];
        queue.gc_total + queue.gc_since.map_or(0, |since| (now - since).ps())
    }

    /// Transactions that wait or are under way.
    pub fn outstanding(&self) -> usize {
        self.pool.len() - self.free.len()
    }
}
