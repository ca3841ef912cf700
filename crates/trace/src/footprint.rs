//! The addresses of a volume that were touched, and how often each was rewritten. A sparse map whose memory
//! grows with the addresses touched, up to a bound.
//!
//! Beyond the bound the map samples every second chunk of the address space, by a hash of the chunk number,
//! then every fourth, and so on. A sampled chunk is exact and counts for the chunks that are left out. At
//! least tens of thousands of chunks remain, so that the error of a footprint is about one percent.

use std::collections::HashMap;

use wordline_kernel::{Duration, Instant};

/// Granule of footprints and updates, in bytes: the logical page of most file systems. Chosen, as the papers
/// do not give theirs. A request touches every granule in which it has a byte.
pub const GRANULE: u64 = 4096;

/// Granules per chunk: 2 MiB of the volume. Chosen: sparse traces stay small, dense traces need few lookups.
const CHUNK: u64 = 512;
const WORDS: usize = CHUNK as usize / 64;

/// Memory bound of the map in bytes. Chosen: enough for 120 GiB of written addresses, or 2 TiB of read
/// addresses, without sampling.
const MEMORY_BOUND: usize = 256 << 20;

/// Write history of a granule. It has 8 bytes, so that the histories of a volume with 150 GiB written fit
/// into 400 MB.
#[derive(Clone, Copy)]
struct WriteHistory {
    updates: u32,
    /// Seconds since the start of the trace. The 24 bits of an `f32` resolve a week to 40 ms and a second to
    /// 60 ns.
    last: f32,
}

#[derive(Default)]
struct Chunk {
    key: (u32, u64),
    read: [u64; WORDS],
    written: [u64; WORDS],
    past: Vec<WriteHistory>,
}

/// Granules of a set of volumes that were read and written.
pub(super) struct Footprint {
    bound: usize,
    used: usize,
    /// Binary logarithm of the sampling interval: one chunk in `2^thinned` is kept.
    thinned: u32,
    /// Index of a chunk in `chunks`; used for lookups only, never iterated.
    places: HashMap<(u32, u64), usize>,
    chunks: Vec<Chunk>,
    last: Option<((u32, u64), usize)>,
}

/// Effect of one write on the granules that it touched, scaled up where chunks are sampled.
#[derive(Default)]
pub(super) struct WriteEffect {
    /// Granules touched.
    pub granules: u64,
    /// Granules among them that had been written before.
    pub rewritten: u64,
    /// Updates: 1 if any of these granules had been written before, else 0; scaled up where chunks are
    /// sampled.
    pub updates: u64,
}

impl Default for Footprint {
    fn default() -> Self {
        Self::with_bound(MEMORY_BOUND)
    }
}

/// Memory of a chunk and its index entry in bytes, without the write history.
const CHUNK_BYTES: usize = size_of::<Chunk>() + 2 * size_of::<((u32, u64), usize)>();
const HISTORY_BYTES: usize = CHUNK as usize * size_of::<WriteHistory>();

impl Footprint {
    /// Creates a map with a memory bound of `bound` bytes.
    fn with_bound(bound: usize) -> Self {
        Self { bound, used: 0, thinned: 0, places: HashMap::new(), chunks: Vec::new(), last: None }
    }

    /// Sampling interval: one chunk is kept of this many.
    pub fn sampling_interval(&self) -> u64 {
        1 << self.thinned
    }

    fn is_sampled(&self, device: u32, chunk: u64) -> bool {
        self.thinned == 0 || hash(device, chunk) >> (64 - self.thinned) == 0
    }

    /// Drops half of the chunks while the map exceeds its bound.
    fn thin(&mut self) {
        while self.used > self.bound && self.thinned < 63 {
            self.thinned += 1;
            let chunks = std::mem::take(&mut self.chunks);
            self.chunks =
                chunks.into_iter().filter(|chunk| self.is_sampled(chunk.key.0, chunk.key.1)).collect();
            let places = self.chunks.iter().enumerate().map(|(place, chunk)| (chunk.key, place));
            self.places = places.collect();
            let pasts = self.chunks.iter().filter(|chunk| !chunk.past.is_empty()).count();
            self.used = self.chunks.len() * CHUNK_BYTES + pasts * HISTORY_BYTES;
            self.last = None;
        }
    }

    /// Marks the granules of `size` bytes at `offset` as read.
    pub fn read(&mut self, device: u32, offset: u64, size: u64) {
        for (chunk, from, to) in pieces(offset, size) {
            if self.is_sampled(device, chunk) {
                set(&mut self.chunk(device, chunk).read, from, to);
                self.thin();
            }
        }
    }

    /// Marks the granules of `size` bytes at `offset` as written at `now`, and reports the update interval of
    /// each rewritten granule.
    pub fn write(
        &mut self,
        device: u32,
        offset: u64,
        size: u64,
        now: Instant,
        mut interval: impl FnMut(Duration),
    ) -> WriteEffect {
        let mut outcome = WriteEffect::default();
        let (seconds, weight) = (now.seconds(), self.sampling_interval());
        for (number, from, to) in pieces(offset, size) {
            if !self.is_sampled(device, number) {
                continue;
            }
            let chunk = self.chunk(device, number);
            let is_new = chunk.past.is_empty();
            if is_new {
                chunk.past = vec![WriteHistory { updates: 0, last: 0.0 }; CHUNK as usize];
            }
            outcome.granules += (to - from) * weight;
            for granule in from as usize..to as usize {
                let past = &mut chunk.past[granule];
                if chunk.written[granule / 64] >> (granule % 64) & 1 == 1 {
                    past.updates = past.updates.saturating_add(1);
                    outcome.rewritten += weight;
                    let length = (seconds - f64::from(past.last)).max(0.0);
                    interval(Duration::from_ps((length * 1e12) as u64));
                }
                past.last = seconds as f32;
            }
            set(&mut chunk.written, from, to);
            self.used += if is_new { HISTORY_BYTES } else { 0 };
            self.thin();
        }
        outcome.updates = if outcome.rewritten > 0 { weight } else { 0 };
        outcome
    }

