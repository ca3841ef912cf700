//! What the host writes into the SLC cache: which rows take it there, and in which units.

use wordline_kernel::state;

use crate::base::Base;
use crate::config::Config;
use crate::engines::Core;
use crate::policy::placement::{Row, RowSet};
use crate::space::{SlcShare, StreamId};
use crate::writer::Writer;

/// The stream of the host that goes to blocks in SLC mode.
#[derive(Clone, Debug)]
pub(crate) struct SlcRows {
    /// Its number.
    pub stream: usize,
    /// Slots of a program in SLC mode.
    pub unit: u32,
    /// Rows that take such a program now.
    pub rows: RowSet,
}

state!(SlcRows { values { rows } fixed { stream, unit } });

impl SlcRows {
    pub fn new(share: &SlcShare, config: &Config) -> Self {
        Self { stream: usize::from(share.stream.0), unit: share.unit, rows: RowSet::new(config.pools.rows()) }
    }

    /// Whether a list's pages go to a row that caches them.
    #[inline]
    pub fn caches(&self, list: usize) -> bool {
        self.stream == list && !self.rows.is_empty()
    }
}

impl Writer {
    /// Complete pages that make a program unit of a list, where rows cache it or where they do not.
    #[inline]
    pub(super) fn unit_of(&self, list: usize, core: &Core) -> u32 {
        match &self.slc {
            Some(slc) if slc.caches(list) => slc.unit,
            _ => core.base.config.pools.get(super::units::pool_of(&self.subs, list)).slots.per_program,
        }
    }

    /// The row for the next program unit of a list: one that caches it is preferred.
    #[inline]
    pub(super) fn next_row_of(&mut self, list: usize, core: &mut Core) -> Row {
        let Base { policies, .. } = &mut core.base;
        let Self { slc, accepting, .. } = self;
        let rows = match slc {
            Some(slc) if slc.caches(list) => &slc.rows,
            _ => &accepting[list],
        };
        let row = policies.placement.next(rows).expect("a row accepts");
        assert!(rows.contains(row), "the placement chose row {row}, which is busy or full");
        row
    }

    /// Whether a row takes larger program units of a list than it did when it was last looked at.
    #[inline]
    pub(super) fn is_outgrown(&mut self, row: Row, list: usize, unit: u32, core: &mut Core) -> bool {
        let outgrown = self.slc.is_some() && core.base.space.unit(row, StreamId(list as u8)) > unit;
        if outgrown {
            self.note_row(row, core);
        }
        outgrown
    }
}
