//! Typed ids and the columns they index: a `Column<BlockId, u16>` cannot be indexed by a `DieId`.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A typed index of one kind of object; see [`id!`](crate::id).
pub trait Id: Copy {
    /// The position in a column.
    fn index(self) -> usize;
    /// The id at a position.
    fn from_index(index: usize) -> Self;
}

/// Declares a `u32` id type: `id!(/// A die of the device. DieId);`
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize,
        )]
        pub struct $name(pub u32);

        impl $crate::Id for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }

            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        }
    };
}

/// One value for each id from 0 to `len() - 1`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct Column<I, T> {
    values: Vec<T>,
    #[serde(skip)]
    key: PhantomData<fn(I)>,
}

impl<I: Id, T> Column<I, T> {
    /// `len` copies of `value`.
    pub fn filled(len: usize, value: T) -> Self
    where
        T: Clone,
    {
        Self { values: vec![value; len], key: PhantomData }
    }

    /// A value for each of `len` ids.
    pub fn from_fn(len: usize, value: impl FnMut(I) -> T) -> Self {
        Self { values: (0..len).map(I::from_index).map(value).collect(), key: PhantomData }
    }

    /// The value of `id`, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.values.get(id.index())
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Prefetches the value of `id`, if there is one; see [`prefetch`](crate::prefetch()).
    #[inline]
    pub fn prefetch(&self, id: I) {
        if let Some(value) = self.values.get(id.index()) {
            crate::prefetch(value);
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All values in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.values.iter()
    }

    /// All values in the order of their ids, mutable.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.values.iter_mut()
    }

    /// Sets the value of every id to `value`.
    pub fn fill(&mut self, value: T)
    where
        T: Clone,
    {
        self.values.fill(value);
    }

    /// Each id with its value.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.values.iter().enumerate().map(|(index, value)| (I::from_index(index), value))
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.values.len()).map(I::from_index)
    }
}

impl<I: Id, T> Index<I> for Column<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.values[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Column<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.values[id.index()]
    }
}
