//! The state of a component, written to a sink of bytes and read back in place.
//!
//! A component is built as for a new run and then takes the state over: what follows from the configuration is there
//! already and is not written. [`state!`](crate::state) says of every field which of the two it is; a field that it
//! does not name does not compile.
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

use crate::{Column, Id};

/// Where bytes go.
pub trait Sink {
    /// Takes `bytes`.
    ///
    /// # Errors
    /// [`Broken::Ended`]; the sink itself knows why.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Broken>;
}

/// Where bytes come from.
pub trait Source {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`Broken::Ended`] if there are not this many; the source itself knows why.
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Broken>;

    /// About how many bytes it has at the most, where that is known: a claim of much more is not believed.
    fn at_most(&self) -> u64 {
        u64::MAX
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl Source for &[u8] {
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Broken> {
        let (first, rest) = self.split_at_checked(bytes.len()).ok_or(Broken::Ended)?;
        bytes.copy_from_slice(first);
        *self = rest;
        Ok(())
    }

    fn at_most(&self) -> u64 {
        self.len() as u64
    }
}

/// Why a state could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The sink takes, or the source has, no more.
    Ended,
    /// Another field stands there.
    Name {
        /// Its name.
        found: String,
        /// The name of the one that was looked for.
        wanted: &'static str,
    },
    /// A list of a fixed length has another one.
    Length {
        /// The length in the source.
        found: u64,
        /// The length that the configuration gives.
        wanted: u64,
    },
    /// A field is larger than any of the device can be.
    Size {
        /// The field.
        name: &'static str,
        /// Its bytes.
        found: u64,
        /// The most that are believed.
        most: u64,
    },
    /// The fields do not go together.
    State {
        /// The contradiction.
        why: String,
    },
    /// The bytes of a field mean nothing.
    Value {
        /// The field.
        name: &'static str,
        /// Why they are invalid.
        why: String,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => write!(out, "an end in the middle of the state, wanted all of it"),
            Self::Name { found, wanted } => {
                write!(out, "the field `{}`, wanted `{wanted}`", found.escape_debug())
            }
            Self::Length { found, wanted } => write!(out, "a list of {found} entries, wanted {wanted}"),
            Self::Size { name, found, most } => {
                write!(out, "{found} bytes of the field `{name}`, wanted at most {most}")
            }
            Self::State { why } => write!(out, "a state that cannot be ({why}), wanted that of a device"),
            Self::Value { name, why } => {
                write!(out, "in the field `{name}` bytes that mean nothing ({why}), wanted its value")
            }
        }
    }
}

/// A component with state beyond its configuration.
pub trait State {
    /// Writes the state.
    ///
    /// # Errors
    /// Those of the sink.
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken>;
    /// Takes over a state that a component of the same configuration wrote. After an error the component is good for
    /// nothing.
    ///
    /// # Errors
    /// Those of the source, and any form other than [`save_state`](Self::save_state) writes.
    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken>;
}

/// A number, or a few of them, in a list of millions: written byte by byte of equal weight, which is fast and compresses
/// well.
pub trait Word: Copy {
    /// Bytes of it.
    const SIZE: usize;
    /// Its bytes, the lowest first, into the first [`SIZE`](Self::SIZE) of `bytes`.
    fn put(self, bytes: &mut [u8]);
    /// The number that [`put`](Self::put) wrote.
    fn get(bytes: &[u8]) -> Self;
}

/// The most bytes of a [`Word`].
const MOST_OF_WORD: usize = 16;

