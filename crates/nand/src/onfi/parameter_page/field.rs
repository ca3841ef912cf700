//! Types of the fields of a parameter page: numbers, times, text and bits, all little-endian.

use std::fmt;

use wordline_kernel::Duration;

/// A value of fixed width within a page.
pub trait Field: Sized {
    /// Width in bytes.
    const WIDTH: usize;
    /// Writes the value into `to`, which is [`Field::WIDTH`] bytes long.
    fn put(&self, to: &mut [u8]);
    /// Reads the value from `from`, which is [`Field::WIDTH`] bytes long.
    fn take(from: &[u8]) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => { $(
        impl Field for $type {
            const WIDTH: usize = size_of::<$type>();
            fn put(&self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }
            fn take(from: &[u8]) -> Self {
                Self::from_le_bytes(from.try_into().expect("a row hands over as many bytes as its type is wide"))
            }
        }
    )* };
}
number!(u8, u16, u32);

/// Implements `Field` for the newtype `$outer` over the number `$inner`.
macro_rules! stored_as_number {
    ($outer:ty, $inner:ty) => {
        impl Field for $outer {
            const WIDTH: usize = <$inner as Field>::WIDTH;
            fn put(&self, to: &mut [u8]) {
                self.0.put(to);
            }
            fn take(from: &[u8]) -> Self {
                Self(<$inner as Field>::take(from))
            }
        }
    };
}

/// A time in whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Micros(pub u16);
stored_as_number!(Micros, u16);

/// A time in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nanos(pub u16);
stored_as_number!(Nanos, u16);

impl Micros {
    /// The time.
    pub fn duration(self) -> Duration {
        Duration::from_us(u64::from(self.0))
    }
}

impl Nanos {
    /// The time.
    pub fn duration(self) -> Duration {
        Duration::from_ns(u64::from(self.0))
    }
}

/// A count as a number from 0 to 255 times a power of ten. This is ONFI's encoding of endurance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scaled {
    /// The number.
    pub value: u8,
    /// The power of ten.
    pub power: u8,
}

impl Scaled {
    /// The largest count with this encoding that is not above `count`.
    pub fn at_most(count: u32) -> Self {
        let (mut value, mut power) = (count, 0);
        while value > u32::from(u8::MAX) {
            (value, power) = (value / 10, power + 1);
        }
        // 400 is written as 4 x 10^2, the form that data sheets use.
        while value > 0 && value.is_multiple_of(10) {
            (value, power) = (value / 10, power + 1);
        }
        Self { value: value as u8, power }
    }

    /// The count, saturated at `u64::MAX`.
    pub fn count(self) -> u64 {
        10u64.checked_pow(self.power.into()).map_or(u64::MAX, |ten| ten.saturating_mul(self.value.into()))
    }
}

impl Field for Scaled {
    const WIDTH: usize = 2;
    fn put(&self, to: &mut [u8]) {
        to.copy_from_slice(&[self.value, self.power]);
    }
    fn take(from: &[u8]) -> Self {
        Self { value: from[0], power: from[1] }
    }
}

/// Address cycles of a column and of a row, four bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressCycles {
    /// Cycles of a column address, at most 15.
    pub column: u8,
    /// Cycles of a row address, at most 15.
    pub row: u8,
}

impl Field for AddressCycles {
    const WIDTH: usize = 1;
    fn put(&self, to: &mut [u8]) {
        to[0] = (self.column & 0xf) << 4 | (self.row & 0xf);
    }
    fn take(from: &[u8]) -> Self {
        Self { column: from[0] >> 4, row: from[0] & 0xf }
    }
}

/// ASCII text, padded with spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const WIDTH: usize>([u8; WIDTH]);

impl<const WIDTH: usize> Text<WIDTH> {
    /// As much of `text` as fits; characters that are not printable ASCII become question marks.
    pub fn new(text: &str) -> Self {
        let mut bytes = [b' '; WIDTH];
        for (to, from) in bytes.iter_mut().zip(text.chars()) {
            *to = if matches!(from, ' '..='~') { from as u8 } else { b'?' };
        }
        Self(bytes)
    }

    /// The text without its padding; bytes that are not printable ASCII are shown as question marks.
    pub fn shown(&self) -> String {
        let text: String =
            self.0.iter().map(|byte| if matches!(byte, b' '..=b'~') { *byte as char } else { '?' }).collect();
        text.trim_end().to_owned()
    }
}

impl<const WIDTH: usize> Default for Text<WIDTH> {
    fn default() -> Self {
        Self::new("")
    }
}

impl<const WIDTH: usize> fmt::Debug for Text<WIDTH> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.shown())
    }
}

impl<const N: usize> Field for Text<N> {
    const WIDTH: usize = N;
    fn put(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0);
    }
    fn take(from: &[u8]) -> Self {
        Self(from.try_into().expect("a row hands over as many bytes as its type is wide"))
    }
}

/// Vendor-specific bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque<const WIDTH: usize>(pub [u8; WIDTH]);

impl<const WIDTH: usize> Default for Opaque<WIDTH> {
    fn default() -> Self {
        Self([0; WIDTH])
    }
}

