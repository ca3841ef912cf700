//! Snapshots: the state of a component, written to a byte sink and read back in place.
//!
//! A component is built as for a new run and then loads the state. Values that follow from the configuration
//! exist already and are not written. [`state!`](crate::state) declares how each field of a struct is saved.
//! A struct does not compile if its declaration lacks a field.
//!
//! ```
//! use wordline_kernel::snapshot::{Reader, State, Writer};
//!
//! #[derive(Default)]
//! struct Turns {
//!     rows: u32,
//!     last: Option<u32>,
//!     taken: Vec<u64>,
//! }
//! wordline_kernel::state!(Turns { values { last } parts { taken } fixed { rows } });
//!
//! let mut bytes = Vec::new();
//! let turns = Turns { rows: 4, last: Some(3), taken: vec![7, 8] };
//! turns.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
//! let mut again = Turns { rows: 4, taken: vec![0; 2], ..Turns::default() };
//! again.load_state(&mut Reader::new(&mut bytes.as_slice())).expect("it was just written");
//! assert_eq!((again.last, again.taken), (Some(3), vec![7, 8]));
//! ```

mod declare;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Column, Id, Pairs};

/// A byte sink.
pub trait Sink {
    /// Writes `bytes`.
    ///
    /// # Errors
    /// [`SnapshotError::UnexpectedEnd`]; the sink itself keeps the cause.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SnapshotError>;
}

/// A byte source.
pub trait Source {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`SnapshotError::UnexpectedEnd`] if there are fewer bytes; the source itself keeps the cause.
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError>;

    /// Approximate upper bound on the bytes left, if known. A field that claims many more bytes is rejected.
    fn at_most(&self) -> u64 {
        u64::MAX
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl Source for &[u8] {
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        let (first, rest) = self.split_at_checked(bytes.len()).ok_or(SnapshotError::UnexpectedEnd)?;
        bytes.copy_from_slice(first);
        *self = rest;
        Ok(())
    }

    fn at_most(&self) -> u64 {
        self.len() as u64
    }
}

/// The reason why a state could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The sink accepts, or the source has, no more bytes.
    UnexpectedEnd,
    /// A field with another name was found.
    WrongField {
        /// Name of that field.
        found: String,
        /// Name of the expected field.
        wanted: &'static str,
    },
    /// A list of fixed length has another length.
    WrongLength {
        /// The length in the source.
        found: u64,
        /// The length that the configuration gives.
        wanted: u64,
    },
    /// A field is larger than any field of the device can be.
    FieldTooLarge {
        /// The field.
        name: &'static str,
        /// Bytes of the field.
        found: u64,
        /// Maximum that is accepted.
        most: u64,
    },
    /// The fields contradict each other.
    Inconsistent {
        /// The contradiction.
        why: String,
    },
    /// The bytes of a field cannot be decoded.
    InvalidValue {
        /// The field.
        name: &'static str,
        /// Why they are invalid.
        why: String,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => write!(out, "an end in the middle of the state, wanted all of it"),
            Self::WrongField { found, wanted } => {
                write!(out, "the field `{}`, wanted `{wanted}`", found.escape_debug())
            }
            Self::WrongLength { found, wanted } => write!(out, "a list of {found} entries, wanted {wanted}"),
            Self::FieldTooLarge { name, found, most } => {
                write!(out, "{found} bytes of the field `{name}`, wanted at most {most}")
            }
            Self::Inconsistent { why } => {
                write!(out, "an inconsistent state ({why}), wanted the state of a device")
            }
            Self::InvalidValue { name, why } => {
                write!(out, "invalid bytes in the field `{name}` ({why}), wanted its value")
            }
        }
    }
}

/// A component with state beyond its configuration.
pub trait State {
    /// Writes the state.
    ///
    /// # Errors
    /// Errors of the sink.
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError>;
    /// Loads a state that a component of the same configuration wrote. After an error the component is
    /// unusable.
    ///
    /// # Errors
    /// Errors of the source, and any input that [`save_state`](Self::save_state) does not write.
    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError>;
}

/// A number of fixed size, or a struct of such numbers, as an element of a list of millions. Such lists are
/// written as byte planes (all lowest bytes, then all next bytes), which is fast and compresses well.
pub trait Word: Copy {
    /// Size in bytes.
    const SIZE: usize;
    /// Writes the number, little-endian, into the first [`SIZE`](Self::SIZE) of `bytes`.
    fn put(self, bytes: &mut [u8]);
    /// Reads the number that [`put`](Self::put) wrote.
    fn get(bytes: &[u8]) -> Self;
}