/// Words that are written together. Chosen: with 8 B each they stay within the second-level cache, and lists of equal
/// bytes are long enough for a compressor.
const WORDS_AT_ONCE: usize = 1 << 15;

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

    /// Writes a field as it is.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn value(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), Broken> {
        self.name(name)?;
        let empty = std::mem::take(&mut self.buffer);
        let bytes = postcard::to_extend(value, empty)
            .map_err(|error| Broken::Value { name, why: error.to_string() })?;
        self.length(bytes.len())?;
        self.to.put(&bytes)?;
        self.buffer = bytes;
        self.buffer.clear();
        Ok(())
    }

    /// Writes a field that has a state of its own.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn part(&mut self, name: &'static str, part: &(impl State + ?Sized)) -> Result<(), Broken> {
        self.name(name)?;
        part.save_state(self)
    }

    /// Writes a list of parts.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn list(&mut self, name: &'static str, list: &[impl State]) -> Result<(), Broken> {
        self.name(name)?;
        self.length(list.len())?;
        list.iter().try_for_each(|part| part.save_state(self))
    }

    /// Writes which variant of an enum it is.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn variant(&mut self, name: &'static str) -> Result<(), Broken> {
        self.name(name)
    }

    /// Every field begins with its name, so that a reader that looks for another one finds out at once.
    fn name(&mut self, name: &'static str) -> Result<(), Broken> {
        let length = u8::try_from(name.len()).expect("names of fields are short");
        self.to.put(&[length])?;
        self.to.put(name.as_bytes())
    }

    fn length(&mut self, length: usize) -> Result<(), Broken> {
        self.to.put(&(length as u64).to_le_bytes())
    }

    fn words<W: Word>(&mut self, words: &[W]) -> Result<(), Broken> {
        self.length(words.len())?;
        for words in words.chunks(WORDS_AT_ONCE) {
            self.buffer.resize(words.len() * W::SIZE, 0);
            for (n, word) in words.iter().enumerate() {
                let mut bytes = [0; MOST_OF_WORD];
                word.put(&mut bytes);
                for (byte, plane) in bytes.iter().zip(self.buffer.chunks_exact_mut(words.len())) {
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
    /// Bytes of a value at the most.
    most: u64,
}

impl<'a> Reader<'a> {
    /// A reader of `from`.
    pub fn new(from: &'a mut dyn Source) -> Self {
        Self { from, buffer: Vec::new(), most: u64::MAX }
    }

    /// A reader of `from` that believes in no field of more bytes than the source may have and `beside` these.
    pub fn within(from: &'a mut dyn Source, beside: u64) -> Self {
        let most = from.at_most().saturating_add(beside);
        Self { most, ..Self::new(from) }
    }

    /// Reads a field as it was written.
    ///
    /// # Errors
    /// Those of the source, or another field stands there, or one that means nothing.
    pub fn value<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, Broken> {
        self.name(name)?;
        let mut left = self.length()?;
        if left > self.most {
            return Err(Broken::Size { name, found: left, most: self.most });
        }
        self.buffer.clear();
        // A wrong length ends with the source before it takes memory for all of it.
        while left > 0 {
            let (begin, more) = (self.buffer.len(), left.min(AT_ONCE));
            self.buffer.resize(begin + more as usize, 0);
            self.from.take(&mut self.buffer[begin..])?;
            left -= more;
        }
        let broken = |why: String| Broken::Value { name, why };
        match postcard::take_from_bytes(&self.buffer) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(broken(format!("{} bytes are left over", rest.len()))),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    /// Reads a field that has a state of its own.
    ///
    /// # Errors
    /// Those of the source, or another field stands there, or whatever is wrong with its state.
    pub fn part(&mut self, name: &'static str, part: &mut (impl State + ?Sized)) -> Result<(), Broken> {
        self.name(name)?;
        part.load_state(self)
    }

    /// Reads a list of parts.
    ///
    /// # Errors
    /// As for [`part`](Self::part), or the list has another length.
    pub fn list(&mut self, name: &'static str, list: &mut [impl State]) -> Result<(), Broken> {
        self.name(name)?;
        self.same_length(list.len())?;
        list.iter_mut().try_for_each(|part| part.load_state(self))
    }

    /// Reads which variant of an enum it is, which has to be this one.
    ///
    /// # Errors
    /// Those of the source, or another one stands there.
    pub fn variant(&mut self, name: &'static str) -> Result<(), Broken> {
        self.name(name)
    }

    fn name(&mut self, wanted: &'static str) -> Result<(), Broken> {
        let mut length = [0];
        self.from.take(&mut length)?;
        let mut found = [0; u8::MAX as usize];
        let found = &mut found[..usize::from(length[0])];
        self.from.take(found)?;
        if found == wanted.as_bytes() {
            return Ok(());
        }
        Err(Broken::Name { found: String::from_utf8_lossy(found).into_owned(), wanted })
    }

    fn length(&mut self) -> Result<u64, Broken> {
        let mut length = [0; 8];
        self.from.take(&mut length)?;
        Ok(u64::from_le_bytes(length))
    }

    /// The length of a list that has `wanted` entries already.
    fn same_length(&mut self, wanted: usize) -> Result<(), Broken> {
        let (found, wanted) = (self.length()?, wanted as u64);
        if found == wanted { Ok(()) } else { Err(Broken::Length { found, wanted }) }
    }

    fn words<W: Word>(&mut self, words: &mut [W]) -> Result<(), Broken> {
        self.same_length(words.len())?;
        for words in words.chunks_mut(WORDS_AT_ONCE) {
            let count = words.len();
            self.buffer.resize(count * W::SIZE, 0);
            self.from.take(&mut self.buffer)?;
            for (n, word) in words.iter_mut().enumerate() {
                let mut bytes = [0; MOST_OF_WORD];
                for (byte, plane) in bytes.iter_mut().zip(self.buffer.chunks_exact(count)) {
                    *byte = plane[n];
                }
                *word = W::get(&bytes);
            }
        }
        Ok(())
    }
}

/// Bytes of a value that are read at once. Chosen: beyond what almost all of them have.
const AT_ONCE: u64 = 1 << 16;

impl<W: Word> State for Vec<W> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        to.words(self)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        from.words(self)
    }
}

impl<I: Id, W: Word> State for Column<I, W> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        to.words(self.as_slice())
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        from.words(self.as_mut_slice())
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        (**self).save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        (**self).load_state(from)
    }
}

/// Whether there is one follows from the configuration.
impl<T: State> State for Option<T> {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        to.length(usize::from(self.is_some()))?;
        self.as_ref().map_or(Ok(()), |part| part.save_state(to))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        from.same_length(usize::from(self.is_some()))?;
        self.as_mut().map_or(Ok(()), |part| part.load_state(from))
    }
}

impl<A: State, B: State> State for (A, B) {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        self.0.save_state(to)?;
        self.1.save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        self.0.load_state(from)?;
        self.1.load_state(from)
    }
}

#[cfg(test)]
mod tests;
