//! Limits of a part for the parameters of a command.

use wordline_kernel::Duration;

use super::set::{Base, CellSet};
use crate::parameters::Parameters;
use crate::{CellMode, Part};

/// The value found, and the range allowed.
type OutOfRange = (String, String);

impl Part {
    /// The first of `parameters` that the part does not support, with the range that it supports. Parameters
    /// of states that the cells do not have are rejected. The other parameters are checked only for parts
    /// with a cell model.
    pub fn beyond(&self, parameters: &Parameters) -> Option<OutOfRange> {
        let programmed = (1usize << self.geometry.bits_per_cell) - 1;
        let skips = &parameters.skipped_verifies;
        if let Some((state, skips)) = first_set(&skips[programmed..]) {
            let found = format!("{skips} skipped verifies of P{}", programmed + state + 1);
            return Some((found, format!("states from P1 to P{programmed}")));
        }
        if let Some((level, steps)) = first_set(&parameters.read_offsets[programmed..]) {
            let found = format!("read level {} moved by {steps}", programmed + level + 1);
            return Some((found, format!("levels from 1 to {programmed}")));
        }
        self.aged_cells().and_then(|cells| cells.set.beyond(parameters))
    }

    /// Checks an erase time for a block in `mode`. Returns the part that is not supported, and what is.
    pub fn beyond_erase(&self, mode: CellMode, time: Duration) -> Option<OutOfRange> {
        let most = self.erase_time(mode);
        let allowed = || format!("a time above 0 up to {most}, the time of the part");
        (time == Duration::ZERO || time > most).then(|| (format!("an erase of {time}"), allowed()))
    }
}

/// The first number that is not 0, with its index.
fn first_set<T: Copy + Default + PartialEq>(all: &[T]) -> Option<(usize, T)> {
    all.iter().copied().enumerate().find(|(_, value)| *value != T::default())
}

impl CellSet {
    fn beyond(&self, parameters: &Parameters) -> Option<OutOfRange> {
        self.unsupported_program(parameters).or_else(|| self.unsupported_read_offset(parameters))
    }

    /// Reports a state whose cells would all pass before they are verified, or an empty window.
    fn unsupported_program(&self, parameters: &Parameters) -> Option<OutOfRange> {
        let ispp = self.ispp.as_ref()?;
        let Parameters { start_margin, final_margin, skipped_verifies, .. } = parameters;
        let margins = f64::from(*start_margin) + f64::from(*final_margin);
        if margins >= ispp.window {
            let found = format!("margins of {start_margin} and {final_margin} mV");
            return Some((found, format!("less than the window of {} mV together", ispp.window)));
        }
        let mut states = ispp.loops.iter().zip(skipped_verifies).enumerate();
        let (state, (loops, skips)) = states.find(|(_, (loops, skips))| u32::from(**skips) >= loops.last)?;
        let found = format!("{skips} skipped verifies of P{}", state + 1);
        Some((found, format!("from 0 to {}: its last cells pass in loop {}", loops.last - 1, loops.last)))
    }

    /// Reports a read reference voltage that would lie outside its two states.
    fn unsupported_read_offset(&self, parameters: &Parameters) -> Option<OutOfRange> {
        let step = self.reading.as_ref()?.level_step;
        let states = match &self.base {
            Base::Programmed(states) => states,
            Base::Measured(ages) => &ages.states[0],
        };
        let between = self.references.iter().zip(states.windows(2)).zip(&parameters.read_offsets);
        let range = |(reference, pair): (&f64, &[super::Level])| {
            [(pair[0].mean - reference) / step, (pair[1].mean - reference) / step]
        };
        let beyond = |(_, (place, steps)): &(usize, ((&f64, &[super::Level]), &i8))| {
            let [least, most] = range(*place);
            !(least..=most).contains(&f64::from(**steps))
        };
        let (level, (place, steps)) = between.enumerate().find(beyond)?;
        let [least, most] = range(place);
        let found = format!("read level {} moved by {steps} steps", level + 1);
        Some((found, format!("from {} to {}: between its states", least.ceil(), most.floor())))
    }
}
