//! The command queues of the dies: transactions that wait for their die, and which of them is next.
//!
//! Who goes first is set by [`SchedulingFile`]. By default reads go before programs and erases, but not more than so
//! many of them while one of those waits; the others go in the order in which they came. Each die has three lists, one
//! for each rank; which rank a purpose has is worked out once. A read that nobody waits for has that of programs, and what
//! somebody comes to wait for (`waited_for`) gets another.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Column, Duration, Instant, state};
use wordline_nand::{DieId, PageId, SlotId};

use crate::scheduling::{GcPriority, SchedulingFile};

/// Number of a transaction.
pub type TransactionId = u32;

const NONE: u32 = u32::MAX;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// A read of the host; `owner` is the request.
    HostRead,
    /// The rest of a partly written page; `owner` is the buffer entry.
    Fill,
    /// A page that is programmed because others of its unit are; `owner` is the sub-request.
    UnitFill,
    /// A page ahead of the host's reads; `owner` is the entry of the read cache.
    ReadAhead,
    /// A translation page, whole; `owner` is its number.
    TranslationRead,
    /// The host's program unit of a row; `owner` is the row.
    HostProgram,
    /// A program unit of translation pages of a row; `owner` is the row.
    TranslationProgram,
    /// Valid pages of the row's victim; `owner` is the row.
    GcRead,
    /// The collector's program unit of a row; `owner` is the row.
    GcProgram,
    /// Whole valid pages of the row's victim, moved inside their planes; `owner` is the row, `slot` where they go.
    GcCopyback,
    /// The erase of a row's victim; `owner` is the row.
    GcErase,
    /// What stamps a page carries, after the power was cut; `owner` is the die.
    Scan,
}

impl Purpose {
    /// Whether it is garbage collection.
    pub fn is_gc(self) -> bool {
        matches!(self, Self::GcRead | Self::GcProgram | Self::GcCopyback | Self::GcErase)
    }

    /// Whether it reads pages of a chip.
    #[inline]
    pub fn is_read(self) -> bool {
        self.is_host_read() || matches!(self, Self::GcRead | Self::Scan)
    }

    /// Whether pages in the buffer may go on when it is done.
    pub fn moves_writes_on(self) -> bool {
        matches!(
            self,
            Self::Fill
                | Self::UnitFill
                | Self::HostProgram
                | Self::GcErase
                | Self::TranslationRead
                | Self::TranslationProgram
        )
    }

    /// Whether it reads for the host: what it asked for, or what is in the way of that.
    pub fn is_host_read(self) -> bool {
        matches!(self, Self::HostRead | Self::Fill | Self::UnitFill | Self::ReadAhead | Self::TranslationRead)
    }
}

/// A transaction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
    /// The set of read levels of the next try.
    pub level: u8,
    /// Which of its pages could not be read so far, the lowest bit for the first.
    pub unread: u16,
    /// Whether nobody waits for it: a read of the controller's own that goes as programs do.
    pub background: bool,
    /// How long a host read waited for the place of its page before it was queued.
    pub mapping: Duration,
    /// When it was queued.
    pub queued: Instant,
    /// How long the die had collected garbage by then, in picoseconds.
    pub gc_before: u64,
    next: u32,
}

impl Transaction {
    /// What a transaction is but for what is said of it: a page, read by nobody.
    const NONE: Self = Self {
        purpose: Purpose::Scan,
        owner: NONE,
        page: PageId(0),
        slot: SlotId(0),
        slots: 1,
        planes: 1,
        bytes: 0,
        version: 0,
        logical: NONE,
        tries: 0,
        level: 0,
        unread: 0,
        background: false,
        mapping: Duration::ZERO,
        queued: Instant::ZERO,
        gc_before: 0,
        next: NONE,
    };

    /// The next of its chain.
    #[inline]
    pub fn following(&self) -> Option<TransactionId> {
        (self.next != NONE).then_some(self.next)
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NONE, last: NONE };

/// What waits for a die and what it is doing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct DieQueue {
    /// By rank, and a bit for each rank at which something waits.
    lists: [List; 3],
    waiting: u8,
    /// Reads that overtook what waits or is suspended.
    in_a_row: u32,
    /// The chains that the die works on, and that is suspended meanwhile.
    current: u32,
    suspended: u32,
    gc_total: u64,
    gc_since: Option<Instant>,
}

