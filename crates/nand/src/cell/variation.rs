//! The variation from layer to layer, block to block and chip to chip (cubeFTL, section 3).
//!
//! Word lines of one layer are equal. Layers differ by their position in the channel hole, and the paper
//! names four of them. The contrast between the layers is drawn for each block, the ageing rate for each
//! chip. Each draw has its own named stream, so that block 17 of die 3 is the same in every run.

use wordline_kernel::{Seed, Streams};

use super::condition::{Effect, Effects};
use super::math::normal;

/// A layer with a name in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The top edge of a block.
    Alpha,
    /// The best layer.
    Beta,
    /// The worst layer.
    Kappa,
    /// The bottom edge.
    Omega,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Alpha, Self::Beta, Self::Kappa, Self::Omega];

    /// Name in the paper.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Kappa => "kappa",
            Self::Omega => "omega",
        }
    }
}

/// A layer with known properties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// Name of the layer in the paper.
    pub role: Role,
    /// Number of the layer, from the top.
    pub layer: u32,
    /// The deviation of new cells, relative to the best layer.
    pub width: f64,
    /// A factor on the effects of cycles and time, 1 for the best layer.
    pub stress: f64,
}

/// The variation of cells by layer, block and chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// Horizontal layers of a block.
    pub layers: u32,
    /// Word lines of a layer.
    pub word_lines: u32,
    /// Known layers, from the top. The layers between them are interpolated linearly.
    pub anchors: Vec<Anchor>,
    /// The deviation of the logarithm of the contrast between the layers of a block.
    pub block: f64,
    /// The deviation of the logarithm of the ageing rate of a chip.
    pub chip: f64,
    /// The deviation of the logarithm of the distribution width of new cells between the word lines of a
    /// layer; 0 if they are equal.
    pub line: f64,
}

/// The location of a word line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellLocation {
    /// The chip.
    pub chip: u32,
    /// The block in it.
    pub block: u32,
    /// The horizontal layer, from the top.
    pub layer: u32,
}

/// The properties of the cells of a location.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellProperties {
    /// The deviation of new cells, relative to the set.
    pub width: f64,
    /// A factor on the effects of cycles and time in the set.
    pub stress: f64,
    /// Lead of the cells over the cells of the slowest word line in passing their verify: a fraction of a
    /// loop, from 0 to below 1.
    pub faster: f64,
}

impl CellLocation {
    /// A number for the block.
    fn of_block(self) -> u64 {
        u64::from(self.chip) << 32 | u64::from(self.block)
    }
}

/// The random draws of a block and its chip, in deviations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draws {
    /// The contrast between the layers of the block.
    pub block: f64,
    /// The ageing rate of the chip.
    pub chip: f64,
}

impl CellProperties {
    /// The cells of the set without variation.
    pub const USUAL: Self = Self { width: 1.0, stress: 1.0, faster: 0.0 };
}

impl Variation {
    /// The properties of the cells of `place`, with the enabled effects of layer, block, chip and word line.
    pub fn strength(&self, place: CellLocation, effects: Effects, seed: Seed) -> CellProperties {
        let faster =
            if effects.has(Effect::WordLine) { Self::faster(place, Self::speeds(seed)) } else { 0.0 };
        CellProperties { faster, ..self.of_draws(place.layer, Self::draws(place, seed), effects) }
    }

    /// The draws of a block and of its chip, normally distributed.
    pub fn draws(place: CellLocation, seed: Seed) -> Draws {
        let drawn = |name: &str, index: u64| normal(&mut seed.stream(name, index));
        Draws {
            block: drawn("cells.block", place.of_block()),
            chip: drawn("cells.chip", u64::from(place.chip)),
        }
    }

    /// The distribution width of new cells of word line `line`, relative to its layer.
    pub fn line_width(&self, place: CellLocation, line: u32, seed: Seed) -> f64 {
        if self.line == 0.0 {
            return 1.0;
        }
        let index = place.of_block() << 16 | u64::from(place.layer & 0xFF) << 8 | u64::from(line & 0xFF);
        libm::exp(self.line * normal(&mut seed.stream("cells.line", index)))
    }