impl<const N: usize> Field for Opaque<N> {
    const WIDTH: usize = N;
    fn put(&self, to: &mut [u8]) {
        to.copy_from_slice(&self.0);
    }
    fn take(from: &[u8]) -> Self {
        Self(from.try_into().expect("a row hands over as many bytes as its type is wide"))
    }
}

/// Defines a bit set with named bits; unnamed bits are preserved.
macro_rules! bits {
    ($(#[$doc:meta])* $name:ident: $number:ty { $($(#[$bit_doc:meta])* $bit:ident = $place:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $number);

        impl $name {
            $($(#[$bit_doc])* pub const $bit: Self = Self(1 << $place);)*

            /// Whether every bit of `wanted` is set.
            pub fn has(self, wanted: Self) -> bool {
                self.0 & wanted.0 == wanted.0
            }

            /// These bits, with the bits of `more` added if `holds` is true.
            #[must_use]
            pub fn with(self, more: Self, holds: bool) -> Self {
                if holds { Self(self.0 | more.0) } else { self }
            }
        }
        stored_as_number!($name, $number);
    };
}

bits!(
    /// ONFI revisions that the part complies with.
    Revisions: u16 {
        /// ONFI 1.0.
        V1_0 = 1,
        /// ONFI 2.0.
        V2_0 = 2,
        /// ONFI 2.1.
        V2_1 = 3,
        /// ONFI 2.2.
        V2_2 = 4,
        /// ONFI 2.3.
        V2_3 = 5,
        /// ONFI 3.0.
        V3_0 = 6,
        /// ONFI 3.1.
        V3_1 = 7,
        /// ONFI 3.2.
        V3_2 = 8,
        /// ONFI 4.0.
        V4_0 = 9,
        /// ONFI 4.1.
        V4_1 = 10,
        /// ONFI 4.2.
        V4_2 = 11,
        /// ONFI 5.0.
        V5_0 = 12,
    }
);

impl Revisions {
    /// All revisions from 1.0 to the single revision `last`.
    pub fn up_to(last: Self) -> Self {
        Self((last.0 << 1).wrapping_sub(1) & !1)
    }
}

bits!(
    /// Features of the part.
    PageFeatures: u16 {
        /// Sixteen data lines.
        WIDE_BUS = 0,
        /// Concurrent operations in several LUNs of a target.
        MULTI_LUN = 1,
        /// The pages of a block may be programmed out of order.
        ANY_PAGE_ORDER = 2,
        /// Multi-plane programs and erases.
        MULTI_PLANE_PROGRAM = 3,
        /// Copyback from odd to even pages.
        ODD_EVEN_COPYBACK = 4,
        /// The NV-DDR interface.
        NV_DDR = 5,
        /// Multi-plane reads.
        MULTI_PLANE_READ = 6,
        /// An extended parameter page follows the copies.
        EXTENDED_PAGE = 7,
        /// 80h can be configured to clear the page register of the addressed LUN only.
        REGISTER_CLEAR = 8,
        /// EZ-NAND (to ONFI 4), NV-LPDDR4 (ONFI 5).
        EZ_NAND_OR_NV_LPDDR4 = 9,
        /// The NV-DDR2 interface.
        NV_DDR2 = 10,
        /// Several volumes share a chip enable.
        VOLUMES = 11,
        /// An external programming voltage.
        EXTERNAL_VPP = 12,
        /// The NV-DDR3 interface (a parameter-page reader for ONFI 5.0 names it).
        NV_DDR3 = 13,
    }
);

bits!(
    /// Commands beyond the mandatory ones.
    OptionalCommands: u16 {
        /// 80-15.
        CACHE_PROGRAM = 0,
        /// 31, 00-31 and 3F.
        READ_CACHE = 1,
        /// EE and EF.
        FEATURES = 2,
        /// 78.
        STATUS_ENHANCED = 3,
        /// 00-35 and 85-10.
        COPYBACK = 4,
        /// ED.
        UNIQUE_ID = 5,
        /// 06-E0.
        CHANGE_READ_COLUMN_ENHANCED = 6,
        /// 85 with five address cycles.
        CHANGE_ROW = 7,
        /// 85-11 before 85-10.
        SMALL_DATA_MOVE = 8,
        /// FA.
        RESET_LUN = 9,
        /// E1.
        VOLUME_SELECT = 10,
        /// E2.
        ODT_CONFIGURE = 11,
        /// D4 and D5 (a parameter-page reader for ONFI 5.0 names it).
        LUN_FEATURES = 12,
        /// F9 and D9 (a parameter-page reader for ONFI 5.0 names it).
        ZQ_CALIBRATION = 13,
    }
);

bits!(
    /// Features of multi-plane operations.
    MultiPlane: u8 {
        /// Operations on several planes may overlap in time.
        OVERLAPPED = 0,
        /// The block numbers within the planes may differ.
        ANY_BLOCKS = 1,
        /// Cache programs.
        PROGRAM_CACHE = 2,
        /// The block numbers may change between the programs of a cache sequence.
        CACHE_ANY_BLOCKS = 3,
        /// Cache reads.
        READ_CACHE = 4,
        /// The lowest bits of the block numbers must satisfy a relation.
        XNOR_RESTRICTION = 5,
    }
);
