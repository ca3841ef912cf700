//! The types of the pages of a word line, one for each bit of its cells.

/// Maximum bits of a cell: bound of fixed-size tables.
pub const MAX_BITS_PER_CELL: u32 = 5;

/// One value for each page type. Page types beyond the types of the part have the value of its last type.
pub(crate) type ByType<T> = [T; MAX_BITS_PER_CELL as usize];

/// Values by page type. A part file gives one value, or one value for each bit of a cell.
pub(crate) fn by_type<T: Copy>(values: &[T]) -> ByType<T> {
    std::array::from_fn(|page_type| values[page_type.min(values.len() - 1)])
}
