//! Consistency check of translation pages in a loaded snapshot.

use wordline_flash::RequestId;
use wordline_kernel::Id;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;

use super::{Continuation, NONE, Stage, Translation};
use crate::policy::mapper::TranslationPage;

impl Translation {
    /// Checks the loaded state. Each page must be in the queue of its stage. Requests that wait for a page
    /// must be `known`.
    pub fn check_loaded(&self, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        let (tables, rows) = (self.size.tables as usize, self.turns.len());
        ensure(self.states.len() == tables && self.last_row.index() < rows, || {
            "translation pages of another device".into()
        })?;
        let mut seen = vec![false; tables];
        self.queues.iter().try_for_each(|queue| self.check_queue(*queue, &mut seen))?;
        for table in &self.staged {
            self.check_waits(*table, Stage::Staged, &mut seen)?;
        }
        let is_in = |stage: Stage| move |table: &TranslationPage| self.states[*table].stage == stage;
        let waits = |table: &TranslationPage| is_in(Stage::Queued)(table) || is_in(Stage::Staged)(table);
        ensure(self.tables().all(|table| waits(&table) == seen[table.index()]), || {
            "translation pages that are to be written wait nowhere".into()
        })?;
        let reading = self.tables().filter(is_in(Stage::Reading)).count();
        ensure(self.ahead as usize == reading + self.staged.len(), || {
            format!("{} translation pages are read or staged, {reading} of them read", self.ahead)
        })?;
        self.check_waiters(&known)?;
        if let Some(guesses) = &self.mapper.guesses {
            guesses.check_loaded(known)?;
        }
        ensure(self.owed.is_sound(tables), || "a checkpoint waits for other pages than it counts".into())?;
        self.mapper.policy.check_loaded()
    }

    fn check_queue(&self, (first, last): (u32, u32), seen: &mut [bool]) -> Result<(), String> {
        let (mut at, mut before) = (first, NONE);
        while at != NONE {
            self.check_waits(TranslationPage(at), Stage::Queued, seen)?;
            (before, at) = (at, self.states[TranslationPage(at)].next);
        }
        ensure(before == last, || "a queue of translation pages without an end".into())
    }

    /// Checks that a page with this stage is in one queue, once.
    fn check_waits(&self, table: TranslationPage, stage: Stage, seen: &mut [bool]) -> Result<(), String> {
        let is_first = ensure::is_first(seen, table.index());
        ensure(is_first && self.states[table].stage == stage, || {
            format!("translation page {} waits to be written and does not", table.0)
        })
    }

    fn check_waiters(&self, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        let mut seen = vec![false; self.waiters.all.len()];
        let mut is_first = |at: u32| ensure::is_first(&mut seen, at as usize);
        let mut holds = self.waiters.free.iter().all(|free| is_first(*free));
        for table in self.tables() {
            let mut at = self.states[table].waiters;
            while holds && at != NONE {
                holds = is_first(at) && {
                    let waiter = &self.waiters.all[at as usize];
                    at = waiter.next;
                    let is_known = match waiter.then {
                        Continuation::Read(id) => known(id),
                        Continuation::Prepare(_) | Continuation::Carry(_) => true,
                    };
                    is_known && self.table_of(waiter.page) == table
                };
            }
        }
        ensure(holds, || "something waits for translation pages that does not exist".into())
    }
}
