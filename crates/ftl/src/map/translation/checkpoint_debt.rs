//! Translation pages that a checkpoint waits for, because they differed from memory when it began.

use serde::{Deserialize, Serialize};
use wordline_kernel::Column;

use super::{NONE, QUEUE, Stage, Translation};
use crate::policy::mapper::TranslationPage;

/// Programs for which a checkpoint waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckpointDebt {
    /// Number of programs of each translation page for which the checkpoint waits.
    programs: Column<TranslationPage, u8>,
    /// Number of pages for which the checkpoint waits.
    pages: u32,
}

impl CheckpointDebt {
    /// No programs, for `tables` translation pages.
    pub fn new(tables: u32) -> Self {
        Self { programs: Column::filled(tables as usize, 0), pages: 0 }
    }

    /// Clears all counts, because no checkpoint waits any more.
    pub fn forget(&mut self) {
        self.programs.fill(0);
        self.pages = 0;
    }

    fn set(&mut self, table: TranslationPage, programs: u8) {
        self.programs[table] = programs;
        self.pages += u32::from(programs > 0);
    }

    /// Whether the loaded counts are consistent, for a device with this many translation pages.
    pub fn is_sound(&self, tables: usize) -> bool {
        let waited = self.programs.iter().filter(|programs| **programs > 0).count();
        self.programs.len() == tables && self.pages as usize == waited
    }

    /// Whether a checkpoint waits for pages.
    pub fn any(&self) -> bool {
        self.pages > 0
    }

    /// Records a program of a page. Returns whether the checkpoint waits for another program of it.
    pub fn note_program(&mut self, table: TranslationPage) -> bool {
        let programs = &mut self.programs[table];
        if *programs == 0 {
            return false;
        }
        *programs -= 1;
        self.pages -= u32::from(*programs == 0);
        *programs > 0
    }

    /// Lets the checkpoint wait for at most one more program of a page.
    pub fn limit_to_one(&mut self, table: TranslationPage) {
        self.programs[table] = self.programs[table].min(1);
    }
}

impl Translation {
    /// Begins a checkpoint, which waits until all changed pages are written with their current contents or
    /// later ones.
    pub fn begin_checkpoint(&mut self) {
        self.release();
        for table in self.tables() {
            if self.mapper.policy.has_changed(table) {
                self.change(table, QUEUE);
            }
            let state = &self.states[table];
            let programs = match state.stage {
                Stage::Idle => 0,
                // Changes made since the program began need another program.
                Stage::Programming => 1 + u8::from(state.again),
                Stage::Queued | Stage::Reading | Stage::Staged => 1,
            };
            self.owed.set(table, programs);
        }
    }

    /// Whether a checkpoint waits for pages.
    pub fn has_checkpoint_pages(&self) -> bool {
        self.owed.any()
    }

    /// Stops waiting for pages, because the checkpoint was abandoned.
    pub fn cancel_checkpoint_wait(&mut self) {
        self.owed.forget();
    }

    /// Whether the pages for which a checkpoint waits are written in a partial unit, because no other pages
    /// will come.
    pub(super) fn can_pad(&self) -> bool {
        let all_are_staged = self.queues[QUEUE].0 == NONE && self.ahead as usize == self.staged.len();
        all_are_staged && self.staged.iter().any(|table| self.owed.programs[*table] > 0)
    }
}
