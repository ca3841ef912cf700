//! Tables for a terminal, without lines between their cells.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Rows below their titles, each column as wide as its widest cell. Columns in `right` are right-aligned.
pub fn aligned(
    heads: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    right: impl IntoIterator<Item = usize>,
) -> String {
    let mut table = plain();
    table.set_header(heads).add_rows(rows);
    align_right(&mut table, right);
    lines_of(&table).join("\n")
}

/// A table without lines, whose cells are not folded.
pub(super) fn plain() -> Table {
    let mut table = Table::new();
    table.force_no_tty().load_style(presets::NOTHING);
    table
}

/// A table without lines, whose cells are folded so that it has this many `columns`.
pub fn folded(columns: u16) -> Table {
    let mut table = plain();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
    table
}

/// A table with a line below its titles, whose cells are not folded.
pub fn underlined() -> Table {
    let mut table = plain();
    table.style_mut().header_separator = presets::UTF8_HORIZONTAL_ONLY.row_separator;
    table
}

/// Aligns columns to the right.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for number in columns {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The lines of a table, without spaces at their ends.
pub(crate) fn lines_of(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
