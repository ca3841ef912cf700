//! Data in a script.

use wordline_kernel::Seed;

/// Data that a statement transfers or expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// The same byte this many times.
    Fill(u32, u8),
    /// This many random bytes from the seed.
    Random(u32, u64),
}

impl Data {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Fill(count, byte) => vec![*byte; *count as usize],
            Self::Random(count, seed) => random(*count, *seed),
        }
    }
}

/// `count` random bytes from `seed`. A shorter sequence is a prefix of a longer one.
fn random(count: u32, seed: u64) -> Vec<u8> {
    let mut stream = Seed(seed).stream("data of scripts", 0);
    let words = (0..count.div_ceil(8)).flat_map(|_| stream.bits().to_le_bytes());
    words.take(count as usize).collect()
}
