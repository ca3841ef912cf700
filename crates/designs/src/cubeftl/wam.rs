//! WAM, the word-line allocation manager: chooses the next word line of an open block, by the occupancy of
//! the write buffer (cubeFTL, section 5.2 and figure 16).
//!
//! A free word line is a follower if its layer has parameters from a leader. Otherwise it is the next leader
//! of its layer. So a layer whose parameters were dropped, by a rejected follower or a power cut, gets
//! another leader.

use wordline_ftl::policy::frontier::{OpenBlock, WordLines};

use super::config::Order;

/// The word lines of an open block, and the layers of it that have a leader.
pub struct Choice<'a> {
    shape: WordLines,
    programmed: &'a [u64],
    /// A bit for each layer. Layers beyond the last bit have no leader.
    led: &'a [u64],
}

impl<'a> Choice<'a> {
    /// The choice among the word lines of `open`. `led`: bitmap of the layers that have a leader.
    pub fn of(open: &OpenBlock<'a>, led: &'a [u64]) -> Self {
        Self { shape: open.shape, programmed: open.programmed, led }
    }

    /// Bitmap of the free word lines among the 64 from `first` on. Word lines beyond the end of the block are
    /// not free.
    fn free_from(&self, first: u32) -> u64 {
        let word = |at: usize| self.programmed.get(at).map_or(0, |programmed| !programmed);
        let (at, shift) = (first as usize / 64, first % 64);
        let next = if shift == 0 { 0 } else { word(at + 1) << (64 - shift) };
        let left = self.shape.count().saturating_sub(first);
        let mask = if left < 64 { (1 << left) - 1 } else { u64::MAX };
        (word(at) >> shift | next) & mask
    }

    /// The first free word line in a range.
    fn first_free(&self, mut of: std::ops::Range<u32>) -> Option<u32> {
        while of.start < of.end {
            let free = self.free_from(of.start);
            if free != 0 {
                let found = of.start + free.trailing_zeros();
                return (found < of.end).then_some(found);
            }
            of.start += 64;
        }
        None
    }

    /// The first free word line of a layer.
    pub fn free_of(&self, layer: u32) -> Option<u32> {
        let first = layer * self.shape.per_layer;
        self.first_free(first..first + self.shape.per_layer)
    }

    fn first_where(&self, led: bool) -> Option<u32> {
        let WordLines { layers, per_layer } = self.shape;
        let mut layer = self.first_free(0..self.shape.count())? / per_layer;
        while layer < layers {
            let word = self.led.get(layer as usize / 64).copied().unwrap_or(0);
            let wanted = (if led { word } else { !word }) >> (layer % 64);
            if wanted == 0 {
                layer = (layer / 64 + 1) * 64;
                continue;
            }
            layer += wanted.trailing_zeros();
            if layer < layers
                && let Some(free) = self.free_of(layer)
            {
                return Some(free);
            }
            layer += 1;
        }
        None
    }

    /// The next leader: the word line that the paper calls `iLeader`.
    pub fn leader(&self) -> Option<u32> {
        self.first_where(false)
    }

    /// The next follower: the word line that the paper calls `iFollower`. Its layer is always below the layer
    /// of `iLeader`.
    pub fn follower(&self) -> Option<u32> {
        self.first_where(true)
    }

    /// The next word line in an order. `is_full`: whether the write buffer is full.
    pub fn next(&self, order: Order, is_full: bool) -> Option<u32> {
        match order {
            Order::Adaptive if is_full => self.follower().or_else(|| self.leader()),
            Order::Adaptive => self.leader().or_else(|| self.follower()),
            Order::Horizontal => self.first_free(0..self.shape.count()),
            Order::Vertical => {
                let WordLines { layers, per_layer } = self.shape;
                let mut in_turn = (0..self.shape.count()).map(|n| n % layers * per_layer + n / layers);
                in_turn.find(|word_line| self.free_from(*word_line) & 1 != 0)
            }
        }
    }
}
