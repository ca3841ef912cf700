//! Translation pages that a checkpoint waits for: those that were not in flash as they were in memory when it began.

use super::{NONE, QUEUE, Stage, Translation};
use crate::policy::mapper::TranslationPage;

impl Translation {
    /// A checkpoint begins: all pages of which something changed, or that were `missed` by a fault, are to be written as they are now,
    /// or later.
    pub fn begin_checkpoint(&mut self, missed: impl Fn(&Self, TranslationPage) -> bool) {
        self.release();
        for table in self.tables() {
            if self.mapper.has_changed(table) || missed(self, table) {
                self.change(table, QUEUE);
            }
            let state = &mut self.states[table];
            state.owed = match state.stage {
                Stage::AtRest => 0,
                // What changed since its program began is for the next one.
                Stage::Programming => 1 + u8::from(state.again),
                Stage::Queued | Stage::Reading | Stage::Staged => 1,
            };
            self.owing += u32::from(state.owed > 0);
        }
    }

    /// Whether a checkpoint waits for pages.
    pub fn owes(&self) -> bool {
        self.owing > 0
    }

    /// No checkpoint waits for pages any more.
    pub fn forgive(&mut self) {
        self.states.iter_mut().for_each(|state| state.owed = 0);
        self.owing = 0;
    }

    /// A page was programmed; whether a checkpoint waits for another program of it.
    pub(super) fn pay(&mut self, table: TranslationPage) -> bool {
        let owed = &mut self.states[table].owed;
        if *owed == 0 {
            return false;
        }
        *owed -= 1;
        self.owing -= u32::from(*owed == 0);
        *owed > 0
    }

    /// Whether pages that a checkpoint waits for are written in a unit that is not full: no others come.
    pub(super) fn pads(&self) -> bool {
        let all_are_staged = self.queues[QUEUE].0 == NONE && self.ahead as usize == self.staged.len();
        all_are_staged && self.staged.iter().any(|table| self.states[*table].owed > 0)
    }
}
