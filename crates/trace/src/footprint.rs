//! The addresses of a volume that were touched, and how often each was rewritten. A sparse map whose memory
//! grows with the addresses touched, up to a bound.
//!
//! Beyond the bound the map keeps write histories, which take most of the memory, of every second chunk of the
//! address space, by a hash of the chunk number, then of every fourth, and so on. When the bits of the granules take
//! half of the memory, it keeps every second of the chunks themselves, too. A sampled chunk is exact and counts for the
//! chunks that are left out. Hundreds of thousands of chunks remain, so that the error of a footprint is below one
//! percent.

use std::collections::HashMap;

use wordline_kernel::{Duration, Instant};

/// Granule of footprints and updates, in bytes: the logical page of most file systems. Chosen, as the papers
/// do not give theirs. A request touches every granule in which it has a byte.
pub const GRANULE: u64 = 4096;

/// Granules per chunk: 2 MiB of the volume. Chosen: sparse traces stay small, dense traces need few lookups.
const CHUNK: u64 = 512;
const WORDS: usize = CHUNK as usize / 64;

/// Memory bound of the map in bytes. Chosen: enough for 120 GiB of written addresses, or 3 TiB of read
/// addresses, without sampling.
const MEMORY_BOUND: usize = 320 << 20;

/// Write history of a granule, in 10 bytes.
#[derive(Clone, Copy, Default)]
struct WriteHistory {
    updates: [u16; 2],
    /// Time since the start of the trace in ticks: 48 bits.
    last: [u16; 3],
}

/// Binary logarithm of the picoseconds of a tick: with ticks of 33 ns, 48 bits reach to the limit of times.
const TICK_BITS: u32 = 15;

impl WriteHistory {
    fn updates(self) -> u32 {
        u32::from(self.updates[0]) | u32::from(self.updates[1]) << 16
    }

    fn add_update(&mut self) {
        let updates = self.updates().saturating_add(1);
        self.updates = [updates as u16, (updates >> 16) as u16];
    }

    fn last(self) -> u64 {
        self.last.iter().rev().fold(0, |ticks, part| ticks << 16 | u64::from(*part))
    }

