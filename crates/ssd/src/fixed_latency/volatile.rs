//! The volatile cache of a device with a fixed latency: what a power cut leaves of the writes that no flush covers is drawn at random.

use std::collections::BTreeMap;

use wordline_kernel::{Seed, Stream};

use crate::device::Content;

/// A content that a sector may hold after a power cut: nothing stands for zeroes.
#[derive(Clone, Copy, Debug)]
struct Version {
    content: Option<Content>,
    /// The number of commands that had completed when it was written.
    written: u64,
    /// A flush does not make a discard durable.
    is_discard: bool,
}

/// The versions of sectors that a power cut may leave, and how many commands have completed.
pub(super) struct Volatile {
    random: Stream,
    /// By sector, the one that is durable first.
    versions: BTreeMap<u64, Vec<Version>>,
    completed: u64,
    /// By the number of a flush in flight: how many commands had completed when it was submitted.
    flushes: BTreeMap<u32, u64>,
}

impl Volatile {
    pub(super) fn new(seed: Seed) -> Self {
        let random = seed.stream("fixed-latency.cut", 0);
        Self { random, versions: BTreeMap::new(), completed: 0, flushes: BTreeMap::new() }
    }

    /// A command completes.
    pub(super) fn complete(&mut self) {
        self.completed += 1;
    }

    /// A sector that held `before` is written, or discarded.
    pub(super) fn write(
        &mut self,
        sector: u64,
        before: Option<Content>,
        content: Option<Content>,
        is_discard: bool,
    ) {
        let written = self.completed;
        let durable = Version { content: before, written: 0, is_discard: false };
        let versions = self.versions.entry(sector).or_insert_with(|| vec![durable]);
        versions.push(Version { content, written, is_discard });
    }

    /// A sector was written with forced unit access: nothing else can be there any more.
    pub(super) fn force(&mut self, sector: u64) {
        self.versions.remove(&sector);
    }

    pub(super) fn flush_begins(&mut self, number: u32) {
        self.flushes.insert(number, self.completed);
    }

    /// A flush completes: of what had completed when it was submitted, the newest version of each sector is durable.
    pub(super) fn flush_over(&mut self, number: u32) {
        let Some(before) = self.flushes.remove(&number) else { return };
        self.versions.retain(|_, versions| {
            let durable = |version: &Version| version.written <= before && !version.is_discard;
            let first = versions.iter().rposition(durable).unwrap_or(0);
            versions.drain(..first);
            versions.len() > 1
        });
    }

    /// The power is cut: the sectors that hold something else than before it, each with what it holds.
    pub(super) fn cut(&mut self) -> Vec<(u64, Option<Content>)> {
        self.flushes.clear();
        let Self { random, versions, .. } = self;
        let drawn = |(sector, versions): (u64, Vec<Version>)| {
            (sector, versions[random.below(versions.len() as u64) as usize].content)
        };
        std::mem::take(versions).into_iter().map(drawn).collect()
    }

    /// Whether a command in flight reached a sector before the power went.
    pub(super) fn reached(&mut self) -> bool {
        self.random.below(2) == 0
    }
}
