//! Events of the Linux block layer, from any source: which of them is the request, and when it was answered.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::Op;
use super::options::Action;
use super::row::Row;
use crate::{Error, error::Result};

const KINDS: [Action; 3] = Action::ALL;

/// Makes requests of events that come in the order of time.
///
/// A request is held until it is answered, or until as many came after it as the window holds: an answer that is later than
/// that leaves its response unknown.
pub(super) struct Matcher {
    asked: Option<Action>,
    taken: Option<Action>,
    /// How many events of each kind there were that are of a request.
    seen: [u64; KINDS.len()],
    /// Events of a kind that goes before the one that was chosen.
    passed_over: u64,
    window: usize,
    held: VecDeque<(Row, bool)>,
    /// The number of the first request held.
    first: u64,
    open: Open,
}

impl Matcher {
    /// Takes the events of the kind `asked`, or of the first kind that the window has.
    pub(super) fn new(asked: Option<Action>, window: usize) -> Self {
        Self {
            asked,
            taken: None,
            seen: [0; KINDS.len()],
            passed_over: 0,
            window,
            held: VecDeque::new(),
            first: 0,
            open: Open::default(),
        }
    }

    /// Notes an event that has been read. All events of the first window are noted before the first is taken in.
    pub(super) fn note(&mut self, row: &Row) {
        if let Some(kind) = row.event.filter(|_| row.is_of_a_request()) {
            self.seen[kind as usize] += 1;
            let goes_before =
                self.asked.is_none() && self.taken.is_some_and(|taken| (kind as u8) < taken as u8);
            self.passed_over += u64::from(goes_before);
        }
    }

    /// The kind that is taken, as far as that can be said by now.
    pub(super) fn choice(&self) -> Option<Action> {
        let first = KINDS.into_iter().find(|kind| self.seen[*kind as usize] > 0);
        self.taken.or(self.asked).or(first)
    }

    /// Takes in the next event.
    pub(super) fn take(&mut self, row: Row) {
        self.taken = self.taken.or_else(|| self.choice());
        if row.event == self.taken && row.is_of_a_request() {
            self.open_request(row);
        } else if row.event == Some(Action::Complete) {
            self.open.answer(&row, &mut self.held, self.first);
        }
    }

    fn open_request(&mut self, row: Row) {
        // There is no answer to wait for where the completion is the request.
        let is_done = self.taken == Some(Action::Complete);
        if row.preflush {
            self.held.push_back((Row { op: Op::Flush, fua: false, offset: 0, size: 0, ..row }, true));
        }
        if row.size > 0 {
            self.held.push_back((row, is_done));
            if !is_done {
                let number = self.first + self.held.len() as u64 - 1;
                self.open.requests.insert((row.device, row.op as u8, row.offset), number);
            }
        }
    }

    /// The next request that nothing more can be learnt of; `at_end`, the next of all.
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

    /// An error where the trace has no request: the events that it has instead.
    pub(super) fn complaint(&self, path: &Path) -> Result<()> {
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

    /// Notes for the user: the event taken, and the events passed over.
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

/// Requests without an answer yet, by device, op and first byte. A request at the same place replaces one that was
/// never answered.
#[derive(Default)]
struct Open {
    requests: BTreeMap<(u32, u8, u64), u64>,
}

impl Open {
    /// Answers all requests that lie wholly in the completed range: merged ones share a completion.
    fn answer(&mut self, done: &Row, held: &mut VecDeque<(Row, bool)>, first: u64) {
        let key = |offset| (done.device, done.op as u8, offset);
        let end = done.offset + done.size;
        let place = |number: &u64| (*number - first) as usize;
        let inside: Vec<_> = self
            .requests
            .range(key(done.offset)..key(end))
            .filter(|(_, number)| {
                let row = &held[place(number)].0;
                row.offset + row.size <= end
            })
            .map(|(key, number)| (*key, *number))
            .collect();
        for (key, number) in inside {
            let (row, is_done) = &mut held[place(&number)];
            row.answered_after(done.time - row.time);
            *is_done = true;
            self.requests.remove(&key);
        }
    }

    /// Forgets a request that is held no longer.
    fn forget(&mut self, row: &Row, number: u64) {
        let key = (row.device, row.op as u8, row.offset);
        if self.requests.get(&key) == Some(&number) {
            self.requests.remove(&key);
        }
    }
}