impl List {
    /// Takes the first transaction, and the reads of the host that can go with it.
    #[inline(never)]
    fn take(&mut self, pool: &mut [Transaction], merge: impl Fn(&Transaction, &Transaction) -> bool) {
        let (mut last, mut next) = (self.first, pool[self.first as usize].next);
        while next != NONE {
            let (before, after) = (&pool[last as usize], &pool[next as usize]);
            let goes_with =
                before.purpose.is_host_read() && after.purpose.is_host_read() && merge(before, after);
            if !goes_with {
                pool[last as usize].next = NONE;
                self.first = next;
                return;
            }
            (last, next) = (next, after.next);
        }
        *self = EMPTY;
    }
}

impl DieQueue {
    /// What goes first of that which is not a read that goes first: its rank, and the transaction.
    #[inline]
    fn first_of_others(&self, pool: &[Transaction], rules: &Rules, now: Instant) -> (usize, TransactionId) {
        let [_, List { first, .. }, List { first: second, .. }] = self.lists;
        if first == NONE {
            return (SECOND, second);
        }
        let overtaken = second != NONE && rules.is_aged(&pool[second as usize], now) && {
            let [first, second] = [first, second].map(|id| &pool[id as usize]);
            second.queued < first.queued
        };
        if overtaken { (SECOND, second) } else { (FIRST, first) }
    }

    /// The rank that goes next, where others than reads that go first may wait.
    fn choose(&mut self, pool: &[Transaction], rules: &Rules, now: Instant) -> Option<usize> {
        let (rank, waits) = match self.suspended {
            NONE => self.first_of_others(pool, rules, now),
            suspended => (SECOND, suspended),
        };
        let overtakes = waits == NONE
            || (self.in_a_row < rules.reads_in_a_row && !rules.is_aged(&pool[waits as usize], now));
        if self.waiting & 1 << READS != 0 && overtakes {
            self.in_a_row = if waits == NONE { 0 } else { self.in_a_row + 1 };
            Some(READS)
        } else if waits != NONE && self.suspended == NONE {
            self.in_a_row = 0;
            Some(rank)
        } else {
            None
        }
    }

    /// The die does not collect garbage any more.
    #[inline]
    fn gc_rests(&mut self, now: Instant) {
        if let Some(since) = self.gc_since.take() {
            self.gc_total += (now - since).ps();
        }
    }
}

/// The ranks: reads that go first, and two of what has to wait for them.
const READS: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;

/// The configured order, ready for use.
#[derive(Clone, Copy, Debug)]
struct Rules {
    rank_of_reads: usize,
    rank_of_programs: usize,
    rank_of_gc: usize,
    reads_in_a_row: u32,
    /// No limit where it is left out.
    age_limit: Option<Duration>,
    suspend_programs: bool,
    suspend_erases: bool,
}

impl Rules {
    fn of(file: &SchedulingFile) -> Self {
        let (rank_of_programs, rank_of_gc) = match file.gc_priority {
            GcPriority::Low => (FIRST, SECOND),
            GcPriority::Equal => (FIRST, FIRST),
            GcPriority::High => (SECOND, FIRST),
        };
        Self {
            rank_of_reads: if file.read_priority { READS } else { rank_of_programs },
            rank_of_programs,
            rank_of_gc,
            reads_in_a_row: file.reads_in_a_row,
            age_limit: (file.age_limit > Duration::ZERO).then_some(file.age_limit),
            suspend_programs: file.suspend_programs,
            suspend_erases: file.suspend_erases,
        }
    }

    #[inline]
    fn rank(&self, transaction: &Transaction) -> usize {
        if transaction.background { self.rank_of_programs } else { self.rank_of(transaction.purpose) }
    }

    #[inline]
    fn rank_of(&self, purpose: Purpose) -> usize {
        match purpose {
            Purpose::HostRead
            | Purpose::Fill
            | Purpose::UnitFill
            | Purpose::ReadAhead
            | Purpose::TranslationRead
            | Purpose::Scan => self.rank_of_reads,
            Purpose::HostProgram | Purpose::TranslationProgram => self.rank_of_programs,
            Purpose::GcRead | Purpose::GcProgram | Purpose::GcCopyback | Purpose::GcErase => self.rank_of_gc,
        }
    }

    /// Whether a transaction has waited longer than it may.
    #[inline]
    fn is_aged(&self, transaction: &Transaction, now: Instant) -> bool {
        self.age_limit.is_some_and(|limit| now - transaction.queued >= limit)
    }

