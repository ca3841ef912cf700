//! WAM: which word line of an open block is next, by how full the write buffer is (cubeFTL, section 5.2 and figure 16).
//!
//! A free word line is a follower if its layer has parameters from a leader, and otherwise the next leader of its layer. So a layer whose
//! parameters were dropped, by a refused follower or a power cut, gets another leader.

use wordline_ssd::policy::frontier::{OpenBlock, WordLines};

use super::config::Order;

/// The word lines of an open block, and which of its layers have a leader.
pub struct Choice<'a> {
    shape: WordLines,
    programmed: &'a [u64],
    has_leader: &'a dyn Fn(u32) -> bool,
}

impl<'a> Choice<'a> {
    /// Among those of `open`.
    pub fn of(open: &OpenBlock<'a>, has_leader: &'a dyn Fn(u32) -> bool) -> Self {
        Self { shape: open.shape, programmed: open.programmed, has_leader }
    }

    fn is_free(&self, word_line: u32) -> bool {
        self.programmed[word_line as usize / 64] >> (word_line % 64) & 1 == 0
    }

    /// The first free word line of a layer.
    pub fn free_of(&self, layer: u32) -> Option<u32> {
        let first = layer * self.shape.per_layer;
        (first..first + self.shape.per_layer).find(|word_line| self.is_free(*word_line))
    }

    fn first_where(&self, led: bool) -> Option<u32> {
        let mut layers = (0..self.shape.layers).filter(|layer| (self.has_leader)(*layer) == led);
        layers.find_map(|layer| self.free_of(layer))
    }

    /// The next leader: the word line at `iLeader`.
    pub fn leader(&self) -> Option<u32> {
        self.first_where(false)
    }

    /// The next follower: the word line at `iFollower`, which is always on a layer below `iLeader`.
    pub fn follower(&self) -> Option<u32> {
        self.first_where(true)
    }

    /// The next one in an order; `is_full` says whether the write buffer is.
    pub fn next(&self, order: Order, is_full: bool) -> Option<u32> {
        let all = 0..self.shape.count();
        match order {
            Order::Adaptive if is_full => self.follower().or_else(|| self.leader()),
            Order::Adaptive => self.leader().or_else(|| self.follower()),
            Order::Horizontal => all.into_iter().find(|word_line| self.is_free(*word_line)),
            Order::Vertical => {
                let WordLines { layers, per_layer } = self.shape;
                let in_turn = all.into_iter().map(|n| n % layers * per_layer + n / layers);
                in_turn.into_iter().find(|word_line| self.is_free(*word_line))
            }
        }
    }
}
