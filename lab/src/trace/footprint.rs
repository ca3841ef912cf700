//! Which addresses of a volume were touched, and how often each was rewritten: a sparse map that costs memory
//! only where the trace goes.

use std::collections::HashMap;

use wordline_kernel::{Duration, Instant};

/// The granule of footprints and updates, in bytes: the logical page of most file systems. Chosen, because the
/// papers do not name theirs; a request touches every granule in which it has a byte.
pub const GRANULE: u64 = 4096;

/// Granules of a chunk: 2 MiB of the volume. Chosen: sparse traces stay small, dense ones need few look-ups.
const CHUNK: u64 = 512;
const WORDS: usize = CHUNK as usize / 64;

/// The past of a written granule: 8 bytes, so that a volume with 150 GiB written fits into 400 MB.
#[derive(Clone, Copy)]
struct Past {
    updates: u32,
    /// Seconds since the start of the trace; 24 bits resolve a week to 40 ms and a second to 60 ns.
    last: f32,
}

#[derive(Default)]
struct Chunk {
    read: [u64; WORDS],
    written: [u64; WORDS],
    past: Vec<Past>,
}

/// What was touched of a set of volumes.
#[derive(Default)]
pub(super) struct Footprint {
    /// Looked up, never walked in its own order.
    places: HashMap<(u32, u64), usize>,
    chunks: Vec<Chunk>,
    last: Option<((u32, u64), usize)>,
}

/// What one write did to the granules that it touched.
#[derive(Default)]
pub(super) struct Written {
    /// Granules touched.
    pub granules: u64,
    /// Those of them that had been written before.
    pub rewritten: u64,
}

impl Footprint {
    /// Marks the granules of `size` bytes at `offset` as read.
    pub fn read(&mut self, device: u32, offset: u64, size: u64) {
        for (chunk, from, to) in pieces(offset, size) {
            set(&mut self.chunk(device, chunk).read, from, to);
        }
    }

    /// Marks the granules of `size` bytes at `offset` as written at `now`, and tells each rewritten granule's
    /// update interval.
    pub fn write(
        &mut self,
        device: u32,
        offset: u64,
        size: u64,
        now: Instant,
        mut interval: impl FnMut(Duration),
    ) -> Written {
        let mut outcome = Written::default();
        let seconds = now.seconds();
        for (chunk, from, to) in pieces(offset, size) {
            let chunk = self.chunk(device, chunk);
            if chunk.past.is_empty() {
                chunk.past = vec![Past { updates: 0, last: 0.0 }; CHUNK as usize];
            }
            outcome.granules += to - from;
            for granule in from as usize..to as usize {
                let past = &mut chunk.past[granule];
                if chunk.written[granule / 64] >> (granule % 64) & 1 == 1 {
                    past.updates = past.updates.saturating_add(1);
                    outcome.rewritten += 1;
                    let length = (seconds - f64::from(past.last)).max(0.0);
                    interval(Duration::from_ps((length * 1e12) as u64));
                }
                past.last = seconds as f32;
            }
            set(&mut chunk.written, from, to);
        }
        outcome
    }

    /// Bytes of granules read, written, and either.
    pub fn bytes(&self) -> (u64, u64, u64) {
        let (mut read, mut written, mut either) = (0, 0, 0);
        for chunk in &self.chunks {
            for (r, w) in chunk.read.iter().zip(&chunk.written) {
                read += u64::from(r.count_ones());
                written += u64::from(w.count_ones());
                either += u64::from((r | w).count_ones());
            }
        }
        (read * GRANULE, written * GRANULE, either * GRANULE)
    }

    /// How many written granules were rewritten how often, as (updates, granules), most updates first.
    pub fn updates(&self) -> Vec<(u32, u64)> {
        let mut counts = std::collections::BTreeMap::new();
        for chunk in &self.chunks {
            for (granule, past) in chunk.past.iter().enumerate() {
                if chunk.written[granule / 64] >> (granule % 64) & 1 == 1 {
                    *counts.entry(past.updates).or_insert(0) += 1;
                }
            }
        }
        counts.into_iter().rev().collect()
    }

    fn chunk(&mut self, device: u32, chunk: u64) -> &mut Chunk {
        let key = (device, chunk);
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => *self.places.entry(key).or_insert_with(|| {
                self.chunks.push(Chunk::default());
                self.chunks.len() - 1
            }),
        };
        self.last = Some((key, place));
        &mut self.chunks[place]
    }
}

/// The parts of a request in each chunk: (chunk, first granule, granule after the last).
fn pieces(offset: u64, size: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let first = offset / GRANULE;
    let end = if size == 0 { first } else { offset.saturating_add(size - 1) / GRANULE + 1 };
    let chunks = if first == end { 0..0 } else { first / CHUNK..(end - 1) / CHUNK + 1 };
    chunks.map(move |chunk| {
        let base = chunk * CHUNK;
        (chunk, first.max(base) - base, end.min(base + CHUNK) - base)
    })
}

/// Sets the bits from `from` to below `to`.
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
    fn a_whole_chunk_and_its_neighbours_are_counted_once() {
        let mut footprint = Footprint::default();
        footprint.read(0, 0, 3 * CHUNK * GRANULE);
        footprint.read(0, CHUNK * GRANULE, CHUNK * GRANULE);
        assert_eq!(footprint.bytes().0, 3 * CHUNK * GRANULE);
    }
}
