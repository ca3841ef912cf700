//! Reports: the table on the terminal, JSON, and one self-contained HTML page.

mod quantity;
mod results;
#[cfg(test)]
mod sample;
mod terminal;

pub use quantity::{Quantity, three_digits};
pub use terminal::{comparison, table};

#[cfg(test)]
mod tests;