    fn set_last(&mut self, ticks: u64) {
        self.last = [ticks as u16, (ticks >> 16) as u16, (ticks >> 32) as u16];
    }
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
    /// The same of the chunks whose histories are kept. It is at least `thinned`.
    histories_thinned: u32,
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
        let (used, thinned, histories_thinned) = (0, 0, 0);
        Self {
            bound,
            used,
            thinned,
            histories_thinned,
            places: HashMap::new(),
            chunks: Vec::new(),
            last: None,
        }
    }

    /// Sampling interval: one chunk is kept of this many.
    pub fn sampling_interval(&self) -> u64 {
        1 << self.thinned
    }

    /// Sampling interval of update intervals and of updates by granule.
    pub fn history_interval(&self) -> u64 {
        1 << self.histories_thinned
    }

    /// Drops half of the histories, or also half of the chunks, while the map exceeds its bound.
    fn thin(&mut self) {
        while self.used > self.bound && self.thinned < 63 {
            if self.chunks.len() * CHUNK_BYTES > self.bound / 2 {
                self.thinned += 1;
                self.chunks.retain(|chunk| is_sampled(self.thinned, chunk.key));
                let places = self.chunks.iter().enumerate().map(|(place, chunk)| (chunk.key, place));
                self.places = places.collect();
                self.last = None;
                self.histories_thinned = self.histories_thinned.max(self.thinned);
            } else {
                self.histories_thinned += 1;
            }
            let mut pasts = 0;
            for chunk in &mut self.chunks {
                if !is_sampled(self.histories_thinned, chunk.key) {
                    chunk.past = Vec::new();
                }
                pasts += usize::from(!chunk.past.is_empty());
            }
            self.used = self.chunks.len() * CHUNK_BYTES + pasts * HISTORY_BYTES;
        }
    }

    /// Marks the granules of `size` bytes at `offset` as read.
    pub fn read(&mut self, device: u32, offset: u64, size: u64) {
        for (chunk, from, to) in pieces(offset, size) {
            if is_sampled(self.thinned, (device, chunk)) {
                set(&mut self.chunk(device, chunk).read, from, to);
                self.thin();
            }
        }
    }

    /// Marks the granules of `size` bytes at `offset` as written at `now`, and reports the update interval of
    /// each rewritten granule that has a history.
    pub fn write(
        &mut self,
        device: u32,
        offset: u64,
        size: u64,
        now: Instant,
        mut interval: impl FnMut(Duration),
    ) -> WriteEffect {
        let mut outcome = WriteEffect::default();
        let (ticks, weight) = (now.ps() >> TICK_BITS, self.sampling_interval());
        for (number, from, to) in pieces(offset, size) {
            if !is_sampled(self.thinned, (device, number)) {
                continue;
            }
            let has_history = is_sampled(self.histories_thinned, (device, number));
            let chunk = self.chunk(device, number);
            let is_new = has_history && chunk.past.is_empty();
            if is_new {
                chunk.past = vec![WriteHistory::default(); CHUNK as usize];
            }
            outcome.granules += (to - from) * weight;
            for granule in from as usize..to as usize {
                let is_rewritten = chunk.written[granule / 64] >> (granule % 64) & 1 == 1;
                outcome.rewritten += if is_rewritten { weight } else { 0 };
                let Some(past) = chunk.past.get_mut(granule) else { continue };
                if is_rewritten {
                    past.add_update();
                    interval(Duration::from_ps(ticks.saturating_sub(past.last()) << TICK_BITS));
                }
                past.set_last(ticks);
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
                    *counts.entry(past.updates()).or_insert(0) += self.history_interval();
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

/// Whether a chunk is one of those that remain after so many halvings.
fn is_sampled(halvings: u32, (device, chunk): (u32, u64)) -> bool {
    halvings == 0 || hash(device, chunk) >> (64 - halvings) == 0
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
        let mut bounded = Footprint::with_bound(4 << 20);
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
    fn updates_of_few_hot_granules_are_counted_exactly_while_only_histories_are_sampled() {
        for hot in 0..8_u64 {
            let mut footprint = Footprint::with_bound(2 << 20);
            let mut updates = 0;
            for chunk in (0..3_000).chain(std::iter::repeat_n(hot, 1_000)) {
                updates += footprint.write(0, chunk << 21, 4096, Instant::ZERO, |_| {}).updates;
            }
            assert_eq!((updates, footprint.sampling_interval()), (1_000, 1), "chunk {hot}");
            assert!(footprint.history_interval() >= 4 && footprint.used <= footprint.bound);
        }
    }

    #[test]
    fn intervals_are_as_precise_at_the_limit_of_time_as_at_its_start() {
        let mut footprint = Footprint::default();
        let mut intervals = Vec::new();
        for n in 0..5 {
            let now = Instant::from_ps(Instant::LIMIT.ps() - (5 - n) * 1_000_000_000);
            footprint.write(0, 0, 4096, now, |length| intervals.push(length.ps()));
        }
        assert!(intervals.len() == 4 && intervals.iter().all(|ps| ps.abs_diff(1_000_000_000) < 33_000));
        let many = WriteHistory { updates: [u16::MAX, 1], ..WriteHistory::default() };
        let mut more = many;
        more.add_update();
        assert_eq!((many.updates(), more.updates()), (0x1_ffff, 0x2_0000));
    }

    #[test]
    fn a_whole_chunk_and_its_neighbours_are_counted_once() {
        let mut footprint = Footprint::default();
        footprint.read(0, 0, 3 * CHUNK * GRANULE);
        footprint.read(0, CHUNK * GRANULE, CHUNK * GRANULE);
        assert_eq!(footprint.bytes().0, 3 * CHUNK * GRANULE);
    }
}
