//! The table of a study by columns, for Parquet and for other programs.

use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use wordline_lab::error::{Error, Result};
use wordline_lab::log;
use wordline_lab::output::Output;

use super::{Cell, Run, Table, state};
use crate::values::plain;

/// A column with a value for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// Name, with dots.
    pub name: String,
    /// The values.
    pub values: ColumnValues,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Texts.
    Texts(Vec<String>),
    /// Numbers of which none is absent.
    Amounts(Vec<f64>),
    /// Numbers, or `None` without a value.
    Numbers(Vec<Option<f64>>),
}

impl Table {
    /// A row for each run: varied keys, `seed`, `state`, `run` (its name), and each number of its summary.
    pub fn run_columns(&self) -> Vec<TableColumn> {
        let (names, all) = self.flat();
        let runs: Vec<&Run> = self.each().collect();
        let mut columns = self.axis_columns(runs.iter().map(|run| &run.record.at));
        let texts =
            |of: &dyn Fn(&Run) -> String| ColumnValues::Texts(runs.iter().map(|run| of(run)).collect());
        let seeds = runs.iter().map(|run| run.record.seed as i64).collect();
        columns.push(column("seed", ColumnValues::Integers(seeds)));
        columns.push(column("state", texts(&|run| state(run).to_owned())));
        columns.push(column("run", texts(&|run| run.name.clone())));
        columns.extend(names.iter().map(|name| {
            let values = all.iter().map(|values| values.get(name).copied());
            column(name, ColumnValues::Numbers(values.collect()))
        }));
        columns
    }

    /// A row for each combination: varied keys, `seeds` (number of finished runs), `failed`, and for each
    /// column of the study its mean and, as `NAME.half`, half of the 95 % confidence interval of the mean. In
    /// a comparison `NAME.difference` and `NAME.difference.half` follow.
    pub fn combination_columns(&self) -> Vec<TableColumn> {
        let mut columns = self.axis_columns(self.rows.iter().map(|row| &row.at));
        let counts = |of: &dyn Fn(&super::Row) -> usize| {
            ColumnValues::Integers(self.rows.iter().map(|row| of(row) as i64).collect())
        };
        columns.push(column("seeds", counts(&super::Row::seeds)));
        columns.push(column("failed", counts(&|row| row.errors().count())));
        for name in &self.columns {
            columns.extend(mean_and_half(name, self.rows.iter().map(|row| Some(row.cell(name)))));
            if !self.against.is_empty() {
                let differences = self.rows.iter().map(|row| self.difference(row, name));
                columns.extend(mean_and_half(&format!("{name}.difference"), differences));
            }
        }
        columns
    }

    /// The varied keys of some rows: numbers if all values of a key are numbers, otherwise texts.
    fn axis_columns<'a>(&self, rows: impl Iterator<Item = &'a toml::Table> + Clone) -> Vec<TableColumn> {
        let of_axis = |axis: &String| {
            let amounts: Option<Vec<f64>> = rows.clone().map(|at| amount(at, axis)).collect();
            let text = |at: &toml::Table| at.get(axis).map_or_else(String::new, plain);
            let texts = || ColumnValues::Texts(rows.clone().map(text).collect());
            column(axis, amounts.map_or_else(texts, ColumnValues::Amounts))
        };
        self.axes.iter().map(of_axis).collect()
    }

    pub(super) fn write_parquet(&self, path: &Path) -> Result<()> {
        let columns = self.run_columns();
        let kind = |values: &ColumnValues| match values {
            ColumnValues::Integers(_) => ("required int64", ""),
            ColumnValues::Texts(_) => ("required binary", " (UTF8)"),
            ColumnValues::Amounts(_) => ("required double", ""),
            ColumnValues::Numbers(_) => ("optional double", ""),
        };
        let mut schema = String::from("message run {\n");
        for TableColumn { name, values } in &columns {
            let (kind, note) = kind(values);
            schema += &format!("{kind} {}{note};\n", field(name));
        }
        schema += "}";
        let write = |file: Output| -> parquet::errors::Result<Output> {
            let mut writer = log::writer(file, &schema)?;
            let mut group = writer.next_row_group()?;
            for TableColumn { values, .. } in columns {
                let mut column = group.next_column()?.expect("a column of the schema");
                match values {
                    ColumnValues::Integers(values) => {
                        column.typed::<Int64Type>().write_batch(&values, None, None)?
                    }
                    ColumnValues::Texts(values) => {
                        let values: Vec<ByteArray> = values.iter().map(|text| text.as_str().into()).collect();
                        column.typed::<ByteArrayType>().write_batch(&values, None, None)?
                    }
                    ColumnValues::Amounts(values) => {
                        column.typed::<DoubleType>().write_batch(&values, None, None)?
                    }
                    ColumnValues::Numbers(values) => {
                        let there: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
                        let values: Vec<f64> = values.into_iter().flatten().collect();
                        column.typed::<DoubleType>().write_batch(&values, Some(&there), None)?
                    }
                };
                column.close()?;
            }
            group.close()?;
            writer.into_inner()
        };
        let failed = |error: parquet::errors::ParquetError| Error::File {
            path: path.into(),
            action: "write",
            reason: log::reason(error),
        };
        write(Output::open(path)?).map_err(failed)?.finish()
    }
}

fn column(name: &str, values: ColumnValues) -> TableColumn {
    TableColumn { name: name.to_owned(), values }
}

/// The columns of means and of half-widths of some cells.
fn mean_and_half(name: &str, cells: impl Iterator<Item = Option<Cell>>) -> [TableColumn; 2] {
    let (means, halves) = cells.map(|cell| cell.map_or((None, None), |cell| (cell.mean, cell.half))).unzip();
    [
        column(name, ColumnValues::Numbers(means)),
        column(&format!("{name}.half"), ColumnValues::Numbers(halves)),
    ]
}

fn amount(at: &toml::Table, axis: &str) -> Option<f64> {
    let value = at.get(axis)?;
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// Converts a name to one that is valid in a schema. Dots become underscores, as in a database table.
fn field(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' };
    name.chars().map(letter).collect()
}
