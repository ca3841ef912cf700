//! Events of the Linux block layer, from whatever source: which of them is the request, and when it was answered.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::Op;
use super::super::input::Bad;
use super::super::options::Action;
use super::super::row::{Found, Row};
use crate::{Error, error::Result};

/// An event that has to do with a request's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) row: Row,
    pub(super) kind: Action,
    /// The device's cache is flushed before the request.
    pub(super) preflush: bool,
}

impl Event {
    /// An event without flush or forced unit access. The end of its range is checked.
    pub(super) fn new(
        time: i128,
        kind: Action,
        device: u32,
        op: Op,
        offset: u64,
        size: u64,
    ) -> std::result::Result<Self, Bad> {
        Ok(Self { row: Row::new(time, op, device, offset, size)?, kind, preflush: false })
    }

    /// The same on a processor, where its number is one.
    pub(super) fn on(mut self, cpu: Option<u16>) -> Self {
        self.row.cpu = cpu;
        self
    }

    /// A write without data is the flush that comes before it; other events without data are none of a request.
    fn is_of_a_request(&self) -> bool {
        self.row.size > 0 || self.preflush
    }
}

/// The events of a trace.
#[derive(Default)]
pub(super) struct Events(Vec<Event>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        self.0.push(event);
    }

    /// The requests: one for each event of kind `action`, or of the first kind in Q, D, C that the trace has. A
    /// request with a flush before it becomes two.
    pub(super) fn requests(mut self, path: &Path, action: Option<Action>) -> Result<Found> {
        let has = |kind| self.0.iter().any(|event| event.kind == kind && event.is_of_a_request());
        let present: Vec<Action> =
            [Action::Queue, Action::Issue, Action::Complete].into_iter().filter(|kind| has(*kind)).collect();
        let first = present.first().copied().ok_or_else(|| Error::Content {
            path: path.into(),
            found: "no request in it".into(),
            wanted: "at least one queue (Q), issue (D) or complete (C) event".into(),
        })?;
        let taken = action.unwrap_or(first);
        if !present.contains(&taken) {
            return Err(Error::Content {
                path: path.into(),
                found: format!(
                    "events {} only",
                    present.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
                ),
                wanted: format!("the events {} that option action asks for", taken.name()),
            });
        }
        // Stable: events of one time stamp stay in the order of the file.
        self.0.sort_by_key(|event| event.row.time);
        let mut found = Found::default();
        let mut open = Open::default();
        for event in self.0 {
            if event.kind == taken && event.is_of_a_request() {
                take(event, &mut found, &mut open);
            } else if event.kind == Action::Complete {
                open.answer(&event.row, &mut found.rows);
            }
        }
        found.notes.push(format!("times are those of {} events", taken.name()));
        Ok(found)
    }
}

fn take(event: Event, found: &mut Found, open: &mut Open) {
    let row = event.row;
    if event.preflush {
        found.rows.push(Row { op: Op::Flush, fua: false, offset: 0, size: 0, ..row });
    }
    if row.size > 0 {
        found.rows.push(row);
        open.0.insert((row.device, row.op as u8, row.offset), found.rows.len() - 1);
    }
}

/// Requests without an answer yet, by device, op and first byte. A request at the same place replaces one that was
/// never answered.
#[derive(Default)]
struct Open(BTreeMap<(u32, u8, u64), usize>);

impl Open {
    /// Answers all requests that lie wholly in the completed range: merged ones share a completion.
    fn answer(&mut self, done: &Row, rows: &mut [Row]) {
        let key = |offset| (done.device, done.op as u8, offset);
        let end = done.offset + done.size;
        let inside: Vec<_> = self
            .0
            .range(key(done.offset)..key(end))
            .filter(|(_, row)| rows[**row].offset + rows[**row].size <= end)
            .map(|(key, row)| (*key, *row))
            .collect();
        for (key, row) in inside {
            let asked = rows[row].time;
            rows[row].answered_after(done.time - asked);
            self.0.remove(&key);
        }
    }
}