/// Maximum size of a [`Word`], in bytes.
const MAX_WORD_SIZE: usize = 16;

/// Words written at once. Chosen: with 8 B each they fit in the second-level cache, and the byte planes are
/// long enough for a compressor.
const WORDS_PER_CHUNK: usize = 1 << 15;

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Word for $type {
            const SIZE: usize = size_of::<$type>();
            #[inline]
            fn put(self, bytes: &mut [u8]) {
                bytes[..Self::SIZE].copy_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(&bytes[..Self::SIZE]);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128);

/// Writes states to a sink.
pub struct Writer<'a> {
    to: &'a mut dyn Sink,
    buffer: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer to `to`.
    pub fn new(to: &'a mut dyn Sink) -> Self {
        Self { to, buffer: Vec::new() }
    }

    /// Writes a field as a value (serde).
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn value(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), SnapshotError> {
        self.name(name)?;
        let empty = std::mem::take(&mut self.buffer);
        let bytes = postcard::to_extend(value, empty)
            .map_err(|error| SnapshotError::InvalidValue { name, why: error.to_string() })?;
        self.length(bytes.len())?;
        self.to.put(&bytes)?;
        self.buffer = bytes;
        self.buffer.clear();
        Ok(())
    }

    /// Writes a field that has a state of its own.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn part(&mut self, name: &'static str, part: &(impl State + ?Sized)) -> Result<(), SnapshotError> {
        self.name(name)?;
        part.save_state(self)
    }

    /// Writes a list of parts.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn list(&mut self, name: &'static str, list: &[impl State]) -> Result<(), SnapshotError> {
        self.name(name)?;
        self.length(list.len())?;
        list.iter().try_for_each(|part| part.save_state(self))
    }

    /// Writes the variant of an enum.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn variant(&mut self, name: &'static str) -> Result<(), SnapshotError> {
        self.name(name)
    }

    /// Writes the name that every field begins with, so that a reader that expects another field fails at
    /// once.
    fn name(&mut self, name: &'static str) -> Result<(), SnapshotError> {
        let length = u8::try_from(name.len()).expect("names of fields are short");
        self.to.put(&[length])?;
        self.to.put(name.as_bytes())
    }

    fn length(&mut self, length: usize) -> Result<(), SnapshotError> {
        self.to.put(&(length as u64).to_le_bytes())
    }

    fn words<W: Word>(&mut self, mut words: impl ExactSizeIterator<Item = W>) -> Result<(), SnapshotError> {
        self.length(words.len())?;
        while words.len() > 0 {
            let count = words.len().min(WORDS_PER_CHUNK);
            self.buffer.resize(count * W::SIZE, 0);
            for (n, word) in words.by_ref().take(count).enumerate() {
                let mut bytes = [0; MAX_WORD_SIZE];
                word.put(&mut bytes);
                for (byte, plane) in bytes.iter().zip(self.buffer.chunks_exact_mut(count)) {
                    plane[n] = *byte;
                }
            }
            self.to.put(&self.buffer)?;
        }
        self.buffer.clear();
        Ok(())
    }
}

/// Reads states from a source.
pub struct Reader<'a> {
    from: &'a mut dyn Source,
    buffer: Vec<u8>,
    /// Maximum bytes of a value.
    most: u64,
}

impl<'a> Reader<'a> {
    /// A reader of `from`.
    pub fn new(from: &'a mut dyn Source) -> Self {
        Self { from, buffer: Vec::new(), most: u64::MAX }
    }

    /// A reader of `from`. It rejects a field that claims more than [`at_most`](Source::at_most) of the
    /// source plus `beside` bytes.
    pub fn within(from: &'a mut dyn Source, beside: u64) -> Self {
        let most = from.at_most().saturating_add(beside);
        Self { most, ..Self::new(from) }
    }

