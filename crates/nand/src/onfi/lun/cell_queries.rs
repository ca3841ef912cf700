//! Calls of the cell model by a LUN: array times and outcomes.

use wordline_kernel::{Duration, Instant};

use super::Lun;
use crate::onfi::{CellMode, Limit, Row};
use crate::{Outcome, Parameters, Physics, Stage};

impl Lun {
    /// Uses `physics` as the cell model for array times and outcomes from now on.
    pub fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.cells.asks.get_or_insert_default().asked.set_physics(physics);
    }

    /// Stores `parameters` as set `number`, from 1 on, for operations that begin from now on.
    pub fn set_parameters(&mut self, number: u16, parameters: Parameters) {
        assert!(number > 0, "set 0 is that of the data sheet");
        self.cells.asks.get_or_insert_default().asked.set(number, parameters);
    }

    /// Selects the parameter set of the next operations.
    ///
    /// # Errors
    /// There is no such parameter set.
    pub fn select_parameters(&mut self, number: u16) -> Result<(), Limit> {
        match &mut self.cells.asks {
            None if number == 0 => {}
            Some(asks) if asks.asked.parameters(number).is_some() => asks.set = number,
            _ => return Err(Limit::Unsupported { what: "a parameter set that was not stored" }),
        }
        Ok(())
    }

    /// The outcome of the last array operation, if its parameters requested one. The outcome is known once
    /// the operation has begun.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.cells.asks.as_ref()?.outcome.as_ref()
    }

    /// The array time for these rows from `begin` on.
    pub(super) fn query(
        &mut self,
        stage: Stage,
        rows: &[Row],
        data_sheet: Duration,
        begin: Instant,
    ) -> Duration {
        let (mode, row) = (self.mode, rows.first().copied().unwrap_or_default());
        let line = self.cells.program_unit(row.page, mode);
        let again = if mode == CellMode::Mlc { self.contents.reprograms(row.block, line) as u8 } else { 0 };
        let mode = if stage == Stage::Ton && again > 0 { CellMode::Reprogrammed(again) } else { mode };
        self.cells.query(stage, mode, rows, data_sheet, begin)
    }

    /// The array time of a reprogram of word lines.
    pub(super) fn query_reprogram(&mut self, rows: &[Row], data_sheet: Duration, begin: Instant) -> Duration {
        let row = rows.first().copied().unwrap_or_default();
        let line = self.cells.program_unit(row.page, self.mode);
        let mode = CellMode::Reprogrammed(self.contents.reprograms(row.block, line) as u8 + 1);
        self.cells.query(Stage::Tin, mode, rows, data_sheet, begin)
    }
}
