//! Events of the Linux block layer, from any source. Selects the event that gives the time of each request,
//! and finds the completion of the request.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::Op;
use super::options::Action;
use super::recorded::RecordedOp;
use super::row::Row;
use crate::{Error, error::Result};

const KINDS: [Action; 3] = Action::ALL;

/// Builds requests from events in order of time.
///
/// A request is held until it completes, or until the window is full of later requests. If it completes after
/// that, its response time is unknown.
pub(super) struct EventMatcher {
    asked: Option<Action>,
    taken: Option<Action>,
    /// Events of each kind that belong to a request.
    seen: [u64; KINDS.len()],
    /// Events of a kind that is preferred to the chosen kind. They came too late to be chosen.
    passed_over: u64,
    window: usize,
    held: VecDeque<(Row, bool)>,
    /// Number of the first request held.
    first: u64,
    open: OutstandingRequests,
}

impl EventMatcher {
    /// Takes events of the kind `asked`, or of the first kind found in the window.
    pub(super) fn new(asked: Option<Action>, window: usize) -> Self {
        Self {
            asked,
            taken: None,
            seen: [0; KINDS.len()],
            passed_over: 0,
            window,
            held: VecDeque::new(),
            first: 0,
            open: OutstandingRequests::default(),
        }
    }

    /// Counts an event that has been read. All events of the first window are counted before the first is
    /// processed.
    pub(super) fn note(&mut self, row: &Row) {
        if let Some(kind) = row.event.filter(|_| row.is_request()) {
            self.seen[kind as usize] += 1;
            let goes_before =
                self.asked.is_none() && self.taken.is_some_and(|taken| (kind as u8) < taken as u8);
            self.passed_over += u64::from(goes_before);
        }
    }

    /// Returns the event kind in use, as far as the events read so far decide it.
    pub(super) fn choice(&self) -> Option<Action> {
        let first = KINDS.into_iter().find(|kind| self.seen[*kind as usize] > 0);
        self.taken.or(self.asked).or(first)
    }

    /// Processes the next event.
    pub(super) fn take(&mut self, row: Row) {
        self.taken = self.taken.or_else(|| self.choice());
        if row.event == self.taken && row.is_request() {
            self.open_request(row);
        } else if row.event == Some(Action::Complete) && row.recorded != Some(RecordedOp::ZoneAppend) {
            self.open.answer(&row, &mut self.held, self.first);
        }
    }

    fn open_request(&mut self, row: Row) {
        // If the completion event gives the time of the request, there is no later completion to wait for. Zone
        // appends complete at another address than they had before. Some formats have one event with the response time.
        let is_done = self.taken == Some(Action::Complete)
            || row.recorded == Some(RecordedOp::ZoneAppend)
            || row.response.is_some();
        if row.preflush {
            let flush = Row { op: Op::Flush, fua: false, offset: 0, size: 0, ..row };
            let response = row.response.filter(|_| row.size == 0);
            self.held.push_back((Row { response, ..flush }, true));
        }
        if row.size > 0 || row.op.is_zone_management() {
            self.held.push_back((row, is_done));
            if !is_done {
                let number = self.first + self.held.len() as u64 - 1;
                self.open.requests.insert((row.device, row.op as u8, row.offset), number);
            }
        }
    }

    /// Returns the next request whose record is final. With `at_end`, returns the next of all held requests.
    pub(super) fn ready(&mut self, at_end: bool) -> Option<Row> {
        let (row, is_done) = self.held.front()?;
        if !(at_end || *is_done || self.held.len() > self.window) {
            return None;
        }
        let (row, is_done) = (*row, *is_done);
        if !is_done {
            self.open.forget(&row, self.first);
        }
        self.held.pop_front();
        self.first += 1;
        Some(row)
    }

    /// Returns an error if the trace has no request. The error lists the events that the trace has instead.
    pub(super) fn check_has_requests(&self, path: &Path) -> Result<()> {
        let present: Vec<&str> =
            KINDS.into_iter().filter(|kind| self.seen[*kind as usize] > 0).map(Action::name).collect();
        if present.is_empty() {
            return Err(Error::Content {
                path: path.into(),
                found: "no request in it".into(),
                wanted: "at least one queue (Q), issue (D) or complete (C) event".into(),
            });
        }
        match self.asked.filter(|asked| self.seen[*asked as usize] == 0) {
            Some(asked) => Err(Error::Content {
                path: path.into(),
                found: format!("events {} only", present.join(", ")),
                wanted: format!("the events {} that option action asks for", asked.name()),
            }),
            None => Ok(()),
        }
    }

    /// Notes for the user: the event kind used, and the events ignored.
    pub(super) fn notes(&self) -> Vec<String> {
        let Some(taken) = self.choice().map(Action::name) else { return Vec::new() };
        let passed_over = (self.passed_over > 0).then(|| {
            format!(
                "{} events of an earlier kind, of which the first {} events had none, were passed over: option action \
                 chooses it",
                self.passed_over, self.window
            )
        });
        [format!("times are those of {taken} events")].into_iter().chain(passed_over).collect()
    }
}

/// Outstanding requests by device, operation and first byte. A request that never completed is replaced by
/// the next request to its address.
#[derive(Default)]
struct OutstandingRequests {
    requests: BTreeMap<(u32, u8, u64), u64>,
}

impl OutstandingRequests {
    /// Completes all requests that lie entirely in the completed range, because merged requests share a
    /// completion.
    fn answer(&mut self, done: &Row, held: &mut VecDeque<(Row, bool)>, first: u64) {
        let key = |offset| (done.device, done.op as u8, offset);
        let end = done.offset + done.size;
        let place = |number: &u64| (*number - first) as usize;
        let inside: Vec<_> = self
            .requests
            .range(key(done.offset)..key(end.max(done.offset + 1)))
            .filter(|(_, number)| {
                let row = &held[place(number)].0;
                row.offset + row.size <= end
            })
            .map(|(key, number)| (*key, *number))
            .collect();
        for (key, number) in inside {
            let (row, is_done) = &mut held[place(&number)];
            row.set_response(done.time - row.time);
            *is_done = true;
            self.requests.remove(&key);
        }
    }

    /// Drops a request that has left the window.
    fn forget(&mut self, row: &Row, number: u64) {
        let key = (row.device, row.op as u8, row.offset);
        if self.requests.get(&key) == Some(&number) {
            self.requests.remove(&key);
        }
    }
}
