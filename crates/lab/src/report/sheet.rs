//! Tables that a script in the page can sort, filter and copy as CSV.
//!
//! The script finds these tables by the class `sheet`. A cell shows text. The attribute `data-value` has the
//! number of a cell for sorting and copying, `data-half` the half-width of its interval. On a row,
//! `data-unit` has the unit.

use super::markup::{add, breakable, escaped, scrolled};

/// A cell of a sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetCell {
    /// The text shown.
    pub text: String,
    /// The number behind the text, if there is one.
    pub value: Option<f64>,
    /// Half-width of the confidence interval of the number, if there is one.
    pub half: Option<f64>,
}

impl SheetCell {
    /// A cell from text. The cell has a number if the text parses as one.
    pub fn of_text(text: String) -> Self {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        Self { text, value, half: None }
    }

    /// A cell from a number and its text.
    pub fn of_number(text: String, value: f64) -> Self {
        Self { text, value: Some(value), half: None }
    }
}

/// A table with column titles.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Name for screen readers.
    pub name: String,
    /// Titles of the columns.
    pub heads: Vec<String>,
    /// The rows. Each has one cell per column.
    pub rows: Vec<Vec<SheetCell>>,
}

impl Sheet {
    /// The table in HTML.
    pub fn html(&self) -> String {
        let mut table = scrolled(&format!("Table: {}", self.name)) + "<table><thead><tr>";
        for (column, head) in self.heads.iter().enumerate() {
            // A head is aligned as its cells are.
            let has_numbers =
                self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.value.is_some()));
            let kind = if has_numbers { "" } else { " class=\"words\"" };
            add(&mut table, format_args!("<th scope=\"col\"{kind}>{}</th>", breakable(head)));
        }
        table += "</tr></thead><tbody>\n";
        for row in &self.rows {
            table += "<tr>";
            for cell in row {
                let kind = if cell.value.is_some() { "" } else { " class=\"words\"" };
                add(&mut table, format_args!("<td{kind}{}>{}</td>", data(cell), escaped(&cell.text)));
            }
            table += "</tr>\n";
        }
        of_tables(&self.name, &(table + "</tbody></table></div>\n"))
    }
}

fn data(cell: &SheetCell) -> String {
    let one = |name: &str, value: Option<f64>| {
        value.map(|value| format!(" data-{name}=\"{value}\"")).unwrap_or_default()
    };
    one("value", cell.value) + &one("half", cell.half)
}

/// The attribute with the number of a cell, for tables that are written by hand.
pub(super) fn number(value: Option<f64>) -> String {
    data(&SheetCell { value, ..SheetCell::default() })
}

/// Several HTML tables that are sorted and filtered together, and copied as one table.
pub fn of_tables(name: &str, tables: &str) -> String {
    format!("<div class=\"sheet\" data-name=\"{}\">\n{tables}</div>\n", escaped(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_their_numbers_beside_what_is_shown() {
        let cell = SheetCell { text: "1516 ± 210".into(), value: Some(1516.2), half: Some(209.75) };
        let rows = vec![vec![SheetCell::of_text("a<b".into()), cell, SheetCell::of_text("0.25".into())]];
        let heads = ["ftl.gc.victim.policy", "host.iops", "x"].map(String::from).to_vec();
        let html = Sheet { name: "All".into(), heads, rows }.html();
        let cells = "<td class=\"words\">a&lt;b</td><td data-value=\"1516.2\" data-half=\"209.75\">1516 ± 210</td><td data-value=\"0.25\">0.25</td>";
        assert!(html.contains(cells), "{html}");
        let heads =
            "class=\"words\">ftl.<wbr>gc.<wbr>victim.<wbr>policy</th><th scope=\"col\">host.<wbr>iops</th>";
        assert!(html.contains(heads), "heads are aligned as their cells: {html}");
        assert!(
            html.contains("class=\"sheet\" data-name=\"All\"") && html.contains("host.<wbr>iops"),
            "{html}"
        );
    }
}