    /// The streams of [`faster`](Self::faster).
    pub fn speeds(seed: Seed) -> Streams {
        seed.streams("cells.speed")
    }

    /// The programming speed of a layer relative to the slowest, as a fraction of a loop.
    #[inline]
    pub fn faster(place: CellLocation, speeds: Streams) -> f64 {
        speeds.stream(place.of_block() << 8 | u64::from(place.layer & 0xFF)).unit()
    }

    /// The properties of the cells of a layer in a block with these draws, at the slow end of a loop.
    pub fn of_draws(&self, layer: u32, draws: Draws, effects: Effects) -> CellProperties {
        let (width, stress) = self.between(layer, effects);
        let scale = |deviation: f64, z: f64, effect: Effect| {
            if effects.has(effect) { libm::exp(deviation * z) } else { 1.0 }
        };
        let contrast = scale(self.block, draws.block, Effect::Block);
        let ageing = scale(self.chip, draws.chip, Effect::Chip);
        CellProperties {
            width: 1.0 + (width - 1.0) * contrast,
            stress: (1.0 + (stress - 1.0) * contrast) * ageing,
            faster: 0.0,
        }
    }

    /// Width and stress of a layer, interpolated between the known layers around it.
    fn between(&self, layer: u32, effects: Effects) -> (f64, f64) {
        if !effects.has(Effect::Layer) {
            return (1.0, 1.0);
        }
        let after = self.anchors.iter().position(|anchor| anchor.layer >= layer);
        let after = after.unwrap_or(self.anchors.len() - 1);
        let (to, from) = (self.anchors[after], self.anchors[after.saturating_sub(1)]);
        let share = if to.layer > from.layer {
            f64::from(layer.min(to.layer) - from.layer) / f64::from(to.layer - from.layer)
        } else {
            1.0
        };
        let blend = |a: f64, b: f64| a + share * (b - a);
        (blend(from.width, to.width), blend(from.stress, to.stress))
    }

    /// The layer of a role, if one is known.
    pub fn layer_of(&self, role: Role) -> Option<u32> {
        self.anchors.iter().find(|anchor| anchor.role == role).map(|anchor| anchor.layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variation() -> Variation {
        let anchor = |role, layer, width, stress| Anchor { role, layer, width, stress };
        Variation {
            layers: 48,
            word_lines: 4,
            anchors: vec![
                anchor(Role::Alpha, 0, 1.1, 1.2),
                anchor(Role::Beta, 16, 1.0, 1.0),
                anchor(Role::Kappa, 32, 1.2, 1.4),
                anchor(Role::Omega, 47, 1.1, 1.2),
            ],
            block: 0.1,
            chip: 0.05,
            line: 0.0,
        }
    }

    #[test]
    fn a_block_is_the_same_whoever_asks_first() {
        let (variation, seed) = (variation(), Seed(9));
        let place = CellLocation { chip: 3, block: 17, layer: 5 };
        let first = variation.strength(place, Effects::ALL, seed);
        let _ = variation.strength(CellLocation { chip: 1, ..place }, Effects::ALL, seed);
        assert_eq!(variation.strength(place, Effects::ALL, seed), first);
        assert_ne!(variation.strength(CellLocation { block: 18, ..place }, Effects::ALL, seed), first);
    }

    #[test]
    fn layers_lie_between_those_that_are_known() {
        let variation = variation();
        let only_layers = Effects::ALL.without(Effect::Block).without(Effect::Chip);
        let at = |layer| {
            variation.strength(CellLocation { layer, ..CellLocation::default() }, only_layers, Seed(1))
        };
        assert_eq!((at(0).width, at(16).width, at(32).width), (1.1, 1.0, 1.2));
        assert!((at(24).stress - 1.2).abs() < 1e-12);
        assert_eq!(
            variation.strength(CellLocation { layer: 32, ..CellLocation::default() }, Effects::NONE, Seed(1)),
            CellProperties::USUAL
        );
    }
}