    /// Reads a field as a value (serde).
    ///
    /// # Errors
    /// Errors of the source, a field of another name, or bytes that cannot be decoded.
    pub fn value<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, SnapshotError> {
        self.name(name)?;
        let mut left = self.length()?;
        if left > self.most {
            return Err(SnapshotError::FieldTooLarge { name, found: left, most: self.most });
        }
        self.buffer.clear();
        // If the length is wrong, the source ends before memory for all of it is allocated.
        while left > 0 {
            let (begin, more) = (self.buffer.len(), left.min(BYTES_PER_CHUNK));
            self.buffer.resize(begin + more as usize, 0);
            self.from.take(&mut self.buffer[begin..])?;
            left -= more;
        }
        let broken = |why: String| SnapshotError::InvalidValue { name, why };
        match postcard::take_from_bytes(&self.buffer) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(broken(format!("{} bytes are left over", rest.len()))),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    /// Reads a field that has a state of its own.
    ///
    /// # Errors
    /// Errors of the source, a field of another name, or an error in the state of the part.
    pub fn part(
        &mut self,
        name: &'static str,
        part: &mut (impl State + ?Sized),
    ) -> Result<(), SnapshotError> {
        self.name(name)?;
        part.load_state(self)
    }

    /// Reads a list of parts.
    ///
    /// # Errors
    /// As for [`part`](Self::part), or the list has another length.
    pub fn list(&mut self, name: &'static str, list: &mut [impl State]) -> Result<(), SnapshotError> {
        self.name(name)?;
        self.same_length(list.len())?;
        list.iter_mut().try_for_each(|part| part.load_state(self))
    }

    /// Reads the variant of an enum, which must be this one.
    ///
    /// # Errors
    /// Errors of the source, or another variant.
    pub fn variant(&mut self, name: &'static str) -> Result<(), SnapshotError> {
        self.name(name)
    }

    fn name(&mut self, wanted: &'static str) -> Result<(), SnapshotError> {
        let mut length = [0];
        self.from.take(&mut length)?;
        let mut found = [0; u8::MAX as usize];
        let found = &mut found[..usize::from(length[0])];
        self.from.take(found)?;
        if found == wanted.as_bytes() {
            return Ok(());
        }
        Err(SnapshotError::WrongField { found: String::from_utf8_lossy(found).into_owned(), wanted })
    }

    fn length(&mut self) -> Result<u64, SnapshotError> {
        let mut length = [0; 8];
        self.from.take(&mut length)?;
        Ok(u64::from_le_bytes(length))
    }

    /// Checks the length of a list that must have `wanted` entries.
    fn same_length(&mut self, wanted: usize) -> Result<(), SnapshotError> {
        let (found, wanted) = (self.length()?, wanted as u64);
        if found == wanted { Ok(()) } else { Err(SnapshotError::WrongLength { found, wanted }) }
    }

    /// Reads a list of `wanted` words, and hands each to `set` with its index.
    fn words<W: Word>(&mut self, wanted: usize, mut set: impl FnMut(usize, W)) -> Result<(), SnapshotError> {
        self.same_length(wanted)?;
        for first in (0..wanted).step_by(WORDS_PER_CHUNK) {
            let count = WORDS_PER_CHUNK.min(wanted - first);
            self.buffer.resize(count * W::SIZE, 0);
            self.from.take(&mut self.buffer)?;
            for n in 0..count {
                let mut bytes = [0; MAX_WORD_SIZE];
                for (byte, plane) in bytes.iter_mut().zip(self.buffer.chunks_exact(count)) {
                    *byte = plane[n];
                }
                set(first + n, W::get(&bytes));
            }
        }
        Ok(())
    }
}

/// Bytes of a value that are read at once. Chosen: more than almost any value has.
const BYTES_PER_CHUNK: u64 = 1 << 16;

impl<W: Word> State for Vec<W> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.words(self.iter().copied())
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let len = self.len();
        from.words(len, |n, word| self[n] = word)
    }
}

impl<I: Id, W: Word> State for Column<I, W> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.words(self.iter().copied())
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let len = self.len();
        from.words(len, |n, word| self[I::from_index(n)] = word)
    }
}

/// An entry of [`Pairs`].
#[derive(Clone, Copy)]
struct Pair {
    reference: u32,
    count: u32,
}

crate::word!(Pair { reference: u32, count: u32 });

impl<I: Id> State for Pairs<I> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        let pair = |n| self.get(I::from_index(n));
        to.words((0..self.len()).map(pair).map(|(reference, count)| Pair { reference, count }))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let len = self.len();
        from.words(len, |n, Pair { reference, count }| self.set(I::from_index(n), (reference, count)))
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        (**self).save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        (**self).load_state(from)
    }
}

/// The configuration decides whether the option is `Some`.
impl<T: State> State for Option<T> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        to.length(usize::from(self.is_some()))?;
        self.as_ref().map_or(Ok(()), |part| part.save_state(to))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.same_length(usize::from(self.is_some()))?;
        self.as_mut().map_or(Ok(()), |part| part.load_state(from))
    }
}

impl<A: State, B: State> State for (A, B) {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        self.0.save_state(to)?;
        self.1.save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.0.load_state(from)?;
        self.1.load_state(from)
    }
}

#[cfg(test)]
mod tests;
