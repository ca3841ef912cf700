//! Transactions whose rank follows from who waits for them: reads of the controller's own that nobody waits for, and reads
//! that the erase of a victim waits for.

use wordline_kernel::Instant;
use wordline_nand::{DieId, PageId};

use super::{EMPTY, NONE, Purpose, Queues, SECOND, Transaction};

impl Queues {
    /// Queues a read of the controller's own that nobody waits for: it goes as programs do.
    pub fn push_behind(
        &mut self,
        die: DieId,
        now: Instant,
        purpose: Purpose,
        owner: u32,
        page: PageId,
    ) -> &mut Transaction {
        let gc_before = self.gc_time(die, now);
        let background = self.rules.rank_of_reads < self.rules.rank_of_programs;
        let read =
            Transaction { purpose, owner, page, queued: now, gc_before, background, ..Transaction::NONE };
        let id = self.keep(read);
        self.queue_kept(die, id);
        &mut self.pool[id as usize]
    }

    /// Whether there are transactions that nobody waits for.
    #[inline]
    pub fn has_background(&self) -> bool {
        self.background > 0
    }

    /// Somebody waits for these of the transactions that nobody waited for: those that wait for `die` go as reads of the
    /// host do. Whether there are any.
    pub fn hurry(&mut self, die: DieId, mut wanted: impl FnMut(&Transaction) -> bool) -> bool {
        let to = self.rules.rank_of_reads;
        let mut any = false;
        for rank in to + 1..=SECOND {
            any |= self.move_to(die, [rank, to], |read| read.background && wanted(read));
        }
        any
    }

    /// Whether commands of the collector go before reads that its erases may wait for.
    #[inline]
    pub fn collector_passes_reads(&self) -> bool {
        self.rules.rank_of_gc < self.rules.rank_of_programs
    }

    /// The collector waits for these reads, which wait for `die`: they go as its own commands do.
    pub fn inherit(&mut self, die: DieId, wanted: impl FnMut(&Transaction) -> bool) {
        self.move_to(die, [self.rules.rank_of_programs, self.rules.rank_of_gc], wanted);
    }

    /// What waits for `die`, by class: its name, how many, and the first.
    pub fn waiting(&self, die: DieId) -> Vec<(&'static str, usize, &Transaction)> {
        let mut found = Vec::new();
        let names = ["reads that go first", "what goes after those", "what goes last"];
        for (name, list) in names.into_iter().zip(&self.dies[die].lists) {
            let of = |id: u32| self.pool.get(id as usize);
            let all = std::iter::successors(of(list.first), |transaction| of(transaction.next));
            if let Some(first) = of(list.first) {
                found.push((name, all.count(), first));
            }
        }
        found
    }

    /// Moves what is wanted of one list of a die to the end of another; whether there is anything.
    fn move_to(
        &mut self,
        die: DieId,
        [from, to]: [usize; 2],
        mut wanted: impl FnMut(&Transaction) -> bool,
    ) -> bool {
        let mut at = std::mem::replace(&mut self.dies[die].lists[from], EMPTY).first;
        self.dies[die].waiting &= !(1 << from);
        let mut any = false;
        while at != NONE {
            let transaction = &mut self.pool[at as usize];
            let after = std::mem::replace(&mut transaction.next, NONE);
            let moves = wanted(transaction);
            if moves && to == self.rules.rank_of_reads {
                self.background -= u32::from(std::mem::take(&mut transaction.background));
            }
            any |= moves;
            self.append(die, if moves { to } else { from }, at);
            at = after;
        }
        any
    }
}
