//! Frontier policies: which word line of an open block is programmed next.
//!
//! Word lines are numbered in the order of their pages: all word lines of a horizontal layer, then those of
//! the next layer. The first word line of each layer is its leader.

mod in_order;
mod mixed;
mod vertical;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_nand::{BlockSetId, Geometry, Part};

use super::name_of;

pub use in_order::InOrder;
pub use mixed::Mixed;
pub use vertical::Vertical;

/// An open block, as a frontier policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct OpenBlock<'a> {
    /// Number of the block.
    pub block: BlockSetId,
    /// Whether GC writes the block.
    pub is_gc: bool,
    /// Number of word lines that are programmed or being programmed. Fewer than all, except in a block in
    /// which only reprograms are left.
    pub written: u32,
    /// Word lines of the block.
    pub shape: WordLines,
    /// Bitmap of the word lines that are programmed or being programmed.
    pub programmed: &'a [u64],
    /// Word lines that can be reprogrammed now.
    pub again: Reprogram<'a>,
}

/// Word lines of an open block that can be reprogrammed now: they are in MLC mode, and one of their pages is
/// invalid.
#[derive(Clone, Copy, Debug)]
pub struct Reprogram<'a> {
    /// Their numbers, all in the super layer that the block programs now or programmed last.
    pub word_lines: &'a [u32],
    /// Word lines of a super layer.
    pub per_super_layer: u32,
}

impl Reprogram<'_> {
    /// No word lines.
    pub const NONE: Self = Self { word_lines: &[], per_super_layer: 1 };
}

impl OpenBlock<'_> {
    /// Whether a word line is programmed, or being programmed.
    pub fn is_programmed(&self, word_line: u32) -> bool {
        self.programmed[word_line as usize / 64] >> (word_line % 64) & 1 != 0
    }

    /// Whether a word line can be reprogrammed now.
    pub fn can_reprogram(&self, word_line: u32) -> bool {
        self.again.word_lines.contains(&word_line)
    }

    /// Word line that must be reprogrammed now. There is one when its super layer is completely programmed: a
    /// program in the next super layer would rule out the reprogram.
    pub fn due_reprogram(&self) -> Option<u32> {
        let first = *self.again.word_lines.first()?;
        let per = self.again.per_super_layer;
        let begin = first / per * per;
        let is_done = (begin..(begin + per).min(self.shape.count())).all(|line| self.is_programmed(line));
        is_done.then_some(first)
    }

    /// Next word line: the [due](Self::due_reprogram) one if there is one, otherwise the first unprogrammed
    /// one.
    pub fn next_word_line(&self) -> u32 {
        self.due_reprogram().unwrap_or_else(|| self.first_unprogrammed())
    }

    /// Unprogrammed word line with the lowest number.
    pub fn first_unprogrammed(&self) -> u32 {
        (0..self.shape.count()).find(|word_line| !self.is_programmed(*word_line)).unwrap_or(0)
    }
}

/// Arrangement of the word lines of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLines {
    /// Horizontal layers.
    pub layers: u32,
    /// Word lines of each layer.
    pub per_layer: u32,
}

impl WordLines {
    /// Arrangement of the word lines in the blocks of a part.
    pub fn of(part: &Part, geometry: &Geometry) -> Self {
        let count = geometry.pages_per_block / geometry.bits_per_cell();
        let layers = part.geometry.layers;
        Self { layers, per_layer: count / layers }
    }

    /// Number of word lines.
    pub fn count(&self) -> u32 {
        self.layers * self.per_layer
    }
}

/// Selects the word line of an open block that is programmed next.
pub trait Frontier: State + Send {
    /// Whether word lines are programmed in numerical order. If so, `next` is not called.
    fn is_in_order(&self) -> bool {
        false
    }

    /// Selects an unprogrammed word line.
    fn next(&mut self, open: &OpenBlock<'_>) -> u32;
}

/// Built-in frontier policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FrontierKind {
    /// By number. On a 3D part: all word lines of a layer, layer by layer (horizontal first).
    #[serde(alias = "horizontal")]
    InOrder {},
    /// The first word line of every layer, then the second word line of every layer, and so on. Needs a 3D
    /// part.
    Vertical {},
    /// The leaders of some layers, then the other word lines of these layers, then the next layers. Needs a
    /// 3D part.
    Mixed {
        /// Layers whose leaders are programmed ahead. Default: all layers of the block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layers: Option<u32>,
    },
}

impl Default for FrontierKind {
    fn default() -> Self {
        Self::InOrder {}
    }
}

impl FrontierKind {
    /// Whether word lines are programmed in numerical order.
    pub fn is_in_order(&self) -> bool {
        *self == (Self::InOrder {})
    }

    /// Key with an invalid value for these chips, the value, and the allowed values, if any.
    pub fn complaint(&self, part: &Part, geometry: &Geometry) -> Option<(&'static str, String, String)> {
        if self.is_in_order() {
            return None;
        }
        let shape = WordLines::of(part, geometry);
        let (layers, bits) = (shape.layers, geometry.bits_per_cell());
        if layers == 1 || shape.count() * bits != geometry.pages_per_block {
            let found = format!("{layers} layers and {} pages a block", geometry.pages_per_block);
            return Some((
                "policy",
                found,
                "in-order, or a 3D part with as many word lines in each layer".into(),
            ));
        }
        if bits > 1 && !part.geometry.one_shot {
            let wanted = "in-order: the part programs the pages of a word line one by one, in an order that its data \
                          sheet fixes";
            return Some(("policy", name_of(self), wanted.into()));
        }
        match self {
            Self::Mixed { layers: Some(ahead) } if !(1..=layers).contains(ahead) => {
                Some(("layers", ahead.to_string(), format!("from 1 to the part's {layers}")))
            }
            _ => None,
        }
    }

    /// Builds the policy.
    pub fn build(&self) -> Box<dyn Frontier> {
        match *self {
            Self::InOrder {} => Box::new(InOrder),
            Self::Vertical {} => Box::new(Vertical),
            Self::Mixed { layers } => Box::new(Mixed { layers: layers.unwrap_or(u32::MAX) }),
        }
    }
}
