//! The rows whose parity a power cut may leave wrong, and those where it has: a write-intent bitmap of one bit a row, which survives power
//! cuts and takes no time.

use wordline_kernel::state;

/// Rows, as bits and as a list of those whose bit was set.
#[derive(Clone, Debug, Default)]
struct Marked {
    bits: Vec<u64>,
    rows: Vec<u64>,
}

state!(Marked { values { bits, rows } });

impl Marked {
    fn new(rows: u64) -> Self {
        Self { bits: vec![0; rows.div_ceil(64) as usize], rows: Vec::new() }
    }

    fn set(&mut self, row: u64) {
        let word = &mut self.bits[(row / 64) as usize];
        let bit = 1 << (row % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.rows.push(row);
        }
    }

    fn has(&self, row: u64) -> bool {
        is_set(&self.bits, row)
    }

    fn clear_all(&mut self) {
        for row in self.rows.drain(..) {
            self.bits[(row / 64) as usize] = 0;
        }
    }
}

/// Whether the bit of a row is set.
fn is_set(bits: &[u64], row: u64) -> bool {
    bits[(row / 64) as usize] >> (row % 64) & 1 == 1
}

/// The rows of an array that are not known to be in order.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Written since the last flush of all members began, and before that, where the flush is not over.
    now: Marked,
    before: Marked,
    is_flushing: bool,
    /// Discarded: a device may bring back what a block held before.
    discarded: Vec<u64>,
    /// Parity may be wrong.
    untrusted: Vec<u64>,
    /// How many bits of those are set.
    wrong: u64,
}

state!(Intent {
    values { is_flushing, discarded, untrusted, wrong }
    parts { now, before }
});

impl Intent {
    /// Of this many rows, all in order.
    pub fn new(rows: u64) -> Self {
        let bits = vec![0; rows.div_ceil(64) as usize];
        let marked = Marked::new(rows);
        Self {
            now: marked.clone(),
            before: marked,
            is_flushing: false,
            discarded: bits.clone(),
            untrusted: bits,
            wrong: 0,
        }
    }

    /// A write of a row begins.
    pub fn mark(&mut self, row: u64) {
        self.now.set(row);
    }

    /// A row is discarded on all members.
    pub fn discard(&mut self, row: u64) {
        self.now.set(row);
        self.discarded[(row / 64) as usize] |= 1 << (row % 64);
    }

    /// Whether a row was discarded since the last power cut.
    pub fn is_discarded(&self, row: u64) -> bool {
        is_set(&self.discarded, row)
    }

    /// A flush of all members begins; whether it is the one that covers the rows marked so far.
    pub fn flush_begins(&mut self) -> bool {
        if self.is_flushing {
            return false;
        }
        self.is_flushing = true;
        std::mem::swap(&mut self.now, &mut self.before);
        true
    }

    /// Whether a flush that covers rows is under way.
    pub fn is_flushing(&self) -> bool {
        self.is_flushing
    }

    /// The flush that begins does not cover a row, which is being written: it stays marked, if it was.
    pub fn keep(&mut self, row: u64) {
        if self.before.has(row) {
            self.now.set(row);
        }
    }

    /// The flush that covers rows is over.
    pub fn flush_over(&mut self) {
        self.is_flushing = false;
        self.before.clear_all();
    }

    /// The flush that covers rows failed: they stay marked.
    pub fn flush_failed(&mut self) {
        self.is_flushing = false;
        let Self { now, before, .. } = self;
        before.rows.iter().for_each(|row| now.set(*row));
        before.clear_all();
    }

    /// The power is cut: the parity of all marked and discarded rows may be wrong. How many there are now.
    pub fn cut(&mut self) -> u64 {
        for (at, untrusted) in self.untrusted.iter_mut().enumerate() {
            *untrusted |= self.now.bits[at] | self.before.bits[at] | self.discarded[at];
        }
        self.discarded.fill(0);
        self.now.clear_all();
        self.before.clear_all();
        self.is_flushing = false;
        self.wrong = self.untrusted.iter().map(|word| u64::from(word.count_ones())).sum();
        self.wrong
    }

    /// Whether the parity of a row may be wrong.
    pub fn is_untrusted(&self, row: u64) -> bool {
        self.wrong > 0 && is_set(&self.untrusted, row)
    }

    /// The parity of a row was computed from all its data and written.
    pub fn is_right(&mut self, row: u64) {
        if self.is_untrusted(row) {
            self.untrusted[(row / 64) as usize] &= !(1 << (row % 64));
            self.wrong -= 1;
        }
    }

    /// How many rows may have wrong parity.
    pub fn wrong(&self) -> u64 {
        self.wrong
    }

    /// The first row from `row` on whose parity may be wrong.
    pub fn next_untrusted(&self, row: u64) -> Option<u64> {
        let mut at = (row / 64) as usize;
        let mut word = self.untrusted.get(at)? & (u64::MAX << (row % 64));
        while word == 0 {
            at += 1;
            word = *self.untrusted.get(at)?;
        }
        Some(at as u64 * 64 + u64::from(word.trailing_zeros()))
    }

    /// The lengths of its lists that follow from the configuration.
    pub fn lengths(&self) -> [usize; 4] {
        [&self.now.bits, &self.before.bits, &self.discarded, &self.untrusted].map(Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untrusted(intent: &Intent) -> Vec<u64> {
        let after = |row: Option<u64>| intent.next_untrusted(row.map_or(0, |row| row + 1));
        let mut rows = Vec::new();
        while let Some(row) = after(rows.last().copied()) {
            rows.push(row);
        }
        rows
    }

    #[test]
    fn a_flush_covers_what_was_written_before_it_began() {
        let mut intent = Intent::new(200);
        [3, 64, 199].iter().for_each(|row| intent.mark(*row));
        assert!(intent.flush_begins());
        intent.mark(64);
        assert!(!intent.flush_begins(), "another flush is under way");
        intent.flush_over();
        assert_eq!((intent.cut(), untrusted(&intent)), (1, vec![64]));
        intent.is_right(64);
        assert_eq!((intent.wrong(), untrusted(&intent)), (0, vec![]));
    }

    #[test]
    fn rows_of_a_flush_that_is_not_over_are_not_covered() {
        let mut intent = Intent::new(200);
        intent.mark(3);
        assert!(intent.flush_begins());
        intent.mark(5);
        intent.flush_failed();
        assert!(intent.flush_begins());
        intent.mark(100);
        assert_eq!((intent.cut(), untrusted(&intent)), (3, vec![3, 5, 100]));
    }

    #[test]
    fn a_row_that_is_being_written_when_a_flush_begins_stays_marked() {
        let mut intent = Intent::new(200);
        [3, 64].iter().for_each(|row| intent.mark(*row));
        assert!(intent.flush_begins());
        [64, 65].iter().for_each(|row| intent.keep(*row));
        intent.flush_over();
        assert_eq!((intent.cut(), untrusted(&intent)), (1, vec![64]), "65 was not marked");
    }

    #[test]
    fn a_flush_does_not_make_discards_durable() {
        let mut intent = Intent::new(64);
        intent.discard(9);
        assert!(intent.is_discarded(9) && !intent.is_discarded(8));
        assert!(intent.flush_begins());
        intent.flush_over();
        assert_eq!((intent.cut(), untrusted(&intent)), (1, vec![9]));
    }
}