    fn suspends(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::HostProgram | Purpose::TranslationProgram | Purpose::GcProgram => self.suspend_programs,
            Purpose::GcErase => self.suspend_erases,
            Purpose::HostRead
            | Purpose::Fill
            | Purpose::UnitFill
            | Purpose::ReadAhead
            | Purpose::TranslationRead
            | Purpose::Scan
            | Purpose::GcRead
            | Purpose::GcCopyback => false,
        }
    }
}

/// The command queues of all dies.
#[derive(Clone, Debug)]
pub struct Queues {
    rules: Rules,
    pool: Vec<Transaction>,
    free: Vec<TransactionId>,
    dies: Column<DieId, DieQueue>,
    /// Transactions that nobody waits for.
    background: u32,
}

state!(Queues { values { pool, free, dies, background } fixed { rules } });

impl Queues {
    /// Empty queues for `dies` dies.
    pub fn new(dies: u32, scheduling: &SchedulingFile) -> Self {
        let idle = DieQueue {
            lists: [EMPTY; 3],
            waiting: 0,
            in_a_row: 0,
            current: NONE,
            suspended: NONE,
            gc_total: 0,
            gc_since: None,
        };
        Self {
            rules: Rules::of(scheduling),
            pool: Vec::with_capacity(1024),
            free: Vec::with_capacity(1024),
            dies: Column::filled(dies as usize, idle),
            background: 0,
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
        let gc_before = self.gc_time(die, now);
        let id = self.place();
        let transaction = &mut self.pool[id as usize];
        *transaction = Transaction { purpose, owner, page, queued: now, gc_before, ..Transaction::NONE };
        self.append(die, self.rules.rank_of(purpose), id);
        &mut self.pool[id as usize]
    }

    /// Keeps a transaction that is to be queued later.
    #[inline]
    pub fn keep(&mut self, transaction: Transaction) -> TransactionId {
        let id = self.place();
        self.background += u32::from(transaction.background);
        self.pool[id as usize] = transaction;
        id
    }

    /// A place for a transaction, which holds another one still.
    #[inline]
    fn place(&mut self) -> TransactionId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    #[cold]
    fn grow(&mut self) -> TransactionId {
        self.pool.push(Transaction::NONE);
        self.pool.len() as u32 - 1
    }

    /// A transaction that waits, is kept, or is under way.
    pub fn get(&self, id: TransactionId) -> &Transaction {
        &self.pool[id as usize]
    }

    /// Queues a transaction that was kept.
    #[inline]
    pub fn queue_kept(&mut self, die: DieId, id: TransactionId) {
        let transaction = &mut self.pool[id as usize];
        transaction.next = NONE;
        let rank = self.rules.rank(transaction);
        self.append(die, rank, id);
    }

    /// A transaction goes to the end of the list of its rank.
    #[inline]
    fn append(&mut self, die: DieId, rank: usize, id: TransactionId) {
        let queue = &mut self.dies[die];
        let list = &mut queue.lists[rank];
        let last = std::mem::replace(&mut list.last, id);
        if last == NONE {
            list.first = id;
            queue.waiting |= 1 << rank;
        } else {
            self.pool[last as usize].next = id;
        }
    }

    /// Whether anything waits for `die`.
    #[inline]
    pub fn has_work(&self, die: DieId) -> bool {
        self.dies[die].waiting != 0
    }

    /// Takes the next transaction of an idle die; `merge` says whether a read of the host can go with the one before it in
    /// one multi-plane command. The chain is remembered as the die's present work. While something is suspended, only
    /// reads that go first are taken.
    #[inline]
    pub fn next(
        &mut self,
        die: DieId,
        now: Instant,
        merge: impl Fn(&Transaction, &Transaction) -> bool,
    ) -> Option<&Transaction> {
        let Self { pool, dies, rules, .. } = self;
        let queue = &mut dies[die];
        let rank = match queue.waiting {
            0 => return None,
            // What waits is of one rank, and overtakes nothing.
            alone if alone.is_power_of_two() && queue.suspended == NONE => {
                queue.in_a_row = 0;
                alone.trailing_zeros() as usize
            }
            _ => queue.choose(pool, rules, now)?,
        };
        let list = &mut queue.lists[rank];
        queue.current = list.first;
        if list.first == list.last {
            *list = EMPTY;
        } else {
            list.take(pool, merge);
        }
        queue.waiting &= !(u8::from(list.first == NONE) << rank);
        let transaction = &pool[queue.current as usize];
        queue.gc_since = transaction.purpose.is_gc().then_some(now);
        Some(transaction)
    }

    /// Whether the die's present command is to be suspended for a read that waits, as far as the queue knows.
    #[inline]
    pub fn wants_suspend(&self, die: DieId, now: Instant) -> bool {
        let Rules { suspend_programs, suspend_erases, .. } = self.rules;
        (suspend_programs || suspend_erases) && self.read_waits_for_suspend(die, now)
    }

    #[cold]
    fn read_waits_for_suspend(&self, die: DieId, now: Instant) -> bool {
        let queue = &self.dies[die];
        let Some(current) = self.pool.get(queue.current as usize) else { return false };
        let waits = queue.suspended == NONE && queue.lists[READS].first != NONE;
        waits && self.rules.suspends(current.purpose) && !self.rules.is_aged(current, now)
    }

    /// The die's present work is suspended: it takes reads meanwhile.
    pub fn park(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.gc_rests(now);
        queue.in_a_row = 0;
        queue.suspended = std::mem::replace(&mut queue.current, NONE);
    }

    /// What is suspended is the die's present work again.
    pub fn unpark(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.in_a_row = 0;
        queue.current = std::mem::replace(&mut queue.suspended, NONE);
        queue.gc_since = self.pool[queue.current as usize].purpose.is_gc().then_some(now);
    }

    /// The first transaction of the die's present work, of which there has to be some.
    pub fn current(&self, die: DieId) -> &Transaction {
        &self.pool[self.dies[die].current as usize]
    }

    /// How many planes the die's present command reads from, whose reads are of pages side by side, and the bytes of
    /// all these reads together. What several reads want of a page goes over the bus once: no more than all of it.
    #[inline]
    pub fn current_reads(&self, die: DieId, page_size: Bytes) -> (u32, u64) {
        let mut at = self.dies[die].current;
        let first = self.pool[at as usize].page.0;
        let (mut last, mut bytes, mut of_page) = (first, 0, 0);
        while at != NONE {
            let read = &self.pool[at as usize];
            if read.page.0 != last {
                (last, bytes, of_page) = (read.page.0, bytes + of_page, 0);
            }
            (at, of_page) = (read.next, (of_page + u64::from(read.bytes)).min(page_size.0));
        }
        (last - first + 1, bytes + of_page)
    }

    /// The die's work is over: its chain of transactions, to be gone through with [`release`](Self::release).
    pub fn finish(&mut self, die: DieId, now: Instant) -> Option<TransactionId> {
        let queue = &mut self.dies[die];
        queue.gc_rests(now);
        let current = std::mem::replace(&mut queue.current, NONE);
        (current != NONE).then_some(current)
    }

    /// Gives back a finished transaction: what it was.
    #[inline]
    pub fn release(&mut self, id: TransactionId) -> Transaction {
        self.free.push(id);
        let transaction = self.pool[id as usize];
        self.background -= u32::from(transaction.background);
        transaction
    }

    /// Whether the die works on anything but garbage collection, or that waits for it.
    pub fn serves_host(&self, die: DieId) -> bool {
        let queue = &self.dies[die];
        let is_host = |id: TransactionId| !self.pool[id as usize].purpose.is_gc();
        // A row has one program unit of the host and one step of the collector waiting at the most, reads end the search.
        let waits = |list: &List| {
            let next = |id: &TransactionId| Some(self.pool[*id as usize].next).filter(|next| *next != NONE);
            std::iter::successors(Some(list.first).filter(|first| *first != NONE), next).any(is_host)
        };
        [queue.current, queue.suspended].into_iter().any(|id| id != NONE && is_host(id))
            || queue.lists.iter().any(waits)
    }

    /// How long the die collected garbage so far, in picoseconds.
    #[inline]
    pub fn gc_time(&self, die: DieId, now: Instant) -> u64 {
        let queue = &self.dies[die];
        queue.gc_total + queue.gc_since.map_or(0, |since| (now - since).ps())
    }

    /// Calls `f` for each transaction that waits for `die` or is its present work.
    pub fn each(&self, die: DieId, mut f: impl FnMut(&Transaction)) {
        let queue = &self.dies[die];
        let waiting = queue.lists.iter().map(|list| list.first);
        for mut at in waiting.chain([queue.current, queue.suspended]) {
            while at != NONE {
                f(&self.pool[at as usize]);
                at = self.pool[at as usize].next;
            }
        }
    }

    /// Transactions that wait or are under way.
    pub fn outstanding(&self) -> usize {
        self.pool.len() - self.free.len()
    }
}

mod loaded;
mod waited_for;

#[cfg(test)]
mod tests;