    /// Returns the bytes of granules read, written, and either.
    pub fn bytes(&self) -> (u64, u64, u64) {
        let (mut read, mut written, mut either) = (0, 0, 0);
        for chunk in &self.chunks {
            for (r, w) in chunk.read.iter().zip(&chunk.written) {
                read += u64::from(r.count_ones());
                written += u64::from(w.count_ones());
                either += u64::from((r | w).count_ones());
            }
        }
        let all = GRANULE.saturating_mul(self.sampling_interval());
        (read.saturating_mul(all), written.saturating_mul(all), either.saturating_mul(all))
    }

    /// Returns the number of granules by update count, as (updates, granules), most updates first.
    pub fn updates(&self) -> Vec<(u32, u64)> {
        let mut counts = std::collections::BTreeMap::new();
        for chunk in &self.chunks {
            for (granule, past) in chunk.past.iter().enumerate() {
                if chunk.written[granule / 64] >> (granule % 64) & 1 == 1 {
                    *counts.entry(past.updates).or_insert(0) += self.sampling_interval();
                }
            }
        }
        counts.into_iter().rev().collect()
    }

    fn chunk(&mut self, device: u32, chunk: u64) -> &mut Chunk {
        let key = (device, chunk);
        let Self { chunks, used, .. } = self;
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => *self.places.entry(key).or_insert_with(|| {
                chunks.push(Chunk { key, ..Chunk::default() });
                *used += CHUNK_BYTES;
                chunks.len() - 1
            }),
        };
        self.last = Some((key, place));
        &mut self.chunks[place]
    }
}

/// Hashes a chunk number: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn hash(device: u32, chunk: u64) -> u64 {
    let mut mixed = chunk ^ u64::from(device).rotate_right(24);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Splits a request by chunk: (chunk, first granule, granule after the last).
fn pieces(offset: u64, size: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let first = offset / GRANULE;
    let end = if size == 0 { first } else { offset.saturating_add(size - 1) / GRANULE + 1 };
    let chunks = if first == end { 0..0 } else { first / CHUNK..(end - 1) / CHUNK + 1 };
    chunks.map(move |chunk| {
        let base = chunk * CHUNK;
        (chunk, first.max(base) - base, end.min(base + CHUNK) - base)
    })
}

/// Sets the bits in `from..to`.
fn set(bits: &mut [u64; WORDS], from: u64, to: u64) {
    for (word, bits) in (0u64..).zip(bits.iter_mut()) {
        let (low, high) = (from.max(word * 64), to.min(word * 64 + 64));
        if low < high {
            *bits |= (u64::MAX >> (64 - (high - low))) << (low % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_touches_every_granule_in_which_it_has_a_byte() {
        let mut footprint = Footprint::default();
        footprint.read(0, 4095, 2); // granules 0 and 1
        footprint.read(1, 0, 1); // the same address of another device
        footprint.write(0, 2 * 1024 * 1024 - 1, 2, Instant::ZERO, |_| {}); // over the edge of a chunk
        footprint.read(0, 0, 0);
        assert_eq!(footprint.bytes(), (3 * GRANULE, 2 * GRANULE, 5 * GRANULE));
    }

    #[test]
    fn beyond_its_bound_a_map_is_a_sample_that_is_off_by_little() {
        let mut exact = Footprint::default();
        let mut bounded = Footprint::with_bound(16 << 20);
        let mut written = [WriteEffect::default(), WriteEffect::default()];
        for round in 0..2_u64 {
            for n in 0..40_000_u64 {
                let (offset, now) = (n * 7_919 % 50_021 * (3 << 20), Instant::from_ps(round * 1_000_000));
                for (footprint, sum) in [&mut exact, &mut bounded].into_iter().zip(&mut written) {
                    footprint.read(1, offset + (1 << 20), 4096 * (1 + n % 3));
                    let outcome = footprint.write(0, offset, 4096 * (1 + n % 5), now, |_| {});
                    sum.granules += outcome.granules;
                    sum.rewritten += outcome.rewritten;
                    sum.updates += outcome.updates;
                }
            }
        }
        assert!(
            bounded.used <= bounded.bound && bounded.sampling_interval() >= 8,
            "{} {}",
            bounded.used,
            bounded.sampling_interval()
        );
        let pasts = bounded.chunks.iter().filter(|chunk| !chunk.past.is_empty()).count();
        assert_eq!(
            bounded.used,
            bounded.chunks.len() * CHUNK_BYTES + pasts * HISTORY_BYTES,
            "what it takes is counted"
        );
        let near = |ours: u64, exact: u64| (ours as f64 / exact as f64 - 1.0).abs() < 0.1;
        let (all, some) = (exact.bytes(), bounded.bytes());
        assert!(near(some.0, all.0) && near(some.1, all.1) && near(some.2, all.2), "{all:?} {some:?}");
        let [all, some] = written;
        assert!(near(some.granules, all.granules) && near(some.rewritten, all.rewritten));
        assert!(near(some.updates, all.updates), "{} {}", some.updates, all.updates);
    }

    #[test]
    fn a_whole_chunk_and_its_neighbours_are_counted_once() {
        let mut footprint = Footprint::default();
        footprint.read(0, 0, 3 * CHUNK * GRANULE);
        footprint.read(0, CHUNK * GRANULE, CHUNK * GRANULE);
        assert_eq!(footprint.bytes().0, 3 * CHUNK * GRANULE);
    }
}
