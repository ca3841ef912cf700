//! Macros by which a type declares its state, naming every field.

/// Implements [`Word`](crate::snapshot::Word) for a struct of numbers: `word!(Stamp { logical: u32, version:
/// u32 })`.
#[macro_export]
macro_rules! word {
    ($type:ident { $($field:ident: $of:ty),* $(,)? }) => {
        impl $crate::snapshot::Word for $type {
            const SIZE: usize = 0 $(+ size_of::<$of>())*;
            #[inline]
            fn put(self, bytes: &mut [u8]) {
                let Self { $($field),* } = self;
                let mut at = 0;
                $(
                    $crate::snapshot::Word::put($field, &mut bytes[at..]);
                    at += size_of::<$of>();
                )*
                debug_assert_eq!(at, Self::SIZE);
            }
            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut at = 0;
                $(
                    let $field = <$of as $crate::snapshot::Word>::get(&bytes[at..]);
                    at += size_of::<$of>();
                )*
                debug_assert_eq!(at, Self::SIZE);
                Self { $($field),* }
            }
        }
    };
}

/// Declares how the [`State`](crate::snapshot::State) of a struct is saved, field by field:
///
/// * `values` are written by serde;
/// * `parts` have a state of their own;
/// * `lists` have members with a state of their own, and a length that the configuration determines;
/// * `fixed` fields follow from the configuration and are not written.
///
/// A struct without state has no fields, or only fixed ones. A generic type is given with its parameters and
/// their bounds: `state!(Pair<T: State> { parts { one, other } })`. For an `enum`, every variant declares its
/// fields in the same way; tuple fields are parts, with names given here. The configuration determines the
/// variant.
///
/// A struct may consist of parts whose fields lie side by side in the snapshot. The patterns then take it and
/// its parts apart, so that no field is forgotten; fields that are not written are `_`. Lists may follow the
/// parts:
///
/// ```
/// use wordline_kernel::snapshot::{Reader, State, Writer};
///
/// struct Queue {
///     waiting: Vec<u32>,
///     limit: u32,
/// }
/// struct Engine {
///     queue: Queue,
///     clock: u64,
/// }
/// wordline_kernel::state!(Engine of { Self { queue, clock }, Queue { waiting, limit: _ } = queue } {
///     values { clock }
///     parts { waiting }
/// });
///
/// let engine = |waiting, clock| Engine { queue: Queue { waiting, limit: 8 }, clock };
/// let mut bytes = Vec::new();
/// engine(vec![7, 9], 3).save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
/// let mut other = engine(vec![0, 0], 0);
/// other.load_state(&mut Reader::new(&mut bytes.as_slice())).expect("it was just written");
/// assert_eq!((other.queue.waiting, other.clock), (vec![7, 9], 3));
/// ```
///
/// ```
/// use wordline_kernel::snapshot::{Reader, State, Writer};
///
/// enum Chosen<T> {
///     Nothing,
///     Last(T),
///     Counted { count: u32, of: u32 },
/// }
/// wordline_kernel::state!(enum Chosen<T: State> { Nothing, Last(one), Counted { values { count } fixed { of } } });
///
/// let mut bytes = Vec::new();
/// Chosen::Last(vec![7u32]).save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
/// let mut other = Chosen::<Vec<u32>>::Counted { count: 1, of: 2 };
/// let error = other.load_state(&mut Reader::new(&mut bytes.as_slice())).expect_err("it is another variant");
/// assert_eq!(error.to_string(), "the field `Last`, wanted `Counted`");
/// ```
#[macro_export]
macro_rules! state {
    (enum $type:ident $(<$($param:ident $(: $bound:path)?),+ $(,)?>)? {
        $($variant:ident $(($($inner:ident),+ $(,)?))? $({
            $(values { $($value:ident),* $(,)? })?
            $(parts { $($part:ident),* $(,)? })?
            $(lists { $($list:ident),* $(,)? })?
            $(fixed { $($fixed:ident),* $(,)? })?
        })?),+ $(,)?
    }) => {
        impl $(<$($param $(: $bound)?),+>)? $crate::snapshot::State for $type $(<$($param),+>)? {
            fn save_state(
                &self,
                to: &mut $crate::snapshot::Writer<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                match self {
                    $(Self::$variant $(($($inner),+))? $({
                        $($($value,)*)? $($($part,)*)? $($($list,)*)? $($($fixed: _,)*)?
                    })? => {
                        to.variant(stringify!($variant))?;
                        $($(to.part(stringify!($inner), $inner)?;)+)?
                        $($($(to.value(stringify!($value), $value)?;)*)?)?
                        $($($(to.part(stringify!($part), $part)?;)*)?)?
                        $($($(to.list(stringify!($list), $list)?;)*)?)?
                    })+
                }
                Ok(())
            }

            fn load_state(
                &mut self,
                from: &mut $crate::snapshot::Reader<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                match self {
                    $(Self::$variant $(($($inner),+))? $({
                        $($($value,)*)? $($($part,)*)? $($($list,)*)? $($($fixed: _,)*)?
                    })? => {
                        from.variant(stringify!($variant))?;
                        $($(from.part(stringify!($inner), $inner)?;)+)?
                        $($($(*$value = from.value(stringify!($value))?;)*)?)?
                        $($($(from.part(stringify!($part), $part)?;)*)?)?
                        $($($(from.list(stringify!($list), $list)?;)*)?)?
                    })+
                }
                Ok(())
            }
        }
    };
    ($type:ident $(<$($param:ident $(: $bound:path)?),+ $(,)?>)? of {
        $own:pat, $($held:pat = $holder:ident),+ $(,)?
    } {
        values { $($value:ident),* $(,)? }
        parts { $($part:ident),* $(,)? }
        $(lists { $($list:ident),* $(,)? })?
    }) => {
        impl $(<$($param $(: $bound)?),+>)? $crate::snapshot::State for $type $(<$($param),+>)? {
            fn save_state(
                &self,
                to: &mut $crate::snapshot::Writer<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                let $own = self;
                $(let $held = $holder;)+
                $(to.value(stringify!($value), $value)?;)*
                $(to.part(stringify!($part), $part)?;)*
                $($(to.list(stringify!($list), $list)?;)*)?
                Ok(())
            }

            fn load_state(
                &mut self,
                from: &mut $crate::snapshot::Reader<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                let $own = self;
                $(let $held = $holder;)+
                $(*$value = from.value(stringify!($value))?;)*
                $(from.part(stringify!($part), $part)?;)*
                $($(from.list(stringify!($list), $list)?;)*)?
                Ok(())
            }
        }
    };
    ($type:ident $(<$($param:ident $(: $bound:path)?),+ $(,)?>)? {
        $(values { $($value:ident),* $(,)? })?
        $(parts { $($part:ident),* $(,)? })?
        $(lists { $($list:ident),* $(,)? })?
        $(fixed { $($fixed:ident),* $(,)? })?
    }) => {
        impl $(<$($param $(: $bound)?),+>)? $crate::snapshot::State for $type $(<$($param),+>)? {
            #[allow(unused_variables)]
            fn save_state(
                &self,
                to: &mut $crate::snapshot::Writer<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                let Self { $($($value,)*)? $($($part,)*)? $($($list,)*)? $($($fixed: _,)*)? } = self;
                $($(to.value(stringify!($value), $value)?;)*)?
                $($(to.part(stringify!($part), $part)?;)*)?
                $($(to.list(stringify!($list), $list)?;)*)?
                Ok(())
            }

            #[allow(unused_variables)]
            fn load_state(
                &mut self,
                from: &mut $crate::snapshot::Reader<'_>,
            ) -> ::std::result::Result<(), $crate::snapshot::SnapshotError> {
                let Self { $($($value,)*)? $($($part,)*)? $($($list,)*)? $($($fixed: _,)*)? } = self;
                $($(*$value = from.value(stringify!($value))?;)*)?
                $($(from.part(stringify!($part), $part)?;)*)?
                $($(from.list(stringify!($list), $list)?;)*)?
                Ok(())
            }
        }
    };
}
