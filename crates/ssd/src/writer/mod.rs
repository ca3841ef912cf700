//! The writer: it brings dirty pages of the buffer to flash. It asks the router for a page's stream and the placement for its row,
//! forms program units, knows which rows accept one, and says when a row goes on cleaning.

mod balance;
mod by_block;
mod collect;
mod done;
mod form;
mod group;
mod leave;
mod lists;
mod rows;
mod tables;
pub mod units;

use std::fmt::{self, Write};

use wordline_kernel::{Column, state};
use wordline_nand::RowId;

use crate::base::Base;
use crate::config::Config;
use crate::engines::Core;
use crate::policy::placement::RowSet;
use crate::snapshot::ensure;
use crate::space::{SlcShare, Streams};
use group::Group;
use lists::Lists;
use rows::Rows;
use units::SubRequests;

/// Pages in the group of a row.
pub(crate) struct Counted {
    /// Those of the host.
    pub(crate) host: u64,
    /// Those that are written because others of their unit are.
    pub(crate) carried: u64,
    /// All of them.
    pub(crate) data: u64,
}

/// Brings dirty pages of the buffer to flash.
pub struct Writer {
    /// Complete pages that wait: a list for each stream of the host, or, where pages have homes, for each row and stream.
    ready: Lists,
    /// Reads and look-ups that entries on their way to a list wait for.
    filling: u32,
    /// Entries that are being programmed.
    programming: u32,
    /// What is programmed in each row.
    groups: Column<RowId, Group>,
    /// Which rows accept a program unit.
    rows: Rows,
    /// None in a device with a single pool.
    subs: Option<Box<SubRequests>>,
    /// Program units that wait for each row; kept up only while there is a balancer that looks at it.
    waiting: Column<RowId, u32>,
}

state!(Writer {
    values { filling, programming, groups, waiting }
    parts { ready, rows, subs }
});

impl Writer {
    /// Nothing is on its way.
    pub(crate) fn new(base: &Base) -> Self {
        let slc = &base.config.slc_shares(|pool| base.policies.slc_streams(pool));
        let (config, streams, rows) = (&base.config, base.space.streams(), base.config.pools.rows());
        let units = new_units(config, streams, slc, base.has_homes);
        let lists = Lists::new(units, streams.host.into(), base.has_homes);
        let subs = new_sub_requests(base);
        Self {
            rows: Rows::new(base, slc),
            ready: lists,
            filling: 0,
            programming: 0,
            groups: Column::filled(rows as usize, Group::default()),
            subs,
            waiting: Column::filled(rows as usize, 0),
        }
    }

    /// Whether a row has begun to accept a stream, or was lost, since pages were last moved on.
    #[inline]
    pub(crate) fn row_opened(&self) -> bool {
        self.rows.have_opened()
    }

    /// Something happened to a row: what it accepts is worked out anew.
    #[inline]
    pub(crate) fn note_row(&mut self, row: RowId, core: &Core) {
        self.rows.note(row, &core.base, &core.reclaim);
    }

    /// The same for all rows.
    pub(crate) fn note_all_rows(&mut self, core: &Core) {
        self.rows.note_all(&core.base, &core.reclaim);
    }

    /// Whether units of pages go to several pools.
    #[inline]
    pub(crate) fn has_units(&self) -> bool {
        self.subs.is_some()
    }

    /// Whether nothing is being programmed.
    #[inline]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.programming == 0
    }

    /// The rows that take a program unit of tables.
    pub(crate) fn rows_for_tables(&self) -> &RowSet {
        self.rows.of_all().last().expect("there is a stream of the host")
    }

    /// The rows that take a program unit of a stream of the host.
    pub(crate) fn rows_of(&self, stream: usize) -> &RowSet {
        self.rows.of(stream)
    }

    /// What is programmed in a row.
    pub(crate) fn group(&self, row: RowId) -> &Group {
        &self.groups[row]
    }

    /// What is on its way, in words, and what waits: at most so many lists.
    pub(crate) fn tell(&self, lists: usize, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "writer: {} pages being completed, {} being programmed",
            self.filling, self.programming
        )?;
        let held = self.ready.iter().enumerate().filter(|(_, list)| !list.pages.is_empty());
        for (n, list) in held.take(lists) {
            let (pages, urgent) = (list.pages.len(), list.urgent);
            writeln!(out, "  list {n}: {pages} complete pages wait, {urgent} of them urgent")?;
        }
        Ok(())
    }

    /// What a row takes, in words.
    pub(crate) fn tell_row(&self, row: RowId) -> String {
        format!(
            "takes streams {:b}, program under way {}",
            self.rows.accepted_of(row),
            self.rows.is_busy(row)
        )
    }

    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let Self { waiting, ready, groups, rows, .. } = self;
        let mut lengths = vec![waiting.len(), groups.len()];
        lengths.extend(ready.shape());
        lengths.extend(rows.of_all().iter().map(RowSet::words));
        lengths
    }

    /// Checks what was loaded.
    pub(crate) fn check_loaded(&self) -> Result<(), String> {
        ensure(self.ready.check_loaded(), || "lists of pages that are not what they are noted as".into())
    }

    /// Pages in the group of a row: the host's, those that are written with them, and those of tables.
    pub(crate) fn counted(&self, row: RowId) -> Counted {
        let group = &self.groups[row];
        let data = group.stamps.iter().filter(|stamp| stamp.is_data()).count() as u64;
        let host = u64::from(group.brought());
        Counted { host, carried: data - host, data }
    }

    /// Forgets what is on its way, as when the power is cut.
    pub(crate) fn forget(&mut self) {
        self.ready.forget();
        self.groups.fill(Group::default());
        if let Some(subs) = &mut self.subs {
            subs.forget();
        }
        (self.filling, self.programming) = (0, 0);
        self.rows.forget();
    }
}

/// The pages that make a program unit at least, of each list of complete pages.
fn new_units(config: &Config, streams: Streams, slc: &[Option<SlcShare>], has_homes: bool) -> Vec<u32> {
    let lists = usize::from(streams.host) as u32;
    let of_host = |row| slc[config.pools.number_of_row(row)].filter(|slc| slc.streams.host.is_some());
    let unit = |row| config.pools.per_program(row).min(of_host(row).map_or(u32::MAX, |slc| slc.unit));
    match has_homes {
        true => (0..config.pools.rows() * lists).map(|list| unit(RowId(list / lists))).collect(),
        false => vec![config.pools.all_rows().map(unit).min().unwrap_or(1); lists as usize],
    }
}

/// The sub-requests of a device with several pools.
fn new_sub_requests(base: &Base) -> Option<Box<SubRequests>> {
    let Base { config, policies, .. } = base;
    if config.pools.count() == 1 {
        return None;
    }
    let pools = (0..policies.host_streams()).map(|stream| policies.pool_of_stream(stream)).collect();
    Some(Box::new(SubRequests::new(config, pools)))
}
