//! The wear and retention condition of cells, and the effects that are enabled.

/// Boltzmann's constant, in electron volts a kelvin (CODATA 2018).
const BOLTZMANN: f64 = 8.617_333_262e-5;

/// Kelvin at 0 degrees Celsius.
pub const ZERO_CELSIUS: f64 = 273.15;

/// The condition of the cells of a word line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// P/E cycles of the block.
    pub cycles: f64,
    /// Retention time in hours: a condition, not the simulated clock.
    pub hours: f64,
    /// The retention temperature, in degrees Celsius.
    pub celsius: f64,
    /// Reads of the block since the program.
    pub reads: f64,
    /// Reprogram passes of each neighbour after these cells were programmed.
    pub again: f64,
    /// Number of cells above in the string that had more reprogram passes, summed over all reprograms of
    /// these cells. 0 if word lines are reprogrammed in order from the source line up.
    pub ahead: f64,
}

impl Condition {
    /// New cells directly after their program, at 30 degrees (the temperature of JESD218 client drives and of
    /// cubeFTL's figure 14).
    pub const FRESH: Self =
        Self { cycles: 0.0, hours: 0.0, celsius: 30.0, reads: 0.0, again: 0.0, ahead: 0.0 };
}

/// The effects that shift threshold voltages. Each can be disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// P/E cycles.
    Cycles,
    /// Time and temperature since the program.
    Retention,
    /// Reads of other pages of the block.
    Disturb,
    /// Programs of neighbours.
    Interference,
    /// The background pattern: the data of the other cells of the string while a cell is programmed.
    Background,
    /// The programming speed of a word line.
    WordLine,
    /// The horizontal layer.
    Layer,
    /// The block.
    Block,
    /// The chip.
    Chip,
}

impl Effect {
    /// All effects.
    pub const ALL: [Self; 9] = [
        Self::Cycles,
        Self::Retention,
        Self::Disturb,
        Self::Interference,
        Self::Background,
        Self::WordLine,
        Self::Layer,
        Self::Block,
        Self::Chip,
    ];

    /// The name of the effect on the command line, as in `without`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Retention => "retention",
            Self::Disturb => "disturb",
            Self::Interference => "interference",
            Self::Background => "background",
            Self::WordLine => "word-line",
            Self::Layer => "layer",
            Self::Block => "block",
            Self::Chip => "chip",
        }
    }
}

/// The set of enabled effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects(u16);

impl Effects {
    /// All effects.
    pub const ALL: Self = Self((1 << Effect::ALL.len()) - 1);
    /// No effect.
    pub const NONE: Self = Self(0);

    /// The set without `effect`.
    #[must_use]
    pub fn without(self, effect: Effect) -> Self {
        Self(self.0 & !(1 << effect as u16))
    }

    /// Whether `effect` is enabled.
    pub fn has(self, effect: Effect) -> bool {
        self.0 >> effect as u16 & 1 == 1
    }
}

/// The Arrhenius acceleration factor at `celsius` relative to `reference`, for an activation energy in
/// electron volts.
pub fn acceleration(energy: f64, celsius: f64, reference: f64) -> f64 {
    let (hot, cold) = (celsius + ZERO_CELSIUS, reference + ZERO_CELSIUS);
    libm::exp(energy / BOLTZMANN * (1.0 / cold - 1.0 / hot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acceleration_is_that_of_the_bake_tables() {
        // JESD218: 500 h at 52 degrees and 96 h at 66 are a year at 30 degrees, to 5 %, for 1.1 eV.
        for (celsius, hours) in [(52.0, 500.0), (66.0, 96.0)] {
            assert!((acceleration(1.1, celsius, 30.0) * hours / 8_760.0 - 1.0).abs() < 0.05, "{celsius}");
        }
        // ReSSD, section 3.3.3: three hours at 120 degrees are a year at 40, for 1.058 eV.
        assert!((acceleration(1.058, 120.0, 40.0) * 3.0 / 8_760.0 - 1.0).abs() < 0.01);
        assert!((acceleration(1.1, 120.0, 40.0) * 3.0 / 8_760.0 - 1.37).abs() < 0.01);
    }

    #[test]
    fn each_effect_is_left_out_by_itself() {
        for effect in Effect::ALL {
            let others = Effects::ALL.without(effect);
            assert!(Effect::ALL.iter().all(|other| others.has(*other) == (*other != effect)), "{effect:?}");
        }
    }
}
