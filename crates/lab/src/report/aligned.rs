//! Tables for a terminal, without lines between their cells.

use std::ops::Range;

use comfy_table::{CellAlignment, Table, presets};

/// Rows below their titles, each column as wide as its widest cell. Columns in `right` are right-aligned.
pub fn aligned(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>, right: Range<usize>) -> String {
    let mut table = plain();
    table.set_header(heads).add_rows(rows);
    for number in right {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines_of(&table)
}

/// A table without lines, whose cells are not folded.
pub(crate) fn plain() -> Table {
    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING);
    table
}

/// The lines of a table, without spaces at their ends.
pub(crate) fn lines_of(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
