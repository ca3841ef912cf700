//! Volatile cache of a device with a fixed latency. A power cut keeps a random part of the writes since the
//! last flush.

use std::collections::BTreeMap;

use wordline_kernel::{Seed, Stream};

use crate::content::Content;

/// A content that a sector may have after a power cut; `None` stands for zeroes.
#[derive(Clone, Copy, Debug)]
struct Version {
    content: Option<Content>,
    /// Number of commands completed before it was written.
    written: u64,
    /// Whether it is a discard, which a flush does not make durable.
    is_discard: bool,
}

/// Versions of sectors that a power cut may leave, and the number of completed commands.
pub(super) struct Volatile {
    random: Stream,
    /// Versions by sector. The durable version comes first.
    versions: BTreeMap<u64, Vec<Version>>,
    completed: u64,
    /// For each flush in flight, by its number: how many commands were completed at its submission.
    flushes: BTreeMap<u32, u64>,
}

impl Volatile {
    pub(super) fn new(seed: Seed) -> Self {
        let random = seed.stream("fixed-latency.cut", 0);
        Self { random, versions: BTreeMap::new(), completed: 0, flushes: BTreeMap::new() }
    }

    /// Counts a completed command.
    pub(super) fn complete(&mut self) {
        self.completed += 1;
    }

    /// Records a write or discard of a sector that had `before`.
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

    /// Records a FUA write of a sector: a power cut can leave only this version.
    pub(super) fn force(&mut self, sector: u64) {
        self.versions.remove(&sector);
    }

    pub(super) fn begin_flush(&mut self, number: u32) {
        self.flushes.insert(number, self.completed);
    }

    /// Completes a flush. In each sector, the latest version that was completed before the submission of the
    /// flush is durable now.
    pub(super) fn finish_flush(&mut self, number: u32) {
        let Some(before) = self.flushes.remove(&number) else { return };
        self.versions.retain(|_, versions| {
            let durable = |version: &Version| version.written <= before && !version.is_discard;
            let first = versions.iter().rposition(durable).unwrap_or(0);
            versions.drain(..first);
            versions.len() > 1
        });
    }

    /// Simulates a power cut. Returns each sector with several versions, with a random one of them.
    pub(super) fn cut(&mut self) -> Vec<(u64, Option<Content>)> {
        self.flushes.clear();
        let Self { random, versions, .. } = self;
        let drawn = |(sector, versions): (u64, Vec<Version>)| {
            (sector, versions[random.below(versions.len() as u64) as usize].content)
        };
        std::mem::take(versions).into_iter().map(drawn).collect()
    }

    /// Draws whether a command in flight reached a sector before the power cut.
    pub(super) fn reached(&mut self) -> bool {
        self.random.below(2) == 0
    }
}
